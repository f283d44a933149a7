/* Matrix products against three loops: transposed or not, rows longer than needed, alpha and
 * beta. */
#include <math.h>
#include <stdlib.h>
#include "runtime/kernel/gemm.h"
#include "runtime/kernel/half.h"
#include "runtime/kernel/rng.h"
#include "test/unit.h"

enum { PAD = 3, BATCH = 3, ROOM = BATCH * 700 * 40 };

struct operands {
	double a[ROOM], b[ROOM], c[ROOM], want[ROOM];
	float fa[ROOM], fb[ROOM], fc[ROOM];
};

/* Numbers of few bits, so that single precision sums of products are exact. */
static double
small_number(uint64_t key, uint64_t i)
{
	return floor(rt_uniform(key, i) * 16) / 4 - 2;
}

static void
expect_product(struct operands *o, bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha,
	double beta, int64_t lda, int64_t ldb, int64_t ldc, int64_t at[3])
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = 0;
			for (int64_t l = 0; l < k; l++)
				sum += o->a[at[0] + (ta ? l * lda + i : i * lda + l)] *
				       o->b[at[1] + (tb ? j * ldb + l : l * ldb + j)];
			double *c = &o->want[at[2] + i * ldc + j];
			*c = alpha * sum + (beta != 0 ? beta * *c : 0);
		}
}

static void
check_product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha, double beta)
{
	struct operands *o = malloc(sizeof *o);
	const int64_t lda = (ta ? m : k) + PAD, ldb = (tb ? k : n) + PAD, ldc = n + PAD;
	const int64_t sa = lda * (ta ? k : m), sb = 0, sc = ldc * m + 1;
	assert_true(o && BATCH * sa <= ROOM && ldb * (tb ? n : k) <= ROOM && BATCH * sc <= ROOM);
	for (uint64_t i = 0; i < ROOM; i++) {
		o->fa[i] = (float)(o->a[i] = small_number(1, i));
		o->fb[i] = (float)(o->b[i] = small_number(2, i));
		o->fc[i] = (float)(o->c[i] = o->want[i] = small_number(3, i));
	}
	for (int64_t i = 0; i < BATCH; i++)
		expect_product(o, ta, tb, m, n, k, alpha, beta, lda, ldb, ldc,
			(int64_t[]){i * sa, i * sb, i * sc});
	rt_gemm_batch_f64(
		ta, tb, m, n, k, alpha, o->a, lda, sa, o->b, ldb, sb, beta, o->c, ldc, sc, BATCH);
	rt_gemm_batch_f32(ta, tb, m, n, k, (float)alpha, o->fa, lda, sa, o->fb, ldb, sb,
		(float)beta, o->fc, ldc, sc, BATCH);
	for (int i = 0; i < ROOM; i++) {
		assert_true(o->c[i] == o->want[i]);
		assert_true(o->fc[i] == o->want[i]);
	}
	free(o);
}

static void
products_equal_three_loops(void **state)
{
	(void)state;
	static const int64_t sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {1, 600, 9}, {33, 1, 17},
		{16, 16, 16}, {2, 130, 5},
		{13, 131, 130}, /* f64: a tile and a block more than are full */
		{6, 4, 2300}};  /* by parts, the last of which is smaller */
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int t = 0; t < 4; t++) {
			const int64_t *s = sizes[i];
			check_product(t & 1, t & 2, s[0], s[1], s[2], 1, 0);
			check_product(t & 1, t & 2, s[0], s[1], s[2], 0.5, 1);
			check_product(t & 1, t & 2, s[0], s[1], s[2], -2, 0.25);
		}
}

