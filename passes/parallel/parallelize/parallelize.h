/* The files of the pass parallelize: see parallelize.c. */
#ifndef PASSES_PARALLELIZE_H
#define PASSES_PARALLELIZE_H

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/ops/alike.h"
#include "passes/parallel/split/solve.h"
#include "passes/pass.h"

/* --- costs: costs.c --------------------------------------------------------------------------- */

/* Seconds of ops in other layouts than the ones they have in the step. */
struct parallel_costs;

/* Seconds of changes of layout that were computed before, to share between costs: what they cost
 * depends on the mesh and the cluster, not on the step. Lives no longer than the types. */
struct parallel_memo *parallel_memo_create(const void *owner);

/* What was best for the first of several steps that are compared. */
struct parallel_first {
	int64_t devices;
	int64_t cuts; /* of the mesh; -1: not known yet */
	int kind;     /* of the plan that takes least: a policy; -1: not known yet */
};

/* replayed: the first of those whose plans are replayed, else of those that are judged by a sum. */
struct parallel_first *parallel_memo_first(
	struct parallel_memo *memo, int64_t devices, bool replayed);

struct parallel_search;

/* Keeps the plan that a search has found for a module, of which `digest` is that before the search:
 * it may set the mesh. `text` says what else the plan depends on. */
void parallel_memo_keep(struct parallel_memo *memo, const char *digest, const char *text,
	const struct parallel_search *f);

/* Takes over the plan that was kept for the module, without its step. False: there is none. */
bool parallel_memo_recall(struct parallel_memo *memo, const char *digest, const char *text,
	struct parallel_search *f);

/* Costs for a module on the model's devices; owned by `owner`. memo: NULL: of their own. NULL:
 * reported. */
struct parallel_costs *parallel_costs_create(const void *owner, const struct cost_model *model,
	const struct ir_module *m, struct parallel_memo *memo);

/* Does the cluster have a device of that kind at the position of the axis? If so, kernels are
 * costed for that kind from now on; initially for the kind of the first device. */
bool parallel_costs_use(struct parallel_costs *c, int axis, uint32_t place, uint32_t kind);

/* A copy of the op, in a module of its own, on operands whose types can be set with
 * parallel_costs_types. Owned by the costs, valid until the next call. */
struct ir_op *parallel_costs_probe(struct parallel_costs *c, const struct ir_op *op);

/* Gives the operands of the probe these types and infers its results. False, silently: they do not
 * fit. */
bool parallel_costs_fit(struct parallel_costs *c, struct ir_op *probe,
	const struct ir_type *const *operand, const struct ir_type *const *written);

/* Seconds of the probe with its current types: as a kernel, as a collective, or 0. */
double parallel_costs_op(struct parallel_costs *c, const struct ir_op *probe);

/* What counts of an op on a device without reached rates: see roofline.c. */
enum parallel_counts {
	PARALLEL_BYTES,  /* those of the part alone */
	PARALLEL_LARGER, /* of a product: its arithmetic or its bytes */
	PARALLEL_FLOPS,  /* of a product: its arithmetic */
	PARALLEL_WHOLE,  /* all, as it never shares a kernel */
};

/* The memory traffic of an op, whatever it is fused with. */
struct parallel_part {
	uint64_t reads; /* a set of operands whose reads this op counts, for all readers of them */
	bool writes; /* its result is read by a product, or is the next value of a param or state */
	uint8_t counts; /* enum parallel_counts */
};

/* The device of the current kind, if nothing has been measured on it or changed, else NULL. */
const struct device *parallel_costs_device(const struct parallel_costs *c);

/* The least that the probe adds to the kernels of a step, however they are fused. */
double parallel_costs_least(
	const struct parallel_costs *c, const struct ir_op *probe, struct parallel_part part);

/* Seconds of the ops by which reshard leads from one layout to another; SPLIT_NEVER if there are
 * none. */
double parallel_costs_reshard(
	struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to);

/* The least that such a change adds to the messages of a step: its bytes at the rate of the largest
 * messages, as passes may send several together, and nothing for what a device does by itself. */
