/* Terms, affine forms and polynomials: terms.h. */
#include "passes/rules/terms.h"

#include "ir/base/mix.h"
#include "passes/rules/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_FIRST = 2048 };

void
terms_init(const void *owner, struct terms *t)
{
	memset(t, 0, sizeof *t);
	VEC_ROOM(owner, &t->node, 1024);
	VEC_ROOM(owner, &t->word, 8192);
	VEC_ROOM(owner, &t->stack, 1024);
	VEC_ROOM(owner, &t->var, 64);
	VEC_ROOM(owner, &t->table, TABLE_FIRST);
	terms_clear(t);
}

void
terms_clear(struct terms *t)
{
	const struct node none = {0};

	t->table.n = TABLE_FIRST; /* most rules need no more, whatever the last one needed */
	memset(t->table.at, 0, sizeof *t->table.at * TABLE_FIRST);
	t->node.n = t->word.n = t->stack.n = t->var.n = 0;
	t->used = 0;
	t->assumes = 0;
	t->failed = NULL;
	memset(t->constant, 0, sizeof t->constant);
	t->one = 0;
	VEC_PUSH(NULL, &t->node, none); /* no term has number 0 */
}

term_id
term_fail(struct terms *t, const char *why)
{
	if (!t->failed)
		t->failed = why;
	return 0;
}

static uint64_t
hash_of(enum term_node kind, const int64_t *words, int32_t n)
{
	uint64_t hash = mix_word((uint64_t)n, kind);

	for (int32_t i = 0; i < n; i++)
		hash = mix_word(hash, (uint64_t)words[i]);
	return hash;
}

static void
table_grow(struct terms *t)
{
	const int64_t n = t->table.n * 2;

	VEC_ROOM(NULL, &t->table, n);
	t->table.n = n;
	memset(t->table.at, 0, sizeof *t->table.at * (size_t)n);
	for (term_id x = 1; x < t->node.n; x++) {
		const struct node *node = &t->node.at[x];
		uint64_t at = hash_of(node->kind, term_words(t, x), node->n);
		while (t->table.at[at & (uint64_t)(n - 1)])
			at++;
		t->table.at[at & (uint64_t)(n - 1)] = x;
	}
}

term_id
term_make(struct terms *t, enum term_node kind, int64_t mark, bool boolean)
{
	const int64_t *words = t->stack.at + mark;
	const int32_t n = (int32_t)(t->stack.n - mark);
	const uint64_t mask = (uint64_t)t->table.n - 1;
	uint64_t at = hash_of(kind, words, n);
	term_id found;

	t->stack.n = mark;
	for (; (found = t->table.at[at & mask]); at++) {
		const struct node *node = &t->node.at[found];
		if (node->kind == kind && node->n == n &&
			memcmp(term_words(t, found), words, (size_t)n * 8) == 0)
			return found;
	}
	if (t->node.n == TERMS_MOST)
		return term_fail(t, "the terms become too many");
	const struct node node = {(uint8_t)kind, boolean, n, t->word.n};
	VEC_PUSH_ALL(NULL, &t->word, words, n);
	VEC_PUSH(NULL, &t->node, node);
	t->table.at[at & mask] = (term_id)t->node.n - 1;
	if (++t->used * 2 > (uint64_t)t->table.n)
		table_grow(t);
	return (term_id)t->node.n - 1;
}

/* --- affine forms: constant, then variables in the order of their numbers, each with its factor
 * --- */

int32_t
var_new(struct terms *t, enum var_kind kind, int64_t low, const char *name)
{
	const struct var v = {.kind = (uint8_t)kind, .low = low, .name = name};

	VEC_PUSH(NULL, &t->var, v);
	return (int32_t)t->var.n - 1;
}

