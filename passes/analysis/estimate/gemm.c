/* Matrix products of the network. See gemm.h. */
#include "passes/analysis/estimate/gemm.h"

#include <dlfcn.h>
#include <stddef.h>

/* oneDNN loads OpenMP, whose threads wait for each other longer than matrices of this size take; a
 * oneDNN built without OpenMP lacks this function. */
static void
use_one_thread(void *library)
{
	void (*set)(int n);

	*(void **)&set = dlsym(library, "omp_set_num_threads");
	if (set)
		set(1);
}

/* It is never closed: OpenMP's threads could not outlive that. */
void
gemm_open(struct gemm_library *l)
{
	if (l->opened)
		return;
	l->opened = true;
	void *library = dlopen(DNNL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	use_one_thread(library);
	*(void **)&l->sgemm = dlsym(library, "dnnl_sgemm");
}

/* The element of a matrix with n columns, or of one with m that is stored transposed. */
static float
at(const float *x, bool transposed, uint32_t rows, uint32_t columns, uint32_t i, uint32_t k)
{
	return transposed ? x[(size_t)k * rows + i] : x[(size_t)i * columns + k];
}

static void
multiply(bool ta, bool tb, uint32_t m, uint32_t n, uint32_t k, const float *a, const float *b,
	float beta, float *c)
{
	for (uint32_t i = 0; i < m; i++)
		for (uint32_t j = 0; j < n; j++) {
			float sum = 0;
			for (uint32_t l = 0; l < k; l++)
				sum += at(a, ta, m, k, i, l) * at(b, tb, k, n, l, j);
			float *to = &c[(size_t)i * n + j];
			*to = beta ? beta * *to + sum : sum; /* without beta C may be anything */
		}
}

void
gemm(const struct gemm_library *l, bool ta, bool tb, uint32_t m, uint32_t n, uint32_t k,
	const float *a, const float *b, float beta, float *c)
{
	if (l->sgemm)
		l->sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a, ta ? m : k, b, tb ? k : n,
			beta, c, n);
	else
		multiply(ta, tb, m, n, k, a, b, beta, c);
}
