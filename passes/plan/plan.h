/* The files of the pass plan: see plan.c. */
#ifndef PASSES_PLAN_H
#define PASSES_PLAN_H

#include "ir/base/vec.h"
#include "passes/attempt/attempt.h"
#include "passes/attempt/edit.h"

#include <math.h>

/* What the plan may decide: the option `decide`. */
#define PLAN_DECISIONS(ROW)                                                                        \
	ROW(PLAN_LAYOUTS, "layouts")                                                               \
	ROW(PLAN_STAGES, "stages")                                                                 \
	ROW(PLAN_SHARDS, "shards")                                                                 \
	ROW(PLAN_MEMORY, "memory")                                                                 \
	ROW(PLAN_FUSION, "fusion") ROW(PLAN_ORDER, "order") ROW(PLAN_OFFLOAD, "offload")

enum plan_decision { PLAN_DECISIONS(CHOICE_CODE) PLAN_NDECISIONS };

#define PLAN_OBJECTIVES(ROW) ROW(PLAN_TIME, "time") ROW(PLAN_LEAST_MEMORY, "memory")

enum plan_objective { PLAN_OBJECTIVES(CHOICE_CODE) };

/* Meshes from which recipes start. If the module has device axes, all of them are its own. */
enum plan_mesh {
	PLAN_PLAIN,  /* as the module has it; parallelize makes one */
	PLAN_FLAT,   /* one axis of all devices */
	PLAN_LEVELS, /* nodes, and the devices of a node */
	PLAN_STAGED, /* stages, nodes of a stage, and the devices of a node */
	PLAN_FOUND,  /* the one that parallelize made from the plain one */
	PLAN_NMESHES,
};

/* A step with another number of the blocks that it repeats: depth.c. */
struct plan_depth {
	int64_t blocks;
	struct attempts *attempts;
};

enum { PLAN_DEPTHS = 3 };

/* The step on a mesh. */
struct plan_base {
	const char *mesh; /* as -mesh has it: "node=4,card=8"; NULL: that of the module */
	struct ir_module *m;
	struct attempts *attempts;
	struct plan_depth depth[PLAN_DEPTHS]; /* ascending; of 0 blocks: there are none */
	int n; /* device axes of more than one device, except that of stages, outermost first */
	const char *axis[IR_MAX_AXES];
	int stages; /* size of the axis of stages, whose name is plan_stage_axis; 1: there is
		       none */
};

/* A step of which as few blocks as fit are computed again: fill.c. */
struct plan_fill {
	int64_t first;         /* number of these blocks; 0: it is not such a step */
	double bytes, seconds; /* of a block: saved if it is computed again, and that takes */
	int refills;           /* steps of the same kind that led to it */
	bool values;           /* not of blocks: recompute chooses as many values as fit */
};

struct plan_candidate {
	int base;
	uint64_t budget; /* of the passes, in bytes; 0: none */
	struct pass_list list;
	const char *text; /* of the list */
	const char *from; /* the recipe and the moves that led to it */
	struct attempt_result r;
	bool expanded;   /* its moves have been tried */
	bool estimated;  /* r is an estimate from steps of fewer blocks */
	double estimate; /* seconds, the first estimate of a step that has a better one or was run;
			    else 0 */
	double refined;  /* of a step that was run: the better estimate; 0: there was none */
	bool recipe;     /* not made by moves */
	bool finished;   /* made by the last move */
	int64_t family;  /* number of the recipe that moves have made it of; its own */
	int expansions;  /* of a recipe: members of its family that were expanded */
	struct plan_fill fill;
};

/* A step without passes that use the memory that is left, by the passes that decide most of it:
 * seconds with no block, bytes of each depth and of the whole step. */
struct plan_constant {
	const char *text;
	double seconds, bytes[PLAN_DEPTHS - 1], whole;
};

/* Limit on the ops processed by all passes of all attempts of a search: some seconds of one core. */
enum { PLAN_MOST_EFFORT = 4000000 };

struct planner {
	struct pass_run *run;
	struct pass_manager *manager; /* of the attempts */
	struct ir_module *m;
	const struct cost_model *model;
	unsigned decide; /* a set of enum plan_decision */
	enum plan_objective objective;
	double limit, host_limit; /* bytes; INFINITY: any */
	uint64_t budget;          /* that passes are told; 0: none */
	int64_t rows;             /* of the batch: the first dim of the first input; 0: unknown */
	bool has_gradients, has_optimizer; /* of the module */
	const char *optimizer;             /* "": none */
	bool amp;
	bool channels_last;       /* convolutions, as is predicted to pay on one device */
	const char *microbatches; /* numbers, or auto */
	uint64_t evaluations;
	double ends;     /* of clock_seconds; INFINITY: any time */
	uint64_t effort; /* of all attempts within this limit */
	uint64_t spent;  /* within the limits before */
	int64_t blocks;  /* how often a block of the step is repeated; 0: too few to estimate */
	int64_t repeats; /* blocks of all kinds that are repeated */
	bool divided;    /* no whole step fits within this limit without more micro-batches */
	struct VEC(struct plan_constant) constant;
	struct plan_base base[PLAN_NMESHES];
	int nbases;
	struct VEC(struct plan_candidate) candidate; /* for this limit */
	int64_t tried;                               /* for all limits */
};

