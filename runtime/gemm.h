/* Matrix products for generated host code: row-major, on oneDNN (f32; f16 and bf16 widened to
 * it) or a plain loop (f64), one thread a rank. op(A) is m x k, op(B) k x n, C m x n; lda, ldb, ldc
 * are the lengths of the rows as stored. C = alpha * op(A) * op(B) + beta * C; with beta 0 C need
 * not be initialized. */
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

/* C = the sum over all `sums` of op(A) * op(B), in f32, rounded once. f16 and bf16 as bits. */
void rt_gemm_bf16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums);

void rt_gemm_f16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums);

#endif
