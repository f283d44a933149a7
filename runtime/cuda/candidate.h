/*
 * Candidates of the libraries for a product or a convolution: algorithms in the order that they recommend. A
 * measuring program times all of them (cuda/measure.c), as ops of a profile with these keys; dopt
 * writes the number of the fastest into the programs that it makes with that profile. The list is the
 * same for the same library and GPU, and each algorithm gives the same bits in each run.
 */
#ifndef RUNTIME_CUDA_CANDIDATE_H
#define RUNTIME_CUDA_CANDIDATE_H

#include "runtime/cuda/rt_cuda.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	RT_CUDA_CANDIDATES = 8, /* further ones are rarely faster */
	RT_CUDA_KEY = 1024,     /* room for a key */
};

/* Is what has elements of the type computed in TF32, in a program that runs with -tf32 or without? */
static inline bool
rt_cuda_in_tf32(enum rt_dtype t, bool tf32)
{
	return tf32 && t == RT_f32;
}

/* For example "library product 1 nt 8192x50257x768 rows 768 768 50264 ..." */
static inline void
rt_cuda_gemm_key(char key[RT_CUDA_KEY], const struct rt_cuda_gemm *g, bool tf32)
{
	const size_t room = RT_CUDA_KEY;
	size_t n = (size_t)snprintf(key, room,
		"library product %d%s%s %c%c%s%s %" PRId64 "x%" PRId64 "x%" PRId64 " rows %" PRId64
		" %" PRId64 " %" PRId64 " sums %d",
		(int)g->dtype, rt_cuda_in_tf32(g->dtype, tf32) ? " tf32" : "",
		g->wide ? " wide" : "", g->trans_a ? 't' : 'n', g->trans_b ? 't' : 'n',
		g->relu ? " relu" : "", g->addresses ? " addresses" : "", g->m, g->n, g->k, g->lda,
		g->ldb, g->ldc, (int)g->nsum);

	for (int i = 0; i < g->nloops && n < room; i++)
		n += (size_t)snprintf(key + n, room - n,
			" %" PRId64 "*(%" PRId64 ",%" PRId64 ",%" PRId64 ")", g->loops[i].size,
			g->loops[i].a, g->loops[i].b, g->loops[i].c);
}

/* The workspace decides which algorithms there are. */
static inline void
rt_cuda_conv_key(char key[RT_CUDA_KEY], const struct rt_cuda_conv *c, bool tf32)
{
	const struct rt_conv_shape *s = &c->shape;

	snprintf(key, RT_CUDA_KEY,
		"library convolution %d%s%s kind %d %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64
		" by %" PRId64 "x%" PRId64 "x%" PRId64 " to %" PRId64 "x%" PRId64 " groups %" PRId64
		" stride %" PRId64 " %" PRId64 " low %" PRId64 " %" PRId64 " dilation %" PRId64
		" %" PRId64 " workspace %zu",
		(int)c->dtype, rt_cuda_in_tf32(c->dtype, tf32) ? " tf32" : "",
		s->channels_last ? " nhwc" : "", (int)s->kind, s->n, s->c, s->h, s->w, s->o, s->kh,
		s->kw, s->oh, s->ow, s->groups, s->stride[0], s->stride[1], s->low[0], s->low[1],
		s->dilation[0], s->dilation[1], c->workspace);
}

/* The key of one candidate, from that of the call. */
static inline void
rt_cuda_candidate_key(char to[RT_CUDA_KEY], const char *key, int candidate)
{
	snprintf(to, RT_CUDA_KEY, "%.*s candidate %d", RT_CUDA_KEY - 32, key, candidate);
}

#endif
