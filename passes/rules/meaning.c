/*
 * Index notation over affine forms: the counterpart of ir/ops/form.c for unknown sizes. Elements
 * are polynomials; reductions are split at positions where the body changes.
 */
#include "ir/base/intern.h"
#include "passes/rules/meaning_impl.h"

#include <string.h>

static term_id linear_of(struct rule_case *c, term_id p);
static term_id bound_of(struct rule_case *c, term_id p, bool upper);
static term_id poly_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);

const struct sym_value *
case_value(const struct rule_case *c, const struct ir_value *v)
{
	return &c->value[v->id - c->first];
}

/* A letter is what the ops of the left side accept of it. */
static enum apply_type
type_kind(const struct rule_case *c, const struct value_type *v)
{
	char letter = v->letter ? *v->letter : 0;

	if (!letter) {
		const enum ir_dclass class = ir_dtype_class((enum ir_dtype)v->dtype);
		return class == IR_FLOAT  ? APPLY_REAL
		       : class == IR_BOOL ? APPLY_BOOL
		       : class == IR_INT && ir_dtype_bits((enum ir_dtype)v->dtype) >= 32
			       ? APPLY_WIDE
			       : APPLY_INTEGER;
	}
	for (int i = 0; i < c->nletters; i++)
		if (c->letter[i].name == v->letter) {
			const unsigned classes = c->letter[i].classes;
			letter = classes == 1u << IR_FLOAT                   ? 'F'
				 : classes == 1u << IR_BOOL                  ? 'b'
				 : classes == (1u << IR_INT | 1u << IR_UINT) ? 'Z'
				 : classes & 1u << IR_BOOL                   ? 'T'
									     : 'N';
		}
	switch (letter) {
	case 'F': return APPLY_REAL;
	case 'Z':
	case 'I': return APPLY_INTEGER;
	case 'N': return APPLY_NUMBER;
	case 'b': return APPLY_BOOL;
	default: return APPLY_ANY;
	}
}

/* [e >= 0] as a polynomial. */
static term_id
indicator(struct rule_case *c, term_id e)
{
	const int holds = case_at_least(c, e);

	if (holds < 0)
		return 0;
	return holds == 2 ? poly_at_least(c->t, case_affine(c, e)) : poly_constant(c->t, holds, 1);
}

/* A bound of a minimum or maximum of two terms, one of which need not have one. */
static term_id
bound_of_call(struct rule_case *c, term_id factor, bool upper)
{
	const int64_t *w = term_words(c->t, factor);

	if (c->t->node.at[factor].kind != NODE_APPLY || c->t->node.at[factor].n != 3 ||
		(w[0] != FN_minimum && w[0] != FN_maximum))
		return 0;
	const bool either = (w[0] == FN_minimum) == upper; /* each bound of one holds for both */
	const term_id x = bound_of(c, (term_id)w[1], upper),
		      y = bound_of(c, (term_id)term_words(c->t, factor)[2], upper);
	if (either && (!x || !y))
		return x ? x : y;
	if (!x || !y || either)
		return y ? x : 0;
	const bool larger = case_is_at_least(c, linear_add(c->t, x, y, -1), 0);
	if (larger || case_is_at_least(c, linear_add(c->t, y, x, -1), 0))
		return larger == upper ? x : y;
	return 0;
}

/* An affine form that p is never above or, if not `upper`, never below; 0: none is known. */
static term_id
bound_of(struct rule_case *c, term_id p, bool upper)
{
	struct terms *t = c->t;
	term_id sum = linear_constant(t, 0);

	for (int i = 0; sum && i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i, mark = t->stack.n;
		poly_push(t, w[0], w[1], w[2]);
		const term_id one = term_make(t, NODE_POLYNOMIAL, mark, false);
		const term_id factor = poly_factor(t, one);
		term_id bound = linear_of(c, one);
		if (!bound && factor)
			bound = bound_of_call(c, factor, upper);
		sum = bound ? linear_add(t, sum, bound, 1) : 0;
	}
	return sum ? case_affine(c, sum) : 0;
}

