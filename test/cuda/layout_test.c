/* test/lower/layout_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/lower/layout_test.c"
