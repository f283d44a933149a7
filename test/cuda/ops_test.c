/* test/lower/ops_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/lower/ops_test.c"
