/* What generated CUDA kernels use: the scalar functions with the accurate variants of CUDA's own,
 * groups of lanes that add up in a fixed order, vectors of 16 bytes, random numbers by position. A
 * generated kernels.cu includes this, order.h and support.h, and nothing
 * else.
 *
 * A kernel has one parameter, a structure of pointers and numbers, so that the host side launches
 * all kernels in one way. A program that runs kernels without a GPU defines DOPT_KERNEL and the
 * device functions itself. */
#ifndef RUNTIME_CUDA_DEVICE_H
#define RUNTIME_CUDA_DEVICE_H

#ifndef DOPT_KERNEL
#define DOPT_KERNEL(name, args, threads)                                                           \
	extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ args k)
#define DEV static __device__ __forceinline__
#endif
#define RT_INLINE static __host__ __device__ inline

/* Indices are declared where a loop begins, even if some of its statements do not use them;
 * constants are compared with unsigned values, even where the outcome is known. */
#ifdef __CUDACC__
#pragma nv_diag_suppress 177
#pragma nv_diag_suppress 186
#endif

#include "runtime/kernel/bits.h"
#include "runtime/kernel/half.h"
#include "runtime/kernel/rng.h"

/* --- scalar functions: as runtime/kernel/kernel.h has them for the host ------------------- */

#define DEV_FLOATS_1(name, f32, f64)                                                               \
	DEV float name(float x)                                                                    \
	{                                                                                          \
		return f32;                                                                        \
	}                                                                                          \
	DEV double name(double x)                                                                  \
	{                                                                                          \
		return f64;                                                                        \
	}

DEV_FLOATS_1(M_exp, expf(x), exp(x))
DEV_FLOATS_1(M_log, logf(x), log(x))
DEV_FLOATS_1(M_tanh, tanhf(x), tanh(x))
DEV_FLOATS_1(M_erf, erff(x), erf(x))
DEV_FLOATS_1(M_sqrt, sqrtf(x), sqrt(x))
DEV_FLOATS_1(M_rsqrt, 1.0f / sqrtf(x), 1.0 / sqrt(x))
DEV_FLOATS_1(M_sin, sinf(x), sin(x))
DEV_FLOATS_1(M_cos, cosf(x), cos(x))
DEV_FLOATS_1(M_floor, floorf(x), floor(x))
DEV_FLOATS_1(M_ceil, ceilf(x), ceil(x))
DEV_FLOATS_1(M_log1p, log1pf(x), log1p(x))
DEV_FLOATS_1(M_expm1, expm1f(x), expm1(x))
DEV_FLOATS_1(M_log2, log2f(x), log2(x))
DEV_FLOATS_1(M_exp2, exp2f(x), exp2(x))
DEV_FLOATS_1(M_tan, tanf(x), tan(x))
DEV_FLOATS_1(M_asin, asinf(x), asin(x))
DEV_FLOATS_1(M_acos, acosf(x), acos(x))
DEV_FLOATS_1(M_atan, atanf(x), atan(x))
DEV_FLOATS_1(M_sinh, sinhf(x), sinh(x))
DEV_FLOATS_1(M_cosh, coshf(x), cosh(x))
DEV_FLOATS_1(M_asinh, asinhf(x), asinh(x))
DEV_FLOATS_1(M_acosh, acoshf(x), acosh(x))
DEV_FLOATS_1(M_atanh, atanhf(x), atanh(x))
DEV_FLOATS_1(M_cbrt, cbrtf(x), cbrt(x))
DEV_FLOATS_1(M_erfc, erfcf(x), erfc(x))
DEV_FLOATS_1(M_trunc, truncf(x), trunc(x))
DEV_FLOATS_1(M_round, rintf(x), rint(x))
DEV_FLOATS_1(M_round_away, roundf(x), round(x))
DEV_FLOATS_1(M_softplus, (x > 0 ? x : 0.0f) + log1pf(expf(-fabsf(x))),
	(x > 0 ? x : 0.0) + log1p(exp(-fabs(x))))
