/* What generated host kernels include: the scalar functions, element types narrower than the
 * machine computes with, random numbers by position, matrix products. */
#ifndef RUNTIME_KERNEL_H
#define RUNTIME_KERNEL_H

#include "runtime/kernel/bits.h"
#include "runtime/kernel/conv.h"
#include "runtime/kernel/gemm.h"
#include "runtime/kernel/half.h"
#include "runtime/kernel/order.h"
#include "runtime/kernel/rng.h"
#include "runtime/kernel/scalar_math.h"

#include <stdbool.h>
#include <stddef.h>

/* Integers are truncated, and x / 0 is 0; the smallest by -1 is itself. */
static inline int32_t
m_div_i32(int32_t x, int32_t y)
{
	return y == 0 ? 0 : y == -1 ? (int32_t)(0u - (uint32_t)x) : x / y;
}

static inline int64_t
m_div_i64(int64_t x, int64_t y)
{
	return y == 0 ? 0 : y == -1 ? (int64_t)((uint64_t)0 - (uint64_t)x) : x / y;
}

/* The quotient for y > 0 if the remainder is 0, else -1. */
static inline int64_t
m_exact(int64_t x, int64_t y)
{
	return x % y ? -1 : x / y;
}

/* x / y rounded down, y > 0; the larger and the smaller: for bounds of loops. */
static inline int64_t
m_floor(int64_t x, int64_t y)
{
	return x / y - (x % y < 0);
}

