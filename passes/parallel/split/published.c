/* See published.h. */
#include "passes/parallel/split/published.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* --- a solution that is changed and changed back ---------------------------------------------- */

struct change {
	uint32_t node;
	uint16_t before;
};

struct walk {
	void *scratch;
	const struct split_problem *p;
	const bool *leads;
	struct split_half *half;
	uint32_t *first;
	uint16_t *choice;
	double cost;
	struct VEC(struct change) trail; /* changes since the last walk_keep */
	struct VEC(uint32_t) queue;      /* the nodes that follow */
	bool *queued;
};

/* Limit on the number of followers, and followers of followers, that are asked after one change. */
enum { MOST_FOLLOWERS = 256 };

static struct walk
walk_start(const struct split_published *s)
{
	struct walk w = {.p = s->p, .leads = s->leads, .scratch = alloc_scratch(NULL)};

	split_halves(w.scratch, w.p, &w.half, &w.first);
	w.choice = COPY_ARRAY(w.scratch, uint16_t, s->choice, w.p->nnodes);
	w.queued = ARRAY_ZERO(w.scratch, bool, w.p->nnodes);
	w.cost = split_cost(w.p, w.choice);
	return w;
}

/* The cost of the node with that choice, and of its edges. */
static double
cost_around(const struct walk *w, uint32_t node, uint32_t x)
{
	double cost = w->p->node[node].cost[x];

	for (uint32_t i = w->first[node]; i < w->first[node + 1]; i++) {
		const struct split_half *h = &w->half[i];
		const struct split_edge *e = &w->p->edge[h->edge];
		const uint32_t there = w->choice[h->other];
		cost += h->side ? split_edge_cost(e, there, x) : split_edge_cost(e, x, there);
	}
	return cost;
}

static void
set(struct walk *w, uint32_t node, uint32_t x)
{
	w->cost += cost_around(w, node, x) - cost_around(w, node, w->choice[node]);
	VEC_PUSH(w->scratch, &w->trail, (struct change){node, w->choice[node]});
	w->choice[node] = (uint16_t)x;
	for (uint32_t i = w->first[node]; i < w->first[node + 1]; i++) {
		const uint32_t other = w->half[i].other;
		if (w->leads[other] || w->queued[other])
			continue;
		w->queued[other] = true;
		VEC_PUSH(w->scratch, &w->queue, other);
	}
}

/* The node takes the choice, and others follow. */
static void
walk_change(struct walk *w, uint32_t node, uint32_t x)
{
	w->queue.n = 0;
	set(w, node, x);
	for (int64_t i = 0; i < w->queue.n; i++) {
		const uint32_t s = w->queue.at[i];
		w->queued[s] = false;
		if (i >= MOST_FOLLOWERS)
			continue;
		uint32_t best = w->choice[s];
		double least = cost_around(w, s, best) * (1 - 1e-12);
		for (uint32_t y = 0; y < w->p->node[s].n; y++) {
			const double cost = cost_around(w, s, y);
			if (cost < least) {
				least = cost;
				best = y;
			}
		}
		if (best != w->choice[s])
			set(w, s, best);
	}
}

/* Undoes the last n changes. */
static void
walk_back(struct walk *w, int64_t n, double cost)
{
	while (w->trail.n > n) {
		const struct change *c = &w->trail.at[--w->trail.n];
		w->choice[c->node] = c->before;
	}
	w->cost = cost;
}

static void
keep_if_best(struct split_published *s, const struct walk *w)
{
	if (w->cost >= s->cost)
		return;
	s->cost = w->cost;
	memcpy(s->choice, w->choice, w->p->nnodes * sizeof *w->choice);
}

/* Sums of many differences are rounded. */
static void
finish(struct split_published *s, struct walk *w, uint64_t candidates)
{
	s->cost = split_cost(s->p, s->choice);
	s->candidates = candidates;
	talloc_free(w->scratch);
}

