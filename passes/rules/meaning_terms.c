/* Attributes, sizes and positions of index notation, as affine forms. */
#include "passes/rules/meaning_impl.h"

#include <string.h>

const struct ir_attr *
sym_attr_or_default(const struct sym_op *s, const char *key)
{
	const struct ir_attr *a = ir_attr_find(s->op, key);
	const struct row_attr *row = a ? NULL : row_attr_find(s->row, key);

	return a ? a : row && row->has_default ? &row->otherwise : NULL;
}

static term_id
name_affine(struct rule_case *c, const char *name)
{
	const struct ir_size s = {.kind = SIZE_NAME, .name = name};

	return case_size(c, &s);
}

term_id
sym_attr_affine(struct rule_case *c, const struct ir_attr *a)
{
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
	case ATTR_BOOL: return linear_constant(c->t, a->i);
	case ATTR_SIZE: return case_size(c, a->size);
	case ATTR_NAME: return name_affine(c, a->s);
	case ATTR_FLOAT:
		if (a->f == (double)(int64_t)a->f)
			return linear_constant(c->t, (int64_t)a->f);
		return unknown(c, "an attribute with a fraction");
	default: return unknown(c, "an attribute of this kind");
	}
}

/* An attribute as a number. */
static term_id
size_poly(struct rule_case *c, const struct ir_size *s)
{
	struct terms *t = c->t;
	term_id arg[2] = {0, 0};

	if (s->kind == SIZE_INT || s->kind == SIZE_NAME || s->kind == SIZE_DIM)
		return poly_affine(t, case_size(c, s));
	for (int i = 0; i < 2; i++)
		if (s->arg[i] && !(arg[i] = size_poly(c, s->arg[i])))
			return 0;
	switch ((enum size_kind)s->kind) {
	case SIZE_NEG: return poly_scale(t, arg[0], -1, 1);
	case SIZE_ADD: return poly_add(t, arg[0], arg[1]);
	case SIZE_SUB: return poly_sub(t, arg[0], arg[1]);
	case SIZE_MUL: return poly_mul(t, arg[0], arg[1]);
	default: return poly_apply(t, FN_div, arg, 2, APPLY_REAL);
	}
}

term_id
sym_attr_poly(struct rule_case *c, const struct ir_attr *a)
{
	if (a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY)
		return poly_double(c->t, a->f);
	if (a->kind == ATTR_SIZE)
		return size_poly(c, a->size);
	return poly_affine(c->t, sym_attr_affine(c, a));
}

/* Dims that an attribute lists: -1: absent, -2: c->stop. */
int
sym_dims_of(struct rule_case *c, const struct sym_op *s, const char *key, int rank,
	int dims[IR_MAX_RANK])
{
	const struct ir_attr *a = ir_attr_find(s->op, key);

	if (!a)
		return -1;
	if (a->kind != ATTR_LIST || a->n > IR_MAX_RANK)
		return case_stop(c, STOP_UNKNOWN, "a list of dims that is not known"), -2;
	for (int i = 0; i < a->n; i++) {
		const term_id e = sym_attr_affine(c, &a->list[i]);
		int64_t d;
		if (!e)
			return -2;
		if (!linear_is_constant(c->t, e, &d))
			return case_each_dim(c, e, s->grouped ? -1 : rank), -2;
		if (s->grouped && d >= 0)
			return case_stop(c, STOP_UNKNOWN,
				       "dims of a tensor with '..' are counted from the end"),
			       -2;
		d += d < 0 ? rank : 0;
		if (d < 0 || d >= rank)
			return case_stop(c, STOP_ILL, "a dim that does not exist"), -2;
		if (s->grouped && d == 0)
			return case_stop(c, STOP_UNKNOWN, "an attribute names dims of '..'"), -2;
		for (int k = 0; k < i; k++)
			if (dims[k] == (int)d)
				return case_stop(c, STOP_ILL, "a dim that is listed twice"), -2;
		dims[i] = (int)d;
	}
	return a->n;
}

