/*
 * Statements as the printer writes them, read without the grammar, which takes three times as long:
 *
 *     %a, %b = op("name", %x, %y) {key = word, list = [1, -2], text = "t", number = 0.5} : type, type
 *
 * each on its own line. The grammar (dir.y) defines the language; this is a subset of it that is
 * recognized in one pass over the bytes. A statement of another kind, or with an error in a token,
 * is left to the grammar from its beginning: nothing was done with it. For recognized parts, the
 * functions are called that the grammar would call, in the same order.
 */
#include "parser/dir/parser.h"

#include "ir/base/mix.h"

#include <stdlib.h>
#include <string.h>

enum {
	PLAIN_RESULTS = 8, /* more, and more attributes, are rare */
	PLAIN_ATTRS = 16,
	PLAIN_TYPES = 8,
	PLAIN_DIGITS = 18, /* of an integer that fits in 64 bits */
};

enum byte_class {
	LETTER = 1 << 0, /* begins a word */
	DIGIT = 1 << 1,
	WORD = LETTER | DIGIT,
	DOT = 1 << 2,   /* in the name of a value, in addition */
	SIZES = 1 << 3, /* between the brackets of a type */
	BLANK = 1 << 4,
};

static unsigned
class_of(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
		return LETTER | SIZES;
	if (c >= '0' && c <= '9')
		return DIGIT | SIZES;
	switch (c) {
	case '.': return DOT | SIZES;
	case ' ':
	case '\t': return BLANK | SIZES;
	case ',':
	case '/':
	case '*':
	case '+':
	case '-':
	case '(':
	case ')': return SIZES;
	default: return 0;
	}
}

/* A word, its hash and its location: the name is looked up later, after prefetching the table. */
struct word {
	const char *s;
	uint32_t n;
	uint64_t hash;
};

/* A statement on its way. */
struct plain {
	struct parser *p;
	const unsigned char *class; /* of each byte */
	const char *s;              /* what is left */
	const char *op, *head_end;  /* its name, the end of its parentheses */
	struct named name;
	struct word result[PLAIN_RESULTS];
	struct named key[PLAIN_ATTRS];
	struct ir_attr attr[PLAIN_ATTRS];
	struct named type[PLAIN_TYPES];
	int nresults, nattrs, ntypes;
};

static bool
is(const struct plain *r, char c, unsigned class)
{
	return r->class[(unsigned char)c] & class;
}

static struct ir_loc
place(const struct plain *r, const char *begin, const char *end)
{
	const struct scan *s = &r->p->lex->scan;

	return (struct ir_loc){
		s->base + (uint32_t)(begin - s->text), s->base + (uint32_t)(end - s->text)};
}

/* The end of the bytes of these classes at s. The loop does not keep its position in *r: each step
 * would wait for the previous store. */
static inline const char *
pass(const struct plain *r, const char *s, unsigned class)
{
	while (is(r, *s, class))
		s++;
	return s;
}

static inline const char *
pass_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

static void
skip_blanks(struct plain *r)
{
	r->s = pass_blanks(r->s);
}

/* Skips bytes of these classes; returns their number. */
static inline uint32_t
skip(struct plain *r, unsigned class)
{
	const char *begin = r->s;

	r->s = pass(r, begin, class);
	return (uint32_t)(r->s - begin);
}

/* The character, with the blanks around it. */
static inline bool
accept(struct plain *r, char c)
{
	const char *s = pass_blanks(r->s);

	if (*s != c) {
		r->s = s;
		return false;
	}
	r->s = pass_blanks(s + 1);
	return true;
}

/* `x.1` or `17`, the name after a %. */
static bool
value_word(struct plain *r, struct word *w)
{
	w->s = r->s;
	w->n = is(r, *r->s, LETTER) ? skip(r, WORD | DOT) : skip(r, DIGIT);
	w->hash = mix_text(w->s, w->n);
	return w->n;
}

static const char *
intern(struct plain *r, const char *s, size_t n)
{
	return name_intern(r->p->ctx, s, n, mix_text(s, n));
}

/* `%a, %b = ` */
static bool
read_results(struct plain *r)
{
	do {
		if (r->nresults == PLAIN_RESULTS || *r->s != '%')
			return false;
		r->s++;
		struct word *w = &r->result[r->nresults++];
		if (!value_word(r, w))
			return false;
		name_prefetch(r->p->ctx->intern, w->hash);
	} while (accept(r, ','));
	return accept(r, '=');
}

/* `"text"` without escapes. */
static bool
read_string(struct plain *r, const char **text)
{
	const char *begin = r->s + 1, *s = begin;

	while (*s != '"' && *s != '\\' && *s != '\n' && *s)
		s++;
	r->s = s;
	if (*s != '"')
		return false;
	*text = intern(r, begin, (size_t)(s - begin));
	r->s++;
	return true;
}

