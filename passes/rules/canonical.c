/* Canonical names of bound variables: terms that are equal up to these names become one term. */
#include "passes/rules/terms.h"
#include "ir/base/sort.h"

#include "ir/base/mix.h"
#include "passes/rules/verify.h"

/* Variables to be renamed in the terms below. */
struct renaming {
	struct terms *t;
	const struct renaming *outer;
	int32_t from[8], to[8];
	int n;
};

static int32_t
var_renamed(const struct renaming *r, int32_t v)
{
	for (; r; r = r->outer)
		for (int i = 0; i < r->n; i++)
			if (r->from[i] == v)
				return r->to[i];
	return v;
}

static term_id poly_renamed(struct terms *t, const struct renaming *r, term_id p, int depth);

static term_id
linear_renamed(struct terms *t, const struct renaming *r, term_id a)
{
	term_id sum = linear_constant(t, linear_rest(t, a));

	if (!r || t->node.at[a].n == 1)
		return a;
	for (int i = 0; i < linear_nvars(t, a); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, a, i, &k);
		const struct var var = t->var.at[v];
		term_id to = linear_var(t, var_renamed(r, v));
		if (var.kind == VAR_PRODUCT) {
			to = linear_constant(t, 1);
			for (int j = 0; j < var.nkeys; j++)
				to = linear_product(
					t, to, linear_var(t, var_renamed(r, var.key[j])));
		} else if (var.kind == VAR_DATA) {
			int32_t key = poly_renamed(t, r, var.key[0], 1);
			to = key ? linear_var(t, var_of(t, VAR_DATA, &key, 1)) : 0;
		} else if (var.kind == VAR_QUOTIENT) {
			int32_t key[2] = {
				linear_renamed(t, r, var.key[0]), linear_renamed(t, r, var.key[1])};
			to = linear_var(t, var_of(t, VAR_QUOTIENT, key, 2));
		}
		sum = linear_add(t, sum, to, k);
		if (!sum)
			return 0;
	}
	return sum;
}

/* The name of bound variable k of a monomial at that depth. */
static int32_t
var_canonical(struct terms *t, int depth, int k)
{
	const int32_t key[2] = {depth, k};

	return var_of(t, VAR_NAMED, key, 2);
}

enum { REDUCED = 99 }; /* k of the variable of a reduction: no monomial has that many variables */

static term_id
factor_renamed(struct terms *t, const struct renaming *r, term_id f, int depth)
{
	const struct node node = t->node.at[f];
	const int64_t mark = t->stack.n;
	struct renaming inner = {t, r, {0}, {0}, 0};
	int first, step, end;

	if (node.kind == NODE_VALUE) {
		TERM_PUSH(t, var_renamed(r, (int32_t)term_words(t, f)[0]));
		return term_make(t, NODE_VALUE, mark, false);
	}
	if (node.kind == NODE_REDUCE) {
		inner.from[0] = (int32_t)term_words(t, f)[1];
		inner.to[0] = var_canonical(t, depth, REDUCED);
		inner.n = 1;
	}
	term_children(t, f, &first, &step, &end);
	/* Intermediate terms are pushed above on the stack: first reserve the words, then fill
	 * them. */
	for (int i = 0; i < node.n; i++)
		TERM_PUSH(t, 0);
	for (int i = 0; i < node.n; i++) {
		int64_t w = term_words(t, f)[i];
		if (node.kind == NODE_REDUCE && i == 1)
			w = inner.to[0];
		else if (i >= first) {
			w = t->node.at[w].kind == NODE_AFFINE
				    ? linear_renamed(t, r, (term_id)w)
				    : poly_renamed(t, inner.n ? &inner : r, (term_id)w, depth + 1);
			if (!w) {
				t->stack.n = mark;
				return 0;
			}
		}
		t->stack.at[mark + i] = w;
	}
	if (node.kind == NODE_APPLY && apply_commutes(t, (int)t->stack.at[mark]))
		sort_int64(t->stack.at + mark + 1, (size_t)(node.n - 1));
	return term_make(t, (enum term_node)node.kind, mark, node.boolean);
}

