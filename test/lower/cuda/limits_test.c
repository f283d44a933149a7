/* test/lower/host/limits_test.c on CUDA kernels. */
#include "test/lower/cuda/batch.h"
#include "test/lower/host/limits_test.c"
