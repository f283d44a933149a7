/*
 * Delivers tokens to the grammar, and after an error finds the place where reading goes on: the
 * next line that looks like a statement (a declaration, outside functions) and is not inside braces
 * that were opened since the last good one.
 */
#include "parser/dir/parser.h"

#include "ir/base/alloc.h"
#include "parser/dir/dir.tab.h"
#include "parser/dir/dir.lex.h"

#include <ctype.h>
#include <string.h>

int dir_scan(DIR_STYPE *value, struct ir_loc *loc, struct parser *p, void *scanner);
int dir_lex(DIR_STYPE *value, struct ir_loc *loc, struct parser *p);
/* Back to the scanner's first state. */
void dir_restart(void *scanner);

void
lexer_open(struct parser *p, struct lexer *lx, const char *text, size_t n, uint32_t base, int start)
{
	*lx = (struct lexer){.text = text,
		.n = n,
		.base = base,
		.start = start,
		.is_type = start == START_TYPE,
		.is_cluster = start == START_CLUSTER};
	lx->copy = array_create(p, n + 2, 1, "a copy of the input's text");
	if (dir_yylex_init(&lx->scanner))
		out_of_memory();
	memcpy(lx->copy, text, n);
	lx->copy[n] = lx->copy[n + 1] = '\0'; /* as flex wants it */
	must_have(dir_yy_scan_buffer(lx->copy, n + 2, lx->scanner));
}

void
lexer_close(struct lexer *lx)
{
	dir_yylex_destroy(lx->scanner);
	array_free(lx->copy);
}

void
lexer_done(struct parser *p, struct ir_loc loc)
{
	if (loc.end > p->lex->base)
		p->lex->sync_from = loc.end - p->lex->base;
}

void
lexer_recover(struct parser *p)
{
	p->lex->recovering = true;
}

bool
lexer_at_line_start(const struct parser *p)
{
	const char *s = p->lex->text + p->lex->last;

	while (s > p->lex->text && (s[-1] == ' ' || s[-1] == '\t'))
		s--;
	return s == p->lex->text || s[-1] == '\n';
}

static bool
word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Texts end in a zero byte (lexer_open's copy does), which is none of the characters looked for. */
static const char *
skip_word(const char *s)
{
	while (word_char(*s) || *s == '.')
		s++;
	return s;
}

static const char *
skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static bool
starts_with_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	return strncmp(s, word, n) == 0 && !word_char(s[n]);
}

/* "%a, %b = ", "op(", "call @f(" */
static bool
looks_like_statement(const char *s)
{
	if (*s != '%') {
		const char *end = skip_word(s);
		if (end == s)
			return false;
		if (*end == '(')
			return true;
		end = skip_blanks(end);
		return *end == '@' && *skip_word(end + 1) == '(';
	}
	while (*s == '%') {
		s = skip_blanks(skip_word(s + 1));
		if (*s == ',')
			s = skip_blanks(s + 1);
	}
	return *s == '=';
}

static bool
looks_like_declaration(const char *s)
{
	static const char *const word[] = {"module", "let", "mesh", "steps", "func"};

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (starts_with_word(s, word[i]))
			return true;
	return false;
}

/* "h100 g[8]", "switch spine {", "source "..."", but not "bandwidth = " */
static bool
looks_like_item(const char *s)
{
	const char *end = skip_word(s), *next = skip_blanks(end);

	return end > s && next > end && *next != '=' && *next != '\n';
}

/* Is this brace that of attributes, "{key = " or "{}", and not that of a body? */
static bool
opens_attrs(const char *s)
{
	s += 1 + strspn(s + 1, " \t\r\n");
	const char *end = skip_word(s);
	return *s == '}' || (end > s && *skip_blanks(end) == '=');
}

/* Where the scan for the next statement is. */
struct resync {
	const char *text;
	bool in_func;
	bool fresh;        /* nothing but blanks so far on this line */
	bool in_attrs;     /* between the braces of attributes */
	size_t error_line; /* start of the line with the error */
	int depth;         /* bodies opened */
};

/*
 * Can reading go on at text[at]? Not before the line with the error, nor again at a statement that
 * was tried.
 */
