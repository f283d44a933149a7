/* Modules, functions, ops, use lists. */
#include "ir/ir.h"

#include "ir/base/alloc.h"
#include "ir/base/intern.h"
#include "ir/base/mix.h"
#include "ir/infer_memo.h"
#include "ir/ops/row.h"

#include <string.h>

struct ir_module *
ir_module_create(const void *owner, struct ir_context *ctx, const char *name)
{
	struct ir_module *m = NEW(owner, struct ir_module);

	m->ctx = ctx;
	m->arena = arena_create(m);
	m->memo = infer_memo_create(m);
	m->name = ir_name(ctx, name);
	m->last_func = &m->func;
	return m;
}

MAP_SAME(same_let, struct ir_module, char, list->let[i].name == key)

void
ir_let_add(struct ir_module *m, struct ir_let let)
{
	if (!m->let_map)
		m->let_map = NEW(m, struct map);
	map_add(m, m->let_map, mix_word(0, name_number(let.name)), same_let, m, let.name);
	LIST_PUSH(m, m->let, m->nlets, let);
}

const struct ir_let *
ir_let_find(const struct ir_module *m, const char *name)
{
	if (!m->let_map)
		return NULL;
	const uint32_t i = map_find(m->let_map, mix_word(0, name_number(name)), same_let, m, name);

	return i != MAP_NONE ? &m->let[i] : NULL;
}

struct ir_func *
ir_func_create(struct ir_module *m, const char *name, struct ir_loc loc)
{
	struct ir_func *f = ARENA_NEW(m->arena, struct ir_func);

	f->name = ir_name(m->ctx, name);
	f->module = m;
	f->loc = loc;
	f->body.func = f;
	*m->last_func = f;
	m->last_func = &f->next;
	return f;
}

