/* Matrix products: see runtime/kernel/gemm.h. oneDNN's dnnl_sgemm is row-major and selects the
 * machine's vector unit; it has no double precision, which only checks need, so that is a loop
 * here. */
#include "runtime/kernel/gemm.h"
#include "runtime/comm/threads.h"
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

/* OpenMP's, where the program is linked with an OpenMP runtime at all. */
extern void omp_set_num_threads(int n) __attribute__((weak));

void
rt_single_threaded_libraries(void)
{
	if (omp_set_num_threads)
		omp_set_num_threads(1);
}

static void
call(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	const dnnl_status_t status = dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k,
		alpha, a, lda, b, ldb, beta, c, ldc);
	if (status == dnnl_success)
		return;
	/* Sizes were checked when the program was compiled: only memory can be lacking. */
	fprintf(stderr, "error: matrix product of %lldx%lldx%lld: oneDNN status %d\n", (long long)m,
		(long long)n, (long long)k, (int)status);
	_Exit(1);
}

/* oneDNN sums a product of large matrices in blocks of some hundred, but one with a small result
 * from one end to the other, which loses precision in f32. So products with at most SMALL results
 * are computed SUM summands at a time, and doubles add up these sums. */
enum { SMALL = 1024, SUM = 8192 };

static void
call_by_blocks(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	double sum[SMALL] = {0};
	float part[SMALL];
	for (int64_t l = 0; l < k; l += SUM) {
		call(trans_a, trans_b, m, n, k - l < SUM ? k - l : SUM, 1,
			a + l * (trans_a ? lda : 1), lda, b + l * (trans_b ? 1 : ldb), ldb, 0, part,
			n);
		for (int64_t i = 0; i < m * n; i++)
			sum[i] += part[i];
	}
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			const double old = beta == 0 ? 0 : (double)beta * c[i * ldc + j];
			c[i * ldc + j] = (float)(alpha * sum[i * n + j] + old);
		}
}

/* A product with a transposed matrix, as in the gradient of weights, with many summands per result:
 * oneDNN 2.6 is up to 1.3 times as fast with parts of 512 summands on AVX-512 (512x1536x2048,
 * 2048x512x2048, 1536x512x8192), at most 2 % slower for other sizes, and not faster with parts of
 * 384 or 1024. Products of matrices that are not transposed gain nothing. */
enum { PART = 512 };

static void
call_by_parts(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	for (int64_t l = 0; l < k; l += PART)
		call(trans_a, trans_b, m, n, k - l < PART ? k - l : PART, alpha, a + l * lda, lda,
			b + l * ldb, ldb, l ? 1 : beta, c, ldc);
}

void
rt_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	const bool is_long = k > SUM && m <= SMALL && n <= SMALL / m;
	const bool has_parts = trans_a && !trans_b && k > 2 * PART;
	(is_long            ? call_by_blocks
		: has_parts ? call_by_parts
			    : call)(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* Columns of C that a row of a double precision product processes at a time: 4 KB, in cache. */
#define COLUMNS 512

void
rt_gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
	int64_t ldc)
{
	const int64_t a_row = trans_a ? 1 : lda, a_step = trans_a ? lda : 1;
	const int64_t b_row = trans_b ? 1 : ldb, b_step = trans_b ? ldb : 1;
	for (int64_t j0 = 0; j0 < n; j0 += COLUMNS) {
		const int64_t columns = n - j0 < COLUMNS ? n - j0 : COLUMNS;
		for (int64_t i = 0; i < m; i++) {
			double row[COLUMNS] = {0};
			for (int64_t l = 0; l < k; l++) {
				const double x = a[i * a_row + l * a_step];
				const double *y = b + l * b_row + j0 * b_step;
				for (int64_t j = 0; j < columns; j++)
					row[j] += x * y[j * b_step];
			}
			double *to = c + i * ldc + j0;
			for (int64_t j = 0; j < columns; j++)
				to[j] = alpha * row[j] + (beta == 0 ? 0 : beta * to[j]);
		}
	}
}

void
rt_gemm_batch_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
	const float *a, int64_t lda, int64_t stride_a, const float *b, int64_t ldb,
	int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c, int64_t batch)
{
	for (int64_t i = 0; i < batch; i++)
		rt_gemm_f32(trans_a, trans_b, m, n, k, alpha, a + i * stride_a, lda,
			b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
}

void
rt_gemm_batch_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, int64_t stride_a, const double *b, int64_t ldb,
	int64_t stride_b, double beta, double *c, int64_t ldc, int64_t stride_c, int64_t batch)
{
	for (int64_t i = 0; i < batch; i++)
		rt_gemm_f64(trans_a, trans_b, m, n, k, alpha, a + i * stride_a, lda,
			b + i * stride_b, ldb, beta, c + i * stride_c, ldc);
}
