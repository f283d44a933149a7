/* Rules of optimizers: their text, evaluated for a param. */
#include "passes/train/rule.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct rule_term choice(struct rule *r);
static struct rule_term body(struct rule *r);

/* The rest of the text is not read. After an error in an op all values are NULL. */
static struct rule_term
fault(struct rule *r, const char *what)
{
	if (!r->fault && !r->s->b.failed)
		r->fault = TEXT(r->s->run->scratch, "%s before '%.20s'", what, r->at);
	r->at = "";
	return rule_number(0);
}

/* --- words ------------------------------------------------------------------------------------ */

static void
space(struct rule *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

static int
word_length(const char *at)
{
	int n = 0;

	if (isalpha((unsigned char)*at))
		while (isalnum((unsigned char)at[n]) || at[n] == '_')
			n++;
	return n;
}

/* Reads the token if it is next; "=" and ":" are not the start of "==" and ":=". */
static bool
take(struct rule *r, const char *token)
{
	const size_t n = strlen(token);

	space(r);
	if (strncmp(r->at, token, n) != 0 || (n == 1 && r->at[1] == '=') ||
		(isalpha((unsigned char)*token) && word_length(r->at) != (int)n))
		return false;
	r->at += n;
	return true;
}

static void
expect(struct rule *r, const char *token)
{
	if (!take(r, token))
		fault(r, TEXT(r->s->run->scratch, "expected '%s'", token));
}

/* --- names ------------------------------------------------------------------------------------ */

static struct rule_name *
find_name(struct rule *r, const char *at, int n)
{
	for (int i = r->nnames - 1; i >= 0; i--) {
		struct rule_name *e = &r->name[i];
		if (e->length == n && strncmp(e->name, at, (size_t)n) == 0 &&
			(e->dtype < 0 || e->dtype == (int)dtype_of(r->s->w)))
			return e;
	}
	return NULL;
}

static struct rule_name *
bind(struct rule *r, const char *at, int n, struct rule_term is)
{
	if (r->nnames == RULE_NAMES) {
		fault(r, "too many names");
		return &r->name[0];
	}
	r->name[r->nnames] = (struct rule_name){at, n, -1, false, is, NULL};
	return &r->name[r->nnames++];
}

/* The state of that name before this step. */
static struct rule_name *
new_state(struct rule *r, const char *at, int n, const struct ir_value *like)
{
	const char *what = TEXT(r->s->run->scratch, "%.*s", n, at);
	struct ir_value *v =
		r->shared ? optimizer_shared_state(r->s, what) : optimizer_state(r->s, what, like);
	struct rule_name *e = bind(r, at, n, rule_is(v));

	e->old = v;
	return e;
}

static bool
option(const struct pass_run *run, const char *name, double *is)
{
	const struct pass_option *o = run->pass->options;

	while (o->name && strcmp(o->name, name) != 0)
		o++;
	if (!o->name)
		return false;
	switch (o->type) {
	case PASS_INT: *is = (double)pass_int(run, name); return true;
	case PASS_FLOAT: *is = pass_float(run, name); return true;
	case PASS_BOOL: *is = pass_bool(run, name); return true;
	case PASS_ENUM: *is = pass_enum(run, name); return true;
	default: return false;
	}
}

static struct rule_term
meaning(struct rule *r, const char *at, int n)
{
	struct optimizer_step *s = r->s;
	const struct rule_name *e = find_name(r, at, n);
	struct rule_term is = rule_number(1);

	if (r->muted)
		return is;
	if (e)
		return e->is;
	const char *name = TEXT(s->run->scratch, "%.*s", n, at);
	if (!strcmp(name, "t"))
		return rule_is(optimizer_count(s));
	if (option(s->run, name, &is.c))
		return is;
	if (r->option)
		return fault(r, TEXT(s->run->scratch, "unknown name '%s'", name));
	if (!strcmp(name, "w"))
		return rule_is(s->w);
	if (!strcmp(name, "g"))
		return rule_is(s->g);
	if (!strcmp(name, "rate"))
		return rule_is(optimizer_rate(s));
	if (!strcmp(name, "before"))
		return optimizer_scheduled(s->run) ? rule_is(optimizer_rate_before(s))
						   : rule_number(pass_float(s->run, "lr"));
	if (!strstr(r->text, TEXT(s->run->scratch, "%s :=", name)))
		return fault(r, TEXT(s->run->scratch, "unknown name '%s'", name));
	return new_state(r, at, n, s->w)->is;
}

static struct rule_term
assign(struct rule *r, const char *at, int n, const struct ir_value *like)
{
	if (like && !r->muted)
		new_state(r, at, n, like);
	const struct rule_term next = choice(r);
	if (r->muted || r->fault)
		return next;
	if (r->option)
		return fault(r, "a formula has no states: '=', not ':='");
	struct rule_name *e = find_name(r, at, n);
	if (!e)
		e = new_state(r, at, n, r->s->w);
	if (!next.v || !e->old)
		return fault(r, "a state is assigned one value");
	optimizer_update(r->s, e->old, next.v);
	e->is = next;
	return next;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

struct ir_value *
rule_value(struct rule *r, struct rule_term x, enum ir_dtype t)
{
	return x.v ? x.v : optimizer_constant(r->s, t, x.c);
}

static double
fold(enum op_code code, double x, double y)
{
	switch (code) {
	case OP_add: return x + y;
	case OP_sub: return x - y;
	case OP_mul: return x * y;
	case OP_div: return x / y;
	case OP_lt: return x < y;
	case OP_gt: return x > y;
	case OP_eq: return x == y;
	default: return x != 0 && y != 0; /* OP_and */
	}
}

static struct rule_term
join(struct rule *r, enum op_code code, struct rule_term x, struct rule_term y)
{
	struct optimizer_step *s = r->s;

	if (r->muted || (!x.v && !y.v))
		return rule_number(fold(code, x.c, y.c));
	if (x.v && !y.v && (code == OP_add || code == OP_sub))
		return rule_is(optimizer_shift(s, x.v, code == OP_sub ? -y.c : y.c));
	if (x.v && !y.v && (code == OP_mul || code == OP_div))
		return rule_is(optimizer_scale(s, x.v, code == OP_div ? 1 / y.c : y.c));
	if (!x.v && (code == OP_add || code == OP_mul))
		return join(r, code, y, x);
	if (!x.v && code == OP_sub)
		return rule_is(optimizer_shift(s, optimizer_scale(s, y.v, -1), x.c));
	struct ir_value *a = rule_value(r, x, dtype_of(y.v ? y.v : x.v));
	return rule_is(ir_build2(&s->b, code, a, rule_value(r, y, dtype_of(x.v ? x.v : y.v))));
}

static struct rule_term
call(struct rule *r, const char *at, int n)
{
	struct rule_term x[RULE_ARGUMENTS], result = rule_number(1);
	int nx = 0;

	while (!take(r, ")") && !r->fault) {
		if (nx == RULE_ARGUMENTS)
			return fault(r, "too many arguments");
		x[nx++] = choice(r);
		if (!take(r, ","))
			space(r);
	}
	const char *name = TEXT(r->s->run->scratch, "%.*s", n, at);
	if (!r->muted && !r->fault && !rule_call(r, name, x, nx, &result))
		return fault(r, TEXT(r->s->run->scratch, "unknown function '%s'", name));
	return result;
}

static struct rule_term
primary(struct rule *r)
{
	struct rule_term x;
	char *end;

	if (take(r, "(")) {
		x = choice(r);
		expect(r, ")");
		return x;
	}
	if (take(r, "{")) {
		x = body(r);
		expect(r, "}");
		return x;
	}
	if (take(r, "-")) {
		x = primary(r);
		return x.v ? rule_is(ir_build1(&r->s->b, OP_neg, x.v)) : rule_number(-x.c);
	}
	const char *at = r->at;
	const int n = word_length(at);
	x = rule_number(n ? 0 : strtod(at, &end));
	if (!n && end == at)
		return fault(r, "expected a term");
	r->at = n ? at + n : end;
	if (!n)
		return x;
	if (take(r, "("))
		return call(r, at, n);
	if (take(r, "of")) { /* a name of the value whose type the state has */
		space(r);
		const int k = word_length(r->at);
		x = meaning(r, r->at, k);
		r->at += k;
	}
	if (take(r, ":="))
		return assign(r, at, n, x.v);
	return meaning(r, at, n);
}

/* Operators from the loosest to the tightest, from left to right in a level. */
static const struct {
	const char *token;
	int level;
	enum op_code code;
} operators[] = {
	{"&", 0, OP_and},
	{"==", 1, OP_eq},
	{"<", 1, OP_lt},
	{">", 1, OP_gt},
	{"+", 2, OP_add},
	{"-", 2, OP_sub},
	{"*", 3, OP_mul},
	{"/", 3, OP_div},
};

static struct rule_term
operation(struct rule *r, int level)
{
	const size_t n = sizeof operators / sizeof *operators;
	struct rule_term x = level > 3 ? primary(r) : operation(r, level + 1);

	for (size_t i = 0; level <= 3 && i < n; i++)
		if (operators[i].level == level && take(r, operators[i].token)) {
			x = join(r, operators[i].code, x, operation(r, level + 1));
			i = (size_t)-1; /* from the first again */
		}
	return x;
}

/* One side of a choice. */
static struct rule_term
side(struct rule *r, bool taken)
{
	r->muted += !taken;
	const struct rule_term x = choice(r);
	r->muted -= !taken;
	return x;
}

static struct rule_term
choice(struct rule *r)
{
	const struct rule_term x = operation(r, 0);

	if (!take(r, "?"))
		return x;
	const struct rule_term yes = side(r, x.v || x.c != 0);
	expect(r, ":");
	const struct rule_term no = side(r, x.v || x.c == 0);
	if (r->muted || !x.v)
		return x.c != 0 ? yes : no;
	const enum ir_dtype t = dtype_of(yes.v ? yes.v : no.v ? no.v : r->s->w);
	struct ir_value *a = rule_value(r, yes, t), *b = rule_value(r, no, t);
	return rule_is(ir_build(&r->s->b, OP_select, (struct ir_value *[]){x.v, a, b}, 3, NULL, 0));
}

/* --- statements ------------------------------------------------------------------------------- */

/* name = choice, or name := choice. `dtype` as in struct rule_name. */
static void
statement(struct rule *r, bool keep, int dtype)
{
	space(r);
	const char *at = r->at;
	const int n = word_length(at);
	const struct rule_name *known = keep && !r->muted ? find_name(r, at, n) : NULL;
	const bool made = known && known->kept;

	r->muted += made;
	r->at += n;
	const bool state = take(r, ":=");
	if (!state)
		expect(r, "=");
	const struct rule_term x = state ? assign(r, at, n, NULL) : choice(r);
	expect(r, ";");
	r->muted -= made;
	if (r->muted || made || r->fault)
		return;
	struct rule_name *e = state ? find_name(r, at, n) : bind(r, at, n, x);
	e->kept = keep;
	e->dtype = dtype;
}

/* Does `name =` or `name :=` come next? */
static bool
at_statement(struct rule *r)
{
	struct rule ahead = *r;

	space(&ahead);
	const int n = word_length(ahead.at);
	ahead.at += n;
	return n && (take(&ahead, "=") || take(&ahead, ":="));
}

static struct rule_term
body(struct rule *r)
{
	for (;;) {
		if (take(r, "once")) {
			statement(r, true, (int)dtype_of(r->s->w));
		} else if (take(r, "shared")) {
			r->shared = true;
			statement(r, true, -1);
			r->shared = false;
		} else if (at_statement(r)) {
			statement(r, false, -1);
		} else {
			const struct rule_term x = choice(r);
			if (!take(r, ";"))
				return x;
		}
	}
}

struct ir_value *
rule_direction(struct rule *r)
{
	int kept = 0;

	for (int i = 0; i < r->nnames; i++)
		if (r->name[i].kept)
			r->name[kept++] = r->name[i];
	r->nnames = kept;
	r->at = r->text;
	const struct ir_loc loc = r->s->b.loc;
	if (r->option)
		r->s->b.loc = pass_option_loc(r->s->run, r->option);
	const struct rule_term x = body(r);
	r->s->b.loc = loc;
	space(r);
	if (*r->at)
		fault(r, "expected the end");
	if (r->fault && r->option)
		diag_error(r->s->run->ctx->diag, pass_option_loc(r->s->run, r->option),
			"%s: %s: %s", r->s->run->pass->name, r->option, r->fault);
	else if (r->fault)
		pass_bug(r->s->run, r->s->param, r->fault);
	r->s->b.failed |= r->fault != NULL;
	return r->fault || r->s->b.failed ? NULL : rule_value(r, x, dtype_of(r->s->w));
}