static bool
resync_here(const struct resync *r, const struct lexer *lx, size_t at, bool tried)
{
	const char *s = r->text + at;
	bool first_column = at == 0 || s[-1] == '\n';

	if (at < (tried ? lx->last : r->error_line) || at + 1 <= lx->last_sync)
		return false;

	if (lx->is_cluster)
		return r->depth == 0 && !r->in_attrs &&
		       (*s == '}' || (r->fresh && looks_like_item(s)));
	if (first_column && starts_with_word(s, "func"))
		return true;
	if (r->in_func && *s == '}' && r->depth == 0 && !r->in_attrs)
		return true;
	if (!r->fresh || r->depth)
		return false;
	return r->in_func ? looks_like_statement(s) : looks_like_declaration(s);
}

/* Passes over what stands at text[at]; returns where the next thing starts. */
static size_t
resync_step(struct resync *r, size_t at, size_t n)
{
	const char *s = r->text + at;

	if (*s == '\n' || *s == ' ' || *s == '\t' || *s == '\r') {
		r->fresh = r->fresh || *s == '\n';
		return at + 1;
	}
	if (s[0] == '/' && s[1] == '/')
		return at + strcspn(s, "\n");
	r->fresh = false;
	if (*s == '"') {
		for (at++; at < n && r->text[at] != '"' && r->text[at] != '\n'; at++)
			at += r->text[at] == '\\' && r->text[at + 1] != '\n';
		return at < n && r->text[at] == '"' ? at + 1 : at;
	}
	if (*s == '{' && opens_attrs(s))
		r->in_attrs = true;
	else if (*s == '{')
		r->depth++;
	else if (*s == '}' && r->in_attrs)
		r->in_attrs = false;
	else if (*s == '}' && r->depth)
		r->depth--;
	size_t word = (size_t)(skip_word(s) - s);
	return at + (word ? word : 1);
}

/* Moves the scanner to the next place where reading can go on; the end of the text is one. */
static void
resync(struct parser *p, struct ir_loc *loc)
{
	struct lexer *lx = p->lex;
	struct resync r = {
		.text = lx->text, .in_func = p->func != NULL, .fresh = lx->sync_from == 0};
	size_t at = lx->sync_from;
	bool tried = true; /* what comes first is the statement with the error */

	for (r.error_line = lx->last; r.error_line && lx->text[r.error_line - 1] != '\n';
		r.error_line--)
		;
	while (at < lx->n) {
		bool blank = isspace((unsigned char)lx->text[at]) ||
			     (lx->text[at] == '/' && lx->text[at + 1] == '/');
		if (!blank && resync_here(&r, lx, at, tried))
			break;
		tried = tried && blank;
		at = resync_step(&r, at, lx->n);
	}
	if (at > lx->n)
		at = lx->n;
	if (r.in_func && at < lx->n && starts_with_word(lx->text + at, "func"))
		lx->close = 1 + p->nregions; /* its end is missing: as if it were here */
	lx->last_sync = (uint32_t)at + 1;
	lx->recovering = false;
	*loc = (struct ir_loc){lx->base + (uint32_t)at, lx->base + (uint32_t)at};
	/* On with a new buffer: the same bytes from there on. flex ends a token with a zero: put it
	 * back. */
	if (lx->last_end < lx->n)
		lx->copy[lx->last_end] = lx->text[lx->last_end];
	dir_yypop_buffer_state(lx->scanner);
	must_have(dir_yy_scan_buffer(lx->copy + at, lx->n - at + 2, lx->scanner));
	dir_restart(lx->scanner);
}

int
dir_lex(DIR_STYPE *value, struct ir_loc *loc, struct parser *p)
{
	struct lexer *lx = p->lex;

	*loc = (struct ir_loc){lx->base + lx->last, lx->base + lx->last};
	if (lx->start) {
		int start = lx->start;
		lx->start = 0;
		return start;
	}
	if (lx->recovering) {
		resync(p, loc);
		return SYNC;
	}
	if (lx->close) {
		lx->close--;
		return '}';
	}
	int token = dir_scan(value, loc, p, lx->scanner);
	if (token == END)
		loc->begin = loc->end = lx->base + (uint32_t)lx->n;
	lx->last = loc->begin - lx->base;
	lx->last_end = loc->end - lx->base;
	if (token == DIR_error)
		lx->recovering = true;
	return token;
}
