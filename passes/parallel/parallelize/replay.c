/*
 * Which plan of parallelize is fastest as a step: each is put into a copy of the module, the passes
 * that follow in the pipeline are run, and the step is replayed. So overlap, savings by fusion and
 * gathers that are moved early count, and a change of layout counts once for all of its readers. A
 * plan that fits into -budget then is better than one that does not. Replayed are the cheapest
 * plans by the sum of kernels and messages, those of the
 * policies and of Unity's search, and plans for other weights: kernels less, as fused ones take
 * less, or more, as messages are hidden by them; gathers of params and sums of gradients less, as
 * they do not wait for activations and no activation waits for them. So the step is not slower than
 * that of any policy.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/memory/storage.h"
#include "ir/base/mix.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/memory.h"
#include "passes/attempt/attempt.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/split/within.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* Weights of kernels, and of messages that can overlap most kernels (parallel_step.hidden); other
 * messages have weight 1. */
static const struct weights {
	double kernels, hidden;
} weights[] = {{0.25, 1}, {4, 1}, {4, 0.5}, {1, 0.1}, {1, 0}};
enum { WEIGHTS = sizeof weights / sizeof *weights };

/* For each policy the cheapest plans of all meshes are replayed as long as they have at most this
 * many ops together: less than a second. One plan is replayed in any case. */
static const double most_ops = 6e4;

/* With other weights on the cheapest meshes, with the same limit. */
static const double weights_ops = 1.5e4;

/* Plans found by Unity's search on the cheapest meshes are replayed as long as they have at most
 * this many ops together: that takes some tenths of a second. */
enum { UNITY_CANDIDATES = 20000 };
static const double unity_ops = 8000;

/* In larger steps the passes that follow count live bytes, without placing buffers, which takes longer
 * than all else. What the plan needs is then compared with the budget as placed. */
static const double exact_ops = 3000;

/* Their problems need no proof: a few sweeps bring them near enough. */
enum { WEIGHTED_SWEEPS = 6 };
static const double weighted_gap = 0.01;

struct candidate {
	struct parallel_plan plan;
	unsigned policies; /* a set of the policies that have this plan */
};

struct candidates VEC(struct candidate);

const char *
parallel_finish(const struct pass_run *run)
{
	return pass_given(run, "finish") ? pass_string(run, "finish")
					 : pass_rest(run, "opfuse", NULL);
}

/* Where no plan fits, those that exceed the budget by the same number of this share of it, rounded
 * up, are compared by time: passes that come later change bytes by more than that. */
static const double over_share = 0.01;

bool
parallel_is_better(const struct parallel_search *f, const struct parallel_plan *a,
	const struct parallel_plan *b)
{
	const double step = over_share * fmax(1, (double)pass_budget(f->run)),
		     x = ceil(a->over / step), y = ceil(b->over / step);

	return x != y ? x < y : a->seconds < b->seconds;
}

struct replayed {
	uint32_t cuts;
	bool again;
	const uint16_t *choice; /* [n] */
	uint32_t n;
	double seconds, excess; /* excess: bytes beyond the budget; NAN: not measured */
	bool kept;              /* plan->again would make a difference */
};

struct parallel_replays {
	struct VEC(struct replayed) at;
};

/* The entry for the step of the plan, added if there is none; its seconds are then NAN. */
static struct replayed *
replayed_of(struct parallel_search *f, const struct parallel_plan *plan)
{
	const uint32_t n = plan->s->problem.nnodes;
	struct parallel_replays *r = f->replays;

	for (int64_t i = 0; i < r->at.n; i++) {
		struct replayed *x = &r->at.at[i];
		if (x->cuts == plan->cuts && x->again == plan->again && x->n == n &&
			!memcmp(x->choice, plan->found.choice, n * sizeof *x->choice))
			return x;
	}
	VEC_PUSH(r, &r->at,
		(struct replayed){plan->cuts, plan->again,
			COPY_ARRAY(r, uint16_t, plan->found.choice, n), n, NAN, NAN, false});
	return &VEC_LAST(&r->at);
}

