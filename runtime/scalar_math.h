/* Scalar functions for generated host kernels: branch-free, so that a loop over them becomes vector
 * code at -O3 without -ffast-math. Single precision has polynomials of its own (minimax, fitted
 * with Remez' exchange against 40-digit values); double precision is libm's.
 *
 *	error over all floats: exp, log <= 2 ULP, tanh, erf, sigmoid <= 4 ULP
 *	infinities, NaN and subnormal results as libm has them
 *
 * Selections are written as `c ? a : b` over values that exist already: both sides are computed and
 * blended. M_sqrt, M_rsqrt vectorize with -fno-math-errno only (exact, unlike fast-math); sin, cos,
 * pow are libm's and do not vectorize. The M_ macros choose by their arguments' type. */
#ifndef RUNTIME_SCALAR_MATH_H
#define RUNTIME_SCALAR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t
m_bits_f32(float x)
{
	uint32_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

static inline float
m_float_f32(uint32_t u)
{
	float x;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* c ? a : b on bits: where a costs arithmetic the compiler would otherwise compute it in a
 * branch. */
static inline float
m_select_f32(int c, float a, float b)
{
	const uint32_t mask = 0u - (uint32_t)c;
	return m_float_f32((m_bits_f32(a) & mask) | (m_bits_f32(b) & ~mask));
}

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

static inline double
m_fma_f64(double a, double b, double c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
	return __builtin_fma(a, b, c);
#else
	return a * b + c;
#endif
}

/* x with the sign of s; x is not negative. */
static inline float
m_with_sign_f32(float x, float s)
{
	return m_float_f32(m_bits_f32(x) | (m_bits_f32(s) & 0x80000000u));
}

/* exp(x) = 2^n * exp(r), |r| <= ln(2)/2. Adding 1.5 * 2^23 rounds to an integer that the low bits
 * then hold. 2^n is two factors, because the result may be subnormal or n = 128. */
static inline float
m_exp_f32(float x)
{
	const float low = x < -104.0f ? -104.0f : x; /* exp is 0 below, infinite above 89 */
	const float v = low > 89.0f ? 89.0f : low;
	const float t = m_fma_f32(v, 1.44269504f, 12582912.0f);
	const float n = t - 12582912.0f;
	float r = m_fma_f32(n, -0.693359375f, v);
	r = m_fma_f32(n, 2.12194440e-4f, r);
	float p = 0.001381460245f;
	p = m_fma_f32(p, r, 0.008368717157f);
	p = m_fma_f32(p, r, 0.04166838799f);
	p = m_fma_f32(p, r, 0.1666652063f);
	p = m_fma_f32(p, r, 0.4999999345f);
	p = m_fma_f32(p, r * r, r) + 1.0f;
	const uint32_t k = m_bits_f32(t) - 0x4B400000u;
	const uint32_t k1 = (uint32_t)((int32_t)k >> 1);
	const uint32_t k2 = k - k1;
	return p * m_float_f32((k1 + 127u) << 23) * m_float_f32((k2 + 127u) << 23);
}

/* log(x) = e * ln(2) + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). ln(2) is two parts: the first has
 * so few bits that its product with e is exact. */
static inline float
m_log_f32(float x)
{
	const float y = m_select_f32(x < 0x1p-126f, x * 0x1p23f, x);
	const float bias = x < 0x1p-126f ? -23.0f : 0.0f;
	const uint32_t i = m_bits_f32(y) - 0x3F3504F3u;
	const float e = (float)((int32_t)i >> 23) + bias;
	const float f = m_float_f32((i & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
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
	const float inf = m_float_f32(0x7F800000u);
	r = m_select_f32(x < inf, r, x); /* infinity and NaN */
	r = m_select_f32(x == 0.0f, -inf, r);
	return m_select_f32(x < 0.0f, m_float_f32(0x7FC00000u), r);
}

/* An odd polynomial near 0; 1 - 2 / (exp(2a) + 1) elsewhere. */
static inline float
m_tanh_f32(float x)
{
	const float a = m_float_f32(m_bits_f32(x) & 0x7FFFFFFFu);
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

/* An odd polynomial below 0.9; 1 - exp(-g(a)) above, g fitted to -log(erfc). From 3.95 on erf is
 * 1. */
static inline float
m_erf_f32(float x)
{
	const float a = m_float_f32(m_bits_f32(x) & 0x7FFFFFFFu);
	const float z = x * x;
	float p = -0.0006090356789f;
	p = m_fma_f32(p, z, 0.005011962143f);
	p = m_fma_f32(p, z, -0.0267789084f);
	p = m_fma_f32(p, z, 0.1128214079f);
	p = m_fma_f32(p, z, -0.3761252327f);
	p = m_fma_f32(p, z, 0.1283791538f);
	const float near = m_fma_f32(p, a, a);
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

/* 1 / (1 + exp(-x)) from exp(-|x|), which never overflows. */
static inline float
m_sigmoid_f32(float x)
{
	const float e = m_exp_f32(-m_float_f32(m_bits_f32(x) & 0x7FFFFFFFu));
	const float top = x < 0.0f ? e : 1.0f;
	return top / (1.0f + e);
}

static inline double
m_sigmoid_f64(double x)
{
	const double e = exp(-fabs(x));
	return (x < 0 ? e : 1) / (1 + e);
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
	return a != a ? a : m;
}

static inline double
m_max_f64(double a, double b)
{
	const double m = a > b ? a : b;
	return a != a ? a : m;
}

static inline float
m_min_f32(float a, float b)
{
	const float m = a < b ? a : b;
	return a != a ? a : m;
}

static inline double
m_min_f64(double a, double b)
{
	const double m = a < b ? a : b;
	return a != a ? a : m;
}

static inline int32_t
m_max_i32(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static inline int64_t
m_max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int32_t
m_min_i32(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static inline int64_t
m_min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

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

/* clang-format off */
#define M_FLOATS_1(x, f32, f64) _Generic((x), float: f32, double: f64)(x)
#define M_ALL_1(x, f32, f64, i32, i64)                                                             \
	_Generic((x), float: f32, double: f64, long: i64, long long: i64, default: i32)(x)
#define M_ALL_2(x, y, f32, f64, i32, i64)                                                          \
	_Generic((x) + (y), float: f32, double: f64, long: i64, long long: i64, default: i32)(x, y)

#define M_exp(x) M_FLOATS_1(x, m_exp_f32, exp)
#define M_log(x) M_FLOATS_1(x, m_log_f32, log)
#define M_tanh(x) M_FLOATS_1(x, m_tanh_f32, tanh)
#define M_erf(x) M_FLOATS_1(x, m_erf_f32, erf)
#define M_sigmoid(x) M_FLOATS_1(x, m_sigmoid_f32, m_sigmoid_f64)
#define M_sqrt(x) M_FLOATS_1(x, sqrtf, sqrt)
#define M_rsqrt(x) M_FLOATS_1(x, m_rsqrt_f32, m_rsqrt_f64)
#define M_sin(x) M_FLOATS_1(x, sinf, sin)
#define M_cos(x) M_FLOATS_1(x, cosf, cos)
#define M_floor(x) M_FLOATS_1(x, floorf, floor)
#define M_ceil(x) M_FLOATS_1(x, ceilf, ceil)
#define M_abs(x) M_ALL_1(x, fabsf, fabs, m_abs_i32, m_abs_i64)
#define M_max(x, y) M_ALL_2(x, y, m_max_f32, m_max_f64, m_max_i32, m_max_i64)
#define M_min(x, y) M_ALL_2(x, y, m_min_f32, m_min_f64, m_min_i32, m_min_i64)
#define M_pow(x, y) _Generic((x) + (y), float: powf, double: pow)(x, y)
#define M_fma(x, y, z) _Generic((x) * (y) + (z), float: m_fma_f32, double: m_fma_f64)(x, y, z)
/* clang-format on */

#endif
