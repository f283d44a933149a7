/*
 * Params that are gathered more than once in a step: for the forward and for the backward pass.
 */
#ifndef PASSES_SHARDED_REPEATED_H
#define PASSES_SHARDED_REPEATED_H

#include "passes/sharded/gathers.h"

/* Result k of gather `op`, which repeats result i of the earlier gather `first`. */
struct repeated {
	struct ir_op *op, *first;
	int k, i;
	uint64_t bytes;
	double seconds;
	uint32_t number; /* in order of the block */
};

/* Lists gather results that repeat an earlier one, in order of the block; owned by `owner`. */
struct repeated *repeated_list(struct gathers *all, const void *owner, uint32_t *n);

/* Readers of the repeated result read the first one instead. */
void repeated_keep(const struct repeated *r);

/* Erases gathers without readers, and results of gathers without readers. `all` is invalid
 * afterwards. */
void repeated_drop_unread(const struct gathers *all);

#endif
