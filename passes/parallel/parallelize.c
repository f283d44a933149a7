/*
 * parallelize: chooses for each op of a step, and each device axis, an index of the op over which it is split, or
 * none, or that it works on parts of a sum. Params are stored split or whole. What a plan costs is the sum of the
 * times of all kernels and of all changes of layout between them, on one device: a problem of one choice for each
 * op, with costs of pairs (parallelize_step.c), for which a lower bound and a plan are found (split/solve.h). So the
 * pass says how much faster any other plan of its kind can be at most.
 *
 * Data parallelism, sharded params and optimizer states, pairs of column- and row-parallel products, split heads,
 * vocabularies and sequences are such plans; none of them is known here, but as the baselines `data` and `megatron`:
 * the same problem with what they say of inputs and params held. The result costs no more than either, or is proven to
 * be as good but for the gap that is asked for.
 *
 * The problem of choosing parallelization ops for a graph is that of C. Unger et al., "Unity: Accelerating DNN
 * Training Through Joint Optimization of Algebraic Transformations and Parallelization", OSDI 2022, and of
 * L. Zheng et al., "Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep Learning", OSDI
 * 2022, there solved as an integer program.
 *
 * Right because only layouts change: see parallelize_apply.c. Must not change ops or their order.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/parallel/parallelize.h"
#include "passes/parallel/split/overlap.h"
#include "passes/parallel/split/within.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define POLICIES(ROW) ROW(BEST, "best") ROW(DATA, "data") ROW(MEGATRON, "megatron")
#define ENGINES(ROW) ROW(DOPT, "dopt") ROW(EXHAUST, "exhaust") ROW(RANDOM, "random")

enum policy { POLICIES(CHOICE_CODE) };
enum engine { ENGINES(CHOICE_CODE) };

/* Bounds and costs that differ by no more are equal. */
static const double rounding = 1e-9;

/* Entries of the largest table of engine exhaust, which takes some tenths of a second. */
enum { EXHAUST_ENTRIES = 1 << 18 };

/* More axes at once have too many layouts: of a tensor of three dims 625 on four axes. */
enum { MOST_AXES = 3 };

struct search {
	struct pass_run *run;
	struct parallel_step *s;
	uint32_t sweeps;
	double gap; /* a plan that costs at most this share more than the bound is not improved */
	struct split_solution best;
	struct split_solution baseline[2]; /* of DATA, MEGATRON; 0 sweeps: not asked for */
};

/* --- axes ------------------------------------------------------------------------------------- */

/* Axes over which some value is laid out already. */
static uint32_t
axes_in_use(const struct ir_module *m)
{
	uint32_t used = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (op_is(op, TRAIT_PARALLEL))
			used |= 1u << ir_attr_int(op, "axis", 0);
		for (int r = 0; r < op->nresults; r++)
			for (int a = 0; a < m->naxes; a++)
				used |= op->result[r].type->axis[a].kind == IR_COPIED ? 0 : 1u << a;
	}
	return used;
}

/* Those of the option, or all of devices; but not those of one device or in use. */
static bool
find_axes(struct pass_run *run, const struct ir_module *m, struct parallel_axes *axes)
{
	const uint32_t used = axes_in_use(m);
	int given[IR_MAX_AXES];
	const int n = pass_axes(run, "axes", given);
	uint32_t wanted = 0;

	for (int i = 0; i < n; i++) {
		if (m->axis[given[i]].time) {
			diag_error(run->ctx->diag, pass_option_loc(run, "axes"),
				"parallelize: %s is a time axis; expected device axes",
				m->axis[given[i]].name);
			return false;
		}
		wanted |= 1u << given[i];
	}
	*axes = (struct parallel_axes){0};
	for (int a = 0; a < m->naxes; a++) {
		if (m->axis[a].time || m->axis[a].size == 1 || (n && !(wanted >> a & 1)))
			continue;
		if (used >> a & 1)
			pass_remark(run, NULL, PASS_MISSED,
				"axis %s is not used: some values are laid out over it already",
				m->axis[a].name);
		else if (axes->n == MOST_AXES)
			pass_remark(run, NULL, PASS_MISSED,
				"axis %s is not used: more than %d at once have too many layouts; the pass can run again for it",
				m->axis[a].name, MOST_AXES);
		else
			axes->axis[axes->n++] = a;
	}
	return true;
}

