/*
 * Index notation as text:
 *
 *     row     = [operand {"," operand}] "->" side "=" [reduce "(" items ")"] expr {where}
 *     operand = name side ["else" expr]        side = "[" [item {"," item}] "]"
 *     item    = index ["{" expr "}"] | "{" expr "}", then nothing or one of
 *               ":attr" "=attr" "-attr" "=(expr)"
 *     index   = letter | ".." | "*"
 *     where   = "where" ["each"] expr "'" {words | "{" expr "}"} "'"
 *     reduce  = "sum" | "max" | "min" | "prod" | "argmax" | "argmin"; its items are indices,
 *               "..", or an attribute with dims
 *     expr    = C's operators ?: | ^ & == != < <= > >= + - * / unary - !, scalar functions,
 *               numbers, operands, index letters, $attribute, size(x), extent(operand, dim),
 *               at(attr), position(), key()
 *
 * {expr} is a computed position instead of an index: a read outside the tensor gives 0, or the
 * expression after "else"; a write outside is dropped. ..{expr} applies to each dim of a group,
 * with `here` the index of the result in that dim, `extent` the operand's size, `which` the dim's
 * number, $list the list's entry for it. $list.0 is the first entry; given(list, e) is e if there
 * is none; listed(dims) is whether the dim is in a list.
 *
 * size(k) is the size of an index, size(dims) the product of the sizes of these dims, extent(a, 1)
 * the size of a's dim 1, extent(a, dim) that along attribute dim, extent(a, which) that of the dim
 * of `where each`; at(dim) is the index along a dim, position() the row-major number of the element
 * in the whole result; lowest is minus infinity. key() is a number made from the op's name and its
 * seed. `where` is a condition on sizes and attributes, with words for the error if it does not
 * hold; `where each` is a condition on every dim of the group "..", in terms of that dim. The text
 * is part of this program: a fault in it aborts.
 */
#include "ir/ops/row.h"

#include "ir/ops/form.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 160 }; /* of a condition: a line of a message */

struct reader {
	struct ir_context *ctx;
	const char *text, *p;
	bool has_terms;
};

static _Noreturn void
fault(const struct reader *r, const char *what)
{
	fprintf(stderr, "dopt: bug in the op table: %s at column %d of: %s\n", what,
		(int)(r->p - r->text) + 1, r->text);
	abort();
}

static bool
accept(struct reader *r, const char *sign)
{
	while (*r->p == ' ')
		r->p++;
	size_t n = 0; /* no call of a library: most signs differ in their first character */
	while (sign[n] && r->p[n] == sign[n])
		n++;
	if (sign[n])
		return false;
	r->p += n;
	return true;
}

static void
expect(struct reader *r, const char *sign)
{
	if (!accept(r, sign))
		fault(r, sign);
}

static const char *
read_name(struct reader *r)
{
	accept(r, "");
	size_t n = 0;
	while (isalnum((unsigned char)r->p[n]) || r->p[n] == '_')
		n++;
	if (!n)
		fault(r, "a name is missing");
	const char *name = ir_name_n(r->ctx, r->p, n);
	r->p += n;
	return name;
}

static const struct term *read_expr(struct reader *r);

static const struct term *
read_braces(struct reader *r)
{
	r->has_terms = true;
	const struct term *t = read_expr(r);

	expect(r, "}");
	return t;
}

static struct pattern_item
read_item(struct reader *r)
{
	struct pattern_item item = {0};

	if (accept(r, ".."))
		item.name = '.';
	else if (accept(r, "*"))
		item.name = '*';
	else if (accept(r, "{"))
		item.at = read_braces(r);
	else {
		const char *name = read_name(r);
		if (name[1] != '\0')
			item.attr = name; /* only in a reducer: the dims of an attribute */
		else
			item.name = name[0];
	}
	if (!item.at && accept(r, "{"))
		item.at = read_braces(r);
	if (accept(r, "=(")) {
		r->has_terms = true;
		item.size = read_expr(r);
		expect(r, ")");
	} else if (*r->p && strchr(":=-", *r->p)) {
		item.how = *r->p++;
		item.attr = read_name(r);
	}
	return item;
}

static void
read_side(struct reader *r, struct pattern_side *side, const char *open, const char *close)
{
	expect(r, open);
	if (accept(r, close))
		return;
	do {
		if (side->nitems == ROW_MAX_ITEMS)
			fault(r, "too many items");
		side->item[side->nitems++] = read_item(r);
	} while (accept(r, ","));
	expect(r, close);
}

static struct term *
new_term(struct reader *r, enum term_kind kind, const char *name)
{
	struct term *t = ARENA_NEW(r->ctx->arena, struct term);

	t->kind = kind;
	t->name = name;
	t->entry = TERM_WHOLE;
	return t;
}

