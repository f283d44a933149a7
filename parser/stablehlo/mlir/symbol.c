/*
 * Texts to what they mean. A symbol is found once a token and holds the value that the name has in
 * the scope at hand, so that there is no second look-up. A scope is a number: an isolated region
 * opens one, which hides all values; other regions see what is outside, and closing a region brings
 * back what its names meant before.
 */
#include "parser/stablehlo/mlir/parser.h"

#include "ir/base/alloc.h"
#include "ir/base/hex.h"
#include "ir/base/mix.h"
#include "ir/base/number.h"

#include <string.h>

enum { SYMBOLS_CHUNK = 256 }; /* symbols allocated together */

static struct mlir_symbol *
symbol_of(const struct mlir_parser *p, uint32_t number)
{
	return &p->symbols.at[number / SYMBOLS_CHUNK][number % SYMBOLS_CHUNK];
}

static bool
same_text(const void *list, uint32_t i, const void *key)
{
	const struct mlir_symbol *s = symbol_of(list, i), *of = key;

	return s->n == of->n && memcmp(s->text, of->text, s->n) == 0;
}

struct mlir_symbol *
mlir_symbol_find(struct mlir_parser *p, const char *text, size_t n)
{
	const struct mlir_symbol key = {.text = text, .n = (uint32_t)n};
	const uint32_t known = p->symbol_map.used;
	const uint32_t i = map_add(p, &p->symbol_map, mix_bytes(0, text, n), same_text, p, &key);

	if (i < known)
		return symbol_of(p, i);
	if (i / SYMBOLS_CHUNK == (uint32_t)p->symbols.n)
		VEC_PUSH(
			p, &p->symbols, ARENA_ARRAY(p->scratch, struct mlir_symbol, SYMBOLS_CHUNK));
	struct mlir_symbol *s = symbol_of(p, i);
	s->text = text;
	s->n = (uint32_t)n;
	return s;
}

/* The characters of a string without its quotes: \" \\ \n \t and \HH. Their number. */
static size_t
unescape(const char *text, size_t n, char *out)
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		if (c == '\\' && i + 1 < n) {
			c = text[++i];
			if (c == 'n')
				c = '\n';
			else if (c == 't')
				c = '\t';
			else if (i + 1 < n && hex_digit(c) >= 0 && hex_digit(text[i + 1]) >= 0) {
				c = (char)(hex_digit(c) * 16 + hex_digit(text[i + 1]));
				i++;
			}
		}
		out[length++] = c;
	}
	return length;
}

/* `@"a b"::@c` is "a b::c". */
static const char *
symbol_ref_name(struct mlir_parser *p, const char *text, size_t n)
{
	char *out = arena_alloc(p->scratch, n + 1);
	size_t length = 0;

	for (size_t i = 0; i < n;) {
		if (text[i] == '@') {
			i++;
		} else if (text[i] == '"') {
			size_t end = i + 1;
			while (end < n && text[end] != '"')
				end += text[end] == '\\' ? 2 : 1;
			length += unescape(text + i + 1, end - i - 1, out + length);
			i = end + 1;
		} else {
			out[length++] = text[i++];
		}
	}
	return ir_name_n(p->ctx, out, length);
}

const char *
mlir_symbol_name(struct mlir_parser *p, struct mlir_symbol *s)
{
	if (s->name)
		return s->name;
	switch (*s->text) {
	case '%': s->name = ir_name_n(p->ctx, s->text + 1, s->n - 1); break;
	case '@': s->name = symbol_ref_name(p, s->text, s->n); break;
	case '"': {
		char *out = arena_alloc(p->scratch, s->n);
		s->name = ir_name_n(p->ctx, out, unescape(s->text + 1, s->n - 2, out));
		break;
	}
	default: s->name = ir_name_n(p->ctx, s->text, s->n);
	}
	return s->name;
}

uint32_t
mlir_scope_open(struct mlir_parser *p, bool isolated)
{
	uint32_t outer = p->scope;

	if (isolated)
		p->scope = ++p->last_scope;
	return outer;
}

void
mlir_scope_close(struct mlir_parser *p, uint32_t outer, uint32_t undo)
{
	while (p->undo.n > undo) {
		const struct mlir_undo *u = &VEC_POP(&p->undo);
		u->symbol->value = u->value;
		u->symbol->nvalues = u->nvalues;
		u->symbol->scope = u->scope;
	}
	p->scope = outer;
}

static void
symbol_bind(struct mlir_parser *p, struct mlir_symbol *s, struct mlir_value *v, uint32_t n)
{
	VEC_PUSH(p, &p->undo, (struct mlir_undo){s, s->value, s->scope, s->nvalues});
	s->value = v;
	s->nvalues = n;
	s->scope = p->scope;
}

void
mlir_symbol_define(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc,
	struct mlir_value *v, uint32_t n)
{
	if (s->scope == p->scope && s->value != &p->poison) {
		mlir_error(p, loc, "%.*s is already defined", (int)s->n, s->text);
		mlir_note(p, s->value->loc, "here");
		return;
	}
	symbol_bind(p, s, v, n);
}

void
mlir_symbol_poison(struct mlir_parser *p, struct mlir_symbol *s)
{
	if (s->scope != p->scope)
		symbol_bind(p, s, &p->poison, 1);
}

struct mlir_value *
mlir_symbol_value(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc)
{
	struct mlir_symbol *s = name.symbol;

	if (s->scope != p->scope) {
		mlir_error(p, loc,
			s->scope ? "%.*s is defined outside the function and cannot be used in it"
				 : "%.*s is not defined",
			(int)s->n, s->text);
		mlir_symbol_poison(p, s);
		return &p->poison;
	}
	if (s->value == &p->poison)
		return &p->poison;
	if (name.n >= s->nvalues) {
		mlir_error(p, loc, "%.*s has %u result%s; #%u counts from 0", (int)s->n, s->text,
			s->nvalues, number_plural(s->nvalues), name.n);
		return &p->poison;
	}
	return s->value + name.n;
}