/* Replays the step; its memory is measured if the plan could replace `best`. */
static void
replay_step(struct parallel_search *f, const struct parallel_meshes *meshes,
	const struct parallel_plan *best, struct parallel_plan *plan, struct replayed *x)
{
	struct ir_module *copy = ir_module_clone(NULL, f->m);
	const bool before = diag_mute(f->run->ctx->diag, true);
	const double budget = (double)pass_budget(f->run);
	struct parallel_axes axes;
	struct attempt_result r = {.seconds = INFINITY};

	if (meshes)
		parallel_meshes_set(meshes, plan->cuts, copy, &axes);
	if (parallel_apply(f->run, plan, copy, &x->kept))
		attempt_on(f->manager, f->model, copy, f->passes, &r);
	x->seconds = plan->seconds = r.seconds;
	if (isfinite(r.seconds) && budget > 0 &&
		(!best->seconds || parallel_is_better(f, plan, best)))
		x->excess = fmax(0, (double)memory_peak(copy, cost_model_storage(f->model),
					    pass_budget(f->run)) -
					    budget);
	diag_mute(f->run->ctx->diag, before);
	talloc_free(copy);
}

/* Sets plan->seconds and plan->over; returns whether plan->again would make a difference. */
static bool
replay_once(struct parallel_search *f, const struct parallel_meshes *meshes,
	const struct parallel_plan *best, struct parallel_plan *plan)
{
	struct replayed *x = replayed_of(f, plan);
	const double budget = (double)pass_budget(f->run);

	plan->over = f->strict && !plan->fits
			     ? split_bytes(&plan->s->problem, plan->s->bytes, plan->found.choice)
			     : 0;
	plan->seconds = x->seconds;
	if (isnan(x->seconds) || (isnan(x->excess) && budget > 0 && isfinite(x->seconds) &&
					 (!best->seconds || parallel_is_better(f, plan, best))))
		replay_step(f, meshes, best, plan, x);
	if (!isnan(x->excess))
		plan->over += x->excess;
	return x->kept;
}

/* If the step does not fit, what the forward pass gathers may be gathered again: that makes it no
 * faster. */
static void
replay(struct parallel_search *f, const struct parallel_meshes *meshes,
	const struct parallel_plan *best, struct parallel_plan *plan)
{
	plan->again = false;
	const bool kept = replay_once(f, meshes, best, plan),
		   fits = best->seconds > 0 && best->over == 0;
	struct parallel_plan again = *plan;

	if (!kept || plan->over == 0 || (fits && plan->seconds >= best->seconds))
		return;
	again.again = true;
	replay_once(f, meshes, best, &again);
	if (parallel_is_better(f, &again, plan))
		*plan = again;
}

static void
add(const void *owner, struct candidates *all, const struct parallel_plan *plan)
{
	for (int64_t i = 0; i < all->n; i++)
		if (all->at[i].plan.s == plan->s &&
			!memcmp(all->at[i].plan.found.choice, plan->found.choice,
				plan->s->problem.nnodes * sizeof *plan->found.choice)) {
			all->at[i].policies |= 1u << plan->policy;
			return;
		}
	VEC_PUSH(owner, all, (struct candidate){*plan, 1u << plan->policy});
}

ORDER_BY(by_cost, struct parallel_plan, UP(found.cost), UP(cuts), UP(policy))

/* --- weights of messages ---------------------------------------------------------------------- */

struct scaled {
	const struct split_table *of;
	double factor;
	struct split_table *table;
};

MAP_SAME(same_scaled, struct scaled, struct scaled,
	list[i].of == key->of && list[i].factor == key->factor)

static double *
scale_costs(const void *owner, const double *cost, size_t n, double factor)
{
	double *scaled = ARRAY_NEW(owner, double, n);

	for (size_t i = 0; i < n; i++)
		scaled[i] = cost[i] < SPLIT_NEVER ? factor * cost[i] : SPLIT_NEVER;
	return scaled;
}

