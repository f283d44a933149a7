/* Sorting of rows for the ops sort and topk: bitonic networks over rows padded to a power of two. A
 * block sorts R rows of P entries at a time in shared memory, or one row at a time in scratch. */
#ifndef RUNTIME_CUDA_ORDER_H
#define RUNTIME_CUDA_ORDER_H

#include "runtime/cuda/device.h"

/* Unsigned numbers that sort like the elements: zeros are equal, NaN comes last. */
DEV uint64_t
order_key(double x)
{
	if (x != x)
		return ~(uint64_t)0;
	uint64_t bits;
	x = x == 0 ? 0 : x;
	memcpy(&bits, &x, sizeof bits);
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}
DEV uint64_t
order_key(int64_t x)
{
	return (uint64_t)x ^ (uint64_t)1 << 63;
}

DEV uint64_t
order_key(uint64_t x)
{
	return x;
}

#define ORDER_TYPE(name, ctype, wide, load)                                                        \
	struct order_##name {                                                                      \
		typedef ctype type;                                                                \
	};                                                                                         \
	DEV uint64_t order_key_of(order_##name, ctype x)                                           \
	{                                                                                          \
		return order_key((wide)load(x));                                                   \
	}

ORDER_TYPE(f64, double, double, )
ORDER_TYPE(f32, float, double, )
ORDER_TYPE(f16, uint16_t, double, rt_f16_to_f32)
ORDER_TYPE(bf16, uint16_t, double, rt_bf16_to_f32)
ORDER_TYPE(i64, int64_t, int64_t, )
ORDER_TYPE(i32, int32_t, int64_t, )
ORDER_TYPE(i16, int16_t, int64_t, )
ORDER_TYPE(i8, int8_t, int64_t, )
ORDER_TYPE(u64, uint64_t, uint64_t, )
ORDER_TYPE(u32, uint32_t, int64_t, )
ORDER_TYPE(u16, uint16_t, int64_t, )
ORDER_TYPE(u8, uint8_t, int64_t, )
ORDER_TYPE(bool, uint8_t, int64_t, )

/* in[outer][n][inner] -> values and positions [outer][k][inner]; padding is sorted to the end. */
template <typename T, int THREADS, int64_t P, int64_t R>
DEV void
order_rows(const typename T::type *in, typename T::type *values, int32_t *positions, int64_t outer,
	int64_t n, int64_t inner, int64_t k, uint64_t flip, uint64_t *key, int32_t *at)
{
	const int64_t rows = outer * inner;

	for (int64_t first = (int64_t)blockIdx.x * R; first < rows;
		first += (int64_t)gridDim.x * R) {
		for (int64_t i = threadIdx.x; i < R * P; i += THREADS) {
			const int64_t row = first + i / P, c = i % P;
			const bool there = row < rows && c < n;
			const int64_t from = row / inner * n * inner + row % inner;
			key[i] = there ? order_key_of(T(), in[from + c * inner]) ^ flip
				       : ~(uint64_t)0;
			at[i] = there ? (int32_t)c : 0x7FFFFFFF;
		}
		__syncthreads();
		for (int64_t size = 2; size <= P; size <<= 1)
			for (int64_t step = size >> 1; step > 0; step >>= 1) {
				for (int64_t i = threadIdx.x; i < R * P / 2; i += THREADS) {
					const int64_t x = 2 * i - (i & (step - 1)), y = x + step;
					const bool up = ((x & (P - 1)) & size) == 0;
					const uint64_t kx = key[x], ky = key[y];
					const int32_t ax = at[x], ay = at[y];
					if ((kx > ky || (kx == ky && ax > ay)) == up) {
						key[x] = ky;
						key[y] = kx;
						at[x] = ay;
						at[y] = ax;
					}
				}
				__syncthreads();
			}
		for (int64_t i = threadIdx.x; i < R * k; i += THREADS) {
			const int64_t row = first + i / k, c = i % k;
			if (row >= rows)
				continue;
			const int64_t from = row / inner * n * inner + row % inner,
				      to = row / inner * k * inner + row % inner;
			const int32_t x = at[i / k * P + c];
			positions[to + c * inner] = x;
			values[to + c * inner] = in[from + x * inner];
		}
		__syncthreads();
	}
}

#endif
