/*
 * Texts to meanings. A symbol keeps how its text is read, as a type or an op name; the meaning of a
 * value's name depends on regions: an isolated one opens a scope, which hides all values; others
 * see outer values, and closing a region restores what its names meant before.
 */
#include "parser/stablehlo/mlir/parser.h"

#include "ir/base/hex.h"
#include "ir/base/mix.h"
#include "ir/base/number.h"

#include <string.h>

MAP_SAME(same_text, struct mlir_parser, struct mlir_symbol,
	list->symbols.at[i]->n == key->n &&
		memcmp(list->symbols.at[i]->text, key->text, key->n) == 0)

struct mlir_symbol *
mlir_symbol_find(struct mlir_parser *p, const char *text, size_t n)
{
	const struct mlir_symbol key = {.text = text, .n = (uint32_t)n};
	const uint32_t i = map_add(p, &p->symbol_map, mix_text(text, n), same_text, p, &key);

	if (i == p->symbols.n) {
		VEC_PUSH(p, &p->symbols, ARENA_NEW(p->scratch, struct mlir_symbol));
		*VEC_LAST(&p->symbols) = key;
	}
	return p->symbols.at[i];
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

void
mlir_symbol_define(struct mlir_parser *p, const char *name, struct ir_loc loc, struct mlir_value *v,
	uint32_t n)
{
	struct symbol *s = symbol_of(&p->values, name);

	if (s->scope == p->values.scope && s->value != &p->poison) {
		mlir_error(p, loc, "%%%s is already defined", name);
		mlir_note(p, ((const struct mlir_value *)s->value)->loc, "here");
		return;
	}
	symbol_bind(&p->values, s, v, n, true);
}

void
mlir_symbol_poison(struct mlir_parser *p, const char *name)
{
	struct symbol *s = symbol_of(&p->values, name);

	if (s->scope != p->values.scope)
		symbol_bind(&p->values, s, &p->poison, 1, true);
}

struct mlir_value *
mlir_symbol_value(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc)
{
	const struct symbol *s = symbol_of(&p->values, name.name);

	if (s->scope != p->values.scope) {
		mlir_error(p, loc,
			s->scope ? "%%%s is defined outside the function and cannot be used in it"
				 : "%%%s is not defined",
			name.name);
		mlir_symbol_poison(p, name.name);
		return &p->poison;
	}
	if (s->value == &p->poison)
		return &p->poison;
	if (name.n >= s->n) {
		mlir_error(p, loc, "%%%s has %u result%s, numbered from 0, so there is no #%u",
			name.name, s->n, number_plural(s->n), name.n);
		return &p->poison;
	}
	return (struct mlir_value *)s->value + name.n;
}
