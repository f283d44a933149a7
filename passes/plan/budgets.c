/*
 * Smaller budgets. A pass that uses the memory that is left decides otherwise with more of it, and
 * moves take another way: the search for a large budget can end at a slower step than that for a
 * smaller one, which fits, too. So the plan for a budget B is the better one of what a search
 * within B finds and of the plan for the next smaller budget of a fixed series:
 *
 *     plan(B) = the better of search(B), plan(next(B))       next(80GB) = 40GB, next(40GB) = 20GB
 *
 * By that, more budget does not make a plan slower than that for a budget of the series. Another
 * search takes as long as the first, so plan(next(B)) is left out
 *
 *  - if nothing that search(B) has seen fits into it and is nearly as fast, or steps fit into B with more
 *    micro-batches alone: memory is short;
 *  - if all that fits into B fits into it, too: the search would be the same;
 *  - if the searches so far have taken what one search may;
 *  - where steps are not estimated: DLRM's search would take five times as long.
 */
#include "ir/base/clock.h"
#include "passes/plan/plan.h"

#include <math.h>

/* The series is each of these times a power of ten: at most a few budgets below that of a device. */
static const double series[] = {4, 2, 1};

/* A step of the smaller budget is nearly as fast if it takes at most that much longer: estimates are
 * off by less, mostly. */
static const double nearly = 0.02;

/* The largest one of the series that is below the limit. */
static double
next_below(double limit)
{
	const double power = pow(10, floor(log10(limit)));

	for (size_t i = 0; i < sizeof series / sizeof *series; i++)
		if (series[i] * power < limit)
			return series[i] * power;
	return series[0] * power / 10;
}

static bool
has_effort(const struct planner *p)
{
	return p->spent < PLAN_MOST_EFFORT && clock_seconds() < p->ends;
}

double
plan_smaller_budget(const struct planner *p, const struct plan_candidate *best)
{
	if (!p->blocks || p->divided || p->objective != PLAN_TIME || isinf(p->limit) ||
		!plan_fits(p, best) || !has_effort(p))
		return 0;
	const double next = floor(next_below(p->limit));
	bool near = false, differs = false;
	for (int64_t i = 0; i < p->candidate.n; i++) {
		const struct plan_candidate *c = &p->candidate.at[i];
		const bool fits = plan_fits(p, c), less = fits && (double)c->r.peak <= next;
		near |= less && c->r.seconds <= (1 + nearly) * best->r.seconds;
		differs |= fits && !less;
	}
	return near && differs ? next : 0;
}
