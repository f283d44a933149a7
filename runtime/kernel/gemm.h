/* Matrix products for generated host code: row-major, on oneDNN (f32; f16 and bf16 widened to
 * it) or here (f64), one thread per rank. op(A) is m x k, op(B) k x n, C m x n; lda, ldb,
 * ldc are the lengths of the rows as stored. C = alpha * op(A) * op(B) + beta * C; with beta 0 C
 * need not be initialized. */
#ifndef RUNTIME_GEMM_H
#define RUNTIME_GEMM_H

#include <stdbool.h>
#include <stdint.h>

void rt_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
	int64_t ldc);

void rt_gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
	int64_t ldc);

/* `batch` products; operand number i is at pointer + i * stride (in elements, 0 repeats it). */
void rt_gemm_batch_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, int64_t stride_a, const float *b, int64_t ldb,
	int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch);

void rt_gemm_batch_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, int64_t stride_a, const double *b, int64_t ldb,
	int64_t stride_b, double beta, double *c, int64_t ldc, int64_t stride_c, int64_t batch);

/* One of the matrices of a product is 0 outside of a band, or C is not read outside of it: inside
 * is low <= column - row <= high. */
enum rt_gemm_matrix { RT_GEMM_NONE, RT_GEMM_A, RT_GEMM_B, RT_GEMM_C };
struct rt_gemm_band {
	enum rt_gemm_matrix of;
	int64_t low, high;
};

/* Rows of A or C, or columns of B, that share one range to compute: a causal product of 512 rows
 * still leaves out 15/16 of the half that is 0, and a call is large enough for the library to be
 * fast. */
enum { RT_GEMM_BAND_ROWS = 64 };

/* The range to compute for rows (of B: columns) from .. to - 1: a range of columns (rows), of
 * `size`. */
static inline void
rt_gemm_band_range(const struct rt_gemm_band *b, int64_t from, int64_t to, int64_t size,
	int64_t *first, int64_t *end)
{
	*first = b->of == RT_GEMM_B ? from - b->high : from + b->low;
	*end = b->of == RT_GEMM_B ? to - b->low : to + b->high;
	*first = *first < 0 ? 0 : *first > size ? size : *first;
	*end = *end > size ? size : *end < *first ? *first : *end;
}

/* Multiplications of a product with such a band, at most m * n * k. */
static inline double
rt_gemm_band_points(const struct rt_gemm_band *b, int64_t m, int64_t n, int64_t k)
{
	const int64_t rows = b->of == RT_GEMM_B ? n : m, columns = b->of == RT_GEMM_C ? n : k;
	const int64_t other = b->of == RT_GEMM_A ? n : b->of == RT_GEMM_B ? m : k;
	double points = 0;

	for (int64_t i = 0; i < rows; i += RT_GEMM_BAND_ROWS) {
		const int64_t to = i + RT_GEMM_BAND_ROWS < rows ? i + RT_GEMM_BAND_ROWS : rows;
		int64_t first, end;
		rt_gemm_band_range(b, i, to, columns, &first, &end);
		points += (double)(to - i) * (double)(end - first) * (double)other;
	}
	return points;
}

/* The same as rt_gemm_batch_*, by blocks that are inside the band; with beta 0, elements of C that
 * are not computed are set to 0. band NULL: everything is computed. Products of 16-bit floats:
 * below. */
void rt_gemm_band_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, int64_t stride_a, const float *b, int64_t ldb,
	int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch,
	const struct rt_gemm_band *band);

void rt_gemm_band_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, int64_t stride_a, const double *b, int64_t ldb,
	int64_t stride_b, double beta, double *c, int64_t ldc, int64_t stride_c, int64_t batch,
	const struct rt_gemm_band *band);

/* Are `outer` matrices, one after the other, 0 outside of the band? Reads one element of each row,
 * or of each column: the other elements outside have the same value. */
bool rt_is_zero_outside_f32(const float *x, int64_t outer, int64_t rows, int64_t columns,
	int64_t low, int64_t high, bool along_columns);
bool rt_is_zero_outside_f64(const double *x, int64_t outer, int64_t rows, int64_t columns,
	int64_t low, int64_t high, bool along_columns);
bool rt_is_zero_outside_f16(const uint16_t *x, int64_t outer, int64_t rows, int64_t columns,
	int64_t low, int64_t high, bool along_columns);
bool rt_is_zero_outside_bf16(const uint16_t *x, int64_t outer, int64_t rows, int64_t columns,
	int64_t low, int64_t high, bool along_columns);

/* A loop over which a product is summed: strides in elements. */
struct rt_gemm_sum {
	int64_t size, a, b;
};

/* Rows and columns of C and length of the sum that products of 16-bit floats convert to f32 at a
 * time: 3 MB in all, so that they stay in the caches that a core has (almost) to itself. */
enum rt_gemm_half_block {
	RT_GEMM_HALF_ROWS = 256,
	RT_GEMM_HALF_COLUMNS = 768,
	RT_GEMM_HALF_SUM = 512
};

/* Bytes of memory that such a product needs. */
static inline int64_t
rt_gemm_half_room(int64_t m, int64_t n, int64_t k)
{
	m = m < RT_GEMM_HALF_ROWS ? m : RT_GEMM_HALF_ROWS;
	n = n < RT_GEMM_HALF_COLUMNS ? n : RT_GEMM_HALF_COLUMNS;
	k = k < RT_GEMM_HALF_SUM ? k : RT_GEMM_HALF_SUM;
	return (m * k + k * n + m * n) * (int64_t)sizeof(float);
}

/* C = the sum over all `sums` of op(A) * op(B), in f32, rounded once. f16 and bf16 are passed as
 * bits. `room` has rt_gemm_half_room bytes for the same sizes. band NULL: everything is computed;
 * else as rt_gemm_band_*. */
void rt_gemm_bf16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums, void *room, const struct rt_gemm_band *band);

void rt_gemm_f16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums, void *room, const struct rt_gemm_band *band);

#endif
