/* Numbers as element types hold them. */
#include "ir/type.h"

#include <math.h>

/*
 * Rounds to `bits` bits of mantissa (the hidden one included), to nearest even; `least` is the
 * exponent of the smallest normal number as frexp gives it, `largest` the largest finite one.
 */
static double
round_to_bits(double v, int bits, int least, double largest)
{
	if (!isfinite(v) || v == 0)
		return v;
	int e;
	frexp(v, &e);
	const int last = (e > least ? e : least) - bits;
	const double r = ldexp(rint(ldexp(v, -last)), last);
	return fabs(r) > largest ? copysign(INFINITY, v) : r;
}

double
ir_dtype_round(enum ir_dtype t, double v)
{
	switch (t) {
	case IR_f32: return (double)(float)v;
	case IR_f16: return round_to_bits(v, 11, -13, 65504);
	case IR_bf16: return round_to_bits(v, 8, -125, 0x1.FEp127);
	default: return v;
	}
}

int64_t
ir_dtype_lowest(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_INT ? -(INT64_C(1) << (8 * ir_dtype_bytes(t) - 2)) * 2 : 0;
}

int64_t
ir_dtype_truncated(enum ir_dtype t, double v)
{
	if (t == IR_bool)
		return v != 0;
	if (v != v)
		return 0;
	const int bits = (int)(8 * ir_dtype_bytes(t));
	const bool isunsigned = ir_dtype_class(t) == IR_UINT;
	const double top = ldexp(1, isunsigned ? bits : bits - 1), bottom = isunsigned ? 0 : -top;
	if (v >= top)
		return (int64_t)(UINT64_MAX >> (64 - bits) >> !isunsigned);
	if (v <= bottom)
		return (int64_t)bottom;
	return v < 0x1p63 ? (int64_t)v : (int64_t)(uint64_t)v;
}

int64_t
ir_dtype_fill(enum ir_dtype t, double v)
{
	return v == -INFINITY ? ir_dtype_lowest(t) : ir_dtype_truncated(t, v);
}

double
ir_dtype_double(enum ir_dtype t, int64_t i)
{
	return t == IR_u64 ? (double)(uint64_t)i : (double)i;
}

bool
ir_dtype_less(enum ir_dtype t, int64_t a, int64_t b)
{
	return t == IR_u64 ? (uint64_t)a < (uint64_t)b : a < b;
}

int64_t
ir_dtype_wrap(enum ir_dtype t, int64_t v)
{
	if (t == IR_bool)
		return v != 0;
	const unsigned spare = 64 - 8 * ir_dtype_bytes(t);
	const uint64_t up = (uint64_t)v << spare;
	return ir_dtype_class(t) == IR_UINT ? (int64_t)(up >> spare) : (int64_t)up >> spare;
}
