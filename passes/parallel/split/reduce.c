/* See reduce.h. */
#include "passes/parallel/split/reduce.h"

#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <math.h>
#include <string.h>

/* What a result was computed of. */
enum make {
	MAKE_COSTS,
	MAKE_FITTING,
	MAKE_FIXED,
	MAKE_FOLDED,
	MAKE_SERIES,
	MAKE_LINES,
	MAKE_SUM,
	MAKE_FEWER,
	MAKE_FEWER_LINES
};
struct key {
	uintptr_t of[8]; /* enum make, then pointers and numbers */
};

struct known {
	struct key key;
	const void *result;
};

/* Lines of choices by two tables at once: line i has those lines in the first and in the second. */
struct pairs {
	uint16_t *line;
	uint32_t n;
	uint16_t *of[2];
};

/* The choices of a node that count. */
struct fewer {
	uint32_t n;
	uint16_t *choice;
	double *cost;
};

/* A node that is gone: its costs when it went, and its edges. */
struct gone {
	uint32_t node;
	const double *cost;
	uint32_t n;
	struct split_edge edge[2];
};

struct reducer {
	struct split_reduced r; /* first: whoever has it has this */
	const struct split_problem *p;
	const double **cost; /* by node */
	bool *is_gone;
	struct VEC(struct split_edge) edge;
	bool *dropped;                  /* by edge; an array that grows with them */
	struct ends VEC(uint32_t) * at; /* by node: its edges, and some that are dropped */
	uint32_t *degree;               /* by node: its edges that are not dropped */
	struct map map;
	struct VEC(struct known) known;
	struct VEC(struct gone) gone;
};

/* --- what is known ---------------------------------------------------------------------------- */

static bool
same_key(const void *list, uint32_t i, const void *key)
{
	const struct reducer *x = list;

	return !memcmp(&x->known.at[i].key, key, sizeof(struct key));
}

/* The place of a result, NULL in it if it has yet to be computed. It moves with the next one. */
static const void **
recall(struct reducer *x, struct key key)
{
	const uint32_t i = map_add(x, &x->map, mix_bytes(0, &key, sizeof key), same_key, x, &key);

	if (i == x->known.n)
		VEC_PUSH(x, &x->known, (struct known){key, NULL});
	return &x->known.at[i].result;
}

#define KEY(...) ((struct key){{__VA_ARGS__}})
#define P(pointer) ((uintptr_t)(pointer))

/* --- edges ------------------------------------------------------------------------------------ */

static int
side_of(const struct split_edge *e, uint32_t node)
{
	return e->end[1] == node;
}

static double
table_at(const struct split_table *t, int side, uint32_t here, uint32_t there)
{
	return side ? t->cost[there * t->columns + here] : t->cost[here * t->columns + there];
}

static uint32_t
lines_of(const struct split_table *t, int side)
{
	return side ? t->columns : t->rows;
}

static struct split_table *
table_create(struct reducer *x, uint32_t rows, uint32_t columns, double **cost, double **flipped)
{
	struct split_table *t = NEW(x, struct split_table);

	*cost = ARRAY_NEW(x, double, (size_t)rows *columns);
	*flipped = ARRAY_NEW(x, double, (size_t)rows *columns);
	*t = (struct split_table){rows, columns, *cost, *flipped};
	return t;
}

/* Lines by which two tables tell the choices of a node apart. */
static const struct pairs *
pair_lines(struct reducer *x, const uint16_t *a, const uint16_t *b, uint32_t n)
{
	const void **known = recall(x, KEY(MAKE_LINES, P(a), P(b), n));
	struct pairs *l;

	if (*known)
		return *known;
	l = NEW(x, struct pairs);
	l->line = ARRAY_NEW(x, uint16_t, n);
	l->of[0] = ARRAY_NEW(x, uint16_t, n);
	l->of[1] = ARRAY_NEW(x, uint16_t, n);
	for (uint32_t c = 0; c < n; c++) {
		uint32_t i = 0;
		while (i < l->n && (l->of[0][i] != a[c] || l->of[1][i] != b[c]))
			i++;
		l->of[0][i] = a[c];
		l->of[1][i] = b[c];
		l->n += i == l->n;
		l->line[c] = (uint16_t)i;
	}
	*known = l;
	return l;
}

