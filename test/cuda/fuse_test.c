/* test/lower/fuse_test.c on CUDA kernels. */
#include "test/cuda/batch.h"
#include "test/lower/fuse_test.c"
