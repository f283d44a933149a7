/* test/lower/sum_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/lower/sum_test.c"