/* The sum of two edges between the same nodes, as one. */
static struct split_edge
add_edges(struct reducer *x, const struct split_edge *a, const struct split_edge *b)
{
	const int turned = a->end[0] != b->end[0];
	const struct pairs *l[2];
	struct split_edge sum = *a;
	double *cost, *flipped;

	for (int side = 0; side < 2; side++) {
		l[side] = pair_lines(
			x, a->line[side], b->line[side ^ turned], x->p->node[a->end[side]].n);
		sum.line[side] = l[side]->line;
	}
	const void **known =
		recall(x, KEY(MAKE_SUM, P(a->table), P(b->table), turned, P(l[0]), P(l[1])));
	if (!*known) {
		struct split_table *t = table_create(x, l[0]->n, l[1]->n, &cost, &flipped);
		for (uint32_t i = 0; i < t->rows; i++)
			for (uint32_t j = 0; j < t->columns; j++)
				cost[i * t->columns + j] = flipped[j * t->rows + i] = fmin(
					SPLIT_NEVER,
					table_at(a->table, 0, l[0]->of[0][i], l[1]->of[0][j]) +
						table_at(b->table, turned, l[0]->of[1][i],
							l[1]->of[1][j]));
		*known = t;
	}
	sum.table = *known;
	return sum;
}

/* Only the edges of a node are in its list. */
static void
tidy(struct reducer *x, uint32_t node)
{
	struct ends *at = &x->at[node];
	uint32_t n = 0;

	for (int64_t i = 0; i < at->n; i++)
		if (!x->dropped[at->at[i]])
			at->at[n++] = at->at[i];
	at->n = n;
}

static void
add_edge(struct reducer *x, struct split_edge e)
{
	const uint32_t few = x->degree[e.end[0]] > x->degree[e.end[1]] ? e.end[1] : e.end[0],
		       other = e.end[0] + e.end[1] - few;

	if (x->at[few].n != x->degree[few])
		tidy(x, few);
	for (int64_t i = 0; i < x->at[few].n; i++) {
		const struct split_edge *have = &x->edge.at[x->at[few].at[i]];
		if (have->end[0] + have->end[1] - few != other)
			continue;
		e = add_edges(x, have, &e);
		x->edge.at[x->at[few].at[i]] = e;
		return;
	}
	for (int side = 0; side < 2; side++) {
		VEC_PUSH(x, &x->at[e.end[side]], (uint32_t)x->edge.n);
		x->degree[e.end[side]]++;
	}
	bool is_dropped = false;
	size_t n = (size_t)x->edge.n;
	ARRAY_PUSH(x, x->dropped, n, is_dropped);
	VEC_PUSH(x, &x->edge, e);
}

/* --- choices that cannot be ------------------------------------------------------------------- */

/* The same array for the same costs. */
static const double *
intern_costs(struct reducer *x, const double *cost, uint32_t n)
{
	const uint64_t hash = mix_bytes(n, cost, n * sizeof *cost);

	for (uint64_t salt = 0;; salt++) {
		const void **known = recall(x, KEY(MAKE_COSTS, (uintptr_t)hash, salt, n));
		if (!*known)
			*known = cost;
		if (!memcmp(*known, cost, n * sizeof *cost))
			return *known;
	}
}

/* The costs of the end without the choices for which the edge has nothing on its other side. */
static const double *
costs_that_fit(struct reducer *x, const struct split_edge *e, int side)
{
	const uint32_t node = e->end[side], other = e->end[!side], n = x->p->node[node].n;
	const uint32_t lines = lines_of(e->table, side), others = lines_of(e->table, !side);
	bool *open = ARRAY_ZERO(NULL, bool, others), *fits = ARRAY_ZERO(NULL, bool, lines);
	double *cost = ARRAY_NEW(x, double, n);
	uint32_t left = 0;

	for (uint32_t y = 0; y < x->p->node[other].n; y++)
		open[e->line[!side][y]] |= x->cost[other][y] < SPLIT_NEVER;
	for (uint32_t l = 0; l < lines; l++)
		for (uint32_t k = 0; k < others && !fits[l]; k++)
			fits[l] = open[k] && table_at(e->table, side, l, k) < SPLIT_NEVER;
	for (uint32_t c = 0; c < n; c++) {
		cost[c] = fits[e->line[side][c]] ? x->cost[node][c] : SPLIT_NEVER;
		left += cost[c] < SPLIT_NEVER;
	}
	array_free(open);
	array_free(fits);
	/* Where nothing fits, no solution does: the node keeps what it has. */
	return left ? intern_costs(x, cost, n) : x->cost[node];
}