/* 0.1 a million times, for results of which there are few: the error is that of a block of 8192. */
static void
long_products_do_not_drift(void **state)
{
	(void)state;
	enum { K = 1000003, MOST = 8, BLOCK = 8192 };
	static const int64_t sizes[][2] = {{1, 8}, {8, 8}, {7, 1}};
	float *a = malloc(sizeof *a * MOST * K), *b = malloc(sizeof *b * MOST * K);
	assert_true(a && b);
	for (int64_t i = 0; i < (int64_t)MOST * K; i++) {
		a[i] = 0.1f;
		b[i] = 1;
	}
	for (int i = 0; i < 12; i++) {
		const int64_t m = sizes[i / 4][0], n = sizes[i / 4][1];
		const bool ta = i & 1, tb = i & 2;
		float c[MOST * MOST];
		for (int64_t k = 0; k < m * n; k++)
			c[k] = 1000;
		rt_gemm_f32(ta, tb, m, n, K, 2, a, ta ? m : K, b, tb ? K : n, 0.5f, c, n);
		const double want = 2 * K * (double)0.1f + 500;
		for (int64_t k = 0; k < m * n; k++)
			assert_true(fabs(c[k] - want) <= ldexp(BLOCK, -24) * want);
	}
	free(a);
	free(b);
}

/* Sums of few-bit numbers are exact in f32; what is expected is their one rounding. */
static void
check_half(bool bf16, bool ta, bool tb, int64_t m, int64_t n, int64_t k, int nsums)
{
	struct operands *o = malloc(sizeof *o);
	uint16_t *half = calloc(3 * ROOM, sizeof *half), *a = half, *b = half + ROOM,
		 *c = half + 2 * ROOM;
	const int64_t lda = (ta ? m : k) + PAD, ldb = (tb ? k : n) + PAD, ldc = n + PAD;
	const struct rt_gemm_sum sum = {BATCH, lda * (ta ? k : m), 1};
	assert_true(o && half && BATCH * sum.a <= ROOM && ldb * (tb ? n : k) + BATCH <= ROOM);
	assert_true(ldc * m <= ROOM);
	for (uint64_t i = 0; i < ROOM; i++) {
		o->a[i] = small_number(1, i);
		o->b[i] = small_number(2, i);
		o->want[i] = 0;
	}
	for (uint64_t i = 0; i < ROOM; i++) {
		a[i] = bf16 ? rt_f32_to_bf16((float)o->a[i]) : rt_f32_to_f16((float)o->a[i]);
		b[i] = bf16 ? rt_f32_to_bf16((float)o->b[i]) : rt_f32_to_f16((float)o->b[i]);
	}
	for (int64_t i = 0; i < (nsums ? BATCH : 1); i++)
		expect_product(o, ta, tb, m, n, k, 1, 1, lda, ldb, ldc,
			(int64_t[]){i * sum.a, i * sum.b, 0});
	void *room = malloc((size_t)rt_gemm_half_room(m, n, k));
	assert_non_null(room);
	(bf16 ? rt_gemm_bf16 : rt_gemm_f16)(
		ta, tb, m, n, k, a, lda, b, ldb, c, ldc, nsums, nsums ? &sum : NULL, room);
	free(room);
	for (int i = 0; i < ROOM; i++) {
		const float want = (float)o->want[i];
		assert_int_equal(c[i], bf16 ? rt_f32_to_bf16(want) : rt_f32_to_f16(want));
	}
	free(half);
	free(o);
}

/* Sizes beyond the blocks of rows, columns and sums. */
static void
products_of_16_bits_are_summed_in_single_precision(void **state)
{
	(void)state;
	static const int64_t sizes[][3] = {
		{1, 1, 1}, {5, 7, 3}, {2, 1600, 9}, {600, 3, 17}, {4, 5, 1300}, {33, 40, 600}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int t = 0; t < 16; t++) {
			const int64_t *s = sizes[i];
			check_half(t & 4, t & 1, t & 2, s[0], s[1], s[2], t / 8);
		}
}

static void
with_beta_0_the_result_need_not_be_initialized(void **state)
{
	(void)state;
	const float a[] = {1, 2}, b[] = {3, 4};
	float c[] = {NAN};
	rt_gemm_f32(false, false, 1, 1, 2, 1, a, 2, b, 1, 0, c, 1);
	assert_true(c[0] == 11);
	const double x[] = {1, 2}, y[] = {3, 4};
	double z[] = {NAN};
	rt_gemm_f64(false, true, 1, 1, 2, 1, x, 2, y, 2, 0, z, 1);
	assert_true(z[0] == 11);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_equal_three_loops),
		cmocka_unit_test(long_products_do_not_drift),
		cmocka_unit_test(products_of_16_bits_are_summed_in_single_precision),
		cmocka_unit_test(with_beta_0_the_result_need_not_be_initialized),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
