/* Which choices of nodes count: see reduce.h. */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/parallel/split/reduce_impl.h"

#include <string.h>

const double *
reduce_costs(struct reducer *x, const double *cost, uint32_t n)
{
	const uint64_t hash = mix_bytes(n, cost, n * sizeof *cost);

	for (uint64_t salt = 0;; salt++) {
		const void **known = reduce_recall(x, KEY(MAKE_COSTS, (uintptr_t)hash, salt, n));
		if (!*known)
			*known = cost;
		if (!memcmp(*known, cost, n * sizeof *cost))
			return *known;
	}
}

/* Raises the costs of choices of one end for which the edge has no possible choice at its other
 * end. */
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
	/* If nothing fits, there is no solution: the node keeps its choices. */
	return left ? reduce_costs(x, cost, n) : x->cost[node];
}

/* True: choices were excluded. */
static bool
exclude(struct reducer *x, const struct split_edge *e, int side)
{
	const uint32_t node = e->end[side];
	const double *before = x->cost[node];
	const struct key key = KEY(MAKE_FITTING, P(before), P(x->cost[e->end[!side]]), P(e->table),
		side, P(e->line[side]), P(e->line[!side]));
	const double *after = *reduce_recall(x, key);

	if (!after) {
		after = costs_that_fit(x, e, side);
		*reduce_recall(x, key) = after;
	}
	x->cost[node] = after;
	return after != before;
}

/* Until nothing more is excluded: after a node has lost choices, its other edges are checked
 * again. */
void
reduce_exclude(struct reducer *x)
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

const struct fewer *
reduce_fewer(struct reducer *x, uint32_t node)
{
	const uint32_t n = x->p->node[node].n;
	const uint16_t *line = NULL;

	reduce_tidy(x, node);
	for (int64_t i = 0; i < x->at[node].n; i++) {
		const struct split_edge *e = &x->edge.at[x->at[node].at[i]];
		const uint16_t *here = e->line[side_of(e, node)];
		line = line ? reduce_pair_lines(x, line, here, n)->line : here;
	}
	const void **known = reduce_recall(x, KEY(MAKE_FEWER, P(x->cost[node]), P(line)));
	if (*known)
		return *known;
	struct fewer *f = NEW(x, struct fewer);
	f->choice = ARRAY_NEW(x, uint16_t, n);
	f->cost = ARRAY_NEW(x, double, n);
	/* If there is no solution, impossible choices are kept, as a node has at least one
	 * choice. */
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

const uint16_t *
reduce_fewer_lines(struct reducer *x, const struct fewer *f, const uint16_t *line)
{
	const void **known = reduce_recall(x, KEY(MAKE_FEWER_LINES, P(f), P(line)));

	if (!*known) {
		uint16_t *of = ARRAY_NEW(x, uint16_t, f->n);
		for (uint32_t i = 0; i < f->n; i++)
			of[i] = line[f->choice[i]];
		*known = of;
	}
	return *known;
}
