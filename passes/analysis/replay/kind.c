/*
 * The role of an op in the cost model: none, a kernel, a collective, or a copy. Views and
 * collectives are those of ir/memory/storage.h, which lower/plan/actions.c follows as well.
 */
#include "passes/analysis/replay/kind.h"

#include "ir/memory/op_class.h"
#include "ir/memory/storage.h"

/* Bytes of the message: of the side that is whole on the axis; of the source if both are slices.
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
	if (!storage_is_message(m, op))
		return false;
	c->axis = (int)ir_attr_int(op, "axis", 0);
	c->places = m->axis[c->axis].size;
	c->kind = op_collective(op);
	c->bytes = message_bytes(m, op, c->kind);
	c->parts = ir_parts(op);
	return true;
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
	if (storage_is_message(m, op))
		return COST_COLLECTIVE;
	if (storage_is_copy(op))
		return COST_COPY;
	if (op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_NAMED) || op->code == OP_constant ||
		storage_is_view(m, op))
		return COST_NONE;
	return COST_COMPUTE;
}
