/*
 * Names to values. A symbol is found once a token, and holds what the name means in the scope at
 * hand, so that there is no second look-up. A scope is a number: opening one hides all values, and
 * closing it brings back those that it redefined. */
#include "parser/dir/parser.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"

#include <string.h>

enum { SYMBOLS_CHUNK = 256 }; /* symbols allocated together */

/* Symbols are in chunks, so that a slot takes 8 bytes and no symbol moves. */
static struct symbol *
symbol_of(const struct parser *p, uint32_t number)
{
	return &p->symbols.at[number / SYMBOLS_CHUNK][number % SYMBOLS_CHUNK];
}

static struct symbol *
symbol_create(struct parser *p, uint32_t number)
{
	if (number / SYMBOLS_CHUNK == (uint32_t)p->symbols.n)
		VEC_PUSH(p, &p->symbols, ARENA_ARRAY(p->scratch, struct symbol, SYMBOLS_CHUNK));
	return symbol_of(p, number);
}

static bool
same_text(const void *list, uint32_t i, const void *key)
{
	const struct symbol *s = symbol_of(list, i), *of = key;

	return s->n == of->n && memcmp(s->text, of->text, s->n) == 0;
}

struct symbol *
symbol_find(struct parser *p, const char *text, size_t n)
{
	const struct symbol key = {.text = text, .n = (uint32_t)n};
	const uint32_t known = p->symbol_map.used;
	const uint32_t i = map_add(p, &p->symbol_map, mix_bytes(0, text, n), same_text, p, &key);

	if (i < known)
		return symbol_of(p, i);
	struct symbol *s = symbol_create(p, i);
	*s = (struct symbol){.text = text, .n = (uint32_t)n, .op = SYMBOL_UNKNOWN};
	return s;
}

const char *
symbol_name(struct parser *p, struct symbol *s)
{
	if (!s->name)
		s->name = ir_name_n(p->ctx, s->text, s->n);
	return s->name;
}

uint32_t
scope_open(struct parser *p)
{
	uint32_t outer = p->scope;

	p->scope = ++p->last_scope;
	return outer;
}

void
scope_close(struct parser *p, uint32_t outer, int undo)
{
	while (p->undo.n > undo) {
		const struct undo *u = &VEC_POP(&p->undo);
		u->symbol->value = u->value;
		u->symbol->scope = u->scope;
	}
	p->scope = outer;
}

static void
symbol_bind(struct parser *p, struct symbol *s, struct ir_value *v)
{
	if (p->region)
		VEC_PUSH(p, &p->undo, (struct undo){s, s->value, s->scope});
	s->value = v;
	s->scope = p->scope;
}

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
	struct symbol *s = name.symbol;

	if (s->scope == p->scope && s->value != &p->poison) {
		PARSE_ERROR(p, name.loc, "%%%.*s is already defined", (int)s->n, s->text);
		diag_note(p->ctx->diag, value_loc(p, s->value), "here");
		return false;
	}
	symbol_bind(p, s, v);
	return true;
}

void
symbol_poison(struct parser *p, struct symbol *s)
{
	if (s->scope != p->scope)
		symbol_bind(p, s, &p->poison);
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
	struct symbol *s = name.symbol;

	if (s->scope == p->scope)
		return s->value;
	if (s->scope && s->value == &p->poison)
		return NULL;
	if (s->scope && symbol_is_outside(p, s))
		PARSE_ERROR(p, name.loc,
			"%%%.*s is defined outside the body of the fuse; pass it as an operand",
			(int)s->n, s->text);
	else
		PARSE_ERROR(p, name.loc, "%%%.*s is not defined", (int)s->n, s->text);
	symbol_poison(p, s);
	return NULL;
}
