/* Splits a case by an open question: in each new case the answer is the value of a variable. */
#include "passes/rules/decision.h"

#include <string.h>

int32_t
decision_fresh(struct decision *d, enum var_kind kind, int64_t low, term_id root)
{
	const int32_t v = var_new(&d->t, kind, low, NULL);

	if (v >= CASE_VARS)
		return -1;
	d->root[v] = root;
	return v;
}

/* Replaces variable v by e in the case. */
void
decision_put(struct decision *d, struct rule_case *c, int32_t v, term_id e)
{
	term_id by[CASE_VARS] = {0};

	by[v] = e;
	for (int i = 0; i < CASE_VARS && i < d->t.var.n; i++) {
		if (c->by[i])
			c->by[i] = linear_replace(&d->t, c->by[i], by, CASE_VARS);
		if (c->high[i])
			c->high[i] = linear_replace(&d->t, c->high[i], by, CASE_VARS);
	}
	for (int i = 0; i < c->nforced; i++) {
		c->forced[i].range = linear_replace(&d->t, c->forced[i].range, by, CASE_VARS);
		if (c->forced[i].cut.e)
			c->forced[i].cut.e =
				linear_replace(&d->t, c->forced[i].cut.e, by, CASE_VARS);
	}
	c->by[v] = e;
}

struct rule_case *
decision_case(struct decision *d, const struct rule_case *from)
{
	struct rule_case *c =
		d->free.n ? VEC_POP(&d->free) : ARENA_NEW(d->cases_arena, struct rule_case);

	*c = *from;
	return c;
}

static void
add_literal(struct decision *d, struct rule_case *c, term_id said, int sign)
{
	int64_t k = 1;

	if (c->ntrail == CASE_TRAIL)
		return;
	if (linear_nvars(&d->t, said))
		linear_var_at(&d->t, said, 0, &k);
	const struct literal one = {k < 0 ? linear_scale(&d->t, said, -1) : said,
		k < 0 ? sign == SIGN_NOT_NEGATIVE ? SIGN_NOT_POSITIVE : -sign : sign};
	c->trail[c->ntrail++] = one;
}

/* A copy of the case in which variable v is e. `said`, `sign`: the decision for its trail. */
static struct rule_case *
child(struct decision *d, const struct rule_case *start, int32_t v, term_id e, term_id said,
	int sign)
{
	struct rule_case *c = decision_case(d, start);

	decision_put(d, c, v, e);
	if (said > 0)
		add_literal(d, c, said, sign);
	VEC_PUSH(NULL, &d->todo, c);
	return c;
}

static term_id
var_root(const struct decision *d, int32_t v)
{
	return v < CASE_VARS ? d->root[v] : 0;
}

/* If e is, in this case, the difference of two of the rule's names, that difference; otherwise
 * 0. */
static term_id
difference(struct decision *d, const struct rule_case *c, term_id e)
{
	struct terms *t = &d->t;

	for (int i = 0; i < c->nnames; i++) {
		const term_id y = linear_var(t, c->name[i].v),
			      x = linear_add(t, linear_replace(t, y, c->by, CASE_VARS), e, 1);
		for (int k = 0; k < c->nnames; k++) {
			const term_id name = linear_var(t, c->name[k].v);
			if (i != k && linear_replace(t, name, c->by, CASE_VARS) == x)
				return linear_add(t, name, y, -1);
		}
	}
	return 0;
}

/* A size of which e has a power; -1: none. Orders of sizes would never decide e then. */
static int32_t
power_in(const struct terms *t, term_id e)
{
	int64_t k;

	for (int i = 0; i < linear_nvars(t, e); i++) {
		const struct var *v = &t->var.at[linear_var_at(t, e, i, &k)];
		for (int j = 1; v->kind == VAR_PRODUCT && j < v->nkeys; j++)
			if (v->key[j] == v->key[j - 1] && t->var.at[v->key[j]].kind == VAR_SIZE)
				return v->key[j];
	}
	return -1;
}