int
sym_dim_of(struct rule_case *c, const struct sym_op *s, const char *key, int rank)
{
	const struct ir_attr *a = sym_attr_or_default(s, key);
	const term_id e = a ? sym_attr_affine(c, a) : linear_constant(c->t, 0);
	int64_t d;

	if (!e)
		return -1;
	if (!linear_is_constant(c->t, e, &d))
		return case_each_dim(c, e, s->grouped ? -1 : rank);
	if (s->grouped && d >= 0)
		return case_stop(
			c, STOP_UNKNOWN, "dims of a tensor with '..' are counted from the end");
	d += d < 0 ? rank : 0;
	if (d < 0 || d >= rank)
		return case_stop(c, STOP_ILL, "a dim that does not exist");
	if (s->grouped && d == 0)
		return case_stop(c, STOP_UNKNOWN, "an attribute names dims of '..'");
	return (int)d;
}

/* The entry of a list for dim `which`; -1: none; -2: c->stop is set. */
static int
entry_of(struct rule_case *c, const struct sym_op *s, int which)
{
	int dims[IR_MAX_RANK];
	const int n = sym_dims_of(c, s, "dims", s->dots_rank, dims);

	if (n == -2)
		return -2;
	for (int i = 0; i < n; i++)
		if (dims[i] == which)
			return i;
	return n == -1 ? which : -1;
}

/* The attribute's value for the current dim; NULL: it has none, or c->stop is set. */
const struct ir_attr *
sym_attr_entry(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	const struct ir_attr *a = ir_attr_find(s->op, t->name);
	const struct row_attr *row = row_attr_find(s->row, t->name);
	const bool list = row->type == ROW_INTS || row->type == ROW_SIZES;

	if (a && list && a->kind == ATTR_LIST) {
		const int entry = t->entry >= 0 ? t->entry : entry_of(c, s, at->which);
		if (entry == -2)
			return NULL;
		if (entry >= 0) {
			if (s->grouped && t->entry < 0 && !ir_attr_find(s->op, "dims"))
				return unknown(c, "a list for each dim of a tensor with '..'"),
				       NULL;
			if (entry >= a->n)
				return ill(c, "a list that is too short"), NULL;
			return &a->list[entry];
		}
		a = NULL;
	} else if (a && list) {
		return unknown(c, "a list that is not known"), NULL;
	}
	if (!a && t->kind == TERM_GIVEN)
		return NULL;
	return a ? a : row->has_default ? &row->otherwise : NULL;
}

/* --- terms as affine forms --- */

int
sym_operand_of(const struct sym_op *s, const char *name)
{
	for (int j = 0; j < s->p->ninputs; j++)
		if (s->p->name[j] == name)
			return j;
	return -1;
}

static term_id
extent_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	int operand = at ? at->operand : 0, dim = at ? at->dim : 0;

	if (t->name) {
		operand = sym_operand_of(s, t->name);
		const int rank = s->in[operand]->rank;
		dim = t->each    ? at->which
		      : t->along ? sym_dim_of(c, s, "dim", rank)
				 : t->entry + (t->entry < 0 ? rank : 0);
	}
	if (dim < 0)
		return c->stop == STOP_NONE ? ill(c, "a dim that does not exist") : 0;
	const struct sym_value *v = s->in[operand < 0 ? 0 : operand];
	return dim < v->rank ? v->dim[dim] : linear_constant(c->t, 1);
}

static term_id
index_at(struct rule_case *c, const struct spot *at, int index)
{
	return at && at->index && index >= 0 ? at->index[index]
					     : unknown(c, "a position in a size");
}

static bool
same_term(const struct term *a, const struct term *b)
{
	if (a->kind != b->kind || a->fn != b->fn || a->nargs != b->nargs || a->entry != b->entry ||
		a->along != b->along || a->each != b->each || a->value != b->value ||
		a->name != b->name)
		return false;
	for (int i = 0; i < a->nargs; i++)
		if (!same_term(a->arg[i], b->arg[i]))
			return false;
	return true;
}