struct ir_func *
ir_func_find(const struct ir_module *m, const char *name)
{
	for (struct ir_func *f = m->func; f; f = f->next)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

int
ir_axis_find(const struct ir_module *m, const char *name)
{
	for (int i = 0; i < m->naxes; i++)
		if (strcmp(m->axis[i].name, name) == 0)
			return i;
	return -1;
}

int64_t
ir_devices(const struct ir_module *m)
{
	int64_t n = 1;

	for (int i = 0; i < m->naxes; i++)
		n *= m->axis[i].time ? 1 : m->axis[i].size;
	return n;
}

int64_t
ir_places(const struct ir_module *m)
{
	int64_t n = 1;

	for (int i = 0; i < m->naxes; i++)
		n *= m->axis[i].size;
	return n;
}

void
ir_place_coord(const struct ir_module *m, int64_t place, int coord[IR_MAX_AXES])
{
	for (int i = m->naxes - 1; i >= 0; i--) {
		coord[i] = (int)(place % m->axis[i].size);
		place /= m->axis[i].size;
	}
}

static void
use_link(struct ir_use *u, struct ir_value *v)
{
	u->value = v;
	u->next = v->uses;
	u->link = &v->uses;
	if (v->uses)
		v->uses->link = &u->next;
	v->uses = u;
}

static void
use_unlink(struct ir_use *u)
{
	if (!u->value)
		return;
	*u->link = u->next;
	if (u->next)
		u->next->link = u->link;
	u->value = NULL;
}

/* Sets the operands of an op that has none yet, but has room for them. */
static void
link_operands(struct ir_op *op, struct ir_value *const *v, int n)
{
	op->noperands = (uint16_t)n;
	for (int i = 0; i < n; i++) {
		op->operand[i].op = op;
		use_link(&op->operand[i], v[i]);
	}
}

struct ir_op *
ir_op_create(struct ir_module *m, enum op_code code, struct ir_loc loc,
	struct ir_value *const *operands, int noperands, const struct ir_attr *attr, int nattrs,
	int nresults)
{
	/* In one piece: | op | results | operands | attributes | */
	struct ir_op *op =
		arena_alloc(m->arena, sizeof *op + sizeof *op->result * (size_t)nresults +
					      sizeof *op->operand * (size_t)noperands +
					      sizeof *op->attr * (size_t)nattrs);

	op->id = m->op_ids++;
	op->code = (uint16_t)code;
	op->loc = loc;
	op->nresults = (uint16_t)nresults;
	for (int i = 0; i < nresults; i++) {
		op->result[i].op = op;
		op->result[i].index = (uint32_t)i;
		op->result[i].id = m->value_ids++;
	}
	op->operand = (struct ir_use *)(void *)(op->result + nresults);
	link_operands(op, operands, noperands);
	op->attr = (struct ir_attr *)(void *)(op->operand + noperands);
	row_put_attrs(m->ctx, op, attr, nattrs);
	return op;
}

static void
block_link(struct ir_block *b, struct ir_op *prev, struct ir_op *next, struct ir_op *op)
{
	op->block = b;
	op->prev = prev;
	op->next = next;
	if (op->body)
		op->body->func = b->func;
	*(prev ? &prev->next : &b->first) = op;
	*(next ? &next->prev : &b->last) = op;
}

void
ir_block_append(struct ir_block *b, struct ir_op *op)
{
	block_link(b, b->last, NULL, op);
}

void
ir_insert_before(struct ir_op *at, struct ir_op *op)
{
	block_link(at->block, at->prev, at, op);
}

void
ir_insert_after(struct ir_op *at, struct ir_op *op)
{
	block_link(at->block, at, at->next, op);
}

void
ir_op_unlink(struct ir_op *op)
{
	struct ir_block *b = op->block;

	*(op->prev ? &op->prev->next : &b->first) = op->next;
	*(op->next ? &op->next->prev : &b->last) = op->prev;
	op->prev = op->next = NULL;
	op->block = NULL;
}

/* The ops of a body use only arguments and results of the body, so they are erased with it. */
void
ir_op_erase(struct ir_op *op)
{
	if (op->block)
		ir_op_unlink(op);
	for (int i = 0; i < op->noperands; i++)
		use_unlink(&op->operand[i]);
	op->noperands = 0;
}

void
ir_set_operand(struct ir_op *op, int i, struct ir_value *v)
{
	use_unlink(&op->operand[i]);
	use_link(&op->operand[i], v);
}

void
ir_set_operands(struct ir_module *m, struct ir_op *op, struct ir_value *const *v, int n)
{
	for (int i = 0; i < op->noperands; i++)
		use_unlink(&op->operand[i]);
	if (n > op->noperands)
		op->operand = ARENA_ARRAY(m->arena, struct ir_use, n);
	link_operands(op, v, n);
}

void
ir_replace_uses(struct ir_value *from, struct ir_value *to)
{
	while (from->uses) {
		struct ir_use *u = from->uses;
		use_unlink(u);
		use_link(u, to);
	}
}

struct ir_value *
ir_block_args(struct ir_module *m, struct ir_block *b, uint32_t n)
{
	struct ir_args *args = arena_alloc(m->arena, sizeof *args + sizeof *args->arg * n);

	args->block = b;
	for (uint32_t i = 0; i < n; i++)
		args->arg[i].index = i;
	return args->arg;
}

struct ir_block *
ir_op_make_body(struct ir_module *m, struct ir_op *op)
{
	struct ir_block *b = ARENA_NEW(m->arena, struct ir_block);

	b->func = op->block ? op->block->func : NULL;
	b->parent = op;
	b->nargs = op->noperands;
	b->arg = ir_block_args(m, b, op->noperands);
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_type *t = ir_operand_type(op, i);
		b->arg[i].type = op->code == OP_while && t ? ir_type_meaning(m->ctx, t) : t;
		b->arg[i].name = op->code == OP_fuse ? ir_operand(op, i)->name : NULL;
		b->arg[i].id = m->value_ids++;
	}
	op->body = b;
	return b;
}

static void
renumber_block(struct ir_module *m, struct ir_block *b)
{
	for (uint32_t i = 0; i < b->nargs; i++)
		b->arg[i].id = m->value_ids++;
	IR_FOR_OPS (op, b) {
		op->id = m->op_ids++;
		for (int i = 0; i < op->nresults; i++)
			op->result[i].id = m->value_ids++;
		if (op->body)
			renumber_block(m, op->body);
	}
}

void
ir_module_renumber(struct ir_module *m)
{
	m->op_ids = m->value_ids = 0;
	for (struct ir_func *f = m->func; f; f = f->next)
		renumber_block(m, &f->body);
	m->op_ids_before = m->op_ids;
}

void
ir_module_renumber_if_sparse(struct ir_module *m)
{
	if (m->op_ids / 2 > m->op_ids_before)
		ir_module_renumber(m);
}