DEV_FLOATS_1(M_sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
DEV_FLOATS_1(M_abs, fabsf(x), fabs(x))

/* From exp(-|x|), which never overflows. */
DEV float
M_sigmoid(float x)
{
	const float e = expf(-fabsf(x));
	return (x < 0 ? e : 1.0f) / (1.0f + e);
}

DEV double
M_sigmoid(double x)
{
	const double e = exp(-fabs(x));
	return (x < 0 ? e : 1.0) / (1.0 + e);
}

/* The larger and the smaller; a NaN if either is one. */
#define DEV_EXTREME(name, sign)                                                                    \
	DEV float name(float x, float y)                                                           \
	{                                                                                          \
		return x != x ? x : x sign y ? x : y;                                              \
	}                                                                                          \
	DEV double name(double x, double y)                                                        \
	{                                                                                          \
		return x != x ? x : x sign y ? x : y;                                              \
	}                                                                                          \
	DEV int32_t name(int32_t x, int32_t y)                                                     \
	{                                                                                          \
		return x sign y ? x : y;                                                           \
	}                                                                                          \
	DEV int64_t name(int64_t x, int64_t y)                                                     \
	{                                                                                          \
		return x sign y ? x : y;                                                           \
	}                                                                                          \
	DEV uint32_t name(uint32_t x, uint32_t y)                                                  \
	{                                                                                          \
		return x sign y ? x : y;                                                           \
	}                                                                                          \
	DEV uint64_t name(uint64_t x, uint64_t y)                                                  \
	{                                                                                          \
		return x sign y ? x : y;                                                           \
	}

DEV_EXTREME(M_max, >)
DEV_EXTREME(M_min, <)

#define DEV_FLOATS_2(name, f32, f64)                                                               \
	DEV float name(float x, float y)                                                           \
	{                                                                                          \
		return f32;                                                                        \
	}                                                                                          \
	DEV double name(double x, double y)                                                        \
	{                                                                                          \
		return f64;                                                                        \
	}

DEV_FLOATS_2(M_pow, powf(x, y), pow(x, y))
DEV_FLOATS_2(M_atan2, atan2f(x, y), atan2(x, y))
DEV_FLOATS_2(M_div, x / y, x / y)
DEV_FLOATS_2(M_rem, fmodf(x, y), fmod(x, y))

DEV bool
M_is_finite(double x)
{
	return fabs(x) < HUGE_VAL;
}
DEV bool
M_is_inf(double x)
{
	return fabs(x) == HUGE_VAL;
}
/* Integers are truncated, x / 0 is 0 and the remainder x; the smallest by -1 is itself
 * (DEV_SIGNED). */
#define DEV_UNSIGNED(type)                                                                         \
	DEV type M_sign(type x)                                                                    \
	{                                                                                          \
		return x != 0;                                                                     \
	}                                                                                          \
	DEV type M_abs(type x)                                                                     \
	{                                                                                          \
		return x;                                                                          \
	}                                                                                          \
	DEV type M_div(type x, type y)                                                             \
	{                                                                                          \
		return y == 0 ? 0 : x / y;                                                         \
	}                                                                                          \
	DEV type M_rem(type x, type y)                                                             \
	{                                                                                          \
		return y == 0 ? x : x % y;                                                         \
	}                                                                                          \
	DEV type M_shift_left(type x, type y, int w)                                               \
	{                                                                                          \
		return y < (type)w ? x << y : 0;                                                   \
	}                                                                                          \
	DEV type M_shift_right(type x, type y, int w)                                              \
	{                                                                                          \
		return y < (type)w ? x >> y : 0;                                                   \
	}                                                                                          \
	DEV type M_shift_right_logical(type x, type y, int w)                                      \
	{                                                                                          \
		return y < (type)w ? x >> y : 0;                                                   \
	}

DEV_UNSIGNED(uint32_t)
DEV_UNSIGNED(uint64_t)

/* The same for signed numbers. Arithmetic shifts of integers of w bits; if y is negative or at
 * least w, only the filler bits remain. Types narrower than 32 bits are computed as int here, and
 * truncated afterwards. */
#define DEV_SIGNED(type, unsigned_type, top)                                                       \
	DEV type M_sign(type x)                                                                    \
	{                                                                                          \
		return (x > 0) - (x < 0);                                                          \
	}                                                                                          \
	DEV type M_abs(type x)                                                                     \
	{                                                                                          \
		return (type)(x < 0 ? (unsigned_type)0 - (unsigned_type)x : (unsigned_type)x);     \
	}                                                                                          \
	DEV type M_div(type x, type y)                                                             \
	{                                                                                          \
		return y == 0 ? 0 : y == -1 ? (type)((unsigned_type)0 - (unsigned_type)x) : x / y; \
	}                                                                                          \
	DEV type M_rem(type x, type y)                                                             \
	{                                                                                          \
		return y == 0 ? x : y == -1 ? 0 : x % y;                                           \
	}                                                                                          \
	DEV type M_shift_left(type x, type y, int w)                                               \
	{                                                                                          \
		return (unsigned_type)y < (unsigned_type)w                                         \
			       ? (type)((unsigned_type)x << (y & (top)))                           \
			       : (type)0;                                                          \
	}                                                                                          \
	DEV type M_shift_right(type x, type y, int w)                                              \
	{                                                                                          \
		return x >> ((unsigned_type)y < (unsigned_type)w ? y : (type)(top));               \
	}                                                                                          \
	DEV type M_shift_right_logical(type x, type y, int w)                                      \
	{                                                                                          \
		const unsigned_type bits =                                                         \
			(unsigned_type)x & (unsigned_type) ~(unsigned_type)0 >> ((top) + 1 - w);   \
		return (unsigned_type)y < (unsigned_type)w ? (type)(bits >> (y & (top)))           \
							   : (type)0;                              \
	}

DEV_SIGNED(int32_t, uint32_t, 31)
DEV_SIGNED(int64_t, uint64_t, 63)

/* Counts of bits, upper halves of products, and powers, for types of w bits. */
#define DEV_BITS(type, sign)                                                                       \
	DEV type M_popcnt(type x, int w)                                                           \
	{                                                                                          \
		return (type)rt_popcnt(rt_low_bits((uint64_t)x, w));                               \
	}                                                                                          \
	DEV type M_clz(type x, int w)                                                              \
	{                                                                                          \
		return (type)rt_clz(rt_low_bits((uint64_t)x, w), w);                               \
	}                                                                                          \
	DEV type M_mulhi(type x, type y, int w)                                                    \
	{                                                                                          \
		return (type)rt_mulhi_##sign(x, y, w);                                             \
	}                                                                                          \
	DEV type M_pow(type x, type y)                                                             \
	{                                                                                          \
		return (type)rt_pow_##sign(x, y);                                                  \
	}

DEV_BITS(int32_t, i64)
DEV_BITS(int64_t, i64)
DEV_BITS(uint32_t, u64)
DEV_BITS(uint64_t, u64)

/* The quotient for y > 0 if the remainder is 0, else -1. */
DEV int64_t
M_exact(int64_t x, int64_t y)
{
	return x % y ? -1 : x / y;
}

#define M_taken(x) (x) /* with subnormal numbers */
#define M_and(x, y) ((x) & (y))
#define M_or(x, y) ((x) | (y))
#define M_xor(x, y) ((x) ^ (y))
#define M_not(x) ((x) == 0)
#define M_uniform(seed, at) rt_uniform(rt_mix64((uint64_t)(seed)), (uint64_t)(at))
#define M_normal(seed, at) rt_normal(rt_mix64((uint64_t)(seed)), (uint64_t)(at))
#define M_draw_uniform(key, n, at) rt_draw_uniform(key, n, at)
#define M_draw_normal(key, n, at) rt_draw_normal(key, n, at)
#define M_draw_bits(key, n, at) rt_draw_bits(key, n, at)

/* A truth value as a number: processors compute it on bits (scalar_wide.h), a device has
 * predicates. */
DEV float
m_select_f32(int c, float a, float b)
{
	return c ? a : b;
}

/* Floats to integers: truncated; out of range the nearest representable value; NaN is 0. */
#define DEV_TO_INT(name, type, bottom, top)                                                        \
	DEV type name(double x)                                                                    \
	{                                                                                          \
		return x != x          ? (type)0                                                   \
		       : x >= (top)    ? (type)((uint64_t)(top)-1)                                 \
		       : x <= (bottom) ? (type)(bottom)                                            \
				       : (type)x;                                                  \
	}

DEV_TO_INT(m_to_i64, int64_t, -9223372036854775808.0, 9223372036854775808.0)
DEV_TO_INT(m_to_i32, int32_t, -2147483648.0, 2147483648.0)
DEV_TO_INT(m_to_i16, int16_t, -32768.0, 32768.0)
DEV_TO_INT(m_to_i8, int8_t, -128.0, 128.0)
DEV_TO_INT(m_to_u32, uint32_t, 0.0, 4294967296.0)
DEV_TO_INT(m_to_u16, uint16_t, 0.0, 65536.0)
DEV_TO_INT(m_to_u8, uint8_t, 0.0, 256.0)

DEV uint64_t
m_to_u64(double x)
{
	return x >= 18446744073709551616.0 ? ~(uint64_t)0 : x > 0 ? (uint64_t)x : 0;
}

/* A number rounded once to the narrow type. */
#define DEV_ROUND(half)                                                                            \
	DEV float m_round_##half(float x)                                                          \
	{                                                                                          \
		return rt_round_##half(x);                                                         \
	}                                                                                          \
	DEV float m_round_##half(double x)                                                         \
	{                                                                                          \
		return rt_##half##_to_f32(rt_f64_to_##half(x));                                    \
	}                                                                                          \
	DEV float m_round_##half(int64_t x)                                                        \
	{                                                                                          \
		return m_round_##half(rt_i64_to_odd(x));                                           \
	}                                                                                          \
	DEV float m_round_##half(uint64_t x)                                                       \
	{                                                                                          \
		return m_round_##half(rt_u64_to_odd(x));                                           \
	}                                                                                          \
	DEV float m_round_##half(int32_t x)                                                        \
	{                                                                                          \
		return m_round_##half((double)x);                                                  \
	}                                                                                          \
	DEV float m_round_##half(uint32_t x)                                                       \
	{                                                                                          \
		return m_round_##half((double)x);                                                  \
	}

DEV_ROUND(f16)
DEV_ROUND(bf16)

/* The initial value of a reduction. */
DEV void
m_lowest(float &x)
{
	x = -HUGE_VALF;
}
DEV void
m_lowest(double &x)
{
	x = -HUGE_VAL;
}
DEV void
m_highest(float &x)
{
	x = HUGE_VALF;
}
DEV void
m_highest(double &x)
{
	x = HUGE_VAL;
}
#define DEV_ENDS(type, unsigned_type, lowest)                                                      \
	DEV void m_lowest(type &x)                                                                 \
	{                                                                                          \
		x = (type)(lowest);                                                                \
	}                                                                                          \
	DEV void m_highest(type &x)                                                                \
	{                                                                                          \
		x = (type)(unsigned_type) ~(unsigned_type)(lowest);                                \
	}

DEV_ENDS(int64_t, uint64_t, (uint64_t)1 << 63)
DEV_ENDS(int32_t, uint32_t, (uint32_t)1 << 31)
DEV_ENDS(int16_t, uint16_t, (uint16_t)(1 << 15))
DEV_ENDS(int8_t, uint8_t, (uint8_t)(1 << 7))
DEV_ENDS(uint64_t, uint64_t, 0)
DEV_ENDS(uint32_t, uint32_t, 0)
DEV_ENDS(uint16_t, uint16_t, 0)
DEV_ENDS(uint8_t, uint8_t, 0)

template <typename T>
DEV T
m_sum(T x, T y)
{
	return (T)(x + y);
}

template <typename T>
DEV T
m_prod(T x, T y)
{
	return (T)(x * y);
}

/* --- groups of lanes ----------------------------------------------------------------------- */

/* Combines the values of the 32 lanes of a warp in a fixed tree; all lanes get the result. */
#define DEV_WARP(name, combine)                                                                    \
	template <typename T> DEV T name(T x)                                                      \
	{                                                                                          \
		for (int step = 16; step > 0; step >>= 1) {                                        \
			const T other = __shfl_xor_sync(0xFFFFFFFFu, x, step);                     \
			x = (T)combine(x, other);                                                  \
		}                                                                                  \
		return x;                                                                          \
	}

/* Bytes of `room`: 8 bytes for each warp of a block of 1024. */
#define DEV_ROOM 256

/* The same for a block of LANES threads: warps first, then each warp over their results. One half of
 * `room` after the other is used: a warp writes to one when all have read the other. */
#define DEV_BLOCK(name, warp)                                                                      \
	template <int LANES, typename T>                                                           \
	DEV T name(T x, unsigned char(&room)[2][DEV_ROOM], unsigned &half, T start)                \
	{                                                                                          \
		T *const each = (T *)room[half];                                                   \
		const unsigned lane = threadIdx.x & 31;                                            \
		half ^= 1;                                                                         \
		x = warp(x);                                                                       \
		if (lane == 0)                                                                     \
			each[threadIdx.x >> 5] = x;                                                \
		__syncthreads();                                                                   \
		return warp(lane < LANES / 32 ? each[lane] : start);                               \
	}

DEV_WARP(warp_sum, m_sum)
DEV_WARP(warp_max, M_max)
DEV_WARP(warp_min, M_min)
DEV_WARP(warp_prod, m_prod)
DEV_BLOCK(block_sum, warp_sum)
DEV_BLOCK(block_max, warp_max)
DEV_BLOCK(block_min, warp_min)
DEV_BLOCK(block_prod, warp_prod)

/* a - b; no change is 0, also of an infinite value. */
DEV float
dev_minus(float a, float b)
{
	return a == b ? 0.0f : a - b;
}

/* The sum so far after a change of what all summands are multiplied by. An empty sum stays 0, even
 * if the factor is infinite. */
DEV float
dev_scaled(float sum, float by)
{
	return sum == 0.0f ? sum : sum * by;
}

/* The inclusive prefix sum over the lanes, in a fixed tree. */
template <typename T>
DEV T
warp_scan(T x)
{
	for (unsigned step = 1; step < 32; step <<= 1) {
		const T other = __shfl_up_sync(0xFFFFFFFFu, x, step);
		if ((threadIdx.x & 31) >= step)
			x = (T)(other + x);
	}
	return x;
}

/*
 * The same for a group of LANES threads, a warp or a block, added to `carry`, which becomes the sum
 * of them all. Ends with a barrier, so that the room can be reused at once.
 */
template <int LANES, typename T, typename W>
DEV T
scan(T x, W &carry, unsigned char *room)
{
	x = warp_scan(x);
	if (LANES == 32) {
		const T all = __shfl_sync(0xFFFFFFFFu, x, 31);
		x = (T)(carry + x);
		carry = (W)(carry + all);
		return x;
	}
	T *const each = (T *)room;
	if ((threadIdx.x & 31) == 31)
		each[threadIdx.x >> 5] = x;
	__syncthreads();
	if (threadIdx.x < 32) {
		const T sum = threadIdx.x < LANES / 32 ? each[threadIdx.x] : (T)0;
		const T upto = warp_scan(sum);
		if (threadIdx.x < LANES / 32)
			each[threadIdx.x] = upto;
	}
	__syncthreads();
	if (threadIdx.x >= 32)
		x = (T)(each[(threadIdx.x >> 5) - 1] + x);
	x = (T)(carry + x);
	carry = (W)(carry + each[LANES / 32 - 1]);
	__syncthreads();
	return x;
}

/* --- vectors of 16 bytes ------------------------------------------------------------------- */

template <typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
	T at[N];
};

