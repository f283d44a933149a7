/* NCCL's communicators (nccl.c) and the work that a collective enqueues (rounds.c). */
#ifndef RUNTIME_CUDA_NCCL_H
#define RUNTIME_CUDA_NCCL_H

#include "runtime/cuda/cuda.h"

#include <nccl.h>

/* Elements `at` to `at + n` of every part of a buffer. In the room each place has a row of them,
 * one row after the other from byte `room` on. */
struct nccl_piece {
	const struct rt_buf *buf;
	int64_t at, n;
	size_t room;
};

struct nccl {
	struct rt_cuda_carrier base;
	unsigned char *arena, *room; /* RT_CUDA_ROOM bytes; NULL: no collective needs them */
	struct nccl_piece *piece;    /* [buffers of any collective] of the current round */
	bool own_sums;               /* NCCL sums, in its order and in the elements' type */
	struct rt_cuda_group group[RT_MAX_AXES];
	ncclComm_t comm[RT_MAX_AXES];
};

/* Ends all ranks if a call has failed. nccl.c */
void nccl_check(const struct rt_cuda *d, ncclResult_t result, const char *what);

/* Enqueues a collective in the communication stream. rounds.c */
void nccl_put(const struct nccl *n, const struct rt_coll *c);

#endif
