/* test/lower/zero_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/lower/zero_test.c"
