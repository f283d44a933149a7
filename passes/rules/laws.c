/*
 * Laws of scalar functions: used by the constructors of applications and of products. Each is a law
 * of real arithmetic; its additional requirements on elements are recorded in terms->assumes. Those of maxima and
 * comparisons are in order.c.
 */
#include "passes/rules/laws.h"
#include "ir/base/sort.h"
#include "passes/rules/verify.h"

enum { MOST_POWER = 4 }; /* a larger one is not multiplied out */

static unsigned
law_of(int fn)
{
	return fn < FN_COUNT ? fn_laws((enum scalar_fn)fn) : fn == APPLY_IN_RANGE ? LAW_BOOL : 0;
}

bool
apply_commutes(const struct terms *t, int fn)
{
	/* If one is 0 and the other -0, the result is the last one, for both functions. */
	const bool ordered = t->bitwise && (fn == FN_maximum || fn == FN_minimum);

	return !ordered && law_of(fn) & LAW_COMMUTES;
}

term_id
poly_apply_plain(struct terms *t, int fn, const term_id *arg, int n)
{
	const int64_t mark = t->stack.n;

	TERM_PUSH(t, fn);
	for (int i = 0; i < n; i++) {
		if (!arg[i]) {
			t->stack.n = mark;
			return 0;
		}
		TERM_PUSH(t, arg[i]);
	}
	if (apply_commutes(t, fn))
		sort_int64(t->stack.at + mark + 1, (size_t)n);
	return poly_of_factor(t, term_make(t, NODE_APPLY, mark, law_of(fn) & LAW_BOOL));
}

/* If a polynomial is an application: its function, and its first argument; otherwise -1. */
int
poly_applied(const struct terms *t, term_id p, term_id *arg)
{
	const term_id f = poly_factor(t, p);

	if (!f || t->node.at[f].kind != NODE_APPLY || t->node.at[f].n < 2)
		return -1;
	*arg = (term_id)term_words(t, f)[1];
	return (int)term_words(t, f)[0];
}

bool
factor_applies(const struct terms *t, int64_t f, int fn)
{
	return t->node.at[f].kind == NODE_APPLY && term_words(t, (term_id)f)[0] == fn;
}

/* --- products --- */

/* exp(a) exp(b) ... = exp(a + b + ...): replaces them among n factors; returns how many remain. */
static int
merge_exponentials(struct terms *t, int64_t *factor, int n)
{
	int found = 0, kept = 0;
	term_id sum = poly_constant(t, 0, 1);

	for (int i = 0; i < n; i++)
		found += factor_applies(t, factor[i], FN_exp);
	if (found < 2)
		return n;
	for (int i = 0; i < n; i++)
		if (factor_applies(t, factor[i], FN_exp))
			sum = poly_add(t, sum, (term_id)term_words(t, (term_id)factor[i])[1]);
		else
			factor[kept++] = factor[i];
	if (!sum)
		return -1;
	if (poly_is_integer(t, sum, 0))
		return kept;
	factor[kept++] = poly_factor(t, poly_apply_plain(t, FN_exp, &sum, 1));
	return kept;
}

/* Sizes are not 0; of other factors that is assumed, and that they are finite. */
static void
assume_nonzero(struct terms *t, int64_t factor)
{
	if (t->node.at[factor].kind != NODE_VALUE ||
		t->var.at[term_words(t, (term_id)factor)[0]].low < 1)
		t->assumes |= RULE_NONZERO | RULE_FINITE;
}

/* The factor x of a factor fn(x); 0: it is not of this kind. */
static int64_t
argument(const struct terms *t, int64_t f, int fn)
{
	return factor_applies(t, f, fn) ? poly_factor(t, (term_id)term_words(t, (term_id)f)[1]) : 0;
}

/* The factor 1 / f. */
static int64_t
inverse(struct terms *t, int64_t f)
{
	const term_id p = poly_of_factor(t, (term_id)f);

	return poly_factor(t, poly_apply_plain(t, APPLY_RECIPROCAL, &p, 1));
}

/* sqrt(x) sqrt(x) = x, sqrt(x) / x = 1 / sqrt(x), x / sqrt(x) = sqrt(x), and 1 / (sqrt(x) sqrt(x)) = 1 / x, where x is
 * one factor: the product of two factors; 0: it is none of these. */
