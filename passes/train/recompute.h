/* What the files of the pass `recompute` share: recompute.c, recompute_budget.c. */
#ifndef PASSES_RECOMPUTE_H
#define PASSES_RECOMPUTE_H

#include "ir/base/vec.h"
#include "passes/analysis/cost/trial.h"
#include "passes/train/again.h"

/* A step whose values are to be computed again. Tables are by number of the op in again->ops. */
struct recompute {
	void *scratch;
	const struct cost_model *cost;
	const struct trial_base *base;
	struct ir_module *m;
	const struct again *again;
	const int32_t *block; /* the block that an op is in, or AGAIN_KEPT */
	int32_t nblocks;
	uint32_t evaluations; /* of the cost model so far */
	uint32_t most;        /* a choice is improved until there are so many; 0: it is not */
	uint64_t seed;        /* of what an improvement draws */
	double ends;          /* of clock_seconds: not after that; 0: no limit */
};

/* One step: seconds, and the most bytes of a device that are live at once. */
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

/* A copy of the step with those computed again; owned by `owner`. */
struct ir_module *recompute_copy(const void *owner, const struct recompute *r, const bool *chosen);

/* The step with those computed again. False after an error, which is reported. */
bool recompute_evaluate(struct recompute *r, const bool *chosen, struct recompute_cost *cost);

/*
 * The ops to compute again so that the step needs at most `budget` bytes and takes little more time:
 * see recompute_budget.c. If none fit, those with the least memory. *cost is that of the choice.
 * False after an error.
 */
bool recompute_choose(
	struct recompute *r, double budget, bool *chosen, struct recompute_cost *cost);

/*
 * Tells of each class that is computed again what the step would need beyond the budget if its `n`
 * values were kept: `first` computes one of them. An evaluation each; false after an error.
 */
typedef void recompute_teller(void *data, const struct ir_op *first, uint32_t n, double over);

bool recompute_tell(
	struct recompute *r, double budget, const bool *chosen, recompute_teller *tell, void *data);

/* How good it is to compute a class again: the rank counts first. */
struct recompute_merit {
	int rank;
	double value;
};

/* Values that are decided together: those of one name in blocks that are alike. */
struct recompute_class {
	const char *key;            /* what is behind the name of the block, or NULL */
	const struct ir_type *type; /* of the result */
	const struct ir_op *first;
	struct VEC(uint32_t) member; /* ascending */
	uint32_t taken;              /* the first so many are computed again */
	double bytes;
	struct recompute_merit merit; /* when it was last evaluated, */
	int64_t round;                /* which was in this round of growing */
	struct recompute_cost then;   /* the step with it then */
	double time;                  /* that it added when it was taken */
	bool tried;                   /* to be left out */
};

struct recompute_search {
	struct recompute *r;
	double budget;
	struct VEC(struct recompute_class) class;
	bool *chosen;               /* [ops->n] as the classes say */
	struct recompute_cost cost; /* of it */
	bool *least;                /* [ops->n] the choice with the lowest peak so far */
	struct recompute_cost least_cost;
};

/* The first `taken` members of the class are computed again from now on. */
void recompute_take(struct recompute_search *s, struct recompute_class *c, uint32_t taken);

/* Is a the better one of two choices? */
bool recompute_is_better(
	const struct recompute_cost *a, const struct recompute_cost *b, double budget);

/* Makes the choice better while evaluations and time are left: recompute_search.c. False after an
 * error. */
bool recompute_improve(struct recompute_search *s);

#endif
