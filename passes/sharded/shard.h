/* The files of the pass shard: see shard.c. */
#ifndef PASSES_SHARD_H
#define PASSES_SHARD_H

#include "passes/pass.h"

#define SHARD_SCATTERS(ROW) ROW(SCATTER_EACH, "each") ROW(SCATTER_ONCE, "once")

#define SHARD_GATHERS(ROW) ROW(GATHER_EACH, "each") ROW(GATHER_ONCE, "once")

enum shard_gather { SHARD_GATHERS(CHOICE_CODE) };

enum shard_scatter { SHARD_SCATTERS(CHOICE_CODE) };

struct shard {
	struct pass_run *run;
	struct ir_module *m;
	int axis, stage;
	int64_t whole; /* bytes: what is not larger stays whole */
	enum shard_scatter scatter;
	enum shard_gather gather;
	bool reshard;  /* gather again in the backward pass */
	bool *forward; /* by op->id, of ops that were there at the start: shard_forward_ops */
	bool *seen;    /* by value->id: trace has been there */
	uint32_t nids;
	struct ir_op *gradient; /* the output of a gradient that was found last */
};

/* By op->id: is the op needed for an output other than a gradient? The others are the backward pass
 * and the optimizer. Owned by the scratch context of the run. */
bool *shard_forward_ops(const struct shard *s);

/*
 * Moves every gather of a param right before its first reader, and makes another one before the
 * first reader in the backward pass if `reshard`. False: reported.
 */
bool shard_place_gathers(struct shard *s);

#endif