/* Notes the sign of `said`, which is e, in the cases from `first` on where it is known. */
static void
note_signs(struct decision *d, int64_t first, term_id e, term_id said)
{
	for (int64_t i = first; said && i < d->todo.n; i++) {
		struct rule_case probe = *d->todo.at[i];
		probe.arena = d->scratch;
		for (int sign = -1; sign <= 1; sign += 2)
			if (case_is_at_least(&probe, linear_scale(&d->t, e, sign), 1))
				add_literal(d, d->todo.at[i], said, sign);
		if (case_is_at_least(&probe, e, 0) &&
			case_is_at_least(&probe, linear_scale(&d->t, e, -1), 0))
			add_literal(d, d->todo.at[i], said, 0);
	}
}

/* x = y, x > y, x < y. */
static bool
split_order(struct decision *d, const struct rule_case *start, const struct rule_case *c)
{
	const term_id e = c->cut.e;
	struct terms *t = &d->t;
	const int32_t power = power_in(t, e);
	int32_t plus = power, minus = -1;

	for (int i = 0; power < 0 && i < linear_nvars(t, e); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, e, i, &k);
		if (t->var.at[v].kind != VAR_SIZE)
			continue;
		if (k > 0 && plus < 0)
			plus = v;
		if (k < 0 && minus < 0)
			minus = v;
	}
	const int32_t only = plus < 0 ? minus : plus;
	if (only < 0)
		return false;
	const int64_t low = t->var.at[only].low;
	if (plus < 0 || minus < 0) { /* the least value, or more */
		const term_id constant = linear_constant(t, low), root = var_root(d, only);
		const term_id said = root ? linear_add(t, root, constant, -1) : 0;
		const int32_t more = decision_fresh(d, VAR_SIZE, 1, said);
		if (more < 0)
			return false;
		child(d, start, only, constant, said, 0);
		child(d, start, only, linear_add(t, constant, linear_var(t, more), 1), said, 1);
		return true;
	}
	/* For sizes of at least 0 and of at least 1, the smaller bound would apply to their sum, so
	 * their bounds are made equal first. */
	const term_id rp = var_root(d, plus), rm = var_root(d, minus);
	const term_id apart = linear_add(t, linear_var(t, plus), linear_var(t, minus), -1),
		      said = rp && rm ? linear_add(t, rp, rm, -1) : difference(d, c, apart);
	const int32_t up = decision_fresh(d, VAR_SIZE, 1, said),
		      down = decision_fresh(d, VAR_SIZE, 1, said ? linear_scale(t, said, -1) : 0);
	if (up < 0 || down < 0)
		return false;
	if (t->var.at[plus].low != t->var.at[minus].low) {
		const int32_t zero = t->var.at[plus].low < t->var.at[minus].low ? plus : minus;
		const term_id constant = linear_constant(t, t->var.at[zero].low),
			      root = var_root(d, zero),
			      is = root ? linear_add(t, root, constant, -1) : 0;
		const int32_t more = decision_fresh(d, VAR_SIZE, t->var.at[zero].low + 1, root);
		if (more < 0)
			return false;
		child(d, start, zero, constant, is, 0);
		child(d, start, zero, linear_var(t, more), is, 1);
		return true;
	}
	const int64_t first = d->todo.n;
	child(d, start, plus, linear_var(t, minus), said, 0);
	child(d, start, plus, linear_add(t, linear_var(t, minus), linear_var(t, up), 1), said, 1);
	child(d, start, minus, linear_add(t, linear_var(t, plus), linear_var(t, down), 1), said,
		-1);
	note_signs(d, first, c->cut.whole, said ? 0 : difference(d, c, c->cut.whole));
	return true;
}

