/* test/lower/convert_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/lower/convert_test.c"
