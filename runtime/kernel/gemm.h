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
 * bits. `room` has rt_gemm_half_room bytes for the same sizes. */
void rt_gemm_bf16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums, void *room);

void rt_gemm_f16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums, void *room);

#endif
