/* Scalar functions in single precision that are computed in double: sine, cosine, tangent, powers
 * and logarithms of base 2. Branch-free like those of scalar_math.h, so loops over them vectorize;
 * series are Taylor's, cut where the rest is below 2^-28 of the value.
 *
 *	error over all floats: 1 ULP (one rounding, at the end, and at most half of one before) */
#ifndef RUNTIME_SCALAR_WIDE_H
#define RUNTIME_SCALAR_WIDE_H

#include "runtime/kernel/half.h"

#include <math.h>
#include <stdint.h>

/* c ? a : b on bits: if computing a is costly, the compiler would otherwise use a branch. */
static inline float
m_select_f32(int c, float a, float b)
{
	const uint32_t mask = 0u - (uint32_t)c;
	return rt_bits_float((rt_float_bits(a) & mask) | (rt_float_bits(b) & ~mask));
}

/* c ? a : b on bits. */
static inline double
m_select_f64(int c, double a, double b)
{
	const uint64_t mask = (uint64_t)0 - (uint64_t)c;
	return rt_bits_double((rt_double_bits(a) & mask) | (rt_double_bits(b) & ~mask));
}

/* a * b + c: one rounding where the machine has it in one instruction, else two. */
static inline double
m_fma_f64(double a, double b, double c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
	return __builtin_fma(a, b, c);
#else
	return a * b + c;
#endif
}

/*
 * 2^e * 2/pi modulo 4 in two parts, the first of 29 bits: its product with the 24 bits of a float
 * is exact. So a float x = m * 2^e is m times this in quarter turns, up to whole turns (the idea
 * is M. Payne's and R. Hanek's, "Radian reduction for trigonometric functions", SIGNUM 18(1),
 * 1983).
 */
/* clang-format off */
static const double m_quarter_turns_high[106] = {
	0x1.45f306dp-1, 0x1.45f306dp+0, 0x1.45f306dp+1, 0x1.17cc1b7p+0, 0x1.17cc1b7p+1, 0x1.7cc1b72p-2,
	0x1.7cc1b72p-1, 0x1.7cc1b72p+0, 0x1.7cc1b72p+1, 0x1.f306dc9p+0, 0x1.f306dc9p+1, 0x1.e60db93p+1,
	0x1.cc1b727p+1, 0x1.9836e4ep+1, 0x1.306dc9cp+1, 0x1.836e4e4p-1, 0x1.836e4e4p+0, 0x1.836e4e4p+1,
	0x1.06dc9c8p+1, 0x1.b72722p-4, 0x1.b72722p-3, 0x1.b72722p-2, 0x1.b72722p-1, 0x1.b72722p+0,
	0x1.b72722p+1, 0x1.6e4e441p+1, 0x1.b939105p+0, 0x1.b939105p+1, 0x1.727220ap+1, 0x1.c9c882ap+0,
	0x1.c9c882ap+1, 0x1.9391054p+1, 0x1.27220a9p+1, 0x1.391054ap-1, 0x1.391054ap+0, 0x1.391054ap+1,
	0x1.c882a53p-1, 0x1.c882a53p+0, 0x1.c882a53p+1, 0x1.91054a7p+1, 0x1.220a94fp+1, 0x1.1054a7fp-1,
	0x1.1054a7fp+0, 0x1.1054a7fp+1, 0x1.054a7fp-2, 0x1.054a7fp-1, 0x1.054a7fp+0, 0x1.054a7fp+1,
	0x1.529fc27p-4, 0x1.529fc27p-3, 0x1.529fc27p-2, 0x1.529fc27p-1, 0x1.529fc27p+0, 0x1.529fc27p+1,
	0x1.4a7f09dp+0, 0x1.4a7f09dp+1, 0x1.29fc275p+0, 0x1.29fc275p+1, 0x1.4fe13abp-1, 0x1.4fe13abp+0,
	0x1.4fe13abp+1, 0x1.3f84eafp+0, 0x1.3f84eafp+1, 0x1.fc2757dp-1, 0x1.fc2757dp+0, 0x1.fc2757dp+1,
	0x1.f84eafap+1, 0x1.f09d5f4p+1, 0x1.e13abe8p+1, 0x1.c2757d1p+1, 0x1.84eafa3p+1, 0x1.09d5f47p+1,
	0x1.3abe8fap-3, 0x1.3abe8fap-2, 0x1.3abe8fap-1, 0x1.3abe8fap+0, 0x1.3abe8fap+1, 0x1.d5f47d4p-1,
	0x1.d5f47d4p+0, 0x1.d5f47d4p+1, 0x1.abe8fa9p+1, 0x1.57d1f53p+1, 0x1.5f47d4dp+0, 0x1.5f47d4dp+1,
	0x1.7d1f534p+0, 0x1.7d1f534p+1, 0x1.f47d4d3p+0, 0x1.f47d4d3p+1, 0x1.e8fa9a6p+1, 0x1.d1f534dp+1,
	0x1.a3ea69bp+1, 0x1.47d4d37p+1, 0x1.1f534ddp+0, 0x1.1f534ddp+1, 0x1.f534ddcp-2, 0x1.f534ddcp-1,
	0x1.f534ddcp+0, 0x1.f534ddcp+1, 0x1.ea69bb8p+1, 0x1.d4d377p+1, 0x1.a9a6eep+1, 0x1.534ddcp+1,
	0x1.4d37703p+0, 0x1.4d37703p+1, 0x1.34ddc0dp+0, 0x0p+0,
};

