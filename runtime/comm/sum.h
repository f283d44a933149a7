/* Sums over places, in the order of the places, element by element: every transport calls this
 * function, so their results agree bit for bit. f16 and bf16 are added in f32 and rounded once;
 * integers wrap around; a bool is true if any is. A sum of several values starts at +0, so it is
 * never -0. */
#ifndef RUNTIME_SUM_H
#define RUNTIME_SUM_H

#include "runtime/kernel/dtype.h"

/* dst[i] = src[0][i] + src[1][i] + ... for n elements; dst may be one of the sources. */
void rt_sum(enum rt_dtype t, void *dst, const void *const *src, int places, int64_t n);

#endif
