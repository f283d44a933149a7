/* test/random/programs_test.c on CUDA kernels. */
#define BATCH_REAL 4
#include "test/lower/cuda/batch.h"
#include "test/random/programs_test.c"