double parallel_costs_least_reshard(
	struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to);

/* The least that such a change takes from its begin to its end, with latencies, in any number of
 * parts. */
double parallel_costs_path_reshard(
	struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to);

/* --- axes: axes.c ----------------------------------------------------------------------------- */

/* With more axes at once there are too many layouts: 625 of a tensor of three dims on four axes. */
enum { PARALLEL_MOST_AXES = 3 };

/* Device axes over which ops are split, in the order of the module. */
struct parallel_axes {
	int n, axis[IR_MAX_AXES];
};

/* Sets *wanted to a set of axes: those of the option `axes`, or all device axes; but not axes of
 * one device, or axes over which values are laid out already. False: reported. */
bool parallel_axes_wanted(struct pass_run *run, const struct ir_module *m, uint32_t *wanted);

struct cluster;

/* Meshes of the first n devices of a cluster: cuts between the prime factors of n, see
 * axes.c. */
struct parallel_meshes;

enum { PARALLEL_MOST_CUTS = 512 };

struct parallel_cuts {
	uint32_t at[PARALLEL_MOST_CUTS];
	int n;
};

/* Axes are added to those of the module, except that its axes of size 1 are used first; n is at
 * least 2. */
struct parallel_meshes *parallel_meshes_create(
	const void *owner, const struct ir_module *m, struct cluster *c, int64_t n);

/* An axis for each level of the cluster. */
uint32_t parallel_meshes_start(const struct parallel_meshes *s);

/* Appends the meshes with one cut more or less, or with one cut moved, that are not in the list and
 * have at most `most` axes. */
void parallel_meshes_near(
	const struct parallel_meshes *s, uint32_t cuts, int most, struct parallel_cuts *list);

/* Gives the module these axes, in place of those that were set before. */
void parallel_meshes_set(const struct parallel_meshes *s, uint32_t cuts, struct ir_module *m,
	struct parallel_axes *axes);

/* --- choices of ops that are alike: choices.c ------------------------------------------------- */

/* The layouts of one operand or result: the distinct ones, and the one of each choice. */
struct parallel_lines {
	const struct ir_type **type; /* [n] */
	uint32_t n;
	uint16_t *line; /* [choices] number of the type */
};

struct parallel_choices {
	const struct ir_op *op; /* the first of the ops that are alike */
	uint32_t n, noperands, nresults;
	struct parallel_lines *operand, *result;
	double *seconds; /* [n] of the op as a kernel */
	double *least;   /* [n] the least that the op adds to kernels, however they are fused */
	double *bytes;   /* [n] that the results take in the memory of a device */
};

/* All choices that the op's layout rule allows on these axes, each an index of the op, none, or
 * partial operands; the first is the current layout of the op. Owned by `owner`. */
struct parallel_choices *parallel_choices_create(const void *owner, struct parallel_costs *c,
	const struct ir_op *op, struct parallel_part part, const struct parallel_axes *axes);

/* --- the step as a problem: step.c ------------------------------------------------------------ */

/* Which indices of products may be split, to see what each kind of parallelism adds. no-heads
 * excludes the indices for which all operands and the result have only the first dim, the batch;
 * outputs also excludes, in the forward pass, the indices that are summed over. */
#define PARALLEL_INDICES(ROW)                                                                      \
	ROW(PARALLEL_ALL_INDICES, "all")                                                           \
	ROW(PARALLEL_NO_HEADS, "no-heads")                                                         \
	ROW(PARALLEL_OUTPUTS, "outputs")

enum parallel_indices { PARALLEL_INDICES(CHOICE_CODE) };

