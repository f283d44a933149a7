/*
 * Bits of numbers, the same in the interpreter, on the host and on CUDA: counts, the upper half of
 * a product, and a float rounded to fewer bits (StableHLO's reduce_precision).
 */
#ifndef RUNTIME_BITS_H
#define RUNTIME_BITS_H

#include <stdint.h>

/* CUDA kernels use these functions too and mark them so. */
#ifndef RT_INLINE
#define RT_INLINE static inline
#endif

/* Bits that are set (H. S. Warren, Hacker's Delight, 2nd edition, 5-1). */
RT_INLINE int
rt_popcnt(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
	return (int)(x * 0x0101010101010101u >> 56);
}

/* Number of zero bits above the highest that is set, of the low w bits; w if none is set. */
RT_INLINE int
rt_clz(uint64_t x, int w)
{
	for (int step = 1; step < 64; step *= 2)
		x |= x >> step;
	return w - rt_popcnt(x);
}

/* The low w bits of x, 8 to 64. */
RT_INLINE uint64_t
rt_low_bits(uint64_t x, int w)
{
	return x & ~(uint64_t)0 >> (64 - w);
}

/* The upper half of a product of numbers of w bits, 8 to 64; for w = 64 from four products of 32
 * bits. */
RT_INLINE uint64_t
rt_mulhi_u64(uint64_t x, uint64_t y, int w)
{
	const uint64_t xl = x & 0xFFFFFFFFu, xh = x >> 32, yl = y & 0xFFFFFFFFu, yh = y >> 32;
	const uint64_t middle = xh * yl + (xl * yl >> 32);
	const uint64_t other = xl * yh + (middle & 0xFFFFFFFFu);
	const uint64_t high = xh * yh + (middle >> 32) + (other >> 32);
	return w < 64 ? x * y >> w : high;
}

/* The same for signed numbers. */
RT_INLINE int64_t
rt_mulhi_i64(int64_t x, int64_t y, int w)
{
	const uint64_t high = rt_mulhi_u64((uint64_t)x, (uint64_t)y, 64);
	if (w < 64)
		return x * y >> w;
	return (int64_t)(high - (x < 0 ? (uint64_t)y : 0) - (y < 0 ? (uint64_t)x : 0));
}

/* x to the power y for integers, by squaring; it wraps around. */
RT_INLINE uint64_t
rt_pow_u64(uint64_t x, uint64_t y)
{
	uint64_t r = 1;
	for (; y; y >>= 1) {
		r = y & 1 ? r * x : r;
		x *= x;
	}
	return r;
}

/* The same for signed numbers: a negative power of 1 or -1 is 1 or -1, of any other number 0. */
RT_INLINE int64_t
rt_pow_i64(int64_t x, int64_t y)
{
	if (y >= 0)
		return (int64_t)rt_pow_u64((uint64_t)x, (uint64_t)y);
	return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
}

/*
 * The bits of a float of `e` exponent and `m` mantissa bits, rounded to `to_e` and `to_m` bits, to
 * nearest even, in its own format. Values that are too large become infinite, values too small for
 * a normal number become zeros of their sign; a NaN stays as it is, or, without a mantissa, becomes
 * infinite. A format with at least as many bits changes nothing. to_e is at least 1.
 */
RT_INLINE uint64_t
rt_reduce_precision(uint64_t bits, int e, int m, int to_e, int to_m)
{
	const uint64_t one = 1, infinity = ((one << e) - 1) << m, sign = one << (e + m);
	const uint64_t negative = bits & sign;
	uint64_t x = bits & (sign - 1);
	if (x > infinity)
		return to_m ? bits : negative | infinity;
	if (to_m < m) {
		const uint64_t last = one << (m - to_m);
		x += (last >> 1) - 1 + (x >> (m - to_m) & 1);
		x &= ~(last - 1);
	}
	if (to_e < e) {
		const uint64_t bias = (one << (e - 1)) - 1, to_bias = (one << (to_e - 1)) - 1;
		const uint64_t exponent = x & infinity;
		if (exponent > (bias + to_bias) << m)
			x = infinity;
		else if (exponent <= (bias - to_bias) << m)
			x = 0;
	}
	return negative | x;
}

#endif
