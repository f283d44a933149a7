/*
 * Recomputation: some ops of the forward pass are copied to just before the first op of the
 * backward pass that reads their results.
 *
 *     %h = matmul(%x, %w)             %h = matmul(%x, %w)
 *     %a = exp(%h)                    %a = exp(%h)
 *     ...                     -->     ...
 *     %g = ...                        %g = ...
 *                                     %w1 = barrier(%w)
 *                                     %x1, %g1 = barrier(%x, %g)
 *                                     %h1 = matmul(%x1, %w1)
 *                                     %a1 = exp(%h1)
 *     %d = mul(%g, %a)                %d = mul(%g1, %a1)
 *
 * %a is then needed only until its last use in the forward pass. %g is the newest value of the
 * backward pass, so that %h1 is computed after it.
 */
#ifndef PASSES_RECOMPUTE_OPS_H
#define PASSES_RECOMPUTE_OPS_H

#include "ir/ir.h"

struct ir_numbering;

enum recompute_side {
	RECOMPUTE_OTHER,    /* neither: a metric, an input, or inputs of an optimizer other than
			   gradients */
	RECOMPUTE_FORWARD,  /* the loss depends on it */
	RECOMPUTE_BACKWARD, /* a gradient or a next value of a param depends on it, and the loss does
			   not */
};

/* Properties of an op of @main. */
struct recompute_op {
	uint8_t side;   /* enum recompute_side */
	bool fixed;     /* computed from constants alone: it waits for nothing */
	bool statistic; /* tiny: kept rather than computed again */
	bool copyable;  /* may be computed again */
	bool saved;     /* an op of the backward pass reads a result of it or of a view of it */
	int64_t bytes;  /* of its results on a device; 0: they are views, or not in memory */
};

/* @main of a module, read before any recomputation is inserted. */
struct recompute_ops {
	const struct ir_numbering *ops;
	struct recompute_op *op; /* [ops->n] by number */
	bool trains;             /* some op is RECOMPUTE_BACKWARD */
};

/*
 * Owned by `owner`. `loss` is an output of @main; `collectives`: they may be recomputed. Random ops
 * are functions of seed and position, so they are copyable.
 */
struct recompute_ops *recompute_read(
	const void *owner, const struct ir_module *m, const struct ir_op *loss, bool collectives);

/* One group of ops that were copied together. */
struct recompute_group {
	const struct ir_op *at; /* the barrier; NULL: nothing of the group was copied */
	int64_t ops;            /* copies */
	int64_t values, bytes;  /* values that the backward pass no longer reads, and their size */
	int64_t inputs;         /* operands of the barriers */
};

enum { RECOMPUTE_KEPT = -1 };

/*
 * Copies ops of the groups: group[i] is that of op i, from 0 on, or RECOMPUTE_KEPT. An op is copied if
 * it is copyable and the backward pass, or a copied op of its group, reads it; operands of copied
 * ops that belong to another group are kept. m is the module that was read or a clone of it.
 * result[] has an entry for each of n groups.
 */
void recompute_copy(const struct recompute_ops *a, struct ir_module *m, const int32_t *group,
	struct recompute_group *result, int32_t n);

#endif