struct parallel_step {
	struct ir_module *m;
	struct parallel_costs *costs;
	struct parallel_axes axes;
	enum parallel_indices indices;
	bool excludes; /* choices of products were excluded */
	struct alike *alike;
	struct parallel_choices **of;        /* by alike number; NULL: not a node */
	struct VEC(const struct ir_op *) op; /* by node */
	uint32_t *node;                      /* by op->id; PARALLEL_NONE: not a node */
	bool *forward;                       /* by op->id: the loss depends on it */
	bool *kept;   /* by op->id: results live from the forward to the backward pass, or always */
	bool *early;  /* by op->id: depends on params and on no input: messages need not wait */
	bool *inside; /* by op->id: a kernel of several products may keep its operands and results */
	bool *several;      /* by op->id: a product that such a kernel may have */
	bool *late;         /* by op->id: no product depends on it: few ops wait for its messages */
	const bool *hidden; /* by edge: can overlap most kernels: gathers of params, ... */
	struct parallel_part *part; /* by op->id */
	const double **bytes;       /* by node: of each choice, 0 if nothing is kept */
	struct ir_op **trained;     /* by op->id of an output: the param of its gradient, or NULL */
	struct split_problem problem;
};

enum { PARALLEL_NONE = UINT32_MAX };

/* Owned by `owner`. */
struct parallel_step *parallel_step_create(const void *owner, struct parallel_costs *costs,
	struct ir_module *m, const struct parallel_axes *axes, enum parallel_indices indices);

static inline const struct parallel_choices *
parallel_step_choices(const struct parallel_step *s, uint32_t node)
{
	return s->of[s->alike->number[s->op.at[node]->id]];
}

/* The value that determines the layout of v: looks through barriers and copies. */
const struct ir_value *parallel_made(const struct ir_value *v);

/* Is it an op without operands, a constant or positions, that any device can make in any layout?
 * Such ops are not nodes. */
bool parallel_is_free(const struct ir_op *op);

/* Bytes of a type on a device, if all devices of the mesh share it. */
static inline double
parallel_share_bytes(const struct parallel_step *s, const struct ir_type *t)
{
	return (double)ir_type_elements(t) * ir_dtype_bytes((enum ir_dtype)t->dtype) /
	       (double)ir_devices(s->m);
}

/* --- policies: policy.c ----------------------------------------------------------------------- */

#define PARALLEL_POLICIES(ROW)                                                                     \
	ROW(PARALLEL_BEST, "best")                                                                 \
	ROW(PARALLEL_DATA, "data")                                                                 \
	ROW(PARALLEL_SHARDED, "sharded")                                                           \
	ROW(PARALLEL_MEGATRON, "megatron") ROW(PARALLEL_DLRM, "dlrm")

enum parallel_policy { PARALLEL_POLICIES(CHOICE_CODE) PARALLEL_NPOLICIES };

/* "data parallelism"; for PARALLEL_BEST "the sum". */
const char *parallel_policy_name(enum parallel_policy policy);

/* The problem of the step with inputs and params in the layouts of the policy, as far as possible.
 * Owned by `owner`; the step must live as long. */
struct split_problem parallel_policy_problem(
	const void *owner, const struct parallel_step *s, enum parallel_policy policy);

/* --- plans: plans.c --------------------------------------------------------------------------- */

#define PARALLEL_ENGINES(ROW)                                                                      \
	ROW(PARALLEL_DOPT, "dopt")                                                                 \
	ROW(PARALLEL_EXHAUST, "exhaust")                                                           \
	ROW(PARALLEL_RANDOM, "random") ROW(PARALLEL_UNITY, "unity") ROW(PARALLEL_MCMC, "mcmc")

enum parallel_engine { PARALLEL_ENGINES(CHOICE_CODE) };

struct parallel_plan {
	const char *name;            /* for messages: what it is the best of */
	enum parallel_policy policy; /* the policy whose plan it is */
	struct parallel_step *s;     /* NULL: there is no plan */
	uint32_t cuts;               /* of the mesh */
	struct split_solution found; /* the bound holds for all plans on this mesh */
	int kind;                    /* of the problem that was solved: see parallel_priced */
	bool fits;                   /* within the budget */
	bool again;                  /* what is gathered is gathered again for the backward pass,
					and few gradients are on their way at a time */
	double seconds;              /* of the replayed step; 0: it was not replayed */
	double over;                 /* bytes needed in excess of -budget */
};

