/*
 * Laws of what is larger: maxima and minima of elements and over positions, comparisons, and choices between two values
 * that were compared. Numbers are ordered if they are real; integers wrap around, and floating-point numbers round: what
 * is proven larger may be equal then.
 */
#include "passes/rules/laws.h"
#include "passes/rules/verify.h"

#include <math.h>
#include <string.h>

/* Pushes the arguments of an extreme, each once, after `mark` on the stack. */
static void
push_extreme(struct terms *t, int fn, term_id p, int64_t mark)
{
	const term_id f = poly_factor(t, p);

	if (f && factor_applies(t, f, fn)) {
		for (int i = 1; i < t->node.at[f].n; i++)
			push_extreme(t, fn, (term_id)term_words(t, f)[i], mark);
		return;
	}
	int64_t n = mark;
	for (int64_t i = mark; i < t->stack.n; i++)
		if (t->stack.at[i] != p)
			t->stack.at[n++] = t->stack.at[i];
	t->stack.n = n;
	TERM_PUSH(t, p);
}

/* The terms that p and q have in common. */
static term_id
common_terms(struct terms *t, term_id p, term_id q)
{
	const int64_t mark = t->stack.n;

	for (int i = 0, j = 0; i < t->node.at[p].n && j < t->node.at[q].n;) {
		const int64_t *a = term_words(t, p) + i, *b = term_words(t, q) + j;
		if (a[0] == b[0] && a[1] == b[1] && a[2] == b[2]) {
			const int64_t w[3] = {a[0], a[1], a[2]};
			VEC_PUSH_ALL(NULL, &t->stack, w, 3);
		}
		const bool both = a[0] == b[0];
		i += both || a[0] < b[0] ? 3 : 0;
		j += both || b[0] < a[0] ? 3 : 0;
	}
	return term_make(t, NODE_POLYNOMIAL, mark, false);
}

bool
poly_has_elements(const struct terms *t, term_id p)
{
	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const term_id m = (term_id)term_words(t, p)[i];
		for (int f = 1; f < t->node.at[m].n; f++)
			if (t->node.at[term_words(t, m)[f]].kind != NODE_VALUE)
				return true;
	}
	return false;
}

/* The sign of a polynomial in sizes and positions only: 1: never negative, -1: never positive, 0: undecided. */
static int
size_sign(struct terms *t, term_id p)
{
	int64_t least[2] = {0, 0};
	bool open[2] = {false, false};

	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i, *m = term_words(t, (term_id)w[0]);
		int64_t low = 1;
		if (m[0] || w[2] != 1)
			return 0;
		for (int f = 1; f < t->node.at[w[0]].n; f++) {
			if (t->node.at[m[f]].kind != NODE_VALUE)
				return 0;
			const struct var *v = &t->var.at[term_words(t, (term_id)m[f])[0]];
			if (v->kind != VAR_SIZE && v->kind != VAR_NOT_NEGATIVE &&
				v->kind != VAR_INDEX && v->kind != VAR_BOUND)
				return 0;
			low *= v->low;
		}
		const bool constant = t->node.at[w[0]].n == 1;
		for (int k = 0; k < 2; k++) { /* of p and of -p */
			const int64_t factor = k ? -w[1] : w[1];
			open[k] = open[k] || (factor < 0 && !constant);
			least[k] += factor * low;
		}
	}
	return !open[0] && least[0] >= 0 ? 1 : !open[1] && least[1] >= 0 ? -1 : 0;
}

bool
poly_is_exact(const struct terms *t, term_id p, enum apply_type type)
{
	const int64_t always = 127, wide = INT32_MAX; /* of all types; of APPLY_WIDE */
	const term_id f = poly_factor(t, p);
	int64_t n, d;

	if (type == APPLY_REAL)
		return true;
	if (poly_is_constant(t, p, &n, &d))
		return d == 1 &&
		       (type == APPLY_WIDE ? n >= -wide && n <= wide : n >= 0 && n <= always);
	return type == APPLY_WIDE || f;
}