/* True: choices were taken away. */
static bool
exclude(struct reducer *x, const struct split_edge *e, int side)
{
	const uint32_t node = e->end[side];
	const double *before = x->cost[node];
	const struct key key = KEY(MAKE_FITTING, P(before), P(x->cost[e->end[!side]]), P(e->table),
		side, P(e->line[side]), P(e->line[!side]));
	const double *after = *recall(x, key);

	if (!after) {
		after = costs_that_fit(x, e, side);
		*recall(x, key) = after;
	}
	x->cost[node] = after;
	return after != before;
}

/* Until nothing more is excluded: what an end has lost, its other edges are asked about again. */
static void
exclude_all(struct reducer *x)
{
	bool *asked = ARRAY_ZERO(x, bool, x->edge.n + 1);
	struct VEC(uint32_t) open = {0};

	for (int64_t e = x->edge.n; e-- > 0;)
		VEC_PUSH(x, &open, (uint32_t)e);
	while (open.n) {
		const uint32_t e = VEC_POP(&open);
		asked[e] = true;
		for (int side = 0; side < 2; side++) {
			const struct split_edge edge = x->edge.at[e];
			if (!exclude(x, &edge, side))
				continue;
			const struct ends *at = &x->at[edge.end[side]];
			for (int64_t i = 0; i < at->n; i++)
				if (asked[at->at[i]]) {
					asked[at->at[i]] = false;
					VEC_PUSH(x, &open, at->at[i]);
				}
		}
	}
	VEC_FREE(&open);
}

/* --- elimination ------------------------------------------------------------------------------ */

static void
take_out(struct reducer *x, uint32_t node)
{
	struct gone g = {.node = node, .cost = x->cost[node]};

	for (int64_t i = 0; i < x->at[node].n; i++) {
		const struct split_edge *e = &x->edge.at[x->at[node].at[i]];
		if (g.n < 2)
			g.edge[g.n++] = *e;
		x->degree[e->end[0]]--;
		x->degree[e->end[1]]--;
		x->dropped[x->at[node].at[i]] = true;
	}
	x->is_gone[node] = true;
	VEC_PUSH(x, &x->gone, g);
}

/* The only choice that is left; -1: there are several. */
static int
only_choice(const struct reducer *x, uint32_t node)
{
	int only = -1;

	for (uint32_t c = 0; c < x->p->node[node].n; c++)
		if (x->cost[node][c] < SPLIT_NEVER) {
			if (only >= 0)
				return -1;
			only = (int)c;
		}
	return only;
}

/* What a node with one choice costs with each neighbour becomes a cost of that one. */
static void
take_out_fixed(struct reducer *x, uint32_t node, uint32_t choice)
{
	tidy(x, node);
	for (int64_t i = 0; i < x->at[node].n; i++) {
		const struct split_edge *e = &x->edge.at[x->at[node].at[i]];
		const int side = side_of(e, node);
		const uint32_t other = e->end[!side], n = x->p->node[other].n,
			       here = e->line[side][choice];
		const void **known = recall(x, KEY(MAKE_FIXED, P(e->table), here, side,
						       P(e->line[!side]), P(x->cost[other])));
		if (!*known) {
			double *cost = ARRAY_NEW(x, double, n);
			for (uint32_t y = 0; y < n; y++)
				cost[y] = fmin(SPLIT_NEVER,
					x->cost[other][y] +
						table_at(e->table, side, here, e->line[!side][y]));
			*known = cost;
		}
		x->cost[other] = *known;
	}
	x->r.fixed += x->cost[node][choice];
	take_out(x, node);
	/* Its choice is known without its neighbours'. */
	VEC_LAST(&x->gone).n = 0;
}

/* least[line] of the cost of a node by its line in an edge. */
static void
least_by_line(const double *cost, uint32_t n, const uint16_t *line, double *least, uint32_t lines)
{
	for (uint32_t l = 0; l < lines; l++)
		least[l] = SPLIT_NEVER;
	for (uint32_t c = 0; c < n; c++)
		least[line[c]] = fmin(least[line[c]], cost[c]);
}

static void
fold(struct reducer *x, uint32_t node)
{
	const struct split_edge e = x->edge.at[x->at[node].at[0]];
	const int side = side_of(&e, node);
	const uint32_t other = e.end[!side], n = x->p->node[other].n,
		       lines = lines_of(e.table, side);
	const void **known =
		recall(x, KEY(MAKE_FOLDED, P(x->cost[node]), P(e.table), side, P(e.line[side]),
				  P(e.line[!side]), P(x->cost[other])));

	if (!*known) {
		double *cost = ARRAY_NEW(x, double, n), *least = ARRAY_NEW(x, double, lines);
		least_by_line(x->cost[node], x->p->node[node].n, e.line[side], least, lines);
		for (uint32_t y = 0; y < n; y++) {
			double best = SPLIT_NEVER;
			for (uint32_t l = 0; l < lines; l++)
				best = fmin(best,
					least[l] + table_at(e.table, side, l, e.line[!side][y]));
			cost[y] = fmin(SPLIT_NEVER, x->cost[other][y] + best);
		}
		array_free(least);
		*known = cost;
	}
	take_out(x, node);
	x->cost[other] = *known;
}

