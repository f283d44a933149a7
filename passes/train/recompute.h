/* What the files of the pass `recompute` share: recompute.c, recompute_budget.c. */
#ifndef PASSES_RECOMPUTE_H
#define PASSES_RECOMPUTE_H

#include "passes/train/again.h"

struct cost_model;

/* A step whose values are to be computed again. Tables are by number of the op in again->ops. */
struct recompute {
	void *scratch;
	const struct cost_model *cost;
	struct ir_module *m;
	const struct again *again;
	const int32_t *block; /* the block that an op is in, or AGAIN_KEPT */
	int32_t nblocks;
	uint32_t evaluations; /* of the cost model so far */
};

/* One step: seconds, and bytes of a device. */
struct recompute_cost {
	double time, peak;
};

/* Is op i one that can be chosen: copyable, its results kept in memory for the backward pass? */
bool recompute_may(const struct recompute *r, uint32_t i);

/*
 * The groups for again_copy where the ops chosen[i] are computed again: these, and what they are
 * computed from up to values that are kept. What is connected is one group. Returns their number.
 */
int32_t recompute_groups(const struct recompute *r, const bool *chosen, int32_t *group);

/* The step with those computed again. False after an error, which is reported. */
bool recompute_evaluate(struct recompute *r, const bool *chosen, struct recompute_cost *cost);

/*
 * The ops to compute again so that the step needs at most `budget` bytes and takes little more time:
 * see recompute_budget.c. If none fit, those with the least memory. *cost is that of the choice.
 * False after an error.
 */
bool recompute_choose(
	struct recompute *r, double budget, bool *chosen, struct recompute_cost *cost);

#endif