static uint32_t
list_leaders(const struct walk *w, uint32_t **leader)
{
	uint32_t n = 0;

	*leader = ARRAY_NEW(w->scratch, uint32_t, w->p->nnodes);
	for (uint32_t i = 0; i < w->p->nnodes; i++)
		if (w->leads[i])
			(*leader)[n++] = i;
	return n;
}

/* --- FlexFlow --------------------------------------------------------------------------------- */

void
split_mcmc(struct split_published *s, uint64_t seed)
{
	struct walk w = walk_start(s);
	uint64_t random = seed, looked = 0;
	uint32_t *leader;
	const uint32_t n = list_leaders(&w, &leader);

	s->cost = w.cost;
	for (; n && looked < s->candidates; looked++) {
		const uint32_t node = leader[mix64_below(&random, n)];
		const uint32_t x = mix64_below(&random, w.p->node[node].n);
		const double before = w.cost, drawn = mix64_below(&random, 1u << 30) * 0x1p-30;
		walk_change(&w, node, x);
		if (drawn < exp((before - w.cost) * 1e3))
			w.trail.n = 0;
		else
			walk_back(&w, 0, before);
		keep_if_best(s, &w);
	}
	finish(s, &w, looked);
}

/* --- Unity ------------------------------------------------------------------------------------ */

enum {
	LEAST_PART = 10,   /* k */
	MOST_STATES = 3,   /* of the candidates at a cut, how many of the cheapest are continued */
	MOST_MOVES = 12,   /* of a candidate */
	MOST_QUEUED = 512, /* candidates of a queue */
};
static const double alpha = 1.05;

struct candidate {
	double cost;
	uint32_t n, node[MOST_MOVES];
	uint16_t choice[MOST_MOVES];
};

struct state {
	uint16_t *choice;
	double cost;
};

struct unity {
	struct split_published *s;
	struct walk w;
	uint32_t *leader, n;
	struct VEC(struct state) state; /* at the last cut */
	struct VEC(struct candidate) queue;
	uint64_t looked;
};

/* past[i]: an edge between leaders leads across leader i. */
static bool *
find_past(const struct unity *u)
{
	const struct split_problem *p = u->s->p;
	uint32_t *place = ARRAY_ZERO(u->w.scratch, uint32_t, p->nnodes);
	int32_t *more = ARRAY_ZERO(u->w.scratch, int32_t, u->n + 1), now = 0;
	bool *past = ARRAY_ZERO(u->w.scratch, bool, u->n);

	for (uint32_t i = 0; i < u->n; i++)
		place[u->leader[i]] = i;
	for (uint32_t e = 0; e < p->nedges; e++) {
		const uint32_t a = p->edge[e].end[0], b = p->edge[e].end[1];
		if (!u->s->leads[a] || !u->s->leads[b] || place[a] + 1 >= place[b])
			continue;
		more[place[a] + 1]++;
		more[place[b]]--;
	}
	for (uint32_t i = 0; i < u->n; i++) {
		now += more[i];
		past[i] = now > 0;
	}
	return past;
}

static struct candidate
take_cheapest(struct unity *u)
{
	int64_t best = 0;

	for (int64_t i = 1; i < u->queue.n; i++)
		if (u->queue.at[i].cost < u->queue.at[best].cost)
			best = i;
	const struct candidate c = u->queue.at[best];
	u->queue.at[best] = u->queue.at[--u->queue.n];
	return c;
}

/* Every candidate that differs from this one in a leader from `from` to before `to`. */
static void
expand(struct unity *u, const struct candidate *c, uint32_t from, uint32_t to, double slack,
	uint64_t until, double *least)
{
	struct walk *w = &u->w;
	const int64_t trail = w->trail.n;
	const double before = w->cost;

	for (uint32_t i = from; i < to && u->looked < until; i++)
		for (uint32_t x = 0; x < w->p->node[u->leader[i]].n; x++) {
			if (x == w->choice[u->leader[i]])
				continue;
			walk_change(w, u->leader[i], x);
			u->looked++;
			const double cost = w->cost;
			*least = fmin(*least, cost);
			walk_back(w, trail, before);
			if (cost > *least + slack || c->n == MOST_MOVES || cost == c->cost ||
				u->queue.n == MOST_QUEUED)
				continue;
			struct candidate next = *c;
			next.cost = cost;
			next.node[next.n] = u->leader[i];
			next.choice[next.n++] = (uint16_t)x;
			VEC_PUSH(w->scratch, &u->queue, next);
		}
}

