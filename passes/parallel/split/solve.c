/* See solve.h. */
#include "passes/parallel/split/solve.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/parallel/split/reduce.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

struct split_solver {
	const struct split_problem *p;
	struct split_half *half; /* those of node s: half[first[s]] ... half[first[s + 1] - 1] */
	uint32_t *first;
	double *messages,
		**message[2]; /* by edge: the message to that end, for each choice there */
	size_t nmessages;     /* entries of all messages */
	int8_t *given;        /* by edge: the end to which it has given all it had; -1: neither */
	double **rest;        /* by node: its costs plus messages received, less those passed on */
	double *most, *least, *sum; /* scratch of a node */
	uint16_t *choice, *best;
	double cost; /* cost of `best` */
	bool *decided;
	uint32_t sweeps;
	double near; /* choices that cost at most this much more than the best are equal: decide */
};

/* --- costs ------------------------------------------------------------------------------------ */

double
split_cost(const struct split_problem *p, const uint16_t *choice)
{
	double cost = 0;

	for (uint32_t s = 0; s < p->nnodes; s++)
		cost += p->node[s].cost[choice[s]];
	for (uint32_t e = 0; e < p->nedges; e++)
		cost += split_edge_cost(
			&p->edge[e], choice[p->edge[e].end[0]], choice[p->edge[e].end[1]]);
	return cost;
}

/* The costs of an edge for each line of one end, given choice y of the other end. */
static const double *
lines_beside(const struct split_edge *e, int side, uint32_t y)
{
	const struct split_table *t = e->table;

	return side ? t->cost + e->line[0][y] * t->columns : t->flipped + e->line[1][y] * t->rows;
}

static uint32_t
lines_of(const struct split_edge *e, int side)
{
	return side ? e->table->columns : e->table->rows;
}

/* --- the graph -------------------------------------------------------------------------------- */

void
split_halves(const void *owner, const struct split_problem *p, struct split_half **half,
	uint32_t **first)
{
	uint32_t *at = ARRAY_ZERO(owner, uint32_t, p->nnodes + 2);

	for (uint32_t e = 0; e < p->nedges; e++)
		for (int side = 0; side < 2; side++)
			at[p->edge[e].end[side] + 2]++;
	for (uint32_t s = 2; s < p->nnodes + 2; s++)
		at[s] += at[s - 1];
	*half = ARRAY_NEW(owner, struct split_half, 2 * (size_t)p->nedges);
	for (uint32_t e = 0; e < p->nedges; e++)
		for (int side = 0; side < 2; side++)
			(*half)[at[p->edge[e].end[side] + 1]++] =
				(struct split_half){e, p->edge[e].end[!side], side};
	*first = at;
}

static int
best_of(const double *cost, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t x = 1; x < n; x++)
		if (cost[x] < cost[best])
			best = x;
	return (int)best;
}

static double
least_of(const double *cost, uint32_t n)
{
	return cost[best_of(cost, n)];
}

static void
take_best(const struct split_problem *p, const struct split_half *half, const uint32_t *first,
	uint32_t s, double *cost, uint16_t *choice, bool *changed)
{
	const struct split_node *node = &p->node[s];

	for (uint32_t x = 0; x < node->n; x++)
		cost[x] = node->cost[x];
	for (uint32_t i = first[s]; i < first[s + 1]; i++) {
		const struct split_edge *e = &p->edge[half[i].edge];
		const double *beside = lines_beside(e, half[i].side, choice[half[i].other]);
		for (uint32_t x = 0; x < node->n; x++)
			cost[x] += beside[e->line[half[i].side][x]];
	}
	const uint16_t best = (uint16_t)best_of(cost, node->n);
	/* Improvements by rounding alone do not count, so that the descent ends. */
	if (cost[best] < cost[choice[s]] * (1 - 1e-12)) {
		choice[s] = best;
		*changed = true;
	}
}

/* The largest number of choices of a node, or of lines of a table. */
static uint32_t
most_choices(const struct split_problem *p)
{
	uint32_t most = 1;

	for (uint32_t s = 0; s < p->nnodes; s++)
		most = p->node[s].n > most ? p->node[s].n : most;
	for (uint32_t e = 0; e < p->nedges; e++)
		for (int side = 0; side < 2; side++)
			most = lines_of(&p->edge[e], side) > most ? lines_of(&p->edge[e], side)
								  : most;
	return most;
}