static const struct term *
call_term(
	struct reader *r, int fn, const struct term *x, const struct term *y, const struct term *z)
{
	struct term *t = new_term(r, TERM_CALL, NULL);

	t->fn = fn;
	t->nargs = fn_arity((enum scalar_fn)fn);
	t->arg[0] = x;
	t->arg[1] = y;
	t->arg[2] = z;
	return t;
}

static int
find_fn(const char *name)
{
	for (int i = 0; i < FN_COUNT; i++)
		if (strcmp(fn_name((enum scalar_fn)i), name) == 0)
			return i;
	return -1;
}

/* A word on its own. */
static const struct term *
read_word(struct reader *r, const char *name)
{
	static const struct {
		const char *word;
		enum term_kind kind;
	} words[] = {{"here", TERM_HERE}, {"extent", TERM_EXTENT}, {"which", TERM_WHICH}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(name, words[i].word) == 0)
			return new_term(r, words[i].kind, NULL);
	if (strcmp(name, "lowest") != 0)
		return new_term(r, TERM_NAME, name);
	struct term *t = new_term(r, TERM_CONST, NULL);
	t->value = -INFINITY;
	return t;
}

/* The rest of given(attr, expr) or extent(operand, number, dim or which). */
static const struct term *
read_pair(struct reader *r, enum term_kind kind)
{
	struct term *t = new_term(r, kind, read_name(r));

	expect(r, ",");
	if (kind == TERM_GIVEN)
		t->arg[0] = read_expr(r);
	else if (accept(r, "dim"))
		t->along = true;
	else if (accept(r, "which"))
		t->each = true;
	else if (accept(r, "-"))
		t->entry = -atoi(read_name(r));
	else
		t->entry = atoi(read_name(r));
	expect(r, ")");
	return t;
}

/* name, name(attr) or function(expr, ...) */
static const struct term *
read_named(struct reader *r)
{
	const char *name = read_name(r);

	if (!accept(r, "("))
		return read_word(r, name);
	if (strcmp(name, "position") == 0 || strcmp(name, "key") == 0) {
		expect(r, ")");
		return new_term(r, *name == 'k' ? TERM_KEY : TERM_POSITION, NULL);
	}
	if (strcmp(name, "given") == 0)
		return read_pair(r, TERM_GIVEN);
	if (strcmp(name, "extent") == 0)
		return read_pair(r, TERM_EXTENT);
	if (strcmp(name, "listed") == 0) {
		const struct term *t = new_term(r, TERM_LISTED, read_name(r));
		expect(r, ")");
		return t;
	}
	if (strcmp(name, "size") == 0 || strcmp(name, "at") == 0) {
		const struct term *t =
			new_term(r, *name == 's' ? TERM_SIZE : TERM_AT, read_name(r));
		expect(r, ")");
		return t;
	}
	int fn = find_fn(name), n = 0;
	const struct term *arg[3] = {NULL, NULL, NULL};
	if (fn < 0)
		fault(r, "unknown function");
	do
		arg[n++] = read_expr(r);
	while (n < 3 && accept(r, ","));
	expect(r, ")");
	if (n != fn_arity((enum scalar_fn)fn))
		fault(r, "wrong number of arguments");
	return call_term(r, fn, arg[0], arg[1], arg[2]);
}

static const struct term *
read_primary(struct reader *r)
{
	if (accept(r, "(")) {
		const struct term *t = read_expr(r);
		expect(r, ")");
		return t;
	}
	if (accept(r, "-"))
		return call_term(r, FN_neg, read_primary(r), NULL, NULL);
	if (accept(r, "!"))
		return call_term(r, FN_not, read_primary(r), NULL, NULL);
	if (accept(r, "$")) {
		struct term *t = new_term(r, TERM_ATTR, read_name(r));
		if (accept(r, "."))
			t->entry = atoi(read_name(r));
		return t;
	}
	if (isdigit((unsigned char)*r->p)) {
		struct term *t = new_term(r, TERM_CONST, NULL);
		char *end;
		t->value = strtod(r->p, &end);
		r->p = end;
		return t;
	}
	return read_named(r);
}

/* Binary operators by level, weakest first; longer signs before their beginnings. */
static const struct {
	int level;
	const char *sign;
	int fn;
} binary[] = {
	{1, "|", FN_or},
	{2, "^", FN_xor},
	{3, "&", FN_and},
	{4, "==", FN_eq},
	{4, "!=", FN_ne},
	{4, "<=", FN_le},
	{4, ">=", FN_ge},
	{4, "<", FN_lt},
	{4, ">", FN_gt},
	{5, "+", FN_add},
	{5, "-", FN_sub},
	{6, "*", FN_mul},
	{6, "/", FN_div},
};

