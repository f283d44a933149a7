/* Index notation over affine forms: the counterpart of ir/ops/form.c with sizes that are not known. */
#include "passes/rules/meaning.h"

#include "ir/ops/row.h"

#include <ctype.h>
#include <string.h>

enum { NO_INDEX = -1, COMPUTED = -2 };

/* An op with its indices: as struct form. */
struct sym_op {
	const struct ir_op *op;
	const struct ir_row *row;
	const struct pattern *p;
	const struct sym_value *in[FORM_MAX_INPUTS];
	int nin;
	term_id size[FORM_MAX_INDICES];
	bool fixed[FORM_MAX_INDICES];
	int nindices, dots, dots_rank, star, star_rank;
	int8_t letter[128];
	int8_t access[FORM_MAX_INPUTS][IR_MAX_RANK], out[IR_MAX_RANK];
	const struct pattern_item *at[FORM_MAX_INPUTS][IR_MAX_RANK], *out_at[IR_MAX_RANK];
	int8_t which[FORM_MAX_INPUTS][IR_MAX_RANK];
	uint32_t reduced;
	enum form_reduce reduce;
	bool grouped;
	int dim; /* concat */
};

/* What a term is about: a position of an evaluation, a dim of a group. */
struct spot {
	const term_id *index; /* positions of the indices; NULL: of sizes */
	int operand, dim, here, which;
};

static term_id linear_of(struct rule_case *c, term_id p);
static term_id poly_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);
static term_id linear_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);

/* No term, and false. */
static int
unknown(struct rule_case *c, const char *why)
{
	case_stop(c, STOP_UNKNOWN, why);
	return 0;
}

static int
ill(struct rule_case *c, const char *why)
{
	case_stop(c, STOP_ILL, why);
	return 0;
}

const struct sym_value *
case_value(const struct rule_case *c, const struct ir_value *v)
{
	return &c->value[v->id - c->first];
}

/* --- attributes --- */

static const struct ir_attr *
attr_or_default(const struct sym_op *s, const char *key)
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

static term_id
attr_affine(struct rule_case *c, const struct ir_attr *a)
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

static term_id
attr_poly(struct rule_case *c, const struct ir_attr *a)
{
	if (a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY)
		return poly_double(c->t, a->f);
	if (a->kind == ATTR_SIZE)
		return size_poly(c, a->size);
	return poly_affine(c->t, attr_affine(c, a));
}

