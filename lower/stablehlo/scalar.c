/*
 * The scalar functions (ir/ops/scalar.def) as ops of StableHLO. Most have one; the others are
 * composed of existing ops. Integers divided by 0 are 0 here, which StableHLO leaves undefined.
 */
#include "lower/stablehlo/hlo.h"

#include <math.h>
#include <string.h>

/* The op of a function: for numbers, and for bool if that differs. */
struct scalar_row {
	const char *number, *boolean;
	const char *direction; /* of compare */
	bool special;          /* written by a special case of hlo_scalar */
};

#define POINT(fn, number, boolean) [FN_##fn] = {number, boolean, NULL, false},
#define NUMBER(fn, number) POINT(fn, number, NULL)
#define COMPARE(fn, direction) [FN_##fn] = {NULL, NULL, direction, false},
#define SPECIAL(fn) [FN_##fn] = {NULL, NULL, NULL, true},

/* clang-format off */
static const struct scalar_row row[FN_COUNT] = {
	POINT(add, "stablehlo.add", "stablehlo.or")
	POINT(sub, "stablehlo.subtract", "stablehlo.xor")
	POINT(mul, "stablehlo.multiply", "stablehlo.and")
	SPECIAL(div)
	SPECIAL(exact)
	POINT(neg, "stablehlo.negate", "stablehlo.convert")
	POINT(maximum, "stablehlo.maximum", "stablehlo.or")
	POINT(minimum, "stablehlo.minimum", "stablehlo.and")
	NUMBER(exp, "stablehlo.exponential")
	NUMBER(log, "stablehlo.log")
	NUMBER(tanh, "stablehlo.tanh")
	NUMBER(erf, "chlo.erf")
	NUMBER(sqrt, "stablehlo.sqrt")
	NUMBER(rsqrt, "stablehlo.rsqrt")
	NUMBER(sigmoid, "stablehlo.logistic")
	NUMBER(sin, "stablehlo.sine")
	NUMBER(cos, "stablehlo.cosine")
	SPECIAL(abs)
	NUMBER(pow, "stablehlo.power")
	SPECIAL(rem)
	NUMBER(atan2, "stablehlo.atan2")
	NUMBER(log1p, "stablehlo.log_plus_one")
	NUMBER(expm1, "stablehlo.exponential_minus_one")
	SPECIAL(log2)
	SPECIAL(exp2)
	NUMBER(tan, "stablehlo.tan")
	NUMBER(asin, "chlo.asin")
	NUMBER(acos, "chlo.acos")
	NUMBER(atan, "chlo.atan")
	NUMBER(sinh, "chlo.sinh")
	NUMBER(cosh, "chlo.cosh")
	NUMBER(asinh, "chlo.asinh")
	NUMBER(acosh, "chlo.acosh")
	NUMBER(atanh, "chlo.atanh")
	NUMBER(cbrt, "stablehlo.cbrt")
	NUMBER(erfc, "chlo.erfc")
	NUMBER(floor, "stablehlo.floor")
	NUMBER(ceil, "stablehlo.ceil")
	NUMBER(round, "stablehlo.round_nearest_even")
	SPECIAL(trunc)
	SPECIAL(softplus)
	SPECIAL(sign)
	NUMBER(is_finite, "stablehlo.is_finite")
	SPECIAL(is_inf)
	SPECIAL(is_nan)
	COMPARE(eq, "EQ")
	COMPARE(ne, "NE")
	COMPARE(lt, "LT")
	COMPARE(le, "LE")
	COMPARE(gt, "GT")
	COMPARE(ge, "GE")
	POINT(and, "stablehlo.and", "stablehlo.and")
	POINT(or, "stablehlo.or", "stablehlo.or")
	POINT(xor, "stablehlo.xor", "stablehlo.xor")
	NUMBER(shift_left, "stablehlo.shift_left")
	SPECIAL(shift_right)
	NUMBER(shift_right_logical, "stablehlo.shift_right_logical")
	POINT(not, "stablehlo.not", "stablehlo.not")
	SPECIAL(select)
	SPECIAL(convert)
	SPECIAL(stop)
	SPECIAL(uniform)
	SPECIAL(normal)
	SPECIAL(draw_uniform)
	SPECIAL(draw_normal)
	SPECIAL(draw_bits)
	NUMBER(mulhi, "chlo.mulhi")
	NUMBER(popcnt, "stablehlo.popcnt")
	NUMBER(clz, "stablehlo.count_leading_zeros")
	NUMBER(bitcast, "stablehlo.bitcast_convert")
	NUMBER(round_away, "stablehlo.round_nearest_afz")
	SPECIAL(reduce_precision)
};
/* clang-format on */

bool
hlo_scalar_exists(enum scalar_fn fn)
{
	return row[fn].number || row[fn].direction || row[fn].special;
}

/* Integers: x / y, x rem y with a y that is never 0, and the results for y = 0. */
static struct hlo_value
divided(struct hlo *h, const struct expr *e, const char *name, struct hlo_value x,
	struct hlo_value y, struct hlo_value otherwise)
{
	const struct expr *by = e->arg[1];