void
split_descend(const struct split_problem *p, uint16_t *choice)
{
	void *scratch = alloc_scratch(NULL);
	struct split_half *half;
	uint32_t *first;
	bool changed = true;

	split_halves(scratch, p, &half, &first);
	double *cost = ARRAY_NEW(scratch, double, most_choices(p));
	while (changed) {
		changed = false;
		for (uint32_t s = 0; s < p->nnodes; s++)
			take_best(p, half, first, s, cost, choice, &changed);
	}
	talloc_free(scratch);
}

/* --- sweeps ----------------------------------------------------------------------------------- */

static void
place_messages(struct split_solver *s)
{
	const struct split_problem *p = s->p;
	size_t at = 0;

	for (uint32_t e = 0; e < p->nedges; e++)
		for (int side = 0; side < 2; side++)
			s->nmessages += p->node[p->edge[e].end[side]].n;
	s->messages = ARRAY_ZERO(s, double, s->nmessages);
	for (int side = 0; side < 2; side++) {
		s->message[side] = ARRAY_NEW(s, double *, p->nedges);
		for (uint32_t e = 0; e < p->nedges; e++) {
			s->message[side][e] = s->messages + at;
			at += p->node[p->edge[e].end[side]].n;
		}
	}
}

struct split_solver *
split_solver_create(const void *owner, const struct split_problem *p)
{
	struct split_solver *s = NEW(owner, struct split_solver);
	const uint32_t most = most_choices(p);

	s->p = p;
	split_halves(s, p, &s->half, &s->first);
	place_messages(s);
	s->given = ARRAY_NEW(s, int8_t, p->nedges);
	memset(s->given, -1, p->nedges);
	s->rest = ARRAY_NEW(s, double *, p->nnodes);
	for (uint32_t i = 0; i < p->nnodes; i++) {
		s->rest[i] = ARRAY_NEW(s, double, p->node[i].n);
		for (uint32_t x = 0; x < p->node[i].n; x++)
			s->rest[i][x] = p->node[i].cost[x];
	}
	s->most = ARRAY_NEW(s, double, most);
	s->least = ARRAY_NEW(s, double, most);
	s->sum = ARRAY_NEW(s, double, most);
	s->choice = ARRAY_ZERO(s, uint16_t, p->nnodes);
	s->best = ARRAY_ZERO(s, uint16_t, p->nnodes);
	s->decided = ARRAY_ZERO(s, bool, p->nnodes);
	s->cost = INFINITY;
	return s;
}

/* least[line]: the least cost of the edge with a choice of that line at one end, less the messages
 * to the other. */
static void
least_by_line(const struct split_solver *s, const struct split_half *h)
{
	const struct split_edge *e = &s->p->edge[h->edge];
	const uint32_t n = lines_of(e, h->side), others = lines_of(e, !h->side);
	const double *message = s->message[!h->side][h->edge];
	const double *cost = h->side ? e->table->cost : e->table->flipped;
	double *restrict most = s->most, *restrict least = s->least;

	for (uint32_t l = 0; l < others; l++)
		most[l] = -INFINITY;
	for (uint32_t y = 0; y < s->p->node[h->other].n; y++) {
		const uint32_t l = e->line[!h->side][y];
		most[l] = message[y] > most[l] ? message[y] : most[l];
	}
	for (uint32_t i = 0; i < n; i++)
		least[i] = INFINITY;
	for (uint32_t l = 0; l < others; l++) {
		if (most[l] == -INFINITY)
			continue;
		const double *restrict row = cost + (size_t)l * n;
		const double given = most[l];
		for (uint32_t i = 0; i < n; i++)
			least[i] = row[i] - given < least[i] ? row[i] - given : least[i];
	}
}

/* The edge gives the node its least cost for each choice, and keeps none of it. */
static void
collect(struct split_solver *s, uint32_t node, const struct split_half *h)
{
	const uint16_t *line = s->p->edge[h->edge].line[h->side];
	double *message = s->message[h->side][h->edge], *rest = s->rest[node];

	if (s->given[h->edge] == h->side)
		return;
	s->given[h->edge] = (int8_t)h->side;
	least_by_line(s, h);
	for (uint32_t x = 0; x < s->p->node[node].n; x++) {
		rest[x] += s->least[line[x]] - message[x];
		message[x] = s->least[line[x]];
	}
}

