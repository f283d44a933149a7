/* The two ways in which products of the network are computed: by oneDNN, and by loops without it. */
#include "passes/analysis/estimate/gemm.h"
#include "test/unit.h"

#include <math.h>

enum { M = 5, N = 7, K = 11 };

static void
fill(float *x, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		x[i] = (float)sin(12.9898 * (i + 100 * seed));
}

static void
compare(const struct gemm_library *library, bool ta, bool tb, float beta)
{
	const struct gemm_library none = {.opened = true};
	float a[M * K], b[K * N], c[M * N], other[M * N];

	fill(a, M * K, 1);
	fill(b, K * N, 2);
	fill(c, M * N, 3);
	fill(other, M * N, 3);
	if (beta == 0)
		c[0] = other[0] = NAN;
	gemm(library, ta, tb, M, N, K, a, b, beta, c);
	gemm(&none, ta, tb, M, N, K, a, b, beta, other);
	for (uint32_t i = 0; i < M; i++)
		for (uint32_t j = 0; j < N; j++) {
			float sum = 0;
			for (uint32_t k = 0; k < K; k++)
				sum += a[ta ? k * M + i : i * K + k] *
				       b[tb ? j * K + k : k * N + j];
			float before[M * N];
			fill(before, M * N, 3);
			sum += beta == 0 ? 0 : beta * before[i * N + j];
			assert_true(fabsf(c[i * N + j] - sum) < 1e-5f);
			assert_true(fabsf(other[i * N + j] - sum) < 1e-5f);
		}
}

static void
both_compute_the_product(void **state)
{
	(void)state;
	struct gemm_library library = {0};

	gemm_open(&library);
	assert_non_null(library.sgemm);
	for (int transposed = 0; transposed < 4; transposed++) {
		compare(&library, transposed & 1, transposed & 2, 0);
		compare(&library, transposed & 1, transposed & 2, 1);
		compare(&library, transposed & 1, transposed & 2, 0.5f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(both_compute_the_product)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
