/*
 * Delivers tokens to the grammar, and after an error finds the place where reading goes on: the
 * next line that looks like an op and is not inside braces that were opened since the last good
 * one, or the brace that ends the region.
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

void
mlir_lexer_open(struct mlir_parser *p, const char *text, size_t n, uint32_t base)
{
	struct mlir_lexer *lx = &p->lex;

	*lx = (struct mlir_lexer){.text = text, .n = n, .base = base};
	lx->copy = array_create(p, n + 2, 1, "a copy of the input's text");
	if (mlir_yylex_init(&lx->scanner))
		out_of_memory();
	memcpy(lx->copy, text, n);
	lx->copy[n] = lx->copy[n + 1] = '\0'; /* as flex wants it */
	must_have(mlir_yy_scan_buffer(lx->copy, n + 2, lx->scanner));
}

void
mlir_lexer_close(struct mlir_parser *p)
{
	mlir_yylex_destroy(p->lex.scanner);
	array_free(p->lex.copy);
}

void
mlir_lexer_done(struct mlir_parser *p, struct ir_loc loc)
{
	if (loc.end > p->lex.base)
		p->lex.sync_from = loc.end - p->lex.base;
}

void
mlir_lexer_recover(struct mlir_parser *p)
{
	p->lex.recovering = true;
}

static bool
word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

/* Texts end in a zero byte, which is none of the characters looked for. */
static const char *
skip_word(const char *s)
{
	while (word_char(*s))
		s++;
	return s;
}

/* A word with a dot, which in a dictionary would have `=` or `,` behind it; or one that is an op.
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

/* Where the scan for the next op is. */
struct resync {
	const char *text;
	size_t n;
	bool fresh; /* nothing but blanks so far on this line */
	bool tried; /* what comes first is the op with the error */
	int depth;  /* braces of regions opened */
	int attrs;  /* braces of attributes opened */
};

/* Can reading go on at text[at]? Not before the error, nor again where it was tried. */
static bool
resync_here(const struct resync *r, const struct mlir_lexer *lx, size_t at)
{
	const char *s = r->text + at;

	if (at + 1 <= lx->last_sync || r->depth > 0 || at < lx->last + r->tried)
		return false;
	return (*s == '}' && !r->attrs) || (r->fresh && looks_like_op(s));
}

/* Passes over what stands at text[at]; returns where the next thing starts. */
static size_t
resync_step(struct resync *r, size_t at)
{
	const char *s = r->text + at;

	if (*s == '\n' || *s == ' ' || *s == '\t' || *s == '\r') {
		r->fresh = r->fresh || *s == '\n';
		return at + 1;
	}
	if (s[0] == '/' && s[1] == '/') {
		const char *end = memchr(s, '\n', r->n - at);
		return end ? (size_t)(end - r->text) : r->n;
	}
	if (r->fresh && r->attrs && looks_like_op(s))
		r->attrs = 0; /* their end is missing */
	r->fresh = false;
	if (*s == '"') {
		for (at++; at < r->n && r->text[at] != '"' && r->text[at] != '\n'; at++)
			at += r->text[at] == '\\' && r->text[at + 1] != '\n';
		return at < r->n && r->text[at] == '"' ? at + 1 : at;
	}
	if (*s == '{' && (r->attrs || opens_attrs(s)))
		r->attrs++;
	else if (*s == '{')
		r->depth++;
	else if (*s == '}' && r->attrs)
		r->attrs--;
	else if (*s == '}')
		r->depth--;
	size_t word = (size_t)(skip_word(s) - s);
	return at + (word ? word : 1);
}

/* Moves the scanner to the next place where reading can go on; the end of the text is one. */
static void
resync(struct mlir_parser *p, struct ir_loc *loc)
{
	struct mlir_lexer *lx = &p->lex;
	struct resync r = {
		.text = lx->text, .n = lx->n, .tried = true, .fresh = lx->sync_from == 0};
	size_t at = lx->sync_from;

	while (at < lx->n) {
		bool blank = isspace((unsigned char)lx->text[at]) ||
			     (lx->text[at] == '/' && lx->text[at + 1] == '/');
		if (!blank && resync_here(&r, lx, at))
			break;
		r.tried = r.tried && blank;
		at = resync_step(&r, at);
	}
	if (at > lx->n)
		at = lx->n;
	lx->last_sync = (uint32_t)at + 1;
	lx->sync_from = (uint32_t)at;
	lx->recovering = false;
	*loc = (struct ir_loc){lx->base + (uint32_t)at, lx->base + (uint32_t)at};
	/* On with a new buffer: the same bytes from there on. flex ends a token with a zero: put it
	 * back. */
	if (lx->last_end < lx->n)
		lx->copy[lx->last_end] = lx->text[lx->last_end];
	mlir_yypop_buffer_state(lx->scanner);
	must_have(mlir_yy_scan_buffer(lx->copy + at, lx->n - at + 2, lx->scanner));
	mlir_restart(lx->scanner);
}

int
mlir_lex(MLIR_STYPE *value, struct ir_loc *loc, struct mlir_parser *p)
{
	struct mlir_lexer *lx = &p->lex;

	if (p->stop) {
		*loc = (struct ir_loc){lx->base + (uint32_t)lx->n, lx->base + (uint32_t)lx->n};
		return END;
	}
	*loc = (struct ir_loc){lx->base + lx->last, lx->base + lx->last};
	if (lx->recovering) {
		resync(p, loc);
		return SYNC;
	}
	int token = mlir_scan(value, loc, p, lx->scanner);
	if (token == END)
		loc->begin = loc->end = lx->base + (uint32_t)lx->n;
	lx->last = loc->begin - lx->base;
	lx->last_end = loc->end - lx->base;
	if (token == MLIR_error)
		lx->recovering = true;
	return token;
}