/* A problem of a step that is solved for several limits on bytes. */
struct parallel_priced {
	const struct parallel_step *s;
	int kind; /* a policy; PARALLEL_NPOLICIES or more: other weights */
	struct split_priced *problem;
};

/* Steps that were replayed; those of one mesh and with the same choices are the same, whatever plan
 * they were found for. */
struct parallel_replays;

struct parallel_search {
	struct pass_run *run;
	const struct cost_model *model;
	struct ir_module *m;
	struct parallel_memo *memo;
	struct parallel_first *first; /* what was best for the first of several steps */
	enum parallel_policy policy;
	enum parallel_engine engine;
	enum parallel_indices indices;
	bool excludes; /* true if some product of a mesh has indices that are excluded */
	uint32_t sweeps;
	double budget; /* bytes; 0: unlimited */
	bool strict;   /* the plan must fit; otherwise later passes may still make it fit */
	double price;  /* per byte, of a plan that fitted; 0: none yet */
	double need,
		least_need; /* bytes: the least of any plan found; a lower bound for all plans */
	double gap; /* a plan that costs at most this share more than the bound is not improved */
	struct parallel_plan plan[PARALLEL_NPOLICIES]; /* the cheapest of each policy */
	double least[PARALLEL_NPOLICIES]; /* a bound for the policy; INFINITY: not searched */
	const char *passes;               /* that replayed steps went through */
	struct pass_manager *manager;     /* of these passes */
	struct parallel_replays *replays; /* NULL: none yet */
	struct VEC(struct parallel_priced) priced;
	int meshes;                           /* how many were searched */
	struct VEC(struct parallel_plan) all; /* the cheapest of each mesh and policy */
	uint64_t candidates;                  /* how many a published engine has looked at */
	double work; /* of the last mesh: entries in the tables of all edges */
};

/* Searches on the module's current mesh for plans that are cheaper than those found so far. False:
 * reported. *cost: of the requested policy's plan on this mesh; INFINITY: it is not the
 * cheapest. */
bool parallel_search_mesh(
	struct parallel_search *f, const struct parallel_axes *axes, uint32_t cuts, double *cost);

/* Solves a problem that has the nodes of the step, within the budget: *found has its cost. kind:
 * problems of the step with equal numbers (parallel_priced) are the same. False: no solution found
 * fits; then it is the best without a budget or, if `strict`, the one that needs least. */
bool parallel_solve(struct parallel_search *f, const struct parallel_step *s,
	const struct split_problem *p, int kind, uint32_t sweeps, double gap,
	struct split_solution *found);

/* Solutions of the problem, each the cheapest of those that need no more bytes, as far as they are
 * found with `most` prices more. Returns how many. */
uint32_t parallel_spread(struct parallel_search *f, const struct parallel_step *s,
	const struct split_problem *p, int kind, uint32_t most, uint32_t sweeps, double gap,
	struct split_solution **found);

/* A cheaper solution of that kind within `limit` bytes, between those of two prices. False: none. */
bool parallel_mix(struct parallel_search *f, const struct parallel_step *s, int kind, double limit,
	struct split_solution *found);

/* Repeats the search for the current plans, each on its mesh, with f->sweeps. */
void parallel_search_again(struct parallel_search *f);

/* The result of a published engine on the mesh of the step, starting with data parallelism. */
struct split_solution parallel_published(struct parallel_search *f, const struct parallel_step *s,
	enum parallel_engine engine, uint64_t candidates);

/* --- replays: replay.c ------------------------------------------------------------------------ */

/* Replays the plans of the requested policy, or of all policies, and plans for other weights of
 * kernels and messages; the plan with the fastest step becomes that of the policy. `meshes`: NULL:
 * the module's axes. */
void parallel_replay(struct parallel_search *f, const struct parallel_meshes *meshes);

/* The passes after which steps are compared: those of the option `finish`, or else those that follow. */
const char *parallel_finish(const struct pass_run *run);