extern const char plan_stage_axis[];
extern const char plan_channels_last[]; /* a pass, as text */

/* The passes of a step on one device up to its gradients, as text. Of run->scratch. */
const char *plan_gradients(const struct planner *p);

/* meshes.c: fills p->base for this number of devices; 1: only the mesh of the module. */
void plan_meshes(struct planner *p, int64_t devices);
/* The base with axes of these sizes, added if it is missing; PLAN_PLAIN if there is no room. */
int plan_mesh_of(struct planner *p, const int32_t *size, int n);

/* recipes.c: adds the pipelines to start from, each measured. */
void plan_start(struct planner *p);
/* Appends the passes that a recipe stands for on that mesh. False: it does not apply there. */
bool plan_read_recipe(
	struct planner *p, const struct plan_base *b, const char *recipe, struct pass_list *list);

/*
 * Tells parallelize, if it is in the list, the passes after which it compares plans: at first those that
 * follow it. Later only opfuse is told again, as attention in one kernel changes what fits, and other
 * passes little: parallelize need not run again when these change.
 */
void plan_set_finish(struct planner *p, struct pass_list *list);

/* depth.c: sets p->blocks and p->repeats. */
void plan_count_blocks(struct planner *p);
/* Fills b->depth. */
void plan_add_depths(struct planner *p, struct plan_base *b);
/* Time and memory of a pipeline from steps of fewer blocks. */
void plan_estimate(
	struct planner *p, int base, const struct pass_list *list, struct attempt_result *r);
/* The same from steps of more blocks, which passes and messages at both ends of the step affect
 * less. False: the step has too few blocks. */
bool plan_refine(
	struct planner *p, int base, const struct pass_list *list, struct attempt_result *r);

/* kept.c: bytes that a block of a step keeps between the passes, or after both. */
struct plan_kept {
	int64_t blocks; /* of the step; of one or two it is not known what they keep */
	double bytes;
};

/* Sets `bytes` of the struct plan_kept `data`, as an attempts_watcher. */
void plan_kept_read(void *data, const struct storage *s);

/* Bytes of the sharded step with the same recomputation and kernels; 0: it is refused. */
double plan_bare_bytes(struct planner *p, const struct pass_list *list);

/* fill.c: adds estimates of steps of which as few blocks as fit are computed again. */
void plan_fill(struct planner *p);
/* After the i-th candidate was run: adds such a step with as many blocks more or less as its memory
 * suggests. */
void plan_refill(struct planner *p, int64_t i);

/* moves.c: tries the moves that gain most on a recipe, one after the other, each with the best member
 * of its family so far. */
void plan_improve_first(struct planner *p, int64_t family);

/* budgets.c: the next smaller budget for which a search may find a step that is as fast as the best
 * one; 0: none. */
double plan_smaller_budget(const struct planner *p, const struct plan_candidate *best);

/* The pass that computes all blocks again. Other options of it keep more. */
#define PLAN_ALL_BLOCKS "recompute"

/* What a pipeline computes again: all blocks after shard saves less than before it. */
enum plan_again { PLAN_NONE_AGAIN, PLAN_SOME_AGAIN, PLAN_LATE_AGAIN, PLAN_ALL_AGAIN };

enum plan_again plan_again(const struct pass_list *list);

/* divide.c: steps with more micro-batches, if no whole one fits. */
void plan_divide(struct planner *p);

/* moves.c: improves the best ones as long as evaluations are left. */
void plan_improve(struct planner *p);
/* Fills in the allowed numbers of micro-batches, ascending, including 1; returns their count. */
enum { PLAN_MOST_MICROBATCHES = 32 };
int plan_microbatches(const struct planner *p, int64_t number[PLAN_MOST_MICROBATCHES]);

static inline bool
plan_decides(const struct planner *p, enum plan_decision d)
{
	return p->decide >> d & 1;
}

static inline bool
plan_ran(const struct plan_candidate *c)
{
	return c->r.seconds < INFINITY;
}

/* plan.c: measures a candidate and adds it, unless it was measured before. family: -1 for a recipe. */
void plan_try(struct planner *p, int base, struct pass_list list, const char *from, int64_t family);

/* Runs the whole step of the candidate; the result is the last candidate. */
struct plan_candidate *plan_run_added(struct planner *p, struct plan_candidate c);
/* The same with that entry. */
struct plan_candidate *plan_run_with(struct planner *p, struct plan_candidate c, const char *entry);

/* The best of those whose whole steps were run, or of the estimates; NULL: there is none. */
struct plan_candidate *plan_best(const struct planner *p, bool estimated);

/* The candidate with that base and text; -1: there is none. */
int64_t plan_find(const struct planner *p, int base, const char *text);
bool plan_fits(const struct planner *p, const struct plan_candidate *c);
/* True if only a fits; else compares by the objective, or if neither fits by the missing bytes. */
bool plan_is_better(
	const struct planner *p, const struct plan_candidate *a, const struct plan_candidate *b);

/* "-mesh=node=4,card=8 -pass='...'", with -budget if it is not the given one; owned by the run's
 * scratch. */
char *plan_command(const struct planner *p, const struct plan_candidate *c);

/* summary.c: describes the planned step in notes; `m` is the step. */
void plan_summary(struct planner *p, const struct plan_candidate *best, const struct ir_module *m);

#endif
