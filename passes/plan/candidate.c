/* Which candidate is better, and how it is found and written: what all files of plan ask. */
#include "passes/plan/plan.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bytes beyond the limits, in both memories. */
static double
missing(const struct planner *p, const struct plan_candidate *c)
{
	return fmax(0, (double)c->r.peak - p->limit) + fmax(0, (double)c->r.host - p->host_limit);
}

bool
plan_fits(const struct planner *p, const struct plan_candidate *c)
{
	return plan_ran(c) && missing(p, c) == 0;
}

bool
plan_is_better(
	const struct planner *p, const struct plan_candidate *a, const struct plan_candidate *b)
{
	if (plan_ran(a) != plan_ran(b))
		return plan_ran(a);
	if (!plan_ran(a))
		return false;
	const double over[] = {missing(p, a), missing(p, b)};
	const bool by_time = p->objective == PLAN_TIME;
	if (over[0] != over[1])
		return over[0] < over[1];
	if (a->r.seconds != b->r.seconds && (by_time || a->r.peak == b->r.peak))
		return a->r.seconds < b->r.seconds;
	return a->r.peak < b->r.peak;
}

char *
plan_command(const struct planner *p, const struct plan_candidate *c)
{
	const char *mesh = p->base[c->base].mesh;
	const char *budget = c->budget == p->run->manager->budget
				     ? ""
				     : TEXT(p->run->scratch, "-budget=%" PRIu64 " ", c->budget);

	return TEXT(p->run->scratch, "%s%s%s%s-pass='%s'", budget, mesh ? "-mesh=" : "",
		mesh ? mesh : "", mesh ? " " : "", c->text);
}

int64_t
plan_find(const struct planner *p, int base, const char *text)
{
	for (int64_t i = 0; i < p->candidate.n; i++)
		if (p->candidate.at[i].base == base && !strcmp(p->candidate.at[i].text, text))
			return i;
	return -1;
}