static int64_t
product_of_roots(struct terms *t, int64_t f, int64_t g)
{
	const int64_t x = argument(t, f, FN_sqrt), root = argument(t, f, APPLY_RECIPROCAL),
		      y = root ? argument(t, root, FN_sqrt) : 0;

	if (f == g && (x || y)) {
		t->assumes |= RULE_POSITIVE;
		return x ? x : inverse(t, y);
	}
	if (!(x && argument(t, g, APPLY_RECIPROCAL) == x) && !(y && g == y))
		return 0;
	assume_nonzero(t, x ? x : y);
	return x ? inverse(t, f) : root;
}

/* Are both factors of the form [e >= 0], and does the second imply the first? */
static bool
is_implied(struct terms *t, int64_t factor, int64_t by)
{
	int64_t k;

	if (t->node.at[factor].kind != NODE_AT_LEAST || t->node.at[by].kind != NODE_AT_LEAST)
		return false;
	const term_id more = linear_add(t, (term_id)term_words(t, (term_id)factor)[0],
		(term_id)term_words(t, (term_id)by)[0], -1);
	if (!more || linear_rest(t, more) < 0)
		return false;
	for (int i = 0; i < linear_nvars(t, more); i++) {
		const int32_t v = linear_var_at(t, more, i, &k);
		if (k < 0 || !var_has_low(t, v))
			return false;
	}
	return true;
}

/* f (1 / f) = 1; [c] [c] = [c], and [c] [d] = [c] where c implies d; sign(x) |x| = x where that is one factor. */
static int
cancel_factors(struct terms *t, int64_t *factor, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			term_id inner;
			bool drop_i = false;
			int64_t other = 0;
			if (i == j)
				continue;
			if (argument(t, factor[i], APPLY_RECIPROCAL) == factor[j]) {
				drop_i = true;
				assume_nonzero(t, factor[j]);
			} else if (factor[i] == factor[j] && t->node.at[factor[i]].boolean) {
				other = factor[i];
				drop_i = true;
			} else if (is_implied(t, factor[i], factor[j])) {
				other = factor[j];
				drop_i = true;
			} else if ((other = product_of_roots(t, factor[i], factor[j]))) {
				drop_i = true;
			} else if (factor_applies(t, factor[i], FN_sign) &&
				   factor_applies(t, factor[j], FN_abs)) {
				inner = (term_id)term_words(t, (term_id)factor[i])[1];
				other = poly_factor(t, inner);
				drop_i = other && inner == term_words(t, (term_id)factor[j])[1];
			} else if (factor[i] == factor[j] && factor_applies(t, factor[i], FN_abs)) {
				inner = (term_id)term_words(t, (term_id)factor[i])[1];
				if (poly_factor(t, inner)) {
					factor[i] = factor[j] = poly_factor(t, inner);
					continue;
				}
			}
			if (!drop_i)
				continue;
			const int high = i > j ? i : j, low = i > j ? j : i;
			factor[high] = factor[--n];
			if (other)
				factor[low] = other;
			else
				factor[low] = factor[--n];
			i = -1;
			break;
		}
	return n;
}

term_id
monomial_product(struct terms *t, term_id a, term_id b)
{
	int64_t factor[64];
	int n = 0;

	if (t->node.at[a].n == 1)
		return b;
	if (t->node.at[b].n == 1)
		return a;
	const int bounda = (int)term_words(t, a)[0], boundb = (int)term_words(t, b)[0];
	for (int i = 0; i < bounda; i++)
		for (int j = 0; j < boundb; j++)
			if (term_words(t, a)[1 + 2 * i] == term_words(t, b)[1 + 2 * j]) {
				b = monomial_fresh(t, b);
				if (!b)
					return 0;
				i = bounda;
				break;
			}
	const int na = t->node.at[a].n, nb = t->node.at[b].n;
	if (na + nb > 60)
		return term_fail(t, "a product of too many factors");
	for (int i = 1 + 2 * bounda; i < na; i++)
		factor[n++] = term_words(t, a)[i];
	for (int i = 1 + 2 * boundb; i < nb; i++)
		factor[n++] = term_words(t, b)[i];
	n = cancel_factors(t, factor, n);
	n = merge_exponentials(t, factor, n);
	if (n < 0)
		return 0;
	sort_int64(factor, (size_t)n);
	const int64_t mark = t->stack.n;
	TERM_PUSH(t, bounda + boundb);
	for (int i = 1; i <= 2 * bounda; i++)
		TERM_PUSH(t, term_words(t, a)[i]);
	for (int i = 1; i <= 2 * boundb; i++)
		TERM_PUSH(t, term_words(t, b)[i]);
	for (int i = 0; i < n; i++)
		TERM_PUSH(t, factor[i]);
	return term_make(t, NODE_MONOMIAL, mark, false);
}

/* --- 1 / p --- */