int32_t
var_of(struct terms *t, enum var_kind kind, const int32_t *key, int n)
{
	struct var v = {.kind = (uint8_t)kind, .nkeys = (uint8_t)n};

	memcpy(v.key, key, sizeof *key * (size_t)n);
	for (int32_t i = 0; i < t->var.n; i++)
		if (t->var.at[i].kind == kind && t->var.at[i].nkeys == n &&
			memcmp(t->var.at[i].key, v.key, sizeof v.key) == 0)
			return i;
	if (kind == VAR_PRODUCT) {
		v.low = 1;
		for (int i = 0; i < n; i++)
			v.low *= t->var.at[key[i]].kind == VAR_SIZE ? t->var.at[key[i]].low : 0;
	}
	VEC_PUSH(NULL, &t->var, v);
	return (int32_t)t->var.n - 1;
}

bool
var_is_index(const struct terms *t, int32_t v)
{
	const uint8_t kind = t->var.at[v].kind;

	return kind == VAR_INDEX || kind == VAR_BOUND || kind == VAR_DATA;
}

bool
var_has_low(const struct terms *t, int32_t v)
{
	const struct var *var = &t->var.at[v];

	if (var->kind == VAR_PRODUCT) {
		for (int i = 0; i < var->nkeys; i++)
			if (!var_has_low(t, var->key[i]))
				return false;
		return true;
	}
	return var->kind == VAR_SIZE || var->kind == VAR_NOT_NEGATIVE || var_is_index(t, v) ||
	       var->kind == VAR_QUOTIENT;
}

term_id
linear_constant(struct terms *t, int64_t c)
{
	const int64_t mark = t->stack.n;
	const bool small = c >= 0 && c < TERMS_SMALL;

	if (small && t->constant[c])
		return t->constant[c];
	TERM_PUSH(t, c);
	const term_id made = term_make(t, NODE_AFFINE, mark, false);
	if (small)
		t->constant[c] = made;
	return made;
}

term_id
linear_var(struct terms *t, int32_t v)
{
	const int64_t mark = t->stack.n;

	if (!t->var.at[v].form) {
		TERM_PUSH(t, 0);
		TERM_PUSH(t, v);
		TERM_PUSH(t, 1);
		t->var.at[v].form = term_make(t, NODE_AFFINE, mark, false);
	}
	return t->var.at[v].form;
}

term_id
linear_add(struct terms *t, term_id a, term_id b, int64_t times)
{
	const int64_t mark = t->stack.n;
	int64_t product, sum;

	if (!a || !b)
		return 0;
	const int64_t *wa = term_words(t, a), *wb = term_words(t, b);
	const int na = t->node.at[a].n, nb = t->node.at[b].n;
	if (nb == 1 && !*wb)
		return a;
	if (na == 1 && !*wa && times == 1)
		return b;
	if (__builtin_mul_overflow(*wb, times, &product) ||
		__builtin_add_overflow(*wa, product, &sum))
		return term_fail(t, "a size does not fit in 64 bits");
	if (na == 1 && nb == 1)
		return linear_constant(t, sum);
	TERM_PUSH(t, sum);
	for (int i = 1, j = 1; i < na || j < nb;) {
		const int64_t va = i < na ? wa[i] : INT64_MAX, vb = j < nb ? wb[j] : INT64_MAX;
		int64_t k = va <= vb ? wa[i + 1] : 0;
		if (vb <= va && (__builtin_mul_overflow(wb[j + 1], times, &product) ||
					__builtin_add_overflow(k, product, &k)))
			return term_fail(t, "a size does not fit in 64 bits");
		if (k) {
			TERM_PUSH(t, va < vb ? va : vb);
			TERM_PUSH(t, k);
		}
		i += va <= vb ? 2 : 0;
		j += vb <= va ? 2 : 0;
	}
	return term_make(t, NODE_AFFINE, mark, false);
}

term_id
linear_scale(struct terms *t, term_id a, int64_t times)
{
	return linear_add(t, linear_constant(t, 0), a, times);
}

