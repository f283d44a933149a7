/* Names to values: the scope rules of the language. */
#include "parser/dir/parser.h"

/* The location of a value's definition. */
static struct ir_loc
value_loc(const struct parser *p, const struct ir_value *v)
{
	const struct ir_op *op = v->op ? v->op : ir_value_block(v)->parent;

	return op ? op->loc : p->func->loc;
}

enum { CHUNK = 512 }; /* names whose meanings are allocated together */

void **
symbol_meaning(struct parser *p, const char *name)
{
	const uint32_t number = name_number(name), at = number / CHUNK;
	struct meanings *t = &p->meanings;

	while (t->chunk.n <= at)
		VEC_PUSH(p, &t->chunk, NULL);
	if (!t->chunk.at[at])
		t->chunk.at[at] = ARENA_ARRAY(p->scratch, void *, CHUNK);
	return &t->chunk.at[at][number % CHUNK];
}

static void
bind(struct parser *p, void **at, struct ir_value *v)
{
	if (p->region)
		VEC_PUSH(p, &p->meanings.undo, (struct meaning_before){at, *at});
	*at = v;
}

void
symbols_undo(struct parser *p, int64_t undo)
{
	while (p->meanings.undo.n > undo) {
		const struct meaning_before *u = &VEC_POP(&p->meanings.undo);
		*u->at = u->before;
	}
}

/* Is the value of the current scope? The poison has no scope. */
static bool
is_here(const struct parser *p, const struct ir_value *v)
{
	return v && v != &p->poison && v->id >= p->scope;
}

bool
symbol_is_here(struct parser *p, const char *name)
{
	return is_here(p, *symbol_meaning(p, name));
}

bool
symbol_define(struct parser *p, struct named name, struct ir_value *v)
{
	void **at = symbol_meaning(p, name.name);

	if (is_here(p, *at)) {
		PARSE_ERROR(p, name.loc, "%%%s is already defined", name.name);
		diag_note(p->ctx->diag, value_loc(p, *at), "here");
		return false;
	}
	bind(p, at, v);
	return true;
}

void
symbol_poison(struct parser *p, const char *name)
{
	void **at = symbol_meaning(p, name);

	if (!is_here(p, *at) && *at != &p->poison)
		bind(p, at, &p->poison);
}

/* Is it of a block around the body being read? */
static bool
is_outside(const struct parser *p, const struct ir_value *v)
{
	const struct region *r = p->region;

	while (r && r->outer)
		r = r->outer;
	return v && r && v->id >= r->scope;
}

struct ir_value *
symbol_value(struct parser *p, struct named name)
{
	struct ir_value *v = *symbol_meaning(p, name.name);

	if (v == &p->poison || is_here(p, v))
		return v;
	if (is_outside(p, v))
		PARSE_ERROR(p, name.loc,
			"%%%s is defined outside the body of the %s; pass it as an operand",
			name.name,
			op_name((enum op_code)(
				p->region->stmt.code < 0 ? OP_fuse : p->region->stmt.code)));
	else
		PARSE_ERROR(p, name.loc, "%%%s is not defined", name.name);
	symbol_poison(p, name.name);
	return NULL;
}
