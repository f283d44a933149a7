/* test/lower/host/exact_test.c on CUDA kernels. */
#include "test/lower/cuda/batch.h"
#include "test/lower/host/exact_test.c"