template <int N, typename T>
DEV vec<T, N>
vec_load(const T *p)
{
	return *(const vec<T, N> *)p;
}

template <int N, typename T>
DEV void
vec_store(T *p, const vec<T, N> &x)
{
	*(vec<T, N> *)p = x;
}

/* Elements before the row that starts at p in the vector with its first element. */
template <int N, typename T>
DEV unsigned
vec_shift(const T *p)
{
	return (unsigned)((uintptr_t)p / sizeof(T) % N);
}

/* Is the vector at p, elements `first` and following of a row of n, one access? */
template <int N, typename T>
DEV bool
vec_is_whole(const T *p, int64_t first, int64_t n)
{
	return first >= 0 && first + N <= n && (uintptr_t)p % alignof(vec<T, N>) == 0;
}

/* What of it is in the row. */
template <int N, typename T>
DEV vec<T, N>
vec_load_part(const T *p, int64_t first, int64_t n)
{
	if (vec_is_whole<N>(p, first, n))
		return vec_load<N>(p);
	vec<T, N> x = {};
#pragma unroll
	for (int u = 0; u < N; u++)
		if ((uint64_t)(first + u) < (uint64_t)n)
			x.at[u] = p[u];
	return x;
}

template <int N, typename T>
DEV void
vec_store_part(T *p, const vec<T, N> &x, int64_t first, int64_t n)
{
	if (vec_is_whole<N>(p, first, n)) {
		vec_store(p, x);
		return;
	}
#pragma unroll
	for (int u = 0; u < N; u++)
		if ((uint64_t)(first + u) < (uint64_t)n)
			p[u] = x.at[u];
}

#endif