/* Is p, which elements give, a position of a dim of that extent, as it is clamped? */
static bool
is_clamped(struct rule_case *c, term_id p, term_id extent)
{
	struct terms *t = c->t;
	const term_id low = bound_of(c, p, false), high = bound_of(c, p, true);

	return low && high && case_is_at_least(c, low, 0) &&
	       case_is_at_least(c, linear_add(t, extent, high, -1), 1);
}

/* Is p, which elements give, at least 0 and below the extent? 1 or 0 where the case knows. */
static term_id
in_range(struct rule_case *c, term_id p, term_id extent)
{
	const term_id arg[2] = {p, poly_affine(c->t, extent)},
		      inside = poly_apply_plain(c->t, APPLY_IN_RANGE, arg, 2);

	for (int i = 0; i < c->nfacts; i++)
		if (c->fact[i].factor == poly_factor(c->t, inside))
			return poly_constant(c->t, c->fact[i].holds, 1);
	return inside;
}

/* The position of operand j along dim d, computed from its item, which may read elements. */
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
	term_id e = sym_linear_term(c, s, s->at[j][d]->at, &at);
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
		if (is_clamped(c, p, extent))
			return linear_var(t, v);
		*inside = in_range(c, p, extent);
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

/* The value of an attribute as an element: a truth value is 0 or 1. */
static term_id
of_type(struct rule_case *c, term_id p, const struct value_type *type)
{
	const term_id arg[2] = {p, poly_constant(c->t, 0, 1)};
	int64_t n, d;

	if (!p || type_kind(c, type) != APPLY_BOOL)
		return p;
	return poly_is_constant(c->t, p, &n, &d) ? poly_constant(c->t, n != 0, 1)
						 : poly_apply(c->t, FN_ne, arg, 2, APPLY_REAL);
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
		fill = otherwise ? of_type(c, poly_term(c, s, otherwise, NULL), &v->type)
				 : poly_constant(t, 0, 1);
	}
	if (!fill || poly_is_integer(t, inside, 0))
		return fill;
	const term_id x = case_element(c, v, position);
	if (!x)
		return 0;
	const term_id arg[3] = {inside, x, fill};
	return poly_apply(t, FN_select, arg, 3, type_kind(c, &v->type));
}

/* x converted to a type; if that is only a name, by an opaque function of it. */
static term_id
converted_to(
	struct rule_case *c, term_id x, int from, const struct value_type *to, enum apply_type type)
{
	term_id arg[2] = {x, 0};
	int64_t name = 0;

	if (!to->letter)
		return poly_apply(c->t, APPLY_CONVERT + 32 * from + to->dtype, arg, 1, type);
	for (const char *letter = to->letter; *letter; letter++)
		name = name << 8 | (unsigned char)*letter;
	arg[1] = poly_opaque(c->t, name);
	return poly_apply_plain(c->t, APPLY_CONVERT + 32 * from + IR_NDTYPES, arg, 2);
}

/* An element that is a position: where its arithmetic may wrap around, a number of its own. A constant is what it says in any
 * type that it has. */
static term_id
load_index(struct rule_case *c, const struct sym_op *s, int j, const term_id *index)
{
	const struct value_type *type = &s->in[j]->type, number = {IR_i64, NULL};
	const struct sym_op *made = s->in[j]->op;
	const term_id p = load(c, s, j, index);

	if (!p || (made && made->op->code == OP_constant) ||
		poly_is_exact(c->t, p, type_kind(c, type)))
		return p;
	return converted_to(c, p, type->letter ? IR_NDTYPES : type->dtype, &number, APPLY_INTEGER);
}

static term_id
size_term(struct rule_case *c, const struct sym_op *s, const struct term *t)
{
	term_id product = poly_constant(c->t, 1, 1);

	if (t->name[1] == '\0')
		return poly_affine(c->t, sym_linear_term(c, s, t, NULL));
	for (int i = 0; i < s->nindices; i++)
		if (s->reduced >> i & 1)
			product = poly_mul(c->t, product, poly_affine(c->t, s->size[i]));
	return product;
}

