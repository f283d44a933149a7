/* The plans that parallelize finds on a mesh, and which of them it keeps: see parallelize.c. */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/split/overlap.h"
#include "passes/parallel/split/published.h"
#include "passes/parallel/split/reduce.h"
#include "passes/parallel/split/within.h"

#include <math.h>

/* Limit on the entries of the largest table of engine exhaust, which takes some tenths of a
 * second. */
enum { EXHAUST_ENTRIES = 1 << 18 };

/* Draws for each op a choice that is reachable from those of the ops before. */
static void
draw_choices(const struct parallel_search *f, const struct split_problem *p,
	struct split_solution *drawn, uint64_t random)
{
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
				fits = e->end[0] > i || split_edge_cost(e, drawn->choice[e->end[0]],
								x) < SPLIT_NEVER;
			}
			if (fits && mix64_below(&random, ++seen) == 0)
				drawn->choice[i] = (uint16_t)x;
		}
	}
	drawn->cost = split_cost(p, drawn->choice);
}

/* Keeps the solution as the plan of the policy, if it is the cheapest, or the first that fits. */
static void
keep(struct parallel_search *f, const struct parallel_plan *p)
{
	struct parallel_plan *plan = &f->plan[p->policy];

	if (!plan->s || p->fits > plan->fits ||
		(p->fits == plan->fits && p->found.cost < plan->found.cost))
		*plan = *p;
}

/* The problem of the step in which bytes have had prices; NULL: there is none. */
static struct split_priced *
find_priced(const struct parallel_search *f, const struct parallel_step *s, int kind)
{
	for (int64_t i = 0; i < f->priced.n; i++)
		if (f->priced.at[i].s == s && f->priced.at[i].kind == kind)
			return f->priced.at[i].problem;
	return NULL;
}

/* Bytes have had prices in this problem of the step, or get them now. */
static struct split_priced *
priced(struct parallel_search *f, const struct parallel_step *s, const struct split_problem *p,
	int kind)
{
	struct split_priced *w = find_priced(f, s, kind);

	if (w)
		return w;
	struct split_problem *copy = NEW(f->run->scratch, struct split_problem);
	*copy = *p;
	w = split_priced_create(f->run->scratch, copy, s->bytes);
	VEC_PUSH(f->run->scratch, &f->priced, (struct parallel_priced){s, kind, w});
	return w;
}

uint32_t
parallel_spread(struct parallel_search *f, const struct parallel_step *s,
	const struct split_problem *p, int kind, uint32_t most, uint32_t sweeps, double gap,
	struct split_solution **found)
{
	const void *owner = f->run->scratch;
	struct split_priced *w = priced(f, s, p, kind);
	const uint32_t n = split_priced_spread(w, most, sweeps, gap);

	*found = ARRAY_NEW(owner, struct split_solution, n);
	for (uint32_t i = 0; i < n; i++)
		(*found)[i] = split_priced_tried(owner, w, i);
	return n;
}

bool
parallel_mix(struct parallel_search *f, const struct parallel_step *s, int kind, double limit,
	struct split_solution *found)
{
	const struct split_priced *w = find_priced(f, s, kind);

	return w && split_priced_mix(f->run->scratch, w, limit, found);
}

/* Messages are kept for problems of the steps that have become plans alone. */
static void
drop_messages(struct parallel_search *f)
{
	for (int64_t i = 0; i < f->priced.n; i++) {
		bool plan = false;
		for (int k = 0; k < PARALLEL_NPOLICIES; k++)
			plan |= f->plan[k].s == f->priced.at[i].s;
		if (!plan)
			split_priced_drop(f->priced.at[i].problem);
	}
}

static bool
solve_within(struct parallel_search *f, const struct parallel_step *s,
	const struct split_problem *p, int kind, struct split_solution *found, uint32_t sweeps,
	double gap)
{
	const bool fits = split_priced_solve(
		f->run->scratch, priced(f, s, p, kind), f->budget, sweeps, gap, &f->price, found);

	f->need = fmin(f->need, split_bytes(p, s->bytes, found->choice));
	f->least_need = fmin(f->least_need, split_least_bytes(&s->problem, s->bytes));
	return fits;
}

bool
parallel_solve(struct parallel_search *f, const struct parallel_step *s,
	const struct split_problem *p, int kind, uint32_t sweeps, double gap,
	struct split_solution *found)
{
	const void *owner = f->run->scratch;

	if (f->budget == 0) {
		*found = split_solve(owner, p, sweeps, gap, INFINITY);
		return true;
	}
	if (solve_within(f, s, p, kind, found, sweeps, gap) || f->strict)
		return found->bound < INFINITY &&
		       split_bytes(p, s->bytes, found->choice) <= f->budget;
	*found = split_priced_free(owner, priced(f, s, p, kind), sweeps, gap);
	return false;
}