/* Are both constants whose order is known? */
static bool
are_constants(const struct terms *t, term_id p, term_id q, enum apply_type type, int64_t n[2],
	int64_t d[2])
{
	return poly_is_constant(t, p, &n[0], &d[0]) && poly_is_constant(t, q, &n[1], &d[1]) &&
	       poly_is_exact(t, p, type) && poly_is_exact(t, q, type);
}

/* Is it an infinite constant? Its sign; 0: it is not. */
static int
is_infinite(const struct terms *t, term_id p)
{
	const term_id f = poly_factor(t, p);
	double x;

	if (!f || !factor_applies(t, f, APPLY_OPAQUE))
		return 0;
	memcpy(&x, term_words(t, f) + 1, sizeof x);
	return x == INFINITY ? 1 : x == -INFINITY ? -1 : 0;
}

static bool
has_argument(const struct terms *t, term_id p, int fn, term_id x)
{
	const term_id f = poly_factor(t, p);

	if (p == x)
		return true;
	for (int i = 1; f && factor_applies(t, f, fn) && i < t->node.at[f].n; i++)
		if (term_words(t, f)[i] == x)
			return true;
	return false;
}

/* max(x, min(x, y)) = x: drops arguments that contain another one as an argument. */
static int
absorb(struct terms *t, int fn, term_id *arg, int n, bool ordered)
{
	const int dual = fn == FN_maximum ? FN_minimum : FN_maximum;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			const term_id f = poly_factor(t, arg[i]);
			bool all = i != j;
			if (i == j)
				continue;
			const int sign = ordered ? size_sign(t, poly_sub(t, arg[i], arg[j])) : 0;
			if (sign && (sign > 0) != (fn == FN_maximum)) {
				arg[i] = arg[--n];
				i = -1;
				break;
			}
			/* All arguments of arg[j], or arg[j] itself, must be arguments of
			 * arg[i]. */
			if (f && factor_applies(t, f, dual)) {
				const term_id g = poly_factor(t, arg[j]);
				const bool many = g && factor_applies(t, g, dual);
				for (int k = 1; many && all && k < t->node.at[g].n; k++)
					all = has_argument(
						t, arg[i], dual, (term_id)term_words(t, g)[k]);
				if (!many)
					all = has_argument(t, arg[i], dual, arg[j]);
			} else {
				all = false;
			}
			if (!all)
				continue;
			arg[i] = arg[--n];
			t->assumes |= RULE_FINITE; /* the dropped argument could be a NaN */
			i = -1;
			break;
		}
	return n;
}

/* Is it a product in which each factor is twice? */
static bool
is_square(const struct terms *t, term_id p)
{
	const term_id m = poly_single(t, p);
	const int n = m ? t->node.at[m].n : 0;

	for (int i = 1; i < n; i += 2)
		if (term_words(t, m)[0] || n % 2 == 0 ||
			term_words(t, m)[i] != term_words(t, m)[i + 1])
			return false;
	return n > 1;
}

/* Is it a NaN or at least 0? Arithmetic of integers wraps around, as |x| of the least one does. */
bool
poly_is_not_negative(const struct terms *t, term_id p, enum apply_type type)
{
	const term_id f = poly_factor(t, p);
	int64_t n, d;
	term_id inner;
	const int fn = poly_applied(t, p, &inner);

	if (poly_is_constant(t, p, &n, &d))
		return n >= 0 && poly_is_exact(t, p, type);
	for (int i = 1; fn == FN_maximum && i < t->node.at[f].n; i++)
		if (poly_is_not_negative(t, (term_id)term_words(t, f)[i], type))
			return true;
	return type == APPLY_REAL &&
	       (is_square(t, p) || fn == FN_exp || fn == FN_abs || fn == FN_sqrt);
}

/* A size, or a number that is not negative, that is a factor of all terms of p, and is summed over in none; 0: there is
 * none. */