/* The row of `binary` whose operator comes next; -1: none. */
static int
find_binary(struct reader *r)
{
	accept(r, "");
	if (strncmp(r->p, "->", 2) == 0)
		return -1;
	for (int i = 0; i < (int)(sizeof binary / sizeof *binary); i++) {
		const char *sign = binary[i].sign;
		if (r->p[0] == sign[0] && (!sign[1] || r->p[1] == sign[1]))
			return i;
	}
	return -1;
}

/* Operators of this level and stronger ones: those of one level from left to right. */
static const struct term *
read_binary(struct reader *r, int level)
{
	const struct term *left = read_primary(r);

	for (int i; (i = find_binary(r)) >= 0 && binary[i].level >= level;) {
		r->p += strlen(binary[i].sign);
		const struct term *right = read_binary(r, binary[i].level + 1);
		left = call_term(r, binary[i].fn, left, right, NULL);
	}
	return left;
}

static const struct term *
read_expr(struct reader *r)
{
	const struct term *left = read_binary(r, 0);

	if (!accept(r, "?"))
		return left;
	const struct term *yes = read_expr(r);
	expect(r, ":");
	return call_term(r, FN_select, left, yes, read_expr(r));
}

static int
read_reduce(struct reader *r, struct pattern *p)
{
	static const struct {
		const char *sign;
		int reduce;
	} reducer[] = {{"sum(", REDUCE_SUM}, {"max(", REDUCE_MAX}, {"min(", REDUCE_MIN},
		{"prod(", REDUCE_PROD}, {"argmax(", REDUCE_ARGMAX}, {"argmin(", REDUCE_ARGMIN}};

	for (size_t i = 0; i < sizeof reducer / sizeof *reducer; i++)
		if (accept(r, reducer[i].sign)) {
			read_side(r, &p->over, "", ")");
			return reducer[i].reduce;
		}
	return REDUCE_NONE;
}

/* The words of a condition, after the opening quote. */
static void
read_words(struct reader *r, struct condition *c)
{
	char words[WORDS_MAX];
	size_t n = 0;

	for (; *r->p != '\''; r->p++) {
		if (!*r->p || n == sizeof words)
			fault(r, "words without an end");
		words[n++] = *r->p == '{' ? '%' : *r->p;
		if (*r->p != '{')
			continue;
		if (c->nnumbers == ROW_MAX_NUMBERS)
			fault(r, "too many numbers");
		r->p++;
		c->number[c->nnumbers++] = read_expr(r);
		accept(r, "");
		if (*r->p != '}')
			fault(r, "}");
	}
	r->p++;
	c->words = ir_name_n(r->ctx, words, n);
}

static void
read_where(struct reader *r, struct pattern *p)
{
	struct condition *c = &p->where[p->nwhere++];

	if (p->nwhere > ROW_MAX_WHERE)
		fault(r, "too many conditions");
	r->has_terms = true;
	c->each = accept(r, "each ");
	c->holds = read_expr(r);
	expect(r, "'");
	read_words(r, c);
}

const struct pattern *
notation_parse(struct ir_context *ctx, const char *text)
{
	struct reader r = {.ctx = ctx, .text = text, .p = text};
	struct pattern *p = ARENA_NEW(ctx->arena, struct pattern);

	while (!accept(&r, "->")) {
		if (p->ninputs)
			expect(&r, ",");
		p->name[p->ninputs] = read_name(&r);
		read_side(&r, &p->in[p->ninputs], "[", "]");
		if (accept(&r, "else"))
			p->fill[p->ninputs] = read_expr(&r);
		p->ninputs++;
	}
	read_side(&r, &p->out, "[", "]");
	expect(&r, "=");
	p->reduce = read_reduce(&r, p);
	p->body = read_expr(&r);
	while (accept(&r, "where "))
		read_where(&r, p);
	p->has_terms = r.has_terms;
	if (*r.p)
		fault(&r, "text after the end");
	return p;
}

static void
side_channels_last(struct pattern_side *s)
{
	struct pattern_item channels = {.name = 'c'};
	const int at = s->nitems - 3; /* before height and width: the channels, or ".." */

	if (s->item[at].name != '.') {
		channels = s->item[at];
		memmove(&s->item[at], &s->item[at + 1], 2 * sizeof *s->item);
		s->nitems--;
	}
	s->item[s->nitems++] = channels;
}

const struct pattern *
notation_channels_last(struct ir_context *ctx, const struct pattern *p)
{
	struct pattern *last = ARENA_NEW(ctx->arena, struct pattern);

	*last = *p;
	for (int j = 0; j < p->ninputs; j++)
		side_channels_last(&last->in[j]);
	side_channels_last(&last->out);
	return last;
}

const struct term *
notation_parse_expr(struct ir_context *ctx, const char *text)
{
	struct reader r = {.ctx = ctx, .text = text, .p = text};
	const struct term *t = read_expr(&r);

	if (*r.p)
		fault(&r, "text after the end");
	return t;
}