/* Candidates of a published engine on a mesh without `dopt -evaluations`: about a second. */
enum { PUBLISHED_CANDIDATES = 200000 };

/* The choices of the reduced problem that correspond to those of the original, or 0 if those were
 * excluded. */
static uint16_t *
reduced_choices(const void *owner, const struct split_reduced *r, const uint16_t *choice)
{
	uint16_t *start = ARRAY_ZERO(owner, uint16_t, r->problem.nnodes);

	for (uint32_t i = 0; i < r->problem.nnodes; i++)
		for (uint32_t x = 0; x < r->problem.node[i].n; x++)
			if (r->choice[i][x] == choice[r->node[i]])
				start[i] = (uint16_t)x;
	return start;
}

/* The engines work on the reduced problem: params, optimizer and other nodes with few neighbours
 * get the best choices. */
struct split_solution
parallel_published(struct parallel_search *f, const struct parallel_step *s,
	enum parallel_engine engine, uint64_t candidates)
{
	const void *owner = f->run->scratch;
	const struct split_reduced *r = split_reduce(owner, &s->problem);
	const struct split_problem data = parallel_policy_problem(owner, s, PARALLEL_DATA);
	const struct split_solution start = split_solve(owner, &data, f->sweeps, f->gap, INFINITY);
	bool *leads = ARRAY_ZERO(owner, bool, r->problem.nnodes);
	struct split_published p = {
		&r->problem, leads, candidates, reduced_choices(owner, r, start.choice), 0};

	for (uint32_t i = 0; i < r->problem.nnodes; i++) {
		const struct ir_op *op = s->op.at[r->node[i]];
		leads[i] = s->forward[op->id] && !op_is(op, TRAIT_NAMED);
	}
	if (engine == PARALLEL_MCMC)
		split_mcmc(&p, (uint64_t)pass_int(f->run, "seed"));
	else
		split_unity(&p);
	f->candidates += p.candidates;
	struct split_solution found = {
		ARRAY_NEW(owner, uint16_t, s->problem.nnodes), 0, -INFINITY, 0};
	split_expand(r, p.choice, found.choice);
	found.cost = split_cost(&s->problem, found.choice);
	return found;
}

/* If the messages leave a gap to the bound, as on axes that split one batch, small steps are
 * eliminated op by op, in tenths of a second; not while meshes are compared, with few sweeps. */
enum { PROVEN_NODES = 1000, PROVEN_SWEEPS = 100 };
static const double wide_gap = 0.01;

static void
prove(const struct parallel_search *f, const struct split_problem *p, struct split_solution *found)
{
	struct split_solution best;

	if (f->engine != PARALLEL_DOPT || f->sweeps < PROVEN_SWEEPS || p->nnodes > PROVEN_NODES ||
		found->cost <= found->bound + wide_gap * fabs(found->bound) ||
		!split_exhaust(f->run->scratch, p, EXHAUST_ENTRIES, &best))
		return;
	best.sweeps = found->sweeps;
	best.bound = best.cost;
	*found = best;
}

static void
solve_free(struct parallel_search *f, const struct parallel_step *s, struct split_solution *found)
{
	const struct split_problem *p = &s->problem;
	const bool only = f->policy == PARALLEL_BEST && f->plan[PARALLEL_BEST].s;

	if (f->engine == PARALLEL_RANDOM) {
		draw_choices(f, p, found, (uint64_t)pass_int(f->run, "seed"));
		return;
	}
	if (f->engine == PARALLEL_UNITY || f->engine == PARALLEL_MCMC) {
		const uint64_t most = pass_evaluations(f->run);
		*found = parallel_published(f, s, f->engine, most ? most : PUBLISHED_CANDIDATES);
		return;
	}
	if (pass_bool(f->run, "overlap")) {
		*found = split_solve_overlap(f->run->scratch, p, f->sweeps, f->gap);
		return;
	}
	*found = split_solve(f->run->scratch, p, f->sweeps, f->gap,
		only ? f->plan[PARALLEL_BEST].found.cost : INFINITY);
	if (!only)
		prove(f, p, found);
	if (f->engine != PARALLEL_EXHAUST)
		return;
	if (split_exhaust(f->run->scratch, p, EXHAUST_ENTRIES, found))
		found->bound = found->cost;
	else
		pass_remark(f->run, NULL, PASS_MISSED,
			"the step is too large to eliminate op by op: the plan is that of engine dopt");
}

/* Searches what the policies allow. Their plans are also candidates among all plans, unless the
 * bound excludes it. */