static const double m_quarter_turns_low[106] = {
	0x1.9391054a7f09dp-30, 0x1.9391054a7f09dp-29, 0x1.9391054a7f09dp-28, 0x1.391054a7f09d6p-31,
	0x1.391054a7f09d6p-30, 0x1.c882a53f84ebp-32, 0x1.c882a53f84ebp-31, 0x1.c882a53f84ebp-30,
	0x1.c882a53f84ebp-29, 0x1.91054a7f09d5fp-29, 0x1.91054a7f09d5fp-28, 0x1.220a94fe13abfp-28,
	0x1.1054a7f09d5f4p-30, 0x1.1054a7f09d5f4p-29, 0x1.1054a7f09d5f4p-28, 0x1.054a7f09d5f48p-31,
	0x1.054a7f09d5f48p-30, 0x1.054a7f09d5f48p-29, 0x1.054a7f09d5f48p-28, 0x1.529fc2757d1f5p-33,
	0x1.529fc2757d1f5p-32, 0x1.529fc2757d1f5p-31, 0x1.529fc2757d1f5p-30, 0x1.529fc2757d1f5p-29,
	0x1.529fc2757d1f5p-28, 0x1.4a7f09d5f47d5p-29, 0x1.29fc2757d1f53p-30, 0x1.29fc2757d1f53p-29,
	0x1.29fc2757d1f53p-28, 0x1.4fe13abe8fa9ap-30, 0x1.4fe13abe8fa9ap-29, 0x1.4fe13abe8fa9ap-28,
	0x1.3f84eafa3ea6ap-29, 0x1.fc2757d1f534ep-31, 0x1.fc2757d1f534ep-30, 0x1.fc2757d1f534ep-29,
	0x1.f09d5f47d4d37p-30, 0x1.f09d5f47d4d37p-29, 0x1.f09d5f47d4d37p-28, 0x1.e13abe8fa9a6fp-28,
	0x1.c2757d1f534dep-28, 0x1.3abe8fa9a6eep-34, 0x1.3abe8fa9a6eep-33, 0x1.3abe8fa9a6eep-32,
	0x1.3abe8fa9a6eep-31, 0x1.3abe8fa9a6eep-30, 0x1.3abe8fa9a6eep-29, 0x1.3abe8fa9a6eep-28,
	0x1.5f47d4d377037p-34, 0x1.5f47d4d377037p-33, 0x1.5f47d4d377037p-32, 0x1.5f47d4d377037p-31,
	0x1.5f47d4d377037p-30, 0x1.5f47d4d377037p-29, 0x1.7d1f534ddc0dbp-30, 0x1.7d1f534ddc0dbp-29,
	0x1.f47d4d377036ep-30, 0x1.f47d4d377036ep-29, 0x1.d1f534ddc0db6p-30, 0x1.d1f534ddc0db6p-29,
	0x1.d1f534ddc0db6p-28, 0x1.47d4d377036d9p-29, 0x1.47d4d377036d9p-28, 0x1.f534ddc0db629p-33,
	0x1.f534ddc0db629p-32, 0x1.f534ddc0db629p-31, 0x1.f534ddc0db629p-30, 0x1.f534ddc0db629p-29,
	0x1.f534ddc0db629p-28, 0x1.ea69bb81b6c53p-28, 0x1.d4d377036d8a5p-28, 0x1.a9a6ee06db14bp-28,
	0x1.34ddc0db6295ap-32, 0x1.34ddc0db6295ap-31, 0x1.34ddc0db6295ap-30, 0x1.34ddc0db6295ap-29,
	0x1.34ddc0db6295ap-28, 0x1.a6ee06db14acdp-30, 0x1.a6ee06db14acdp-29, 0x1.a6ee06db14acdp-28,
	0x1.4ddc0db629599p-28, 0x1.377036d8a5665p-29, 0x1.bb81b6c52b328p-31, 0x1.bb81b6c52b328p-30,
	0x1.bb81b6c52b328p-29, 0x1.bb81b6c52b328p-28, 0x1.dc0db6295993cp-30, 0x1.dc0db6295993cp-29,
	0x1.dc0db6295993cp-28, 0x1.b81b6c52b3279p-28, 0x1.7036d8a5664f1p-28, 0x1.c0db6295993c4p-29,
	0x1.81b6c52b32788p-29, 0x1.81b6c52b32788p-28, 0x1.b6c52b3278872p-35, 0x1.b6c52b3278872p-34,
	0x1.b6c52b3278872p-33, 0x1.b6c52b3278872p-32, 0x1.b6c52b3278872p-31, 0x1.b6c52b3278872p-30,
	0x1.b6c52b3278872p-29, 0x1.b6c52b3278872p-28, 0x1.b6295993c439p-30, 0x1.b6295993c439p-29,
	0x1.6c52b32788721p-29, 0x0p+0,
};
/* clang-format on */

