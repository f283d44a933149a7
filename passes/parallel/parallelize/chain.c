/*
 * A path of a step on which nothing overlaps: part of the bound of bound.c.
 *
 *     p1 --> sum --> message --> subtract --> p2 --> ...      each begins when the one before is done
 *
 * Whatever else a device does meanwhile, the step takes at least the time of all products on the path,
 * each with its launch unless a kernel may have several of them, of the ops that never share a kernel,
 * and of the messages between them. Messages of a path cannot be sent together, so each counts whole,
 * with its latency, in the number of parts in which it takes least. Of other ops, which may be in kernels of products,
 * nothing counts.
 *
 * Kernels that depend on one of a path and lead to a later one of it run between the two, as well as those of
 * the path, but maybe during its messages: either these kernels count or the messages.
 *
 * With several paths, each with a share, the step takes at least the sum of their times by these shares.
 * One alone could be made short by layouts that cost another one much: the mean of a normalization on every
 * device, if what it is subtracted from counts nothing. So the longest path for the choices that make those
 * so far short is added, again and again. Whatever paths there are, the bound holds.
 */
#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/cluster/cluster.h"
#include "passes/analysis/cost/internal.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

double
parallel_path_seconds(const struct parallel_step *s, uint32_t node, uint32_t choice)
{
	const struct ir_op *op = s->op.at[node];
	const struct parallel_choices *c = parallel_step_choices(s, node);
	const struct device *d = parallel_costs_device(s->costs);

	if (!d || !(cost_is_product(op) || s->part[op->id].counts == PARALLEL_WHOLE))
		return 0;
	return c->least[choice] + (s->several[op->id] ? 0 : d->launch);
}

/* The length of the longest path to each node that the set has, or INFINITY below 0; *edge: by node, the
 * edge that comes last. `from`: where paths begin; PARALLEL_NONE: anywhere. */
static double *
find_lengths(const void *scratch, const struct parallel_step *s, const uint16_t *choice,
	const bool *set, uint32_t from, uint32_t *edge)
{
	const struct split_problem *p = &s->problem;
	double *length = ARRAY_NEW(scratch, double, p->nnodes);
	struct split_half *half;
	uint32_t *first;

	split_halves(scratch, p, &half, &first);
	for (uint32_t i = 0; i < p->nnodes; i++) {
		length[i] = set[i] && (from == PARALLEL_NONE || from == i) ? 0 : -INFINITY;
		edge[i] = PARALLEL_NONE;
		for (uint32_t k = first[i]; k < first[i + 1] && set[i] && i != from; k++) {
			const uint32_t e = half[k].edge, other = half[k].other;
			if (!half[k].side || other >= i || !set[other])
				continue;
			const double way = length[other] +
					   split_edge_cost(&p->edge[e], choice[other], choice[i]);
			if (way > length[i]) {
				length[i] = way;
				edge[i] = e;
			}
		}
		length[i] += set[i] ? parallel_path_seconds(s, i, choice[i]) : 0;
	}
	return length;
}

/* --- kernels beside a path ------------------------------------------------------------------------ */

/* A path, from its end to its begin. */
struct way {
	const struct parallel_step *s;
	const uint16_t *choice;
	const bool *set;
	struct VEC(uint32_t) node, edge; /* edge.at[i] leads to node.at[i] */
	bool *hidden;                    /* [edge.n] it does not count, as kernels beside it do */
};

/* Kernels between two nodes of the path, by their places in it. */
struct beside {
	uint32_t first, last, node;
	double seconds;
};