bool
monomial_has(const struct terms *t, term_id m, int64_t factor)
{
	const int64_t *w = term_words(t, m);

	for (int i = 1 + 2 * (int)w[0]; i < t->node.at[m].n; i++)
		if (w[i] == factor)
			return true;
	return false;
}

bool
monomial_binds(const struct terms *t, term_id m, term_id x)
{
	const int64_t *w = term_words(t, m);

	for (int i = 0; i < w[0]; i++)
		if (term_uses(t, x, (int32_t)w[1 + 2 * i]))
			return true;
	return false;
}

static term_id reciprocal(struct terms *t, term_id p);

/* The monomial without one occurrence of a factor. */
term_id
monomial_without(struct terms *t, term_id m, int64_t factor)
{
	const int64_t mark = t->stack.n;
	bool found = false;

	for (int i = 0; i < t->node.at[m].n; i++) {
		const int64_t w = term_words(t, m)[i];
		if (i > 2 * term_words(t, m)[0] && w == factor && !found)
			found = true;
		else
			TERM_PUSH(t, w);
	}
	return term_make(t, NODE_MONOMIAL, mark, false);
}

/* The polynomial with each monomial replaced by f of it. */
term_id
poly_map(struct terms *t, term_id p, term_id (*f)(struct terms *, term_id, int64_t), int64_t data)
{
	term_id sum = poly_constant(t, 0, 1);

	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const int64_t n = term_words(t, p)[i + 1], d = term_words(t, p)[i + 2];
		const term_id m = f(t, (term_id)term_words(t, p)[i], data);
		const int64_t mark = t->stack.n;
		if (!m)
			return 0;
		TERM_PUSH(t, m);
		TERM_PUSH(t, n);
		TERM_PUSH(t, d);
		sum = poly_add(t, sum, term_make(t, NODE_POLYNOMIAL, mark, false));
	}
	return sum;
}

/* The exponent of the exponential that is a factor of the monomial; the polynomial 0 if there is
 * none. */
static term_id
exponent(struct terms *t, term_id m)
{
	for (int i = 1 + 2 * (int)term_words(t, m)[0]; i < t->node.at[m].n; i++) {
		const int64_t f = term_words(t, m)[i];
		if (factor_applies(t, f, FN_exp))
			return (term_id)term_words(t, (term_id)f)[1];
	}
	return poly_constant(t, 0, 1);
}

/* The monomial divided by exp(less): exp(a + c) / exp(c) = exp(a). */
static term_id
monomial_shift(struct terms *t, term_id m, int64_t less)
{
	const term_id e = exponent(t, m), rest = poly_sub(t, e, (term_id)less);
	term_id f = 0;

	for (int i = 1 + 2 * (int)term_words(t, m)[0]; i < t->node.at[m].n; i++)
		if (factor_applies(t, term_words(t, m)[i], FN_exp))
			f = (term_id)term_words(t, m)[i];
	m = f ? monomial_without(t, m, f) : m;
	if (!rest || poly_is_integer(t, rest, 0))
		return rest ? m : 0;
	return monomial_product(t, m, poly_single(t, poly_apply_plain(t, FN_exp, &rest, 1)));
}

/* The terms that all exponents have in common, without bound variables. */
static term_id
shared_exponent(struct terms *t, term_id p)
{
	const term_id first = exponent(t, (term_id)term_words(t, p)[0]);
	term_id shared = poly_constant(t, 0, 1);

	for (int k = 0; k < t->node.at[first].n; k += 3) {
		const int64_t m = term_words(t, first)[k], n = term_words(t, first)[k + 1],
			      d = term_words(t, first)[k + 2];
		bool all = true;
		for (int i = 0; all && i < t->node.at[p].n; i += 3) {
			const term_id term = (term_id)term_words(t, p)[i], e = exponent(t, term);
			bool has = false;
			for (int j = 0; j < t->node.at[e].n; j += 3)
				has = has ||
				      (term_words(t, e)[j] == m && term_words(t, e)[j + 1] == n &&
					      term_words(t, e)[j + 2] == d);
			all = has && !monomial_binds(t, term, (term_id)m);
		}
		const int64_t mark = t->stack.n;
		if (!all)
			continue;
		TERM_PUSH(t, m);
		TERM_PUSH(t, n);
		TERM_PUSH(t, d);
		shared = poly_add(t, shared, term_make(t, NODE_POLYNOMIAL, mark, false));
	}
	return shared;
}

