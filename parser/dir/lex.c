/*
 * Delivers tokens to the grammar, and after an error finds the place to resume at: the next line
 * that looks like a statement (a declaration, outside functions) and is not inside braces that were
 * opened since the last valid one.
 */
#include "parser/dir/parser.h"

#include "ir/base/alloc.h"
#include "parser/dir/dir.tab.h"
#include "parser/dir/dir.lex.h"

#include <ctype.h>
#include <string.h>

int dir_scan(DIR_STYPE *value, struct ir_loc *loc, struct parser *p, void *scanner);
int dir_lex(DIR_STYPE *value, struct ir_loc *loc, struct parser *p);
/* Resets the scanner to its initial state and restores the byte after the current token. */
void dir_restart(void *scanner);
void dir_release(void *scanner);

static void
move_to(struct scan *s, size_t at)
{
	dir_yypop_buffer_state(s->scanner);
	must_have(dir_yy_scan_buffer(s->text + at, s->n - at + 2, s->scanner));
	dir_restart(s->scanner);
}

void
lexer_open(struct parser *p, struct lexer *lx, const void *owner, const char *text, size_t n,
	uint32_t base, int start)
{
	void *scanner;

	if (dir_yylex_init(&scanner))
		out_of_memory();
	*lx = (struct lexer){.start = start,
		.is_type = start == START_TYPE,
		.is_cluster = start == START_CLUSTER,
		.outer = p->lex};
	scan_open(&lx->scan, owner, text, n, base, scanner, move_to);
	p->lex = lx;
}

void
lexer_close(struct parser *p)
{
	struct lexer *lx = p->lex;

	p->lex = lx->outer;
	dir_yylex_destroy(lx->scan.scanner);
	scan_close(&lx->scan);
}

static bool
word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool
word_or_dot(char c)
{
	return word_char(c) || c == '.';
}

static const char *
skip_word(const char *s)
{
	return scan_skip_word(s, word_or_dot);
}

static bool
starts_with_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	return strncmp(s, word, n) == 0 && !word_char(s[n]);
}

void
lexer_return(struct parser *p, uint32_t loc)
{
	move_to(&p->lex->scan, loc - p->lex->scan.base);
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
		end = scan_skip_blanks(end);
		return *end == '@' && *skip_word(end + 1) == '(';
	}
	while (*s == '%') {
		s = scan_skip_blanks(skip_word(s + 1));
		if (*s == ',')
			s = scan_skip_blanks(s + 1);
	}
	return *s == '=';
}

static bool
looks_like_declaration(const char *s)
{
	static const char *const word[] = {"module", "let", "mesh", "steps", "func", "rule"};

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (starts_with_word(s, word[i]))
			return true;
	return false;
}

/* "h100 g[8]", "switch spine {", "source "..."", but not "bandwidth = " */
static bool
looks_like_item(const char *s)
{
	const char *end = skip_word(s), *next = scan_skip_blanks(end);

	return end > s && next > end && *next != '=' && *next != '\n';
}

/* Is this brace that of attributes, "{key = " or "{}", and not that of a body? */
static bool
opens_attrs(const char *s)
{
	s += 1 + strspn(s + 1, " \t\r\n");
	const char *end = skip_word(s);
	return *s == '}' || (end > s && *scan_skip_blanks(end) == '=');
}

/* The way to the next statement. */
struct resync {
	const struct lexer *lx;
	bool in_func, rules;
	bool in_attrs;     /* between the braces of attributes */
	size_t error_line; /* start of the line with the error */
	int depth;         /* bodies opened */
};

/* Not before the line with the error, nor again at a statement that was already tried. */
static bool
resync_here(void *data, size_t at, bool fresh, bool tried)
{
	const struct resync *r = data;
	const struct scan *scan = &r->lx->scan;
	const char *s = scan->text + at;
	bool first_column = at == 0 || s[-1] == '\n';

	if (at < (tried ? scan->last : r->error_line) || at + 1 <= scan->last_sync)
		return false;
	if (r->lx->is_cluster)
		return r->depth == 0 && !r->in_attrs &&
		       (*s == '}' || (fresh && looks_like_item(s)));
	if (first_column && starts_with_word(s, r->rules ? "rule" : "func"))
		return true;
	if (r->in_func && *s == '}' && r->depth == 0 && !r->in_attrs)
		return true;
	if (!fresh || r->depth)
		return false;
	return r->in_func ? looks_like_statement(s) : !r->rules && looks_like_declaration(s);
}

static void
resync_pass(void *data, size_t at, bool fresh)
{
	struct resync *r = data;
	const char *s = r->lx->scan.text + at;

	(void)fresh;
	if (*s == '{' && opens_attrs(s))
		r->in_attrs = true;
	else if (*s == '{')
		r->depth++;
	else if (*s == '}' && r->in_attrs)
		r->in_attrs = false;
	else if (*s == '}' && r->depth)
		r->depth--;
}

static void
resync(struct parser *p, struct ir_loc *loc)
{
	struct lexer *lx = p->lex;
	struct scan *s = &lx->scan;
	struct resync r = {.lx = lx,
		.in_func = p->func != NULL,
		.rules = p->rules != NULL,
		.error_line = s->last};
	const struct scan_sync how = {&r, resync_here, resync_pass, word_or_dot};

	while (r.error_line && s->text[r.error_line - 1] != '\n')
		r.error_line--;
	size_t at = scan_recover(s, &how);
	if (r.in_func && at < s->n && starts_with_word(s->text + at, r.rules ? "rule" : "func"))
		lx->close = 1 + p->nregions; /* its end is missing: as if it were here */
	*loc = (struct ir_loc){s->base + (uint32_t)at, s->base + (uint32_t)at};
}

int
dir_lex(DIR_STYPE *value, struct ir_loc *loc, struct parser *p)
{
	struct lexer *lx = p->lex;

	*loc = scan_here(&lx->scan);
	if (lx->start) {
		int start = lx->start;
		lx->start = 0;
		return start;
	}
	if (lx->scan.recovering) {
		resync(p, loc);
		return SYNC;
	}
	if (lx->close) {
		lx->close--;
		return '}';
	}
	int token = dir_scan(value, loc, p, lx->scan.scanner);
	dir_release(lx->scan.scanner);
	if (token == NAME)
		value->name = rule_family_word(p, value->name);
	lx->open += (token == '{') - (token == '}');
	scan_token(&lx->scan, loc, token == END);
	if (token == DIR_error)
		lx->scan.recovering = true;
	return token;
}