/* `("name", %x, %y)` */
static bool
read_operands(struct plain *r)
{
	struct parser *p = r->p;
	const char *begin = r->s;
	bool more;

	if (*r->s == ')')
		return true;
	if (*r->s == '"') {
		if (!read_string(r, &p->stmt.symbol))
			return false;
		p->stmt.symbol_loc = place(r, begin, r->s);
		if (!accept(r, ','))
			return true;
	}
	do {
		struct word w;
		begin = r->s;
		if (*r->s++ != '%' || !value_word(r, &w))
			return false;
		const char *name = name_intern(p->ctx, w.s, w.n, w.hash);
		VEC_PUSH(p, &p->word, (struct named){name, place(r, begin, r->s)});
		more = accept(r, ',');
	} while (more);
	return true;
}

static bool
is_keyword(const char *s, size_t n)
{
	static const char *const word[] = {"module", "let", "mesh", "steps", "func", "dim"};

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (strlen(word[i]) == n && !memcmp(s, word[i], n))
			return true;
	return false;
}

/* `-3`, `0.5e-3` */
static bool
read_number(struct plain *r, struct ir_attr *a)
{
	const char *begin = r->s;
	const bool minus = *begin == '-';
	int64_t i = 0;

	const char *digits = begin + minus, *whole = digits;
	while (is(r, *whole, DIGIT) && whole - digits < PLAIN_DIGITS)
		i = 10 * i + (*whole++ - '0');
	r->s = whole;
	if (whole == digits || is(r, *whole, DIGIT))
		return false;
	if (*r->s == '.') {
		r->s++;
		skip(r, DIGIT);
	}
	if (*r->s == 'e' || *r->s == 'E') {
		r->s++;
		r->s += *r->s == '+' || *r->s == '-';
		if (!skip(r, DIGIT))
			return false;
	}
	if (r->s == whole) {
		a->kind = ATTR_INT;
		a->i = minus ? -i : i;
		return true;
	}
	char *end;
	a->kind = ATTR_FLOAT;
	a->f = strtod(digits, &end);
	if (end != r->s || a->f > 1.7976931348623157e308)
		return false;
	a->f = minus ? -a->f : a->f;
	return true;
}

/* A value other than a list; the caller checks what follows it. */
static bool
read_scalar(struct plain *r, struct ir_attr *a)
{
	const char *begin = r->s;

	*a = (struct ir_attr){.kind = ATTR_STRING};
	if (*begin == '"') {
		if (!read_string(r, &a->s))
			return false;
	} else if (is(r, *begin, LETTER)) {
		const size_t n = skip(r, WORD);
		if (is_keyword(begin, n))
			return false;
		a->kind = ATTR_NAME;
		a->s = intern(r, begin, n);
	} else if (!read_number(r, a)) {
		return false;
	}
	a->loc = place(r, begin, r->s);
	return true;
}

/* `[1, -2]` */
static bool
read_list(struct plain *r, struct ir_attr *a)
{
	struct parser *p = r->p;
	const char *begin = r->s++;
	struct ir_attr item;
	int n = 0;

	skip_blanks(r);
	if (*r->s != ']')
		do {
			if (n == PARSE_MAX_LIST || !read_scalar(r, &item))
				return false;
			VEC_PUSH(p, &p->item, item);
			n++;
		} while (accept(r, ','));
	if (*r->s != ']')
		return false;
	r->s++;
	*a = attr_of_list(p, n, place(r, begin, r->s));
	return true;
}

/* ` {key = value, key = value}`; keys are those of the op. */
static bool
read_attrs(struct plain *r, const struct ir_row *row)
{
	do {
		if (r->nattrs == PLAIN_ATTRS)
			return false;
		struct named *key = &r->key[r->nattrs];
		struct ir_attr *a = &r->attr[r->nattrs++];
		const char *begin = r->s;
		const uint32_t n = is(r, *begin, LETTER) ? skip(r, WORD) : 0;
		*key = (struct named){intern(r, begin, n), place(r, begin, r->s)};
		if (!n || !row_attr_find(row, key->name) || !accept(r, '='))
			return false;
		if (!(*r->s == '[' ? read_list(r, a) : read_scalar(r, a)))
			return false;
	} while (accept(r, ','));
	return accept(r, '}');
}

/* `f32[64/dp,512]+ep@pp=1@host`, as long as the lexer's token is. */
static bool
read_type(struct plain *r)
{
	const char *begin = r->s;

	if (r->ntypes == PLAIN_TYPES || !is(r, *begin, LETTER))
		return false;
	skip(r, WORD);
	if (*r->s++ != '[')
		return false;
	skip(r, SIZES);
	if (*r->s++ != ']')
		return false;
	while (*r->s == '+' || *r->s == '@') {
		const bool single = *r->s++ == '@';
		if (!is(r, *r->s, LETTER))
			return false;
		const char *word = r->s;
		const bool host = skip(r, WORD) == 4 && !memcmp(word, "host", 4);
		if (single && host && *r->s != '=')
			break;
		if (single && *r->s++ != '=')
			return false;
		if (single && !skip(r, DIGIT))
			return false;
	}
	struct named *type = &r->type[r->ntypes++];
	*type = (struct named){intern(r, begin, (size_t)(r->s - begin)), place(r, begin, r->s)};
	return true;
}

