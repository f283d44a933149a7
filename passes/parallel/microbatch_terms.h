/* Which ops of a forward step are terms of the loss that are not linear in sums over the batch: see
 * microbatch.c. */
#ifndef PASSES_PARALLEL_MICROBATCH_TERMS_H
#define PASSES_PARALLEL_MICROBATCH_TERMS_H

#include "ir/ir.h"

struct terms {
	const struct ir_module *m;
	struct ir_block *block;
	int axis;
	uint32_t nops; /* number of op ids before the change */
	uint32_t nbends;
	const struct ir_op *loss; /* the output; NULL: none */
	bool *sum;                /* by value->id: is or is computed from a sum over the batch */
	bool *term;               /* by op->id: must be computed by micro-batch */
	bool *bends;              /* by op->id: moreover not affine in sums over the batch */
};

/* How v is laid out on the time axis. */
static inline struct ir_state
terms_state(const struct terms *t, const struct ir_value *v)
{
	return v->type->axis[t->axis];
}

/* Ops that were built later have larger ids. */
static inline bool
terms_have(const struct terms *t, const struct ir_op *op)
{
	return op->id < t->nops && t->term[op->id];
}

/* Is an operand a sum over the batch, or computed from one? */
static inline bool
terms_reads_sum(const struct terms *t, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		if (t->sum[ir_operand(op, j)->id])
			return true;
	return false;
}

/* Of @main, whose inputs have been split over the time axis. Owned by `owner`. */
struct terms *terms_create(const void *owner, const struct ir_module *m, int axis);

/* The first op that is not affine in sums over the batch; NULL: none. */
const struct ir_op *terms_first_bend(const struct terms *t);

#endif
