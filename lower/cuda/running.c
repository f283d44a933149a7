/*
 * Sums that are made in one pass with the maxima, minima and sums that their summands read. While
 * those are running, a reference stands for them: the maximum so far, 1 for a sum. Where references
 * change from o to v, the sum so far is multiplied by what the summands change by:
 *
 *     m = max(k) x[k]                      exp(o - v)
 *     s = sum(k) exp(x[k] - m) w[k]
 *     y = sum(k) w[k] exp(x[k] - m) / s    exp(o - v) and o / v
 *
 * This is read off the expressions, through all elementwise ops between them. The change has to be
 * the same for all k: a summand is a product of factors, of which those that change are quotients by
 * sums, or exponentials of what the maximum is subtracted from (a minimum, what is subtracted from
 * it). That has to be what it is the maximum of, so that no summand overflows with a smaller one.
 * Tensors of rows (rows.c) and of tiles (stream_plan.c) are read alike.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"

/* An expression of an op. */
struct place {
	const struct scheme_op *o;
	const struct expr *e;
};

/* Expressions that a change is read off at most: a value with several readers is read for each. */
enum { MOST_READ = 256 };

struct change {
	struct cuda_text *t;
	const bool *changing; /* by op */
	bool *depends;        /* by op: on one that changes */
	int *left;            /* of MOST_READ */
};

static struct place
argument(struct place p, int i)
{
	return (struct place){p.o, p.e->arg[i]};
}

/* The op of the segment that makes what a load reads; -1. */
static int
maker_of(const struct cuda_text *t, struct place p)
{
	const int tensor = p.o->in[p.e->id];

	return scheme_made_in(t->s, tensor, p.o->segment) ? t->s->tensor[tensor].op : -1;
}

static bool
is_float(const struct expr *e)
{
	return ir_dtype_class((enum ir_dtype)e->dtype) == IR_FLOAT;
}

static bool
is_wide(const struct expr *e)
{
	return e->dtype == IR_f32 || e->dtype == IR_f64;
}

/* A conversion between floats; `exact`: to a wider one. */
static bool
is_conversion(const struct expr *e, bool exact)
{
	return e->id == FN_convert && is_float(e) && is_float(e->arg[0]) &&
	       (!exact || e->dtype == e->arg[0]->dtype ||
		       ir_dtype_bytes((enum ir_dtype)e->dtype) >
			       ir_dtype_bytes((enum ir_dtype)e->arg[0]->dtype));
}

/* What an elementwise op of the segment computes, for what is loaded; else the load. */
static struct place
computed(const struct cuda_text *t, struct place p)
{
	const int i = maker_of(t, p);
	const struct scheme_op *maker = i < 0 ? NULL : &t->s->op[i];

	return !maker || maker->red_set || maker->f.reduce != REDUCE_NONE || maker->computed ||
			       p.o->computed || t->s->tensor[maker->out].alias >= 0
		       ? p
		       : (struct place){maker, maker->f.body};
}

/* What has the same value but for its rounding: an elementwise op of the segment that makes what is
 * loaded, the argument of a conversion. `exact`: nor is it rounded to 16 bits or fewer, as what is
 * added to an exponent must not be: 1,000 in bf16 is off by up to 2. */
static struct place
origin(const struct cuda_text *t, struct place p, bool exact)
{
	for (;;) {
		if (p.e->kind == EXPR_LOAD) {
			const struct place made = computed(t, p);
			if (made.o == p.o || (exact && !is_wide(made.e)))
				return p;
			p = made;
		} else if (p.e->kind == EXPR_CALL &&
			   (p.e->id == FN_stop || is_conversion(p.e, exact))) {
			p = argument(p, 0);
		} else {
			return p;
		}
	}
}

/* Do two loads read the same element? */
static bool
is_same_load(struct place a, struct place b)
{
	const struct form_access *x = &a.o->f.in[a.e->id], *y = &b.o->f.in[b.e->id];

	if (a.o->in[a.e->id] != b.o->in[b.e->id] || a.o->computed || b.o->computed || a.o->absent ||
		b.o->absent)
		return false;
	for (int d = 0; d < x->rank; d++)
		if ((x->index[d] < 0 ? -1 : a.o->cls[x->index[d]]) !=
			(y->index[d] < 0 ? -1 : b.o->cls[y->index[d]]))
			return false;
	return true;
}

static bool
is_same(const struct cuda_text *t, struct place a, struct place b)
{
	if (a.e->kind == EXPR_LOAD && b.e->kind == EXPR_LOAD && is_same_load(a, b))
		return true;
	a = origin(t, a, true);
	b = origin(t, b, true);
	if (a.e->kind != b.e->kind || a.e->nargs != b.e->nargs)
		return false;
	if (a.e->kind == EXPR_LOAD) { /* rounded: alike */
		const struct place x = computed(t, a), y = computed(t, b);
		return x.o == a.o || y.o == b.o ? is_same_load(a, b)
						: x.o->f.dtype == y.o->f.dtype && is_same(t, x, y);
	}
	if (a.e->kind == EXPR_CONST)
		return a.e->value == b.e->value && a.e->whole == b.e->whole;
	if (a.e->kind != EXPR_CALL || a.e->id != b.e->id || a.e->dtype != b.e->dtype ||
		a.e->id == FN_element)
		return false;
	for (int i = 0; i < a.e->nargs; i++)
		if (!is_same(t, argument(a, i), argument(b, i)))
			return false;
	return true;
}

