/*
 * Sizes of rules: names are bound by solving. An expression with a known value and one unknown
 * name, which occurs once, determines that name: n + m = 12 with n = 4 gives m. An expression with
 * more unknown names waits until the others are bound.
 */
#include "passes/rules/matcher.h"

#include <math.h>
#include <string.h>

static struct rule_number
rule_number_of_int(int64_t i)
{
	return (struct rule_number){false, i, (double)i};
}

/* -0 is not an integer. */
static struct rule_number
of_float(double f)
{
	const bool whole = f == floor(f) && fabs(f) < 0x1p53 && !(f == 0 && signbit(f));

	return (struct rule_number){!whole, whole ? (int64_t)f : 0, f};
}

bool
rule_number_of(const struct ir_attr *a, struct rule_number *n)
{
	switch (a->kind) {
	case ATTR_INT:
	case ATTR_BOOL: *n = rule_number_of_int(a->i); return true;
	case ATTR_FLOAT:
	case ATTR_QUANTITY: *n = of_float(a->f); return true;
	default: return false;
	}
}

bool
rule_number_equal(struct rule_number a, struct rule_number b)
{
	if (a.fraction != b.fraction)
		return false;
	return a.fraction ? memcmp(&a.f, &b.f, sizeof a.f) == 0 : a.i == b.i;
}

const struct rule_name *
rule_name_find(const struct rule_match *match, const char *name, bool is_type)
{
	for (int i = 0; i < match->nnames; i++)
		if (match->name[i].name == name && match->name[i].is_type == is_type)
			return &match->name[i];
	return NULL;
}

static bool
same_value(const struct ir_attr *a, const struct ir_attr *b)
{
	struct rule_number x, y;

	if (rule_number_of(a, &x))
		return rule_number_of(b, &y) && rule_number_equal(x, y);
	if (a->kind != b->kind || a->n != b->n)
		return false;
	for (int i = 0; a->kind == ATTR_LIST && i < a->n; i++)
		if (!same_value(&a->list[i], &b->list[i]))
			return false;
	return a->kind == ATTR_LIST || a->kind == RULE_ABSENT || a->i == b->i;
}

bool
matcher_name(struct matcher *x, const char *name, bool is_type, struct ir_attr value)
{
	struct rule_match *match = x->match;
	const struct rule_name *known = rule_name_find(match, name, is_type);

	value.key = NULL;
	if (known)
		return same_value(&known->value, &value);
	if (match->nnames == RULE_MAX_NAMES)
		return false;
	match->name[match->nnames++] = (struct rule_name){name, is_type, value};
	return true;
}

/* Dim `at` of a value of a side, whose values are value[]. */
static bool
dim_of(const struct rule_match *match, int side, struct ir_value *const *value, const char *name,
	int64_t at, int64_t *size)
{
	const struct rule_pattern *p = match->pattern;
	const struct ir_block *b = &p->rule->side[side]->body;
	const struct ir_value *v = NULL;

	for (uint32_t i = 0; i < b->nargs; i++)
		if (b->arg[i].name == name)
			v = &b->arg[i];
	IR_FOR_OPS (op, b)
		for (int i = 0; i < op->nresults; i++)
			if (op->result[i].name == name)
				v = &op->result[i];
	const uint32_t base = side == RULE_LEFT ? p->value_base : p->right_base;
	const struct ir_value *have = v ? value[v->id - base] : NULL;
	if (have && at < 0)
		at += have->type->rank;
	if (!have || at < 0 || at >= have->type->rank)
		return false;
	*size = have->type->dim[at];
	return true;
}

bool
rule_number_of_side(const struct rule_match *match, int side, struct ir_value *const *value,
	const struct ir_size *s, struct rule_number *n)
{
	struct rule_number a = {0}, b = {0};
	const struct rule_name *known;

	if ((s->arg[0] && !rule_number_of_side(match, side, value, s->arg[0], &a)) ||
		(s->arg[1] && !rule_number_of_side(match, side, value, s->arg[1], &b)))
		return false;
	switch ((enum size_kind)s->kind) {
	case SIZE_INT: *n = rule_number_of_int(s->i); return true;
	case SIZE_NAME:
		known = rule_name_find(match, s->name, false);
		return known && rule_number_of(&known->value, n);
	case SIZE_DIM:
		if (a.fraction || !dim_of(match, side, value, s->name, a.i, &n->i))
			return false;
		*n = rule_number_of_int(n->i);
		return true;
	default: break;
	}
	if (a.fraction || b.fraction) {
		*n = of_float(ir_size_join_real((enum size_kind)s->kind, a.f, b.f));
		return isfinite(n->f);
	}
	if (!ir_size_join((enum size_kind)s->kind, a.i, b.i, &n->i))
		return false;
	*n = rule_number_of_int(n->i);
	return true;
}

bool
rule_number(const struct rule_match *match, const struct ir_size *s, struct rule_number *n)
{
	return rule_number_of_side(match, RULE_LEFT, match->value, s, n);
}

enum answer { NO, YES, LATER };

static enum answer solve(struct matcher *x, const struct ir_size *s, struct rule_number value);

/* The value of one operand of an expression, given that the other one is `known` and the result is
 * `v`. */