static int
compare_beside(const void *a, const void *b)
{
	const struct beside *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static bool
is_kernel(const struct way *w, uint32_t node)
{
	return w->set[node] && parallel_path_seconds(w->s, node, w->choice[node]) > 0;
}

/* *first, *last: by node, the places of the nearest kernels of the path that it depends on, and that
 * depend on it; places count from the end. */
static void
find_places(const void *scratch, const struct way *w, uint32_t **first, uint32_t **last)
{
	const struct split_problem *p = &w->s->problem;
	uint32_t *place = ARRAY_NEW(scratch, uint32_t, p->nnodes);
	struct split_half *half;
	uint32_t *begin;

	*first = ARRAY_NEW(scratch, uint32_t, p->nnodes);
	*last = ARRAY_NEW(scratch, uint32_t, p->nnodes);
	for (uint32_t i = 0; i < p->nnodes; i++)
		place[i] = (*first)[i] = (*last)[i] = PARALLEL_NONE;
	for (uint32_t i = 0; i < w->node.n; i++)
		if (is_kernel(w, w->node.at[i]))
			place[w->node.at[i]] = i;
	split_halves(scratch, p, &half, &begin);
	for (uint32_t i = 0; i < p->nnodes; i++)
		for (uint32_t k = begin[i]; k < begin[i + 1] && w->set[i]; k++) {
			const uint32_t from = half[k].other;
			if (!half[k].side || from >= i || !w->set[from])
				continue;
			const uint32_t at =
				place[from] != PARALLEL_NONE ? place[from] : (*first)[from];
			(*first)[i] = at < (*first)[i] ? at : (*first)[i];
		}
	for (uint32_t i = p->nnodes; i-- > 0;)
		for (uint32_t k = begin[i]; k < begin[i + 1] && w->set[i]; k++) {
			const uint32_t to = half[k].other;
			if (half[k].side || to <= i || !w->set[to])
				continue;
			const uint32_t at = place[to] != PARALLEL_NONE ? place[to] : (*last)[to];
			if (at != PARALLEL_NONE && ((*last)[i] == PARALLEL_NONE || at > (*last)[i]))
				(*last)[i] = at;
		}
	for (uint32_t i = 0; i < w->node.n; i++)
		(*first)[w->node.at[i]] = PARALLEL_NONE;
}

static double
seconds_of_edge(const struct way *w, uint32_t e)
{
	const struct split_edge *edge = &w->s->problem.edge[e];

	return split_edge_cost(edge, w->choice[edge->end[0]], w->choice[edge->end[1]]);
}

/* Takes kernels beside the path where they take longer than the messages of the path next to them. */
static void
take_beside(const void *scratch, struct way *w, double share, struct parallel_paths *paths)
{
	struct VEC(struct beside) list = {0};
	uint32_t *first, *last;

	find_places(scratch, w, &first, &last);
	for (uint32_t i = 0; i < w->s->problem.nnodes; i++)
		if (is_kernel(w, i) && first[i] != PARALLEL_NONE && last[i] != PARALLEL_NONE)
			VEC_PUSH(scratch, &list,
				((struct beside){first[i], last[i], i,
					parallel_path_seconds(w->s, i, w->choice[i])}));
	if (list.n)
		qsort(list.at, (size_t)list.n, sizeof *list.at, compare_beside);
	for (int64_t i = 0, n; i < list.n; i = n) {
		const struct beside *b = &list.at[i];
		double gain = 0, loss = 0;
		for (n = i;
			n < list.n && list.at[n].first == b->first && list.at[n].last == b->last;
			n++)
			gain += list.at[n].seconds;
		for (uint32_t e = b->last; e < b->first; e++)
			loss += w->hidden[e] ? 0 : seconds_of_edge(w, w->edge.at[e]);
		if (gain <= loss)
			continue;
		for (uint32_t e = b->last; e < b->first; e++)
			w->hidden[e] = true;
		for (int64_t k = i; k < n; k++)
			paths->node[list.at[k].node] += share;
	}
}

/* Adds the share to the nodes and edges of the path that ends at a node, but not to the node `from`, and
 * to the kernels beside it. */
static void
add_path(const void *scratch, const struct parallel_step *s, const uint16_t *choice,
	const bool *set, uint32_t node, const uint32_t *edge, uint32_t from, double share,
	struct parallel_paths *paths)
{
	struct way w = {.s = s, .choice = choice, .set = set};

	VEC_PUSH(scratch, &w.node, node);
	while (edge[node] != PARALLEL_NONE) {
		VEC_PUSH(scratch, &w.edge, edge[node]);
		node = s->problem.edge[edge[node]].end[0];
		VEC_PUSH(scratch, &w.node, node);
	}
	w.hidden = ARRAY_ZERO(scratch, bool, w.edge.n + 1);
	take_beside(scratch, &w, share, paths);
	for (int64_t i = 0; i < w.node.n; i++)
		paths->node[w.node.at[i]] += w.node.at[i] == from ? 0 : share;
	for (int64_t i = 0; i < w.edge.n; i++)
		paths->edge[w.edge.at[i]] += w.hidden[i] ? 0 : share;
}

/* --- paths ----------------------------------------------------------------------------------------- */

struct parallel_paths
parallel_paths_create(const void *owner, const struct parallel_step *s)
{
	return (struct parallel_paths){ARRAY_ZERO(owner, double, s->problem.nnodes),
		ARRAY_ZERO(owner, double, s->problem.nedges)};
}

void
parallel_paths_add(struct parallel_paths *paths, const struct parallel_step *s,
	const uint16_t *choice, const bool *before, const bool *after, uint32_t through,
	double share)
{
	const uint32_t n = s->problem.nnodes;
	void *scratch = alloc_scratch(NULL);
	uint32_t *edge = ARRAY_NEW(scratch, uint32_t, n), last = through;

	for (uint32_t i = 0; i < n; i++)
		paths->node[i] *= 1 - share;
	for (uint32_t e = 0; e < s->problem.nedges; e++)
		paths->edge[e] *= 1 - share;
	find_lengths(scratch, s, choice, before, PARALLEL_NONE, edge);
	add_path(scratch, s, choice, before, through, edge, PARALLEL_NONE, share, paths);
	const double *length = find_lengths(scratch, s, choice, after, through, edge);
	for (uint32_t i = through; i < n; i++)
		last = after[i] && length[i] > length[last] ? i : last;
	add_path(scratch, s, choice, after, last, edge, through, share, paths);
	talloc_free(scratch);
}