/* An angle as a number of quarter turns and a rest between -pi/4 and pi/4. */
struct m_angle {
	double rest;
	uint64_t quarter; /* modulo 4 in the low bits */
};

static inline struct m_angle
m_angle_f32(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	const int32_t over = (int32_t)(bits >> 23 & 255) - (127 + 23);
	const int32_t positive = over > 0 ? over : 0;
	const int32_t e = positive < 105 ? positive : 105; /* that of infinity and NaN */
	const double m = (double)x * rt_bits_double((uint64_t)(1023 - e) << 52);
	const double high = m * m_quarter_turns_high[e];
	const double t = high + 0x1.8p52; /* rounds; the low bits hold the integer */
	const double turn = m_fma_f64(m, m_quarter_turns_low[e], high - (t - 0x1.8p52));
	return (struct m_angle){turn * 0x1.921fb54442d18p+0, rt_double_bits(t)};
}

static inline double
m_sin_rest(double a)
{
	const double z = a * a;
	double p = 0x1.71de3a556c734p-19; /* 1/9! */
	p = m_fma_f64(p, z, -0x1.a01a01a01a01ap-13);
	p = m_fma_f64(p, z, 0x1.1111111111111p-7);
	p = m_fma_f64(p, z, -0x1.5555555555555p-3);
	return m_fma_f64(p * z, a, a);
}

static inline double
m_cos_rest(double a)
{
	const double z = a * a;
	double p = -0x1.27e4fb7789f5cp-22; /* -1/10! */
	p = m_fma_f64(p, z, 0x1.a01a01a01a01ap-16);
	p = m_fma_f64(p, z, -0x1.6c16c16c16c17p-10);
	p = m_fma_f64(p, z, 0x1.5555555555555p-5);
	p = m_fma_f64(p, z, -0.5);
	return m_fma_f64(p, z, 1.0);
}

/* The sine of an angle and `quarters` quarter turns more. */
static inline float
m_sin_of(struct m_angle a, uint64_t quarters)
{
	const uint64_t q = a.quarter + quarters;
	const double v = m_select_f64((int)(q & 1), m_cos_rest(a.rest), m_sin_rest(a.rest));
	return (float)rt_bits_double(rt_double_bits(v) ^ (q & 2) << 62);
}

static inline float
m_sin_f32(float x)
{
	const float r = m_sin_of(m_angle_f32(x), 0);
	return m_select_f32(x == 0.0f, x, r); /* -0 */
}

static inline float
m_cos_f32(float x)
{
	return m_sin_of(m_angle_f32(x), 1);
}

static inline float
m_tan_f32(float x)
{
	const struct m_angle a = m_angle_f32(x);
	const double s = m_sin_rest(a.rest), c = m_cos_rest(a.rest);
	const int odd = (int)(a.quarter & 1);
	const float r = (float)(m_select_f64(odd, -c, s) / m_select_f64(odd, s, c));
	return m_select_f32(x == 0.0f, x, r);
}