static void
solve_policies(struct parallel_search *f, struct parallel_step *s, struct split_solution *free,
	uint32_t cuts)
{
	const bool judged =
		f->first->kind >= 0 && pass_bool(f->run, "known") && !pass_bool(f->run, "replay");

	for (enum parallel_policy i = PARALLEL_DATA; i < PARALLEL_NPOLICIES; i++) {
		if (f->policy != i &&
			(f->policy != PARALLEL_BEST || (judged && f->first->kind != (int)i)))
			continue;
		const struct split_problem p = parallel_policy_problem(f->run->scratch, s, i);
		const struct parallel_plan *known = &f->plan[i];
		struct split_solution found;
		bool fits = true;
		if (f->budget > 0)
			fits = solve_within(f, s, &p, (int)i, &found, f->sweeps, f->gap);
		else
			found = split_solve(f->run->scratch, &p, f->sweeps, f->gap,
				known->s ? known->found.cost : INFINITY);
		f->least[i] = fmin(f->least[i], found.bound);
		if (isinf(found.bound) && f->policy != i)
			continue;
		found.cost = split_cost(&s->problem, found.choice);
		found.bound = free->bound;
		found.sweeps = free->sweeps;
		struct parallel_plan plan = {.name = parallel_policy_name(i),
			.policy = i,
			.s = s,
			.cuts = cuts,
			.found = found,
			.kind = (int)i,
			.fits = fits};
		VEC_PUSH(f->run->scratch, &f->all, plan);
		keep(f, &plan);
		plan.policy = PARALLEL_BEST;
		if (f->policy == PARALLEL_BEST)
			keep(f, &plan);
	}
}

static double
work_of(const struct split_problem *p)
{
	double work = 0;

	for (uint32_t e = 0; e < p->nedges; e++)
		work += (double)p->edge[e].table->rows * p->edge[e].table->columns;
	return work;
}

bool
parallel_search_mesh(
	struct parallel_search *f, const struct parallel_axes *axes, uint32_t cuts, double *cost)
{
	struct parallel_costs *costs =
		parallel_costs_create(f->run->scratch, f->model, f->m, f->memo);
	struct split_solution free = {NULL, 0, -INFINITY, 0};
	bool fits = true;

	if (!costs)
		return false;
	struct parallel_step *s =
		parallel_step_create(f->run->scratch, costs, f->m, axes, f->indices);
	f->excludes = f->excludes || s->excludes;
	f->work = work_of(&s->problem);
	if (f->budget > 0) {
		fits = parallel_solve(f, s, &s->problem, PARALLEL_BEST, f->sweeps, f->gap, &free);
		/* The bound is that of plans that fit. Plans that do not fit may do so after the
		 * passes that follow. */
		if (!fits)
			free.bound = -INFINITY;
	} else {
		/* Every op in its current layout: the whole step on each device. */
		free.choice = ARRAY_ZERO(f->run->scratch, uint16_t, s->problem.nnodes);
		solve_free(f, s, &free);
	}
	const struct parallel_plan best = {.name = parallel_policy_name(PARALLEL_BEST),
		.policy = PARALLEL_BEST,
		.s = s,
		.cuts = cuts,
		.found = free,
		.kind = PARALLEL_BEST,
		.fits = fits};
	VEC_PUSH(f->run->scratch, &f->all, best);
	keep(f, &best);
	if (!pass_bool(f->run, "overlap") && f->engine <= PARALLEL_EXHAUST)
		solve_policies(f, s, &free, cuts);
	drop_messages(f);
	const struct parallel_plan *plan = &f->plan[f->policy];
	*cost = plan->s == s ? plan->found.cost : INFINITY;
	return true;
}

void
parallel_search_again(struct parallel_search *f)
{
	for (enum parallel_policy i = PARALLEL_BEST; i < PARALLEL_NPOLICIES; i++) {
		struct parallel_plan *plan = &f->plan[i];
		if (!plan->s)
			continue;
		const struct split_problem *all = &plan->s->problem;
		const struct split_problem p =
			i == PARALLEL_BEST ? *all
					   : parallel_policy_problem(f->run->scratch, plan->s, i);
		struct split_solution found;
		const bool fits = parallel_solve(f, plan->s, &p, (int)i, f->sweeps, f->gap, &found);
		if (i == PARALLEL_BEST && fits && f->budget == 0)
			prove(f, &p, &found);
		if (i == PARALLEL_BEST && fits) {
			plan->found.bound = fmax(plan->found.bound, found.bound);
			plan->found.sweeps = found.sweeps;
		}
		found.cost = split_cost(all, found.choice);
		if (fits >= plan->fits && found.cost < plan->found.cost) {
			plan->found.choice = found.choice;
			plan->found.cost = found.cost;
		}
	}
}