bool
decision_split(struct decision *d, const struct rule_case *start, const struct rule_case *c)
{
	struct terms *t = &d->t;
	const struct cut *cut = &c->cut;
	const int32_t v = cut->v;
	int64_t rest;

	/* A sum that cannot be cut in place: the next evaluation has a new variable for it. */
	if ((cut->kind == CUT_AT || cut->kind == CUT_RADIX) && t->var.at[v].kind == VAR_BOUND)
		return false;
	switch (cut->kind) {
	case CUT_ORDER: return split_order(d, start, c);
	case CUT_SIGN: {
		const term_id root = var_root(d, v);
		const int32_t up = decision_fresh(d, VAR_SIZE, 0, root),
			      down = decision_fresh(
				      d, VAR_SIZE, 1, root ? linear_scale(t, root, -1) : 0);
		if (up < 0 || down < 0)
			return false;
		/* Zero or positive is still open, so the literal is "not negative". */
		child(d, start, v, linear_var(t, up), root, SIGN_NOT_NEGATIVE);
		child(d, start, v, linear_scale(t, linear_var(t, down), -1), root, -1);
		return true;
	}
	case CUT_AT: {
		const int32_t low = decision_fresh(d, VAR_INDEX, 0, 0),
			      high = decision_fresh(d, VAR_INDEX, 0, 0);
		if (low < 0 || high < 0)
			return false;
		struct rule_case *a = child(d, start, v, linear_var(t, low), -1, 0);
		a->high[low] = cut->e;
		struct rule_case *b =
			child(d, start, v, linear_add(t, linear_var(t, high), cut->e, 1), -1, 0);
		b->high[high] = linear_add(t, c->high[v], cut->e, -1);
		return true;
	}
	case CUT_RADIX:
		if (!cut->m) { /* v = d i + j */
			const int32_t i = decision_fresh(d, VAR_INDEX, 0, 0),
				      j = decision_fresh(d, VAR_INDEX, 0, 0);
			struct rule_case probe = *start;
			probe.arena = d->scratch;
			const term_id part = case_quotient(&probe, c->high[v], cut->e, false);
			if (i < 0 || j < 0 || !part)
				return false;
			struct rule_case *a = child(d, start, v,
				linear_add(t, linear_product(t, cut->e, linear_var(t, i)),
					linear_var(t, j), 1),
				-1, 0);
			a->high[i] = part;
			a->high[j] = cut->e;
			return true;
		}
		for (int i = 0; i < linear_nvars(t, c->high[v]); i++) {
			int64_t k;
			linear_var_at(t, c->high[v], i, &k);
			if (k % cut->m)
				return false;
		}
		for (int64_t k = 0; k < cut->m; k++) {
			const int32_t part = decision_fresh(d, VAR_INDEX, 0, 0);
			if (part < 0)
				return false;
			struct rule_case *a = child(d, start, v,
				linear_add(t, linear_constant(t, k), linear_var(t, part), cut->m),
				-1, 0);
			struct rule_case probe = *a;
			probe.arena = d->scratch;
			a->high[part] = case_quotient(&probe,
				linear_add(t, c->high[v], linear_constant(t, cut->m - 1 - k), 1),
				linear_constant(t, cut->m), false);
			if (!a->high[part])
				return false;
		}
		return true;
	case CUT_PARITY:
		rest = t->var.at[v].low;
		if (rest > 1)
			return false;
		for (int64_t k = 0; k < cut->m; k++) { /* m q - k >= 1, or m q + k >= 0 */
			const int32_t part = decision_fresh(d, VAR_SIZE, rest, 0);
			if (part < 0)
				return false;
			child(d, start, v,
				linear_add(t, linear_constant(t, rest ? -k : k),
					linear_var(t, part), cut->m),
				-1, 0);
		}
		return true;
	case CUT_DIVIDES: { /* v = q d, or not a multiple */
		const int32_t q = decision_fresh(d, VAR_SIZE, 1, 0);
		if (q < 0)
			return false;
		struct rule_case *a =
			child(d, start, v, linear_product(t, linear_var(t, q), cut->e), -1, 0);
		if (a->nquotients == CASE_FACTS || !a->by[v])
			return false;
		a->quotient[a->nquotients].d = cut->e;
		a->quotient[a->nquotients].v = v;
		a->quotient[a->nquotients++].q = linear_var(t, q);
		struct rule_case *b = decision_case(d, start);
		b->quotient[b->nquotients].d = cut->e;
		b->quotient[b->nquotients].v = v;
		b->quotient[b->nquotients++].q = 0;
		VEC_PUSH(NULL, &d->todo, b);
		return true;
	}
	case CUT_TRUTH:
		for (int k = 0; k < 2; k++) {
			struct rule_case *a = decision_case(d, start);
			if (a->nfacts == CASE_FACTS)
				return false;
			a->fact[a->nfacts].factor = cut->e;
			a->fact[a->nfacts++].holds = k;
			VEC_PUSH(NULL, &d->todo, a);
		}
		return true;
	case CUT_EACH:
		for (int64_t k = 0; k < cut->m; k++)
			child(d, start, v, linear_constant(t, k), -1, 0);
		return true;
	}
	return false;
}
