/*
 * Copies of ops in the order of the block, and their restoration: see saved.h. All links between
 * ops, and between values and uses, are addresses in the copied memory, so restoring restores them.
 */
#include "ir/saved.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

struct saved_op {
	struct ir_op *op;
	char *copy; /* of the op with its results, of its operands and of its attributes */
};

struct ir_saved {
	struct ir_module *m;
	struct ir_block *block, as_it_was;
	struct ir_value *arg; /* [nargs] of the block */
	struct saved_op *op;  /* [n] */
	uint32_t n;
	uint32_t op_ids, value_ids, op_ids_before;
	struct arena *copies;
	struct arena *own, *fresh; /* of the module; of the change, NULL: none */
};

static size_t
op_bytes(const struct ir_op *op)
{
	return sizeof *op + op->nresults * sizeof *op->result;
}

static char *
copy_op(struct arena *copies, const struct ir_op *op)
{
	const size_t own = op_bytes(op), operands = op->noperands * sizeof *op->operand,
		     attrs = op->nattrs * sizeof *op->attr;
	char *copy = arena_alloc(copies, own + operands + attrs);

	memcpy(copy, op, own);
	if (operands)
		memcpy(copy + own, op->operand, operands);
	if (attrs)
		memcpy(copy + own + operands, op->attr, attrs);
	return copy;
}

static void
put_back(const struct saved_op *s)
{
	struct ir_op *op = s->op;
	const char *from = s->copy;

	memcpy(op, from, sizeof *op);
	from += sizeof *op;
	memcpy(op->result, from, op->nresults * sizeof *op->result);
	from += op->nresults * sizeof *op->result;
	if (op->noperands)
		memcpy(op->operand, from, op->noperands * sizeof *op->operand);
	from += op->noperands * sizeof *op->operand;
	if (op->nattrs)
		memcpy(op->attr, from, op->nattrs * sizeof *op->attr);
}

struct ir_saved *
ir_saved_create(const void *owner, struct ir_module *m)
{
	struct ir_saved *s = NEW(owner, struct ir_saved);

	s->m = m;
	s->block = &ir_func_find(m, "main")->body;
	s->as_it_was = *s->block;
	s->arg = COPY_ARRAY(s, struct ir_value, s->block->arg, s->block->nargs);
	s->op_ids = m->op_ids;
	s->value_ids = m->value_ids;
	s->op_ids_before = m->op_ids_before;
	s->copies = arena_create(s);
	s->op = ARRAY_NEW(s, struct saved_op, m->op_ids + 1);
	IR_FOR_OPS (op, s->block)
		s->op[s->n++] = (struct saved_op){op, copy_op(s->copies, op)};
	return s;
}

void
ir_saved_change(struct ir_saved *s)
{
	if (s->fresh)
		return;
	s->own = s->m->arena;
	s->m->arena = s->fresh = arena_create(s);
}

void
ir_saved_restore(struct ir_saved *s)
{
	*s->block = s->as_it_was;
	for (uint32_t i = 0; i < s->block->nargs; i++)
		s->block->arg[i] = s->arg[i];
	for (uint32_t i = 0; i < s->n; i++)
		put_back(&s->op[i]);
	s->m->op_ids = s->op_ids;
	s->m->value_ids = s->value_ids;
	s->m->op_ids_before = s->op_ids_before;
	if (!s->fresh)
		return;
	s->m->arena = s->own;
	talloc_free(s->fresh);
	s->fresh = NULL;
}

void
ir_saved_keep(struct ir_saved *s)
{
	if (!s->fresh)
		return;
	s->m->arena = s->own;
	talloc_steal(s->own, s->fresh);
	s->fresh = NULL;
}
