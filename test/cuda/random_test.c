/* test/random/programs_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/random/programs_test.c"
