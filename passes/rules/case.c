/* One case of the sizes: what is known about affine forms, and which question is left open. */
#include "passes/rules/meaning.h"

#include <string.h>

const char case_dots[] = "..";
const char case_dots_dim[IR_MAX_RANK][4] = {"..0", "..1", "..2", "..3", "..4", "..5", "..6", "..7"};

int
case_stop(struct rule_case *c, enum stop stop, const char *why)
{
	if (c->stop == STOP_NONE) {
		c->stop = stop;
		c->why = why;
	}
	return -1;
}

int
case_each_dim(struct rule_case *c, term_id e, int rank)
{
	int64_t k;

	if (rank == 0)
		return case_stop(c, STOP_ILL, "a dim that does not exist");
	if (rank < 0 || linear_nvars(c->t, e) != 1 ||
		e != linear_var(c->t, linear_var_at(c->t, e, 0, &k)))
		return case_stop(c, STOP_UNKNOWN, "a dim that is not known");
	c->cut = (struct cut){CUT_EACH, 0, linear_var_at(c->t, e, 0, &k), rank, 0};
	return case_stop(c, STOP_CUT, NULL);
}

bool
case_expands(struct rule_case *c, int64_t n)
{
	c->expandable = c->expandable || (n > 1 && n <= CASE_SMALL);
	return n <= 1 || (n <= CASE_SMALL && c->expands);
}

static bool
has_products(const struct terms *t, term_id e)
{
	int64_t k;

	for (int i = 0; i < linear_nvars(t, e); i++)
		if (t->var.at[linear_var_at(t, e, i, &k)].kind == VAR_PRODUCT)
			return true;
	return false;
}

bool
case_put_off(struct rule_case *c, term_id e)
{
	if (c->stop != STOP_CUT)
		return false;
	if (e && (c->cut.kind == CUT_ORDER || c->cut.kind == CUT_SIGN) &&
		c->nassumed < CASE_FACTS &&
		(has_products(c->t, e) || linear_nvars(c->t, e) >= CASE_LONG)) {
		c->assumed[c->nassumed++] = e;
	} else if (!c->is_put_off) {
		c->put_off = c->cut;
		c->is_put_off = true;
	}
	c->stop = STOP_NONE;
	return true;
}

term_id
case_affine(struct rule_case *c, term_id e)
{
	if (c->t->var.n > CASE_VARS) {
		case_stop(c, STOP_UNKNOWN, "too many sizes");
		return 0;
	}
	const term_id r = linear_replace(c->t, e, c->by, CASE_VARS);
	if (!r && c->stop == STOP_NONE)
		case_stop(c, STOP_UNKNOWN, c->t->failed ? c->t->failed : "a size is not known");
	return r;
}

/* An index that occurs in e, possibly within a product; -1: there is none. */
static int32_t
index_in(const struct rule_case *c, term_id e, int64_t *factor, int32_t *product)
{
	for (int i = 0; i < linear_nvars(c->t, e); i++) {
		const int32_t v = linear_var_at(c->t, e, i, factor);
		const struct var *var = &c->t->var.at[v];
		*product = -1;
		if (var_is_index(c->t, v))
			return v;
		*product = v;
		for (int k = 0; var->kind == VAR_PRODUCT && k < var->nkeys; k++)
			if (var_is_index(c->t, var->key[k]))
				return var->key[k];
	}
	return -1;
}

/* Replaces -k d (x / d), with x / d rounded down, by -k x, which is a lower bound. */
static term_id
quotients_bounded(struct rule_case *c, term_id e)
{
	struct terms *t = c->t;
	int64_t k;

	for (int i = 0; i < linear_nvars(t, e); i++) {
		const int32_t v = linear_var_at(t, e, i, &k);
		const struct var var = t->var.at[v];
		for (int j = 0; k < 0 && var.kind == VAR_PRODUCT && var.nkeys == 2 && j < 2; j++) {
			const struct var q = t->var.at[var.key[j]];
			if (q.kind != VAR_QUOTIENT || q.key[1] != linear_var(t, var.key[1 - j]))
				continue;
			e = linear_add(t, linear_add(t, e, linear_var(t, v), -k), q.key[0], k);
			return quotients_bounded(c, e);
		}
	}
	return e;
}

/*
 * e, with sizes of at least 1 written as what they are above that: n i - i is n i for such an n,
 * and is not negative. The variables of the result have least values of 0. 0: e has no such form.
 */