/* Dims that an attribute lists: -1: absent, -2: c->stop. */
static int
dims_of(struct rule_case *c, const struct sym_op *s, const char *key, int rank,
	int dims[IR_MAX_RANK])
{
	const struct ir_attr *a = ir_attr_find(s->op, key);

	if (!a)
		return -1;
	if (a->kind != ATTR_LIST || a->n > IR_MAX_RANK)
		return case_stop(c, STOP_UNKNOWN, "a list of dims that is not known"), -2;
	for (int i = 0; i < a->n; i++) {
		const term_id e = attr_affine(c, &a->list[i]);
		int64_t d;
		if (!e)
			return -2;
		if (!linear_is_constant(c->t, e, &d))
			return case_stop(c, STOP_UNKNOWN, "a dim that is not known"), -2;
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

static int
dim_of(struct rule_case *c, const struct sym_op *s, const char *key, int rank)
{
	const struct ir_attr *a = attr_or_default(s, key);
	const term_id e = a ? attr_affine(c, a) : linear_constant(c->t, 0);
	int64_t d;

	if (!e)
		return -1;
	if (!linear_is_constant(c->t, e, &d))
		return case_stop(c, STOP_UNKNOWN, "a dim that is not known");
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

/* Which entry of a list is about dim `which`; -1: none; -2: c->stop. */
static int
entry_of(struct rule_case *c, const struct sym_op *s, int which)
{
	int dims[IR_MAX_RANK];
	const int n = dims_of(c, s, "dims", s->dots_rank, dims);

	if (n == -2)
		return -2;
	for (int i = 0; i < n; i++)
		if (dims[i] == which)
			return i;
	return n == -1 ? which : -1;
}

/* The attribute's value for the dim at hand; NULL: it has none, or c->stop. */
static const struct ir_attr *
attr_entry(struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
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

static int
operand_of(const struct sym_op *s, const char *name)
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
		operand = operand_of(s, t->name);
		const int rank = s->in[operand]->rank;
		dim = t->each    ? at->which
		      : t->along ? dim_of(c, s, "dim", rank)
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

/* 1, 0; -1: c->stop; 2: it depends on positions together, or on elements. */
static int
truth_term(struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	struct terms *u = c->t;
	term_id x, y;
	int a, b;

	if (t->kind == TERM_LISTED) {
		int dims[IR_MAX_RANK];
		const int n = dims_of(c, s, t->name ? t->name : "dims", s->dots_rank, dims);
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
		x = linear_term(c, s, t, at);
		int64_t k;
		if (!x)
			return -1;
		return linear_is_constant(u, x, &k) ? k != 0 : 2;
	}
	switch (t->fn) {
	case FN_select:
		a = truth_term(c, s, t->arg[0], at);
		return a == 0 || a == 1 ? truth_term(c, s, t->arg[a ? 1 : 2], at) : a;
	case FN_not: a = truth_term(c, s, t->arg[0], at); return a == 0 || a == 1 ? !a : a;
	case FN_and:
	case FN_or: {
		a = truth_term(c, s, t->arg[0], at);
		const int decides = t->fn == FN_or;
		if (a < 0 || a == decides)
			return a;
		b = truth_term(c, s, t->arg[1], at);
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
		x = linear_term(c, s, t, at);
		if (!x)
			return -1;
		int64_t k;
		return linear_is_constant(u, x, &k) ? k != 0 : 2;
	}
	if (t->fn == FN_eq && is_multiple_term(t)) {
		x = linear_term(c, s, t->arg[1], at);
		y = x ? linear_term(c, s, t->arg[0]->arg[1], at) : 0;
		return y ? case_divides(c, x, y) : -1;
	}
	x = linear_term(c, s, t->arg[0], at);
	y = x || c->data ? linear_term(c, s, t->arg[1], at) : 0;
	if (c->data)
		return 2;
	if (!x || !y)
		return -1;
	const term_id up = linear_add(u, x, y, -1), down = linear_add(u, y, x, -1),
		      one = linear_constant(u, 1);
	switch (t->fn) {
	case FN_eq: return case_equal(c, x, y);
	case FN_ne: a = case_equal(c, x, y); return a == 0 || a == 1 ? !a : a;
	case FN_lt: return case_at_least(c, linear_add(u, down, one, -1));
	case FN_le: return case_at_least(c, down);
	case FN_gt: return case_at_least(c, linear_add(u, up, one, -1));
	default: return case_at_least(c, up);
	}
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
		holds = truth_term(c, s, t->arg[0], at);
		if (holds < 0)
			return 0;
		if (holds == 2)
			return unknown(c, "a position that a condition on positions chooses");
		return linear_term(c, s, t->arg[holds ? 1 : 2], at);
	}
	for (int i = 0; i < t->nargs; i++)
		if (!(arg[i] = linear_term(c, s, t->arg[i], at)))
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
	case FN_exact: {
		if (linear_is_constant(u, arg[1], &k) && k == 1)
			return arg[0];
		const term_id q = case_quotient(c, arg[0], arg[1], false);
		if (!q)
			return 0;
		const int whole = case_equal(c, linear_product(u, q, arg[1]), arg[0]);
		if (whole < 0)
			return 0;
		if (whole == 2)
			return unknown(c, "a position that a size divides");
		return whole ? q : linear_constant(u, -1);
	}
	default: return unknown(c, "a position by such a function");
	}
}

static term_id
linear_term(
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
			const int d = dim_of(c, s, t->name, s->dots_rank);
			return d < 0 ? 0 : linear_constant(u, d);
		}
		/* fall through */
	case TERM_GIVEN: {
		const struct ir_attr *a = attr_entry(c, s, t, at);
		if (c->stop != STOP_NONE)
			return 0;
		if (a)
			return attr_affine(c, a);
		return t->kind == TERM_GIVEN ? linear_term(c, s, t->arg[0], at)
					     : unknown(c, "an attribute that is not given");
	}
	case TERM_LISTED: {
		const int holds = truth_term(c, s, t, at);
		return holds < 0 ? 0 : linear_constant(u, holds);
	}
	case TERM_SIZE:
		return t->name[1] == '\0' && s->letter[(int)*t->name] >= 0
			       ? s->size[s->letter[(int)*t->name]]
			       : unknown(c, "a size of several dims");
	case TERM_AT: {
		const int d = dim_of(c, s, t->name, s->dots_rank);
		return d < 0 ? 0 : index_at(c, at, s->dots + d);
	}
	case TERM_EXTENT: return extent_term(c, s, t, at);
	case TERM_HERE: return at->index ? index_at(c, at, s->dots + at->here) : unknown(c, "here");
	case TERM_WHICH: return linear_constant(u, at->which);
	case TERM_NAME:
		if (operand_of(s, t->name) >= 0) {
			c->data = true;
			return 0;
		}
		return index_at(c, at, s->letter[(int)*t->name]);
	case TERM_CALL: return linear_call(c, s, t, at);
	default: return unknown(c, "random numbers, and positions by number");
	}
}

/* --- elements --- */

/* [e >= 0] as a polynomial. */
static term_id
indicator(struct rule_case *c, term_id e)
{
	const int holds = case_at_least(c, e);

	if (holds < 0)
		return 0;
	return holds == 2 ? poly_at_least(c->t, case_affine(c, e)) : poly_constant(c->t, holds, 1);
}

/* The dim of operand j at the position that its item gives, elements included. */
static term_id
position_of(struct rule_case *c, const struct sym_op *s, int j, int d, const term_id *index,
	term_id *inside)
{
	struct terms *t = c->t;
	const struct spot at = {index, j, d, s->which[j][d], s->which[j][d]};
	const term_id extent = s->in[j]->dim[d];

	*inside = 0;
	if (s->access[j][d] == NO_INDEX)
		return linear_constant(t, 0);
	if (s->access[j][d] >= 0)
		return index[s->access[j][d]];
	c->data = false;
	term_id e = linear_term(c, s, s->at[j][d]->at, &at);
	if (c->data) {
		c->data = false;
		const term_id p = poly_term(c, s, s->at[j][d]->at, &at);
		if (!p)
			return 0;
		if ((e = linear_of(c, p)))
			goto known;
		const int32_t key = p;
		const int32_t v = var_of(t, VAR_DATA, &key, 1);
		if (v >= CASE_VARS)
			return unknown(c, "too many positions that elements give");
		c->high[v] = extent;
		const term_id arg[2] = {p, poly_affine(t, extent)};
		*inside = poly_apply_plain(t, APPLY_IN_RANGE, arg, 2);
		for (int i = 0; i < c->nfacts; i++)
			if (c->fact[i].factor == poly_factor(t, *inside))
				*inside = poly_constant(t, c->fact[i].holds, 1);
		return linear_var(t, v);
	}
	if (!e)
		return 0;
known:
	if (!(e = case_affine(c, e)))
		return 0;
	const term_id low = indicator(c, e);
	if (!low)
		return 0;
	if (poly_is_integer(t, low, 0)) {
		*inside = low;
		return e;
	}
	const term_id high = indicator(
		c, linear_add(t, linear_add(t, extent, e, -1), linear_constant(t, 1), -1));
	if (!high || !(*inside = poly_mul(t, low, high)))
		return 0;
	if (poly_is_integer(t, *inside, 1))
		*inside = 0;
	return e;
}

static enum apply_type
type_kind(const struct value_type *v)
{
	if (!v->letter) {
		const enum ir_dclass class = ir_dtype_class((enum ir_dtype)v->dtype);
		return class == IR_FLOAT  ? APPLY_REAL
		       : class == IR_BOOL ? APPLY_BOOL
					  : APPLY_INTEGER;
	}
	switch (*v->letter) {
	case 'F': return APPLY_REAL;
	case 'Z':
	case 'I': return APPLY_INTEGER;
	case 'N': return APPLY_NUMBER;
	default: return APPLY_ANY;
	}
}

static term_id
load(struct rule_case *c, const struct sym_op *s, int j, const term_id *index)
{
	struct terms *t = c->t;
	const struct sym_value *v = s->in[j];
	term_id position[IR_MAX_RANK], inside = poly_constant(t, 1, 1), fill, one;

	for (int d = 0; d < v->rank; d++) {
		position[d] = position_of(c, s, j, d, index, &one);
		if (!position[d])
			return 0;
		if (one)
			inside = poly_mul(t, inside, one);
	}
	if (poly_is_integer(t, inside, 1))
		return case_element(c, v, position);
	const struct term *otherwise = s->p->fill[j];
	if (otherwise && otherwise->kind == TERM_CONST && otherwise->value < -1e300) {
		const double lowest = -1e300; /* one symbol for the lowest value */
		fill = poly_double(t, lowest);
	} else {
		fill = otherwise ? poly_term(c, s, otherwise, NULL) : poly_constant(t, 0, 1);
	}
	if (!fill || poly_is_integer(t, inside, 0))
		return fill;
	const term_id x = case_element(c, v, position);
	if (!x)
		return 0;
	const term_id arg[3] = {inside, x, fill};
	return poly_apply(t, FN_select, arg, 3, type_kind(&v->type));
}

static term_id
size_term(struct rule_case *c, const struct sym_op *s, const struct term *t)
{
	term_id product = poly_constant(c->t, 1, 1);

	if (t->name[1] == '\0')
		return poly_affine(c->t, linear_term(c, s, t, NULL));
	for (int i = 0; i < s->nindices; i++)
		if (s->reduced >> i & 1)
			product = poly_mul(c->t, product, poly_affine(c->t, s->size[i]));
	return product;
}

/* The type that a call's arguments have: that of the last operand among its terms. */
static void
term_type(const struct sym_op *s, const struct term *t, enum apply_type *type)
{
	const int j = t->kind == TERM_NAME ? operand_of(s, t->name) : -1;

	if (j >= 0)
		*type = type_kind(&s->in[j]->type);
	for (int i = 0; i < t->nargs; i++)
		term_type(s, t->arg[i], type);
}

/* The polynomial as a position or size; 0: it is none. */
static term_id
linear_of(struct rule_case *c, term_id p)
{
	struct terms *t = c->t;
	term_id sum = linear_constant(t, 0);

	for (int i = 0; p && i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i, k = w[1];
		const term_id m = (term_id)w[0];
		term_id product = linear_constant(t, 1);
		if (w[2] != 1 || term_words(t, m)[0])
			return 0;
		for (int f = 1; f < t->node.at[m].n; f++) {
			const term_id factor = (term_id)term_words(t, m)[f];
			if (t->node.at[factor].kind != NODE_VALUE)
				return 0;
			product = linear_product(
				t, product, linear_var(t, (int32_t)term_words(t, factor)[0]));
		}
		if (!product)
			return 0;
		sum = linear_add(t, sum, product, k);
	}
	if (p && sum && case_is_real(c, sum))
		return 0;
	return p ? sum : 0;
}

/* Is e at least 0, as far as the case has decided? */
static bool
is_at_least(struct rule_case *c, term_id e)
{
	const enum stop before = c->stop;
	const bool holds = case_at_least(c, e) == 1;

	c->stop = before;
	return holds;
}

/* The remainder of x by y, from which y is taken while x is at least y. *decided as below. */
static term_id
remainder_of(struct rule_case *c, term_id x, term_id y, bool *decided)
{
	struct terms *t = c->t;
	const term_id one = linear_constant(t, 1);
	int holds = case_at_least(c, x);

	if (holds == 1)
		holds = case_at_least(c, linear_add(t, y, one, -1));
	*decided = holds == 1 || holds < 0;
	if (holds != 1)
		return 0;
	for (int k = 0; k < CASE_SMALL && is_at_least(c, linear_add(t, x, y, -1)); k++)
		x = linear_add(t, x, y, -1);
	if (is_at_least(c, linear_add(t, linear_add(t, y, x, -1), one, -1)))
		return poly_affine(t, x);
	const term_id arg[2] = {poly_affine(t, x), poly_affine(t, y)};
	return poly_apply(t, FN_rem, arg, 2, APPLY_INTEGER);
}

/*
 * A function of positions and sizes, where the case says what it is. *decided: it does, or is to:
 * 0 with c->stop.
 */
static term_id
decided_call(struct rule_case *c, int fn, const term_id *arg, bool *decided)
{
	struct terms *t = c->t;
	const term_id one = linear_constant(t, 1), x = linear_of(c, arg[0]),
		      y = x ? linear_of(c, arg[1]) : 0;
	int holds = 2;

	*decided = false;
	if (!y || t->bitwise)
		return 0;
	const term_id up = linear_add(t, x, y, -1), down = linear_add(t, y, x, -1);
	switch (fn) {
	case FN_minimum:
	case FN_maximum:
	case FN_ge: holds = case_at_least(c, up); break;
	case FN_le: holds = case_at_least(c, down); break;
	case FN_lt: holds = case_at_least(c, linear_add(t, down, one, -1)); break;
	case FN_gt: holds = case_at_least(c, linear_add(t, up, one, -1)); break;
	case FN_eq:
	case FN_ne: holds = case_equal(c, x, y); break;
	case FN_rem: return remainder_of(c, x, y, decided);
	default: return 0;
	}
	*decided = holds != 2;
	if (holds < 0 || holds == 2)
		return 0;
	if (fn == FN_minimum || fn == FN_maximum)
		return arg[(holds == 1) == (fn == FN_maximum) ? 0 : 1];
	return poly_constant(t, fn == FN_ne ? !holds : holds, 1);
}

static term_id
call_term(struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	term_id arg[3] = {0, 0, 0};
	enum apply_type type = APPLY_REAL;
	const int first = t->fn == FN_select ? 1 : 0;

	if (t->fn == FN_select) { /* conditions on positions */
		c->data = false;
		const int holds = truth_term(c, s, t->arg[0], at);
		const bool data = c->data;
		c->data = false;
		if (holds < 0 && !data)
			return 0;
		if (!data && holds != 2)
			return poly_term(c, s, t->arg[holds ? 1 : 2], at);
	}
	for (int i = 0; i < t->nargs; i++)
		if (!(arg[i] = poly_term(c, s, t->arg[i], at)))
			return 0;
	for (int i = first; i < t->nargs; i++)
		term_type(s, t->arg[i], &type);
	if (t->arg[first]->kind == TERM_CALL && t->arg[first]->fn >= FN_is_finite &&
		t->arg[first]->fn <= FN_ge)
		type = APPLY_BOOL;
	if (t->nargs == 2 && (t->fn != FN_rem || type == APPLY_INTEGER)) {
		bool decided;
		const term_id p = decided_call(c, t->fn, arg, &decided);
		if (decided)
			return p;
	}
	if (t->fn == FN_convert) {
		const struct ir_attr *to = ir_attr_find(s->op, "to");
		const bool truth = t->arg[0]->kind == TERM_CALL && t->arg[0]->fn >= FN_is_finite &&
				   t->arg[0]->fn <= FN_ge;
		const int from = truth                              ? IR_bool
				 : !s->nin || s->in[0]->type.letter ? IR_NDTYPES
								    : s->in[0]->type.dtype;
		if (!to || (truth && !c->t->bitwise)) /* 0 and 1 are in all types */
			return arg[0];
		if (to->kind != ATTR_DTYPE)
			return unknown(c, "a conversion to a type that is not known");
		return poly_apply(c->t, APPLY_CONVERT + 32 * from + (int)to->i, arg, 1, type);
	}
	if (t->fn == FN_bitcast || t->fn == FN_element || fn_is_random(t->fn))
		return unknown(c, "bits, literals and random numbers");
	const term_id p = poly_apply(c->t, t->fn, arg, t->nargs, type);
	return p ? p : unknown(c, c->t->failed);
}

static term_id
poly_term(struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	switch (t->kind) {
	case TERM_CONST: return poly_double(c->t, t->value);
	case TERM_ATTR:
	case TERM_GIVEN: {
		const struct ir_attr *a = attr_entry(c, s, t, at);
		if (c->stop != STOP_NONE)
			return 0;
		if (a)
			return attr_poly(c, a);
		return t->kind == TERM_GIVEN ? poly_term(c, s, t->arg[0], at)
					     : unknown(c, "an attribute that is not given");
	}
	case TERM_SIZE: return size_term(c, s, t);
	case TERM_NAME: {
		const int j = operand_of(s, t->name);
		if (j >= 0)
			return load(c, s, j, at->index);
	} /* fall through */
	case TERM_AT:
	case TERM_EXTENT:
	case TERM_HERE:
	case TERM_WHICH:
	case TERM_LISTED: return poly_affine(c->t, linear_term(c, s, t, at));
	case TERM_CALL: {
		/* A comparison of positions. */
		if (t->fn == FN_le || t->fn == FN_lt || t->fn == FN_ge || t->fn == FN_gt) {
			c->data = false;
			const term_id x = linear_term(c, s, t->arg[0], at),
				      y = x ? linear_term(c, s, t->arg[1], at) : 0;
			const bool data = c->data;
			c->data = false;
			if (!data && x && y) {
				const bool up = t->fn == FN_ge || t->fn == FN_gt;
				term_id e = linear_add(c->t, up ? x : y, up ? y : x, -1);
				if (t->fn == FN_lt || t->fn == FN_gt)
					e = linear_add(c->t, e, linear_constant(c->t, 1), -1);
				return indicator(c, e);
			}
			if (!data)
				return 0;
		}
		return call_term(c, s, t, at);
	}
	default: return unknown(c, "random numbers, and positions by number");
	}
}

/* --- reductions --- */

/* A sum in the making: positions of the indices so far. */
struct walk {
	struct rule_case *c;
	const struct sym_op *s;
	term_id index[FORM_MAX_INDICES];
	term_id (*body)(struct walk *w);
	const term_id *position; /* of the result */
};

static term_id walk_rest(struct walk *w, uint32_t rest);

static term_id
join(struct rule_case *c, enum form_reduce how, term_id a, term_id b, enum apply_type type)
{
	const term_id arg[2] = {a, b};

	if (!a || !b)
		return 0;
	switch (how) {
	case REDUCE_SUM: return poly_add(c->t, a, b);
	case REDUCE_PROD: return poly_apply(c->t, FN_mul, arg, 2, type);
	case REDUCE_MAX: return poly_apply(c->t, FN_maximum, arg, 2, type);
	case REDUCE_MIN: return poly_apply(c->t, FN_minimum, arg, 2, type);
	default: return unknown(c, "a position of an extreme in parts");
	}
}

static void
note_cut(struct rule_case *c, term_id range)
{
	for (int i = 0; i < c->nmet; i++)
		if (c->met[i].range == range && memcmp(&c->met[i].cut, &c->cut, sizeof c->cut) == 0)
			return;
	if (c->nmet < CASE_FORCED)
		c->met[c->nmet++] = (struct forced){range, c->cut};
}

/* Index i goes over offset + scale k, k < range; then the rest. */
static term_id
walk_range(struct walk *w, int i, uint32_t rest, term_id range, term_id offset, int64_t scale)
{
	struct rule_case *c = w->c;
	struct terms *t = c->t;
	const enum form_reduce how = w->s->reduce;
	const bool whole = t->bitwise || form_reduce_is_place(how);
	const enum apply_type type = w->s->nin ? type_kind(&w->s->in[0]->type) : APPLY_REAL;
	int64_t n;
	struct cut cut = {CUT_ORDER, 0, 0, 0, 0};
	bool forced = false;

	if (!(range = case_affine(c, range)))
		return 0;
	if (!whole && linear_is_constant(t, range, &n) && n <= CASE_SMALL) {
		term_id sum = how == REDUCE_SUM ? poly_constant(t, 0, 1) : 0;
		for (int64_t k = 0; k < n; k++) {
			w->index[i] = linear_add(t, offset, linear_constant(t, 1), scale * k);
			const term_id one = walk_rest(w, rest);
			sum = k || how == REDUCE_SUM ? join(c, how, sum, one, type) : one;
			if (!sum)
				return 0;
		}
		return sum;
	}
	for (int k = 0; !whole && k < c->nforced && !forced; k++)
		if (c->forced[k].range == range) {
			cut = c->forced[k].cut;
			forced =
				(cut.kind == CUT_RADIX && cut.m) ||
				(cut.kind == CUT_RADIX && case_divides(c, range, cut.e) == 1 &&
					range != cut.e) ||
				(cut.kind == CUT_AT &&
					case_at_least(c, linear_add(t, cut.e, linear_constant(t, 1),
								 -1)) == 1 &&
					case_at_least(
						c, linear_add(t, linear_add(t, range, cut.e, -1),
							   linear_constant(t, 1), -1)) == 1);
			if (c->stop != STOP_NONE)
				return 0;
		}
	if (!forced) {
		const int32_t v = var_new(t, VAR_BOUND, 0, NULL);
		if (v >= CASE_VARS)
			return unknown(c, "too many sums");
		c->high[v] = range;
		w->index[i] = linear_add(t, offset, linear_var(t, v), scale);
		const term_id p = walk_rest(w, rest);
		if (p)
			return how == REDUCE_SUM ? poly_sum(t, p, v, range)
						 : poly_reduce(t, how, p, v, range);
		if (c->stop != STOP_CUT || c->cut.v != v ||
			(c->cut.kind != CUT_AT && c->cut.kind != CUT_RADIX) || whole)
			return 0;
		c->stop = STOP_NONE;
		cut = c->cut;
		note_cut(c, range);
	}
	if (cut.kind == CUT_RADIX && !cut.m) { /* offset + scale (d i + j) */
		const term_id part = case_quotient(c, range, cut.e, false);
		const int32_t v = var_new(t, VAR_BOUND, 0, NULL);
		if (!part || v >= CASE_VARS)
			return part ? unknown(c, "too many sums") : 0;
		c->high[v] = part;
		const term_id p = walk_range(w, i, rest, cut.e,
			linear_add(t, offset, linear_product(t, cut.e, linear_var(t, v)), scale),
			scale);
		if (!p)
			return 0;
		return how == REDUCE_SUM ? poly_sum(t, p, v, part)
					 : poly_reduce(t, how, p, v, part);
	}
	if (cut.kind == CUT_RADIX) {
		const term_id part = case_quotient(c, range, linear_constant(t, cut.m), true);
		term_id sum = how == REDUCE_SUM ? poly_constant(t, 0, 1) : 0;
		if (!part)
			return 0;
		for (int64_t k = 0; k < cut.m; k++) {
			const term_id one = walk_range(w, i, rest, part,
				linear_add(t, offset, linear_constant(t, 1), scale * k),
				scale * cut.m);
			sum = k || how == REDUCE_SUM ? join(c, how, sum, one, type) : one;
			if (!sum)
				return 0;
		}
		return sum;
	}
	const int low = case_at_least(c, cut.e);
	if (low < 0)
		return 0;
	const int high = case_at_least(c, linear_add(t, range, cut.e, -1));
	if (high < 0)
		return 0;
	if (low != 1 || high != 1)
		return unknown(c, "a cut outside of a sum");
	if (how != REDUCE_SUM) { /* a part without elements has no maximum: it is left out */
		const term_id one = linear_constant(t, 1);
		const int some = case_at_least(c, linear_add(t, cut.e, one, -1)),
			  more = some < 0 ? some
					  : case_at_least(c,
						    linear_add(t, linear_add(t, range, cut.e, -1),
							    one, -1));
		if (more < 0)
			return 0;
		if (!some || !more)
			return walk_range(w, i, rest, range, offset, scale);
	}
	const term_id left = walk_range(w, i, rest, cut.e, offset, scale);
	const term_id right = left ? walk_range(w, i, rest, linear_add(t, range, cut.e, -1),
					     linear_add(t, offset, cut.e, scale), scale)
				   : 0;
	return join(c, how, left, right, type);
}

static term_id
walk_rest(struct walk *w, uint32_t rest)
{
	if (!rest) {
		const term_id p = w->c->stop == STOP_NONE ? w->body(w) : 0;
		if (w->c->stop != STOP_NONE)
			return 0;
		return p || w->c->stop != STOP_NONE ? p : unknown(w->c, w->c->t->failed);
	}
	const int i = __builtin_ctz(rest);
	return walk_range(w, i, rest & (rest - 1), w->s->size[i], linear_constant(w->c->t, 0), 1);
}

/* --- ops by their rows --- */

static term_id
row_body(struct walk *w)
{
	struct rule_case *c = w->c;
	const struct sym_op *s = w->s;
	const struct spot at = {w->index, 0, 0, 0, 0};
	term_id p = poly_term(c, s, s->p->body, &at);

	/* A write at a computed position: only where that is the position at hand. */
	for (int d = 0; p && s->op->nresults && d < IR_MAX_RANK; d++)
		if (s->out_at[d]) {
			c->data = false;
			const term_id arg[2] = {poly_term(c, s, s->out_at[d]->at, &at),
				poly_affine(c->t, w->position[d])};
			p = poly_mul(c->t, poly_apply(c->t, FN_eq, arg, 2, APPLY_INTEGER), p);
		}
	return p;
}

static term_id
concat_element(struct rule_case *c, const struct sym_op *s, const term_id *position)
{
	term_id at[IR_MAX_RANK], end = linear_constant(c->t, 0);

	memcpy(at, position, sizeof at);
	for (int j = 0; j < s->nin; j++) {
		const term_id before = end;
		end = linear_add(c->t, end, s->in[j]->dim[s->dim], 1);
		at[s->dim] = linear_add(c->t, position[s->dim], before, -1);
		if (j == s->nin - 1)
			return case_element(c, s->in[j], at);
		const int behind = case_at_least(c, linear_add(c->t, position[s->dim], end, -1));
		if (behind < 0)
			return 0;
		if (behind == 2) {
			const term_id later = poly_at_least(
				c->t, case_affine(c, linear_add(c->t, position[s->dim], end, -1)));
			if (j != s->nin - 2)
				return unknown(c, "a concat of several at such a position");
			term_id arg[3] = {later, 0, case_element(c, s->in[j], at)};
			at[s->dim] = linear_add(c->t, position[s->dim], end, -1);
			arg[1] = arg[2] ? case_element(c, s->in[j + 1], at) : 0;
			return arg[1] ? poly_apply(c->t, FN_select, arg, 3, APPLY_ANY) : 0;
		}
		if (!behind)
			return case_element(c, s->in[j], at);
	}
	return 0;
}

static term_id
contract_body(struct walk *w)
{
	term_id product = 0;

	for (int j = 0; j < w->s->nin; j++) {
		term_id at[IR_MAX_RANK];
		for (int d = 0; d < w->s->in[j]->rank; d++)
			at[d] = w->index[w->s->access[j][d]];
		const term_id x = case_element(w->c, w->s->in[j], at), arg[2] = {product, x};
		if (!x)
			return 0;
		product = j ? poly_apply(w->c->t, FN_mul, arg, 2, APPLY_REAL) : x;
	}
	return product;
}

/*
 * reshape: the position in row-major order is taken apart again, dim by dim from the right, as long
 * as the sizes divide each other by their form.
 */
static term_id
reshape_element(struct rule_case *c, const struct sym_op *s, const struct sym_value *v,
	const term_id *position)
{
	struct terms *t = c->t;
	const struct sym_value *x = s->in[0];
	term_id at[IR_MAX_RANK], flat = linear_constant(t, 0), room = linear_constant(t, 1);
	int d = v->rank - 1;

	for (int k = x->rank - 1; k >= 0; k--) {
		/* `flat` is a position below `room`, of dims of the result not used up yet. */
		for (;;) {
			if (room == x->dim[k])
				break;
			if (d < 0 || case_has_factor(c, room, x->dim[k]))
				break;
			flat = linear_add(t, flat, linear_product(t, room, position[d]), 1);
			room = linear_product(t, room, v->dim[d--]);
		}
		if (room == x->dim[k]) {
			at[k] = flat;
			flat = linear_constant(t, 0);
			room = linear_constant(t, 1);
			continue;
		}
		const term_id q = case_quotient(c, flat, x->dim[k], false);
		if (!q)
			return 0;
		at[k] = linear_add(t, flat, linear_product(t, q, x->dim[k]), -1);
		flat = q;
		room = case_quotient(c, room, x->dim[k], true);
		if (!room || !flat)
			return 0;
	}
	return case_element(c, x, at);
}

term_id
case_element(struct rule_case *c, const struct sym_value *v, const term_id *position)
{
	struct walk w = {.c = c, .s = v->op, .position = position};
	term_id at[IR_MAX_RANK];

	if (!v->op) {
		for (int d = 0; d < v->rank; d++)
			if (!(at[d] = case_affine(c, position[d])))
				return 0;
		return poly_access(
			c->t, v->input, at, v->rank, !v->type.letter && v->type.dtype == IR_bool);
	}
	switch (v->op->op->code) {
	case OP_concat: return concat_element(c, v->op, position);
	case OP_reshape: return reshape_element(c, v->op, v, position);
	default: break;
	}
	for (int d = 0; d < v->rank; d++)
		if (v->op->out[d] >= 0)
			w.index[v->op->out[d]] = position[d];
	w.body = v->op->op->code == OP_contract ? contract_body : row_body;
	return walk_rest(&w, v->op->reduced);
}

/* --- types --- */

static int
side_letters(const struct pattern_side *side)
{
	int n = 0;

	for (int i = 0; i < side->nitems; i++)
		n += side->item[i].name != '.' && side->item[i].name != '*';
	return n;
}

static const struct pattern_item *
side_group(const struct pattern_side *side, char name)
{
	for (int i = 0; i < side->nitems; i++)
		if (side->item[i].name == name)
			return &side->item[i];
	return NULL;
}

static int
new_index(struct rule_case *c, struct sym_op *s, term_id size)
{
	if (s->nindices == FORM_MAX_INDICES)
		return case_stop(c, STOP_UNKNOWN, "too many indices");
	s->size[s->nindices] = size;
	return s->nindices++;
}

static bool
check_conditions(struct rule_case *c, const struct sym_op *s)
{
	for (int i = 0; i < s->p->nwhere; i++)
		for (int d = 0; d < (s->p->where[i].each ? s->dots_rank : 1); d++) {
			const struct condition *w = &s->p->where[i];
			const struct spot at = {NULL, 0, d, d, d};
			const int holds = truth_term(c, s, w->holds, w->each ? &at : NULL);
			if (holds < 0)
				return false;
			if (holds == 2)
				return unknown(c, "a condition that is not known");
			if (!holds)
				return ill(c, w->words);
		}
	return true;
}

static bool
type_groups(struct rule_case *c, struct sym_op *s, const struct sym_value *written)
{
	const struct pattern *p = s->p;
	const struct pattern_item *out = side_group(&p->out, '.');
	term_id shape[IR_MAX_RANK];

	for (int j = 0; j < p->ninputs; j++) {
		const int left = s->in[j]->rank - side_letters(&p->in[j]);
		const struct pattern_item *dots = side_group(&p->in[j], '.'),
					  *star = side_group(&p->in[j], '*');
		if (left < 0 || (left > 0 && !dots && !star))
			return ill(c, "the rank");
		if (dots && !star && dots->how != ':' && left > s->dots_rank)
			s->dots_rank = left;
		if (star && !dots)
			s->star_rank = left;
	}
	for (int j = 0; j < p->ninputs; j++)
		if (side_group(&p->in[j], '.') && side_group(&p->in[j], '*')) {
			s->star_rank = s->in[j]->rank - side_letters(&p->in[j]) - s->dots_rank;
			if (s->star_rank < 0)
				return ill(c, "the rank");
		}
	if (!check_conditions(c, s))
		return false;
	const bool given = (out && (out->how == '=' || out->size)) || !p->ninputs;
	if (out && out->size) {
		for (int d = 0; d < s->dots_rank; d++) {
			const struct spot at = {NULL, 0, d, d, d};
			if (s->grouped && d == 0 && !ir_attr_find(s->op, "dims") &&
				!ir_attr_find(s->op, "dim") && s->op->code != OP_reverse)
				return unknown(c, "dims of '..' without dims");
			if (!(shape[d] = linear_term(c, s, out->size, &at)))
				return false;
		}
	} else if (out && out->how == '=') {
		const struct ir_attr *a = ir_attr_find(s->op, out->attr);
		if (!a || a->kind != ATTR_LIST || a->n > IR_MAX_RANK)
			return unknown(c, "a shape that is not known");
		s->dots_rank = a->n;
		for (int d = 0; d < a->n; d++)
			if (!(shape[d] = attr_affine(c, &a->list[d])))
				return false;
		if (s->grouped)
			return unknown(c, "a shape of a tensor with '..'");
	} else if (!p->ninputs) {
		s->dots_rank = written->rank;
		memcpy(shape, written->dim, sizeof shape);
	}
	s->dots = s->nindices;
	for (int i = 0; i < s->dots_rank; i++) {
		const int index = new_index(c, s, given ? shape[i] : linear_constant(c->t, 1));
		if (index < 0)
			return false;
		s->fixed[index] = given;
		if (!given)
			continue;
		const int some =
			case_at_least(c, linear_add(c->t, shape[i], linear_constant(c->t, 1), -1));
		if (some < 0)
			return false;
		if (!some)
			return ill(c, "a dim would be empty");
	}
	s->star = s->nindices;
	for (int i = 0; i < s->star_rank; i++)
		if (new_index(c, s, 0) < 0)
			return false;
	return true;
}

/* A dim of an operand meets an index of a group: equal, or one of them is 1. */
static bool
meet_dots(struct rule_case *c, struct sym_op *s, int index, term_id size)
{
	const term_id one = linear_constant(c->t, 1);
	term_id *have = &s->size[index];

	if (*have == size || size == one)
		return true;
	if (*have == one && !s->fixed[index]) {
		*have = size;
		return true;
	}
	const int same = case_equal(c, *have, size);
	if (same)
		return same == 1;
	const int single = case_equal(c, size, one);
	if (single)
		return single == 1;
	const int was = s->fixed[index] ? 0 : case_equal(c, *have, one);
	if (was == 1)
		*have = size;
	return was < 0 ? false : was == 1 || ill(c, "sizes differ");
}

static bool
meet_letter(struct rule_case *c, struct sym_op *s, int index, term_id size)
{
	if (!s->size[index])
		s->size[index] = size;
	const int same = case_equal(c, s->size[index], size);
	return same < 0 ? false : same == 1 || ill(c, "sizes differ");
}

static bool
type_operand(struct rule_case *c, struct sym_op *s, int j)
{
	const struct pattern_side *side = &s->p->in[j];
	const struct sym_value *v = s->in[j];
	int d = 0;

	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		int rest = v->rank - side_letters(side), dims[IR_MAX_RANK];
		if (item->name == '.') {
			rest -= side_group(side, '*') ? s->star_rank : 0;
			if (rest > s->dots_rank || (item->at && rest != s->dots_rank))
				return ill(c, "the rank");
			if (v->grouped && !item->at && item->how != ':' && rest < s->dots_rank)
				return unknown(c, "'..' beside dims of its own");
			int n = item->how == ':' ? dims_of(c, s, item->attr, s->dots_rank, dims)
						 : -1;
			if (n == -2)
				return false;
			if (n >= 0 && n != rest)
				return ill(c, "a list of another length");
			if (n < 0 && item->how == ':' && strcmp(item->attr, "perm") == 0 &&
				s->grouped)
				return unknown(c, "all dims of '..' in reverse");
			for (int k = 0; k < rest; k++, d++) {
				if (item->at) {
					s->access[j][d] = COMPUTED;
					s->at[j][d] = item;
					s->which[j][d] = (int8_t)k;
					continue;
				}
				s->access[j][d] =
					(int8_t)(s->dots +
						 (n >= 0 ? dims[k] : s->dots_rank - rest + k));
				if (!meet_dots(c, s, s->access[j][d], v->dim[d]))
					return false;
			}
		} else if (item->name == '*') {
			for (int k = 0; k < s->star_rank; k++, d++) {
				s->access[j][d] = (int8_t)(s->star + k);
				if (!meet_letter(c, s, s->access[j][d], v->dim[d]))
					return false;
			}
		} else if (item->at) {
			s->access[j][d] = COMPUTED;
			s->which[j][d] = -1;
			s->at[j][d++] = item;
		} else {
			int8_t *index = &s->letter[(int)item->name];
			if (*index < 0) {
				const int made = new_index(c, s, 0);
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			s->access[j][d] = *index;
			if (!meet_letter(c, s, *index, v->dim[d++]))
				return false;
		}
	}
	return true;
}

static bool
type_reduced(struct rule_case *c, struct sym_op *s)
{
	s->reduce = (enum form_reduce)s->p->reduce;
	for (int i = 0; i < s->p->over.nitems; i++) {
		const struct pattern_item *item = &s->p->over.item[i];
		int dims[IR_MAX_RANK];
		if (item->name && item->name != '.') {
			int8_t *index = &s->letter[(int)item->name];
			if (*index < 0) {
				const term_id size = linear_term(c, s, item->size, NULL);
				const int made = size ? new_index(c, s, size) : -1;
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			s->reduced |= 1u << *index;
			continue;
		}
		const int n = item->name ? -1 : dims_of(c, s, item->attr, s->dots_rank, dims);
		if (n == -2)
			return false;
		for (int d = 0; d < (n < 0 ? s->dots_rank : n); d++)
			s->reduced |= 1u << (s->dots + (n < 0 ? d : dims[d]));
	}
	return true;
}

static bool
type_out(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const struct pattern_side *side = &s->p->out;
	const struct ir_attr *keep = ir_attr_find(s->op, "keep");

	for (int i = 0; i < side->nitems; i++) {
		const struct pattern_item *item = &side->item[i];
		int order[IR_MAX_RANK];
		if (v->rank >= IR_MAX_RANK - 1)
			return unknown(c, "too many dims");
		if (item->name == '.') {
			const int n = item->how == ':'
					      ? dims_of(c, s, item->attr, s->dots_rank, order)
					      : 0;
			if (n == -2)
				return false;
			if (n > 0 && n != s->dots_rank)
				return ill(c, "a list of another length");
			for (int k = 0; k < s->dots_rank; k++) {
				const int at = item->how != ':' ? k
					       : n < 0          ? s->dots_rank - 1 - k
								: order[k];
				if (item->how != '-' || !(s->reduced >> (s->dots + at) & 1))
					s->out[v->rank++] = (int8_t)(s->dots + at);
				else if (keep && keep->i)
					s->out[v->rank++] = NO_INDEX;
			}
		} else if (item->name == '*') {
			for (int k = 0; k < s->star_rank; k++)
				s->out[v->rank++] = (int8_t)(s->star + k);
		} else {
			int8_t none = -1, *index = item->at ? &none : &s->letter[(int)item->name];
			if (*index < 0) {
				const struct ir_attr *a =
					item->size ? NULL : ir_attr_find(s->op, item->attr);
				const term_id size = item->size
							     ? linear_term(c, s, item->size, NULL)
						     : a ? attr_affine(c, a)
							 : unknown(c, "a size that is not given");
				const int some =
					size ? case_at_least(
						       c, linear_add(c->t, size,
								  linear_constant(c->t, 1), -1))
					     : -1;
				const int made = some == 1 ? new_index(c, s, size) : -1;
				if (some == 0)
					return ill(c, "a dim would be empty");
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			if (item->at)
				s->out_at[v->rank] = item;
			s->out[v->rank++] = *index;
		}
	}
	for (int d = 0; d < v->rank; d++)
		v->dim[d] = s->out[d] < 0 ? linear_constant(c->t, 1) : s->size[s->out[d]];
	return true;
}

static bool
type_by_row(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const term_id one = linear_constant(c->t, 1);

	if (!type_groups(c, s, v))
		return false;
	v->rank = 0;
	for (int j = 0; j < s->p->ninputs; j++)
		if (!type_operand(c, s, j))
			return false;
	for (int j = 0; j < s->p->ninputs; j++) /* a dim of size 1 that meets a larger one */
		for (int d = 0; d < s->in[j]->rank; d++) {
			int8_t *index = &s->access[j][d];
			if (*index >= 0 && s->size[*index] != s->in[j]->dim[d] &&
				case_affine(c, s->size[*index]) != case_affine(c, s->in[j]->dim[d]))
				*index = NO_INDEX;
			else if (*index >= 0 && s->in[j]->dim[d] == one && s->size[*index] != one)
				*index = NO_INDEX;
		}
	return type_reduced(c, s) && type_out(c, s, v);
}

static bool
type_concat(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	s->dim = dim_of(c, s, "dim", s->in[0]->rank);
	if (s->dim < 0)
		return false;
	v->rank = s->in[0]->rank;
	memcpy(v->dim, s->in[0]->dim, sizeof v->dim);
	for (int j = 1; j < s->nin; j++) {
		if (s->in[j]->rank != v->rank)
			return ill(c, "the rank");
		for (int d = 0; d < v->rank; d++) {
			const int same =
				d == s->dim ? 1 : case_equal(c, v->dim[d], s->in[j]->dim[d]);
			if (same < 0)
				return false;
			if (!same)
				return ill(c, "sizes differ");
		}
		v->dim[s->dim] = linear_add(c->t, v->dim[s->dim], s->in[j]->dim[s->dim], 1);
	}
	return true;
}

static bool
type_contract(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const struct ir_attr *spec = ir_attr_find(s->op, "spec");
	const char *p = spec->s;
	uint32_t kept = 0;

	for (int j = 0; j < s->nin; j++, p += *p == ',') {
		int d = 0;
		for (; islower((unsigned char)*p); p++, d++) {
			int8_t *index = &s->letter[(int)*p];
			if (d == s->in[j]->rank)
				return ill(c, "the rank");
			if (*index < 0) {
				const int made = new_index(c, s, s->in[j]->dim[d]);
				if (made < 0)
					return false;
				*index = (int8_t)made;
			}
			s->access[j][d] = *index;
			if (!meet_letter(c, s, *index, s->in[j]->dim[d]))
				return false;
		}
		if (d != s->in[j]->rank)
			return ill(c, "the rank");
	}
	if (strncmp(p, "->", 2) != 0)
		return ill(c, "the spec");
	for (p += 2; *p; p++) {
		const int8_t index = s->letter[(int)*p & 127];
		if (index < 0 || v->rank == IR_MAX_RANK)
			return ill(c, "the spec");
		s->out[v->rank] = index;
		v->dim[v->rank++] = s->size[index];
		kept |= 1u << index;
	}
	s->reduced = ((1u << s->nindices) - 1) & ~kept;
	s->reduce = REDUCE_SUM;
	return true;
}

static bool
type_reshape(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const struct ir_attr *shape = ir_attr_find(s->op, "shape");
	term_id a = linear_constant(c->t, 1), b = a;

	if (!shape || shape->kind != ATTR_LIST || shape->n > IR_MAX_RANK)
		return unknown(c, "a shape that is not known");
	if (s->grouped)
		return unknown(c, "a shape of a tensor with '..'");
	v->rank = shape->n;
	for (int d = 0; d < v->rank; d++) {
		if (!(v->dim[d] = attr_affine(c, &shape->list[d])) ||
			!(b = linear_product(c->t, b, v->dim[d])))
			return c->stop != STOP_NONE ? false : unknown(c, c->t->failed);
	}
	for (int d = 0; d < s->in[0]->rank; d++)
		if (!(a = linear_product(c->t, a, s->in[0]->dim[d])))
			return unknown(c, c->t->failed);
	const int same = case_equal(c, a, b);
	return same < 0 ? false : same == 1 || ill(c, "another number of elements");
}

/* Equal, as far as a rule says. */
static bool
same_type(const struct value_type *a, const struct value_type *b)
{
	return a->letter == b->letter && (a->letter || a->dtype == b->dtype);
}

static bool
type_elements(struct rule_case *c, struct sym_op *s, struct sym_value *v)
{
	const char *letters = s->row->operand_types, *result = s->row->result_type;
	const struct value_type bool_type = {IR_bool, NULL}, i32 = {IR_i32, NULL};
	const int n = (int)strlen(letters);
	const bool any = n > 3 && strcmp(letters + n - 3, "...") == 0;

	for (int i = 0; i < s->nin; i++)
		for (int j = 0; j < i; j++) {
			const char a = letters[any && i >= n - 3 ? n - 4 : i],
				   b = letters[any && j >= n - 3 ? n - 4 : j];
			if (a == b && a != 'I' && a != '*' &&
				!same_type(&s->in[i]->type, &s->in[j]->type))
				return ill(c, "element types differ");
		}
	for (int i = 0; i < s->nin; i++)
		if (letters[i] == 'b' && !same_type(&s->in[i]->type, &bool_type))
			return ill(c, "a condition that is not bool");
	if (strcmp(result, "b") == 0) {
		v->type = bool_type;
	} else if (strcmp(result, "i32") == 0) {
		v->type = i32;
	} else if (strcmp(result, "to") == 0) {
		const struct ir_attr *to = attr_or_default(s, "to");
		if (!to)
			return unknown(c, "a type that is not given");
		v->type = to->kind == ATTR_NAME ? (struct value_type){-1, to->s}
						: (struct value_type){(int)to->i, NULL};
	} else if (strcmp(result, "written") != 0) {
		for (int i = 0; i < s->nin; i++)
			if (letters[any && i >= n - 3 ? n - 4 : i] == *result)
				v->type = s->in[i]->type;
	}
	return true;
}

static bool
type_written(struct rule_case *c, const struct ir_type_text *text, struct sym_value *v)
{
	v->type = (struct value_type){text->letter ? -1 : (int)text->dtype, text->letter};
	v->grouped = text->dots;
	v->rank = text->dots + text->rank;
	if (v->rank > IR_MAX_RANK)
		return unknown(c, "too many dims");
	if (text->dots) {
		const struct ir_size dots = {.kind = SIZE_NAME, .name = case_dots};
		if (!(v->dim[0] = case_size(c, &dots)))
			return false;
	}
	for (int d = 0; d < text->rank; d++)
		if (!(v->dim[text->dots + d] = case_size(c, text->dim[d])))
			return false;
	for (int d = 0; d < v->rank; d++) {
		const int some =
			case_at_least(c, linear_add(c->t, v->dim[d], linear_constant(c->t, 1), -1));
		if (some < 0)
			return false;
		if (!some)
			return ill(c, "a dim would be empty");
	}
	return true;
}

static bool
type_op(struct rule_case *c, const struct ir_op *op)
{
	struct sym_op *s = ARENA_NEW(c->arena, struct sym_op);
	struct sym_value *v;
	bool ok;

	if (op->nresults != 1 || op->body)
		return unknown(c, "an op with a body, or with several results");
	v = &c->value[op->result[0].id - c->first];
	*v = (struct sym_value){.input = -1, .op = s};
	s->op = op;
	s->row = op_row(c->rules->m->ctx, op);
	s->p = s->row->pattern;
	memset(s->letter, -1, sizeof s->letter);
	if (op->noperands > FORM_MAX_INPUTS)
		return unknown(c, "an op with many operands");
	for (int j = 0; j < op->noperands; j++) {
		s->in[j] = case_value(c, ir_operand(op, j));
		v->grouped = v->grouped || s->in[j]->grouped;
	}
	s->nin = op->noperands;
	s->grouped = v->grouped;
	if (op_is(op, TRAIT_WRITTEN)) {
		if (!op->written)
			return ill(c, "a type is missing");
		if (!type_written(c, op->written, v))
			return false;
		s->grouped = v->grouped;
	}
	switch (op->code) {
	case OP_concat: ok = type_concat(c, s, v); break;
	case OP_contract: ok = type_contract(c, s, v); break;
	case OP_reshape: ok = type_reshape(c, s, v); break;
	default:
		if (!s->p || op_is(op, TRAIT_NAMED | TRAIT_KEYED | TRAIT_CALLS | TRAIT_EFFECT))
			return unknown(c, "an op that index notation does not define");
		ok = type_by_row(c, s, v);
	}
	if (!ok)
		return c->stop != STOP_NONE ? false : unknown(c, c->t->failed);
	/* A reduction over the dims of `..` leaves none of them. */
	if (v->grouped && s->p && s->reduced & 1u << s->dots)
		v->grouped = false;
	return type_elements(c, s, v);
}

bool
case_types(struct rule_case *c, int side)
{
	const struct ir_func *f = c->rule->side[side];
	uint32_t last = 0;

	c->first = f->body.nargs ? f->body.arg[0].id : UINT32_MAX;
	IR_FOR_OPS (op, &f->body)
		for (int i = 0; i < op->nresults; i++) {
			c->first = op->result[i].id < c->first ? op->result[i].id : c->first;
			last = op->result[i].id > last ? op->result[i].id : last;
		}
	for (uint32_t i = 0; i < f->body.nargs; i++) {
		c->first = f->body.arg[i].id < c->first ? f->body.arg[i].id : c->first;
		last = f->body.arg[i].id > last ? f->body.arg[i].id : last;
	}
	c->nvalues = last < c->first ? 0 : last - c->first + 1;
	c->value = ARENA_ARRAY(c->arena, struct sym_value, c->nvalues + 1);
	for (uint32_t i = 0; i < f->body.nargs; i++) {
		struct sym_value *v = &c->value[f->body.arg[i].id - c->first];
		v->input = (int)i;
		if (!type_written(c, c->rule->param[i], v))
			return false;
	}
	IR_FOR_OPS (op, &f->body)
		if (op->code != OP_return && !type_op(c, op))
			return false;
	return true;
}
