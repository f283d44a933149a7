/*
 * Index notation as text:
 *
 *     row     = [operand {"," operand}] "->" side "=" [reduce "(" items ")"] expr
 *     operand = name side            side = "[" [item {"," item}] "]"
 *     item    = letter | ".." | "*", then nothing or one of ":attr" "=attr" "-attr"
 *     reduce  = "sum" | "max" | "min" | "prod"; its items are indices, "..", or an attribute with
 * dims expr    = C's operators ?: | ^ & == != < <= > >= + - * / unary - !, scalar functions,
 *               numbers, operands, index letters, $attribute, size(attr), at(attr), position(),
 *               key()
 *
 * size(dims) is the product of the sizes of these dims, at(dim) the index along a dim, position()
 * the row-major number of the element in the whole result, key() a number that comes from the op's
 * name and its seed. The text is ours: a fault in it aborts.
 */
#include "ir/row.h"

#include "ir/form.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct ir_context *ctx;
	const char *text, *p;
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
	if (strncmp(r->p, sign, strlen(sign)) != 0)
		return false;
	r->p += strlen(sign);
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

static struct pattern_item
read_item(struct reader *r)
{
	struct pattern_item item = {0};

	if (accept(r, ".."))
		item.name = '.';
	else if (accept(r, "*"))
		item.name = '*';
	else {
		const char *name = read_name(r);
		if (name[1] != '\0')
			item.attr = name; /* only in a reducer: the dims of an attribute */
		else
			item.name = name[0];
	}
	if (strchr(":=-", *r->p) && *r->p) {
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
	do
		side->item[side->nitems++] = read_item(r);
	while (accept(r, ","));
	expect(r, close);
}

static const struct term *read_expr(struct reader *r, int level);

static struct term *
new_term(struct reader *r, enum term_kind kind, const char *name)
{
	struct term *t = ARENA_NEW(r->ctx->arena, struct term);

	t->kind = kind;
	t->name = name;
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

/* name, name(attr) or function(expr, ...) */
static const struct term *
read_named(struct reader *r)
{
	const char *name = read_name(r);

	if (!accept(r, "("))
		return new_term(r, TERM_NAME, name);
	if (strcmp(name, "position") == 0 || strcmp(name, "key") == 0) {
		expect(r, ")");
		return new_term(r, *name == 'k' ? TERM_KEY : TERM_POSITION, NULL);
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
		arg[n++] = read_expr(r, 0);
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
		const struct term *t = read_expr(r, 0);
		expect(r, ")");
		return t;
	}
	if (accept(r, "-"))
		return call_term(r, FN_neg, read_primary(r), NULL, NULL);
	if (accept(r, "!"))
		return call_term(r, FN_not, read_primary(r), NULL, NULL);
	if (accept(r, "$"))
		return new_term(r, TERM_ATTR, read_name(r));
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

enum { LEVEL_PRIMARY = 7 };

static int
accept_binary(struct reader *r, int level)
{
	for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
		if (binary[i].level == level && accept(r, binary[i].sign))
			return binary[i].fn;
	return -1;
}

static const struct term *
read_expr(struct reader *r, int level)
{
	if (level == LEVEL_PRIMARY)
		return read_primary(r);
	const struct term *left = read_expr(r, level + 1);
	if (level == 0) {
		if (!accept(r, "?"))
			return left;
		const struct term *yes = read_expr(r, 0);
		expect(r, ":");
		return call_term(r, FN_select, left, yes, read_expr(r, 0));
	}
	for (int fn; (fn = accept_binary(r, level)) >= 0;)
		left = call_term(r, fn, left, read_expr(r, level + 1), NULL);
	return left;
}

static int
read_reduce(struct reader *r, struct pattern *p)
{
	static const struct {
		const char *sign;
		int reduce;
	} reducer[] = {{"sum(", REDUCE_SUM}, {"max(", REDUCE_MAX}, {"min(", REDUCE_MIN},
		{"prod(", REDUCE_PROD}};

	for (size_t i = 0; i < sizeof reducer / sizeof *reducer; i++)
		if (accept(r, reducer[i].sign)) {
			read_side(r, &p->over, "", ")");
			return reducer[i].reduce;
		}
	return REDUCE_NONE;
}

const struct pattern *
notation_parse(struct ir_context *ctx, const char *text)
{
	struct reader r = {ctx, text, text};
	struct pattern *p = ARENA_NEW(ctx->arena, struct pattern);

	while (!accept(&r, "->")) {
		if (p->ninputs)
			expect(&r, ",");
		p->name[p->ninputs] = read_name(&r);
		read_side(&r, &p->in[p->ninputs++], "[", "]");
	}
	read_side(&r, &p->out, "[", "]");
	expect(&r, "=");
	p->reduce = read_reduce(&r, p);
	p->body = read_expr(&r, 0);
	if (*r.p)
		fault(&r, "text after the end");
	return p;
}

const struct term *
notation_parse_expr(struct ir_context *ctx, const char *text)
{
	struct reader r = {ctx, text, text};
	const struct term *t = read_expr(&r, 0);

	if (*r.p)
		fault(&r, "text after the end");
	return t;
}
