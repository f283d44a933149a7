/*
 * The gathers of a sharded step: allgathers of params, states and inputs on a device axis, what
 * feeds them, how many bytes they make and how long they take. An allgather of what a kernel of the step computes is
 * not one of them.
 *
 *     param ---- convert ---- barrier ---- allgather ---- readers
 *     source     \______ feed ______/                     (on each device: the whole tensor)
 *
 * The feed of a gather is the ops between: without communication, of one operand, and read by nothing
 * else. They move with it.
 */
#ifndef PASSES_SHARDED_GATHERS_H
#define PASSES_SHARDED_GATHERS_H

#include "passes/analysis/cost/internal.h"
#include "passes/pass.h"

struct gather {
	struct ir_op *op;
	struct ir_op **feed; /* [nfeed] in order of the block */
	int nfeed;
	uint64_t bytes; /* of its results on one device */
};

/* Of @main, in order of the block. */
struct gathers {
	struct ir_module *m;
	struct gather *gather; /* [n] */
	uint32_t n;
	/* What messages take that were asked for last, the newest in place of the oldest. */
	struct gather_time {
		const struct event_group *group; /* NULL: none */
		uint64_t bytes;
		uint32_t parts;
		double seconds;
	} time[8];
	uint32_t oldest;
	/* By op->id, of the ops that there were: 1 + the gather that the op is or feeds, or 0. */
	uint32_t *of, nids;
	const struct cost_step
		*step; /* groups of devices and times; NULL: nothing is known of them */
};

/*
 * Owned by `owner`. The module must have a typed @main without calls. `step` must live as long: that of the module, or
 * of one that it is a copy of, with the same ids of gathers (trial.h). NULL: gathers take 0 seconds.
 */
struct gathers *gathers_create(
	const void *owner, const struct cost_step *step, struct ir_module *m);

/* The source of operand i of a gather. */
struct ir_value *gather_source(const struct ir_op *gather, int i);

/* Moves the sources of all gathers, which take no time, to the front of the step: nothing is issued
 * before what it reads. */
void gathers_hoist_sources(struct gathers *g);

/*
 * The op that makes the only operand of one which computes its only result of that alone, without a
 * region: the step back from a gather towards its param. NULL: it is not such an op.
 */
struct ir_op *gathers_before(const struct ir_op *op);

/* Do the gathers make the same tensor of these operands? Barriers between are looked through. */
bool gathers_same(const struct ir_op *a, int i, const struct ir_op *b, int k);

/* Seconds of a gather as that one, were its results so many bytes. 0 without a step. */
double gathers_seconds(struct gathers *g, const struct ir_op *like, uint64_t bytes);

/* Bytes that may be in use on a device: cost_memory_limit with the budget of dopt -budget. */
uint64_t sharded_limit(const struct pass_run *run, double margin);

#endif