static term_id
from_least(struct rule_case *c, term_id e)
{
	struct terms *t = c->t;
	term_id by[CASE_VARS] = {0};
	bool products = false;
	int64_t k;

	for (int i = 0; i < linear_nvars(t, e); i++) {
		const int32_t v = linear_var_at(t, e, i, &k);
		const struct var *var = &t->var.at[v];
		const bool product = var->kind == VAR_PRODUCT;
		for (int j = 0; j < (product ? var->nkeys : 1); j++) {
			const int32_t w = product ? t->var.at[v].key[j] : v;
			if (t->var.at[w].kind == VAR_QUOTIENT)
				return 0;
			if (t->var.at[w].kind == VAR_SIZE && t->var.at[w].low)
				by[w] = linear_add(t, linear_var(t, w),
					linear_constant(t, t->var.at[w].low), 1);
		}
		products = products || product;
	}
	return products ? linear_replace(t, e, by, CASE_VARS) : 0;
}

/* The sum of least values of the terms of e, which are 0 where not `lows`; false: unknown. */
static bool
sum_of_least(const struct rule_case *c, term_id e, bool lows, int64_t *value)
{
	int64_t sum = linear_rest(c->t, e), k;

	for (int i = 0; i < linear_nvars(c->t, e); i++) {
		const int32_t v = linear_var_at(c->t, e, i, &k);
		if (k < 0 || !var_has_low(c->t, v))
			return false;
		sum += lows ? k * c->t->var.at[v].low : 0;
	}
	*value = sum;
	return true;
}

static bool
has_quotients(const struct terms *t, term_id e)
{
	int64_t k;

	for (int i = 0; i < linear_nvars(t, e); i++) {
		const struct var *var = &t->var.at[linear_var_at(t, e, i, &k)];
		if (var->kind == VAR_QUOTIENT)
			return true;
		for (int j = 0; var->kind == VAR_PRODUCT && j < var->nkeys; j++)
			if (t->var.at[var->key[j]].kind == VAR_QUOTIENT)
				return true;
	}
	return false;
}

/* A lower bound of e; false: unknown. */
static bool
least(struct rule_case *c, term_id e, int64_t *value)
{
	int64_t k;
	int32_t product;

	/* Indices have least values of 0: no term of e needs to be replaced. */
	if (!has_quotients(c->t, e) && sum_of_least(c, e, true, value))
		return true;
	for (int tries = 0; tries < 16; tries++) {
		const int32_t v = index_in(c, e, &k, &product);
		if (v < 0)
			break;
		term_id by[CASE_VARS] = {0}, one = linear_var(c->t, product < 0 ? v : product);
		if (product >= 0 && !var_has_low(c->t, product))
			return false;
		if (k < 0 && !c->high[v])
			return false;
		by[v] = k < 0 ? linear_add(c->t, c->high[v], linear_constant(c->t, 1), -1)
			      : linear_constant(c->t, 0);
		/* Replaces this term only: the index may have the opposite sign in another term. */
		const term_id put = linear_replace(c->t, one, by, CASE_VARS);
		e = linear_add(c->t, linear_add(c->t, e, one, -k), put, k);
		if (!e)
			return false;
	}
	e = quotients_bounded(c, e);
	return sum_of_least(c, e, true, value) ||
	       ((e = from_least(c, e)) && sum_of_least(c, e, false, value));
}

/* e / d if it is an integer by its form: a product of sizes that include d. */
static term_id
product_without(struct rule_case *c, term_id e, term_id d)
{
	struct terms *t = c->t;
	int64_t k, kd;

	if (e == d)
		return linear_constant(t, 1);
	if (linear_nvars(t, e) != 1 || linear_rest(t, e) || linear_nvars(t, d) != 1 ||
		linear_rest(t, d))
		return 0;
	const int32_t v = linear_var_at(t, e, 0, &k), w = linear_var_at(t, d, 0, &kd);
	const struct var var = t->var.at[v];
	if (kd == 0 || k % kd)
		return 0;
	if (v == w)
		return linear_constant(t, k / kd);
	if (var.kind != VAR_PRODUCT)
		return 0;
	term_id rest = linear_constant(t, k / kd);
	bool found = false;
	for (int i = 0; i < var.nkeys; i++)
		if (var.key[i] == w && !found)
			found = true;
		else
			rest = linear_product(t, rest, linear_var(t, var.key[i]));
	return found ? rest : 0;
}

