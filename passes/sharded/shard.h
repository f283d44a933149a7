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
	bool *flat; /* by op->id, of ops that existed at the start: split as a row: shard_flat.c */
	bool *seen; /* by value->id: visited by trace */
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

/* The update of a param or state, the output of a param's gradient; NULL: none. */
struct ir_op *shard_update_of(const struct ir_value *v);
struct ir_op *shard_gradient_of(struct shard *s, const struct ir_op *param);

/* Is it a param of a stage that does not split params? */
bool shard_stays_whole(const struct shard *s, const struct ir_op *op);

/*
 * The sums over other axes, with their conversions, from which an allreduce is computed and which
 * can be done on slices, after the reducescatter, the last one first; returns their number.
 */
enum { SHARD_SUM_OPS = 3, SHARD_MAX_HOPS = SHARD_SUM_OPS * IR_MAX_AXES };
int shard_hops(const struct shard *s, const struct ir_op *sum, struct ir_op **hop);

/* A copy of a sum, or conversion, on another operand, before it. NULL: reported. */
struct ir_value *shard_sum_copy(const struct shard *s, struct ir_op *op, struct ir_value *v);

/*
 * Makes rows of tensors op[n] whose rows cannot be divided over the axis; copied on it, so far.
 * shard_copy_views: each reader of a gathered row has its own reshape, next to it. False: reported.
 */
bool shard_flatten(struct shard *s, struct ir_op **op, int n);
void shard_copy_views(struct shard *s);

#endif
