/* test/random/fuse_test.c on CUDA kernels. */
#define BATCH_REAL 4
#define RANDOM_PARTS 2
#define RANDOM_NEXT 2
#include "test/lower/cuda/batch.h"
#include "test/random/fuse_test.c"
