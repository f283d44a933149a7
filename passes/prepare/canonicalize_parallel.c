/*
 * Rows for parallelization ops; their rules are in passes/rules/canonical.rules. These are
 * identities on meaning, and each row's comment explains why the layouts are the same.
 */
#include "passes/prepare/canonicalize.h"

#include "ir/ops/row.h"

/* Split by dim `from`, gathered, split by dim `to`: an alltoall. */
static struct ir_value *
exchange_slices(struct canon *c, struct ir_op *op)
{
	const struct ir_op *inner = canon_made_by(op, 0, OP_allgather);
	const int64_t axis = ir_attr_int(op, "axis", -1), to = ir_attr_int(op, "dim", 0);

	inner = inner ? inner : canon_made_by(op, 0, OP_combine);
	if (!inner || inner->noperands != 1 || ir_attr_int(inner, "axis", -1) != axis ||
		inner->result[0].uses->next || c->m->axis[axis].time)
		return NULL;
	struct ir_value *x = canon_operand(inner);
	const struct ir_attr attr[] = {ir_make_int(c->m->ctx, "from", x->type->axis[axis].dim),
		ir_make_int(c->m->ctx, "to", to < 0 ? to + x->type->rank : to),
		ir_make_axis(c->m->ctx, "axis", (int)axis)};
	return ir_build(&c->b, OP_alltoall, &x, 1, attr, 3);
}

/* Each reader gathers the converted value: cse merges the gathers. */
struct ir_value *
canon_convert_before_gather(struct canon *c, struct ir_op *op)
{
	const struct ir_op *gather = canon_made_by(op, 0, OP_allgather);
	const struct ir_type *t = op->result[0].type;

	if (!gather || gather->noperands != 1 ||
		ir_dtype_bytes((enum ir_dtype)t->dtype) >=
			ir_dtype_bytes((enum ir_dtype)gather->result[0].type->dtype))
		return NULL;
	IR_FOR_USES (u, &gather->result[0])
		if (u->op->code != OP_convert || u->op->result[0].type != t)
			return NULL;
	struct ir_value *x = canon_operand(gather);
	x = ir_build(&c->b, OP_convert, &x, 1, op->attr, op->nattrs);
	return ir_build(&c->b, OP_allgather, &x, 1, gather->attr, gather->nattrs);
}

const char canon_joined[] = "parallelization op(s) merged";

const struct rewrite canon_parallel[] = {
	{OP_partition, exchange_slices, canon_joined},
	{0},
};