/* The problem with the costs of each edge scaled. Edges that share a table still share it. */
static struct split_problem
scale_edges(const void *owner, const struct split_problem *p, const double *factor)
{
	struct split_problem scaled = *p;
	struct split_edge *edge = COPY_ARRAY(owner, struct split_edge, p->edge, p->nedges);
	struct VEC(struct scaled) list = {0};
	struct map map = {0};

	for (uint32_t e = 0; e < p->nedges; e++) {
		const struct split_table *t = edge[e].table;
		const struct scaled key = {t, factor[e], NULL};
		if (factor[e] == 1)
			continue;
		const uint64_t hash = mix_bytes(mix_pointer(t), &key.factor, sizeof key.factor);
		const uint32_t i = map_add(owner, &map, hash, same_scaled, list.at, &key);
		if (i == list.n) {
			const size_t n = (size_t)t->rows * t->columns;
			VEC_PUSH(owner, &list, key);
			list.at[i].table = NEW(owner, struct split_table);
			*list.at[i].table = (struct split_table){t->rows, t->columns,
				scale_costs(owner, t->cost, n, factor[e]),
				scale_costs(owner, t->flipped, n, factor[e])};
		}
		edge[e].table = list.at[i].table;
	}
	scaled.edge = edge;
	return scaled;
}

static struct split_problem
weigh(const void *owner, const struct parallel_step *s, const struct weights *w)
{
	double *factor = ARRAY_NEW(owner, double, s->problem.nedges);

	for (uint32_t e = 0; e < s->problem.nedges; e++)
		factor[e] = s->hidden[e] ? w->hidden : 1;
	return scale_edges(owner, &s->problem, factor);
}

/* --- candidates ----------------------------------------------------------------------------- */

/* weights[which]; WEIGHTS: all 1. */
static struct weights
weights_of(int which)
{
	return which < WEIGHTS ? weights[which] : (struct weights){1, 1};
}

static struct split_problem
weighted_problem(const void *owner, const struct parallel_step *s, int which)
{
	const struct weights w = weights_of(which);
	const struct split_problem p = weigh(owner, s, &w);

	return split_combine(owner, &p, w.kernels, NULL, 0);
}

/* Adds the plan with the choices that were found for these weights. */
static void
add_found(struct parallel_search *f, struct candidates *all, struct parallel_plan plan, int which,
	uint16_t *choice)
{
	const struct weights w = weights_of(which);

	plan.name = TEXT(f->run->scratch, "kernels times %g", w.kernels);
	if (w.hidden < 1)
		plan.name = TEXT(f->run->scratch, "%s, messages of params and gradients times %g",
			plan.name, w.hidden);
	plan.kind = PARALLEL_NPOLICIES + which;
	plan.found.choice = choice;
	plan.found.cost = split_cost(&plan.s->problem, choice);
	add(f->run->scratch, all, &plan);
}

static void
add_weighted(
	struct parallel_search *f, struct candidates *all, struct parallel_plan plan, int which)
{
	const struct split_problem p = weighted_problem(f->run->scratch, plan.s, which);
	struct split_solution found;

	plan.fits = parallel_solve(
		f, plan.s, &p, PARALLEL_NPOLICIES + which, WEIGHTED_SWEEPS, weighted_gap, &found);
	add_found(f, all, plan, which, found.choice);
}

static void
add_unity(struct parallel_search *f, struct candidates *all, struct parallel_plan plan)
{
	const struct split_solution found =
		parallel_published(f, plan.s, PARALLEL_UNITY, UNITY_CANDIDATES);

	plan.name = "unity";
	plan.kind = PARALLEL_BEST;
	plan.fits = f->budget == 0 ||
		    split_bytes(&plan.s->problem, plan.s->bytes, found.choice) <= f->budget;
	plan.found.choice = found.choice;
	plan.found.cost = found.cost;
	add(f->run->scratch, all, &plan);
}

bool
parallel_is_large(const struct parallel_search *f, double nodes)
{
	const struct storage_target *target = cost_model_storage(f->model);

	return (target && target->rough) || f->plan[f->policy].s->problem.nnodes > nodes;
}