static int64_t
scale_of(struct terms *t, term_id p)
{
	const term_id first = t->node.at[p].n ? (term_id)term_words(t, p)[0] : 0;

	for (int i = 1; first && i < t->node.at[first].n; i++) {
		const int64_t f = term_words(t, first)[i];
		bool all = i > 2 * term_words(t, first)[0] && t->node.at[f].kind == NODE_VALUE &&
			   size_sign(t, poly_of_factor(t, (term_id)f)) == 1;
		for (int k = 0; all && k < t->node.at[p].n; k += 3) {
			const term_id m = (term_id)term_words(t, p)[k];
			all = monomial_has(t, m, f) && !monomial_binds(t, m, (term_id)f);
		}
		if (all)
			return f;
	}
	return 0;
}

/* f p for such a factor: where that is 0, an infinite p would not be left out of the maximum. */
static term_id
rescaled(struct terms *t, int64_t f, term_id p)
{
	if (t->var.at[term_words(t, (term_id)f)[0]].low < 1)
		t->assumes |= RULE_FINITE;
	return poly_mul(t, poly_of_factor(t, (term_id)f), p);
}

/* maximum(a + c, b + c) = maximum(a, b) + c; associative, idempotent. */
term_id
poly_extreme(struct terms *t, int fn, term_id p, term_id q, enum apply_type type)
{
	int64_t n[2], d[2];
	term_id arg[16], common = poly_constant(t, 0, 1);
	int count;

	if (p == q)
		return p;
	const int infinite = is_infinite(t, p) ? is_infinite(t, p) : is_infinite(t, q);
	const bool wins = infinite && (infinite > 0) == (fn == FN_maximum);
	if (infinite && !(wins && t->bitwise)) {
		t->assumes |= wins ? RULE_FINITE : 0; /* the dropped argument could be a NaN */
		return wins == (is_infinite(t, p) != 0) ? p : q;
	}
	if (are_constants(t, p, q, type, n, d))
		return ((__int128)n[0] * d[1] > (__int128)n[1] * d[0]) == (fn == FN_maximum) ? p
											     : q;
	for (int k = 0; k < 2 && type == APPLY_REAL && !t->bitwise; k++)
		if (poly_is_not_negative(t, k ? q : p, type) &&
			poly_is_constant(t, k ? p : q, &n[0], &d[0]) && n[0] <= 0) {
			t->assumes |= fn == FN_minimum ? RULE_FINITE : 0;
			return (fn == FN_maximum) == (k == 1) ? q : p;
		}
	if (type == APPLY_REAL && !t->bitwise && q == poly_scale(t, p, -1, 1)) {
		p = poly_apply(t, FN_abs, &p, 1, type);
		return fn == FN_maximum ? p : poly_scale(t, p, -1, 1);
	}
	const unsigned before = t->assumes;
	/* x + 1 may wrap around, and be less than x. */
	const bool ordered =
		type == APPLY_REAL ||
		(type == APPLY_WIDE && !poly_has_elements(t, p) && !poly_has_elements(t, q));
	const term_id apart = t->bitwise || !ordered ? 0 : poly_sub(t, p, q);
	const int sign = apart ? size_sign(t, apart) : 0;
	t->assumes = before;
	if (sign)
		return (sign > 0) == (fn == FN_maximum) ? p : q;
	if (type == APPLY_REAL && !t->bitwise) { /* maximum(c x, 0) = c maximum(x, 0) */
		const term_id x = t->node.at[p].n ? p : q, y = x == p ? q : p;
		const int64_t f = scale_of(t, x);
		if (f && (!t->node.at[y].n || scale_of(t, y) == f))
			return rescaled(t, f,
				poly_extreme(t, fn, poly_map(t, x, monomial_without, f),
					poly_map(t, y, monomial_without, f), type));
		common = common_terms(t, p, q);
		if (t->node.at[common].n) {
			const unsigned assumes = t->assumes;
			p = poly_sub(t, p, common);
			q = poly_sub(t, q, common);
			t->assumes = assumes | RULE_FINITE;
		}
	}
	if (fn == FN_minimum &&
		!t->bitwise) /* min(max(a, b), c) = max(min(a, c), min(b, c)): maxima outermost */
		for (int k = 0; k < 2; k++) {
			const term_id x = k ? q : p, y = k ? p : q, f = poly_factor(t, x);
			if (!f || !factor_applies(t, f, FN_maximum))
				continue;
			term_id all = 0;
			for (int i = 1; i < t->node.at[f].n; i++) {
				const term_id one =
					poly_extreme(t, fn, (term_id)term_words(t, f)[i], y, type);
				all = i == 1 ? one : poly_extreme(t, FN_maximum, all, one, type);
				if (!all)
					return 0;
			}
			return t->node.at[common].n ? poly_add(t, all, common) : all;
		}
	const int64_t mark = t->stack.n;
	push_extreme(t, fn, p, mark);
	push_extreme(t, fn, q, mark);
	count = (int)(t->stack.n - mark);
	if (count > 16) {
		t->stack.n = mark;
		return term_fail(t, "a maximum of too many values");
	}
	for (int i = 0; i < count; i++)
		arg[i] = (term_id)t->stack.at[mark + i];
	t->stack.n = mark;
	count = t->bitwise ? count : absorb(t, fn, arg, count, ordered);
	const term_id result = count == 1 ? arg[0] : poly_apply_plain(t, fn, arg, count);
	return t->node.at[common].n ? poly_add(t, result, common) : result;
}