/* e without a size that is a factor of all its terms and is at least 1. */
static term_id
without_common(struct rule_case *c, term_id e)
{
	struct terms *t = c->t;
	int64_t k;

	if (!e || !linear_nvars(t, e) || linear_rest(t, e))
		return e;
	const int32_t first = linear_var_at(t, e, 0, &k);
	const struct var var = t->var.at[first];
	for (int j = 0; var.kind == VAR_PRODUCT && j < var.nkeys; j++) {
		const int32_t w = var.key[j];
		term_id sum = linear_constant(t, 0);
		if (t->var.at[w].kind != VAR_SIZE || t->var.at[w].low < 1)
			continue;
		for (int i = 0; sum && i < linear_nvars(t, e); i++) {
			const int32_t v = linear_var_at(t, e, i, &k);
			const term_id q = product_without(c, linear_var(t, v), linear_var(t, w));
			sum = q ? linear_add(t, sum, q, k) : 0;
		}
		if (sum)
			return without_common(c, sum);
	}
	return e;
}

bool
case_is_real(const struct rule_case *c, term_id e)
{
	for (int i = 0; i < linear_nvars(c->t, e); i++) {
		int64_t k;
		const struct var *v = &c->t->var.at[linear_var_at(c->t, e, i, &k)];
		bool real = v->kind == VAR_REAL || v->kind == VAR_NOT_NEGATIVE;
		for (int j = 0; v->kind == VAR_PRODUCT && j < v->nkeys; j++) {
			const uint8_t kind = c->t->var.at[v->key[j]].kind;
			real = real || kind == VAR_REAL || kind == VAR_NOT_NEGATIVE;
		}
		if (real)
			return true;
	}
	return false;
}

bool
case_is_at_least(struct rule_case *c, term_id e, int64_t low)
{
	int64_t value;

	return (e = case_affine(c, e)) && least(c, e, &value) && value >= low;
}

/* Sets c->cut to a comparison of sizes that decides e. */
static int
cut_order(struct rule_case *c, term_id e)
{
	const term_id whole = e;

	e = without_common(c, e);
	for (int i = 0; i < linear_nvars(c->t, e); i++) {
		int64_t k;
		const int32_t v = linear_var_at(c->t, e, i, &k);
		const struct var *var = &c->t->var.at[v];
		for (int j = -1; j < (var->kind == VAR_PRODUCT ? var->nkeys : 0); j++) {
			const int32_t w = j < 0 ? v : var->key[j];
			if (c->t->var.at[w].kind != VAR_INTEGER)
				continue;
			c->cut = (struct cut){CUT_SIGN, 0, w, 0, 0};
			return case_stop(c, STOP_CUT, NULL);
		}
	}
	c->cut = (struct cut){CUT_ORDER, e, 0, 0, whole};
	return case_stop(c, STOP_CUT, NULL);
}

static bool
divides(const struct terms *t, term_id e, int64_t m)
{
	int64_t k;

	for (int i = 0; i < linear_nvars(t, e); i++) {
		linear_var_at(t, e, i, &k);
		if (k % m)
			return false;
	}
	return true;
}

static term_id
divided(struct terms *t, term_id e, int64_t m)
{
	const int64_t rest = linear_rest(t, e);
	term_id sum = linear_constant(t, rest / m - (rest % m != 0 && rest < 0));

	for (int i = 0; i < linear_nvars(t, e); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, e, i, &k);
		sum = linear_add(t, sum, linear_var(t, v), k / m);
	}
	return sum;
}

