/*
 * Matrix products of the network, by oneDNN. The library is opened when a network needs it instead
 * of being linked: loading it delays the start of a process by 2 ms, as long as all the rest of a
 * small compilation takes.
 */
#ifndef PASSES_ANALYSIS_GEMM_H
#define PASSES_ANALYSIS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

struct gemm_library {
	bool opened;
	/* dnnl_sgemm; NULL: this machine does not have the library that dopt was built with. */
	int (*sgemm)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
		int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
};

/* Opens the library unless it is open. It stays loaded until the process ends. */
void gemm_open(struct gemm_library *l);

/* C[m][n] = A[m][k] B[k][n] + beta C; `ta`, `tb`: A, B are stored transposed. Without the library
 * the product is computed by loops, several times slower and rounded in another order. */
void gemm(const struct gemm_library *l, bool ta, bool tb, uint32_t m, uint32_t n, uint32_t k,
	const float *a, const float *b, float beta, float *c);

#endif