static bool
read_types(struct plain *r)
{
	do
		if (!read_type(r))
			return false;
	while (accept(r, ','));
	return true;
}

/* The next text after line ends and comments. */
static const char *
next_thing(const char *s)
{
	for (;;) {
		while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
			s++;
		if (s[0] != '/' || s[1] != '/')
			return s;
		while (*s != '\n' && *s)
			s++;
	}
}

/* Does a statement begin at s, so that the grammar, too, takes the one before as complete? For the
 * lexer, `f32[` after a type is another token. */
static bool
begins_statement(const char *s)
{
	const char *end = s;

	if (*s == '%')
		return class_of(s[1]) & WORD;
	while (class_of(*end) & WORD)
		end++;
	return (class_of(*s) & LETTER) && *end != '[' && !is_keyword(s, (size_t)(end - s));
}

/* The line ends here, and what follows is the next statement or the end of the body. */
static bool
ends(struct plain *r)
{
	if (*r->s != '\n')
		return false;
	const char *next = next_thing(r->s);
	return *next == '}' || begins_statement(next);
}

/* Recognizes a statement; *end is that of its last token. */
static bool
recognize(struct plain *r, const char **end)
{
	if (*r->s == '%' && !read_results(r))
		return false;
	r->op = r->s;
	const uint32_t n = is(r, *r->s, LETTER) ? skip(r, WORD) : 0;
	r->name = (struct named){intern(r, r->op, n), place(r, r->op, r->s)};
	const uint32_t code = name_number(r->name.name);
	if (code >= OP_NCODES || (op_traits((enum op_code)code) & (TRAIT_REGION | TRAIT_CALLS)))
		return false;
	if (!accept(r, '(') || !read_operands(r) || *r->s != ')')
		return false;
	*end = r->head_end = ++r->s;
	skip_blanks(r);
	if (*r->s == '{') {
		r->s++;
		skip_blanks(r);
		if (!read_attrs(r, &r->p->ctx->row[code]))
			return false;
		*end = r->s;
		while ((*end)[-1] != '}')
			--*end;
	}
	if (*r->s == ':') {
		r->s++;
		skip_blanks(r);
		if (!read_types(r))
			return false;
		*end = r->s;
		while (is(r, (*end)[-1], BLANK))
			--*end;
	}
	return ends(r);
}

/* As the actions of the grammar. */
static void
act(struct plain *r, const char *end)
{
	struct parser *p = r->p;

	for (int i = 0; i < r->nresults; i++) {
		const struct word *w = &r->result[i];
		const char *name = name_intern(p->ctx, w->s, w->n, w->hash);
		VEC_PUSH(p, &p->result, (struct named){name, place(r, w->s - 1, w->s + w->n)});
	}
	const int depth = stmt_head(
		p, r->name, (struct named){NULL, r->name.loc}, place(r, r->op, r->head_end));
	for (int i = 0; i < r->nattrs; i++)
		attr_push(p, r->key[i], r->attr[i]);
	if (r->nattrs)
		stmt_attrs(p);
	for (int i = 0; i < r->ntypes; i++)
		type_push(p, r->type[i].name, r->type[i].loc);
	stmt_finish(p, depth);
	lexer_done(p, place(r, end, end));
}

bool
plain_begins(const struct parser *p, const char *s, const char **first)
{
	*first = next_thing(s);
	return *first != p->lex->not_plain && memchr(s, '\n', (size_t)(*first - s)) &&
	       begins_statement(*first);
}

void
plain_read(struct parser *p)
{
	struct scan *scan = &p->lex->scan;
	unsigned char class[256];
	const char *begin = scan->text + scan->last_end, *done = begin;

	for (int i = 0; i < 256; i++)
		class[i] = (unsigned char)class_of((char)i);
	for (;;) {
		begin = next_thing(begin);
		const char *end;
		struct plain r;
		r.p = p;
		r.class = class;
		r.s = begin;
		r.nresults = r.nattrs = r.ntypes = 0;
		if (!recognize(&r, &end))
			break;
		act(&r, end);
		begin = done = end;
	}
	stmt_reset(p); /* rest of the last statement: the grammar reads it again */
	p->lex->not_plain = begin;
	scan->last = scan->last_end = (uint32_t)(done - scan->text);
	scan->move(scan, scan->last_end);
}
