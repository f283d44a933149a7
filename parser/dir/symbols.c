/* Names to values: what the language says of where a name is defined. */
#include "parser/dir/parser.h"

/* Where a value was defined. */
static struct ir_loc
value_loc(const struct parser *p, const struct ir_value *v)
{
	if (v->op)
		return v->op->loc;
	return v->block && v->block->parent ? v->block->parent->loc : p->func->loc;
}

bool
symbol_define(struct parser *p, struct named name, struct ir_value *v)
{
	struct symbol *s = symbol_of(&p->symbols, name.name);

	if (s->scope == p->symbols.scope && s->value != &p->poison) {
		PARSE_ERROR(p, name.loc, "%%%s is already defined", name.name);
		diag_note(p->ctx->diag, value_loc(p, s->value), "here");
		return false;
	}
	symbol_bind(&p->symbols, s, v, 1, p->region != NULL);
	return true;
}

void
symbol_poison(struct parser *p, const char *name)
{
	struct symbol *s = symbol_of(&p->symbols, name);

	if (s->scope != p->symbols.scope)
		symbol_bind(&p->symbols, s, &p->poison, 1, p->region != NULL);
}

/* Is the name a value of a block around the body being read? */
static bool
symbol_is_outside(const struct parser *p, const struct symbol *s)
{
	for (const struct region *r = p->region; r; r = r->outer)
		if (s->scope == r->scope)
			return true;
	return false;
}

struct ir_value *
symbol_value(struct parser *p, struct named name)
{
	const struct symbol *s = symbol_of(&p->symbols, name.name);

	if (s->scope == p->symbols.scope)
		return s->value;
	if (s->scope && s->value == &p->poison)
		return NULL;
	if (s->scope && symbol_is_outside(p, s))
		PARSE_ERROR(p, name.loc,
			"%%%s is defined outside the body of the fuse; pass it as an operand",
			name.name);
	else
		PARSE_ERROR(p, name.loc, "%%%s is not defined", name.name);
	symbol_poison(p, name.name);
	return NULL;
}