/* Candidates for the k-th mesh, from 0: with other weights, and from Unity's search. */
static void
add_others(
	struct parallel_search *f, struct candidates *all, const struct parallel_plan *plan, int k)
{
	const double ops = (double)plan->s->problem.nnodes * (k + 1);

	for (int i = 0; i < WEIGHTS; i++)
		if (k == 0 || ops <= weights_ops)
			add_weighted(f, all, *plan, i);
	if (ops <= unity_ops && !parallel_is_large(f, unity_ops))
		add_unity(f, all, *plan);
}

static struct candidates
list_candidates(struct parallel_search *f)
{
	struct candidates all = {0};
	double ops[PARALLEL_NPOLICIES] = {0};
	int meshes = 0;

	/* The plan of PARALLEL_BEST is last: it may be equal to that of a policy. */
	for (int i = PARALLEL_NPOLICIES - 1; i >= PARALLEL_BEST; i--)
		if (f->plan[i].s && (f->policy == PARALLEL_BEST || (int)f->policy == i))
			add(f->run->scratch, &all, &f->plan[i]);
	qsort(f->all.at, (size_t)f->all.n, sizeof *f->all.at, by_cost);
	for (int64_t i = 0; i < f->all.n; i++) {
		const struct parallel_plan *plan = &f->all.at[i];
		const bool others = plan->policy == PARALLEL_BEST && f->engine == PARALLEL_DOPT;
		if (f->policy != PARALLEL_BEST && f->policy != plan->policy)
			continue;
		const double before = ops[plan->policy];
		ops[plan->policy] += plan->s->problem.nnodes;
		if (before > 0 && ops[plan->policy] > most_ops)
			continue;
		add(f->run->scratch, &all, plan);
		if (others)
			add_others(f, &all, plan, meshes++);
	}
	return all;
}

/* Replays candidates from the first on; the one with the fastest step becomes the plan of the
 * policy. */
static void
replay_from(struct parallel_search *f, const struct parallel_meshes *meshes, struct candidates *all,
	int64_t first)
{
	struct parallel_plan *best = &f->plan[f->policy];

	for (int64_t i = first; i < all->n; i++) {
		struct parallel_plan *plan = &all->at[i].plan;
		replay(f, meshes, best, plan);
		for (enum parallel_policy k = PARALLEL_BEST; k < PARALLEL_NPOLICIES; k++) {
			double *least = &f->plan[k].seconds;
			if (k != f->policy && all->at[i].policies >> k & 1 && plan->over == 0)
				*least = *least > 0 ? fmin(*least, plan->seconds) : plan->seconds;
		}
		if (!best->seconds || parallel_is_better(f, plan, best)) {
			*best = *plan;
			best->policy = f->policy;
		}
	}
}

/* If no replayed step fits: searches for plans that need less by the missing amount. */
enum { TIGHTER_ROUNDS = 2 };

static void
tighten(struct parallel_search *f, const struct parallel_meshes *meshes, struct candidates *all)
{
	const struct parallel_plan *best = &f->plan[f->policy];

	for (int round = 0; round < TIGHTER_ROUNDS && best->over > 0; round++) {
		const int64_t first = all->n;
		struct parallel_plan plan = *best;
		f->budget = split_bytes(&plan.s->problem, plan.s->bytes, plan.found.choice) -
			    best->over;
		if (f->budget <= 0)
			return;
		add_weighted(f, all, plan, WEIGHTS);
		for (int i = 0; i < WEIGHTS; i++)
			add_weighted(f, all, plan, i);
		replay_from(f, meshes, all, first);
	}
}

/* Plans that need this share of the bytes of the fastest one that fits: the sum of costs does not see
 * that what is split more is gathered while kernels run. */
static const double slimmer = 0.9;

static void
slim(struct parallel_search *f, const struct parallel_meshes *meshes, struct candidates *all)
{
	const struct parallel_plan plan = f->plan[f->policy];
	const double bytes = split_bytes(&plan.s->problem, plan.s->bytes, plan.found.choice);
	const int64_t first = all->n;

	f->budget = fmin(f->budget, slimmer * bytes);
	for (int i = 0; i < WEIGHTS; i++)
		add_weighted(f, all, plan, i);
	replay_from(f, meshes, all, first);
}

