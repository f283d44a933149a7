/*
 * The tensors of one allreduce are sent together if they are contiguous, in a row. Whether a tensor
 * can be made in the row follows from the ops around it alone, whatever the order of issue and the
 * other tensors of the row: so a cost model, and a search that has not made the module yet, can
 * tell what will be copied.
 *
 *     %a = kernel  ──┐                                  made in the row: it has no other reader
 *     %w = param   ──┼─> %A, %W = allreduce(%a, %w)     copied: params have their own place
 *     %b = kernel  ──┘                                  copied if another op reads it
 */
#include "ir/memory/storage.h"

bool
storage_lies_in_place(enum op_code code)
{
	return code == OP_allreduce || code == OP_reduce || code == OP_replicate || code == OP_send;
}

bool
storage_is_row(const struct ir_module *m, const struct ir_op *op)
{
	if (op->code != OP_allreduce || op->noperands < 2 || !storage_is_message(m, op))
		return false;
	for (int i = 0; i < op->noperands; i++)
		if (issue_axes(m, ir_operand_type(op, i)) || issue_axes(m, op->result[i].type))
			return false;
	return true;
}

/* The value of which v is a view, or v itself. */
static const struct ir_value *
whole_of(const struct ir_module *m, const struct ir_value *v)
{
	while (v->op && storage_is_view(m, v->op))
		v = ir_operand(v->op, v->index);
	return v;
}

/* Uses of a value and of its views. */
static int
readers(const struct ir_module *m, const struct ir_value *v)
{
	int n = 0;

	IR_FOR_USES (u, v)
		n += storage_is_view(m, u->op) ? readers(m, &u->op->result[u - u->op->operand]) : 1;
	return n;
}

/* The earlier row that v is still in: collectives leave results in their operands' place. */
static const struct ir_op *
row_before(const struct ir_module *m, const struct ir_value *v)
{
	for (; v->op && storage_lies_in_place((enum op_code)v->op->code) &&
		storage_is_message(m, v->op);
		v = whole_of(m, ir_operand(v->op, v->index)))
		if (storage_is_row(m, v->op))
			return v->op;
	return NULL;
}

/* Does the collective read exactly the row that the one before left, and all of it? */
static bool
continues(const struct ir_module *m, const struct ir_op *op, const struct ir_op *before)
{
	bool same = op->noperands == before->noperands;

	for (int i = 0; i < op->noperands && same; i++)
		same = whole_of(m, ir_operand(op, i)) == &before->result[i] &&
		       readers(m, &before->result[i]) == 1;
	return same;
}

bool
storage_is_packed(const struct ir_module *m, const struct ir_op *op, int operand)
{
	const struct ir_value *v = whole_of(m, ir_operand(op, operand));

	if (!v->op || op_is(v->op, TRAIT_NAMED) || issue_axes(m, v->type) || readers(m, v) != 1)
		return true;
	const struct ir_op *before = row_before(m, v);
	return before && !continues(m, op, before);
}