/* Searches from the solution of the walk, with the choice of the leader before `to` fixed. The walk
 * then has the best solution. */
static void
backtrack(struct unity *u, uint32_t from, uint32_t to, uint64_t candidates)
{
	struct walk *w = &u->w;
	const double start = w->cost, slack = (alpha - 1) * start * (to - from) / u->n;
	const uint64_t until = u->looked + candidates;
	const int64_t trail = w->trail.n;
	struct candidate best = {.cost = start};
	double least = start;

	u->queue.n = 0;
	VEC_PUSH(w->scratch, &u->queue, best);
	while (u->queue.n && u->looked < until) {
		const struct candidate c = take_cheapest(u);
		if (c.cost > least + slack)
			continue;
		for (uint32_t i = 0; i < c.n; i++)
			walk_change(w, c.node[i], c.choice[i]);
		if (w->cost < best.cost) {
			best = c;
			best.cost = w->cost;
		}
		expand(u, &c, from, to - 1, slack, until, &least);
		walk_back(w, trail, start);
	}
	/* The candidate found last may still be in the queue. */
	for (int64_t i = 0; i < u->queue.n; i++)
		if (u->queue.at[i].cost < best.cost)
			best = u->queue.at[i];
	for (uint32_t i = 0; i < best.n; i++)
		walk_change(w, best.node[i], best.choice[i]);
}

ORDER_BY(by_cost, struct state, UP(cost))

/* The best solution at the end of the segment for each choice of its last leader. */
static void
search_part(struct unity *u, uint32_t from, uint32_t to, uint64_t candidates)
{
	struct walk *w = &u->w;
	const uint32_t end = u->leader[to - 1], n = w->p->node[end].n;
	const int64_t starts = u->state.n < MOST_STATES ? u->state.n : MOST_STATES;
	struct VEC(struct state) next = {0};

	for (uint32_t x = 0; x < n; x++) {
		struct state best = {NULL, INFINITY};
		for (int64_t i = 0; i < starts; i++) {
			memcpy(w->choice, u->state.at[i].choice, w->p->nnodes * sizeof *w->choice);
			w->cost = u->state.at[i].cost;
			w->trail.n = 0;
			walk_change(w, end, x);
			backtrack(u, from, to, candidates / (n * (uint64_t)starts) + 1);
			if (w->cost >= best.cost)
				continue;
			best.cost = w->cost;
			if (!best.choice)
				best.choice = ARRAY_NEW(w->scratch, uint16_t, w->p->nnodes);
			memcpy(best.choice, w->choice, w->p->nnodes * sizeof *w->choice);
			keep_if_best(u->s, w);
		}
		VEC_PUSH(w->scratch, &next, best);
	}
	qsort(next.at, (size_t)next.n, sizeof *next.at, by_cost);
	u->state.n = 0;
	VEC_PUSH_ALL(w->scratch, &u->state, next.at, next.n);
}

void
split_unity(struct split_published *s)
{
	struct unity u = {.s = s, .w = walk_start(s)};

	u.n = list_leaders(&u.w, &u.leader);
	const bool *past = find_past(&u);
	const struct state start = {
		COPY_ARRAY(u.w.scratch, uint16_t, s->choice, s->p->nnodes), u.w.cost};
	VEC_PUSH(u.w.scratch, &u.state, start);
	s->cost = u.w.cost;
	for (uint32_t from = 0, i = 0; i < u.n; i++) {
		const bool last = i == u.n - 1;
		if (!last && (past[i] || i + 1 - from < LEAST_PART || u.n - i <= LEAST_PART))
			continue;
		search_part(
			&u, from, i + 1, (uint64_t)((double)s->candidates * (i + 1 - from) / u.n));
		from = i + 1;
	}
	finish(s, &u.w, u.looked);
}