/* For small steps, plans of all sizes that fit, found with this many prices for each of the weights.
 * On one mesh they are the same for any budget, so that more of it hardly ever gives a slower step. */
enum { SPREAD = 8 };
static const double spread_ops = 300;

static void
spread(struct parallel_search *f, const struct parallel_meshes *meshes, struct candidates *all,
	double budget)
{
	struct parallel_plan plan = f->plan[f->policy];
	const int64_t first = all->n;

	for (int w = 0; w <= WEIGHTS; w++) {
		const struct split_problem p = weighted_problem(f->run->scratch, plan.s, w);
		struct split_solution *found;
		/* kinds of their own: no price was found for a budget */
		const uint32_t n =
			parallel_spread(f, plan.s, &p, PARALLEL_NPOLICIES + WEIGHTS + 1 + w, SPREAD,
				WEIGHTED_SWEEPS, weighted_gap, &found);
		plan.fits = true;
		for (uint32_t i = 0; i < n; i++)
			if (split_bytes(&p, plan.s->bytes, found[i].choice) <= budget)
				add_found(f, all, plan, w, found[i].choice);
	}
	replay_from(f, meshes, all, first);
}

/* Between the fastest plan that fits and a cheaper one that does not, some of the layers change. What
 * the steps of such plans need more than the budget is taken from the limit of the next ones. */
enum { MIX_ROUNDS = 3 };

static void
mix(struct parallel_search *f, const struct parallel_meshes *meshes, struct candidates *all,
	double limit)
{
	struct parallel_plan plan = f->plan[f->policy];
	const char *name = plan.name;

	for (int round = 0; round < MIX_ROUNDS && limit > 0; round++) {
		const int64_t first = all->n;
		if (!parallel_mix(f, plan.s, plan.kind, limit, &plan.found))
			return;
		plan.name = TEXT(f->run->scratch, "%s, layers mixed", name);
		plan.found.cost = split_cost(&plan.s->problem, plan.found.choice);
		add(f->run->scratch, all, &plan);
		if (all->n == first)
			return;
		replay_from(f, meshes, all, first);
		plan.over = all->at[first].plan.over;
		if (plan.over == 0)
			return;
		limit = split_bytes(&plan.s->problem, plan.s->bytes, plan.found.choice) - plan.over;
	}
}

void
parallel_replay(struct parallel_search *f, const struct parallel_meshes *meshes)
{
	const double budget = f->budget;
	struct parallel_plan *best = &f->plan[f->policy];
	const struct parallel_plan proven = *best;
	struct candidates all = list_candidates(f);

	f->replays = f->replays ? f->replays : NEW(f->run->scratch, struct parallel_replays);
	f->passes = parallel_finish(f->run);
	f->manager = COPY_ARRAY(f->run->scratch, struct pass_manager, f->run->manager, 1);
	if (f->manager->cost && parallel_is_large(f, exact_ops))
		f->manager->cost = cost_model_rough(f->manager, f->model);
	replay_from(f, meshes, &all, 0);
	if (f->policy == PARALLEL_BEST && budget > 0 && !f->strict)
		tighten(f, meshes, &all);
	if (f->policy == PARALLEL_BEST && budget > 0 && !f->strict && best->over == 0)
		slim(f, meshes, &all);
	if (f->policy == PARALLEL_BEST && budget > 0 && best->over == 0)
		mix(f, meshes, &all, budget);
	if (f->policy == PARALLEL_BEST && budget > 0 && !f->strict && best->over == 0 &&
		!parallel_is_large(f, spread_ops))
		spread(f, meshes, &all, budget);
	f->budget = budget;
	/* The other plans have bounds from the comparison of meshes, after few sweeps. */
	if (best->s == proven.s && proven.found.bound > best->found.bound) {
		best->found.bound = proven.found.bound;
		best->found.sweeps = proven.found.sweeps;
	}
}