/* A hash of how a bound variable is used, independent of its name. */
static uint64_t
var_signature(const struct terms *t, const int64_t *w, int n, int32_t v, term_id range)
{
	uint64_t sum = 0;

	for (int i = 1 + 2 * (int)w[0]; i < n; i++) {
		const term_id f = (term_id)w[i];
		const struct node *node = &t->node.at[f];
		const int64_t *x = term_words(t, f);
		uint64_t h = node->kind;
		if (!term_uses(t, f, v))
			continue;
		if (node->kind == NODE_ACCESS) {
			h = mix_word(h, (uint64_t)x[0]);
			for (int k = 1; k < node->n; k++)
				h = mix_word(h,
					t->node.at[x[k]].kind == NODE_AFFINE
						? (uint64_t)linear_coefficient(t, (term_id)x[k], v)
						: 77);
		} else if (node->kind == NODE_APPLY || node->kind == NODE_REDUCE) {
			h = mix_word(h, (uint64_t)x[0]);
		}
		sum += mix64(h);
	}
	return mix_word(sum, (uint64_t)range);
}

static bool
next_order(int *order, int n)
{
	int i = n - 2, j = n - 1;

	while (i >= 0 && order[i] > order[i + 1])
		i--;
	if (i < 0)
		return false;
	while (order[j] < order[i])
		j--;
	int swap = order[i];
	order[i] = order[j];
	order[j] = swap;
	for (int a = i + 1, b = n - 1; a < b; a++, b--) {
		swap = order[a];
		order[a] = order[b];
		order[b] = swap;
	}
	return true;
}

/* Names bound variable number order[k] of the monomial k. */
static term_id
monomial_named(
	struct terms *t, const struct renaming *outer, term_id m, const int *order, int depth)
{
	const int nbound = (int)term_words(t, m)[0], n = t->node.at[m].n;
	struct renaming r = {t, outer, {0}, {0}, nbound};
	const int64_t mark = t->stack.n;

	for (int k = 0; k < nbound; k++) {
		r.from[k] = (int32_t)term_words(t, m)[1 + 2 * order[k]];
		r.to[k] = var_canonical(t, depth, k);
	}
	for (int i = 0; i < n; i++)
		TERM_PUSH(t, 0);
	t->stack.at[mark] = nbound;
	for (int k = 0; k < nbound; k++) {
		const term_id range =
			linear_renamed(t, &r, (term_id)term_words(t, m)[2 + 2 * order[k]]);
		t->stack.at[mark + 1 + 2 * k] = r.to[k];
		t->stack.at[mark + 2 + 2 * k] = range;
	}
	for (int i = 1 + 2 * nbound; i < n; i++) {
		const term_id f = factor_renamed(t, &r, (term_id)term_words(t, m)[i], depth);
		if (!f) {
			t->stack.n = mark;
			return 0;
		}
		t->stack.at[mark + i] = f;
	}
	sort_int64(t->stack.at + mark + 1 + 2 * nbound, (size_t)(n - 1 - 2 * nbound));
	return term_make(t, NODE_MONOMIAL, mark, false);
}

/* Tries all orders of variables that are used alike; the monomial with the least number represents
 * them all. */
static term_id
monomial_canonical(struct terms *t, const struct renaming *outer, term_id m, int depth)
{
	const int n = (int)term_words(t, m)[0];
	uint64_t sign[8];
	int order[8], group[8], tries = 0;

	if (n > 8)
		return term_fail(t, "a sum over too many indices");
	for (int i = 0; i < n; i++) {
		const int64_t *w = term_words(t, m);
		sign[i] = var_signature(
			t, w, t->node.at[m].n, (int32_t)w[1 + 2 * i], (term_id)w[2 + 2 * i]);
		order[i] = i;
	}
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && sign[order[j - 1]] > sign[order[j]]; j--) {
			const int swap = order[j];
			order[j] = order[j - 1];
			order[j - 1] = swap;
		}
	for (int i = 0; i < n; i++)
		group[i] = i && sign[order[i]] == sign[order[i - 1]] ? group[i - 1] : i;
	term_id best = monomial_named(t, outer, m, order, depth);
	/* Within a group, variables initially have the order of their numbers. */
	for (;;) {
		int at = n;
		while (at > 0) { /* the last group that has another order */
			const int from = group[at - 1];
			if (next_order(order + from, at - from))
				break;
			for (int a = from, b = at - 1; a < b; a++, b--) {
				const int swap = order[a];
				order[a] = order[b];
				order[b] = swap;
			}
			at = from;
		}
		if (at == 0 || !best)
			return best;
		if (++tries > TERMS_ORDERS)
			return term_fail(t, "too many summation indices are used alike");
		const term_id other = monomial_named(t, outer, m, order, depth);
		if (!other)
			return 0;
		best = other < best ? other : best;
	}
}

