/* test/random/agree.c on CUDA kernels. */
#define BATCH_REAL 1
#include "test/lower/cuda/batch.h"
#include "test/random/agree.c"
