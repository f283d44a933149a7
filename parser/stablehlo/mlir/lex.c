/*
 * Delivers tokens to the grammar, and after an error finds the place to resume at: the next line
 * that looks like an op and is not inside braces that were opened since the last valid one, or the
 * brace that ends the region.
 */
#include "parser/stablehlo/mlir/parser.h"

#include "ir/base/alloc.h"
#include "parser/stablehlo/mlir/mlir.tab.h"
#include "parser/stablehlo/mlir/mlir.lex.h"

#include <ctype.h>
#include <string.h>

int mlir_scan(MLIR_STYPE *value, struct ir_loc *loc, struct mlir_parser *p, void *scanner);
int mlir_lex(MLIR_STYPE *value, struct ir_loc *loc, struct mlir_parser *p);
/* Back to the scanner's first state. */
void mlir_restart(void *scanner);

static void
move_to(struct scan *s, size_t at)
{
	mlir_yypop_buffer_state(s->scanner);
	must_have(mlir_yy_scan_buffer(s->text + at, s->n - at + 2, s->scanner));
	mlir_restart(s->scanner);
}

void
mlir_lexer_open(struct mlir_parser *p, const char *text, size_t n, uint32_t base)
{
	void *scanner;

	if (mlir_yylex_init(&scanner))
		out_of_memory();
	scan_open(&p->lex.scan, NULL, text, n, base, scanner, move_to);
}

void
mlir_lexer_close(struct mlir_parser *p)
{
	mlir_yylex_destroy(p->lex.scan.scanner);
}

static bool
word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static const char *
skip_word(const char *s)
{
	return scan_skip_word(s, word_char);
}

/* A word with a dot, which a dictionary would follow with `=` or `,`; or a word that is an op.
 */
static bool
looks_like_name(const char *s)
{
	const char *end = skip_word(s);
	size_t n = (size_t)(end - s);
	char next = end[strspn(end, " \t")];

	if (!isalpha((unsigned char)*s) || next == '=' || next == ',')
		return false;
	return memchr(s, '.', n) ||
	       (n == 6 && (!memcmp(s, "return", n) || !memcmp(s, "module", n))) ||
	       (n == 4 && !memcmp(s, "call", n));
}

/* "%a, %b:2 = ", ""name"(", "dialect.op ", "return", "module", "#loc1 = " */
static bool
looks_like_op(const char *s)
{
	const char *end = skip_word(s + 1);

	if (*s == '%') {
		while (*s == '%' || *s == ',' || *s == ' ' || *s == ':')
			s = skip_word(s + 1);
		return *s == '=';
	}
	if (*s == '"')
		return end > s + 1 && end[0] == '"' && end[1] == '(';
	if (*s == '#')
		return end[strspn(end, " ")] == '=';
	return looks_like_name(s);
}

/* Is this brace that of attributes, "{key = ", "{key, ", "{}", and not that of a region? */
static bool
opens_attrs(const char *s)
{
	s += 1 + strspn(s + 1, " \t\r\n");
	const char *end = skip_word(s);
	size_t n = (size_t)(end - s);

	if (*s == '}')
		return true;
	if (!n || (n >= 6 && !memcmp(end - 6, "return", 6)))
		return false;
	end += strspn(end, " \t");
	return *end == '=' || *end == ',' || *end == '}';
}

/* The way to the next op. */
struct resync {
	const struct scan *scan;
	int depth; /* braces of regions opened */
	int attrs; /* braces of attributes opened */
};

/* Not before the error, nor again at a place that was already tried. */
static bool
resync_here(void *data, size_t at, bool fresh, bool tried)
{
	const struct resync *r = data;
	const char *s = r->scan->text + at;

	if (at + 1 <= r->scan->last_sync || r->depth > 0 || at < r->scan->last + tried)
		return false;
	return (*s == '}' && !r->attrs) || (fresh && looks_like_op(s));
}

static void
resync_pass(void *data, size_t at, bool fresh)
{
	struct resync *r = data;
	const char *s = r->scan->text + at;

	if (fresh && r->attrs && looks_like_op(s))
		r->attrs = 0; /* their end is missing */
	if (*s == '{' && (r->attrs || opens_attrs(s)))
		r->attrs++;
	else if (*s == '{')
		r->depth++;
	else if (*s == '}' && r->attrs)
		r->attrs--;
	else if (*s == '}')
		r->depth--;
}

int
mlir_lex(MLIR_STYPE *value, struct ir_loc *loc, struct mlir_parser *p)
{
	struct scan *s = &p->lex.scan;

	if (p->stop) {
		*loc = (struct ir_loc){s->base + (uint32_t)s->n, s->base + (uint32_t)s->n};
		return END;
	}
	*loc = scan_here(s);
	if (s->recovering) {
		struct resync r = {.scan = s};
		s->sync_from = (uint32_t)scan_recover(
			s, &(struct scan_sync){&r, resync_here, resync_pass, word_char});
		*loc = (struct ir_loc){s->base + s->sync_from, s->base + s->sync_from};
		return SYNC;
	}
	int token = mlir_scan(value, loc, p, s->scanner);
	scan_token(s, loc, token == END);
	if (token == MLIR_error)
		s->recovering = true;
	return token;
}