int
case_at_least(struct rule_case *c, term_id e)
{
	struct terms *t = c->t;
	int64_t low, k;
	int32_t found = -1;
	int indices = 0;

	if (!(e = case_affine(c, e)))
		return -1;
	if (least(c, e, &low) && low >= 0)
		return 1;
	if (least(c, linear_add(t, linear_constant(t, -1), e, -1), &low) && low >= 0)
		return 0;
	for (int i = 0; i < c->nassumed; i++)
		for (int no = 0; no < 2; no++) {
			const term_id x = no ? linear_add(t, linear_constant(t, -1), e, -1) : e,
				      more = linear_add(t, x, case_affine(c, c->assumed[i]), -1);
			if (more && least(c, more, &low) && low >= 0)
				return !no;
		}
	for (int i = 0; i < linear_nvars(t, e); i++) {
		const int32_t v = linear_var_at(t, e, i, &k);
		const struct var *var = &t->var.at[v];
		if (var_is_index(c->t, v)) {
			indices++;
			found = v;
		}
		for (int j = 0; var->kind == VAR_PRODUCT && j < var->nkeys; j++)
			if (var_is_index(c->t, var->key[j]))
				indices += 2;
	}
	if (!indices)
		return cut_order(c, e);
	if (indices > 1 || t->var.at[found].kind == VAR_DATA)
		return 2;
	/* e = k v + rest, so the cut is at v < -rest / k, or v >= -rest / k, rounded up. */
	k = linear_coefficient(t, e, found);
	const term_id rest = linear_add(t, e, linear_var(t, found), -k);
	const int64_t m = k < 0 ? -k : k;
	if (!divides(t, rest, m))
		return 2;
	const term_id q = divided(t, rest, m); /* rounded down */
	c->cut = (struct cut){CUT_AT,
		k > 0 ? linear_scale(t, q, -1) : linear_add(t, q, linear_constant(t, 1), 1), found,
		0, 0};
	return case_stop(c, STOP_CUT, NULL);
}

int
case_equal(struct rule_case *c, term_id a, term_id b)
{
	struct terms *t = c->t;
	int64_t low;
	const term_id e = without_common(c, case_affine(c, linear_add(t, a, b, -1)));

	if (!e)
		return -1;
	if (linear_is_constant(t, e, &low))
		return low == 0;
	if ((least(c, e, &low) && low > 0) || (least(c, linear_scale(t, e, -1), &low) && low > 0))
		return 0;
	int64_t k;
	int32_t product;
	if (index_in(c, e, &k, &product) >= 0)
		return 2;
	return cut_order(c, e);
}

int
case_is_zero(struct rule_case *c, term_id e)
{
	struct terms *t = c->t;
	const int same = case_equal(c, e, linear_constant(t, 0));
	int64_t k;

	if (same != 2 || !(e = case_affine(c, e)) || linear_nvars(t, e) != 1 || linear_rest(t, e))
		return same;
	const int32_t v = linear_var_at(t, e, 0, &k);
	if (!var_is_index(c->t, v) || t->var.at[v].kind == VAR_DATA || !c->high[v])
		return same;
	/* The index is 0 or one of the others, if there are any. */
	const int others = case_at_least(c, linear_add(t, c->high[v], linear_constant(t, 2), -1));
	if (others != 1)
		return others ? others : 1;
	c->cut = (struct cut){CUT_AT, linear_constant(t, 1), v, 0, 0};
	return case_stop(c, STOP_CUT, NULL);
}

/* e / m, rounded down, for a constant m; *rest is the remainder. 0: a cut is needed. */
static term_id
case_divide(struct rule_case *c, term_id e, int64_t m, int64_t *rest)
{
	struct terms *t = c->t;

	if (!(e = case_affine(c, e)))
		return 0;
	for (int i = linear_nvars(t, e); i-- > 0;) {
		int64_t k;
		const int32_t v = linear_var_at(t, e, i, &k);
		const uint8_t kind = t->var.at[v].kind;
		if (k % m == 0)
			continue;
		if (kind == VAR_INDEX || kind == VAR_BOUND)
			c->cut = (struct cut){CUT_RADIX, 0, v, m, 0};
		else if (kind == VAR_SIZE)
			c->cut = (struct cut){CUT_PARITY, 0, v, m, 0};
		else if (kind == VAR_INTEGER)
			c->cut = (struct cut){CUT_SIGN, 0, v, 0, 0};
		else
			return case_stop(c, STOP_UNKNOWN, "a quotient"), 0;
		return case_stop(c, STOP_CUT, NULL), 0;
	}
	*rest = linear_rest(t, e) % m;
	*rest += *rest < 0 ? m : 0;
	return divided(t, e, m);
}

static int32_t
name_var(struct rule_case *c, const char *name)
{
	for (int i = 0; i < c->nnames; i++)
		if (c->name[i].name == name)
			return c->name[i].v;
	return -1;
}

/* The quotient e / d that the case assumes; 0: none. */
static term_id
known_quotient(struct rule_case *c, term_id e, term_id d)
{
	for (int i = 0; i < c->nquotients; i++)
		if (c->quotient[i].q && case_affine(c, c->quotient[i].d) == d &&
			case_affine(c, linear_var(c->t, c->quotient[i].v)) == e)
			return case_affine(c, c->quotient[i].q);
	return 0;
}

