/*
 * A path of a step on which nothing overlaps: part of the bound of bound.c.
 *
 *     p1 --> sum --> message --> subtract --> p2 --> ...      each begins when the one before is done
 *
 * Whatever else a device does meanwhile, the step takes at least the time of a path: that of its products,
 * with a launch each unless a kernel may hold several of them; of ops that never share a kernel; and of the
 * messages between these. Messages of a path cannot be sent together, so each counts in full, with its latency,
 * in the number of parts in which it takes least. Other ops may be in kernels of products and count nothing.
 *
 * A kernel that depends on one kernel of the path, and on which a later one depends, runs between these two, possibly
 * during messages of the path: either such kernels count or these messages.
 *
 * The step also takes at least a weighted mean of the times of several paths. A single path could be made short
 * by layouts that make others long, such as the mean of a normalization on every device, where the values that it is
 * subtracted from count nothing. So the longest path is added, again and again, under the choices that make the
 * paths so far shortest. The bound holds for any paths.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
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

/* The length of the longest path to each node of the set, -INFINITY for other nodes; *edge: by node, the last edge of
 * that path. `from`: where paths begin; PARALLEL_NONE: anywhere. */
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

/* --- kernels between those of a path ------------------------------------------------------------- */

/* A path, its last node first. */
struct way {
	const struct parallel_step *s;
	const uint16_t *choice;
	const bool *set;
	struct VEC(uint32_t) node, edge; /* edge.at[i] leads to node.at[i] */
	bool *hidden;                    /* [edge.n] kernels that may run during it count instead */
};

/* A kernel between two kernels of the path; positions in node. */
struct between {
	uint32_t first, last, node;
	double seconds;
};

ORDER_BY(by_ends, struct between, UP(first), UP(last), UP(node))

static bool
is_kernel(const struct way *w, uint32_t node)
{
	return w->set[node] && parallel_path_seconds(w->s, node, w->choice[node]) > 0;
}

/* *first, *last: by node, the positions of the nearest kernels of the path that it depends on, and that
 * depend on it. */
static void
find_ends(const void *scratch, const struct way *w, uint32_t **first, uint32_t **last)
{
	const struct split_problem *p = &w->s->problem;
	uint32_t *position = ARRAY_NEW(scratch, uint32_t, p->nnodes);
	struct split_half *half;
	uint32_t *begin;

	*first = ARRAY_NEW(scratch, uint32_t, p->nnodes);
	*last = ARRAY_NEW(scratch, uint32_t, p->nnodes);
	for (uint32_t i = 0; i < p->nnodes; i++)
		position[i] = (*first)[i] = (*last)[i] = PARALLEL_NONE;
	for (uint32_t i = 0; i < w->node.n; i++)
		if (is_kernel(w, w->node.at[i]))
			position[w->node.at[i]] = i;
	split_halves(scratch, p, &half, &begin);
	for (uint32_t i = 0; i < p->nnodes; i++)
		for (uint32_t k = begin[i]; k < begin[i + 1] && w->set[i]; k++) {
			const uint32_t from = half[k].other;
			if (!half[k].side || from >= i || !w->set[from])
				continue;
			const uint32_t at =
				position[from] != PARALLEL_NONE ? position[from] : (*first)[from];
			(*first)[i] = at < (*first)[i] ? at : (*first)[i];
		}
	for (uint32_t i = p->nnodes; i-- > 0;)
		for (uint32_t k = begin[i]; k < begin[i + 1] && w->set[i]; k++) {
			const uint32_t to = half[k].other;
			if (half[k].side || to <= i || !w->set[to])
				continue;
			const uint32_t at =
				position[to] != PARALLEL_NONE ? position[to] : (*last)[to];
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

/* Counts the kernels between two of the path where they take longer than the messages between these. */
static void
count_between(const void *scratch, struct way *w, double share, struct parallel_paths *paths)
{
	struct VEC(struct between) list = {0};
	uint32_t *first, *last;

	find_ends(scratch, w, &first, &last);
	for (uint32_t i = 0; i < w->s->problem.nnodes; i++)
		if (is_kernel(w, i) && first[i] != PARALLEL_NONE && last[i] != PARALLEL_NONE)
			VEC_PUSH(scratch, &list,
				((struct between){first[i], last[i], i,
					parallel_path_seconds(w->s, i, w->choice[i])}));
	if (list.n)
		qsort(list.at, (size_t)list.n, sizeof *list.at, by_ends);
	for (int64_t i = 0, n; i < list.n; i = n) {
		const struct between *b = &list.at[i];
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
 * to the kernels between those of the path. */
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
	count_between(scratch, &w, share, paths);
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
