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

static inline void
__syncwarp()
{
	shim_warp_exchange(0);
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

static inline int
__ffs(int x)
{
	return __builtin_ffs(x);
}

#endif