/* log2(x) = e + 2 / ln(2) * atanh(s), s = (m - 1) / (m + 1), x = m * 2^e, m in [sqrt(1/2),
 * sqrt(2)). For positive x that is not a subnormal double; NaN below 0. */
static inline double
m_log2_wide(double x)
{
	const uint64_t k = rt_double_bits(x) - 0x3FE6A09E667F3BCDu;
	/* e without a conversion of 64-bit integers, which older machines lack */
	const double e = rt_bits_double((((k >> 52) + 1024) & 0xFFF) | 0x4330000000000000u) -
			 (0x1p52 + 1024);
	const double m = rt_bits_double((k & 0xFFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
	const double s = (m - 1) / (m + 1), z = s * s;
	double p = 0x1.89f3b1694cffep-3; /* 2 / (15 ln(2)) */
	p = m_fma_f64(p, z, 0x1.c68f568d31761p-3);
	p = m_fma_f64(p, z, 0x1.0c9a84994022dp-2);
	p = m_fma_f64(p, z, 0x1.484b13d7c02a9p-2);
	p = m_fma_f64(p, z, 0x1.a61762a7aded9p-2);
	p = m_fma_f64(p, z, 0x1.2776c50ef9bffp-1);
	p = m_fma_f64(p, z, 0x1.ec709dc3a03fdp-1);
	p = m_fma_f64(p, z, 0x1.71547652b82fep+1);
	double r = m_fma_f64(p, s, e);
	r = m_select_f64(x < (double)INFINITY, r, x); /* infinity and NaN */
	r = m_select_f64(x == 0, -(double)INFINITY, r);
	return m_select_f64(x < 0, (double)NAN, r);
}

/* 2^t for a single precision result: infinite or 0 outside its range. */
static inline double
m_exp2_wide(double t)
{
	const double v = m_select_f64(fabs(t) > 300, m_select_f64(t > 0, 300, -300), t);
	const double n = v + 0x1.8p52, f = (v - (n - 0x1.8p52)) * 0x1.62e42fefa39efp-1;
	double p = 0x1.71de3a556c734p-19; /* 1/9! */
	p = m_fma_f64(p, f, 0x1.a01a01a01a01ap-16);
	p = m_fma_f64(p, f, 0x1.a01a01a01a01ap-13);
	p = m_fma_f64(p, f, 0x1.6c16c16c16c17p-10);
	p = m_fma_f64(p, f, 0x1.1111111111111p-7);
	p = m_fma_f64(p, f, 0x1.5555555555555p-5);
	p = m_fma_f64(p, f, 0x1.5555555555555p-3);
	p = m_fma_f64(p, f, 0.5);
	p = m_fma_f64(p, f * f, f) + 1;
	return p * rt_bits_double((rt_double_bits(n) + 1023) << 52);
}

static inline float
m_log2_f32(float x)
{
	return (float)m_log2_wide(x);
}

static inline float
m_exp2_f32(float x)
{
	return (float)m_exp2_wide(x);
}

/* log(1 + x), corrected by the rounding error of the sum: log(u) + (x - (u - 1)). */
static inline float
m_log1p_f32(float x)
{
	const double u = 1.0 + x, lost = x - (u - 1);
	const double r = m_fma_f64(m_log2_wide(u), 0x1.62e42fefa39efp-1, lost);
	const float f = (float)m_select_f64(u < (double)INFINITY, r, u);
	return m_select_f32(x == 0.0f, x, f);
}

/* |x|^y = 2^(y log2 |x|); for x < 0 odd integer powers are negative, and powers that are not
 * integers are NaN.
 * The results that C requires for infinities and zeros follow, except 1^y and x^0. */
static inline float
m_pow_f32(float x, float y)
{
	const double t = (double)y * m_log2_wide(fabs((double)x));
	const float half = y * 0.5f;
	const int integer = floorf(y) == y, odd = integer & (floorf(half) != half);
	const int negative = (int)(rt_double_bits(x) >> 63);
	float r = (float)m_exp2_wide(t);
	r = m_select_f32(negative & odd, -r, r);
	r = m_select_f32((x < 0.0f) & (x > -INFINITY) & !integer, NAN, r);
	const int one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (fabsf(y) == INFINITY));
	return m_select_f32(one, 1.0f, r);
}

#endif
