/* f16 and bf16 as bits: conversions to and from float, rounding to nearest even. Branch-free, so
 * that loops over them vectorize. */
#ifndef RUNTIME_HALF_H
#define RUNTIME_HALF_H

#include <stdint.h>
#include <string.h>

/* CUDA kernels use these functions too and mark them so. */
#ifndef RT_INLINE
#define RT_INLINE static inline
#endif

/* Conversions of devices in one instruction, with the same results (a NaN becomes the device's only
 * NaN). The instruction for two numbers has the rate of additions, the one for a single number a
 * quarter or less. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define RT_HALF_INSTRUCTIONS
#endif

RT_INLINE uint32_t
rt_float_bits(float x)
{
	uint32_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

RT_INLINE float
rt_bits_float(uint32_t u)
{
	float x;
	memcpy(&x, &u, sizeof x);
	return x;
}

RT_INLINE uint64_t
rt_double_bits(double x)
{
	uint64_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

RT_INLINE double
rt_bits_double(uint64_t u)
{
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

RT_INLINE float
rt_bf16_to_f32(uint16_t h)
{
	return rt_bits_float((uint32_t)h << 16);
}

/* A NaN stays a (quiet) NaN; too large becomes infinite. */
RT_INLINE uint16_t
rt_f32_to_bf16(float x)
{
#ifdef RT_HALF_INSTRUCTIONS
	uint32_t pair;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
	return (uint16_t)pair;
#else
	const uint32_t u = rt_float_bits(x);
	const uint32_t rounded = (u + 0x7FFFu + (u >> 16 & 1)) >> 16;
	const uint32_t nan = u >> 16 | 0x40u;
	return (uint16_t)((u & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
#endif
}

/* The nearest bf16 as a float: its bits are the upper half. */
RT_INLINE float
rt_round_bf16(float x)
{
#ifdef RT_HALF_INSTRUCTIONS
	uint32_t pair;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x), "f"(0.0f));
	return rt_bits_float(pair);
#else
	return rt_bf16_to_f32(rt_f32_to_bf16(x));
#endif
}

/* Moves the ten mantissa bits and the exponent to a float's positions and corrects the bias. A
 * subnormal number gets the exponent of 2^-14 with its leading one, which is subtracted again: no
 * intermediate float is subnormal, so none counts as 0. */
RT_INLINE float
rt_f16_to_f32(uint16_t h)
{
#ifdef RT_HALF_INSTRUCTIONS
	float x;
	asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
	return x;
#else
	const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
	const uint32_t body = (uint32_t)(h & 0x7FFFu) << 13;
	const uint32_t small = rt_float_bits(rt_bits_float(body + 0x38800000u) - 0x1p-14f);
	const uint32_t finite = body < 0x00800000u ? small : body + 0x38000000u;
	const uint32_t special = body | 0x7F800000u;
	return rt_bits_float(sign | (body >= 0x0F800000u ? special : finite));
#endif
}

/* Two roundings in one of two ways: numbers below 2^-14 are added to 0.5, whose last place equals
 * that of a subnormal f16; others get their bias changed and half a last place added. */
RT_INLINE uint16_t
rt_f32_to_f16(float x)
{
#ifdef RT_HALF_INSTRUCTIONS
	uint32_t pair;
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(x));
	return (uint16_t)pair;
#else
	const uint32_t u = rt_float_bits(x);
	const uint32_t sign = u >> 16 & 0x8000u;
	const uint32_t a = u & 0x7FFFFFFFu;
	const uint32_t small = rt_float_bits(rt_bits_float(a) + 0.5f) - 0x3F000000u;
	const uint32_t normal = (a - 0x38000000u + 0xFFFu + (a >> 13 & 1)) >> 13;
	const uint32_t special = a > 0x7F800000u ? 0x7E00u | (a >> 13 & 0x3FFu) : 0x7C00u;
	uint32_t h = a < 0x38800000u ? small : normal;
	h = a >= 0x47800000u ? special : h;
	return (uint16_t)(sign | h);
#endif
}

RT_INLINE float
rt_round_f16(float x)
{
	return rt_f16_to_f32(rt_f32_to_f16(x));
}

/*
 * Wider numbers are rounded to odd first: an inexact result gets an odd last bit, which marks it as
 * between two values. With two bits more than the target type has, the second rounding then equals
 * that of the number itself (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded
 * sums", IEEE Transactions on Computers 57(4), 2008).
 */
RT_INLINE float
rt_f64_to_odd(double x)
{
	const float f = (float)x;
	const double d = (double)f;
	const double low = x < 0 ? -x : x, near = d < 0 ? -d : d;
	const uint32_t u = rt_float_bits(f);
	const uint32_t even = (uint32_t)(d != x) & ~u & 1u;
	return rt_bits_float(near > low ? u - even : u + even);
}

/* The same for 64-bit integers: beyond 53 bits the last ten become one sticky bit. */
RT_INLINE double
rt_i64_to_odd(int64_t x)
{
	const uint64_t u = (uint64_t)x;
	const uint64_t cut = (u & ~(uint64_t)1023) | (((u & 1023) + 1023) & 1024);
	const uint64_t exact = (uint64_t)1 << 53;
	return (double)(int64_t)(u + exact <= 2 * exact ? u : cut);
}

RT_INLINE double
rt_u64_to_odd(uint64_t x)
{
	const uint64_t cut = (x & ~(uint64_t)2047) | (((x & 2047) + 2047) & 2048);
	return (double)(x <= (uint64_t)1 << 53 ? x : cut);
}

RT_INLINE uint16_t
rt_f64_to_f16(double x)
{
	return rt_f32_to_f16(rt_f64_to_odd(x));
}

RT_INLINE uint16_t
rt_f64_to_bf16(double x)
{
	return rt_f32_to_bf16(rt_f64_to_odd(x));
}

#endif
