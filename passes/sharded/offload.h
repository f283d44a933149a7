/*
 * States in host memory: which there are to choose from, and the step with some of them moved there.
 * See offload.c.
 */
#ifndef PASSES_SHARDED_OFFLOAD_H
#define PASSES_SHARDED_OFFLOAD_H

#include "passes/sharded/gathers.h"

/* One state, what makes its next value, and the op that sets it. */
struct offload_state {
	struct ir_op *state, *update;
	uint32_t first,
		last; /* numbers of ops: the first and the last that read it or its next value */
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
 * The fragments of states of at least so many bytes that are in device memory and are read and
 * updated outside of loops over time; owned by `owner`. The module must have a typed @main without
 * calls.
 */
struct offload_fragments *offload_fragments_create(
	const void *owner, struct ir_module *m, uint64_t least);

struct offload_settings {
	uint64_t least; /* bytes of a state */
	uint32_t n;     /* the first n fragments are offloaded */
	bool sync;      /* each copy is waited for */
	uint64_t early; /* bytes up to which reloads are issued before their readers */
};

/* Moves states to host memory; silent: a trial, without remarks and statistics. */
void offload_states(
	struct pass_run *run, struct ir_module *m, const struct offload_settings *set, bool silent);

#endif