/* Does a row read the operand as positions, which are numbers of any size? */
static bool
is_index(const struct sym_op *s, int j)
{
	return s->row->operand_types[j] == 'I';
}

/* The element type of a call's arguments: that of the last operand among its terms. */
static void
term_type(const struct rule_case *c, const struct sym_op *s, const struct term *t,
	enum apply_type *type)
{
	const int j = t->kind == TERM_NAME ? sym_operand_of(s, t->name) : -1;

	if (j >= 0)
		*type = is_index(s, j) ? APPLY_WIDE : type_kind(c, &s->in[j]->type);
	for (int i = 0; i < t->nargs; i++)
		term_type(c, s, t->arg[i], type);
}

/* The polynomial as an affine form, a position or size; 0: it is not one. */
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

/* Is e certainly at least 0 in this case? Leaves c->stop unchanged. */
static bool
is_at_least(struct rule_case *c, term_id e)
{
	const enum stop before = c->stop;
	const bool holds = case_at_least(c, e) == 1;

	c->stop = before;
	return holds;
}

/* The remainder of x by y, by subtracting y while x is certainly at least y. *decided: as below. */
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
 * The value of a function of positions and sizes, if the case determines it. *decided: it does, or
 * the result is 0 with c->stop set so that further cases will.
 */
static term_id
decided_call(struct rule_case *c, int fn, const term_id *arg, enum apply_type type, bool *decided)
{
	struct terms *t = c->t;
	const term_id one = linear_constant(t, 1), x = linear_of(c, arg[0]),
		      y = x ? linear_of(c, arg[1]) : 0;
	int holds = 2;

	*decided = false;
	if (!y || t->bitwise || !poly_is_exact(t, arg[0], type) || !poly_is_exact(t, arg[1], type))
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
	/* Numbers in order stay so when they are rounded to a floating-point type, but may become equal. */
	const bool strict =
		fn != FN_minimum && fn != FN_maximum && holds == (fn == FN_lt || fn == FN_gt);
	*decided = holds != 2 && !(strict && type == APPLY_REAL);
	if (holds < 0 || !*decided)
		return 0;
	if (fn == FN_minimum || fn == FN_maximum)
		return arg[(holds == 1) == (fn == FN_maximum) ? 0 : 1];
	return poly_constant(t, fn == FN_ne ? !holds : holds, 1);
}

/* x converted to the type that the op names. */
static term_id
converted(struct rule_case *c, const struct sym_op *s, const struct term *t, term_id x,
	enum apply_type type)
{
	const struct ir_attr *to = ir_attr_find(s->op, "to");
	const bool truth = t->arg[0]->kind == TERM_CALL && t->arg[0]->fn >= FN_is_finite &&
			   t->arg[0]->fn <= FN_ge;
	const struct value_type *own = s->nin && !truth ? &s->in[0]->type : NULL;
	const int from = truth ? IR_bool : !own || own->letter ? IR_NDTYPES : own->dtype;

	const bool is_bool = truth || (own && type_kind(c, own) == APPLY_BOOL);

	if (!to || (is_bool && !c->t->bitwise)) /* 0 and 1 are representable in all types */
		return x;
	if (to->kind == ATTR_NAME && own && own->letter == to->s)
		return x;
	const struct value_type type_to = to->kind == ATTR_NAME
						  ? (struct value_type){-1, to->s}
						  : (struct value_type){(int)to->i, NULL};
	return converted_to(c, x, from, &type_to, type);
}

/* x >= low and x < high, for positions, as a question about x - low, as position_of asks it; 0: it
 * is another condition, or c->stop is set. */