/* --- comparisons and choices --- */

/* Is the coefficient of the first term negative? Then -p is the canonical one of p and -p. */
bool
poly_is_negative(const struct terms *t, term_id p)
{
	return t->node.at[p].n >= 3 && term_words(t, p)[1] < 0;
}

static bool
is_positive(const struct terms *t, term_id p)
{
	return t->node.at[p].n && !poly_is_negative(t, p);
}

/* p < q; for a maximum or minimum, a condition on its arguments: on all of them, or on at least
 * one. */
static term_id
less(struct terms *t, term_id p, term_id q, enum apply_type type)
{
	for (int k = 0; k < 2; k++) {
		const term_id x = k ? q : p, f = poly_factor(t, x);
		const bool max = f && factor_applies(t, f, FN_maximum);
		if (!max && !(f && factor_applies(t, f, FN_minimum)))
			continue;
		term_id all = 0;
		for (int i = 1; i < t->node.at[f].n; i++) {
			const term_id y = (term_id)term_words(t, f)[i],
				      one = poly_compared(t, FN_lt, k ? p : y, k ? y : q, type);
			all = i == 1 ? one
				     : apply_logic(t, max == (k == 1) ? FN_or : FN_and, all, one);
			if (!all)
				return 0;
		}
		t->assumes |= RULE_FINITE;
		return all;
	}
	const term_id arg[2] = {p, q};
	return poly_apply_plain(t, FN_lt, arg, 2);
}

/* A NaN is not less, equal or greater. */
void
apply_ordered(struct terms *t, enum apply_type type)
{
	if (type != APPLY_INTEGER && type != APPLY_WIDE && type != APPLY_BOOL)
		t->assumes |= RULE_FINITE;
}

term_id
poly_compared(struct terms *t, int fn, term_id p, term_id q, enum apply_type type)
{
	int64_t n[2], d[2];
	term_id inner;
	const term_id arg[2] = {p, q};

	if (are_constants(t, p, q, type, n, d)) {
		const __int128 x = (__int128)n[0] * d[1], y = (__int128)n[1] * d[0];
		return poly_constant(t, fn == FN_eq ? x == y : x < y, 1);
	}
	if (p == q) {
		apply_ordered(t, type);
		return poly_constant(t, fn == FN_eq, 1);
	}
	if (type == APPLY_BOOL && !t->bitwise)
		return fn == FN_eq ? poly_negated(t, apply_logic(t, FN_xor, p, q))
				   : poly_mul(t, poly_negated(t, p), q);
	if (type == APPLY_REAL && !t->bitwise && !is_positive(t, p) && !is_positive(t, q))
		return poly_compared(t, fn, poly_scale(t, q, -1, 1), poly_scale(t, p, -1, 1), type);
	if (type == APPLY_REAL && !t->bitwise && fn == FN_lt) {
		const bool below = poly_is_constant(t, q, &n[1], &d[1]) && n[1] <= 0 &&
				   poly_is_not_negative(t, p, type),
			   above = poly_is_constant(t, p, &n[0], &d[0]) && n[0] < 0 &&
				   poly_is_not_negative(t, q, type);
		if (below || above) { /* no NaN */
			t->assumes |= RULE_FINITE | (above && poly_applied(t, q, &inner) == FN_sqrt
								    ? RULE_POSITIVE
								    : 0);
			return poly_constant(t, above, 1);
		}
	}
	return fn == FN_lt && !t->bitwise ? less(t, p, q, type) : poly_apply_plain(t, fn, arg, 2);
}