/* Is the step of the cheapest plan larger, or treated as such: storage_target.rough? */
bool parallel_is_large(const struct parallel_search *f, double nodes);

/* Is replayed plan a better than b: less over the budget, or about equally much over it and faster? */
bool parallel_is_better(const struct parallel_search *f, const struct parallel_plan *a,
	const struct parallel_plan *b);

/* Axes over which some value is laid out already, a bit each: axes.c. */
uint32_t parallel_axes_in_use(const struct ir_module *m);

/* --- the bound: bound.c ----------------------------------------------------------------------- */

/* The memory of a device, and whether states may be in that of the host; bytes: INFINITY: any. */
struct parallel_memory {
	double bytes;
	bool host;
};

/* A lower bound, in seconds, on the step of any plan on this mesh, however kernels are fused. */
double parallel_bound(const struct parallel_step *s, struct parallel_memory memory);

/* Such a bound for a step without layouts yet, over the device axes of its mesh. It holds for plans
 * without micro-batches. 0: not known, as the mesh has more axes than can
 * be searched at once, or values are laid out over them already. */
double parallel_module_bound(struct pass_run *run, const struct cost_model *model,
	struct ir_module *m, struct parallel_memory memory);

/* Seconds of a device for what loops read in addition, whatever the layouts: traffic.c.
 * `first`: before the product v of bound.c starts, `second`: after that; by node: what v
 * depends on, and what depends on it, v included. */
struct parallel_traffic {
	double all, first, second;
};

/* d has reached rates. */
struct device;
struct parallel_traffic parallel_traffic(const struct parallel_step *s, const struct device *d,
	const bool *before, const bool *after);

/* Paths of the step through a node, each with a share: chain.c. The shares add up to 1. */
struct parallel_paths {
	double *node, *edge; /* the shares of those that it is part of */
};

/* None yet; owned by `owner`. */
struct parallel_paths parallel_paths_create(const void *owner, const struct parallel_step *s);

/* Adds the longest path for the choices, through that node and else among the nodes of both sets, with
 * that share; those of the others become smaller. */
void parallel_paths_add(struct parallel_paths *paths, const struct parallel_step *s,
	const uint16_t *choice, const bool *before, const bool *after, uint32_t through,
	double share);

/* The least that a node of a path takes with that choice. */
double parallel_path_seconds(const struct parallel_step *s, uint32_t node, uint32_t choice);

/* Sets s->part for a device without reached rates: roofline.c. */
void parallel_find_bytes(struct parallel_step *s, const struct device *d);

/* Sets s->inside and s->several: inside.c. */
void parallel_find_inside(struct parallel_step *s);
/* Seconds of a device for products that kernels of several products compute again. */
double parallel_repeated_products(const struct parallel_step *s, const struct device *d);

/* Seconds of a device for products before v that have to be computed again with so many bytes on a
 * device; before, after: by node, as above; `host`: states may be in host memory. memory.c. */
double parallel_forced_products(const struct parallel_step *s, const bool *before,
	const bool *after, bool host, double limit);

/* --- layouts into the module: apply.c --------------------------------------------------------- */

/* Gives the ops of the step's module, or of a copy of it, the layouts of the plan, with
 * parallelization ops between them. *kept: unless NULL, whether a gathered value is kept from the
 * forward to the backward pass that plan->again would gather twice. False: reported. */
bool parallel_apply(
	struct pass_run *run, const struct parallel_plan *plan, struct ir_module *m, bool *kept);

/* Products wait for messages, so that at any time those in flight hold at most `most` bytes:
 * await.c. Steps with time axes stay as they are. */
void parallel_await(const void *scratch, struct ir_module *m, double most);

/* Remarks on the choices of inputs, params, states and products, one for all that are alike, at the
 * first of them: tell.c. */
void parallel_tell_choices(
	struct pass_run *run, const struct parallel_step *s, const uint16_t *choice);

/* -explain: the layouts that the named ops could have instead, on stderr: explain.c. */
void parallel_explain(const struct parallel_search *f, const struct parallel_plan *plan);

#endif