/* The product of two variables, each of which may itself be a product. */
static term_id
var_product(struct terms *t, int32_t v, int32_t w)
{
	int32_t key[2 * TERMS_FACTORS];
	int n = 0;

	for (int k = 0; k < 2; k++) {
		const int32_t x = k ? w : v;
		const struct var *var = &t->var.at[x];
		if (var->kind != VAR_PRODUCT)
			key[n++] = x;
		for (int i = 0; var->kind == VAR_PRODUCT && i < var->nkeys; i++)
			key[n++] = var->key[i];
	}
	if (n > TERMS_FACTORS)
		return term_fail(t, "a product of too many sizes");
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && key[j - 1] > key[j]; j--) {
			const int32_t swap = key[j];
			key[j] = key[j - 1];
			key[j - 1] = swap;
		}
	return linear_var(t, var_of(t, VAR_PRODUCT, key, n));
}

bool
linear_is_constant(const struct terms *t, term_id a, int64_t *c)
{
	if (!a || t->node.at[a].n != 1)
		return false;
	*c = linear_rest(t, a);
	return true;
}

term_id
linear_product(struct terms *t, term_id a, term_id b)
{
	term_id sum = linear_constant(t, 0);
	int64_t c;

	if (!a || !b)
		return 0;
	if (linear_is_constant(t, a, &c))
		return c == 1 ? b : linear_scale(t, b, c);
	if (linear_is_constant(t, b, &c))
		return c == 1 ? a : linear_scale(t, a, c);
	for (int i = -1; i < linear_nvars(t, a); i++)
		for (int j = -1; j < linear_nvars(t, b); j++) {
			int64_t ka = linear_rest(t, a), kb = linear_rest(t, b), k;
			const int32_t v = i < 0 ? -1 : linear_var_at(t, a, i, &ka),
				      w = j < 0 ? -1 : linear_var_at(t, b, j, &kb);
			if (__builtin_mul_overflow(ka, kb, &k))
				return term_fail(t, "a size does not fit in 64 bits");
			if (!k)
				continue;
			const term_id product = v >= 0 && w >= 0   ? var_product(t, v, w)
						: v >= 0 || w >= 0 ? linear_var(t, v >= 0 ? v : w)
								   : linear_constant(t, 1);
			sum = linear_add(t, sum, product, k);
			if (!sum)
				return 0;
		}
	return sum;
}

int64_t
linear_coefficient(const struct terms *t, term_id a, int32_t v)
{
	int64_t k;

	for (int i = 0; i < linear_nvars(t, a); i++)
		if (linear_var_at(t, a, i, &k) == v)
			return k;
	return 0;
}

/* The replacement of a variable, or the variable itself. */
static term_id
var_replaced(struct terms *t, int32_t v, const term_id *by, int nby, bool *changed)
{
	const struct var var = t->var.at[v];

	if (var.kind == VAR_PRODUCT) {
		term_id product = linear_constant(t, 1);
		bool any = false;
		for (int i = 0; i < var.nkeys; i++)
			product = linear_product(
				t, product, var_replaced(t, var.key[i], by, nby, &any));
		*changed = *changed || any;
		return any ? product : linear_var(t, v);
	}
	if (v >= nby || !by[v])
		return linear_var(t, v);
	*changed = true;
	return by[v];
}

static bool
is_replaced(const struct terms *t, int32_t v, const term_id *by, int nby)
{
	const struct var *var = &t->var.at[v];

	if (var->kind != VAR_PRODUCT)
		return v < nby && by[v];
	for (int i = 0; i < var->nkeys; i++)
		if (is_replaced(t, var->key[i], by, nby))
			return true;
	return false;
}

term_id
linear_replace(struct terms *t, term_id a, const term_id *by, int nby)
{
	bool changed = false;
	int64_t factor;

	for (int i = 0; a && i < linear_nvars(t, a) && !changed; i++)
		changed = is_replaced(t, linear_var_at(t, a, i, &factor), by, nby);
	if (!changed)
		return a;
	term_id sum = linear_constant(t, linear_rest(t, a));
	for (int i = 0; i < linear_nvars(t, a); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, a, i, &k);
		sum = linear_add(t, sum, var_replaced(t, v, by, nby, &changed), k);
		if (!sum)
			return 0;
	}
	return sum;
}

/* --- polynomials: monomial, numerator, denominator, in the order of the monomials' numbers --- */

