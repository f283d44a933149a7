/*
 * What an op is to the cost model: nothing, a kernel, or a message. Follows lower/plan/plan.h, which
 * makes the program's actions; test/cost compares the two.
 */
#include "passes/analysis/cost/cost.h"

#include "ir/memory/op_class.h"

static const struct ir_attr *
axis_of(const struct ir_op *op)
{
	return op_is(op, PARALLEL) ? ir_attr_find(op, "axis") : NULL;
}

/* The collective that moves data over a device axis; RT_COLL_KINDS where none is needed. */
static enum rt_coll_kind
collective_of(const struct ir_op *op, int axis)
{
	const bool there =
		op->code == OP_partition && ir_operand_type(op, 0)->axis[axis].kind != IR_SINGLE;

	return there ? RT_COLL_KINDS : op_collective(op);
}

/* Bytes of the message: of the side that is whole on the axis; of the source where both are slices.
 */
static double
message_bytes(const struct ir_module *m, const struct ir_op *op, enum rt_coll_kind kind)
{
	bool result_is_whole = rt_coll_info(kind)->target == RT_COLL_WHOLE;
	double bytes = 0;
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_type *t =
			result_is_whole ? op->result[i].type : ir_operand_type(op, i);
		bytes += (double)ir_type_local_bytes(m, t);
	}
	return bytes;
}

bool
cost_op_collective(const struct ir_module *m, const struct ir_op *op, struct cost_collective *c)
{
	const struct ir_attr *axis = axis_of(op);
	if (!axis || m->axis[axis->i].time || m->axis[axis->i].size < 2)
		return false;
	c->axis = (int)axis->i;
	c->places = m->axis[axis->i].size;
	c->kind = collective_of(op, c->axis);
	bool to_itself =
		c->kind == RT_SEND && ir_attr_int(op, "from", 0) == ir_attr_int(op, "to", 0);
	if (c->kind == RT_COLL_KINDS || to_itself)
		return false;
	c->bytes = message_bytes(m, op, c->kind);
	c->parts = ir_parts(op);
	return true;
}

/* Sums, slices and copies that a parallelization op needs where it sends no message. */
static enum cost_kind
local_kind(const struct ir_module *m, const struct ir_op *op, const struct ir_attr *axis)
{
	bool view = m->axis[axis->i].size < 2 || op->code == OP_replicate || op->code == OP_send;
	return view ? COST_NONE : COST_COMPUTE;
}

/* Is the result the operand as it lies there? */
static bool
is_view(const struct ir_op *op)
{
	return op->code == OP_reshape || op->code == OP_stop_gradient ||
	       (op->code == OP_convert && op->result[0].type == ir_operand_type(op, 0));
}

const struct ir_value *
cost_viewed(const struct ir_module *m, const struct ir_value *v)
{
	const bool view = v->op && v->op->noperands && cost_op_kind(m, v->op) == COST_NONE;

	return view ? ir_operand(v->op, (int)v->index) : NULL;
}

enum cost_kind
cost_op_kind(const struct ir_module *m, const struct ir_op *op)
{
	struct cost_collective c;
	if (cost_op_collective(m, op, &c))
		return COST_COLLECTIVE;
	if (op_is(op, EFFECT | TERMINATOR | NAMED) || op->code == OP_constant || is_view(op))
		return COST_NONE;
	const struct ir_attr *axis = axis_of(op);
	return axis ? local_kind(m, op, axis) : COST_COMPUTE;
}
