/*
 * When one pass is enough: consider a reduction over k of f(k, r), where r is itself a reduction
 * over k in the same kernel. The result so far can be corrected when r changes if f(k, r) = h(k)
 * w(r) under a sum, or h(k) + w(r) under a maximum: a sum is multiplied by w(new) / w(old). Whether
 * f is of that form is read off the expressions of the ops between, by the rules
 *
 *     exp(a + b) = exp(a) exp(b)     (a b) / (c d) = (a / c) (b / d)     (a b)^n = a^n b^n
 *
 *     softmax: f = exp(s(k) - m) v(k) = exp(s(k)) v(k) exp(-m)      yes
 *     division by the sum: f = e(k) / l                             yes, the last correction
 *     relu(s(k) - m), (x(k) - mean)^2 under a sum                   no: needs another kernel
 *
 * Only the form matters here; how w(new) / w(old) is computed without overflow, as exp(old - new),
 * is up to the target.
 */
#include "passes/fusion/online.h"

/* How a value depends on k and on the running reductions r. */
enum form_of {
	OF_ZERO,
	OF_CONSTANT, /* neither on k nor on r */
	OF_K,        /* on k only: h(k) */
	OF_R,        /* w(r) */
	OF_SUM,      /* h(k) + w(r) */
	OF_PRODUCT,  /* h(k) * w(r) */
	OF_ELSE,
};

static bool
is_free(enum form_of x)
{
	return x <= OF_K;
}

/* The form of an arbitrary function of these arguments. */
static enum form_of
of_any(const enum form_of *x, int n)
{
	bool k = false, r = false;

	for (int i = 0; i < n; i++) {
		if (x[i] > OF_R)
			return OF_ELSE;
		k |= x[i] == OF_K;
		r |= x[i] == OF_R;
	}
	return k && r ? OF_ELSE : k ? OF_K : r ? OF_R : OF_CONSTANT;
}

static enum form_of
of_sum(enum form_of a, enum form_of b)
{
	return a <= OF_SUM && b <= OF_SUM ? OF_SUM : OF_ELSE;
}

static enum form_of
of_product(enum form_of a, enum form_of b)
{
	if ((a == OF_SUM && b <= OF_CONSTANT) || (a <= OF_CONSTANT && b == OF_SUM))
		return OF_SUM;
	return a != OF_SUM && b != OF_SUM && a != OF_ELSE && b != OF_ELSE ? OF_PRODUCT : OF_ELSE;
}

static enum form_of
of_call(const struct expr *e, const enum form_of *x)
{
	const enum form_of any = of_any(x, e->nargs);

	if (any != OF_ELSE)
		return any;
	switch ((enum scalar_fn)e->id) {
	case FN_add:
	case FN_sub: return of_sum(x[0], x[1]);
	case FN_mul: return of_product(x[0], x[1]);
	case FN_div: return x[1] == OF_SUM ? OF_ELSE : of_product(x[0], x[1]);
	case FN_neg:
	case FN_stop:
	case FN_convert: return x[0];
	case FN_exp:
	case FN_exp2: return x[0] == OF_SUM ? OF_PRODUCT : OF_ELSE;
	case FN_sqrt:
	case FN_rsqrt: return x[0] == OF_PRODUCT ? OF_PRODUCT : OF_ELSE;
	case FN_select:
		/* Masked elements contribute 0, whatever r is. */
		return is_free(x[0]) && ((x[1] == OF_PRODUCT && x[2] == OF_ZERO) ||
						(x[2] == OF_PRODUCT && x[1] == OF_ZERO))
			       ? OF_PRODUCT
			       : OF_ELSE;
	default: return OF_ELSE;
	}
}

static enum form_of
of_expr(const struct expr *e, const enum form_of *load)
{
	enum form_of x[3] = {OF_CONSTANT, OF_CONSTANT, OF_CONSTANT};

	switch ((enum expr_kind)e->kind) {
	case EXPR_LOAD: return load[e->id];
	case EXPR_INDEX: return OF_K;
	case EXPR_CONST: return expr_is_const(e, 0) ? OF_ZERO : OF_CONSTANT;
	case EXPR_CALL: break;
	}
	for (int i = 0; i < e->nargs; i++)
		x[i] = of_expr(e->arg[i], load);
	return of_call(e, x);
}

static bool
is_zero(const struct ir_op *constant)
{
	return ir_attr_float(constant, "value", 1) == 0;
}

struct forms {
	struct online *o;
	const struct online_nest *nest;
};

static enum form_of of_body(struct forms *s, uint32_t op, bool *reads);

static enum form_of
of_value(struct forms *s, uint32_t op, bool *reads)
{
	struct online *o = s->o;

	if (op == OPFUSE_NONE)
		return OF_K;
	if (fuse_is_scalar(o->u->op[op]))
		return is_zero(o->u->op[op]) ? OF_ZERO : OF_CONSTANT;
	if (online_lists(&s->nest->end, op) || online_lists(&s->nest->between, op)) {
		*reads = true;
		return OF_R;
	}
	if (op == o->seed || !online_is_wide(o, op))
		return OF_K;
	if (o->seen[op] != o->now) {
		o->seen[op] = o->now;
		o->form_of[op] = OF_ELSE;
		o->form_of[op] = (uint8_t)of_body(s, op, reads);
	}
	return (enum form_of)o->form_of[op];
}

static enum form_of
of_body(struct forms *s, uint32_t op, bool *reads)
{
	enum form_of load[FORM_MAX_INPUTS];
	struct form f;

	if (!online_form(s->o, op, &f))
		return OF_ELSE;
	for (int j = 0; j < f.ninputs; j++)
		load[j] = of_value(s, opfuse_maker(s->o->u, op, (uint32_t)j), reads);
	const bool sums = f.reduce != REDUCE_NONE && online_is_wide(s->o, op);
	return sums ? of_any(load, f.ninputs) : of_expr(f.body, load);
}

bool
online_separable(struct online *o, const struct online_nest *nest, uint32_t end)
{
	struct forms s = {.o = o, .nest = nest};
	bool reads = false;
	struct form f;

	o->now++;
	const bool formed = online_form(o, end, &f);
	const enum form_of of = formed ? of_body(&s, end, &reads) : OF_ELSE;
	if (!reads)
		return formed;
	switch ((enum form_reduce)f.reduce) {
	case REDUCE_SUM: return is_free(of) || of == OF_R || of == OF_PRODUCT;
	case REDUCE_MAX:
	case REDUCE_MIN: return is_free(of) || of == OF_R || of == OF_SUM;
	default: return false;
	}
}