/* 1 / f for a single factor f. */
static term_id
factor_reciprocal(struct terms *t, int64_t f)
{
	term_id arg;

	if (factor_applies(t, f, APPLY_RECIPROCAL))
		return (term_id)term_words(t, (term_id)f)[1];
	if (factor_applies(t, f, FN_exp)) {
		arg = poly_scale(t, (term_id)term_words(t, (term_id)f)[1], -1, 1);
		return poly_apply_plain(t, FN_exp, &arg, 1);
	}
	arg = poly_of_factor(t, (term_id)f);
	return poly_apply_plain(t, APPLY_RECIPROCAL, &arg, 1);
}

static term_id
reciprocal(struct terms *t, term_id p)
{
	term_id out = poly_constant(t, 1, 1);
	int64_t n, d;

	if (!p)
		return 0;
	if (poly_is_constant(t, p, &n, &d))
		return n ? poly_constant(t, n < 0 ? -d : d, n < 0 ? -n : n)
			 : poly_apply_plain(t, APPLY_RECIPROCAL, &p, 1);
	const term_id first = (term_id)term_words(t, p)[0];
	for (int i = 1 + 2 * (int)term_words(t, first)[0]; i < t->node.at[first].n; i++) {
		const int64_t f = term_words(t, first)[i];
		bool all = !factor_applies(t, f, FN_exp);
		for (int k = 0; all && k < t->node.at[p].n; k += 3) {
			const term_id m = (term_id)term_words(t, p)[k];
			all = monomial_has(t, m, f) && !monomial_binds(t, m, (term_id)f);
		}
		if (!all)
			continue;
		out = poly_mul(t, out, factor_reciprocal(t, f));
		p = poly_map(t, p, monomial_without, f);
		return p ? poly_mul(t, out, reciprocal(t, p)) : 0;
	}
	term_id shared = shared_exponent(t, p);
	if (!poly_is_integer(t, shared, 0)) {
		const term_id less = shared;
		shared = poly_scale(t, shared, -1, 1);
		out = poly_mul(t, out, poly_apply_plain(t, FN_exp, &shared, 1));
		p = poly_map(t, p, monomial_shift, less);
		return p ? poly_mul(t, out, reciprocal(t, p)) : 0;
	}
	if (poly_is_constant(t, p, &n, &d) || !p)
		return poly_mul(t, out, reciprocal(t, p));
	/* The first term gets the coefficient 1, so that 1 / 2x and 0.5 / x are equal. */
	n = term_words(t, p)[1];
	d = term_words(t, p)[2];
	p = poly_scale(t, p, n < 0 ? -d : d, n < 0 ? -n : n);
	out = poly_scale(t, out, n < 0 ? -d : d, n < 0 ? -n : n);
	return poly_mul(t, out, poly_apply_plain(t, APPLY_RECIPROCAL, &p, 1));
}

/* --- applications --- */

/* log of a product, for positive factors. */
static term_id
logarithm(struct terms *t, term_id x)
{
	const term_id m = poly_single(t, x);
	term_id sum = poly_constant(t, 0, 1), arg;

	if (poly_is_integer(t, x, 1))
		return sum;
	if (!m || term_words(t,
			  m)[0]) { /* log of the sum of exp(a + c) = c + log of the sum of exp(a) */
		const term_id shared = t->node.at[x].n ? shared_exponent(t, x) : sum;
		return poly_is_integer(t, shared, 0)
			       ? poly_apply_plain(t, FN_log, &x, 1)
			       : poly_add(t, shared,
					 logarithm(t, poly_map(t, x, monomial_shift, shared)));
	}
	for (int i = 1; i < t->node.at[m].n; i++) {
		const int64_t f = term_words(t, m)[i];
		if (factor_applies(t, f, FN_exp)) {
			sum = poly_add(t, sum, (term_id)term_words(t, (term_id)f)[1]);
			continue;
		}
		const bool below = factor_applies(t, f, APPLY_RECIPROCAL),
			   half = factor_applies(t, f, FN_sqrt);
		arg = below || half ? (term_id)term_words(t, (term_id)f)[1]
				    : poly_of_factor(t, (term_id)f);
		sum = poly_add(t, sum,
			poly_scale(t,
				below || half ? logarithm(t, arg)
					      : poly_apply_plain(t, FN_log, &arg, 1),
				below ? -1 : 1, 1 + half));
		if (t->node.at[m].n > 2 || half)
			t->assumes |= RULE_POSITIVE;
	}
	return sum;
}