bool
case_has_factor(struct rule_case *c, term_id e, term_id d)
{
	int64_t m, n;

	if (!(e = case_affine(c, e)) || !(d = case_affine(c, d)))
		return false;
	if (linear_is_constant(c->t, d, &m))
		return m > 0 && divides(c->t, e, m) && linear_rest(c->t, e) % m == 0 &&
		       !(linear_is_constant(c->t, e, &n) && n < m);
	return product_without(c, e, d) || known_quotient(c, e, d);
}

/* A size of which d, a sum, has one; -1: none. */
static int32_t
leading_size(const struct terms *t, term_id d)
{
	int64_t k;

	for (int i = 0; i < linear_nvars(t, d); i++) {
		const int32_t v = linear_var_at(t, d, i, &k);
		if (k == 1 && t->var.at[v].kind != VAR_PRODUCT)
			return v;
	}
	return -1;
}

/*
 * Divides *e by the sum d as polynomials in one size of d, as s k + k + s = (s + 1) (k + 1) - 1;
 * *e becomes the remainder, in which that size does not occur. Returns the quotient.
 */
static term_id
take_sums(struct rule_case *c, term_id *e, term_id d)
{
	struct terms *t = c->t;
	const int32_t lead = leading_size(t, d);
	term_id sum = linear_constant(t, 0);

	for (int i = 0, steps = 0; lead >= 0 && i < linear_nvars(t, *e) && steps < CASE_VARS;) {
		int64_t k;
		const int32_t v = linear_var_at(t, *e, i, &k);
		const term_id q = product_without(c, linear_var(t, v), linear_var(t, lead)),
			      rest = q ? linear_add(t, *e, linear_product(t, q, d), -k) : 0;
		i++;
		if (!rest)
			continue;
		sum = linear_add(t, sum, q, k);
		*e = rest;
		i = 0;
		steps++;
	}
	return sum;
}

/* Removes from *e the terms that are multiples of d by their form; returns their quotient. */
static term_id
take_multiples(struct rule_case *c, term_id *e, term_id d)
{
	struct terms *t = c->t;
	term_id sum = linear_constant(t, 0), rest = *e;
	int64_t k;

	if (linear_nvars(t, d) > 1 || (linear_nvars(t, d) && linear_rest(t, d)))
		return take_sums(c, e, d);
	for (int i = 0; i < linear_nvars(t, *e); i++) {
		const int32_t v = linear_var_at(t, *e, i, &k);
		const term_id one = linear_scale(t, linear_var(t, v), k),
			      q = product_without(c, one, d);
		if (!q)
			continue;
		sum = linear_add(t, sum, q, 1);
		rest = linear_add(t, rest, one, -1);
	}
	*e = rest;
	return sum;
}

int
case_divides(struct rule_case *c, term_id e, term_id d)
{
	struct terms *t = c->t;
	int64_t m, k;

	if (!(e = case_affine(c, e)) || !(d = case_affine(c, d)))
		return -1;
	if (linear_is_constant(t, d, &m) && m > 0) {
		int64_t rest;
		const term_id q = case_divide(c, e, m, &rest);
		return q ? rest == 0 : -1;
	}
	if (product_without(c, e, d) || known_quotient(c, e, d))
		return 1;
	take_multiples(c, &e, d);
	if (linear_is_constant(t, e, &m) && m == 0)
		return 1;
	if (known_quotient(c, e, d))
		return 1;
	if (linear_is_constant(t, e, &m)) { /* for a constant e, only if d is not larger */
		const int larger =
			case_at_least(c, linear_add(t, d, linear_constant(t, m + 1), -1));
		if (larger)
			return larger < 0 ? -1 : larger == 1 ? 0 : 2;
		return cut_order(c, linear_add(t, d, linear_constant(t, m), -1)), -1;
	}
	if (linear_nvars(t, e) != 1 || linear_rest(t, e))
		return 2;
	const int32_t v = linear_var_at(t, e, 0, &k);
	if (k != 1 || t->var.at[v].kind != VAR_SIZE || t->var.at[v].low != 1 || term_uses(t, d, v))
		return 2;
	for (int i = 0; i < c->nquotients; i++)
		if (!c->quotient[i].q && c->quotient[i].v == v &&
			case_affine(c, c->quotient[i].d) == d)
			return 0;
	c->cut = (struct cut){CUT_DIVIDES, d, v, 0, 0};
	return case_stop(c, STOP_CUT, NULL);
}