static term_id
within(struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	const struct term *from = t->arg[0], *to = t->nargs == 2 ? t->arg[1] : NULL;
	enum apply_type type = APPLY_REAL;
	term_id x[2], bound[2];

	if (!to || t->fn != FN_and || from->kind != TERM_CALL || from->fn != FN_ge ||
		to->kind != TERM_CALL || to->fn != FN_lt)
		return 0;
	term_type(c, s, t, &type);
	for (int i = 0; i < 2; i++) {
		x[i] = type == APPLY_WIDE ? poly_term(c, s, t->arg[i]->arg[0], at) : 0;
		bound[i] = x[i] ? poly_term(c, s, t->arg[i]->arg[1], at) : 0;
		if (!bound[i] || x[i] != x[0])
			return 0;
	}
	const term_id p = poly_sub(c->t, x[0], bound[0]),
		      extent = linear_of(c, poly_sub(c->t, bound[1], bound[0]));
	return extent && !linear_of(c, p) ? in_range(c, p, extent) : 0;
}

/* A position that is compared in the floating-point type of an op, in which it may be equal to another one. */
static term_id
rounded(struct rule_case *c, const struct sym_op *s, term_id x)
{
	const struct value_type *type = s->nin ? &s->in[0]->type : NULL;
	int64_t n, d;

	if (poly_is_constant(c->t, x, &n, &d) || !linear_of(c, x))
		return x;
	return poly_apply_plain(c->t,
		APPLY_CONVERT + 32 * IR_NDTYPES +
			(!type || type->letter ? IR_NDTYPES : type->dtype),
		&x, 1);
}

