/* Scalar expressions: building with types and simplification, substitution, linearity, derivatives.
 */
#include "ir/ops/form.h"

#include "ir/ops/row.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum fn_kind { KIND_SAME, KIND_F, KIND_BOOL };

enum fn_linear { LIN_ADD, LIN_MUL, LIN_FIRST, LIN_REST, LIN_NONE };

/* Integers below are doubles without loss. */
static const double exact = 0x1p53;

static const struct {
	const char *name, *c_text;
	int arity;
	enum fn_kind kind;
	enum fn_linear linear;
	enum fn_work work;
	unsigned laws;
	const char *derivative[3];
} fn_row[] = {
#define SCALAR(name, arity, infix, kind, linear, work, laws, c, d0, d1, d2)                        \
	{#name, #c, arity, KIND_##kind, LIN_##linear, WORK_##work, laws, {d0, d1, d2}},
#include "ir/ops/scalar.def"
#undef SCALAR
};

const char *
fn_name(enum scalar_fn f)
{
	return fn_row[f].name;
}

int
fn_mantissa_bits(enum ir_dtype t)
{
	switch (t) {
	case IR_f64: return 52;
	case IR_f32: return 23;
	case IR_f16: return 10;
	case IR_bf16: return 7;
	default: return 0;
	}
}

int
fn_arity(enum scalar_fn f)
{
	return fn_row[f].arity;
}

enum fn_work
fn_work(enum scalar_fn f)
{
	return fn_row[f].work;
}

unsigned
fn_laws(enum scalar_fn f)
{
	return fn_row[f].laws;
}

const char *
fn_c_text(enum scalar_fn f)
{
	return fn_row[f].c_text;
}

const struct term *(*fn_parse_derivatives(struct ir_context *ctx))[3]
{
	const struct term *(*d)[3] = arena_alloc(ctx->arena, sizeof *d * FN_COUNT);

	for (int f = 0; f < FN_COUNT; f++)
		for (int i = 0; i < fn_row[f].arity; i++)
			d[f][i] = notation_parse_expr(ctx, fn_row[f].derivative[i]);
	return d;
}

static struct expr *
expr_new(struct arena *a, enum expr_kind kind, enum ir_dtype t, int id)
{
	struct expr *e = ARENA_NEW(a, struct expr);

	e->kind = (uint8_t)kind;
	e->dtype = (uint8_t)t;
	e->id = (uint8_t)id;
	return e;
}

const struct expr *
expr_const(struct arena *a, enum ir_dtype t, double v)
{
	struct expr *e = expr_new(a, EXPR_CONST, t, 0);

	e->value = v;
	if (ir_dtype_class(t) != IR_FLOAT)
		e->whole = ir_dtype_truncated(v > 0 && t == IR_u64 ? IR_u64 : IR_i64, v);
	return e;
}

const struct expr *
expr_const_int(struct arena *a, enum ir_dtype t, int64_t v)
{
	struct expr *e = expr_new(a, EXPR_CONST, t, 0);

	e->value = ir_dtype_double(t, v);
	e->whole = v;
	return e;
}

const struct expr *
expr_load(struct arena *a, enum ir_dtype t, int operand)
{
	return expr_new(a, EXPR_LOAD, t, operand);
}

const struct expr *
expr_index(struct arena *a, int index)
{
	return expr_new(a, EXPR_INDEX, IR_i64, index);
}

static struct expr *
expr_make_call(struct arena *a, enum scalar_fn fn, enum ir_dtype t, const struct expr *const *arg)
{
	struct expr *e = expr_new(a, EXPR_CALL, t, fn);

	e->nargs = (uint8_t)fn_row[fn].arity;
	memcpy(e->arg, arg, sizeof e->arg[0] * e->nargs);
	return e;
}

static const struct expr *
const_converted(struct arena *a, enum ir_dtype to, const struct expr *x)
{
	const enum ir_dtype from = (enum ir_dtype)x->dtype;

	if (ir_dtype_class(to) == IR_FLOAT)
		return expr_const(a, to, x->value);
	return expr_const_int(a, to,
		ir_dtype_class(from) == IR_FLOAT ? ir_dtype_truncated(to, x->value)
						 : ir_dtype_wrap(to, x->whole));
}

/* A uniform number of [0,1) as type t: what would be rounded to 1 is the largest number below. Those of
 * draw_uniform have 24 bits. */
static const struct expr *
below_one(struct arena *a, enum ir_dtype t, const struct expr *x)
{
	const int bits = 1 + fn_mantissa_bits(t), has = x->id == FN_uniform ? 53 : 24;

	if (ir_dtype_class(t) != IR_FLOAT || bits >= has)
		return x;
	return expr_call(a, FN_minimum, x, expr_const(a, IR_f64, 1 - ldexp(1, -bits)), NULL);
}

const struct expr *
expr_convert(struct arena *a, enum ir_dtype t, const struct expr *x)
{
	if (x->dtype == t)
		return x;
	if (x->kind == EXPR_CALL && (x->id == FN_uniform || x->id == FN_draw_uniform))
		x = below_one(a, t, x);
	if (x->kind == EXPR_CONST)
		return const_converted(a, t, x);
	return expr_make_call(a, FN_convert, t, (const struct expr *[]){x});
}

const struct expr *
expr_bitcast(struct arena *a, enum ir_dtype t, const struct expr *x)
{
	return x->dtype == t ? x : expr_make_call(a, FN_bitcast, t, &x);
}

const struct expr *
expr_element(struct arena *a, enum ir_dtype t, const struct expr *at, const struct ir_op *literal)
{
	struct expr *e = expr_make_call(a, FN_element, t, &at);

	e->literal = literal;
	return e;
}

enum ir_dtype
expr_const_dtype(const struct expr *e, const struct expr *body)
{
	const bool half = e->dtype == IR_f16 || e->dtype == IR_bf16;

	return half && e != body ? IR_f32 : (enum ir_dtype)e->dtype;
}

bool
expr_is_const(const struct expr *e, double v)
{
	return e->kind == EXPR_CONST && e->value == v;
}

/* Floats win over integers, integers over bools, the wider one over the narrower. */
static int
dtype_rank(enum ir_dtype t)
{
	static const int by_class[] = {
		[IR_FLOAT] = 200, [IR_INT] = 100, [IR_UINT] = 100, [IR_BOOL] = 0};

	return by_class[ir_dtype_class(t)] + (int)ir_dtype_bytes(t);
}

/* Is it a size that narrow integers do not hold, such as the bound of a position? */
static bool
is_beyond(enum ir_dtype t, const struct expr *e)
{
	return e->kind == EXPR_CONST && e->dtype == IR_i64 && ir_dtype_class(t) != IR_FLOAT &&
	       ir_dtype_class(t) != IR_BOOL && ir_dtype_bytes(t) < ir_dtype_bytes(IR_i64) &&
	       ir_dtype_wrap(t, e->whole) != e->whole;
}

/* The common type of these arguments; constants adapt to the others if they fit. */
static enum ir_dtype
common_dtype(const struct expr *const *arg, int first, int n)
{
	int best = -1;

	for (int i = first; i < n; i++)
		if (arg[i]->kind != EXPR_CONST &&
			(best < 0 || dtype_rank(arg[i]->dtype) > dtype_rank((enum ir_dtype)best)))
			best = arg[i]->dtype;
	for (int i = first; best < 0 && i < n; i++)
		if (arg[i]->dtype != IR_bool || i == n - 1)
			best = arg[i]->dtype;
	for (int i = first; i < n; i++)
		if (is_beyond((enum ir_dtype)best, arg[i]))
			return IR_i64;
	return (enum ir_dtype)best;
}

static bool
is_logic(enum scalar_fn fn)
{
	return fn == FN_and || fn == FN_or || fn == FN_xor || fn == FN_not;
}

/* Logic on integers is bitwise, on all other types it is on truth values. */
static enum ir_dtype
logic_dtype(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_INT || ir_dtype_class(t) == IR_UINT ? t : IR_bool;
}

/* A bound that bounds nothing. */
static bool
is_idle_bound(enum scalar_fn fn, const struct expr *bound)
{
	return (fn == FN_maximum && expr_is_const(bound, -INFINITY)) ||
	       (fn == FN_minimum && expr_is_const(bound, INFINITY));
}

static bool
is_arithmetic(enum scalar_fn fn)
{
	return fn == FN_add || fn == FN_sub || fn == FN_mul || fn == FN_div || fn == FN_neg;
}

/* Can a call of constants be its value? Sets it; integers are divided as the ops divide them. */
static bool
fold_constants(enum scalar_fn fn, bool floating, double x, double y, double *value)
{
	switch (fn) {
	case FN_add: *value = x + y; return true;
	case FN_sub: *value = x - y; return true;
	case FN_mul: *value = x * y; return true;
	case FN_div:
		*value = floating ? x / y : y == 0 ? 0 : trunc(x / y);
		return !floating || y != 0;
	case FN_neg: *value = -x; return true;
	case FN_exact: *value = y > 0 && fmod(x, y) == 0 ? x / y : -1; return true;
	case FN_maximum: *value = x > y ? x : y; return !isunordered(x, y);
	case FN_minimum: *value = x < y ? x : y; return !isunordered(x, y);
	case FN_eq: *value = x == y; return true;
	case FN_ne: *value = x != y; return true;
	case FN_lt: *value = x < y; return true;
	case FN_le: *value = x <= y; return true;
	case FN_gt: *value = x > y; return true;
	case FN_ge: *value = x >= y; return true;
	case FN_and: *value = (double)((int64_t)x & (int64_t)y); return true;
	case FN_or: *value = (double)((int64_t)x | (int64_t)y); return true;
	case FN_not: *value = x == 0; return true;
	default: return false;
	}
}

/* x+0, x*1, x*0 and the like; NULL where nothing simplifies. Arguments are of type t already. */
static const struct expr *
simplify(struct arena *a, enum scalar_fn fn, enum ir_dtype t, const struct expr *const *arg)
{
	const struct expr *x = arg[0], *y = arg[1];
	const bool constant = x->kind == EXPR_CONST && (!y || y->kind == EXPR_CONST);
	double value;

	if (constant && fold_constants(fn, ir_dtype_class(t) == IR_FLOAT, x->value,
				y ? y->value : 0, &value)) {
		const enum ir_dtype result = fn_row[fn].kind == KIND_BOOL ? IR_bool : t;
		if (ir_dtype_class(t) == IR_FLOAT ||
			t == IR_i64) /* i64: sizes, checked elsewhere */
			return expr_const(a, result, value);
		if (fabs(value) < exact && fabs(x->value) < exact && (!y || fabs(y->value) < exact))
			return expr_const_int(a, result, ir_dtype_wrap(result, (int64_t)value));
	}
	switch (fn) {
	case FN_select: return x->kind != EXPR_CONST ? NULL : x->value != 0 ? y : arg[2];
	case FN_add: return expr_is_const(x, 0) ? y : expr_is_const(y, 0) ? x : NULL;
	case FN_sub:
		return expr_is_const(y, 0)   ? x
		       : expr_is_const(x, 0) ? expr_call(a, FN_neg, y, NULL, NULL)
					     : NULL;
	case FN_exact: return expr_is_const(y, 1) ? x : NULL;
	case FN_div: return expr_is_const(y, 1) || expr_is_const(x, 0) ? x : NULL;
	case FN_mul:
		if (expr_is_const(x, 0) || expr_is_const(y, 0))
			return expr_const(a, t, 0);
		if (expr_is_const(x, -1) || expr_is_const(y, -1))
			return expr_call(a, FN_neg, expr_is_const(x, -1) ? y : x, NULL, NULL);
		return expr_is_const(x, 1) ? y : expr_is_const(y, 1) ? x : NULL;
	case FN_neg: return x->kind == EXPR_CALL && x->id == FN_neg ? x->arg[0] : NULL;
	default: return NULL;
	}
}

const struct expr *
expr_call(struct arena *a, enum scalar_fn fn, const struct expr *x, const struct expr *y,
	const struct expr *z)
{
	const struct expr *arg[3] = {x, y, z};
	int n = fn_row[fn].arity, first = fn == FN_select;
	enum ir_dtype t = common_dtype(arg, first, n);

	if (is_idle_bound(fn, y))
		return x;
	if (is_logic(fn))
		t = logic_dtype(t);
	else if (is_arithmetic(fn) && t == IR_bool)
		t = IR_i32; /* (x > 0) - (x < 0) */
	if (fn_is_random(fn) || fn == FN_exact) {
		t = IR_i64;
	} else if (fn_row[fn].kind == KIND_F && ir_dtype_class(t) != IR_FLOAT) {
		t = IR_f64;
	}
	if (fn == FN_not && t != IR_bool)
		return expr_call(a, FN_xor, x, expr_const(a, t, -1), NULL);
	for (int i = first; i < n; i++)
		arg[i] = expr_convert(a, t, arg[i]);
	const struct expr *simple = simplify(a, fn, t, arg);
	if (simple)
		return simple;
	if (fn_is_random(fn) && fn != FN_draw_bits)
		t = IR_f64;
	return expr_make_call(a, fn, fn_row[fn].kind == KIND_BOOL ? IR_bool : t, arg);
}

const struct expr *
expr_substitute(
	struct arena *a, const struct expr *e, const struct expr *const *with, const int *index_map)
{
	const struct expr *arg[3] = {NULL, NULL, NULL};
	bool same = true;

	switch ((enum expr_kind)e->kind) {
	case EXPR_LOAD:
		return with && with[e->id] ? expr_convert(a, (enum ir_dtype)e->dtype, with[e->id])
					   : e;
	case EXPR_INDEX:
		return index_map && index_map[e->id] != e->id ? expr_index(a, index_map[e->id]) : e;
	case EXPR_CONST: return e;
	case EXPR_CALL: break;
	}
	for (int i = 0; i < e->nargs; i++) {
		arg[i] = expr_substitute(a, e->arg[i], with, index_map);
		same = same && arg[i] == e->arg[i];
	}
	if (same)
		return e;
	struct expr *copy = expr_make_call(a, (enum scalar_fn)e->id, (enum ir_dtype)e->dtype, arg);
	copy->literal = e->literal;
	return copy;
}

int
expr_flops(const struct expr *e)
{
	int n = 0;

	if (e->kind != EXPR_CALL)
		return 0;
	for (int i = 0; i < e->nargs; i++)
		n += expr_flops(e->arg[i]);
	return n + (e->id != FN_convert && e->id != FN_stop && e->id != FN_element);
}

bool
expr_is_cheap(const struct expr *e)
{
	if (e->kind != EXPR_CALL)
		return true;
	const bool short_float = e->dtype == IR_f32 || e->dtype == IR_f16;
	if (fn_row[e->id].work != WORK_CHEAP &&
		!(short_float && (e->id == FN_div || e->id == FN_rsqrt)))
		return false;
	for (int i = 0; i < e->nargs; i++)
		if (!expr_is_cheap(e->arg[i]))
			return false;
	return true;
}

bool
expr_uses_index(const struct expr *e, int index)
{
	if (e->kind == EXPR_INDEX)
		return e->id == index;
	for (int i = 0; i < e->nargs; i++)
		if (expr_uses_index(e->arg[i], index))
			return true;
	return false;
}

/* Jointly linear in arg[first..n): those that are constant must be zero. */
static enum expr_linear
linear_sum(const struct expr *e, int first, uint32_t loads)
{
	bool yes = false, other = false;

	for (int i = first; i < e->nargs; i++) {
		enum expr_linear l = expr_linearity(e->arg[i], loads);
		if (l == LINEAR_NO)
			return LINEAR_NO;
		yes = yes || l == LINEAR_YES;
		other = other || (l == LINEAR_CONST && !expr_is_const(e->arg[i], 0));
	}
	return !yes ? LINEAR_CONST : other ? LINEAR_NO : LINEAR_YES;
}

/*
 * Is the sum of converted values the converted sum? Not if the conversion rounds to integers, and
 * not if summands may have wrapped and the target type is wider: this is possible for unsigned
 * types and those of 8 and 16 bits; signed ones of 32 and 64 bits are assumed not to overflow.
 */
static bool
convert_keeps_sums(const struct expr *e)
{
	enum ir_dclass to = ir_dtype_class((enum ir_dtype)e->dtype);
	enum ir_dclass from = ir_dtype_class((enum ir_dtype)e->arg[0]->dtype);

	const unsigned to_bytes = ir_dtype_bytes((enum ir_dtype)e->dtype),
		       from_bytes = ir_dtype_bytes((enum ir_dtype)e->arg[0]->dtype);

	if (to == IR_BOOL || from == IR_BOOL)
		return false;
	if (from == IR_FLOAT || to == IR_FLOAT)
		return to == IR_FLOAT && (from != IR_UINT && (from == IR_FLOAT || from_bytes >= 4));
	return to_bytes <= from_bytes || (from == IR_INT && to == IR_INT && from_bytes >= 4);
}

enum expr_linear
expr_linearity(const struct expr *e, uint32_t loads)
{
	if (e->kind == EXPR_LOAD)
		return loads >> e->id & 1 ? LINEAR_YES : LINEAR_CONST;
	if (e->kind != EXPR_CALL)
		return LINEAR_CONST;

	enum expr_linear arg[3] = {LINEAR_CONST, LINEAR_CONST, LINEAR_CONST};
	bool all_const = true;
	for (int i = 0; i < e->nargs; i++) {
		arg[i] = expr_linearity(e->arg[i], loads);
		if (arg[i] == LINEAR_NO)
			return LINEAR_NO;
		all_const = all_const && arg[i] == LINEAR_CONST;
	}
	if (all_const)
		return LINEAR_CONST;
	if (e->id == FN_convert && !convert_keeps_sums(e))
		return LINEAR_NO;
	bool integer_division =
		e->id == FN_div && ir_dtype_class((enum ir_dtype)e->dtype) != IR_FLOAT;
	switch (fn_row[e->id].linear) {
	case LIN_ADD: return linear_sum(e, 0, loads);
	case LIN_MUL: return arg[0] == LINEAR_YES && arg[1] == LINEAR_YES ? LINEAR_NO : LINEAR_YES;
	case LIN_FIRST: return arg[1] == LINEAR_YES || integer_division ? LINEAR_NO : LINEAR_YES;
	case LIN_REST: return arg[0] == LINEAR_YES ? LINEAR_NO : linear_sum(e, 1, loads);
	case LIN_NONE: break;
	}
	return LINEAR_NO;
}

/* A term of a derivative with x, y, z, r replaced. */
static const struct expr *
instantiate(struct arena *a, const struct term *t, const struct expr *const *xyz,
	const struct expr *r, enum ir_dtype type)
{
	const struct expr *arg[3] = {NULL, NULL, NULL};

	if (t->kind == TERM_CONST)
		return expr_const(a, type, t->value);
	if (t->kind == TERM_NAME)
		return *t->name == 'r' ? r : xyz[*t->name - 'x'];
	assert(t->kind == TERM_CALL);
	for (int i = 0; i < t->nargs; i++)
		arg[i] = instantiate(a, t->arg[i], xyz, r, type);
	return expr_call(a, (enum scalar_fn)t->fn, arg[0], arg[1], arg[2]);
}

static bool
expr_uses_load(const struct expr *e, int j)
{
	if (e->kind == EXPR_LOAD)
		return e->id == j;
	for (int i = 0; i < e->nargs; i++)
		if (expr_uses_load(e->arg[i], j))
			return true;
	return false;
}

/* The chain rule. */
const struct expr *
expr_derivative(
	struct arena *a, struct ir_context *ctx, const struct expr *e, int j, int result_load)
{
	enum ir_dtype t = (enum ir_dtype)e->dtype;

	if (e->kind == EXPR_LOAD)
		return expr_const(a, t, e->id == j);
	if (!expr_uses_load(e, j) || ir_dtype_class(t) != IR_FLOAT)
		return expr_const(a, t, 0);
	const struct expr *r = result_load >= 0 ? expr_load(a, t, result_load) : e,
			  *sum = expr_const(a, t, 0);
	for (int i = 0; i < e->nargs; i++) {
		const struct expr *inner = expr_derivative(a, ctx, e->arg[i], j, -1);
		if (expr_is_const(inner, 0))
			continue;
		const struct expr *outer =
			expr_convert(a, t, instantiate(a, ctx->derivative[e->id][i], e->arg, r, t));
		sum = expr_call(a, FN_add, sum,
			expr_call(a, FN_mul, outer, expr_convert(a, t, inner), NULL), NULL);
	}
	return sum;
}