/* x / y * y == x */
static bool
is_multiple_term(const struct term *t)
{
	const struct term *product = t->arg[0];

	if (product->kind != TERM_CALL || product->fn != FN_mul)
		return false;
	const struct term *quotient = product->arg[0];
	return quotient->kind == TERM_CALL && quotient->fn == FN_div &&
	       same_term(quotient->arg[1], product->arg[1]) &&
	       same_term(quotient->arg[0], t->arg[1]);
}

term_id
sym_comparison(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	const bool less = t->fn == FN_lt || t->fn == FN_le,
		   strict = t->fn == FN_lt || t->fn == FN_gt;
	const term_id x = sym_linear_term(c, s, t->arg[0], at),
		      y = x || c->data ? sym_linear_term(c, s, t->arg[1], at) : 0;

	if (!x || !y)
		return 0;
	return linear_add(c->t, less ? linear_add(c->t, y, x, -1) : linear_add(c->t, x, y, -1),
		linear_constant(c->t, strict), -1);
}

/* 1 true, 0 false; -1: c->stop is set; 2: it depends on several positions, or on elements. */
int
sym_truth_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	struct terms *u = c->t;
	term_id x, y;
	int a, b;

	if (t->kind == TERM_LISTED) {
		int dims[IR_MAX_RANK];
		const int n = sym_dims_of(c, s, t->name ? t->name : "dims", s->dots_rank, dims);
		if (n == -2)
			return -1;
		if (n == -1)
			return 1;
		for (int i = 0; i < n; i++)
			if (dims[i] == at->which)
				return 1;
		return 0;
	}
	if (t->kind != TERM_CALL) {
		x = sym_linear_term(c, s, t, at);
		int64_t k;
		if (!x)
			return -1;
		return linear_is_constant(u, x, &k) ? k != 0 : 2;
	}
	switch (t->fn) {
	case FN_select:
		a = sym_truth_term(c, s, t->arg[0], at);
		return a == 0 || a == 1 ? sym_truth_term(c, s, t->arg[a ? 1 : 2], at) : a;
	case FN_not: a = sym_truth_term(c, s, t->arg[0], at); return a == 0 || a == 1 ? !a : a;
	case FN_and:
	case FN_or: {
		a = sym_truth_term(c, s, t->arg[0], at);
		const int decides = t->fn == FN_or;
		if (a < 0 || a == decides)
			return a;
		b = sym_truth_term(c, s, t->arg[1], at);
		if (b < 0 || b == decides)
			return b;
		return a == 2 || b == 2 ? 2 : !decides;
	}
	case FN_eq:
	case FN_ne:
	case FN_lt:
	case FN_le:
	case FN_gt:
	case FN_ge: break;
	default:
		x = sym_linear_term(c, s, t, at);
		if (!x)
			return -1;
		int64_t k;
		return linear_is_constant(u, x, &k) ? k != 0 : 2;
	}
	if (t->fn == FN_eq && is_multiple_term(t)) {
		x = sym_linear_term(c, s, t->arg[1], at);
		y = x ? sym_linear_term(c, s, t->arg[0]->arg[1], at) : 0;
		return y ? case_divides(c, x, y) : -1;
	}
	x = sym_comparison(c, s, t, at);
	if (c->data)
		return 2;
	if (!x)
		return -1;
	if (t->fn != FN_eq && t->fn != FN_ne)
		return case_at_least(c, x);
	a = case_equal(c, x, linear_constant(u, 0));
	return t->fn == FN_ne && (a == 0 || a == 1) ? !a : a;
}

/* e / d if that is an integer and a position of a dim of such an extent, otherwise -1; 0: c->stop. */
static term_id
exact_position(struct rule_case *c, term_id e, term_id d, term_id extent)
{
	struct terms *u = c->t;
	const term_id one = linear_constant(u, 1), last = linear_add(u, extent, one, -1),
		      left = linear_add(u, linear_product(u, last, d), e, -1);
	int inside = case_at_least(c, e);

	if (inside == 1)
		inside = case_at_least(c, left);
	if (inside <= 0)
		return inside < 0 ? 0 : linear_constant(u, -1);
	const term_id q = case_quotient(c, e, d, false);
	if (!q)
		return 0;
	const int whole = case_is_zero(c, linear_add(u, e, linear_product(u, q, d), -1));
	if (whole == 2)
		return unknown(c, "a position that a size divides");
	return whole < 0 ? 0 : whole ? q : linear_constant(u, -1);
}

