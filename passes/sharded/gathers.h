/*
 * The gathers of a sharded step: allgathers of params, states and inputs on a device axis, their
 * feeds, the bytes of their results and their times. An allgather of a value that a kernel of the
 * step computes is not one of them.
 *
 *     param ---- convert ---- barrier ---- allgather ---- readers
 *     source     \______ feed ______/                     (on each device: the whole tensor)
 *
 * The feed of a gather consists of the ops between source and gather: without communication, with
 * one operand, and without other readers. They move with the gather.
 */
#ifndef PASSES_SHARDED_GATHERS_H
#define PASSES_SHARDED_GATHERS_H

#include "passes/analysis/cost/internal.h"
#include "passes/pass.h"

struct gather {
	struct ir_op *op;
	struct ir_op **feed; /* [nfeed] in order of the block */
	int nfeed;
	uint64_t bytes; /* of the results on one device */
};

/* The gathers of @main, in order of the block. */
struct gathers {
	struct ir_module *m;
	struct gather *gather; /* [n] */
	uint32_t n;
	/* A cache of message times; a new entry replaces the oldest. */
	struct gather_time {
		const struct event_group *group; /* NULL: the entry is empty */
		uint64_t bytes;
		uint32_t parts;
		double seconds;
	} time[8];
	uint32_t oldest;
	/* By op->id, for ops that existed at creation: 1 + the number of the gather that the op is
	 * or feeds, or 0. */
	uint32_t *of, nids;
	const struct cost_step *step; /* groups of devices and times; NULL: no times are known */
};

/*
 * Finds the gathers; owned by `owner`. The module must have a typed @main without calls. `step`
 * must live as long. It is the step of the module, or of the module that it is a copy of, with the
 * same ids of gathers (trial.h); NULL: gathers take 0 seconds.
 */
struct gathers *gathers_create(
	const void *owner, const struct cost_step *step, struct ir_module *m);

/* The source of operand i of a gather. */
struct ir_value *gather_source(const struct ir_op *gather, int i);

/* Moves the sources of all gathers, which take no time, to the front of the step, as no op may be
 * issued before its operands. */
void gathers_hoist_sources(struct gathers *g);

/*
 * Steps back from a gather towards its param: if op has one operand and one result, no region, and
 * no other inputs, returns the op that makes the operand. NULL: op is not such an op.
 */
struct ir_op *gathers_before(const struct ir_op *op);

/* Do gather a for operand i and gather b for operand k make the same tensor? Looks through
 * barriers. */
bool gathers_same(const struct ir_op *a, int i, const struct ir_op *b, int k);

/* Seconds of a gather like `like` with results of `bytes` bytes. 0 without a step. */
double gathers_seconds(struct gathers *g, const struct ir_op *like, uint64_t bytes);

/* Bytes that may be in use on a device: cost_memory_limit with the budget of `dopt -budget`. */
uint64_t sharded_limit(const struct pass_run *run, double margin);

#endif
