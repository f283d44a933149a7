/* Arguments of the kernels that every program contains (support.h), for both sides. */
#ifndef RUNTIME_CUDA_ARGS_H
#define RUNTIME_CUDA_ARGS_H

#include <stdint.h>

/* Most places of an axis whose devices read each other's memory: the pointers of all are
 * arguments. */
#define RT_CUDA_MAX_PEERS 64
/* Threads of a block of these kernels. */
#define RT_CUDA_SUPPORT_BLOCK 256

/* struct rt_region without its base: runs of elements, from its element `first` on. */
struct dopt_region {
	int64_t counts[3], strides[3], run, first;
};

/* to[q][i] = from[0][i] + from[1][i] + ... in this order; sources are regions, results n elements
 * in a row. With a stride, in bytes, from[p] is that far after from[p - 1]. */
struct dopt_sum_args {
	const void *from[RT_CUDA_MAX_PEERS];
	void *to[RT_CUDA_MAX_PEERS];
	int64_t nfrom, nto, n, stride;
	struct dopt_region region;
};

/* Copies n elements between regions. */
struct dopt_move_args {
	const void *from;
	void *to;
	int64_t n;
	struct dopt_region from_region, to_region;
};

/* Most kernels of a bundle, one launch for several kernels, and most pointers that they have as
 * arguments: a launch takes 4 KB of arguments on all devices. */
#define DOPT_BUNDLE_MOST 64
#define DOPT_BUNDLE_WORDS 447

/* Member i has the blocks before end[i] that no member before it has, and the structure of
 * arguments of its kernel at word[at[i]]. which[i] is the kernel; of unused members `end` is 0. */
struct dopt_bundle {
	uint32_t n, end[DOPT_BUNDLE_MOST];
	uint16_t at[DOPT_BUNDLE_MOST], which[DOPT_BUNDLE_MOST];
	const void *word[DOPT_BUNDLE_WORDS];
};

#endif
