/* See within.h. */
#include "passes/parallel/split/within.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* The first price is the cost per byte of the cheapest solution. It is raised repeatedly by a
 * factor until something fits; then the interval is halved several times, or once if a price was
 * known. */
enum { RAISES = 12, HALVES = 5 };
static const double raise = 8;

struct within {
	const struct split_problem *p;
	const double *const *bytes;
	double limit, least; /* least: bytes of the solution, if it does not fit */
	uint32_t sweeps;
	double gap;
	struct split_solution *best;
	bool fits;
};

double
split_bytes(const struct split_problem *p, const double *const *bytes, const uint16_t *choice)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nnodes; i++)
		sum += bytes[i][choice[i]];
	return sum;
}

double
split_least_bytes(const struct split_problem *p, const double *const *bytes)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nnodes; i++) {
		double least = INFINITY;
		for (uint32_t x = 0; x < p->node[i].n; x++)
			if (p->node[i].cost[x] < SPLIT_NEVER)
				least = fmin(least, bytes[i][x]);
		sum += least;
	}
	return sum;
}

static double
most_bytes(const struct within *w)
{
	double sum = 0;

	for (uint32_t i = 0; i < w->p->nnodes; i++) {
		double most = 0;
		for (uint32_t x = 0; x < w->p->node[i].n; x++)
			most = fmax(most, w->bytes[i][x]);
		sum += most;
	}
	return sum;
}

static void
take(struct within *w, const struct split_solution *s, double bytes)
{
	const double cost = split_cost(w->p, s->choice);
	const bool fits = bytes <= w->limit;

	if (fits ? w->fits && cost >= w->best->cost : w->fits || bytes >= w->least)
		return;
	memcpy(w->best->choice, s->choice, w->p->nnodes * sizeof *s->choice);
	w->best->cost = cost;
	w->least = bytes;
	w->fits = fits;
}

/* Solves with that price; returns the bytes of the solution. */
static double
try_price(struct within *w, double price)
{
	void *scratch = alloc_scratch(NULL);
	const struct split_problem priced = split_combine(scratch, w->p, 1, w->bytes, price);
	const struct split_solution s = split_solve(scratch, &priced, w->sweeps, w->gap, INFINITY);
	const double bytes = split_bytes(w->p, w->bytes, s.choice);
	take(w, &s, bytes);
	w->best->bound = fmax(w->best->bound, s.bound - price * w->limit);
	w->best->sweeps += s.sweeps;
	talloc_free(scratch);
	return bytes;
}

static bool
is_near(const struct within *w)
{
	return w->best->cost <= w->best->bound + w->gap * fabs(w->best->bound);
}

bool
split_solve_within(const void *owner, const struct split_problem *p, const double *const *bytes,
	double limit, uint32_t sweeps, double gap, double *price, struct split_solution *solution)
{
	struct within w = {p, bytes, limit, INFINITY, sweeps, gap, solution, false};

	*solution = (struct split_solution){
		ARRAY_ZERO(owner, uint16_t, p->nnodes), INFINITY, -INFINITY, 0};
	/* The cost of bytes stays far below SPLIT_NEVER. */
	const double most = SPLIT_NEVER / 10 / most_bytes(&w);
	if (split_least_bytes(p, bytes) > limit) {
		try_price(&w, most);
		solution->bound = INFINITY;
		return false;
	}
	const double first = try_price(&w, 0);
	if (w.fits)
		return true;
	const bool known = price && *price > 0;
	double low = 0, high = known ? *price : solution->cost / first;
	for (int i = 0; i < RAISES && high < most && try_price(&w, high) > limit; i++) {
		low = high;
		high *= raise;
	}
	for (int i = 0; i < (known ? 1 : HALVES) && w.fits && !is_near(&w); i++) {
		const double next = low > 0 ? sqrt(low * high) : high / raise;
		if (try_price(&w, next) > limit)
			low = next;
		else
			high = next;
	}
	if (price && w.fits)
		*price = high;
	return w.fits;
}
