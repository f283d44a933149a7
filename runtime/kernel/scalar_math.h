/* Scalar functions for generated host kernels: branch-free, so that a loop over them becomes vector
 * code at -O3 without -ffast-math. Single precision has polynomials of its own (minimax, fitted
 * with Remez' exchange against 40-digit values), or is computed in double (scalar_wide.h); double
 * precision is libm's.
 *
 *	error over all floats: sin, cos, tan, log1p, log2, exp2, pow <= 1 ULP, exp, log, softplus
 *	<= 2 ULP, expm1 <= 3 ULP, tanh, erf, sigmoid <= 4 ULP, erfc <= 6 ULP
 *	infinities, NaN and subnormal results as libm has them
 *
 * Selections are written as `c ? a : b` over values that exist already: both sides are computed and
 * blended. M_sqrt, M_rsqrt vectorize with -fno-math-errno only, the roundings and their users
 * with -fno-trapping-math (no code reads errno or the flags of exceptions; both are exact, unlike
 * fast-math). f32 functions with libm's names are libm's and do not vectorize. The M_ macros
 * choose by their arguments' type. */
#ifndef RUNTIME_SCALAR_MATH_H
#define RUNTIME_SCALAR_MATH_H

#include "runtime/kernel/scalar_wide.h"

#include <math.h>
#include <stdint.h>

/* a * b + c: one rounding where the machine has it in one instruction, else two. */
static inline float
m_fma_f32(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
	return __builtin_fmaf(a, b, c);
#else
	return a * b + c;
#endif
}

/* x with the sign of s; x is not negative. */
static inline float
m_with_sign_f32(float x, float s)
{
	return rt_bits_float(rt_float_bits(x) | (rt_float_bits(s) & 0x80000000u));
}

/* exp(x) = 2^n * (1 + rest). */
struct m_power {
	float rest;
	uint32_t n;
};

/* |x| is below 110. Adding 1.5 * 2^23 rounds to an integer that the low bits then hold. */
static inline struct m_power
m_power_f32(float v)
{
	const float t = m_fma_f32(v, 1.44269504f, 12582912.0f);
	const float n = t - 12582912.0f;
	float r = m_fma_f32(n, -0.693359375f, v);
	r = m_fma_f32(n, 2.12194440e-4f, r);
	float p = 0.001381460245f;
	p = m_fma_f32(p, r, 0.008368717157f);
	p = m_fma_f32(p, r, 0.04166838799f);
	p = m_fma_f32(p, r, 0.1666652063f);
	p = m_fma_f32(p, r, 0.4999999345f);
	return (struct m_power){m_fma_f32(p, r * r, r), rt_float_bits(t) - 0x4B400000u};
}

/* 2^n is two factors, because the result may be subnormal or n = 128. Below -104 the result is 0,
 * and no intermediate value is subnormal: masked scores are numbers like -1e30. */
static inline float
m_exp_f32(float x)
{
	const int none = x < -104.0f;
	const float low = none ? 0.0f : x;
	const struct m_power e = m_power_f32(low > 89.0f ? 89.0f : low); /* infinite above */
	const uint32_t k1 = (uint32_t)((int32_t)e.n >> 1);
	const uint32_t k2 = e.n - k1;
	const float scaled = (e.rest + 1.0f) * rt_bits_float((k1 + 127u) << 23);
	const float r = scaled * rt_bits_float((k2 + 127u) << 23);
	return none ? 0.0f : r;
}

/* 2^n rest + (2^n - 1), by halves, because n may be 128. */
static inline float
m_expm1_f32(float x)
{
	const float low = x < -20.0f ? -20.0f : x; /* it is -1 below */
	const struct m_power e = m_power_f32(low > 89.0f ? 89.0f : low);
	const float half = rt_bits_float((e.n + 126u) << 23);
	const float r = 2.0f * m_fma_f32(half, e.rest, half - 0.5f);
	return m_select_f32(fabsf(x) < 0x1p-25f, x, r); /* -0, and x with a subnormal half */
}

/* log(x) = e * ln(2) + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). ln(2) is two parts: the first has
 * so few bits that its product with e is exact. */
