/*
 * Candidates of the library for a product: algorithms in the order that its heuristic recommends. A
 * measuring program times all of them (cuda/measure.c), as ops of a profile with these keys; dopt
 * writes the number of the fastest into the programs that it makes with that profile. The list is the
 * same for the same library and GPU, and each algorithm gives the same bits in each run.
 */
#ifndef RUNTIME_CUDA_GEMM_KEY_H
#define RUNTIME_CUDA_GEMM_KEY_H

#include "runtime/cuda/rt_cuda.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	RT_CUDA_CANDIDATES = 8,  /* further ones are rarely faster */
	RT_CUDA_GEMM_KEY = 1024, /* room for a key */
};

/* For example "library product 1 nt 8192x50257x768 rows 768 768 50264 ... candidate 2" */
static inline void
rt_cuda_gemm_key(char key[RT_CUDA_GEMM_KEY], const struct rt_cuda_gemm *g, int candidate)
{
	const size_t room = RT_CUDA_GEMM_KEY;
	size_t n = (size_t)snprintf(key, room,
		"library product %d%s %c%c%s%s %" PRId64 "x%" PRId64 "x%" PRId64 " rows %" PRId64
		" %" PRId64 " %" PRId64 " sums %d",
		(int)g->dtype, g->wide ? " wide" : "", g->trans_a ? 't' : 'n',
		g->trans_b ? 't' : 'n', g->relu ? " relu" : "", g->addresses ? " addresses" : "",
		g->m, g->n, g->k, g->lda, g->ldb, g->ldc, (int)g->nsum);

	for (int i = 0; i < g->nloops && n < room; i++)
		n += (size_t)snprintf(key + n, room - n,
			" %" PRId64 "*(%" PRId64 ",%" PRId64 ",%" PRId64 ")", g->loops[i].size,
			g->loops[i].a, g->loops[i].b, g->loops[i].c);
	if (n < room)
		snprintf(key + n, room - n, " candidate %d", candidate);
}

#endif