static int64_t
common_divisor(int64_t a, int64_t b)
{
	while (b) {
		const int64_t r = a % b;
		a = b;
		b = r;
	}
	return a < 0 ? -a : a;
}

/* Pushes monomial m with factor n/d; false: it does not fit. A factor 0 is left out. */
void
poly_push(struct terms *t, int64_t m, int64_t n, int64_t d)
{
	const int64_t g = common_divisor(n, d);

	if (!n)
		return;
	TERM_PUSH(t, m);
	TERM_PUSH(t, d < 0 ? -n / g : n / g);
	TERM_PUSH(t, d < 0 ? -d / g : d / g);
}

static bool
add_fractions(int64_t *n, int64_t *d, int64_t n2, int64_t d2)
{
	int64_t a, b, sum, den;

	if (__builtin_mul_overflow(*n, d2, &a) || __builtin_mul_overflow(n2, *d, &b) ||
		__builtin_add_overflow(a, b, &sum) || __builtin_mul_overflow(*d, d2, &den))
		return false;
	const int64_t g = common_divisor(sum, den);
	*n = g ? sum / g : 0;
	*d = g ? den / g : 1;
	return true;
}

static bool
multiply_fractions(int64_t *n, int64_t *d, int64_t n2, int64_t d2)
{
	const int64_t g = common_divisor(*n, d2), h = common_divisor(n2, *d);

	return !__builtin_mul_overflow(g ? *n / g : *n, h ? n2 / h : n2, n) &&
	       !__builtin_mul_overflow(h ? *d / h : *d, g ? d2 / g : d2, d);
}

static term_id
monomial_one(struct terms *t)
{
	const int64_t mark = t->stack.n;

	if (!t->one) {
		TERM_PUSH(t, 0); /* no bound variables */
		t->one = term_make(t, NODE_MONOMIAL, mark, false);
	}
	return t->one;
}

term_id
poly_constant(struct terms *t, int64_t numerator, int64_t denominator)
{
	const int64_t mark = t->stack.n;
	const term_id one = monomial_one(t);

	poly_push(t, one, numerator, denominator);
	return term_make(t, NODE_POLYNOMIAL, mark, false);
}

term_id
poly_opaque(struct terms *t, int64_t bits)
{
	const int64_t mark = t->stack.n;

	TERM_PUSH(t, APPLY_OPAQUE);
	TERM_PUSH(t, bits); /* not a term: term_children skips it */
	return poly_of_factor(t, term_make(t, NODE_APPLY, mark, false));
}

term_id
poly_double(struct terms *t, double x)
{
	int64_t denominator = 1;
	double y = x;

	while (y != floor(y) && denominator < (int64_t)1 << 40) {
		y *= 2;
		denominator *= 2;
	}
	if (t->bitwise && x == 0 && signbit(x)) {
		const term_id zero = poly_constant(t, 0, 1);
		return poly_apply_plain(t, FN_neg, &zero, 1);
	}
	if (y == floor(y) && fabs(y) < 4503599627370496.0 /* 2^52 */)
		return poly_constant(t, (int64_t)y, denominator);
	int64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return poly_opaque(t, bits);
}

term_id
poly_of_factor(struct terms *t, term_id factor)
{
	int64_t mark = t->stack.n;

	if (!factor)
		return 0;
	TERM_PUSH(t, 0);
	TERM_PUSH(t, factor);
	const term_id m = term_make(t, NODE_MONOMIAL, mark, false);
	poly_push(t, m, 1, 1);
	return term_make(t, NODE_POLYNOMIAL, mark, false);
}

term_id
poly_access(struct terms *t, int input, const int32_t *position, int n, bool boolean)
{
	const int64_t mark = t->stack.n;

	TERM_PUSH(t, input);
	for (int i = 0; i < n; i++)
		TERM_PUSH(t, position[i]);
	return poly_of_factor(t, term_make(t, NODE_ACCESS, mark, boolean));
}

term_id
poly_at_least(struct terms *t, term_id a)
{
	const int64_t mark = t->stack.n;

	if (!a)
		return 0;
	TERM_PUSH(t, a);
	return poly_of_factor(t, term_make(t, NODE_AT_LEAST, mark, true));
}