/* --- policies --------------------------------------------------------------------------------- */

/* On how many axes a layout of an input or a param is what the policy says: data parallelism splits the batch and
 * copies params; megatron does so on the first axis of several, and on the others splits matrices and no input. */
static int
agreement(const struct parallel_step *s, enum policy policy, const struct ir_op *op,
	const struct ir_type *t)
{
	const bool matrix = op->code == OP_param && t->rank > 1;
	int n = 0;

	for (int i = 0; i < s->axes.n; i++) {
		const struct ir_state state = t->axis[s->axes.axis[i]];
		if (policy == MEGATRON && (i > 0 || s->axes.n == 1))
			n += op->code == OP_input ? state.kind == IR_COPIED
						  : !matrix || state.kind == IR_SPLIT;
		else
			n += op->code == OP_input ? state.kind == IR_SPLIT && state.dim == 0
						  : state.kind == IR_COPIED;
	}
	return n;
}

/* Costs of the choices with all but those excluded that agree most with the policy. */
static const double *
pinned_costs(const void *owner, const struct parallel_step *s, enum policy policy,
	const struct parallel_choices *c)
{
	double *cost = COPY_ARRAY(owner, double, c->seconds, c->n);
	int most = 0;

	for (int turn = 0; turn < 2; turn++)
		for (uint32_t x = 0; x < c->n; x++) {
			const int n = agreement(
				s, policy, c->op, c->result[0].type[c->result[0].line[x]]);
			most = n > most ? n : most;
			if (turn && n < most)
				cost[x] = SPLIT_NEVER;
		}
	return cost;
}

static struct split_solution
solve_pinned(const struct search *f, enum policy policy, double limit)
{
	const struct parallel_step *s = f->s;
	struct split_problem p = s->problem;
	struct split_node *node = ARRAY_NEW(f->run->scratch, struct split_node, p.nnodes);
	const double **pinned = ARRAY_ZERO(f->run->scratch, const double *, s->alike->n);

	for (uint32_t i = 0; i < p.nnodes; i++) {
		const struct parallel_choices *c = parallel_step_choices(s, i);
		const double **cost = &pinned[s->alike->number[s->op.at[i]->id]];
		if (op_is(c->op, TRAIT_NAMED) && c->nresults && !*cost)
			*cost = pinned_costs(f->run->scratch, s, policy, c);
		node[i] = (struct split_node){c->n, *cost ? *cost : c->seconds};
	}
	p.node = node;
	return split_solve(f->run->scratch, &p, f->sweeps, f->gap, limit);
}

/* --- engines ---------------------------------------------------------------------------------- */

static void
take_if_better(struct search *f, const uint16_t *choice)
{
	const struct split_problem *p = &f->s->problem;
	const double cost = split_cost(p, choice);

	if (cost >= f->best.cost)
		return;
	memcpy(f->best.choice, choice, p->nnodes * sizeof *choice);
	f->best.cost = cost;
}

/* A choice that can be reached from what the ops before have, drawn for each op. */
static void
draw_choices(struct search *f, uint64_t random)
{
	const struct split_problem *p = &f->s->problem;
	uint32_t *first = ARRAY_ZERO(f->run->scratch, uint32_t, p->nnodes + 2),
		 *edge = ARRAY_NEW(f->run->scratch, uint32_t, p->nedges);

	for (uint32_t e = 0; e < p->nedges; e++)
		first[p->edge[e].end[1] + 2]++;
	for (uint32_t i = 2; i < p->nnodes + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t e = 0; e < p->nedges; e++)
		edge[first[p->edge[e].end[1] + 1]++] = e;
	for (uint32_t i = 0; i < p->nnodes; i++) {
		uint32_t seen = 0;
		for (uint32_t x = 0; x < p->node[i].n; x++) {
			bool fits = p->node[i].cost[x] < SPLIT_NEVER;
			for (uint32_t k = first[i]; k < first[i + 1] && fits; k++) {
				const struct split_edge *e = &p->edge[edge[k]];
				fits = e->end[0] > i ||
				       e->table->cost[e->line[0][f->best.choice[e->end[0]]] *
							      e->table->columns +
						      e->line[1][x]] < SPLIT_NEVER;
			}
			if (fits && mix64_below(&random, ++seen) == 0)
				f->best.choice[i] = (uint16_t)x;
		}
	}
	f->best.cost = split_cost(p, f->best.choice);
}