/* Does e contain no position? */
static bool
is_size(const struct rule_case *c, term_id e)
{
	int64_t k;
	int32_t product;

	return index_in(c, e, &k, &product) < 0;
}

/* Cuts index v at the last multiple of d by form below its range, if there is one. */
static bool
cut_at_multiple(struct rule_case *c, int32_t v, term_id range, term_id d)
{
	struct terms *t = c->t;
	const term_id one = linear_constant(t, 1);
	term_id rest = range;
	const term_id q = take_multiples(c, &rest, d);
	int64_t low;

	if (!q || !least(c, rest, &low) || low < 1)
		return false;
	const int some = case_at_least(c, linear_add(t, q, one, -1));
	if (some == 1) {
		c->cut = (struct cut){CUT_AT, linear_product(t, q, d), v, 0, 0};
		case_stop(c, STOP_CUT, NULL);
	}
	return some != 0 && some != 2;
}

/*
 * e / d, rounded down, if by its form e is a multiple of d plus a rest below d: i d + j, j < d. 0:
 * it is not, or c->stop is set: an index whose range is a multiple of d must be split that way.
 */
static term_id
quotient_by_form(struct rule_case *c, term_id e, term_id d)
{
	struct terms *t = c->t;
	term_id rest = e, sum = take_multiples(c, &rest, d);
	int64_t k, low;

	if (least(c, linear_add(t, linear_constant(t, -1), rest, -1), &low) && low >= 0) {
		sum = linear_add(t, sum, linear_constant(t, 1), -1); /* a negative rest */
		rest = linear_add(t, rest, d, 1);
	}
	const term_id room = linear_add(t, linear_add(t, d, rest, -1), linear_constant(t, 1), -1);
	if (least(c, rest, &low) && low >= 0 && least(c, room, &low) && low >= 0)
		return sum;
	for (int i = 0; i < linear_nvars(t, rest); i++) {
		const int32_t v = linear_var_at(t, rest, i, &k);
		const uint8_t kind = t->var.at[v].kind;
		if (k != 1 || (kind != VAR_INDEX && kind != VAR_BOUND) || !c->high[v])
			continue;
		const term_id range = case_affine(c, c->high[v]);
		if (!range || range == d || cut_at_multiple(c, v, range, d) ||
			case_divides(c, range, d) != 1)
			return 0;
		c->cut = (struct cut){CUT_RADIX, d, v, 0, 0};
		case_stop(c, STOP_CUT, NULL);
		return 0;
	}
	return 0;
}

/* e / d, rounded down or, if `exact`, without remainder; 0: c->stop. */
term_id
case_quotient(struct rule_case *c, term_id e, term_id d, bool exact)
{
	struct terms *t = c->t;
	int64_t m, rest;

	if (!(e = case_affine(c, e)) || !(d = case_affine(c, d)))
		return 0;
	if (!case_is_at_least(c, d, 1) &&
		case_at_least(c, linear_add(t, d, linear_constant(t, 1), -1)) < 0)
		return 0;
	if (linear_is_constant(t, d, &m) && m == 0)
		return case_stop(c, STOP_ILL, "a division by 0"), 0;
	if (linear_is_constant(t, d, &m) && m > 0) {
		const term_id q = case_divide(c, e, m, &rest);
		if (q && exact && rest)
			return case_stop(c, STOP_ILL, "a size is not a multiple"), 0;
		return q;
	}
	term_id q = product_without(c, e, d);
	if (q)
		return q;
	if (!exact && ((q = quotient_by_form(c, e, d)) || c->stop != STOP_NONE))
		return q;
	if ((q = known_quotient(c, e, d)))
		return q;
	/* When rounding down, a remainder does not matter, so it is not decided by cases. */
	const int whole = exact && is_size(c, e) ? case_divides(c, e, d) : 2;
	if (whole < 0)
		return 0;
	if (whole == 1) {
		if ((q = known_quotient(c, e, d)))
			return q;
		const term_id sum = take_multiples(c, &e, d);
		if (linear_is_constant(t, e, &m) && m == 0)
			return sum;
		q = known_quotient(c, e, d) ? known_quotient(c, e, d) : product_without(c, e, d);
		return q ? linear_add(t, sum, q, 1)
			 : (case_stop(c, STOP_UNKNOWN, "a quotient of sizes"), 0);
	}
	if (exact)
		return whole ? case_stop(c, STOP_UNKNOWN, "a quotient of sizes"),
		       0     : (case_stop(c, STOP_ILL, "a size is not a multiple"), 0);
	const int below =
		case_at_least(c, linear_add(t, linear_add(t, d, e, -1), linear_constant(t, 1), -1));
	if (below < 0)
		return 0;
	if (below == 1 && case_at_least(c, e) == 1)
		return linear_constant(t, 0);
	/* Otherwise the quotient is at least 1. A value that may be negative would be rounded in
	 * two ways. */
	const int some = case_at_least(c, e),
		  full = some < 0 ? some : case_at_least(c, linear_add(t, e, d, -1));
	if (full < 0)
		return 0;
	if (some != 1)
		return case_stop(c, STOP_UNKNOWN, "a quotient of what may be negative"), 0;
	const int32_t key[2] = {e, d}, v = var_of(t, VAR_QUOTIENT, key, 2);
	t->var.at[v].low = full == 1;
	return linear_var(t, v);
}

