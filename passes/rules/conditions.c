/* Conditions that separate the cases in which a rule holds from those in which it does not. */
#include "passes/rules/decision.h"

#include <string.h>

/* The signs of e that are possible in the case: bits 1 negative, 2 zero, 4 positive. */
static int
signs_of(const struct outcome *o, term_id e)
{
	static const int bits[] = {1, 2, 4, 6, 3};
	int open = 7;

	for (int i = 0; i < o->ntrail; i++)
		if (o->trail[i].e == e)
			open &= bits[o->trail[i].sign + 1];
	return open;
}

struct found_condition {
	term_id e;
	int signs;
};

/* Does the condition allow all signs that are possible in the case? */
static bool
is_within(const struct outcome *o, const struct found_condition *found, int n)
{
	for (int i = 0; i < n; i++)
		if (signs_of(o, found[i].e) & ~found[i].signs)
			return false;
	return true;
}

/* Do the conditions certainly exclude the case? */
static bool
is_excluded(const struct outcome *o, const struct found_condition *found, int n)
{
	for (int i = 0; i < n; i++)
		if (!(signs_of(o, found[i].e) & found[i].signs))
			return true;
	return false;
}

/* Finds the condition that excludes a bad case and keeps the most cases that hold. */
static bool
find_condition(struct decision *d, const struct outcome *bad, struct found_condition *found, int n)
{
	int best = 0;

	for (int i = 0; i < bad->ntrail; i++) {
		const term_id e = bad->trail[i].e;
		const int signs = signs_of(bad, e);
		int left = 0;
		if (!e || !signs) /* the case leaves no sign of e: there is nothing to exclude */
			continue;
		const struct found_condition one = {e, 7 & ~signs};
		found[n] = one;
		for (int k = 0; k < d->outcome.n; k++)
			left += d->outcome.at[k].holds &&
				is_within(&d->outcome.at[k], found, n + 1);
		if (left <= best)
			continue;
		best = left;
		found[WHERE_MOST] = one;
	}
	if (best)
		found[n] = found[WHERE_MOST];
	return best > 0;
}

/* As a size: the terms of e with positive factors or, for `sign` -1, those with negative
 * factors. */
static const struct ir_size *
size_of(struct decision *d, struct arena *a, term_id e, int sign)
{
	const struct ir_size *sum = NULL;

	for (int i = -1; i < linear_nvars(&d->t, e); i++) {
		int64_t k = linear_rest(&d->t, e);
		const int32_t v = i < 0 ? -1 : linear_var_at(&d->t, e, i, &k);
		struct ir_size *one;
		if (k * sign <= 0 && !(i < 0 && k == 0 && linear_nvars(&d->t, e) == 0))
			continue;
		one = ARENA_NEW(a, struct ir_size);
		if (v >= 0)
			*one = (struct ir_size){.kind = SIZE_NAME, .name = d->t.var.at[v].name};
		else
			*one = (struct ir_size){.kind = SIZE_INT, .i = k * sign};
		if (v >= 0 && k * sign != 1) {
			struct ir_size *factor = ARENA_NEW(a, struct ir_size),
				       *product = ARENA_NEW(a, struct ir_size);
			*factor = (struct ir_size){.kind = SIZE_INT, .i = k * sign};
			*product = (struct ir_size){
				.kind = SIZE_MUL, .depth = 1, .arg = {factor, one}};
			one = product;
		}
		if (sum) {
			struct ir_size *both = ARENA_NEW(a, struct ir_size);
			*both = (struct ir_size){.kind = SIZE_ADD,
				.depth = (uint16_t)(sum->depth + 2),
				.arg = {sum, one}};
			sum = both;
		} else {
			sum = one;
		}
	}
	if (!sum) {
		struct ir_size *zero = ARENA_NEW(a, struct ir_size);
		*zero = (struct ir_size){.kind = SIZE_INT};
		sum = zero;
	}
	return sum;
}

static bool
names_only(const struct decision *d, term_id e)
{
	for (int i = 0; i < linear_nvars(&d->t, e); i++) {
		int64_t k;
		const char *name = d->t.var.at[linear_var_at(&d->t, e, i, &k)].name;
		if (!name || *name == '.')
			return false;
	}
	return true;
}

/* Does the condition involve attributes, and not only sizes of the parameters? */
static bool
of_attributes(const struct decision *d, term_id e)
{
	for (int i = 0; i < linear_nvars(&d->t, e); i++) {
		int64_t k;
		if (d->t.var.at[linear_var_at(&d->t, e, i, &k)].kind == VAR_INTEGER)
			return true;
	}
	return false;
}

int
decision_conditions(
	struct decision *d, struct arena *a, struct ir_rule_condition *where, bool *bounds)
{
	static const enum ir_rule_compare compare[] = {[1] = RULE_LT,
		[2] = RULE_EQ,
		[3] = RULE_LE,
		[4] = RULE_GT,
		[5] = RULE_NE,
		[6] = RULE_GE};
	struct found_condition found[WHERE_MOST + 1];
	int n = 0;

	*bounds = true;
	for (int k = 0; k < d->outcome.n; k++) {
		if (d->outcome.at[k].holds || is_excluded(&d->outcome.at[k], found, n))
			continue;
		if (n == WHERE_MOST || !find_condition(d, &d->outcome.at[k], found, n) ||
			!names_only(d, found[n].e))
			return -1;
		int same = 0;
		while (found[same].e != found[n].e)
			same++;
		found[same].signs &= found[n].signs;
		n += same == n;
	}
	for (int i = 0; i < n; i++)
		*bounds = *bounds && found[i].signs != 2 && of_attributes(d, found[i].e);
	for (int i = 0; i < n; i++)
		where[i] = (struct ir_rule_condition){compare[found[i].signs],
			{size_of(d, a, found[i].e, 1), size_of(d, a, found[i].e, -1)},
			d->rule->loc};
	return n;
}
