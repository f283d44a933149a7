/* See within.h. */
#include "passes/parallel/split/within.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "passes/parallel/split/mix.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* The first price is the cost per byte of the cheapest solution. It is raised repeatedly by a
 * factor until something fits. Then up to BETWEEN prices in between are tried, or one if a price was
 * known. */
enum { RAISES = 12, BETWEEN = 5 };
static const double raise = 8;

/* Solutions of which one needs at most this share more bytes than the other are near enough. */
static const double spread_share = 0.01;

/* The best solution found at a price. */
struct tried {
	double price, cost, bytes; /* cost: without that of the bytes */
	double bound;              /* of the problem with the price */
	uint16_t *choice;
	bool closed; /* no solution is known to lie between it and that of the next price */
	struct split_messages messages; /* none, unless the next prices may be near */
	uint32_t sweeps;                /* that were allowed */
	double gap;                     /* that was asked for */
};

struct split_priced {
	const struct split_problem *p;
	const double *const *bytes;
	double most; /* the highest price: the cost of bytes stays far below SPLIT_NEVER */
	struct VEC(struct tried) tried; /* ordered by price */
	uint32_t sweeps;                /* of all prices since the last call */
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
highest_price(const struct split_problem *p, const double *const *bytes)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nnodes; i++) {
		double most = 0;
		for (uint32_t x = 0; x < p->node[i].n; x++)
			most = fmax(most, bytes[i][x]);
		sum += most;
	}
	return SPLIT_NEVER / 10 / sum;
}

struct split_priced *
split_priced_create(const void *owner, const struct split_problem *p, const double *const *bytes)
{
	struct split_priced *w = NEW(owner, struct split_priced);

	w->p = p;
	w->bytes = bytes;
	w->most = highest_price(p, bytes);
	return w;
}

/* The place of the first price that is not lower. */
static int64_t
place_of(const struct split_priced *w, double price)
{
	int64_t i = 0;

	while (i < w->tried.n && w->tried.at[i].price < price)
		i++;
	return i;
}

static double
value_of(const struct tried *t)
{
	return t->cost + t->price * t->bytes;
}

/* Adds a solution found at a price, or replaces the one of this price by the better of both. */
static void
enter(struct split_priced *w, int64_t at, struct tried t)
{
	struct tried *old = at < w->tried.n ? &w->tried.at[at] : NULL;

	if (old && old->price == t.price) {
		const struct tried worse = value_of(&t) < value_of(old) ? *old : t;
		t.bound = fmax(t.bound, old->bound);
		if (worse.choice == t.choice) {
			t.choice = old->choice;
			t.cost = old->cost;
			t.bytes = old->bytes;
		}
		array_free(worse.choice);
		array_free(old->messages.all);
		*old = t;
		return;
	}
	VEC_PUSH(w, &w->tried, t);
	for (int64_t i = w->tried.n - 1; i > at; i--)
		w->tried.at[i] = w->tried.at[i - 1];
	w->tried.at[at] = t;
}

/* Has the price been tried as thoroughly? */
static bool
is_done(const struct tried *t, uint32_t sweeps, double gap)
{
	return (t->sweeps >= sweeps && t->gap <= gap) ||
	       value_of(t) <= t->bound + gap * fabs(t->bound);
}

/* Messages for a price that is to be tried, between those of its neighbours. */
static struct split_messages
messages_for(struct split_priced *w, int64_t at, double price)
{
	static const struct split_messages none = {0};
	const struct tried *t = w->tried.at;

	if (at < w->tried.n && t[at].price == price)
		return split_messages_between(w, &t[at].messages, &none, 0);
	if (at == 0)
		return none;
	if (at == w->tried.n)
		return split_messages_between(w, &t[at - 1].messages, &none, 0);
	return split_messages_between(w, &t[at - 1].messages, &t[at].messages,
		(price - t[at - 1].price) / (t[at].price - t[at - 1].price));
}

/* Solves with that price, unless it has been tried as thoroughly; returns it, valid until the next
 * price is tried. */
