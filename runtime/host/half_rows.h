/* Rows of 16-bit floats to f32 and back: shared by products and convolutions. */
#ifndef RUNTIME_HOST_HALF_ROWS_H
#define RUNTIME_HOST_HALF_ROWS_H

#include "runtime/kernel/half.h"

#include <stdbool.h>

/* n elements of bf16, or of f16, converted exactly. */
static inline void
rt_widen_row(bool bf16, const uint16_t *from, int64_t n, float *restrict to)
{
	if (bf16)
		for (int64_t i = 0; i < n; i++)
			to[i] = rt_bf16_to_f32(from[i]);
	else
		for (int64_t i = 0; i < n; i++)
			to[i] = rt_f16_to_f32(from[i]);
}

/* The reverse, rounded to nearest even. */
static inline void
rt_narrow_row(bool bf16, const float *from, int64_t n, uint16_t *restrict to)
{
	if (bf16)
		for (int64_t i = 0; i < n; i++)
			to[i] = rt_f32_to_bf16(from[i]);
	else
		for (int64_t i = 0; i < n; i++)
			to[i] = rt_f32_to_f16(from[i]);
}

#endif