/* exp(n log(x) + y) = x^n exp(y) */
term_id
poly_exponential(struct terms *t, term_id x)
{
	term_id out = poly_constant(t, 1, 1), rest = poly_constant(t, 0, 1), arg;

	for (int i = 0; rest && out && i < t->node.at[x].n; i += 3) {
		const int64_t *w = term_words(t, x) + i, n = w[1], d = w[2], mark = t->stack.n;
		poly_push(t, w[0], 1, 1);
		const term_id one = term_make(t, NODE_POLYNOMIAL, mark, false);
		if (d != 1 || n > MOST_POWER || n < -MOST_POWER ||
			poly_applied(t, one, &arg) != FN_log) {
			rest = poly_add(t, rest, poly_scale(t, one, n, d));
			continue;
		}
		t->assumes |= RULE_POSITIVE;
		for (int64_t k = 0; k < (n < 0 ? -n : n); k++)
			out = poly_mul(t, out, n < 0 ? reciprocal(t, arg) : arg);
	}
	if (!rest || !out || poly_is_integer(t, rest, 0))
		return rest ? out : 0;
	return poly_mul(t, out, poly_apply_plain(t, FN_exp, &rest, 1));
}

static term_id
raised(struct terms *t, term_id x, term_id power)
{
	const term_id arg[2] = {x, power};
	int64_t n, d;
	term_id p = poly_constant(t, 1, 1);

	if (!poly_is_constant(t, power, &n, &d)) { /* exp(y log x) */
		t->assumes |= RULE_POSITIVE;
		return poly_exponential(t, poly_mul(t, power, logarithm(t, x)));
	}
	if (n > MOST_POWER || n < -MOST_POWER || d > 2)
		return poly_apply_plain(t, FN_pow, arg, 2);
	if (d == 2) {
		x = poly_apply(t, FN_sqrt, &x, 1, APPLY_REAL);
		t->assumes |= RULE_POSITIVE;
	}
	for (int i = 0; i < (n < 0 ? -n : n); i++)
		p = poly_mul(t, p, x);
	return n < 0 ? reciprocal(t, p) : p;
}

static term_id root(struct terms *t, term_id x);

/* The square root of a factor. */
static term_id
factor_root(struct terms *t, int64_t f)
{
	term_id x = poly_of_factor(t, (term_id)f);

	if (factor_applies(t, f, APPLY_RECIPROCAL))
		return reciprocal(t, root(t, (term_id)term_words(t, (term_id)f)[1]));
	if (factor_applies(t, f, FN_exp))
		return poly_exponential(
			t, poly_scale(t, (term_id)term_words(t, (term_id)f)[1], 1, 2));
	return poly_apply_plain(t, FN_sqrt, &x, 1);
}

/* sqrt(x x y z) = |x| sqrt(y) sqrt(z), for positive y and z. */
static term_id
root(struct terms *t, term_id x)
{
	const term_id m = poly_single(t, x);
	term_id out = poly_constant(t, 1, 1);
	int64_t n, d;
	int parts = 0;

	if (poly_is_constant(t, x, &n, &d) && d == 1 && (n == 0 || n == 1))
		return x;
	if (!m || term_words(t, m)[0] || t->node.at[m].n < 2)
		return poly_apply_plain(t, FN_sqrt, &x, 1);
	for (int i = 1; i < t->node.at[m].n; i++, parts++) {
		const int64_t f = term_words(t, m)[i];
		const bool twice = i + 1 < t->node.at[m].n && term_words(t, m)[i + 1] == f;
		const term_id one = poly_of_factor(t, (term_id)f);
		out = poly_mul(t, out,
			twice ? poly_apply(t, FN_abs, &one, 1, APPLY_REAL) : factor_root(t, f));
		parts += !twice && parts;
		i += twice;
	}
	if (parts > 1)
		t->assumes |= RULE_POSITIVE;
	return out;
}

/* Is every number of type `from` representable in type `to`? */
static bool
is_lossless(enum ir_dtype from, enum ir_dtype to)
{
	static const unsigned digits[IR_NDTYPES] = {
		[IR_f64] = 53, [IR_f32] = 24, [IR_f16] = 11, [IR_bf16] = 8};
	const enum ir_dclass a = ir_dtype_class(from), b = ir_dtype_class(to);
	const unsigned bits = ir_dtype_bits(from) - (a == IR_INT);

	if (from == to || a == IR_BOOL)
		return true;
	if (b == IR_FLOAT && a != IR_FLOAT)
		return bits <= digits[to];
	return (a == b || (a == IR_UINT && b == IR_INT)) &&
	       ir_dtype_bytes(to) > ir_dtype_bytes(from);
}

/* Is a number of type a that is representable in b converted to `to` in the same way from both? From floating-point
 * numbers, integers are the nearest ones, from integers they wrap around. */