static term_id
poly_var(struct terms *t, int32_t v)
{
	const struct var var = t->var.at[v];
	const int64_t mark = t->stack.n;

	if (var.kind == VAR_PRODUCT) {
		term_id p = poly_constant(t, 1, 1);
		for (int i = 0; i < var.nkeys; i++)
			p = poly_mul(t, p, poly_var(t, var.key[i]));
		return p;
	}
	if (var.kind == VAR_DATA)
		return var.key[0];
	TERM_PUSH(t, v);
	return poly_of_factor(t, term_make(t, NODE_VALUE, mark, false));
}

term_id
poly_affine(struct terms *t, term_id a)
{
	if (!a)
		return 0;
	term_id p = poly_constant(t, linear_rest(t, a), 1);
	for (int i = 0; i < linear_nvars(t, a); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, a, i, &k);
		p = poly_add(t, p, poly_scale(t, poly_var(t, v), k, 1));
	}
	return p;
}

term_id
poly_add(struct terms *t, term_id p, term_id q)
{
	const int64_t mark = t->stack.n;

	if (!p || !q)
		return 0;
	const int np = t->node.at[p].n, nq = t->node.at[q].n;
	for (int i = 0, j = 0; i < np || j < nq;) {
		const int64_t *a = term_words(t, p) + i, *b = term_words(t, q) + j;
		const int64_t ma = i < np ? a[0] : INT64_MAX, mb = j < nq ? b[0] : INT64_MAX;
		int64_t n = ma <= mb ? a[1] : b[1], d = ma <= mb ? a[2] : b[2];
		if (ma == mb && !add_fractions(&n, &d, b[1], b[2]))
			return term_fail(t, "a constant does not fit in 64 bits");
		if (!n)
			t->assumes |= RULE_FINITE;
		poly_push(t, ma < mb ? ma : mb, n, d);
		i += ma <= mb ? 3 : 0;
		j += mb <= ma ? 3 : 0;
	}
	return term_make(t, NODE_POLYNOMIAL, mark, false);
}

term_id
poly_scale(struct terms *t, term_id p, int64_t numerator, int64_t denominator)
{
	const int64_t mark = t->stack.n;

	if (!p)
		return 0;
	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i;
		int64_t n = w[1], d = w[2];
		const int64_t m = w[0];
		if (!multiply_fractions(&n, &d, numerator, denominator))
			return term_fail(t, "a constant does not fit in 64 bits");
		poly_push(t, m, n, d);
	}
	return term_make(t, NODE_POLYNOMIAL, mark, false);
}

term_id
poly_sub(struct terms *t, term_id p, term_id q)
{
	return poly_add(t, p, poly_scale(t, q, -1, 1));
}

term_id
poly_mul(struct terms *t, term_id p, term_id q)
{
	if (!p || !q)
		return 0;
	term_id sum = poly_constant(t, 0, 1);
	const int np = t->node.at[p].n, nq = t->node.at[q].n;
	if (np == 0 || nq == 0)
		t->assumes |= RULE_FINITE;
	if ((int64_t)(np / 3) * (nq / 3) > TERMS_PRODUCT)
		return term_fail(t, "a product of too many terms");
	for (int i = 0; i < np; i += 3)
		for (int j = 0; j < nq; j += 3) {
			const int64_t mark = t->stack.n;
			int64_t n = term_words(t, p)[i + 1], d = term_words(t, p)[i + 2];
			if (!multiply_fractions(
				    &n, &d, term_words(t, q)[j + 1], term_words(t, q)[j + 2]))
				return term_fail(t, "a constant does not fit in 64 bits");
			const term_id m = monomial_product(
				t, (term_id)term_words(t, p)[i], (term_id)term_words(t, q)[j]);
			if (!m)
				return 0;
			poly_push(t, m, n, d);
			sum = poly_add(t, sum, term_make(t, NODE_POLYNOMIAL, mark, false));
			if (!sum)
				return 0;
		}
	return sum;
}

