/*
 * Params that are gathered more than once in a step: for the forward and for the backward pass.
 */
#ifndef PASSES_SHARDED_REPEATED_H
#define PASSES_SHARDED_REPEATED_H

#include "passes/sharded/gathers.h"

/* Result k of a gather that makes what result i of an earlier one made. */
struct repeated {
	struct ir_op *op, *first;
	int k, i;
	uint64_t bytes;
	double seconds;
	uint32_t number; /* in order of the block */
};

/* Gathers that make again what the first one made, in order of the block; owned by `owner`. */
struct repeated *repeated_list(struct gathers *all, const void *owner, uint32_t *n);

/* Whoever reads the second one reads the first. */
void repeated_keep(const struct repeated *r);

/* Takes away what nobody reads: gathers, and tensors of gathers. `all` is out of date then. */
void repeated_drop_unread(const struct gathers *all);

#endif
