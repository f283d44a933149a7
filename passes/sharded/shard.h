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
	int64_t whole; /* bytes: tensors that are not larger stay whole */
	enum shard_scatter scatter;
	enum shard_gather gather;
	bool reshard;  /* gather again in the backward pass */
	bool *forward; /* by op->id, of ops that existed at the start: shard_forward_ops */
	bool *seen;    /* by value->id: visited by trace */
	uint32_t nids;
	struct ir_op *gradient; /* the last output of a gradient that was found */
};

/* By op->id: is the op needed for an output other than a gradient? Other ops belong to the backward
 * pass and the optimizer. Owned by the scratch context of the run. */
bool *shard_forward_ops(const struct shard *s);

/*
 * Moves every gather of a param right before its first reader, and if `reshard` adds another one
 * before the first reader in the backward pass. False: reported.
 */
bool shard_place_gathers(struct shard *s);

#endif
