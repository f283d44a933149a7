/*
 * Steps divided into more micro-batches, where no whole step fits. The fastest that needs less than twice the
 * limit is divided first, until it fits or more of them hardly save bytes; once one fits, others that are
 * faster as a whole.
 */
#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "passes/plan/plan.h"

#include <inttypes.h>

/* Where no whole step fits, the best step of up to MOST_DIVIDED families is divided into more and more
 * micro-batches, until it fits or dividing it again saves less than this share of its bytes. */
enum { MOST_DIVIDED = 3 };
static const double saved = 0.05;

/* Once one fits, only steps of at most this many ops, on average over the passes, are divided: each takes
 * up to a second. */
enum { DIVIDED_AGAIN = 10000 };

/* Passes that the moves may have left out of the whole batch, as they take memory: micro-batches take less. */
static const struct {
	enum plan_decision needs;
	const char *entry;
} again[] = {{PLAN_SHARDS, "prefetch"}, {PLAN_ORDER, "overlap"}, {PLAN_SHARDS, "unshard"}};

static void
retry(struct planner *p, struct plan_candidate c)
{
	for (size_t i = 0; i < sizeof again / sizeof *again && clock_seconds() < p->ends; i++) {
		if (!plan_decides(p, again[i].needs) ||
			pass_list_find(&c.list, again[i].entry) >= 0)
			continue;
		const struct plan_candidate made = *plan_run_with(p, c, again[i].entry);
		c = plan_is_better(p, &made, &c) ? made : c;
	}
}

static void
divide(struct planner *p, struct plan_candidate c)
{
	int64_t number[PLAN_MOST_MICROBATCHES];
	const int n = plan_microbatches(p, number);

	if (c.estimated && plan_fits(p, &c)) /* an estimate may be wrong */
		c = *plan_run_added(p, c);
	for (int k = 0; k < n && !plan_fits(p, &c) && clock_seconds() < p->ends; k++) {
		const double before = (double)c.r.peak;
		if (number[k] == 1)
			continue;
		c = *plan_run_with(
			p, c, TEXT(p->run->scratch, "accumulate{steps=%" PRId64 "}", number[k]));
		if (plan_ran(&c) && !plan_fits(p, &c) && plan_again(&c.list) == PLAN_SOME_AGAIN)
			c = *plan_run_with(p, c, PLAN_ALL_BLOCKS);
		if (!plan_ran(&c) || (double)c.r.peak > (1 - saved) * before)
			return;
	}
	if (plan_fits(p, &c))
		retry(p, c);
}

/* Two micro-batches halve what a step needs, at most: of steps that need less than twice the limit the
 * fastest is best to divide, of others the one that needs least. */
static bool
is_better_divided(
	const struct planner *p, const struct plan_candidate *a, const struct plan_candidate *b)
{
	const bool half[] = {(double)a->r.peak <= 2 * p->limit, (double)b->r.peak <= 2 * p->limit};

	return half[0] && half[1]   ? a->r.seconds < b->r.seconds
	       : half[0] || half[1] ? half[0]
				    : plan_is_better(p, a, b);
}

/* The next step to divide of the first n candidates, `fitting` the best that fits, or NULL; -1: none.
 * `done` are those that were divided, of each family one until a step fits; after that, the fastest one
 * that is not too large. */
static int64_t
next_divided(
	const struct planner *p, const struct plan_candidate *fitting, const bool *done, int64_t n)
{
	int64_t best = -1;

	for (int64_t k = 0; k < n; k++) {
		const struct plan_candidate *c = &p->candidate.at[k],
					    *other = best < 0 ? NULL : &p->candidate.at[best];
		if (!plan_ran(c) || done[k] || pass_list_find(&c->list, "accumulate") >= 0 ||
			pass_list_find(&c->list, "pipeline") >= 0)
			continue;
		bool better = false;
		if (fitting)
			better = c->r.seconds < (other ? other : fitting)->r.seconds &&
				 c->r.effort <= DIVIDED_AGAIN * (uint64_t)c->list.n;
		else
			better = !other || is_better_divided(p, c, other);
		for (int64_t i = 0; i < n && better && !fitting; i++)
			better = !done[i] || p->candidate.at[i].family != c->family;
		best = better ? k : best;
	}
	return best;
}

void
plan_divide(struct planner *p)
{
	const int64_t n = p->candidate.n;
	bool *done = ARRAY_ZERO(p->run->scratch, bool, n);

	for (int i = 0; i < MOST_DIVIDED; i++) {
		const struct plan_candidate *found = plan_best(p, false);
		const bool fits = found && plan_fits(p, found);
		const int64_t best =
			fits && !p->divided ? -1 : next_divided(p, fits ? found : NULL, done, n);
		if (best < 0)
			return;
		done[best] = p->divided = true;
		const struct plan_candidate whole = p->candidate.at[best];
		divide(p, whole);
		i -= !plan_ran(&VEC_LAST(&p->candidate)); /* refused, in no time */
	}
}
