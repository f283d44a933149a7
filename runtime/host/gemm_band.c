/* Matrix products restricted to a band: see runtime/kernel/gemm.h. */
#include "runtime/kernel/gemm.h"

#include <string.h>

/* For each element type: whether lines are 0, for elements stored as `type`. */
#define ZERO_OUTSIDE(type, suffix, is_set)                                                         \
	bool rt_is_zero_outside_##suffix(const type *x, int64_t outer, int64_t rows,               \
		int64_t columns, int64_t low, int64_t high, bool along_columns)                    \
	{                                                                                          \
		const int64_t n = along_columns ? columns : rows;                                  \
		const int64_t last = along_columns ? rows - 1 : columns - 1;                       \
		const int64_t step = along_columns ? 1 : columns,                                  \
			      across = along_columns ? columns : 1;                                \
		for (int64_t o = 0; o < outer; o++, x += rows * columns)                           \
			for (int64_t i = 0; i < n; i++) {                                          \
				/* column - row of the two ends of the line */                     \
				const int64_t left = along_columns ? i : -i;                       \
				const int64_t right = along_columns ? i - last : last - i;         \
				if ((left < low || left > high) && is_set(x[i * step]))            \
					return false;                                              \
				if ((right < low || right > high) &&                               \
					is_set(x[i * step + last * across]))                       \
					return false;                                              \
			}                                                                          \
		return true;                                                                       \
	}

#define IS_SET(x) ((x) != 0)
#define IS_SET_16(x) (((x)&0x7fff) != 0) /* bits: zeros have a sign */
ZERO_OUTSIDE(float, f32, IS_SET)
ZERO_OUTSIDE(double, f64, IS_SET)
ZERO_OUTSIDE(uint16_t, f16, IS_SET_16)
ZERO_OUTSIDE(uint16_t, bf16, IS_SET_16)

/* For each element type one product by blocks, and all products of a batch. */
#define BAND(type, suffix)                                                                         \
	/* Rows of C without any product: 0 if beta is 0, else unchanged. */                       \
	static void clear_##suffix(                                                                \
		type *c, int64_t ldc, int64_t m, int64_t first, int64_t end, type beta)            \
	{                                                                                          \
		for (int64_t i = 0; i < m && beta == 0 && first < end; i++)                        \
			memset(c + i * ldc + first, 0, (size_t)(end - first) * sizeof *c);         \
	}                                                                                          \
                                                                                                   \
	static void banded_##suffix(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,   \
		type alpha, const type *a, int64_t lda, const type *b, int64_t ldb, type beta,     \
		type *c, int64_t ldc, const struct rt_gemm_band *band)                             \
	{                                                                                          \
		const int64_t a_row = trans_a ? 1 : lda, a_col = trans_a ? lda : 1;                \
		const int64_t b_row = trans_b ? 1 : ldb, b_col = trans_b ? ldb : 1;                \
		const bool by_n = band->of == RT_GEMM_B, of_c = band->of == RT_GEMM_C;             \
		const int64_t size = by_n ? n : m;                                                 \
		for (int64_t i = 0; i < size; i += RT_GEMM_BAND_ROWS) {                            \
			const int64_t left = size - i;                                             \
			const int64_t rows = left < RT_GEMM_BAND_ROWS ? left : RT_GEMM_BAND_ROWS;  \
			const int64_t m0 = by_n ? 0 : i, m1 = by_n ? m : i + rows;                 \
			int64_t n0 = by_n ? i : 0, n1 = by_n ? i + rows : n, k0 = 0, k1 = k;       \
			rt_gemm_band_range(band, i, i + rows, of_c ? n : k, of_c ? &n0 : &k0,      \
				of_c ? &n1 : &k1);                                                 \
			type *const to = c + m0 * ldc;                                             \
			if (of_c) {                                                                \
				clear_##suffix(to, ldc, m1 - m0, 0, n0, beta);                     \
				clear_##suffix(to, ldc, m1 - m0, n1, n, beta);                     \
			}                                                                          \
			if (k0 == k1)                                                              \
				clear_##suffix(to, ldc, m1 - m0, n0, n1, beta);                    \
			else if (n0 < n1)                                                          \
				rt_gemm_##suffix(trans_a, trans_b, m1 - m0, n1 - n0, k1 - k0,      \
					alpha, a + m0 * a_row + k0 * a_col, lda,                   \
					b + k0 * b_row + n0 * b_col, ldb, beta, to + n0, ldc);     \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	void rt_gemm_band_##suffix(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,    \
		type alpha, const type *a, int64_t lda, int64_t stride_a, const type *b,           \
		int64_t ldb, int64_t stride_b, type beta, type *c, int64_t ldc, int64_t stride_c,  \
		int64_t batch, const struct rt_gemm_band *band)                                    \
	{                                                                                          \
		if (!band) {                                                                       \
			rt_gemm_batch_##suffix(trans_a, trans_b, m, n, k, alpha, a, lda, stride_a, \
				b, ldb, stride_b, beta, c, ldc, stride_c, batch);                  \
			return;                                                                    \
		}                                                                                  \
		for (int64_t i = 0; i < batch; i++)                                                \
			banded_##suffix(trans_a, trans_b, m, n, k, alpha, a + i * stride_a, lda,   \
				b + i * stride_b, ldb, beta, c + i * stride_c, ldc, band);         \
	}

BAND(float, f32)
BAND(double, f64)
