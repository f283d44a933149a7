/* What the files of the pass `recompute` share: recompute.c, recompute_budget.c. */
#ifndef PASSES_RECOMPUTE_H
#define PASSES_RECOMPUTE_H

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "passes/analysis/cost/trial.h"
#include "passes/train/recompute_ops.h"

/* One step: seconds, and the most bytes of a device that are live at once. */
struct recompute_cost {
	double time, peak;
};

/* An evaluated choice, by hashes of the ops that are recomputed. */
struct recompute_known {
	struct recompute_key {
		uint64_t a, b;
	} key;
	struct recompute_cost cost;
};

/* A step whose values may be recomputed. Tables are by number of the op in step->ops. */
struct recompute {
	void *scratch;
	const struct cost_model *cost;
	const struct trial_base *base;
	struct ir_module *m;
	const struct recompute_ops *step;
	const int32_t *block; /* the block that an op is in, or RECOMPUTE_KEPT */
	int32_t nblocks;
	const char *finish;           /* passes after which steps are compared; NULL: none */
	struct pass_manager *manager; /* for these */
	bool *inner; /* values that are in registers of kernels alone after them; NULL: none */
	bool *bare;  /* [ops] or NULL: chosen for the step as it is, without r->finish */
	struct VEC(struct recompute_known) known;
	struct map known_map;
	uint32_t evaluations; /* of the cost model so far */
	uint32_t most;        /* a choice is improved until `evaluations` reaches it; 0: it is
				 not */
	uint64_t seed;        /* for random choices of an improvement */
	double ends;          /* clock_seconds at which improving stops; 0: no limit */
};

/* Can op i be chosen: is it copyable, with results kept in memory for the backward pass? */
bool recompute_may(const struct recompute *r, uint32_t i);

/*
 * The groups for recompute_copy if the ops chosen[i] are recomputed: these, and the ops that they
 * depend on, up to values that are kept. Connected ops form one group. Returns the number of
 * groups.
 */
int32_t recompute_groups(const struct recompute *r, const bool *chosen, int32_t *group);

/* Recomputes the chosen ops, until ir_saved_restore(r->base->saved). */
void recompute_apply(const struct recompute *r, const bool *chosen);

/* A copy of the step in which they are (NULL: whole blocks, as by policy blocks), after r->finish, and its time;
 * the caller frees it. */
struct ir_module *recompute_finished(
	const struct recompute *r, const bool *chosen, double *seconds);

/* Finds r->inner. False: the pass refuses the step. */
bool recompute_find_inner(struct recompute *r);

/* Evaluates the step in which the chosen ops are recomputed, or knows it from before. False: an
 * error was reported. */
bool recompute_evaluate(struct recompute *r, const bool *chosen, struct recompute_cost *cost);

/*
 * The ops to recompute so that the step needs at most `budget` bytes and takes little more time:
 * see recompute_budget.c. If none fit, those with the least memory. *cost is that of the choice.
 * False after an error.
 */
bool recompute_choose(
	struct recompute *r, double budget, bool *chosen, struct recompute_cost *cost);

/*
 * Reports for each recomputed class the bytes beyond the budget that the step would need if its `n`
 * values were kept: `first` computes one of them. One evaluation each; false after an error.
 */
typedef void recompute_teller(void *data, const struct ir_op *first, uint32_t n, double over);

bool recompute_tell(
	struct recompute *r, double budget, const bool *chosen, recompute_teller *tell, void *data);

/* Benefit of recomputing a class: the rank is compared first. */
struct recompute_merit {
	int rank;
	double value;
};

/* Values that are decided together: those of one name in blocks that are alike. */
struct recompute_class {
	const char *key;            /* the name without that of the block, or NULL */
	const struct ir_type *type; /* of the result */
	const struct ir_op *first;
	struct VEC(uint32_t) member; /* ascending */
	uint32_t taken;              /* this many members, from the first on, are recomputed */
	double bytes;
	struct recompute_merit merit; /* at the last evaluation, */
	int64_t round;                /* which was in this round of growing */
	struct recompute_cost then;   /* cost of the step with it then */
	double time;                  /* that it added when it was taken, */
	double saved;                 /* and bytes of the peak that it took away; 0: not known */
	bool tried;                   /* excluded from further tries */
};

struct recompute_search {
	struct recompute *r;
	double budget;
	struct VEC(struct recompute_class) class;
	bool *chosen;               /* [ops->n] as the classes say */
	bool inner;                 /* and r->inner of the blocks that have one */
	struct recompute_cost cost; /* of it */
	bool *least;                /* [ops->n] the choice with the lowest peak so far */
	struct recompute_cost least_cost;
};

/* From now on the first `taken` members of the class are recomputed. */
void recompute_take(struct recompute_search *s, struct recompute_class *c, uint32_t taken);

/* Is choice a better than choice b? */
bool recompute_is_better(
	const struct recompute_cost *a, const struct recompute_cost *b, double budget);

/* Improves the choice while evaluations and time are left: recompute_search.c. False after an
 * error. */
bool recompute_improve(struct recompute_search *s);

#endif