static term_id
call_term(struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at)
{
	term_id arg[3] = {0, 0, 0};
	enum apply_type type = APPLY_REAL;
	const int first = t->fn == FN_select ? 1 : 0;

	if (t->fn == FN_select) { /* conditions on positions */
		c->data = false;
		const int holds = sym_truth_term(c, s, t->arg[0], at);
		const bool data = c->data;
		c->data = false;
		if (holds < 0 && !data)
			return 0;
		if (!data && holds != 2)
			return poly_term(c, s, t->arg[holds ? 1 : 2], at);
	}
	const term_id whether = within(c, s, t, at);
	if (whether || c->stop != STOP_NONE)
		return whether;
	for (int i = 0; i < t->nargs; i++)
		if (!(arg[i] = poly_term(c, s, t->arg[i], at)))
			return 0;
	for (int i = first; i < t->nargs; i++)
		term_type(c, s, t->arg[i], &type);
	if (t->arg[first]->kind == TERM_CALL && t->arg[first]->fn >= FN_is_finite &&
		t->arg[first]->fn <= FN_ge)
		type = APPLY_BOOL;
	if (t->nargs == 2 && (t->fn != FN_rem || type == APPLY_INTEGER || type == APPLY_WIDE)) {
		bool decided;
		const term_id p = decided_call(c, t->fn, arg, type, &decided);
		if (decided)
			return p;
	}
	for (int i = 0; i < t->nargs && type == APPLY_REAL && t->fn >= FN_eq && t->fn <= FN_ge; i++)
		arg[i] = rounded(c, s, arg[i]);
	if (t->fn == FN_convert)
		return converted(c, s, t, arg[0], type);
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
		const struct ir_attr *a = sym_attr_entry(c, s, t, at);
		if (c->stop != STOP_NONE)
			return 0;
		if (a)
			return sym_attr_poly(c, a);
		return t->kind == TERM_GIVEN ? poly_term(c, s, t->arg[0], at)
					     : unknown(c, "an attribute that is not given");
	}
	case TERM_SIZE: return size_term(c, s, t);
	case TERM_NAME: {
		const int j = sym_operand_of(s, t->name);
		if (j >= 0)
			return is_index(s, j) ? load_index(c, s, j, at->index)
					      : load(c, s, j, at->index);
	} /* fall through */
	case TERM_AT:
	case TERM_EXTENT:
	case TERM_HERE:
	case TERM_WHICH:
	case TERM_LISTED: return poly_affine(c->t, sym_linear_term(c, s, t, at));
	case TERM_CALL: {
		/* A comparison of positions. */
		if (t->fn == FN_le || t->fn == FN_lt || t->fn == FN_ge || t->fn == FN_gt) {
			c->data = false;
			const term_id x = sym_linear_term(c, s, t->arg[0], at),
				      y = x ? sym_linear_term(c, s, t->arg[1], at) : 0;
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

/* State of a reduction: the positions of the indices so far. */
struct walk {
	struct rule_case *c;
	const struct sym_op *s;
	term_id index[FORM_MAX_INDICES];
	term_id (*body)(struct walk *w);
	const term_id *position; /* position of the result's element, and its type */
	const struct value_type *type;
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
note_cut(struct rule_case *c, term_id range, struct cut cut)
{
	for (int i = 0; i < c->nmet; i++)
		if (c->met[i].range == range && memcmp(&c->met[i].cut, &cut, sizeof cut) == 0)
			return;
	if (c->nmet < CASE_FORCED)
		c->met[c->nmet++] = (struct forced){range, cut};
}

/* How many positions in x grow with variable v, less those that fall. */
static int
growth(const struct terms *t, term_id x, int32_t v)
{
	int first, step, end, sum = 0;

	if (t->node.at[x].kind == NODE_AFFINE) {
		const int64_t k = linear_coefficient(t, x, v);
		return (k > 0) - (k < 0);
	}
	term_children(t, x, &first, &step, &end);
	if (t->node.at[x].kind == NODE_MONOMIAL)
		first += 2 * (int)term_words(t, x)[0];
	for (int i = first; i < end; i += step)
		sum += growth(t, (term_id)term_words(t, x)[i], v);
	return sum;
}

/* Reduces index i over offset + scale k, k < range, and then the indices of `rest`. */
static term_id
walk_range(struct walk *w, int i, uint32_t rest, term_id range, term_id offset, int64_t scale)
{
	struct rule_case *c = w->c;
	struct terms *t = c->t;
	const enum form_reduce how = w->s->reduce;
	const bool whole = t->bitwise || form_reduce_is_place(how);
	const enum apply_type type = w->s->nin ? type_kind(c, &w->s->in[0]->type) : APPLY_REAL;
	int64_t n;
	struct cut cut = {CUT_ORDER, 0, 0, 0, 0};
	bool forced = false;

	if (!(range = case_affine(c, range)))
		return 0;
	if (!whole && linear_is_constant(t, range, &n) && case_expands(c, n)) {
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
		term_id p = walk_rest(w, rest);
		if (p && !whole &&
			growth(t, p, v) < 0) { /* from the end, so that most positions grow */
			const term_id last = linear_add(t, range, linear_constant(t, 1), -1);
			w->index[i] = linear_add(
				t, offset, linear_add(t, last, linear_var(t, v), -1), scale);
			const term_id back = walk_rest(w, rest);
			if (!back && c->stop != STOP_CUT)
				return 0;
			c->stop = STOP_NONE;
			p = back ? back : p;
		}
		if (p)
			return how == REDUCE_SUM ? poly_sum(t, p, v, range)
						 : poly_reduce(t, how, p, v, range, type);
		if (c->stop != STOP_CUT || c->cut.v != v ||
			(c->cut.kind != CUT_AT && c->cut.kind != CUT_RADIX) || whole)
			return 0;
		c->stop = STOP_NONE;
		cut = c->cut;
		note_cut(c, range, cut);
	}
	if (cut.kind == CUT_RADIX && !cut.m) { /* offset + scale (d i + j) */
		const term_id part = case_quotient(c, range, cut.e, false);
		const int32_t v = var_new(t, VAR_BOUND, 0, NULL);
		if (!part || v >= CASE_VARS)
			return part ? unknown(c, "too many sums") : 0;
		c->high[v] = part;
		/* The rest of the sum may be one more part of it, as of a filter with gaps. */
		note_cut(c, linear_add(t, part, linear_constant(t, 1), 1),
			(struct cut){CUT_AT, part, 0, 0, 0});
		const term_id p = walk_range(w, i, rest, cut.e,
			linear_add(t, offset, linear_product(t, cut.e, linear_var(t, v)), scale),
			scale);
		if (!p)
			return 0;
		return how == REDUCE_SUM ? poly_sum(t, p, v, part)
					 : poly_reduce(t, how, p, v, part, type);
	}
	if (cut.kind == CUT_RADIX) {
		term_id sum = how == REDUCE_SUM ? poly_constant(t, 0, 1) : 0;
		for (int64_t k = 0; k < cut.m; k++) {
			/* An extreme of no elements is undefined, so that all parts have to be alike. */
			const int64_t more = how == REDUCE_SUM ? cut.m - 1 - k : 0;
			const term_id part =
				case_quotient(c, linear_add(t, range, linear_constant(t, more), 1),
					linear_constant(t, cut.m), how != REDUCE_SUM);
			if (!part)
				return 0;
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
	if (how != REDUCE_SUM) { /* a maximum of no elements is undefined: leave out empty parts */
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
	int64_t n;
	term_id p = poly_term(c, s, s->p->body, &at);

	if (s->op->code == OP_constant)
		p = of_type(c, p, w->type);
	/* A position that may not be representable in the type of the result. */
	if (p && s->op->code == OP_iota && !poly_is_constant(c->t, p, &n, &n) &&
		type_kind(c, w->type) != APPLY_REAL && type_kind(c, w->type) != APPLY_WIDE)
		p = converted_to(c, p, IR_i32, w->type, type_kind(c, w->type));
	/* A write at a computed position: it counts only if that equals the position of the
	 * result. */
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
 * reshape: splits the position in row-major order into dims again, from the right, as long as the
 * sizes divide each other by their form.
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
		/* `flat` is a position below `room`, from dims of the result that are not used up
		 * yet. */
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

/*
 * An op that moves elements by lists that are names: an element comes from a position that is a
 * function of the op, its attributes, the operand's sizes, and the position.
 */
static term_id
moved_element(struct rule_case *c, const struct sym_op *s, const term_id *position)
{
	struct terms *t = c->t;
	const struct sym_value *x = s->in[0];
	term_id at[IR_MAX_RANK], arg[3 + ROW_MAX_ATTRS * (IR_MAX_RANK + 1) + IR_MAX_RANK];
	int n = 2;

	arg[0] = poly_affine(t, case_affine(c, position[0]));
	arg[n++] = poly_constant(t, s->op->code, 1);
	for (int i = 0; i < s->op->nattrs; i++) {
		const struct ir_attr *a = &s->op->attr[i];
		const bool list = a->kind == ATTR_LIST;
		if (a->n > IR_MAX_RANK)
			return unknown(c, "a shape that is not known");
		arg[n++] = poly_constant(t, list ? a->n : -1, 1);
		for (int k = 0; k < (list ? a->n : 1); k++) {
			const struct ir_attr *one = list ? &a->list[k] : a;
			const term_id e = one->kind == ATTR_NAME
						  ? linear_constant(t, name_number(one->s))
						  : sym_attr_affine(c, one);
			if (!e)
				return 0;
			arg[n++] = poly_affine(t, e);
		}
	}
	for (int d = 0; d < x->rank; d++)
		arg[n++] = poly_affine(t, x->dim[d]);
	for (int d = 0; d < x->rank; d++) {
		arg[1] = poly_constant(t, d, 1);
		const int32_t key = poly_apply_plain(t, APPLY_MOVED, arg, n);
		const int32_t v = key ? var_of(t, VAR_DATA, &key, 1) : CASE_VARS;
		if (v >= CASE_VARS)
			return unknown(c, "too many positions that elements give");
		c->high[v] = x->dim[d];
		at[d] = linear_var(t, v);
	}
	return case_element(c, x, at);
}

term_id
case_element(struct rule_case *c, const struct sym_value *v, const term_id *position)
{
	struct walk w = {.c = c, .s = v->op, .position = position, .type = &v->type};
	term_id at[IR_MAX_RANK];

	if (!v->op) {
		for (int d = 0; d < v->rank; d++)
			if (!(at[d] = case_affine(c, position[d])))
				return 0;
		return poly_access(
			c->t, v->input, at, v->rank, !v->type.letter && v->type.dtype == IR_bool);
	}
	if (v->op->moves)
		return moved_element(c, v->op, position);
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
