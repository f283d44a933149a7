/*
 * Several tensors in one allreduce are one message where they lie in a row. Whether a tensor can be
 * made there follows from the ops around it alone, whatever the order of issue and whatever else
 * travels with it: so a cost model, and a search that has not made the module yet, can tell what
 * will be copied.
 *
 *     %a = kernel  ──┐                                  made in the row: nobody else reads it
 *     %w = param   ──┼─> %A, %W = allreduce(%a, %w)     copied: it lies where params lie
 *     %b = kernel  ──┘                                  copied where anybody else reads it
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

/* What a view shows. */
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

/* The row in which v lies already, because messages leave their results where operands lie. */
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

/* Does the message carry just what the one before has left in a row? */
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
