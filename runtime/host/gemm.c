/* Matrix products: see runtime/kernel/gemm.h. oneDNN's dnnl_sgemm is row-major and selects the
 * machine's vector unit; it has no double precision, which is done here. */
#include "runtime/kernel/gemm.h"
#include "runtime/comm/threads.h"
#include "runtime/status.h"
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
	fprintf(stderr, "%serror: matrix product of %lldx%lldx%lld: oneDNN status %d\n",
		rt_line_start(), (long long)m, (long long)n, (long long)k, (int)status);
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

/*
 * Double precision: tiles of TILE_ROWS x TILE_COLUMNS of C in registers, over blocks of A and B that
 * are copied in the order in which a tile reads them (K. Goto and R. A. van de Geijn, Anatomy of
 * high-performance matrix multiplication, 2008, section 4). Six rows and a vector of eight columns
 * are the most for 16 registers of four doubles.
 */
enum {
	TILE_ROWS = 6,
	TILE_COLUMNS = 8,
	BLOCK_DEPTH = 128,   /* summands: six rows of them and eight columns take 14 KB, in L1 */
	BLOCK_COLUMNS = 128, /* 128 KB of B, in L2 */
	FEW_ROWS = 2,        /* a product with at most that many is not faster by tiles */
};

typedef double vector __attribute__((vector_size(TILE_COLUMNS * sizeof(double))));

/* tile = a * b: `depth` columns of a, one after another, and rows of b. */
#define ADD_TILE(name, target)                                                                     \
	target static void name(int64_t depth, const double *a, const vector *b, vector *tile)     \
	{                                                                                          \
		vector sum[TILE_ROWS] = {0};                                                       \
		for (int64_t l = 0; l < depth; l++, a += TILE_ROWS)                                \
			for (int i = 0; i < TILE_ROWS; i++)                                        \
				sum[i] += a[i] * b[l];                                             \
		for (int i = 0; i < TILE_ROWS; i++)                                                \
			tile[i] = sum[i];                                                          \
	}

ADD_TILE(add_tile_plain, )
#ifdef __x86_64__
ADD_TILE(add_tile_256, __attribute__((target("avx2"))))
ADD_TILE(add_tile_512, __attribute__((target("avx512f"))))
#endif

static void
add_tile(int64_t depth, const double *a, const vector *b, vector *tile)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		add_tile_512(depth, a, b, tile);
	else if (__builtin_cpu_supports("avx2"))
		add_tile_256(depth, a, b, tile);
	else
#endif
		add_tile_plain(depth, a, b, tile);
}

/* Copies rows x columns of a matrix to tiles of `width` columns, one after another, each row by
 * row; zeros fill the last one. */
static void
copy_tiles(double *to, int width, const double *from, int64_t row, int64_t column, int64_t rows,
	int64_t columns)
{
	for (int64_t j0 = 0; j0 < columns; j0 += width)
		for (int64_t l = 0; l < rows; l++)
			for (int64_t j = j0; j < j0 + width; j++)
				*to++ = j < columns ? from[l * row + j * column] : 0;
}

/* A product with few rows, where copying B takes as long as the product. */
static void
few_rows(int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t a_row,
	int64_t a_step, const double *b, int64_t b_row, double beta, double *c, int64_t ldc)
{
	for (int64_t j0 = 0; j0 < n; j0 += BLOCK_COLUMNS)
		for (int64_t i = 0; i < m; i++) {
			const int64_t width = n - j0 < BLOCK_COLUMNS ? n - j0 : BLOCK_COLUMNS;
			double row[BLOCK_COLUMNS] = {0}, *to = c + i * ldc + j0;
			for (int64_t l = 0; l < k; l++)
				for (int64_t j = 0; j < width; j++)
					row[j] += a[i * a_row + l * a_step] * b[l * b_row + j0 + j];
			for (int64_t j = 0; j < width; j++)
				to[j] = alpha * row[j] + (beta == 0 ? 0 : beta * to[j]);
		}
}

void
rt_gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
	int64_t ldc)
{
	const int64_t a_row = trans_a ? 1 : lda, a_step = trans_a ? lda : 1;
	const int64_t b_row = trans_b ? 1 : ldb, b_step = trans_b ? ldb : 1;
	vector right[BLOCK_DEPTH * BLOCK_COLUMNS / TILE_COLUMNS], tile[TILE_ROWS];
	double left[BLOCK_DEPTH * TILE_ROWS];

	if (m <= FEW_ROWS && !trans_b) {
		few_rows(m, n, k, alpha, a, a_row, a_step, b, ldb, beta, c, ldc);
		return;
	}
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
	for (int64_t l0 = 0; l0 < k; l0 += BLOCK_DEPTH)
		for (int64_t j0 = 0; j0 < n; j0 += BLOCK_COLUMNS) {
			const int64_t depth = k - l0 < BLOCK_DEPTH ? k - l0 : BLOCK_DEPTH;
			const int64_t width = n - j0 < BLOCK_COLUMNS ? n - j0 : BLOCK_COLUMNS;
			copy_tiles((double *)right, TILE_COLUMNS, b + l0 * b_row + j0 * b_step,
				b_row, b_step, depth, width);
			for (int64_t i0 = 0; i0 < m; i0 += TILE_ROWS) {
				const int64_t rows = m - i0 < TILE_ROWS ? m - i0 : TILE_ROWS;
				copy_tiles(left, TILE_ROWS, a + i0 * a_row + l0 * a_step, a_step,
					a_row, depth, rows);
				for (int64_t j = 0; j < width; j += TILE_COLUMNS) {
					add_tile(depth, left, right + j / TILE_COLUMNS * depth,
						tile);
					for (int64_t i = 0; i < rows; i++)
						for (int64_t q = 0;
							q < TILE_COLUMNS && j + q < width; q++)
							c[(i0 + i) * ldc + j0 + j + q] +=
								alpha * tile[i][q];
				}
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