/* The table between the neighbours over a node with two. */
static void
join(struct reducer *x, uint32_t node)
{
	const struct split_edge e[2] = {
		x->edge.at[x->at[node].at[0]], x->edge.at[x->at[node].at[1]]};
	const int side[2] = {side_of(&e[0], node), side_of(&e[1], node)};
	const void **known =
		recall(x, KEY(MAKE_SERIES, P(x->cost[node]), P(e[0].table), P(e[1].table),
				  P(e[0].line[side[0]]), P(e[1].line[side[1]]), side[0], side[1]));

	if (!*known) {
		const uint32_t n = x->p->node[node].n;
		const struct pairs *l = pair_lines(x, e[0].line[side[0]], e[1].line[side[1]], n);
		double *cost, *flipped, *least = ARRAY_NEW(x, double, l->n);
		struct split_table *t = table_create(x, lines_of(e[0].table, !side[0]),
			lines_of(e[1].table, !side[1]), &cost, &flipped);
		least_by_line(x->cost[node], n, l->line, least, l->n);
		for (uint32_t i = 0; i < t->rows * t->columns; i++)
			cost[i] = SPLIT_NEVER;
		for (uint32_t k = 0; k < l->n; k++)
			for (uint32_t i = 0; i < t->rows && least[k] < SPLIT_NEVER; i++) {
				const double here =
					least[k] + table_at(e[0].table, side[0], l->of[0][k], i);
				for (uint32_t j = 0; j < t->columns && here < SPLIT_NEVER; j++) {
					const double sum = here + table_at(e[1].table, side[1],
									  l->of[1][k], j);
					double *best = &cost[i * t->columns + j];
					*best = sum < *best ? sum : *best;
				}
			}
		for (uint32_t i = 0; i < t->rows; i++)
			for (uint32_t j = 0; j < t->columns; j++)
				flipped[j * t->rows + i] = cost[i * t->columns + j];
		array_free(least);
		/* pair_lines may have moved it. */
		known = recall(
			x, KEY(MAKE_SERIES, P(x->cost[node]), P(e[0].table), P(e[1].table),
				   P(e[0].line[side[0]]), P(e[1].line[side[1]]), side[0], side[1]));
		*known = t;
	}
	const struct split_table *t = *known;
	take_out(x, node);
	add_edge(x, (struct split_edge){{e[0].end[!side[0]], e[1].end[!side[1]]},
			    {e[0].line[!side[0]], e[1].line[!side[1]]}, t});
}

static double
least_of(const double *cost, uint32_t n)
{
	double least = cost[0];

	for (uint32_t c = 1; c < n; c++)
		least = fmin(least, cost[c]);
	return least;
}