static inline float
m_log_f32(float x)
{
	const float y = m_select_f32(x < 0x1p-126f, x * 0x1p23f, x);
	const float bias = x < 0x1p-126f ? -23.0f : 0.0f;
	const uint32_t i = rt_float_bits(y) - 0x3F3504F3u;
	const float e = (float)((int32_t)i >> 23) + bias;
	const float f = rt_bits_float((i & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
	float p = 0.06746637556f;
	p = m_fma_f32(p, f, -0.116756507f);
	p = m_fma_f32(p, f, 0.1188816289f);
	p = m_fma_f32(p, f, -0.124055896f);
	p = m_fma_f32(p, f, 0.1421955254f);
	p = m_fma_f32(p, f, -0.1666799578f);
	p = m_fma_f32(p, f, 0.2000211863f);
	p = m_fma_f32(p, f, -0.250000096f);
	p = m_fma_f32(p, f, 0.3333331261f);
	const float ff = f * f;
	float r = m_fma_f32(p * f, ff, e * -2.12194440e-4f);
	r = m_fma_f32(ff, -0.5f, r) + f;
	r = m_fma_f32(e, 0.693359375f, r);
	const float inf = rt_bits_float(0x7F800000u);
	r = m_select_f32(x < inf, r, x); /* infinity and NaN */
	r = m_select_f32(x == 0.0f, -inf, r);
	return m_select_f32(x < 0.0f, rt_bits_float(0x7FC00000u), r);
}

/* An odd polynomial near 0; 1 - 2 / (exp(2a) + 1) elsewhere. */
static inline float
m_tanh_f32(float x)
{
	const float a = rt_bits_float(rt_float_bits(x) & 0x7FFFFFFFu);
	const float z = x * x;
	float p = -0.006274237714f;
	p = m_fma_f32(p, z, 0.02107167785f);
	p = m_fma_f32(p, z, -0.05385230964f);
	p = m_fma_f32(p, z, 0.1333258614f);
	p = m_fma_f32(p, z, -0.3333331756f);
	const float near = m_fma_f32(p * z, a, a);
	const float far = 1.0f - 2.0f / (m_exp_f32(a + a) + 1.0f);
	return m_with_sign_f32(m_select_f32(a < 0.55f, near, far), x);
}

/* erf of a from 0 to 0.9: an odd polynomial. */
static inline float
m_erf_near_f32(float a)
{
	const float z = a * a;
	float p = -0.0006090356789f;
	p = m_fma_f32(p, z, 0.005011962143f);
	p = m_fma_f32(p, z, -0.0267789084f);
	p = m_fma_f32(p, z, 0.1128214079f);
	p = m_fma_f32(p, z, -0.3761252327f);
	p = m_fma_f32(p, z, 0.1283791538f);
	return m_fma_f32(p, a, a);
}

/* 1 - exp(-g(a)) from 0.9 on, g fitted to -log(erfc). From 3.95 on erf is 1. */
static inline float
m_erf_f32(float x)
{
	const float a = rt_bits_float(rt_float_bits(x) & 0x7FFFFFFFu);
	const float near = m_erf_near_f32(a);
	const float c = a > 3.95f ? 3.95f : a;
	float g = -0.0001982176174f;
	g = m_fma_f32(g, c, 0.003065471833f);
	g = m_fma_f32(g, c, -0.02231514512f);
	g = m_fma_f32(g, c, 0.1041135486f);
	g = m_fma_f32(g, c, 0.6369762204f);
	g = m_fma_f32(g, c, 1.127797167f);
	g = m_fma_f32(g, c, 0.0001664645426f);
	const float far = 1.0f - m_exp_f32(-g);
	return m_with_sign_f32(m_select_f32(a < 0.9f, near, far), x);
}

/* exp(-a^2) q(t), t = 1 / (1 + a / 2), from 0.5 on. a^2 is `square` plus its rounding error, from
 * products of twelve bits, which are exact: exp would magnify the error. From 10.1 on erfc is 0. */
static inline float
m_erfc_f32(float x)
{
	const float a = rt_bits_float(rt_float_bits(x) & 0x7FFFFFFFu);
	const float c = a > 10.2f ? 10.2f : a;
	const float t = 1.0f / m_fma_f32(c, 0.5f, 1.0f);
	float q = -0.066166097224f;
	q = m_fma_f32(q, t, 0.31506403453f);
	q = m_fma_f32(q, t, -0.54240783859f);
	q = m_fma_f32(q, t, 0.3329174267f);
	q = m_fma_f32(q, t, -0.059212002951f);
	q = m_fma_f32(q, t, 0.21449806319f);
	q = m_fma_f32(q, t, 0.24056171353f);
	q = m_fma_f32(q, t, 0.28267152711f);
	q = m_fma_f32(q, t, 0.28207213099f) * t;
	const float high = rt_bits_float(rt_float_bits(c) & 0xFFFFF000u), low = c - high;
	const float square = c * c;
	const float rest = ((high * high - square) + 2.0f * high * low) + low * low;
	const float tail = m_exp_f32(-square) * m_fma_f32(q, -rest, q);
	const float far = m_select_f32(x < 0.0f, 2.0f - tail, tail);
	return m_select_f32(a < 0.5f, 1.0f - m_with_sign_f32(m_erf_near_f32(a), x), far);
}

/* 1 / (1 + exp(-x)) from exp(-|x|), which never overflows. */
static inline float
m_sigmoid_f32(float x)
{
	const float e = m_exp_f32(-rt_bits_float(rt_float_bits(x) & 0x7FFFFFFFu));
	const float top = x < 0.0f ? e : 1.0f;
	return top / (1.0f + e);
}

static inline double
m_sigmoid_f64(double x)
{
	const double e = exp(-fabs(x));
	return (x < 0 ? e : 1) / (1 + e);
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)) */
static inline float
m_softplus_f32(float x)
{
	return (x > 0.0f ? x : 0.0f) + m_log1p_f32(m_exp_f32(-fabsf(x)));
}

static inline double
m_softplus_f64(double x)
{
	return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* x as arithmetic reads it: a subnormal number that counts as zero becomes a zero of its sign.
 * Comparisons, selections and libm, which reads the bits, would not do that. */
static inline float
m_taken_f32(float x)
{
	return copysignf(x + 0.0f, x);
}

static inline double
m_taken_f64(double x)
{
	return copysign(x + 0.0, x);
}

/* -1, 0 or 1; a NaN if x is one. */
static inline float
m_sign_f32(float x)
{
	const float below = x < 0.0f ? -1.0f : m_taken_f32(x);
	return x > 0.0f ? 1.0f : below;
}

static inline double
m_sign_f64(double x)
{
	const double below = x < 0 ? -1 : m_taken_f64(x);
	return x > 0 ? 1 : below;
}

static inline int
m_is_finite_f32(float x)
{
	return fabsf(x) < INFINITY;
}

static inline int
m_is_finite_f64(double x)
{
	return fabs(x) < (double)INFINITY;
}

static inline int
m_is_inf_f32(float x)
{
	return fabsf(x) == INFINITY;
}

static inline int
m_is_inf_f64(double x)
{
	return fabs(x) == (double)INFINITY;
}

static inline float
m_rsqrt_f32(float x)
{
	return 1.0f / sqrtf(x);
}

static inline double
m_rsqrt_f64(double x)
{
	return 1 / sqrt(x);
}

/* The larger and the smaller; a NaN if either is one. */
static inline float
m_max_f32(float a, float b)
{
	const float m = a > b ? a : b;
	return m_taken_f32(a != a ? a : m);
}

static inline double
m_max_f64(double a, double b)
{
	const double m = a > b ? a : b;
	return m_taken_f64(a != a ? a : m);
}

static inline float
m_min_f32(float a, float b)
{
	const float m = a < b ? a : b;
	return m_taken_f32(a != a ? a : m);
}

static inline double
m_min_f64(double a, double b)
{
	const double m = a < b ? a : b;
	return m_taken_f64(a != a ? a : m);
}

static inline float
m_abs_f32(float a)
{
	return fabsf(a);
}

static inline double
m_abs_f64(double a)
{
	return fabs(a);
}

/* The same of integers, in all widths that C computes with. */
#define M_INTEGER(name, type)                                                                      \
	static inline type m_max_##name(type a, type b)                                            \
	{                                                                                          \
		return a > b ? a : b;                                                              \
	}                                                                                          \
	static inline type m_min_##name(type a, type b)                                            \
	{                                                                                          \
		return a < b ? a : b;                                                              \
	}                                                                                          \
	static inline type m_sign_##name(type a)                                                   \
	{                                                                                          \
		return (type)((a > 0) - (a < 0));                                                  \
	}

#define M_UNSIGNED(name, type)                                                                     \
	static inline type m_max_##name(type a, type b)                                            \
	{                                                                                          \
		return a > b ? a : b;                                                              \
	}                                                                                          \
	static inline type m_min_##name(type a, type b)                                            \
	{                                                                                          \
		return a < b ? a : b;                                                              \
	}                                                                                          \
	static inline type m_sign_##name(type a)                                                   \
	{                                                                                          \
		return a != 0;                                                                     \
	}                                                                                          \
	static inline type m_abs_##name(type a)                                                    \
	{                                                                                          \
		return a;                                                                          \
	}

M_INTEGER(i32, int32_t)
M_INTEGER(i64, int64_t)
M_UNSIGNED(u32, uint32_t)
M_UNSIGNED(u64, uint64_t)

/* The smallest integer is its own magnitude, as in numpy. */
static inline int32_t
m_abs_i32(int32_t a)
{
	return (int32_t)(a < 0 ? 0u - (uint32_t)a : (uint32_t)a);
}

static inline int64_t
m_abs_i64(int64_t a)
{
	return (int64_t)(a < 0 ? (uint64_t)0 - (uint64_t)a : (uint64_t)a);
}

static inline float
m_atan2_f32(float y, float x)
{
	return atan2f(m_taken_f32(y), m_taken_f32(x));
}

static inline double
m_atan2_f64(double y, double x)
{
	return atan2(m_taken_f64(y), m_taken_f64(x));
}

static inline double
m_log_f64(double x)
{
	return log(m_taken_f64(x));
}

static inline double
m_log2_f64(double x)
{
	return log2(m_taken_f64(x));
}

/* clang-format off */
#define M_FLOATS_1(x, f32, f64) _Generic((x), float: f32, double: f64)(x)
#define M_taken(x) M_FLOATS_1(x, m_taken_f32, m_taken_f64)
#define M_TAKEN_1(x, f32, f64) M_FLOATS_1(M_taken(x), f32, f64)
#define M_FLOATS_2(x, y, f32, f64) _Generic((x) + (y), float: f32, double: f64)(x, y)
#define M_INTS(f)                                                                                  \
	long: f##_i64, long long: f##_i64, unsigned: f##_u32, unsigned long: f##_u64,              \
		unsigned long long: f##_u64, default: f##_i32
#define M_ALL_1(x, f) _Generic((x), float: f##_f32, double: f##_f64, M_INTS(f))(x)
#define M_ALL_2(x, y, f) _Generic((x) + (y), float: f##_f32, double: f##_f64, M_INTS(f))(x, y)

#define M_exp(x) M_FLOATS_1(x, m_exp_f32, exp)
#define M_log(x) M_FLOATS_1(x, m_log_f32, m_log_f64)
#define M_tanh(x) M_FLOATS_1(x, m_tanh_f32, tanh)
#define M_erf(x) M_FLOATS_1(x, m_erf_f32, erf)
#define M_sigmoid(x) M_FLOATS_1(x, m_sigmoid_f32, m_sigmoid_f64)
#define M_sqrt(x) M_FLOATS_1(x, sqrtf, sqrt)
#define M_rsqrt(x) M_FLOATS_1(x, m_rsqrt_f32, m_rsqrt_f64)
#define M_sin(x) M_TAKEN_1(x, m_sin_f32, sin)
#define M_cos(x) M_FLOATS_1(x, m_cos_f32, cos)
#define M_tan(x) M_TAKEN_1(x, m_tan_f32, tan)
#define M_log1p(x) M_TAKEN_1(x, m_log1p_f32, log1p)
#define M_expm1(x) M_TAKEN_1(x, m_expm1_f32, expm1)
#define M_log2(x) M_FLOATS_1(x, m_log2_f32, m_log2_f64)
#define M_exp2(x) M_FLOATS_1(x, m_exp2_f32, exp2)
#define M_softplus(x) M_FLOATS_1(x, m_softplus_f32, m_softplus_f64)
#define M_asin(x) M_TAKEN_1(x, asinf, asin)
#define M_acos(x) M_FLOATS_1(x, acosf, acos)
#define M_atan(x) M_TAKEN_1(x, atanf, atan)
#define M_sinh(x) M_TAKEN_1(x, sinhf, sinh)
#define M_cosh(x) M_FLOATS_1(x, coshf, cosh)
#define M_asinh(x) M_TAKEN_1(x, asinhf, asinh)
#define M_acosh(x) M_FLOATS_1(x, acoshf, acosh)
#define M_atanh(x) M_TAKEN_1(x, atanhf, atanh)
#define M_cbrt(x) M_TAKEN_1(x, cbrtf, cbrt)
#define M_erfc(x) M_FLOATS_1(x, m_erfc_f32, erfc)
#define M_floor(x) M_FLOATS_1(x, floorf, floor)
#define M_ceil(x) M_FLOATS_1(x, ceilf, ceil)
#define M_trunc(x) M_FLOATS_1(x, truncf, trunc)
#define M_round(x) M_FLOATS_1(x, rintf, rint) /* half to even: the mode never changes */
#define M_round_away(x) M_FLOATS_1(x, roundf, round)
#define M_is_finite(x) M_FLOATS_1(x, m_is_finite_f32, m_is_finite_f64)
#define M_is_inf(x) M_FLOATS_1(x, m_is_inf_f32, m_is_inf_f64)
#define M_sign(x) M_ALL_1(x, m_sign)
#define M_abs(x) M_ALL_1(x, m_abs)
#define M_max(x, y) M_ALL_2(x, y, m_max)
#define M_min(x, y) M_ALL_2(x, y, m_min)
#define M_atan2(x, y) M_FLOATS_2(x, y, m_atan2_f32, m_atan2_f64)
#define M_fma(x, y, z) _Generic((x) * (y) + (z), float: m_fma_f32, double: m_fma_f64)(x, y, z)
/* clang-format on */

#endif