term_id
case_size(struct rule_case *c, const struct ir_size *s)
{
	struct terms *t = c->t;
	term_id x = 0, y = 0;

	if (s->arg[0] && s->kind != SIZE_DIM && !(x = case_size(c, s->arg[0])))
		return 0;
	if (s->arg[1] && !(y = case_size(c, s->arg[1])))
		return 0;
	switch ((enum size_kind)s->kind) {
	case SIZE_INT: return linear_constant(t, s->i);
	case SIZE_NAME: {
		const int32_t v = name_var(c, s->name);
		return v < 0 ? (case_stop(c, STOP_UNKNOWN, "too many names"), 0)
			     : case_affine(c, linear_var(t, v));
	}
	case SIZE_DIM: {
		int64_t d;
		const struct sym_value *v = NULL;
		term_id at = case_size(c, s->arg[0]);
		if (!at)
			return 0;
		if (!c->value)
			return case_stop(c, STOP_UNKNOWN, "dim of a tensor in a condition"), 0;
		const struct ir_block *body = &c->rule->side[RULE_LEFT]->body;
		for (uint32_t i = 0; i < body->nargs; i++)
			if (body->arg[i].name == s->name && c->value[i].rank)
				v = &c->value[i];
		IR_FOR_OPS (op, &c->rule->side[c->side]->body)
			if (!v && op->nresults == 1 && op->result[0].name == s->name)
				v = &c->value[op->result[0].id - c->first];
		if (!linear_is_constant(t, at, &d))
			return case_each_dim(c, at, v && !v->grouped ? v->rank : -1), 0;
		if (v && v->grouped && (d >= 0 || d == -v->rank))
			return case_stop(c, STOP_UNKNOWN, "dim of '..'"), 0;
		d += v && d < 0 ? v->rank : 0;
		if (v && d >= 0 && d < v->rank)
			return v->dim[d];
		return case_stop(c, STOP_UNKNOWN, "dim of a value that has none yet"), 0;
	}
	case SIZE_NEG: return linear_scale(t, x, -1);
	case SIZE_ADD: return linear_add(t, x, y, 1);
	case SIZE_SUB: return linear_add(t, x, y, -1);
	case SIZE_MUL: return linear_product(t, x, y);
	case SIZE_DIV: return case_quotient(c, x, y, true);
	}
	return 0;
}

int
case_condition(struct rule_case *c, const struct ir_rule_condition *w)
{
	const term_id x = case_size(c, w->arg[0]), y = x ? case_size(c, w->arg[1]) : 0;

	if (!y)
		return -1;
	/* For non-integers, "less" is replaced by "less or equal", which only adds cases to be
	 * proven. */
	const term_id one = linear_constant(c->t, !case_is_real(c, linear_add(c->t, x, y, -1)));
	const term_id up = linear_add(c->t, x, y, -1), down = linear_add(c->t, y, x, -1);
	int holds;
	switch (w->compare) {
	case RULE_EQ: return case_equal(c, x, y);
	case RULE_NE: holds = case_equal(c, x, y); return holds < 0 ? -1 : !holds;
	case RULE_LT: return case_at_least(c, linear_add(c->t, down, one, -1));
	case RULE_LE: return case_at_least(c, down);
	case RULE_GT: return case_at_least(c, linear_add(c->t, up, one, -1));
	case RULE_GE: return case_at_least(c, up);
	}
	return -1;
}