/* The first choice that costs at most `near` more than the best. */
static int
first_near(const double *cost, uint32_t n, double near)
{
	const double limit = least_of(cost, n) + near;
	int x = 0;

	while (cost[x] > limit)
		x++;
	return x;
}

/*
 * Decided neighbours count as they are, others by what their edges have given. If choices are
 * equally good, such as splitting the rows or the columns of a param and its states, rounding would
 * decide for each node separately; the first of the near ones is the same for all nodes.
 */
static void
decide(struct split_solver *s, uint32_t node)
{
	const uint32_t n = s->p->node[node].n;

	for (uint32_t x = 0; x < n; x++)
		s->sum[x] = s->p->node[node].cost[x];
	for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
		const struct split_half *h = &s->half[i];
		const struct split_edge *e = &s->p->edge[h->edge];
		if (s->decided[h->other]) {
			const double *beside = lines_beside(e, h->side, s->choice[h->other]);
			for (uint32_t x = 0; x < n; x++)
				s->sum[x] += beside[e->line[h->side][x]];
		} else {
			for (uint32_t x = 0; x < n; x++)
				s->sum[x] += s->message[h->side][h->edge][x];
		}
	}
	s->choice[node] = (uint16_t)first_near(s->sum, n, s->near);
	s->decided[node] = true;
}

static void
hand_on(struct split_solver *s, uint32_t node)
{
	const uint32_t n = s->p->node[node].n, halves = s->first[node + 1] - s->first[node];
	uint32_t ahead = 0;

	for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++)
		ahead += !s->decided[s->half[i].other];
	const uint32_t behind = halves - ahead, shares = ahead > behind ? ahead : behind;
	for (uint32_t x = 0; x < n && shares; x++)
		s->sum[x] = s->rest[node][x] / shares;
	for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
		const struct split_half *h = &s->half[i];
		double *message = s->message[h->side][h->edge], *rest = s->rest[node];
		if (s->decided[h->other])
			continue;
		s->given[h->edge] = -1;
		for (uint32_t x = 0; x < n; x++) {
			message[x] -= s->sum[x];
			rest[x] -= s->sum[x];
		}
	}
}

static void
visit(struct split_solver *s, uint32_t node)
{
	for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++)
		collect(s, node, &s->half[i]);
	decide(s, node);
	hand_on(s, node);
}

static void
keep_if_best(struct split_solver *s)
{
	const double cost = split_cost(s->p, s->choice);

	for (uint32_t i = 0; i < s->p->nnodes; i++)
		s->decided[i] = false;
	if (cost >= s->cost)
		return;
	s->cost = cost;
	for (uint32_t i = 0; i < s->p->nnodes; i++)
		s->best[i] = s->choice[i];
}

/* The tolerance `near` per sweep, as a share of the bound. */
static const double nearness[] = {1e-11, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5};

double
split_solver_sweep(struct split_solver *s)
{
	const uint32_t n = s->p->nnodes;
	double bound = 0;

	for (uint32_t i = 0; i < n; i++)
		visit(s, i);
	keep_if_best(s);
	for (uint32_t i = n; i-- > 0;)
		visit(s, i);
	keep_if_best(s);
	/* Each edge has given all it has to the last of its ends: its minimum is 0. */
	for (uint32_t i = 0; i < n; i++)
		bound += least_of(s->rest[i], s->p->node[i].n);
	s->near = fabs(bound) * nearness[s->sweeps++ % (sizeof nearness / sizeof *nearness)];
	return bound;
}

/* Adds to sum[], unless NULL, the least cost of the edge for each choice at one end, less its
 * messages; returns the least of all. */
static double
edge_least(const struct split_solver *s, uint32_t node, const struct split_half *h, double *sum)
{
	const uint16_t *line = s->p->edge[h->edge].line[h->side];
	double least = INFINITY;

	least_by_line(s, h);
	for (uint32_t x = 0; x < s->p->node[node].n; x++) {
		const double cost = s->least[line[x]] - s->message[h->side][h->edge][x];
		least = cost < least ? cost : least;
		if (sum)
			sum[x] += cost;
	}
	return least;
}

double
split_solver_bound(const struct split_solver *s)
{
	double bound = 0;

	for (uint32_t i = 0; i < s->p->nnodes; i++)
		bound += least_of(s->rest[i], s->p->node[i].n);
	for (uint32_t e = 0; e < s->p->nedges; e++) {
		const struct split_half h = {e, s->p->edge[e].end[1], 0};
		bound += edge_least(s, s->p->edge[e].end[0], &h, NULL);
	}
	return bound;
}