static const struct tried *
try_price(struct split_priced *w, double price, uint32_t sweeps, double gap)
{
	const int64_t at = place_of(w, price);

	if (at < w->tried.n && w->tried.at[at].price == price &&
		is_done(&w->tried.at[at], sweeps, gap))
		return &w->tried.at[at];
	void *scratch = alloc_scratch(NULL);
	const struct split_problem priced = split_combine(scratch, w->p, 1, w->bytes, price);
	struct split_messages m = messages_for(w, at, price);
	const struct split_solution s = split_solve_from(w, &priced, sweeps, gap, INFINITY, &m);
	talloc_free(scratch);
	w->sweeps += s.sweeps;
	enter(w, at,
		(struct tried){.price = price,
			.cost = split_cost(w->p, s.choice),
			.bytes = split_bytes(w->p, w->bytes, s.choice),
			.bound = s.bound,
			.choice = s.choice,
			.messages = m,
			.sweeps = sweeps,
			.gap = gap});
	return &w->tried.at[at];
}

/* The cheapest tried solution that fits, or else the one that needs least. */
static const struct tried *
best_tried(const struct split_priced *w, double limit)
{
	const struct tried *best = &w->tried.at[0];

	for (int64_t i = 1; i < w->tried.n; i++) {
		const struct tried *t = &w->tried.at[i];
		if (t->bytes <= limit ? best->bytes > limit || t->cost < best->cost
				      : t->bytes < best->bytes)
			best = t;
	}
	return best;
}

/* A lower bound on what any solution that fits costs. */
static double
bound_within(const struct split_priced *w, double limit)
{
	double bound = -INFINITY;

	for (int64_t i = 0; i < w->tried.n; i++)
		bound = fmax(bound, w->tried.at[i].bound - w->tried.at[i].price * limit);
	return bound;
}

static bool
is_near(const struct split_priced *w, double limit, double gap)
{
	const double bound = bound_within(w, limit);

	return best_tried(w, limit)->cost <= bound + gap * fabs(bound);
}

/* The first tried price whose solution, and all at higher prices, fit; the number of prices: none. */
static int64_t
first_fitting(const struct split_priced *w, double limit)
{
	int64_t i = w->tried.n;

	while (i > 0 && w->tried.at[i - 1].bytes <= limit)
		i--;
	return i;
}

/* Keeps the messages of the prices from `first` to before `end` alone. */
static void
drop_outside(struct split_priced *w, int64_t first, int64_t end)
{
	for (int64_t i = 0; i < w->tried.n; i++)
		if (i < first || i >= end) {
			array_free(w->tried.at[i].messages.all);
			w->tried.at[i].messages.all = NULL;
		}
}

/* Keeps the messages of the prices before and after the first that fits, or of the one before it. */
static void
drop_messages(struct split_priced *w, double limit, bool both)
{
	const int64_t first = first_fitting(w, limit);

	drop_outside(w, first - 1, first + both);
}

void
split_priced_drop(struct split_priced *w)
{
	drop_outside(w, 0, 0);
}

/* The price at which two neighbouring solutions cost equally much, or else one between theirs. */
static double
price_between(const struct tried *low, const struct tried *high)
{
	const double price = (high->cost - low->cost) / (low->bytes - high->bytes);

	if (price > low->price && price < high->price)
		return price;
	return low->price > 0 ? sqrt(low->price * high->price) : high->price / raise;
}

/* Tries the price between that of a and the next one. True: its solution is another one. */
static bool
try_between(struct split_priced *w, int64_t a, uint32_t sweeps, double gap)
{
	const struct tried *low = &w->tried.at[a], *high = &w->tried.at[a + 1];
	const double price = price_between(low, high), both = low->cost + price * low->bytes;

	return value_of(try_price(w, price, sweeps, gap)) < both - gap * fabs(both);
}

static struct split_solution
copy_solution(const void *owner, const struct split_priced *w, const struct tried *t, double bound)
{
	struct split_solution s = {
		ARRAY_NEW(owner, uint16_t, w->p->nnodes), t->cost, bound, w->sweeps};

	memcpy(s.choice, t->choice, w->p->nnodes * sizeof *s.choice);
	return s;
}

static struct split_solution
solution_within(const void *owner, const struct split_priced *w, double limit)
{
	return copy_solution(owner, w, best_tried(w, limit), bound_within(w, limit));
}

