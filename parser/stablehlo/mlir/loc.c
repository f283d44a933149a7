/*
 * Locations in a text: loc("name"), loc("name"(inner)), loc("file":line:column),
 * loc(callsite(a at b)), loc(fused[a, b]), loc(unknown), loc(#alias). Only names are used:
 * "params['w']", "jit(step)/dot_general".
 */
#include "parser/stablehlo/mlir/parser.h"

#include <ctype.h>
#include <string.h>

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

static const char *
alias_name(struct mlir_parser *p, const char *s, const char *end, int depth)
{
	const char *stop = s + 1;

	while (stop < end && (isalnum((unsigned char)*stop) || strchr("_$.", *stop)))
		stop++;
	struct mlir_symbol *alias = mlir_symbol_find(p, s, (size_t)(stop - s));
	struct mlir_symbol *to = alias->location;
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
	}
}