bool
poly_is_constant(const struct terms *t, term_id p, int64_t *numerator, int64_t *denominator)
{
	if (!p || t->node.at[p].n > 3)
		return false;
	*numerator = 0;
	*denominator = 1;
	if (!t->node.at[p].n)
		return true;
	const int64_t *w = term_words(t, p);
	*numerator = w[1];
	*denominator = w[2];
	return t->node.at[w[0]].n == 1;
}

bool
poly_is_integer(const struct terms *t, term_id p, int64_t value)
{
	int64_t n, d;

	return poly_is_constant(t, p, &n, &d) && n == value && d == 1;
}

term_id
poly_single(const struct terms *t, term_id p)
{
	if (!p || t->node.at[p].n != 3)
		return 0;
	const int64_t *w = term_words(t, p);
	return w[1] == 1 && w[2] == 1 ? (term_id)w[0] : 0;
}

term_id
poly_factor(const struct terms *t, term_id p)
{
	const term_id m = poly_single(t, p);

	return m && t->node.at[m].n == 2 && !term_words(t, m)[0] ? (term_id)term_words(t, m)[1] : 0;
}

/* --- monomials: number of bound variables, each with its range, then factors sorted --- */

/* The positions of a node's words that are terms: from *first on, every *step-th. */
void
term_children(const struct terms *t, term_id x, int *first, int *step, int *end)
{
	const struct node *node = &t->node.at[x];
	const int64_t *w = term_words(t, x);

	*first = 1;
	*step = 1;
	*end = node->n;
	switch ((enum term_node)node->kind) {
	case NODE_AFFINE:
	case NODE_VALUE: *first = node->n; break;
	case NODE_ACCESS: break;
	case NODE_APPLY: *first = w[0] == APPLY_OPAQUE ? node->n : 1; break;
	case NODE_AT_LEAST: *first = 0; break;
	case NODE_REDUCE: *first = 2; break; /* how, variable, range, polynomial */
	case NODE_MONOMIAL: *first = 1; break;
	case NODE_POLYNOMIAL: *first = 0; *step = 3;
	}
}

static bool
var_uses(const struct terms *t, int32_t x, int32_t v)
{
	const struct var *var = &t->var.at[x];

	if (x == v)
		return true;
	if (var->kind == VAR_PRODUCT)
		for (int i = 0; i < var->nkeys; i++)
			if (var_uses(t, var->key[i], v))
				return true;
	if (var->kind == VAR_DATA)
		return term_uses(t, var->key[0], v);
	if (var->kind == VAR_QUOTIENT)
		return term_uses(t, var->key[0], v) || term_uses(t, var->key[1], v);
	return false;
}

bool
term_uses(const struct terms *t, term_id x, int32_t v)
{
	const struct node *node = &t->node.at[x];
	const int64_t *w = term_words(t, x);
	int first, step, end;

	if (node->kind == NODE_AFFINE) {
		for (int i = 1; i < node->n; i += 2)
			if (var_uses(t, (int32_t)w[i], v))
				return true;
		return false;
	}
	if (node->kind == NODE_VALUE)
		return var_uses(t, (int32_t)w[0], v);
	term_children(t, x, &first, &step, &end);
	if (node->kind == NODE_MONOMIAL) {
		for (int i = 0; i < w[0]; i++)
			if (term_uses(t, (term_id)w[2 + 2 * i], v))
				return true;
		first = 1 + 2 * (int)w[0];
	}
	for (int i = first; i < end; i += step)
		if (term_uses(t, (term_id)w[i], v))
			return true;
	return false;
}

/*
 * If monomial m has a factor [e == v], a sum over variable v has only one summand. Returns the
 * polynomial e, and the factor; 0: there is no such factor.
 */