static inline int64_t
m_larger(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

static inline int64_t
m_smaller(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

static inline float
m_div_f32(float x, float y)
{
	return x / y;
}

static inline double
m_div_f64(double x, double y)
{
	return x / y;
}

/* The remainder of that division: x for x / 0. */
static inline int32_t
m_rem_i32(int32_t x, int32_t y)
{
	return y == 0 ? x : y == -1 ? 0 : x % y;
}

static inline int64_t
m_rem_i64(int64_t x, int64_t y)
{
	return y == 0 ? x : y == -1 ? 0 : x % y;
}

/* Arithmetic shifts of integers of w bits; if y is negative or at least w, only the filler bits
 * remain. Types narrower than 32 bits are computed as int here, and truncated afterwards. */
static inline int32_t
m_shift_left_i32(int32_t x, int32_t y, int w)
{
	return (uint32_t)y < (uint32_t)w ? (int32_t)((uint32_t)x << (y & 31)) : 0;
}

static inline int64_t
m_shift_left_i64(int64_t x, int64_t y, int w)
{
	return (uint64_t)y < (uint64_t)w ? (int64_t)((uint64_t)x << (y & 63)) : 0;
}

static inline int32_t
m_shift_right_i32(int32_t x, int32_t y, int w)
{
	return x >> ((uint32_t)y < (uint32_t)w ? y : 31);
}

static inline int64_t
m_shift_right_i64(int64_t x, int64_t y, int w)
{
	return x >> ((uint64_t)y < (uint64_t)w ? y : 63);
}

static inline int32_t
m_shift_right_logical_i32(int32_t x, int32_t y, int w)
{
	const uint32_t bits = (uint32_t)x & UINT32_MAX >> (32 - w);
	return (uint32_t)y < (uint32_t)w ? (int32_t)(bits >> (y & 31)) : 0;
}

static inline int64_t
m_shift_right_logical_i64(int64_t x, int64_t y, int w)
{
	return (uint64_t)y < (uint64_t)w ? (int64_t)((uint64_t)x >> (y & 63)) : 0;
}

static inline float
m_rem_f32(float x, float y)
{
	return m_taken_f32(fmodf(m_taken_f32(x), m_taken_f32(y)));
}

static inline double
m_rem_f64(double x, double y)
{
	return m_taken_f64(fmod(m_taken_f64(x), m_taken_f64(y)));
}

/* The same without a sign: a shift by at least w gives 0. */
#define M_UNSIGNED_BITS(name, type, top)                                                           \
	static inline type m_div_##name(type x, type y)                                            \
	{                                                                                          \
		return y == 0 ? 0 : x / y;                                                         \
	}                                                                                          \
	static inline type m_rem_##name(type x, type y)                                            \
	{                                                                                          \
		return y == 0 ? x : x % y;                                                         \
	}                                                                                          \
	static inline type m_shift_left_##name(type x, type y, int w)                              \
	{                                                                                          \
		return y < (type)w ? x << (y & (top)) : 0;                                         \
	}                                                                                          \
	static inline type m_shift_right_##name(type x, type y, int w)                             \
	{                                                                                          \
		return y < (type)w ? x >> (y & (top)) : 0;                                         \
	}                                                                                          \
	static inline type m_shift_right_logical_##name(type x, type y, int w)                     \
	{                                                                                          \
		return m_shift_right_##name(x, y, w);                                              \
	}

M_UNSIGNED_BITS(u32, uint32_t, 31)
M_UNSIGNED_BITS(u64, uint64_t, 63)

/* Counts of bits, upper halves of products, and powers, for types of w bits. */
#define M_BITS(name, type, sign)                                                                   \
	static inline type m_popcnt_##name(type x, int w)                                          \
	{                                                                                          \
		return (type)rt_popcnt(rt_low_bits((uint64_t)x, w));                               \
	}                                                                                          \
	static inline type m_clz_##name(type x, int w)                                             \
	{                                                                                          \
		return (type)rt_clz(rt_low_bits((uint64_t)x, w), w);                               \
	}                                                                                          \
	static inline type m_mulhi_##name(type x, type y, int w)                                   \
	{                                                                                          \
		return (type)rt_mulhi_##sign(x, y, w);                                             \
	}                                                                                          \
	static inline type m_pow_##name(type x, type y)                                            \
	{                                                                                          \
		return (type)rt_pow_##sign(x, y);                                                  \
	}

M_BITS(i32, int32_t, i64)
M_BITS(i64, int64_t, i64)
M_BITS(u32, uint32_t, u64)
M_BITS(u64, uint64_t, u64)

static inline double
m_pow_f64(double x, double y)
{
	return pow(m_taken_f64(x), m_taken_f64(y));
}

#define M_INTS_1(x, w, f) _Generic((x), M_INTS(f))(x, w)
#define M_INTS_2(x, y, w, f) _Generic((x) + (y), M_INTS(f))(x, y, w)

#define M_div(x, y) M_ALL_2(x, y, m_div)
#define M_rem(x, y) M_ALL_2(x, y, m_rem)
#define M_and(x, y) ((x) & (y))
#define M_or(x, y) ((x) | (y))
#define M_xor(x, y) ((x) ^ (y))
#define M_shift_left(x, y, w) M_INTS_2(x, y, w, m_shift_left)
#define M_shift_right(x, y, w) M_INTS_2(x, y, w, m_shift_right)
#define M_shift_right_logical(x, y, w) M_INTS_2(x, y, w, m_shift_right_logical)
#define M_mulhi(x, y, w) M_INTS_2(x, y, w, m_mulhi)
#define M_popcnt(x, w) M_INTS_1(x, w, m_popcnt)
#define M_clz(x, w) M_INTS_1(x, w, m_clz)
#define M_pow(x, y) M_ALL_2(x, y, m_pow)
#define M_exact(x, y) m_exact(x, y)
#define M_not(x) ((x) == 0)
#define M_uniform(seed, at) rt_uniform(rt_mix64((uint64_t)(seed)), (uint64_t)(at))
#define M_normal(seed, at) rt_normal(rt_mix64((uint64_t)(seed)), (uint64_t)(at))
#define M_draw_uniform(key, n, at) rt_draw_uniform(key, n, at)
#define M_draw_normal(key, n, at) rt_draw_normal(key, n, at)
#define M_draw_bits(key, n, at) rt_draw_bits(key, n, at)

/* Floats to integers: truncated; out of range the nearest representable value; NaN is 0. */
#define M_TO_INT(x, type, bottom, top)                                                             \
	((x) != (x)               ? (type)0                                                        \
		: (x) >= (top)    ? (type)((top)-1)                                                \
		: (x) <= (bottom) ? (type)(bottom)                                                 \
				  : (type)(x))

static inline int64_t
m_to_i64(double x)
{
	return x != x ? 0 : x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

static inline int32_t
m_to_i32(double x)
{
	return M_TO_INT(x, int32_t, -0x1p31, 0x1p31);
}

static inline int16_t
m_to_i16(double x)
{
	return M_TO_INT(x, int16_t, -0x1p15, 0x1p15);
}

static inline int8_t
m_to_i8(double x)
{
	return M_TO_INT(x, int8_t, -128.0, 128.0);
}

static inline uint64_t
m_to_u64(double x)
{
	return x >= 0x1p64 ? UINT64_MAX : x > 0 ? (uint64_t)x : 0; /* NaN fails all comparisons */
}

static inline uint32_t
m_to_u32(double x)
{
	return M_TO_INT(x, uint32_t, 0.0, 0x1p32);
}

static inline uint16_t
m_to_u16(double x)
{
	return M_TO_INT(x, uint16_t, 0.0, 0x1p16);
}

static inline uint8_t
m_to_u8(double x)
{
	return M_TO_INT(x, uint8_t, 0.0, 256.0);
}

/* A number rounded once to the narrow type. */
#define M_ROUND(half)                                                                              \
	static inline float m_round_##half##_f32(float x)                                          \
	{                                                                                          \
		return rt_round_##half(x);                                                         \
	}                                                                                          \
	static inline float m_round_##half##_f64(double x)                                         \
	{                                                                                          \
		return rt_##half##_to_f32(rt_f64_to_##half(x));                                    \
	}                                                                                          \
	static inline float m_round_##half##_i64(int64_t x)                                        \
	{                                                                                          \
		return m_round_##half##_f64(rt_i64_to_odd(x));                                     \
	}                                                                                          \
	static inline float m_round_##half##_u64(uint64_t x)                                       \
	{                                                                                          \
		return m_round_##half##_f64(rt_u64_to_odd(x));                                     \
	}                                                                                          \
	static inline float m_round_##half##_i32(int32_t x)                                        \
	{                                                                                          \
		return m_round_##half##_f64(x);                                                    \
	}                                                                                          \
	static inline float m_round_##half##_u32(uint32_t x)                                       \
	{                                                                                          \
		return m_round_##half##_f64(x);                                                    \
	}

M_ROUND(f16)
M_ROUND(bf16)

#define m_round_f16(x) M_ALL_1(x, m_round_f16)
#define m_round_bf16(x) M_ALL_1(x, m_round_bf16)

#endif
