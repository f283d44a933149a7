/* Elements as doubles: see value.h. */
#include "runtime/data/value.h"
#include "runtime/kernel/half.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

double
rt_value_get(enum rt_dtype t, const void *array, int64_t i)
{
	switch (t) {
	case RT_f64: return ((const double *)array)[i];
	case RT_f32: return ((const float *)array)[i];
	case RT_f16: return rt_f16_to_f32(((const uint16_t *)array)[i]);
	case RT_bf16: return rt_bf16_to_f32(((const uint16_t *)array)[i]);
	case RT_i64: return (double)((const int64_t *)array)[i];
	case RT_i32: return ((const int32_t *)array)[i];
	case RT_i16: return ((const int16_t *)array)[i];
	case RT_i8: return ((const int8_t *)array)[i];
	case RT_u64: return (double)((const uint64_t *)array)[i];
	case RT_u32: return ((const uint32_t *)array)[i];
	case RT_u16: return ((const uint16_t *)array)[i];
	case RT_u8:
	case RT_bool: return ((const uint8_t *)array)[i];
	case RT_DTYPES: break;
	}
	return 0;
}

/* Negative numbers wrap around: made-up data of unsigned types may start anywhere. */
static uint64_t
whole_u64(double x)
{
	const double near = nearbyint(x);
	return near < 0x1p63 ? (uint64_t)(int64_t)near : (uint64_t)near;
}

void
rt_value_set(enum rt_dtype t, void *array, int64_t i, double x)
{
	switch (t) {
	case RT_f64: ((double *)array)[i] = x; break;
	case RT_f32: ((float *)array)[i] = (float)x; break;
	case RT_f16: ((uint16_t *)array)[i] = rt_f64_to_f16(x); break;
	case RT_bf16: ((uint16_t *)array)[i] = rt_f64_to_bf16(x); break;
	case RT_i64: ((int64_t *)array)[i] = (int64_t)nearbyint(x); break;
	case RT_i32: ((int32_t *)array)[i] = (int32_t)nearbyint(x); break;
	case RT_i16: ((int16_t *)array)[i] = (int16_t)nearbyint(x); break;
	case RT_i8: ((int8_t *)array)[i] = (int8_t)nearbyint(x); break;
	case RT_u64: ((uint64_t *)array)[i] = whole_u64(x); break;
	case RT_u32: ((uint32_t *)array)[i] = (uint32_t)whole_u64(x); break;
	case RT_u16: ((uint16_t *)array)[i] = (uint16_t)whole_u64(x); break;
	case RT_u8: ((uint8_t *)array)[i] = (uint8_t)whole_u64(x); break;
	case RT_bool: ((uint8_t *)array)[i] = x != 0; break;
	case RT_DTYPES: break;
	}
}

/* Is x representable in that integer type? */
static bool
fits(enum rt_dtype t, double x)
{
	const int bits = 8 * (int)rt_dtype_bytes(t);
	const bool is_signed = rt_dtype_info(t)->kind == RT_CLASS_INT;

	return x == nearbyint(x) && x >= (is_signed ? -ldexp(1, bits - 1) : 0) &&
	       x < ldexp(1, is_signed ? bits - 1 : bits);
}

static bool
is_whole_number(enum rt_dtype t)
{
	return rt_dtype_info(t)->kind == RT_CLASS_INT || rt_dtype_info(t)->kind == RT_CLASS_UINT;
}

bool
rt_value_converts(enum rt_dtype from, enum rt_dtype to)
{
	if (from == RT_DTYPES)
		return false;
	return rt_dtype_info(to)->kind == RT_CLASS_FLOAT
		       ? rt_dtype_info(from)->kind == RT_CLASS_FLOAT
		       : is_whole_number(to) && is_whole_number(from);
}

static bool
convert_element(const struct rt_conversion *c, uint64_t element, void *to, int64_t i, double *lost)
{
	const bool is_whole = is_whole_number(c->to);

	*lost = rt_value_get(c->from, &element, 0);
	/* i64 and u64: a double cannot hold all of their values. */
	if (is_whole && rt_dtype_bytes(c->from) == sizeof element &&
		rt_dtype_bytes(c->to) == sizeof element) {
		((uint64_t *)to)[i] = element;
		return element <= INT64_MAX;
	}
	if (is_whole && !fits(c->to, *lost))
		return false;
	rt_value_set(c->to, to, i, *lost);
	return true;
}

bool
rt_value_convert(
	const struct rt_conversion *c, int64_t at, void *to, int64_t first, int64_t n, double *lost)
{
	const size_t bytes = rt_dtype_bytes(c->from);
	if (c->from == c->to) {
		memcpy((char *)to + (size_t)first * bytes, c->data + (size_t)at * bytes,
			(size_t)n * bytes);
		return true;
	}
	for (int64_t i = 0; i < n; i++) {
		uint64_t element = 0;
		memcpy(&element, c->data + (size_t)(at + i) * bytes, bytes);
		if (!convert_element(c, element, to, first + i, lost))
			return false;
	}
	return true;
}