static term_id
asked_position(const struct terms *t, term_id m, int32_t v, int64_t *factor)
{
	const int64_t *w = term_words(t, m);

	for (int i = 1 + 2 * (int)w[0]; i < t->node.at[m].n; i++) {
		const int64_t *f = term_words(t, (term_id)w[i]);
		if (t->node.at[w[i]].kind != NODE_APPLY || f[0] != FN_eq)
			continue;
		for (int k = 1; k <= 2; k++) {
			const term_id own = poly_factor(t, (term_id)f[k]);
			if (!own || t->node.at[own].kind != NODE_VALUE ||
				term_words(t, own)[0] != v || term_uses(t, (term_id)f[3 - k], v))
				continue;
			*factor = w[i];
			return (term_id)f[3 - k];
		}
	}
	return 0;
}

term_id
poly_sum(struct terms *t, term_id p, int32_t v, term_id range)
{
	if (!p || !range)
		return 0;
	if (t->bitwise)
		return poly_reduce(t, REDUCE_SUM, p, v, range, APPLY_ANY);
	term_id sum = poly_constant(t, 0, 1);
	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i;
		const term_id m = (term_id)w[0];
		const int64_t n = w[1], d = w[2], mark = t->stack.n;
		term_id one;
		int64_t factor;
		const term_id asked = asked_position(t, m, v, &factor);
		if (asked) {
			const int32_t key = asked, by = var_of(t, VAR_DATA, &key, 1);
			const term_id arg[2] = {asked, poly_affine(t, range)};
			const term_id put = monomial_put(t, m, factor, v, by);
			if (!put)
				return 0;
			poly_push(t, put, n, d);
			one = term_make(t, NODE_POLYNOMIAL, mark, false);
			one = poly_mul(t, one, poly_apply_plain(t, APPLY_IN_RANGE, arg, 2));
		} else if (term_uses(t, m, v)) {
			const int words = t->node.at[m].n;
			const int64_t bound = term_words(t, m)[0];
			TERM_PUSH(t, bound + 1);
			TERM_PUSH(t, v);
			TERM_PUSH(t, range);
			for (int k = 1; k < words; k++)
				TERM_PUSH(t, term_words(t, m)[k]);
			const term_id bigger = term_make(t, NODE_MONOMIAL, mark, false);
			poly_push(t, bigger, n, d);
			one = term_make(t, NODE_POLYNOMIAL, mark, false);
		} else { /* times the number of summands */
			poly_push(t, m, n, d);
			one = term_make(t, NODE_POLYNOMIAL, mark, false);
			one = poly_mul(t, one, poly_affine(t, range));
		}
		sum = poly_add(t, sum, one);
		if (!sum)
			return 0;
	}
	return sum;
}

term_id
poly_reduce(struct terms *t, enum form_reduce how, term_id p, int32_t v, term_id range,
	enum apply_type type)
{
	term_id rest = p, out = poly_constant(t, 0, 1);
	const bool extreme = how == REDUCE_MAX || how == REDUCE_MIN,
		   shifts = extreme && !t->bitwise && type == APPLY_REAL; /* integers overflow */

	if (!p || !range)
		return 0;
	if (shifts) { /* max over k of a + b[k] = a + max over k of b[k] */
		rest = out;
		for (int i = 0; i < t->node.at[p].n; i += 3) {
			const int64_t *w = term_words(t, p) + i, m = w[0], n = w[1], d = w[2];
			const int64_t mark = t->stack.n;
			const bool uses = term_uses(t, (term_id)m, v);
			poly_push(t, m, n, d);
			const term_id one = term_make(t, NODE_POLYNOMIAL, mark, false);
			*(uses ? &rest : &out) = poly_add(t, uses ? rest : out, one);
		}
	}
	if (extreme && !term_uses(t, rest, v))
		return poly_add(t, out, rest);
	const term_id law = shifts ? poly_reduce_monotone(t, how, rest, v, range, type) : 0;
	if (law)
		return poly_add(t, out, law);
	const int64_t mark = t->stack.n;
	TERM_PUSH(t, how);
	TERM_PUSH(t, v);
	TERM_PUSH(t, range);
	TERM_PUSH(t, rest);
	const term_id reduced = poly_of_factor(t, term_make(t, NODE_REDUCE, mark, false));
	return shifts ? poly_add(t, out, reduced) : reduced;
}
