/*
 * Sums that can be made together with a maximum that their summands read, in one pass over a row:
 *
 *     m = max(k) x[k]                      m and s of what was read so far; where m becomes m',
 *     s = sum(k) exp(x[k] - m) w[k]        s exp(m - m') is the sum for m'
 *
 * This holds where the maximum is subtracted, under an exponential, from that of which it is the
 * maximum, so that no summand overflows with a smaller maximum, and w does not depend on it. It is
 * decided on the expressions, through all elementwise ops between them (stream_plan.c does so for
 * kernels of several products).
 */
#include "lower/cuda/text.h"

/* An expression of an op. */
struct place {
	const struct scheme_op *o;
	const struct expr *e;
};

static bool
is_full(const struct expr *e)
{
	return e->dtype == IR_f32 || e->dtype == IR_f64;
}

/* What has the same value: an op of the segment that load makes, the argument of a conversion. */
static struct place
origin(const struct cuda_text *t, struct place p)
{
	for (;;) {
		if (p.e->kind == EXPR_LOAD) {
			const int tensor = p.o->in[p.e->id];
			const struct scheme_tensor *x = &t->s->tensor[tensor];
			if (!scheme_made_in(t->s, tensor, p.o->segment) || x->alias >= 0)
				return p;
			const struct scheme_op *maker = &t->s->op[x->op];
			if (maker->red_set || maker->f.reduce != REDUCE_NONE || maker->computed ||
				!is_full(maker->f.body))
				return p;
			p = (struct place){maker, maker->f.body};
		} else if (p.e->kind == EXPR_CALL &&
			   (p.e->id == FN_stop || (p.e->id == FN_convert && is_full(p.e) &&
							  is_full(p.e->arg[0])))) {
			p.e = p.e->arg[0];
		} else {
			return p;
		}
	}
}

static bool
is_result_of(const struct cuda_text *t, struct place p, const struct scheme_op *top)
{
	p = origin(t, p);
	return p.e->kind == EXPR_LOAD && p.o->in[p.e->id] == top->out;
}

static bool
depends(const struct cuda_text *t, struct place p, const struct scheme_op *top)
{
	p = origin(t, p);
	if (p.e->kind == EXPR_LOAD)
		return p.o->in[p.e->id] == top->out ||
		       scheme_made_in(t->s, p.o->in[p.e->id], p.o->segment);
	for (int i = 0; i < p.e->nargs; i++)
		if (depends(t, (struct place){p.o, p.e->arg[i]}, top))
			return true;
	return false;
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
	a = origin(t, a);
	b = origin(t, b);
	if (a.e->kind != b.e->kind || a.e->dtype != b.e->dtype || a.e->nargs != b.e->nargs)
		return false;
	if (a.e->kind == EXPR_LOAD)
		return is_same_load(a, b);
	if (a.e->kind == EXPR_CONST)
		return a.e->value == b.e->value && a.e->whole == b.e->whole;
	if (a.e->kind != EXPR_CALL || a.e->id != b.e->id || a.e->id == FN_element)
		return false;
	for (int i = 0; i < a.e->nargs; i++)
		if (!is_same(t, (struct place){a.o, a.e->arg[i]}, (struct place){b.o, b.e->arg[i]}))
			return false;
	return true;
}

/* exp(x - top), where `top` is the maximum of x; perhaps times what does not depend on it. */
static bool
is_exponential(const struct cuda_text *t, struct place p, const struct scheme_op *top)
{
	p = origin(t, p);
	if (p.e->kind != EXPR_CALL || !is_full(p.e))
		return false;
	if (p.e->id == FN_mul)
		for (int i = 0; i < 2; i++)
			if (!depends(t, (struct place){p.o, p.e->arg[1 - i]}, top))
				return is_exponential(t, (struct place){p.o, p.e->arg[i]}, top);
	if (p.e->id != FN_exp)
		return false;
	p = origin(t, (struct place){p.o, p.e->arg[0]});
	return p.e->kind == EXPR_CALL && p.e->id == FN_sub &&
	       is_result_of(t, (struct place){p.o, p.e->arg[1]}, top) &&
	       is_same(t, (struct place){p.o, p.e->arg[0]}, (struct place){top, top->f.body});
}

bool
cuda_follows(const struct cuda_text *t, const struct scheme_op *sum, const struct scheme_op *top)
{
	return top->f.reduce == REDUCE_MAX && sum->f.reduce == REDUCE_SUM &&
	       top->f.dtype == IR_f32 && sum->f.dtype == IR_f32 && top->red_set == sum->red_set &&
	       !sum->picks && !sum->computed && !top->computed &&
	       is_exponential(t, (struct place){sum, sum->f.body}, top);
}