	if (ir_dtype_class((enum ir_dtype)x.dtype) == IR_FLOAT ||
		(by->kind == EXPR_CONST && by->value != 0))
		return hlo_two(h, name, x, y);
	struct hlo_value zero = hlo_integer(h, y, 0);
	zero = hlo_compare(h, "EQ", y, zero);
	y = hlo_select(h, zero, hlo_integer(h, y, 1), y);
	return hlo_select(h, zero, otherwise, hlo_two(h, name, x, y));
}

/* x / y where y divides x, else -1. */
static struct hlo_value
exact(struct hlo *h, const struct expr *e, struct hlo_value x, struct hlo_value y)
{
	const struct hlo_value none = hlo_integer(h, x, -1), one = hlo_integer(h, x, 1);
	const struct hlo_value rest = divided(h, e, "stablehlo.remainder", x, y, one);
	const struct hlo_value divides = hlo_compare(h, "EQ", rest, hlo_integer(h, x, 0));

	return hlo_select(h, divides, divided(h, e, "stablehlo.divide", x, y, none), none);
}

/* maximum(x, 0) + log1p(exp(-|x|)) */
static struct hlo_value
softplus(struct hlo *h, struct hlo_value x)
{
	static const char *const steps[] = {"stablehlo.abs", "stablehlo.negate",
		"stablehlo.exponential", "stablehlo.log_plus_one"};
	struct hlo_value y = x;

	for (int i = 0; i < 4; i++)
		y = hlo_one(h, steps[i], y);
	x = hlo_two(h, "stablehlo.maximum", x, hlo_number(h, x, 0));
	return hlo_two(h, "stablehlo.add", x, y);
}

static struct hlo_value
truncated(struct hlo *h, struct hlo_value x)
{
	const struct hlo_value below = hlo_compare(h, "LT", x, hlo_number(h, x, 0));
	const struct hlo_value up = hlo_one(h, "stablehlo.ceil", x);

	return hlo_select(h, below, up, hlo_one(h, "stablehlo.floor", x));
}

static struct hlo_value
special(struct hlo *h, const struct expr *e, const struct hlo_value *arg)
{
	const enum ir_dclass kind = ir_dtype_class((enum ir_dtype)arg[0].dtype);
	struct hlo_value x = arg[0];

	switch ((enum scalar_fn)e->id) {
	case FN_div:
		return divided(h, e, "stablehlo.divide", x, arg[1],
			kind == IR_FLOAT ? x : hlo_integer(h, x, 0));
	case FN_rem: return divided(h, e, "stablehlo.remainder", x, arg[1], x);
	case FN_exact: return exact(h, e, x, arg[1]);
	case FN_abs: return kind == IR_UINT || kind == IR_BOOL ? x : hlo_one(h, "stablehlo.abs", x);
	case FN_sign:
		if (kind == IR_UINT)
			return hlo_two(h, "stablehlo.minimum", x, hlo_integer(h, x, 1));
		return kind == IR_BOOL ? x : hlo_one(h, "stablehlo.sign", x);
	case FN_log2:
		x = hlo_one(h, "stablehlo.log", x);
		return hlo_two(h, "stablehlo.divide", x, hlo_number(h, x, log(2)));
	case FN_exp2: return hlo_two(h, "stablehlo.power", hlo_number(h, x, 2), x);
	case FN_trunc: return truncated(h, x);
	case FN_softplus: return softplus(h, x);
	case FN_is_inf:
		x = hlo_one(h, "stablehlo.abs", x);
		return hlo_compare(h, "EQ", x, hlo_number(h, x, INFINITY));
	case FN_is_nan: return hlo_compare(h, "NE", x, x);
	case FN_shift_right:
		return hlo_two(h,
			kind == IR_UINT ? "stablehlo.shift_right_logical"
					: "stablehlo.shift_right_arithmetic",
			x, arg[1]);
	case FN_select: return hlo_select(h, x, arg[1], arg[2]);
	case FN_convert: return hlo_convert(h, (enum ir_dtype)e->dtype, x);
	case FN_stop: return x;
	case FN_reduce_precision:
		return hlo_make(h, "stablehlo.reduce_precision", &x, 1,
			hlo_text(h, "exponent_bits = %d : i32, mantissa_bits = %d : i32",
				(int)e->arg[1]->value, (int)e->arg[2]->value),
			x);
	default: return hlo_random(h, e, arg);
	}
}

bool
hlo_scalar(struct hlo *h, const struct expr *e, const struct hlo_value *arg, struct hlo_value *out)
{
	const struct scalar_row *r = &row[e->id];
	const char *name = arg[0].dtype == IR_bool && r->boolean ? r->boolean : r->number;

	if (r->special)
		*out = special(h, e, arg);
	else if (r->direction)
		*out = hlo_compare(h, r->direction, arg[0], arg[1]);
	else if (name)
		*out = hlo_make(
			h, name, arg, e->nargs, NULL, hlo_like(arg[0], (enum ir_dtype)e->dtype));
	return r->special || r->direction || name;
}