static bool
rounds_alike(int a, int b, int to)
{
	const bool same = (ir_dtype_class((enum ir_dtype)a) == IR_FLOAT) ==
			  (ir_dtype_class((enum ir_dtype)b) == IR_FLOAT);

	return same || ir_dtype_class((enum ir_dtype)to) == IR_FLOAT ||
	       ir_dtype_class((enum ir_dtype)to) == IR_BOOL ||
	       is_lossless((enum ir_dtype)a, (enum ir_dtype)to);
}

static bool
is_signed(int type)
{
	return type < IR_NDTYPES && (ir_dtype_class((enum ir_dtype)type) == IR_INT ||
					    ir_dtype_class((enum ir_dtype)type) == IR_FLOAT);
}

static term_id
converted(struct terms *t, int fn, term_id x)
{
	const int from = (fn - APPLY_CONVERT) / 32, to = (fn - APPLY_CONVERT) % 32;
	term_id inner;
	const int before = poly_applied(t, x, &inner);
	int64_t n, d;

	if (from == to && from < IR_NDTYPES)
		return x;
	/* These have all types, and negative ones all that are signed. */
	if (poly_is_constant(t, x, &n, &d) && d == 1 &&
		(n == 0 || n == 1 ||
			(to < IR_NDTYPES && ir_dtype_class((enum ir_dtype)to) != IR_BOOL && n > 0 &&
				n <= 127) ||
			(n < 0 && n >= -127 && is_signed(from) && is_signed(to))))
		return x;
	if (!t->bitwise && !poly_has_elements(t, x) && (from == IR_i32 || from == IR_i64) &&
		(to == IR_f32 || to == IR_f64))
		return x; /* a position or size, rounded */
	if (before >= APPLY_CONVERT) {
		const int first = (before - APPLY_CONVERT) / 32;
		if (first < IR_NDTYPES && from < IR_NDTYPES && rounds_alike(first, from, to) &&
			is_lossless((enum ir_dtype)first, (enum ir_dtype)from))
			return converted(t, APPLY_CONVERT + 32 * first + to, inner);
	}
	return poly_apply_plain(t, fn, &x, 1);
}

/* Bitwise, -0 differs from 0: it is represented as neg(0). */
static bool
is_minus_zero(const struct terms *t, term_id p)
{
	term_id inner;

	return poly_applied(t, p, &inner) == FN_neg && poly_is_integer(t, inner, 0);
}

static bool
is_never_minus_zero(const struct terms *t, term_id p)
{
	const term_id f = poly_factor(t, p);
	term_id first;

	switch (poly_applied(t, p, &first)) {
	case FN_exp:
	case FN_abs:
	case FN_sigmoid:
	case FN_softplus: return true;
	case FN_mul: return term_words(t, f)[2] == first;
	case FN_maximum:
		return poly_is_integer(t, (term_id)term_words(t, f)[t->node.at[f].n - 1], 0);
	default: return false;
	}
}

/* x if adding y leaves x unchanged bit by bit; otherwise 0. */
static term_id
plus_nothing(struct terms *t, term_id x, term_id y, enum apply_type type)
{
	const bool nothing =
		is_minus_zero(t, y) ||
		(poly_is_integer(t, y, 0) &&
			(type == APPLY_INTEGER || type == APPLY_WIDE || is_never_minus_zero(t, x)));

	return nothing ? x : 0;
}

/* x if y is the neutral element of fn, for bits and truth values; otherwise 0. */
static term_id
without_neutral(struct terms *t, int fn, term_id x, term_id y, enum apply_type type)
{
	const int neutral = fn != FN_and ? 0 : type == APPLY_BOOL ? 1 : -1;

	return poly_is_integer(t, y, neutral) ? x : 0;
}

