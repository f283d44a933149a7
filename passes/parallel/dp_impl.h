/* Shared by the files of dp: the state of a run of the pass. */
#ifndef PASSES_DP_IMPL_H
#define PASSES_DP_IMPL_H

#include "passes/parallel/dp.h"

/* Ops that one remark is about. */
struct dp_names {
	const struct ir_op *first;
	int64_t n;
	const char
		*text; /* text of the first ones, "sub (%a), mul, ..."; NULL if remarks are off */
};

void dp_names_add(struct pass_run *run, struct dp_names *names, const struct ir_op *op);

struct dp {
	struct pass_run *run;
	struct ir_module *m;
	int axis;
	bool time;                 /* is it a time axis, of micro-batches? */
	struct dp_sliced **sliced; /* by value->id, of values that were there before this pass */
	uint32_t nids;
	struct dp_names late; /* ops of the second loop over micro-batches: repeat_late */
};

/* How v is laid out on the axis. */
static inline struct ir_state
dp_state(const struct dp *p, const struct ir_value *v)
{
	return v->type->axis[p->axis];
}

/*
 * v after a parallelization op over the axis: `code`, or its counterpart on a time axis; along
 * `dim` if the op has a dim. An existing op is reused. NULL: reported.
 */
struct ir_value *dp_change(struct dp *p, struct ir_value *v, enum op_code code, int dim);

/*
 * The slice along dim of a copied value that a device needs: see dp_slice.c. Callers pass depth 0.
 */
struct ir_value *dp_slice(struct dp *p, struct ir_value *v, int dim, int depth);

/* A remark about the ops that need a result of all micro-batches, if there are any. */
void dp_remark_late(struct dp *p);

/* Erases the op of a value without readers, and the ops that only it needed. */
void dp_drop_dead(struct ir_value *v);

/* Makes the op's operands fit and infers its results again. False: reported. */
bool dp_carry(struct dp *p, struct ir_op *op);

#endif