static term_id
poly_renamed(struct terms *t, const struct renaming *r, term_id p, int depth)
{
	term_id sum = poly_constant(t, 0, 1);
	const unsigned assumes = t->assumes;

	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i, n = w[1], d = w[2];
		const term_id m = monomial_canonical(t, r, (term_id)w[0], depth);
		const int64_t mark = t->stack.n;
		if (!m)
			return 0;
		poly_push(t, m, n, d);
		sum = poly_add(t, sum, term_make(t, NODE_POLYNOMIAL, mark, false));
		if (!sum)
			return 0;
	}
	t->assumes = assumes | (t->assumes & RULE_FINITE);
	return sum;
}

term_id
poly_canonical(struct terms *t, term_id p)
{
	return p ? poly_renamed(t, NULL, p, 0) : 0;
}

term_id
monomial_fresh(struct terms *t, term_id m)
{
	const int nbound = (int)term_words(t, m)[0], n = t->node.at[m].n;
	struct renaming r = {t, NULL, {0}, {0}, nbound};
	const int64_t mark = t->stack.n;

	if (nbound > 8)
		return term_fail(t, "a sum over too many indices");
	for (int k = 0; k < nbound; k++) {
		r.from[k] = (int32_t)term_words(t, m)[1 + 2 * k];
		r.to[k] = var_new(t, VAR_BOUND, 0, NULL);
	}
	TERM_PUSH(t, nbound);
	for (int k = 1; k < n; k++)
		TERM_PUSH(t, 0);
	for (int k = 1; k < n; k++) {
		const int64_t w = term_words(t, m)[k];
		const int64_t to = k > 2 * nbound ? factor_renamed(t, &r, (term_id)w, 1)
				   : k % 2        ? var_renamed(&r, (int32_t)w)
						  : linear_renamed(t, &r, (term_id)w);
		if (k > 2 * nbound && !to) {
			t->stack.n = mark;
			return 0;
		}
		t->stack.at[mark + k] = to;
	}
	sort_int64(t->stack.at + mark + 1 + 2 * nbound, (size_t)(n - 1 - 2 * nbound));
	return term_make(t, NODE_MONOMIAL, mark, false);
}

/* The monomial without factor `without`, and with variable `by` in place of v. */
term_id
monomial_put(struct terms *t, term_id m, int64_t without, int32_t v, int32_t by)
{
	const int nbound = (int)term_words(t, m)[0], n = t->node.at[m].n;
	const struct renaming r = {t, NULL, {v}, {by}, 1};
	const int64_t mark = t->stack.n;
	int used = 0;

	for (int k = 0; k < n; k++)
		TERM_PUSH(t, term_words(t, m)[k]);
	for (int k = 2; k <= 2 * nbound; k += 2)
		t->stack.at[mark + k] = linear_renamed(t, &r, (term_id)term_words(t, m)[k]);
	for (int k = 1 + 2 * nbound; k < n; k++) {
		const int64_t w = term_words(t, m)[k];
		if (w == without)
			continue;
		const term_id f = factor_renamed(t, &r, (term_id)w, 1);
		if (!f) {
			t->stack.n = mark;
			return 0;
		}
		t->stack.at[mark + 1 + 2 * nbound + used++] = f;
	}
	t->stack.n = mark + 1 + 2 * nbound + used;
	sort_int64(t->stack.at + mark + 1 + 2 * nbound, (size_t)used);
	return term_make(t, NODE_MONOMIAL, mark, false);
}
