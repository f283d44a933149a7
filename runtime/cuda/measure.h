/* The op profiler on a CUDA device: as runtime/measure/measure.h, with events as the clock. */
#ifndef RUNTIME_CUDA_MEASURE_H
#define RUNTIME_CUDA_MEASURE_H

#include "runtime/cuda/rt_cuda.h"
#include "runtime/measure/measure.h"

/* As rt_measure_main; `cuda` has the kernels that the functions of `m` launch. */
int rt_cuda_measure_main(
	const struct rt_measure *m, const struct rt_cuda_program *cuda, int argc, char **argv);

#endif