static term_id
linear_call(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	struct terms *u = c->t;
	term_id arg[3] = {0, 0, 0};
	int64_t k;
	int holds;

	if (t->fn == FN_select) {
		holds = sym_truth_term(c, s, t->arg[0], at);
		if (holds < 0)
			return 0;
		if (holds == 2)
			return unknown(c, "a position that a condition on positions chooses");
		return sym_linear_term(c, s, t->arg[holds ? 1 : 2], at);
	}
	for (int i = 0; i < t->nargs; i++)
		if (!(arg[i] = sym_linear_term(c, s, t->arg[i], at)))
			return 0;
	switch (t->fn) {
	case FN_add: return linear_add(u, arg[0], arg[1], 1);
	case FN_sub: return linear_add(u, arg[0], arg[1], -1);
	case FN_neg: return linear_scale(u, arg[0], -1);
	case FN_mul: return linear_product(u, arg[0], arg[1]);
	case FN_div: return case_quotient(c, arg[0], arg[1], false);
	case FN_minimum:
	case FN_maximum:
		holds = case_at_least(c, linear_add(u, arg[0], arg[1], -1));
		if (holds < 0)
			return 0;
		if (holds == 2)
			return unknown(c, "a minimum of positions");
		return arg[(holds == 1) == (t->fn == FN_maximum) ? 0 : 1];
	case FN_convert: return arg[0];
	case FN_exact:
		if (linear_is_constant(u, arg[1], &k) && k == 1)
			return arg[0];
		return exact_position(c, arg[0], arg[1], s->in[at->operand]->dim[at->dim]);
	default: return unknown(c, "a position by such a function");
	}
}

term_id
sym_linear_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	struct terms *u = c->t;

	switch (t->kind) {
	case TERM_CONST:
		if (t->value == (double)(int64_t)t->value)
			return linear_constant(u, (int64_t)t->value);
		return unknown(c, "a position with a fraction");
	case TERM_ATTR:
		if (strcmp(t->name, "dim") == 0) {
			const int d = sym_dim_of(c, s, t->name, s->dots_rank);
			return d < 0 ? 0 : linear_constant(u, d);
		}
		/* fall through */
	case TERM_GIVEN: {
		const struct ir_attr *a = sym_attr_entry(c, s, t, at);
		if (c->stop != STOP_NONE)
			return 0;
		if (a)
			return sym_attr_affine(c, a);
		return t->kind == TERM_GIVEN ? sym_linear_term(c, s, t->arg[0], at)
					     : unknown(c, "an attribute that is not given");
	}
	case TERM_LISTED: {
		const int holds = sym_truth_term(c, s, t, at);
		return holds < 0 ? 0 : linear_constant(u, holds);
	}
	case TERM_SIZE:
		return t->name[1] == '\0' && s->letter[(int)*t->name] >= 0
			       ? s->size[s->letter[(int)*t->name]]
			       : unknown(c, "a size of several dims");
	case TERM_AT: {
		const int d = sym_dim_of(c, s, t->name, s->dots_rank);
		return d < 0 ? 0 : index_at(c, at, s->dots + d);
	}
	case TERM_EXTENT: return extent_term(c, s, t, at);
	case TERM_HERE: return at->index ? index_at(c, at, s->dots + at->here) : unknown(c, "here");
	case TERM_WHICH: return linear_constant(u, at->which);
	case TERM_NAME:
		if (sym_operand_of(s, t->name) >= 0) {
			c->data = true;
			return 0;
		}
		return index_at(c, at, s->letter[(int)*t->name]);
	case TERM_CALL: return linear_call(c, s, t, at);
	default: return unknown(c, "random numbers, and positions by number");
	}
}
