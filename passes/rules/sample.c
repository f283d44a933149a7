/*
 * Sizes and attributes at which a case that is not proven is tried first: numbers for its free
 * variables, from the smallest on, give values of the rule's names that lie in the case.
 */
#include "passes/rules/decision.h"

/* The number that a variable stands for in a variant; false: none is known. */
static bool
number_of_var(const struct terms *t, int32_t v, int variant, int64_t *value)
{
	static const int8_t more[SAMPLE_VARIANTS][2] = {{0, 0}, {1, 1}, {0, 1}, {2, 1}};
	const struct var *var = &t->var.at[v];
	int64_t one;

	switch ((enum var_kind)var->kind) {
	case VAR_SIZE:
	case VAR_INTEGER: *value = var->low + more[variant][v % 2]; return true;
	case VAR_PRODUCT:
		*value = 1;
		for (int i = 0; i < var->nkeys; i++) {
			if (!number_of_var(t, var->key[i], variant, &one) ||
				__builtin_mul_overflow(*value, one, value))
				return false;
		}
		return true;
	default: return false;
	}
}

static bool
number_of(const struct terms *t, term_id e, int variant, int64_t *value)
{
	*value = linear_rest(t, e);
	for (int i = 0; i < linear_nvars(t, e); i++) {
		int64_t k, one;
		const int32_t v = linear_var_at(t, e, i, &k);
		if (!number_of_var(t, v, variant, &one) || __builtin_mul_overflow(one, k, &one) ||
			__builtin_add_overflow(*value, one, value))
			return false;
	}
	return true;
}

static void
take(struct rule_sample *s, const struct rule_case *c, const char *name, int64_t value)
{
	if (name == case_dots)
		s->dots[s->ndots++] = value;
	for (int k = 0; k < IR_MAX_RANK && k < c->dots; k++)
		if (name == case_dots_dim[k])
			s->dots[s->ndots++] = value;
	s->value[s->n].name = name;
	s->value[s->n++].number = value;
}

void
decision_sample(struct decision *d, const struct rule_case *c)
{
	struct terms *t = &d->t;

	for (int k = 0; k < SAMPLE_VARIANTS && d->samples.n < SAMPLES && !t->bitwise; k++) {
		struct rule_sample *s = &d->samples.at[d->samples.n++];
		s->n = s->ndots = 0;
		for (int i = 0; i < c->nnames && s->n < SAMPLE_NAMES; i++) {
			const term_id e =
				linear_replace(t, linear_var(t, c->name[i].v), c->by, CASE_VARS);
			int64_t value;
			if (e && number_of(t, e, k, &value))
				take(s, c, c->name[i].name, value);
		}
	}
}
