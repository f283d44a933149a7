/*
 * Locations in a text: loc("name"), loc("name"(inner)), loc("file":line:column),
 * loc(callsite(a at b)), loc(fused[a, b]), loc(unknown), loc(#alias). Names are used,
 * "params['w']", "jit(step)/dot_general", and for messages the innermost place that is not in an
 * installed package.
 */
#include "parser/stablehlo/mlir/parser.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

void
mlir_location_alias(struct mlir_parser *p, struct mlir_symbol *alias, struct mlir_symbol *location)
{
	(void)p;
	alias->location = location;
}

static const char *location_name(struct mlir_parser *p, const char *s, const char *end, int depth);

/* `"name"`, as opposed to a place in a file. */
static const char *
string_name(struct mlir_parser *p, const char *s, const char *end)
{
	const char *close = s + 1;

	while (close < end && *close != '"')
		close += *close == '\\' ? 2 : 1;
	if (close >= end)
		return NULL;
	const char *next = close + 1;
	while (next < end && isspace((unsigned char)*next))
		next++;
	if (next < end && *next == ':')
		return NULL;
	return mlir_symbol_name(p, mlir_symbol_find(p, s, (size_t)(close + 1 - s)));
}

/* The location that the alias at s stands for, or NULL. */
static struct mlir_symbol *
alias_of(struct mlir_parser *p, const char *s, const char *end)
{
	const char *stop = s + 1;

	while (stop < end && (isalnum((unsigned char)*stop) || strchr("_$.", *stop)))
		stop++;
	return mlir_symbol_find(p, s, (size_t)(stop - s))->location;
}

static const char *
alias_name(struct mlir_parser *p, const char *s, const char *end, int depth)
{
	struct mlir_symbol *to = alias_of(p, s, end);
	if (!to)
		return NULL;
	if (!to->location_read) { /* a location that refers to itself has no name */
		to->location_read = true;
		to->debug_name = location_name(p, to->text + 4, to->text + to->n - 1, depth + 1);
	}
	return to->debug_name;
}

/* The first name in a location: for a call site the callee, for a fused one its first. */
static const char *
location_name(struct mlir_parser *p, const char *s, const char *end, int depth)
{
	if (depth > MLIR_MAX_DEPTH)
		return NULL;
	for (; s < end; s++) {
		const char *name = NULL;
		if (*s == '"') {
			name = string_name(p, s, end);
			if (!name)
				for (s++; s < end && *s != '"'; s++)
					s += *s == '\\';
		} else if (*s == '#') {
			name = alias_name(p, s, end, depth);
		} else if (!strncmp(s, " at ", 4)) {
			return NULL; /* for a call site only the callee is used */
		}
		if (name)
			return name;
	}
	return NULL;
}

/* --- places in files --------------------------------------------------------------------------- */

static const char *symbol_place(struct mlir_parser *p, struct mlir_symbol *s, int depth);

/* Is the file of n bytes part of an installed package, or is it no file, such as "<frozen importlib>"? */
static bool
is_installed(const char *file, size_t n)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/", "<frozen "};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (memmem(file, n, parts[i], strlen(parts[i])))
			return true;
	return n == 0 || *file == '<';
}

/* Of "file":line:column at s the file and the line, if it is the user's; else NULL. */
static const char *
user_place(struct mlir_parser *p, const char *s, const char *close, const char *end)
{
	const char *line = close + 1;

	while (line < end && (isspace((unsigned char)*line) || *line == ':'))
		line++;
	if (line >= end || !isdigit((unsigned char)*line) ||
		is_installed(s + 1, (size_t)(close - s - 1)))
		return NULL;
	char *text = TEXT(p, "%.*s:%ld", (int)(close - s - 1), s + 1, strtol(line, NULL, 10));
	const char *place = ir_name(p->file->ctx, text);
	talloc_free(text);
	return place;
}

/* The first of the user's places in a location: callees are before their callers. */
static const char *
location_place(struct mlir_parser *p, const char *s, const char *end, int depth)
{
	const char *place = NULL;

	for (; s < end && !place; s++) {
		if (*s == '#') {
			struct mlir_symbol *to = alias_of(p, s, end);
			place = to ? symbol_place(p, to, depth + 1) : NULL;
		} else if (*s == '"') {
			const char *close = s + 1;
			while (close < end && *close != '"')
				close += *close == '\\' ? 2 : 1;
			if (close >= end)
				return NULL;
			place = user_place(p, s, close, end);
			s = close;
		}
	}
	return place;
}

static const char *
symbol_place(struct mlir_parser *p, struct mlir_symbol *s, int depth)
{
	if (!s->place_read && depth <= MLIR_MAX_DEPTH) {
		s->place_read = true; /* a location that refers to itself has no place */
		s->place = location_place(p, s->text + 4, s->text + s->n - 1, depth);
	}
	return s->place;
}

void
mlir_locations_resolve(struct mlir_parser *p)
{
	for (uint32_t i = 0; i < p->located.n; i++) {
		const struct mlir_located *l = &p->located.at[i];
		struct mlir_symbol *s = l->location;
		if (!s->location_read) {
			s->location_read = true;
			s->debug_name = location_name(p, s->text + 4, s->text + s->n - 1, 0);
		}
		*l->debug_name = s->debug_name;
		if (l->place)
			*l->place = symbol_place(p, s, 0);
	}
}