static enum answer
solve_side(struct matcher *x, const struct ir_size *s, bool left, int64_t known, int64_t v)
{
	const struct ir_size *open = s->arg[left ? 0 : 1];
	int64_t to = 0;
	bool fits = false;

	switch ((enum size_kind)s->kind) {
	case SIZE_ADD: fits = ir_size_join(SIZE_SUB, v, known, &to); break;
	case SIZE_SUB:
		fits = left ? ir_size_join(SIZE_ADD, v, known, &to)
			    : ir_size_join(SIZE_SUB, known, v, &to);
		break;
	case SIZE_MUL:
		if (known == 0)
			return v == 0 ? LATER : NO;
		fits = ir_size_join(SIZE_DIV, v, known, &to);
		break;
	case SIZE_DIV:
		fits = left ? ir_size_join(SIZE_MUL, v, known, &to)
			    : ir_size_join(SIZE_DIV, known, v, &to);
		break;
	default: break;
	}
	return fits ? solve(x, open, rule_number_of_int(to)) : NO;
}

static enum answer
solve(struct matcher *x, const struct ir_size *s, struct rule_number value)
{
	struct rule_number known;

	if (rule_number(x->match, s, &known))
		return rule_number_equal(known, value) ? YES : NO;
	switch ((enum size_kind)s->kind) {
	case SIZE_NAME: {
		struct ir_attr a = {.kind = value.fraction ? ATTR_FLOAT : ATTR_INT};
		if (value.fraction)
			a.f = value.f;
		else
			a.i = value.i;
		return matcher_name(x, s->name, false, a) ? YES : NO;
	}
	case SIZE_NEG:
		if (value.fraction)
			return solve(x, s->arg[0], of_float(-value.f));
		return ir_size_join(SIZE_NEG, value.i, 0, &known.i)
			       ? solve(x, s->arg[0], rule_number_of_int(known.i))
			       : NO;
	case SIZE_INT:
	case SIZE_DIM: return LATER;
	default: break;
	}
	for (int left = 0; left < 2; left++)
		if (rule_number(x->match, s->arg[left ? 1 : 0], &known))
			return value.fraction || known.fraction
				       ? NO
				       : solve_side(x, s, left, known.i, value.i);
	return LATER;
}

bool
matcher_size(struct matcher *x, const struct ir_size *s, struct rule_number value)
{
	const enum answer a = solve(x, s, value);

	if (a != LATER)
		return a == YES;
	if (x->nlater == RULE_MAX_LATER)
		return false;
	x->later[x->nlater].size = s;
	x->later[x->nlater++].value = value;
	return true;
}

static bool
holds(const struct rule_match *match, const struct ir_rule_condition *c)
{
	struct rule_number a, b;

	if (!rule_number(match, c->arg[0], &a) || !rule_number(match, c->arg[1], &b))
		return false;
	const bool less = a.fraction || b.fraction ? a.f < b.f : a.i < b.i,
		   more = a.fraction || b.fraction ? a.f > b.f : a.i > b.i,
		   equal = a.fraction || b.fraction ? a.f == b.f : a.i == b.i;
	switch (c->compare) {
	case RULE_EQ: return equal;
	case RULE_NE: return !equal;
	case RULE_LT: return less;
	case RULE_LE: return less || equal;
	case RULE_GT: return more;
	case RULE_GE: return more || equal;
	}
	return false;
}

bool
matcher_finish_sizes(struct matcher *x)
{
	const struct rule_pattern *p = x->match->pattern;
	int left = x->nlater, before = left + 1;

	while (left && left < before) {
		before = left;
		left = 0;
		for (int i = 0; i < before; i++) {
			const enum answer a = solve(x, x->later[i].size, x->later[i].value);
			if (a == NO)
				return false;
			if (a == LATER)
				x->later[left++] = x->later[i];
		}
	}
	if (left)
		return false;
	for (int i = 0; i < p->rule->nwhere; i++)
		if (!holds(x->match, &p->rule->where[i]))
			return false;
	for (int i = 0; i < p->nwhere; i++)
		if (!holds(x->match, &p->where[i]))
			return false;
	return true;
}

bool
matcher_type(struct matcher *x, const struct ir_type_text *want, const struct ir_type *have)
{
	struct rule_match *match = x->match;
	const int lead = have->rank - want->rank;
	const struct ir_attr dtype = {.kind = ATTR_DTYPE, .i = have->dtype};

	if (have->memory != IR_DEVICE)
		return false;
	if (!match->pattern->pointwise && (want->dots ? lead < 0 : lead != 0))
		return false;
	if (want->letter ? !row_letter_fits(*want->letter, (enum ir_dtype)have->dtype) ||
				   !matcher_name(x, want->letter, true, dtype)
			 : want->dtype != have->dtype)
		return false;
	if (match->pattern->pointwise) /* values that are broadcast to the dims of the result */
		return true;
	if (want->dots && match->ndots < 0) {
		match->ndots = lead;
		memcpy(match->dots, have->dim, (size_t)lead * sizeof *match->dots);
	}
	if (want->dots &&
		(match->ndots != lead ||
			memcmp(match->dots, have->dim, (size_t)lead * sizeof *match->dots) != 0))
		return false;
	for (int i = 0; i < want->rank; i++)
		if (!matcher_size(x, want->dim[i], rule_number_of_int(have->dim[lead + i])))
			return false;
	return true;
}