/* Laws that hold bit by bit, too; 0: none applies. */
static term_id
apply_exactly(struct terms *t, int fn, const term_id *arg, enum apply_type type)
{
	int64_t n, d;
	term_id inner;

	switch (fn) {
	case FN_stop: return arg[0];
	case FN_add:
		inner = plus_nothing(t, arg[0], arg[1], type);
		return inner ? inner : plus_nothing(t, arg[1], arg[0], type);
	case FN_sub:
		if (is_minus_zero(t, arg[1]) && is_never_minus_zero(t, arg[0]))
			return arg[0];
		return poly_is_integer(t, arg[1], 0) ? arg[0] : 0;
	case FN_mul:
		if (poly_is_integer(t, arg[0], 1))
			return arg[1];
		return poly_is_integer(t, arg[1], 1) ? arg[0] : 0;
	case FN_pow:
	case FN_div: return poly_is_integer(t, arg[1], 1) ? arg[0] : 0;
	case FN_neg: return poly_applied(t, arg[0], &inner) == FN_neg ? inner : 0;
	case FN_maximum:
	case FN_minimum: return poly_extreme(t, fn, arg[0], arg[1], type);
	case FN_and:
	case FN_or:
		if (arg[0] == arg[1])
			return arg[0];
		for (int k = 0; k < 2; k++)
			if (poly_is_integer(t, arg[k],
				    fn == FN_and         ? 0
				    : type == APPLY_BOOL ? 1
							 : -1))
				return arg[k];
		/* fall through */
	case FN_xor:
		if (fn == FN_xor && arg[0] == arg[1])
			return poly_constant(t, 0, 1);
		for (int k = 0; k < 2 && fn == FN_xor; k++) {
			if (type != APPLY_BOOL && poly_is_integer(t, arg[k], -1))
				return poly_apply(t, FN_not, &arg[1 - k], 1, type);
			const term_id f = poly_factor(t, arg[k]);
			for (int i = 1; f && factor_applies(t, f, fn) && i < 3; i++)
				if (term_words(t, f)[i] == arg[1 - k])
					return (term_id)term_words(t, f)[3 - i];
		}
		inner = without_neutral(t, fn, arg[0], arg[1], type);
		return inner ? inner : without_neutral(t, fn, arg[1], arg[0], type);
	case FN_not: {
		const term_id f = poly_factor(t, arg[0]);
		const int of = poly_applied(t, arg[0], &inner);
		if (t->bitwise && (of == FN_eq || of == FN_ne)) {
			const term_id same[2] = {inner, (term_id)term_words(t, f)[2]};
			return poly_apply_plain(t, of == FN_eq ? FN_ne : FN_eq, same, 2);
		}
		return of == FN_not ? inner : 0;
	}
	case FN_eq:
	case FN_ne:
		for (int k = 0; k < 2 && type == APPLY_BOOL; k++)
			if (poly_is_integer(t, arg[k], fn == FN_eq))
				return arg[1 - k];
		return 0;
	case FN_shift_left:
	case FN_shift_right:
	case FN_shift_right_logical:
		return poly_is_integer(t, arg[0], 0) || poly_is_integer(t, arg[1], 0) ? arg[0] : 0;
	case FN_rem:
		if (poly_is_integer(t, arg[1], 0) && (type == APPLY_INTEGER || type == APPLY_WIDE))
			return arg[0];
		return poly_applied(t, arg[0], &inner) == fn &&
				       term_words(t, poly_factor(t, arg[0]))[2] == arg[1]
			       ? arg[0]
			       : 0;
	case FN_select:
		if (arg[1] == arg[2])
			return arg[1];
		if (poly_is_constant(t, arg[0], &n, &d))
			return arg[n ? 1 : 2];
		return 0;
	case FN_gt:
	case FN_ge: {
		if (!t->bitwise)
			return 0;
		const term_id swapped[2] = {arg[1], arg[0]};
		return poly_apply_plain(t, fn == FN_gt ? FN_lt : FN_le, swapped, 2);
	}
	default:
		if (fn >= APPLY_CONVERT)
			return converted(t, fn, arg[0]);
		return law_of(fn) & LAW_IDEMPOTENT && poly_applied(t, arg[0], &inner) == fn ? arg[0]
											    : 0;
	}
}

term_id
poly_negated(struct terms *t, term_id p)
{
	return poly_sub(t, poly_constant(t, 1, 1), p);
}

/* Functions of truth values, as polynomials in 0 and 1. */
term_id
apply_logic(struct terms *t, int fn, term_id p, term_id q)
{
	switch (fn) {
	case FN_and: return poly_mul(t, p, q);
	case FN_or: return poly_sub(t, poly_add(t, p, q), poly_mul(t, p, q));
	case FN_xor: return poly_sub(t, poly_add(t, p, q), poly_scale(t, poly_mul(t, p, q), 2, 1));
	default: return poly_negated(t, p);
	}
}

static term_id
remains(struct terms *t, term_id x, term_id y, enum apply_type type)
{
	if (poly_is_integer(t, y, 1) && (type == APPLY_INTEGER || type == APPLY_WIDE))
		return poly_constant(t, 0, 1);
	if (type == APPLY_REAL && poly_is_negative(t, x))
		return poly_scale(t, remains(t, poly_scale(t, x, -1, 1), y, type), -1, 1);
	const term_id arg[2] = {x, y};

	if (x != y)
		return poly_apply_plain(t, FN_rem, arg, 2);
	t->assumes |= RULE_NONZERO | RULE_FINITE;
	return poly_constant(t, 0, 1);
}

