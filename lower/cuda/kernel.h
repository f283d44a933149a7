/*
 * Kernels of the cuda target: the scheme of an op written as CUDA kernels (kernels.cu) and as a
 * function of the host side that launches them (step.c).
 */
#ifndef LOWER_CUDA_KERNEL_H
#define LOWER_CUDA_KERNEL_H

#include "ir/memory/storage.h"
#include "lower/lower.h"
#include "lower/text/kernel.h"
#include "runtime/cuda/rt_cuda.h"

enum { CUDA_SCRATCH_START = 256 }; /* alignment of an op's scratch: that of cudaMalloc */

/* Limit on the workspace of one convolution, unless -workspace sets it. It allows what VGG-19's
 * largest convolution needs with 64 images for tensor cores (1.7 GB), but not what Winograd's
 * algorithm would need there (3.7 GB): without it the whole step takes 8.5 GB. */
#define CUDA_WORKSPACE_MOST (UINT64_C(2) << 30)

/* The output so far, for all ops of a program. A talloc object; the caller owns the streams. */
struct cuda_sources {
	FILE *kernels; /* CUDA */
	FILE *host;    /* C: launch functions */
	int nlaunches; /* rows of the table of kernels */
	struct cuda_launch {
		char *name;
		int threads;
	} * launch;
	int ngemms;
	struct cuda_gemm_row {
		char *loops; /* initializer of the loops, NULL: none */
		char *text;  /* initializer of the rest */
		int candidate[2];
	} * gemm;
	int nconvs;
	char **conv; /* initializers */
	/* The kernel of the function that was written last, if that does nothing but launch it:
	 * its body as a function of `block` and `blocks`; NULL: it does more. */
	struct cuda_single {
		char *body;
		int64_t grid;
	} single;
	int bodies; /* kernels of that function */
	const struct storage_target *target;
	const struct lower_options
		*options; /* NULL: kernels alone, or their code is only measured */
};

/*
 * Writes the kernels of a scheme and the function `name` that launches them:
 *
 *     static void NAME(struct rt_ctx *ctx, void *a0 ..., void *r0 ...,
 *             unsigned char *scratch, int64_t s0 ...)
 *
 * The scheme's decisions about scratch are replaced by those of this target. `aligned`: operands
 * and results start at multiples of 16 bytes. `args` receives the arguments for s0, s1 ... Returns
 * the bytes of scratch that they need.
 */
uint64_t cuda_kernel_write(struct cuda_sources *src, struct scheme *s, const char *name,
	bool in_place, bool aligned, struct kernel_args *args);

/* The loop nests of an op's kernels for the target of these sources, a talloc child of `src`. */
struct scheme *cuda_scheme(struct cuda_sources *src, const struct ir_module *m, struct arena *a,
	const struct ir_op *op);

/* What cuda_kernel_write writes with aligned operands. Without, scratch and the number of launches
 * are the same. */
struct storage_code cuda_kernel_code(const struct storage_target *t, const struct ir_module *m,
	struct arena *a, const struct ir_op *op, bool in_place);

/*
 * Bytes of workspace that a convolution is given: the most that any algorithm that its shape allows
 * can need, within the limits. cuDNN itself is asked at run time only, as there may be no GPU here.
 */
uint64_t cuda_conv_workspace(const struct rt_cuda_conv *c, const struct storage_workspace *limits);

/* Which of the library's candidates was measured to be the fastest for the call of that key
 * (runtime/cuda/candidate.h). */
int cuda_candidate(const struct cuda_sources *src, const char *key);

#endif