/* The number k for which p = k q; false: there is none. */
static bool
is_multiple(struct terms *t, term_id p, term_id q, int64_t *n, int64_t *d)
{
	if (!p || !q || !t->node.at[p].n || !t->node.at[q].n)
		return false;
	*n = term_words(t, p)[1] * term_words(t, q)[2];
	*d = term_words(t, p)[2] * term_words(t, q)[1];
	if (*d < 0) {
		*n = -*n;
		*d = -*d;
	}
	return poly_scale(t, q, *n, *d) == p;
}

/* a < b ? a : b is the minimum of a and b, and so on; 0: it is not of this kind. */
term_id
poly_selected(struct terms *t, term_id p, term_id a, term_id b, enum apply_type type)
{
	const term_id no = poly_factor(t, p) ? 0 : poly_factor(t, poly_negated(t, p)),
		      f = no ? no : poly_factor(t, p);
	int64_t n = 0, d;

	if (!f || (!factor_applies(t, f, FN_lt) && !factor_applies(t, f, FN_eq)))
		return 0;
	const term_id x = (term_id)term_words(t, f)[1], y = (term_id)term_words(t, f)[2],
		      yes = no ? b : a, other = no ? a : b;
	const bool same = yes == x && other == y, swapped = yes == y && other == x;
	if (factor_applies(t, f, FN_eq))
		return same || swapped ? other : 0;
	if (!same && !swapped &&
		(type != APPLY_REAL ||
			!is_multiple(t, poly_sub(t, yes, other), poly_sub(t, x, y), &n, &d)))
		return 0;
	t->assumes |= RULE_FINITE;
	return poly_extreme(t, same || n > 0 ? FN_minimum : FN_maximum, a, b, type);
}

/* The same for maxima over v: of c p for a number c, of exp(p), and of maximum(p, q) with a q that v is not in. */
term_id
poly_reduce_monotone(struct terms *t, enum form_reduce how, term_id p, int32_t v, term_id range,
	enum apply_type type)
{
	const bool max = how == REDUCE_MAX;
	const enum form_reduce dual = max ? REDUCE_MIN : REDUCE_MAX;
	const int fn = max ? FN_maximum : FN_minimum;
	const term_id f = poly_factor(t, p);
	const int64_t scale = scale_of(t, p);
	term_id inner, rest = 0, out = 0;

	if (scale && !term_uses(t, (term_id)scale, v))
		return rescaled(t, scale,
			poly_reduce(
				t, how, poly_map(t, p, monomial_without, scale), v, range, type));
	if (poly_is_negative(t, p))
		return poly_scale(
			t, poly_reduce(t, dual, poly_scale(t, p, -1, 1), v, range, type), -1, 1);
	if (poly_applied(t, p, &inner) == FN_exp)
		return poly_exponential(t, poly_reduce(t, how, inner, v, range, type));
	for (int i = 1; f && factor_applies(t, f, fn) && i < t->node.at[f].n; i++) {
		const term_id one = (term_id)term_words(t, f)[i];
		term_id *to = term_uses(t, one, v) ? &rest : &out;
		*to = *to ? poly_extreme(t, fn, *to, one, type) : one;
	}
	return out && rest
		       ? poly_extreme(t, fn, poly_reduce(t, how, rest, v, range, type), out, type)
		       : 0;
}