static term_id
apply_law(struct terms *t, int fn, const term_id *arg, int n, enum apply_type type)
{
	const term_id one = poly_constant(t, 1, 1), x = arg[0], y = n > 1 ? arg[1] : 0;
	int64_t num, den;
	term_id p;

	switch (fn) {
	case FN_add: return poly_add(t, x, y);
	case FN_sub: return poly_sub(t, x, y);
	case FN_mul: return poly_mul(t, x, y);
	case FN_neg: return poly_scale(t, x, -1, 1);
	case FN_div:
		if (poly_is_integer(t, x, 0)) {
			t->assumes |= RULE_NONZERO | RULE_FINITE;
			return x;
		}
		return type == APPLY_REAL ? poly_mul(t, x, reciprocal(t, y))
					  : poly_apply_plain(t, fn, arg, n);
	case FN_select:
		if ((p = poly_selected(t, x, y, arg[2], type)))
			return p;
		return poly_add(t, poly_mul(t, x, y), poly_mul(t, poly_negated(t, x), arg[2]));
	case FN_ne: return poly_negated(t, poly_compared(t, FN_eq, x, y, type));
	case FN_eq:
	case FN_lt: return poly_compared(t, fn, x, y, type);
	case FN_gt: return poly_compared(t, FN_lt, y, x, type);
	case FN_le:
		apply_ordered(t, type);
		return poly_negated(t, poly_compared(t, FN_lt, y, x, type));
	case FN_ge:
		apply_ordered(t, type);
		return poly_negated(t, poly_compared(t, FN_lt, x, y, type));
	case FN_and:
	case FN_or:
	case FN_xor:
	case FN_not:
		return type == APPLY_BOOL ? apply_logic(t, fn, x, y)
					  : poly_apply_plain(t, fn, arg, n);
	case FN_exp: return poly_exponential(t, x);
	case FN_log: return logarithm(t, x);
	case FN_sqrt: return root(t, x);
	case FN_rsqrt: return reciprocal(t, root(t, x));
	case FN_pow: return type == APPLY_REAL ? raised(t, x, y) : poly_apply_plain(t, fn, arg, n);
	case FN_sigmoid:
		p = poly_scale(t, x, -1, 1);
		return reciprocal(t, poly_add(t, one, poly_exponential(t, p)));
	case FN_softplus: return logarithm(t, poly_add(t, one, poly_exponential(t, x)));
	case FN_log1p: return logarithm(t, poly_add(t, one, x));
	case FN_expm1: return poly_sub(t, poly_exponential(t, x), one);
	case FN_rem: return remains(t, x, y, type);
	case FN_erfc: return poly_negated(t, apply_law(t, FN_erf, arg, n, type));
	default: break;
	}
	if (fn == FN_abs && (type == APPLY_REAL || poly_applied(t, x, &p) == FN_maximum) &&
		poly_is_not_negative(t, x, type))
		return x;
	if (type == APPLY_REAL && law_of(fn) & LAW_EVEN && poly_applied(t, x, &p) == FN_abs)
		return poly_apply(t, fn, &p, 1, type);
	if (poly_is_constant(t, x, &num, &den) && poly_is_exact(t, x, type)) {
		if (den == 1 && law_of(fn) & LAW_WHOLE)
			return x;
		if (fn == FN_abs)
			return num < 0 ? poly_scale(t, x, -1, 1) : x;
		if (fn == FN_sign)
			return poly_constant(t, num > 0 ? 1 : num < 0 ? -1 : 0, 1);
	}
	/* Unsigned integers have no negative. */
	if (type == APPLY_REAL && law_of(fn) & (LAW_ODD | LAW_EVEN)) {
		if (poly_is_integer(t, x, 0) && (law_of(fn) & LAW_ODD))
			return x;
		if (poly_is_negative(t, x)) {
			p = poly_scale(t, x, -1, 1);
			p = poly_apply(t, fn, &p, 1, type);
			return law_of(fn) & LAW_ODD ? poly_scale(t, p, -1, 1) : p;
		}
	}
	return poly_apply_plain(t, fn, arg, n);
}

term_id
poly_apply(struct terms *t, int fn, const term_id *arg, int n, enum apply_type type)
{
	for (int i = 0; i < n; i++)
		if (!arg[i])
			return 0;
	const term_id p = apply_exactly(t, fn, arg, type);
	if (p || t->failed)
		return p;
	return t->bitwise ? poly_apply_plain(t, fn, arg, n) : apply_law(t, fn, arg, n, type);
}