void
split_solver_least(const struct split_solver *s, uint32_t node, double *least)
{
	const uint32_t n = s->p->node[node].n;
	double others = split_solver_bound(s) - least_of(s->rest[node], n);

	for (uint32_t x = 0; x < n; x++)
		least[x] = s->rest[node][x];
	for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++)
		others -= edge_least(s, node, &s->half[i], least);
	for (uint32_t x = 0; x < n; x++)
		least[x] += others;
}

const uint16_t *
split_solver_best(const struct split_solver *s)
{
	return s->best;
}

/* Problems with the same nodes, choices and edges have the same shape; what they cost may differ. */
static uint64_t
shape_of(const struct split_problem *p)
{
	uint64_t shape = mix_word(p->nnodes, p->nedges);

	for (uint32_t i = 0; i < p->nnodes; i++)
		shape = mix_word(shape, p->node[i].n);
	for (uint32_t e = 0; e < p->nedges; e++)
		shape = mix_word(shape, (uint64_t)p->edge[e].end[0] << 32 | p->edge[e].end[1]);
	return shape;
}

static void
start_from(struct split_solver *s, const struct split_messages *start)
{
	if (!start->all || start->shape != shape_of(s->p) ||
		array_bytes(start->all) != s->nmessages * sizeof *start->all)
		return;
	memcpy(s->messages, start->all, s->nmessages * sizeof *s->messages);
	for (uint32_t i = 0; i < s->p->nnodes; i++)
		for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) {
			const double *message = s->message[s->half[k].side][s->half[k].edge];
			for (uint32_t x = 0; x < s->p->node[i].n; x++)
				s->rest[i][x] += message[x];
		}
}

static void
keep_messages(const void *owner, struct split_solver *s, struct split_messages *start)
{
	array_free(start->all);
	array_steal(owner, s->messages);
	*start = (struct split_messages){shape_of(s->p), s->messages};
}

struct split_messages
split_messages_between(const void *owner, const struct split_messages *a,
	const struct split_messages *b, double share)
{
	const size_t n = a->all ? array_bytes(a->all) / sizeof *a->all : 0;
	struct split_messages m = *a;

	if (!a->all)
		return m;
	m.all = ARRAY_NEW(owner, double, n);
	memcpy(m.all, a->all, n * sizeof *m.all);
	if (!b->all || b->shape != a->shape || array_bytes(b->all) != array_bytes(a->all))
		return m;
	for (size_t i = 0; i < n; i++)
		m.all[i] += share * (b->all[i] - a->all[i]);
	return m;
}

/* The search ends after this many sweeps in a row that raise the bound by less than this share of
 * it. */
enum { STILL_SWEEPS = 4 };
static const double still = 1e-5;

struct split_solution
split_solve_from(const void *owner, const struct split_problem *p, uint32_t sweeps, double gap,
	double limit, struct split_messages *start)
{
	void *scratch = alloc_scratch(NULL);
	const struct split_reduced *reduced = split_reduce(scratch, p);
	struct split_solver *s = split_solver_create(scratch, &reduced->problem);
	struct split_solution r = {ARRAY_NEW(owner, uint16_t, p->nnodes), 0, -INFINITY, 0};
	const double fixed = reduced->fixed;
	uint32_t same = 0;

	if (start)
		start_from(s, start);
	while (r.sweeps < sweeps && same < STILL_SWEEPS && r.bound < limit &&
		!(s->cost + fixed <= r.bound + gap * fabs(r.bound))) {
		const double bound = split_solver_sweep(s) + fixed;
		same = bound - r.bound <= still * fabs(bound) ? same + 1 : 0;
		r.bound = bound > r.bound ? bound : r.bound;
		r.sweeps++;
	}
	r.bound = split_solver_bound(s) + fixed;
	split_expand(reduced, s->best, r.choice);
	split_descend(p, r.choice);
	r.cost = split_cost(p, r.choice);
	if (start)
		keep_messages(owner, s, start);
	talloc_free(scratch);
	return r;
}

struct split_solution
split_solve(
	const void *owner, const struct split_problem *p, uint32_t sweeps, double gap, double limit)
{
	return split_solve_from(owner, p, sweeps, gap, limit, NULL);
}
