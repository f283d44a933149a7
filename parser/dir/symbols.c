/* Names to values: the scope rules of the language. */
#include "parser/dir/parser.h"

/* The location of a value's definition. */
static struct ir_loc
value_loc(const struct parser *p, const struct ir_value *v)
{
	const struct ir_op *op = v->op ? v->op : ir_value_block(v)->parent;

	return op ? op->loc : p->func->loc;
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
	struct symbol *s = symbol_of(&p->meanings, name.name);

	if (is_here(p, s->value)) {
		PARSE_ERROR(p, name.loc, "%%%s is already defined", name.name);
		diag_note(p->ctx->diag, value_loc(p, s->value), "here");
		return false;
	}
	symbol_bind(&p->meanings, s, v, 1, p->region != NULL);
	return true;
}

void
symbol_poison(struct parser *p, const char *name)
{
	struct symbol *s = symbol_of(&p->meanings, name);

	if (!is_here(p, s->value) && s->value != &p->poison)
		symbol_bind(&p->meanings, s, &p->poison, 1, p->region != NULL);
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