bool
split_priced_solve(const void *owner, struct split_priced *w, double limit, uint32_t sweeps,
	double gap, double *price, struct split_solution *solution)
{
	const bool known = price && *price > 0;

	w->sweeps = 0;
	if (split_least_bytes(w->p, w->bytes) > limit) {
		try_price(w, w->most, sweeps, gap);
		split_priced_drop(w);
		*solution = solution_within(owner, w, limit);
		solution->bound = INFINITY;
		return false;
	}
	const struct tried *free = try_price(w, 0, sweeps, gap);
	if (free->bytes <= limit) {
		*solution = solution_within(owner, w, limit);
		return true;
	}
	double next = known ? *price : free->cost / free->bytes;
	for (int i = 0; i < RAISES && first_fitting(w, limit) == w->tried.n && next < w->most;
		i++) {
		try_price(w, next, sweeps, gap);
		next *= raise;
	}
	/* an earlier call may have solved it with fewer sweeps */
	const int64_t fitting = first_fitting(w, limit);
	if (fitting < w->tried.n && !is_near(w, limit, gap))
		try_price(w, w->tried.at[fitting].price, sweeps, gap);
	for (int i = 0; i < (known ? 1 : BETWEEN) && !is_near(w, limit, gap); i++) {
		const int64_t high = first_fitting(w, limit);
		if (!high || high == w->tried.n)
			break;
		if (!try_between(w, high - 1, sweeps, gap))
			break;
		drop_messages(w, limit, true);
	}
	drop_messages(w, limit, false);
	const int64_t high = first_fitting(w, limit);
	*solution = solution_within(owner, w, limit);
	const bool fits = best_tried(w, limit)->bytes <= limit;
	if (price && fits && high > 0 && high < w->tried.n)
		*price = w->tried.at[high].price;
	return fits;
}

bool
split_priced_mix(const void *owner, const struct split_priced *w, double limit,
	struct split_solution *solution)
{
	double most = 0;

	if (!w->tried.n || best_tried(w, limit)->bytes > limit)
		return false;
	for (int64_t i = 0; i < w->tried.n; i++) {
		struct split_solution s = solution_within(owner, w, limit);
		const double saved =
			split_mix(w->p, w->bytes, limit, w->tried.at[i].choice, s.choice);
		if (saved <= most) {
			array_free(s.choice);
			continue;
		}
		if (most > 0)
			array_free(solution->choice);
		s.cost = split_cost(w->p, s.choice);
		*solution = s;
		most = saved;
	}
	return most > 0;
}

struct split_solution
split_priced_free(const void *owner, struct split_priced *w, uint32_t sweeps, double gap)
{
	w->sweeps = 0;
	try_price(w, 0, sweeps, gap);
	return copy_solution(owner, w, best_tried(w, INFINITY), w->tried.at[0].bound);
}

/* The price below the widest gap in bytes that may hide another solution; -1: there is none. */
static int64_t
widest(const struct split_priced *w)
{
	double most = 1 + spread_share;
	int64_t found = -1;

	for (int64_t i = 0; i + 1 < w->tried.n; i++) {
		const double factor = w->tried.at[i].bytes / w->tried.at[i + 1].bytes;
		if (!w->tried.at[i].closed && factor > most) {
			most = factor;
			found = i;
		}
	}
	return found;
}

uint32_t
split_priced_spread(struct split_priced *w, uint32_t most, uint32_t sweeps, double gap)
{
	int64_t at;

	w->sweeps = 0;
	try_price(w, 0, sweeps, gap);
	try_price(w, w->most, sweeps, gap);
	for (uint32_t i = 0; i < most && (at = widest(w)) >= 0; i++)
		if (!try_between(w, at, sweeps, gap))
			w->tried.at[at].closed = w->tried.at[at + 1].closed = true;
	split_priced_drop(w);
	return (uint32_t)w->tried.n;
}

struct split_solution
split_priced_tried(const void *owner, const struct split_priced *w, uint32_t i)
{
	return copy_solution(owner, w, &w->tried.at[i], w->tried.at[i].bound);
}

bool
split_solve_within(const void *owner, const struct split_problem *p, const double *const *bytes,
	double limit, uint32_t sweeps, double gap, double *price, struct split_solution *solution)
{
	struct split_priced *w = split_priced_create(NULL, p, bytes);
	const bool fits = split_priced_solve(owner, w, limit, sweeps, gap, price, solution);

	talloc_free(w);
	return fits;
}
