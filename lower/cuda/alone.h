/* Single kernels of the cuda target, outside a step, for the op profiler. */
#ifndef LOWER_CUDA_ALONE_H
#define LOWER_CUDA_ALONE_H

#include "lower/plan/plan.h"

#include <stdio.h>

/*
 * Writes kernels.cu with the kernels of n ops into `folder`; and to `out`, for a file that includes
 * runtime/cuda/rt_cuda.h, for op k of the plan's module
 *
 *     static void
 *     call_K(struct rt_ctx *c, void *const *operand, void *const *result, void *scratch)
 *
 * that launches them, and `static const struct rt_cuda_program cuda` with their tables and the
 * image kernels.fatbin. scratch[k] receives the bytes of scratch that op k needs; *convolves: an op
 * calls convolutions of cuDNN. Reports and returns false if the file cannot be written.
 */
bool cuda_alone_write(const struct lower_plan *p, const struct ir_op *const *op, int n,
	const char *folder, FILE *out, uint64_t *scratch, bool *convolves);

#endif
