/* Rows of 16-bit floats as f32 and back: what products and convolutions of them share. */
#ifndef RUNTIME_HOST_HALF_ROWS_H
#define RUNTIME_HOST_HALF_ROWS_H

#include "runtime/kernel/half.h"

#include <stdbool.h>

/* n elements of bf16, or of f16, exactly. */
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

/* The same back, rounded to nearest even. */
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
