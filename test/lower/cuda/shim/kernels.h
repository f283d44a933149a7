/* Runs generated CUDA kernels on a processor: kernels.cu is compiled as C++ with this header in
 * front. The threads of a block are fibers of one thread (fibers.c), so barriers and shuffles work
 * as on a device; a barrier that not all threads reach is reported and ends the program. */
#ifndef TEST_LOWER_CUDA_SHIM_KERNELS_H
#define TEST_LOWER_CUDA_SHIM_KERNELS_H

#include "fibers.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define __host__
#define __device__
#define __shared__ static thread_local
#define DEV static inline

#define DOPT_KERNEL(name, args, threads)                                                           \
	static void name##_body(const args &k);                                                    \
	static void name##_run(const void *p)                                                      \
	{                                                                                          \
		name##_body(*(const args *)p);                                                     \
	}                                                                                          \
	static struct name##_entry {                                                               \
		name##_entry()                                                                     \
		{                                                                                  \
			shim_register(#name, name##_run, sizeof(args));                            \
		}                                                                                  \
	} name##_at_start;                                                                         \
	static void name##_body(const args &k)

#define SCATTER_ADDED() shim_added()

#define threadIdx (shim_self()->thread)
#define blockIdx (shim_self()->block)
#define gridDim (shim_self()->grid)

static inline void
__syncthreads()
{
	shim_block_barrier();
}

/* Is it true of any thread of the block? */
__attribute__((no_sanitize("thread"))) static inline int
__syncthreads_or(int x)
{
	static thread_local int any;

	shim_block_barrier();
	any = 0;
	shim_block_barrier();
	any |= x != 0;
	shim_block_barrier();
	return any;
}

static inline void
__syncwarp()
{
	shim_warp_barrier();
}

template <typename T>
static inline T
__shfl_xor_sync(unsigned, T x, int step)
{
	uint64_t bits = 0;
	memcpy(&bits, &x, sizeof x);
	const uint64_t *all = shim_warp_exchange(bits);
	T other;
	memcpy(&other, &all[(threadIdx.x & 31) ^ (unsigned)step], sizeof other);
	return other;
}

template <typename T>
static inline T
__shfl_sync(unsigned, T x, unsigned lane)
{
	uint64_t bits = 0;
	memcpy(&bits, &x, sizeof x);
	const uint64_t *all = shim_warp_exchange(bits);
	T other;
	memcpy(&other, &all[lane & 31], sizeof other);
	return other;
}

template <typename T>
static inline T
__shfl_up_sync(unsigned mask, T x, unsigned step)
{
	const unsigned lane = threadIdx.x & 31;
	return __shfl_sync(mask, x, lane >= step ? lane - step : lane);
}

static inline unsigned
__ballot_sync(unsigned, bool x)
{
	const uint64_t *all = shim_warp_exchange(x);
	unsigned bits = 0;
	for (int i = 0; i < 32; i++)
		bits |= (unsigned)(all[i] != 0) << i;
	return bits;
}

static inline bool
__any_sync(unsigned mask, bool x)
{
	return __ballot_sync(mask, x) != 0;
}

/* The functions of a warp in runtime/cuda/tile.h. */
#define TILE_WARP

template <bool TRANSPOSED>
static inline void
tile_matrices(uint32_t (&to)[4], const void *line)
{
	const uint64_t *all = shim_warp_exchange((uint64_t)(uintptr_t)line);
	const unsigned lane = threadIdx.x & 31, outer = lane / 4, inner = 2 * (lane % 4);
	for (unsigned i = 0; i < 4; i++) {
		uint32_t pair[2];
		for (unsigned k = 0; k < 2; k++) {
			const unsigned row = TRANSPOSED ? inner + k : outer;
			const unsigned column = TRANSPOSED ? outer : inner + k;
			pair[k] = ((const uint16_t *)(uintptr_t)all[8 * i + row])[column];
		}
		to[i] = pair[0] | pair[1] << 16;
	}
}

/*
 * Element k of a line of an operand, of which the lanes 4 line to 4 line + 3 have the first four
 * (TF32) or eight (in pairs) in the lower half of their 64 bits, the others in the upper one.
 */
template <typename L>
static inline float
tile_element(const uint64_t *half, unsigned line, unsigned k)
{
	if constexpr (sizeof(typename L::memory) == sizeof(float)) {
		const uint32_t bits = (uint32_t)(half[4 * line + k % 4] >> 32 * (k / 4));
		float x;
		memcpy(&x, &bits, sizeof x);
		return x;
	} else {
		const uint64_t pair = half[4 * line + k % 8 / 2] >> 32 * (k / 8);
		return L::load((uint16_t)(pair >> 16 * (k % 2)));
	}
}

/*
 * PTX, "Matrix Fragments for mma.m16n8k16 with floating point type" and "for mma.m16n8k8": a[0] and
 * a[1] have rows l / 4 and l / 4 + 8 of columns l % 4, for pairs 2 (l % 4) and the next; a[2] and
 * a[3] the same 4 or 8 columns further; b the same with rows and columns exchanged; c, of 8 columns,
 * has pairs of columns in rows l / 4 and l / 4 + 8.
 */
template <typename L>
static inline void
tile_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
	uint64_t rows[2][32], columns[32];
	const unsigned lane = threadIdx.x & 31, n = 32 / sizeof(typename L::memory);
	for (unsigned i = 0; i < 2; i++)
		memcpy(rows[i], shim_warp_exchange(a[i] | (uint64_t)a[i + 2] << 32),
			sizeof rows[i]);
	memcpy(columns, shim_warp_exchange(b[0] | (uint64_t)b[1] << 32), sizeof columns);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < n; k++)
			c[i] += tile_element<L>(rows[i / 2], lane / 4, k) *
				tile_element<L>(columns, 2 * (lane % 4) + i % 2, k);
}

static inline int
__ffs(int x)
{
	return __builtin_ffs(x);
}

#endif
