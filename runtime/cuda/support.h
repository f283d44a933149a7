/* Kernels that every program contains: sums over places and copies between regions, for
 * collectives. One for each element type and size; the host side finds them by name. In addition
 * what bundles of small kernels need. */
#ifndef RUNTIME_CUDA_SUPPORT_H
#define RUNTIME_CUDA_SUPPORT_H

#include "runtime/cuda/args.h"

/* The address of element i of a region. */
DEV int64_t
dopt_region_at(const dopt_region &r, int64_t i)
{
	const int64_t e = r.first + i, run = e / r.run, c = run % r.counts[2],
		      b = run / r.counts[2];
	return e % r.run + c * r.strides[2] + b % r.counts[1] * r.strides[1] +
	       b / r.counts[1] * r.strides[0];
}

/* The member of a bundle that has a block: as many members end before it. */
DEV int
dopt_bundle_member(const dopt_bundle &k, unsigned block)
{
	int i = 0;
	for (int step = DOPT_BUNDLE_MOST / 2; step > 0; step /= 2)
		if (i + step <= (int)k.n && block >= k.end[i + step - 1])
			i += step;
	return i;
}

DEV const void *
dopt_source(const dopt_sum_args &k, int64_t p)
{
	return k.stride ? (const char *)k.from[0] + p * k.stride : k.from[p];
}

#define DOPT_SUM(name, type, wide, load, store)                                                    \
	DOPT_KERNEL(dopt_sum_##name, dopt_sum_args, RT_CUDA_SUPPORT_BLOCK)                         \
	{                                                                                          \
		const int64_t step = (int64_t)gridDim.x * RT_CUDA_SUPPORT_BLOCK;                   \
		const int64_t start = (int64_t)blockIdx.x * RT_CUDA_SUPPORT_BLOCK;                 \
		for (int64_t i = start + threadIdx.x; i < k.n; i += step) {                        \
			const int64_t at = dopt_region_at(k.region, i);                            \
			const wide one = load(((const type *)k.from[0])[at]);                      \
			wide sum = k.nfrom > 1 ? (wide)(0 + one) : one;                            \
			for (int64_t p = 1; p < k.nfrom; p++)                                      \
				sum = (wide)(sum + load(((const type *)dopt_source(k, p))[at]));   \
			for (int64_t q = 0; q < k.nto; q++)                                        \
				((type *)k.to[q])[i] = store(sum);                                 \
		}                                                                                  \
	}

/* Unsigned, because signed sums must not overflow; a bool is true if any is. */
DOPT_SUM(f64, double, double, , )
DOPT_SUM(f32, float, float, , )
DOPT_SUM(f16, uint16_t, float, rt_f16_to_f32, rt_f32_to_f16)
DOPT_SUM(bf16, uint16_t, float, rt_bf16_to_f32, rt_f32_to_bf16)
DOPT_SUM(i64, uint64_t, uint64_t, , )
DOPT_SUM(i32, uint32_t, uint32_t, , )
DOPT_SUM(i16, uint16_t, uint16_t, , )
DOPT_SUM(i8, uint8_t, uint8_t, , )
DOPT_SUM(u64, uint64_t, uint64_t, , )
DOPT_SUM(u32, uint32_t, uint32_t, , )
DOPT_SUM(u16, uint16_t, uint16_t, , )
DOPT_SUM(u8, uint8_t, uint8_t, , )
DOPT_SUM(bool, uint8_t, uint32_t, 0u !=, 0u !=)

#define DOPT_MOVE(bytes, type)                                                                     \
	DOPT_KERNEL(dopt_move_##bytes, dopt_move_args, RT_CUDA_SUPPORT_BLOCK)                      \
	{                                                                                          \
		const int64_t step = (int64_t)gridDim.x * RT_CUDA_SUPPORT_BLOCK;                   \
		const int64_t start = (int64_t)blockIdx.x * RT_CUDA_SUPPORT_BLOCK;                 \
		for (int64_t i = start + threadIdx.x; i < k.n; i += step)                          \
			((type *)k.to)[dopt_region_at(k.to_region, i)] =                           \
				((const type *)k.from)[dopt_region_at(k.from_region, i)];          \
	}

DOPT_MOVE(1, uint8_t)
DOPT_MOVE(2, uint16_t)
DOPT_MOVE(4, uint32_t)
DOPT_MOVE(8, uint64_t)
struct alignas(16) dopt_16 {
	uint64_t at[2];
};
DOPT_MOVE(16, dopt_16)

#endif
