/* test/ir/loops/sum_test.c on CUDA kernels. */
#include "test/lower/cuda/batch.h"
#include "test/ir/loops/sum_test.c"