static void
search_within(struct search *f, double budget)
{
	const struct split_problem *p = &f->s->problem;
	char need[NUMBER_TEXT], have[NUMBER_TEXT];
	const bool fits = split_solve_within(
		f->run->scratch, p, f->s->bytes, budget, f->sweeps, f->gap, &f->best);

	/* The bound is that of plans that fit. */
	if (!fits)
		f->best.bound = -INFINITY;
	number_bytes(need, split_bytes(p, f->s->bytes, f->best.choice));
	pass_remark(f->run, NULL, fits ? PASS_APPLIED : PASS_MISSED,
		"inputs, params, states and what the backward pass reads take %s of a budget of %s",
		need, number_bytes(have, budget));
}

static void
search_plans(struct search *f)
{
	const struct split_problem *p = &f->s->problem;
	const enum policy policy = (enum policy)pass_enum(f->run, "policy");
	const enum engine engine = (enum engine)pass_enum(f->run, "engine");

	/* Every op as it is: the step on each device. */
	f->best.choice = ARRAY_ZERO(f->run->scratch, uint16_t, p->nnodes);
	f->best.cost = split_cost(p, f->best.choice);
	if (engine == RANDOM) {
		draw_choices(f, (uint64_t)pass_int(f->run, "seed"));
		return;
	}
	if (pass_size(f->run, "budget")) {
		search_within(f, (double)pass_size(f->run, "budget"));
		return;
	}
	if (pass_bool(f->run, "overlap")) {
		f->best = split_solve_overlap(f->run->scratch, p, f->sweeps, f->gap);
		return;
	}
	struct split_solution free = split_solve(f->run->scratch, p, f->sweeps, f->gap, INFINITY);
	f->best.bound = free.bound;
	f->best.sweeps = free.sweeps;
	if (engine == EXHAUST) {
		if (split_exhaust(f->run->scratch, p, EXHAUST_ENTRIES, &free))
			f->best.bound = free.cost;
		else
			pass_remark(f->run, NULL, PASS_MISSED,
				"the step is too large to eliminate op by op: the plan is that of engine dopt");
	}
	take_if_better(f, free.choice);
	/* No plan of a policy is better by more than `gap` then: it is only told what they cost. */
	const bool proven = f->best.cost <= f->best.bound * (1 + f->gap);
	for (enum policy i = DATA; i <= MEGATRON; i++) {
		struct split_solution *pinned = &f->baseline[i - DATA];
		if (policy == i) {
			*pinned = solve_pinned(f, i, INFINITY);
			f->best.choice = pinned->choice;
			f->best.cost = split_cost(p, pinned->choice);
		} else if (policy == BEST && (!proven || pass_remarks_wanted(f->run))) {
			/* No further than to know that it costs more. */
			*pinned = solve_pinned(f, i, f->best.cost);
			if (!proven)
				take_if_better(f, pinned->choice);
		}
	}
}

/* --- what is told ----------------------------------------------------------------------------- */

