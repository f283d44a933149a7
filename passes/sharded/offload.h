/*
 * States in host memory: lists the candidates, and moves some of them there. See offload.c.
 */
#ifndef PASSES_SHARDED_OFFLOAD_H
#define PASSES_SHARDED_OFFLOAD_H

#include "ir/memory/storage.h"
#include "passes/sharded/gathers.h"

/* Fragments being copied to the host at a time: while one is copied the next one is computed. More
 * would not keep the link busier. */
enum { OFFLOAD_OUTSTANDING = 2 };

/* A state and the op that updates it. */
struct offload_state {
	struct ir_op *state, *update;
	uint32_t first,
		last; /* numbers of the first and the last op that read it or its next value */
};

/* States that are updated together. */
struct offload_fragment {
	struct offload_state *state; /* [n] in order of the block */
	uint32_t n;
	struct ir_op *first, *last; /* the first and the last reader */
	uint64_t bytes;             /* on one device */
};

/* In order of their updates. */
struct offload_fragments {
	struct offload_fragment *fragment; /* [n] */
	uint32_t n;
};

/*
 * The fragments of states of at least `least` bytes that are in device memory and are read and
 * updated outside of loops over time; owned by `owner`. The module must have a typed @main without
 * calls.
 */
struct offload_fragments *offload_fragments_create(
	const void *owner, struct ir_module *m, uint64_t least);

struct offload_settings {
	const struct offload_fragments *all; /* of the unchanged step */
	uint32_t n;                          /* the first n of them are offloaded */
	bool sync;                           /* wait for each copy */
	uint64_t early; /* bytes in use up to which reloads are issued early; 0: none is */
	/* With early: the step with the same fragments and no early reload, and the maximum of its
	 * live bytes from each of its positions to the end. */
	const struct storage *late;
	const uint64_t *late_most; /* [late->order->n] */
};

/* Moves states to host memory; the step must be unchanged. `silent`: a trial, without remarks and statistics. */
void offload_states(
	struct pass_run *run, struct ir_module *m, const struct offload_settings *set, bool silent);

#endif