static bool
depends(const struct change *c, struct place p)
{
	if (p.e->kind == EXPR_LOAD) {
		const int maker = maker_of(c->t, p);
		return maker >= 0 && c->depends[maker];
	}
	for (int i = 0; i < p.e->nargs; i++)
		if (depends(c, argument(p, i)))
			return true;
	return false;
}

/* The op that changes whose value it is, if it reduces in that way; NULL. */
static const struct scheme_op *
changes(const struct change *c, struct place p, enum form_reduce reduce)
{
	const int maker = p.e->kind == EXPR_LOAD && !p.o->computed ? maker_of(c->t, p) : -1;

	return maker >= 0 && c->changing[maker] && c->t->s->op[maker].f.reduce == reduce
		       ? &c->t->s->op[maker]
		       : NULL;
}

/* The changes: NULL: not of that form; "": none. */

static char *
none(const struct change *c, bool is)
{
	return is ? cuda_printf(c->t, "%s", "") : NULL;
}

static char *
joined(const struct change *c, char *a, const char *sign, char *b, const char *neutral)
{
	if (!a || !b || !*b)
		return a && b ? a : NULL;
	if (!*a && !*neutral)
		return b;
	return cuda_printf(c->t, "(%s %s %s)", *a ? a : neutral, sign, b);
}

/* Of an exponent: what is added. */
static char *
exponent(const struct change *c, struct place p)
{
	p = origin(c->t, p, true);
	if (--*c->left < 0)
		return NULL;
	if (!depends(c, p) || p.e->kind != EXPR_CALL)
		return none(c, !depends(c, p));
	if (p.e->id == FN_add)
		return joined(c, exponent(c, argument(p, 0)), "+", exponent(c, argument(p, 1)), "");
	if (p.e->id != FN_sub)
		return NULL;
	const struct place a = origin(c->t, argument(p, 0), true),
			   b = origin(c->t, argument(p, 1), true);
	const struct scheme_op *most = changes(c, b, REDUCE_MAX),
			       *least = changes(c, a, REDUCE_MIN);
	if (most && is_same(c->t, a, (struct place){most, most->f.body}))
		return cuda_printf(c->t, "dev_minus(o%d, v%d)", most->out, most->out);
	if (least && is_same(c->t, b, (struct place){least, least->f.body}))
		return cuda_printf(c->t, "dev_minus(v%d, o%d)", least->out, least->out);
	return depends(c, b) ? NULL : exponent(c, a);
}

/* Of a product: by what it is multiplied. */
static char *
factor(const struct change *c, struct place p)
{
	p = origin(c->t, p, false);
	const struct scheme_op *sum = changes(c, p, REDUCE_SUM);
	char *x;

	if (--*c->left < 0)
		return NULL;
	if (sum)
		return cuda_printf(c->t, "(v%d / o%d)", sum->out, sum->out);
	if (!depends(c, p) || p.e->kind != EXPR_CALL)
		return none(c, !depends(c, p));
	switch ((enum scalar_fn)p.e->id) {
	case FN_mul:
		return joined(c, factor(c, argument(p, 0)), "*", factor(c, argument(p, 1)), "");
	case FN_div:
		return joined(c, factor(c, argument(p, 0)), "/", factor(c, argument(p, 1)), "1.0f");
	case FN_neg: return factor(c, argument(p, 0));
	case FN_exp:
	case FN_exp2:
		x = exponent(c, argument(p, 0));
		return x ? cuda_printf(c->t, "M_%s(%s)", fn_name((enum scalar_fn)p.e->id), x)
			 : NULL;
	case FN_select: /* what is left out contributes 0 before and after */
		if (depends(c, argument(p, 0)))
			return NULL;
		return expr_is_const(p.e->arg[2], 0)   ? factor(c, argument(p, 1))
		       : expr_is_const(p.e->arg[1], 0) ? factor(c, argument(p, 2))
						       : NULL;
	default: return NULL;
	}
}

char *
cuda_change(struct cuda_text *t, const struct scheme_op *sum, const bool *changing)
{
	const struct scheme *s = t->s;
	int left = MOST_READ;
	const struct change c = {
		t, changing, ZERO_ARRAY(t->w.scratch, bool, (size_t)s->nops + 1), &left};

	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		c.depends[i] = changing[i];
		for (int j = 0; j < o->f.ninputs && !o->red_set; j++) {
			const int maker =
				scheme_reads(o) >> j & 1 && scheme_made_in(s, o->in[j], o->segment)
					? s->tensor[o->in[j]].op
					: -1;
			c.depends[i] |= maker >= 0 && c.depends[maker];
		}
	}
	return sum->f.reduce == REDUCE_SUM ? factor(&c, (struct place){sum, sum->f.body}) : NULL;
}