static bool
eliminate(struct reducer *x, uint32_t node)
{
	const uint32_t degree = x->degree[node];

	if (x->is_gone[node] || degree > 2)
		return false;
	tidy(x, node);
	if (degree == 2)
		join(x, node);
	else if (degree == 1)
		fold(x, node);
	else {
		x->r.fixed += least_of(x->cost[node], x->p->node[node].n);
		take_out(x, node);
	}
	return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Of choices that have the same line in every edge, the cheapest; none that cannot be. */
static const struct fewer *
find_fewer(struct reducer *x, uint32_t node)
{
	const uint32_t n = x->p->node[node].n;
	const uint16_t *line = NULL;

	tidy(x, node);
	for (int64_t i = 0; i < x->at[node].n; i++) {
		const struct split_edge *e = &x->edge.at[x->at[node].at[i]];
		const uint16_t *here = e->line[side_of(e, node)];
		line = line ? pair_lines(x, line, here, n)->line : here;
	}
	const void **known = recall(x, KEY(MAKE_FEWER, P(x->cost[node]), P(line)));
	if (*known)
		return *known;
	struct fewer *f = NEW(x, struct fewer);
	f->choice = ARRAY_NEW(x, uint16_t, n);
	f->cost = ARRAY_NEW(x, double, n);
	/* Where no solution fits, choices that cannot be are left, as a node has one at least. */
	const double most = least_of(x->cost[node], n) < SPLIT_NEVER ? SPLIT_NEVER : INFINITY;
	for (uint32_t c = 0; c < n; c++) {
		uint32_t i = 0;
		if (x->cost[node][c] >= most)
			continue;
		while (i < f->n && line[f->choice[i]] != line[c])
			i++;
		if (i < f->n && f->cost[i] <= x->cost[node][c])
			continue;
		f->choice[i] = (uint16_t)c;
		f->cost[i] = x->cost[node][c];
		f->n += i == f->n;
	}
	*known = f;
	return f;
}

static const uint16_t *
fewer_lines(struct reducer *x, const struct fewer *f, const uint16_t *line)
{
	const void **known = recall(x, KEY(MAKE_FEWER_LINES, P(f), P(line)));

	if (!*known) {
		uint16_t *of = ARRAY_NEW(x, uint16_t, f->n);
		for (uint32_t i = 0; i < f->n; i++)
			of[i] = line[f->choice[i]];
		*known = of;
	}
	return *known;
}

static void
collect(struct reducer *x)
{
	struct VEC(struct split_node) node = {0};
	struct VEC(struct split_edge) edge = {0};
	struct VEC(uint32_t) which = {0};
	struct VEC(const uint16_t *) choice = {0};
	uint32_t *number = ARRAY_NEW(x, uint32_t, x->p->nnodes);
	const struct fewer **fewer = ARRAY_ZERO(x, const struct fewer *, x->p->nnodes);

	for (uint32_t i = 0; i < x->p->nnodes; i++) {
		number[i] = (uint32_t)node.n;
		if (x->is_gone[i])
			continue;
		fewer[i] = find_fewer(x, i);
		VEC_PUSH(x, &node, (struct split_node){fewer[i]->n, fewer[i]->cost});
		VEC_PUSH(x, &which, i);
		VEC_PUSH(x, &choice, fewer[i]->choice);
	}
	for (int64_t i = 0; i < x->edge.n; i++) {
		struct split_edge e = x->edge.at[i];
		for (int side = 0; side < 2 && !x->dropped[i]; side++) {
			e.line[side] = fewer_lines(x, fewer[e.end[side]], e.line[side]);
			e.end[side] = number[e.end[side]];
		}
		if (!x->dropped[i])
			VEC_PUSH(x, &edge, e);
	}
	x->r.node = which.at;
	x->r.choice = choice.at;
	x->r.problem = (struct split_problem){node.at, edge.at, (uint32_t)node.n, (uint32_t)edge.n};
}

struct split_reduced *
split_reduce(const void *owner, const struct split_problem *p)
{
	struct reducer *x = NEW(owner, struct reducer);
	bool changed = true;

	x->p = p;
	x->cost = ARRAY_NEW(x, const double *, p->nnodes);
	x->is_gone = ARRAY_ZERO(x, bool, p->nnodes);
	x->at = ARRAY_ZERO(x, struct ends, p->nnodes);
	x->degree = ARRAY_ZERO(x, uint32_t, p->nnodes);
	for (uint32_t i = 0; i < p->nnodes; i++)
		x->cost[i] = intern_costs(x, p->node[i].cost, p->node[i].n);
	for (uint32_t e = 0; e < p->nedges; e++)
		add_edge(x, p->edge[e]);
	exclude_all(x);
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const int only = only_choice(x, i);
		if (only >= 0)
			take_out_fixed(x, i, (uint32_t)only);
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < p->nnodes; i++)
			changed = eliminate(x, i) || changed;
	}
	collect(x);
	return &x->r;
}

void
split_expand(const struct split_reduced *r, const uint16_t *reduced, uint16_t *choice)
{
	const struct reducer *x = (const void *)r;

	for (uint32_t i = 0; i < r->problem.nnodes; i++)
		choice[r->node[i]] = r->choice[i][reduced[i]];
	for (int64_t i = x->gone.n; i-- > 0;) {
		const struct gone *g = &x->gone.at[i];
		double least = INFINITY;
		for (uint32_t c = 0; c < x->p->node[g->node].n; c++) {
			double cost = g->cost[c];
			for (uint32_t k = 0; k < g->n; k++) {
				const struct split_edge *e = &g->edge[k];
				const int side = side_of(e, g->node);
				cost += table_at(e->table, side, e->line[side][c],
					e->line[!side][choice[e->end[!side]]]);
			}
			if (cost < least) {
				least = cost;
				choice[g->node] = (uint16_t)c;
			}
		}
	}
}