static void
remark_plan(const struct search *f)
{
	static const char *const name[] = {"data parallelism", "megatron"};
	char now[NUMBER_TEXT], bound[NUMBER_TEXT], other[NUMBER_TEXT];
	char *text = TEXT(f->run->scratch,
		pass_bool(f->run, "overlap")
			? "kernels or messages of the plan, whichever take longer, take %s"
			: "kernels and messages of the plan take %s together",
		number_seconds(now, f->best.cost));

	if (pass_enum(f->run, "engine") != RANDOM && isfinite(f->best.bound))
		text = text_append(text,
			"; no plan takes less than %s, %.2g %% less (%" PRIu32 " sweeps)",
			number_seconds(bound, f->best.bound),
			100 * (1 - f->best.bound / f->best.cost), f->best.sweeps);
	for (int i = 0; i < 2; i++)
		if (f->baseline[i].sweeps && pass_enum(f->run, "policy") == BEST)
			text = text_append(text, "; %s: at least %s", name[i],
				number_seconds(other, f->baseline[i].bound));
	pass_remark(f->run, NULL, PASS_APPLIED, "%s", text);
	parallel_tell_choices(f->run, f->s, f->best.choice);
}

/* Budgets and overlap are searches of their own. */
static bool
check_options(struct pass_run *run)
{
	static const char *const own[] = {"budget", "overlap"};
	const bool asked[] = {pass_size(run, "budget") > 0, pass_bool(run, "overlap")};
	const bool plain = pass_enum(run, "policy") == BEST && pass_enum(run, "engine") == DOPT;

	for (int i = 0; i < 2; i++)
		if (asked[i] && (!plain || asked[!i])) {
			diag_error(run->ctx->diag, pass_option_loc(run, own[i]),
				"parallelize: '%s' needs policy=best and engine=dopt, and no '%s'",
				own[i], own[!i]);
			return false;
		}
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const struct cost_options generic = {0};
	struct search f = {.run = run,
		.sweeps = (uint32_t)pass_int(run, "sweeps"),
		.gap = pass_float(run, "gap")};
	struct parallel_axes axes;

	if (!check_options(run))
		return false;
	if (!find_axes(run, m, &axes))
		return false;
	if (!axes.n)
		return true;
	const struct cost_model *model =
		run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &generic);
	struct parallel_costs *costs = model ? parallel_costs_create(run->scratch, model, m) : NULL;
	if (!costs)
		return false;
	f.s = parallel_step_create(run->scratch, costs, m, &axes);
	search_plans(&f);
	/* Equal sums in other orders are rounded otherwise. */
	if (f.best.cost - f.best.bound < rounding * f.best.cost)
		f.best.bound = f.best.cost;
	if (pass_remarks_wanted(run))
		remark_plan(&f);
	pass_count(run, "op(s) laid out", f.s->problem.nnodes);
	return parallel_apply(run, f.s, f.best.choice);
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "best",
		"best: the fastest plan found; data: the best one that splits the batch over all axes and copies "
		"params; megatron: the best one that does so over the first axis and splits matrices over the others",
		CHOICE_LIST(POLICIES), 0, 0},
	{"engine", PASS_ENUM, "dopt",
		"dopt: messages between ops, with a bound; exhaust: the optimum, on small steps; random: any plan, for "
		"tests",
		CHOICE_LIST(ENGINES), 0, 0},
	{"budget", PASS_SIZE, "0",
		"bytes on a device for inputs, params, states and what the backward pass reads of the forward pass; 0: "
		"any; with policy=best and engine=dopt",
		NULL, 0, 0},
	{"overlap", PASS_BOOL, "false",
		"count messages as hidden behind kernels: the larger of both is minimized, in place of the sum; with "
		"policy=best and engine=dopt",
		NULL, 0, 0},
	{"axes", PASS_AXES, "", "device axes to split over; all if not given", NULL, 0, 0},
	{"gap", PASS_FLOAT, "0.001",
		"stop when the plan is proven to take at most this share more than the best one",
		NULL, 0, 1},
	{"sweeps", PASS_INT, "300", "limit on the sweeps of engine dopt", NULL, 1, 10000},
	{"seed", PASS_INT, "1", "seed of engine random", NULL, 0, 0},
	{0},
};

const struct pass pass_parallelize = {
	.name = "parallelize",
	.family = "parallelize",
	.summary =
		"choose for each op and device axis how the op is split, with a lower bound on what any plan costs",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
	.keeps_bits = true,
};
