/* See reduce.h. */
#include "ir/base/alloc.h"
#include "passes/parallel/split/reduce_impl.h"

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

/* A node with one choice: the costs of its edges become costs of its neighbours. */
static void
take_out_fixed(struct reducer *x, uint32_t node, uint32_t choice)
{
	reduce_tidy(x, node);
	for (int64_t i = 0; i < x->at[node].n; i++) {
		const struct split_edge *e = &x->edge.at[x->at[node].at[i]];
		const int side = side_of(e, node);
		const uint32_t other = e->end[!side], n = x->p->node[other].n,
			       here = e->line[side][choice];
		const void **known =
			reduce_recall(x, KEY(MAKE_FIXED, P(e->table), here, side, P(e->line[!side]),
						 P(x->cost[other])));
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
	/* Its best choice does not depend on its neighbours'. */
	VEC_LAST(&x->gone).n = 0;
}

/* least[line]: the least cost of the node's choices on that line of an edge. */
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
		reduce_recall(x, KEY(MAKE_FOLDED, P(x->cost[node]), P(e.table), side,
					 P(e.line[side]), P(e.line[!side]), P(x->cost[other])));

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

/* The table between the two neighbours of a node that is eliminated. */
static void
join(struct reducer *x, uint32_t node)
{
	const struct split_edge e[2] = {
		x->edge.at[x->at[node].at[0]], x->edge.at[x->at[node].at[1]]};
	const int side[2] = {side_of(&e[0], node), side_of(&e[1], node)};
	const void **known = reduce_recall(
		x, KEY(MAKE_SERIES, P(x->cost[node]), P(e[0].table), P(e[1].table),
			   P(e[0].line[side[0]]), P(e[1].line[side[1]]), side[0], side[1]));

	if (!*known) {
		const uint32_t n = x->p->node[node].n;
		const struct pairs *l =
			reduce_pair_lines(x, e[0].line[side[0]], e[1].line[side[1]], n);
		double *cost, *flipped, *least = ARRAY_NEW(x, double, l->n);
		struct split_table *t = reduce_table(x, lines_of(e[0].table, !side[0]),
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
		reduce_flip(t, flipped);
		array_free(least);
		/* pair_lines may have moved it. */
		known = reduce_recall(
			x, KEY(MAKE_SERIES, P(x->cost[node]), P(e[0].table), P(e[1].table),
				   P(e[0].line[side[0]]), P(e[1].line[side[1]]), side[0], side[1]));
		*known = t;
	}
	const struct split_table *t = *known;
	take_out(x, node);
	reduce_add_edge(x, (struct split_edge){{e[0].end[!side[0]], e[1].end[!side[1]]},
				   {e[0].line[!side[0]], e[1].line[!side[1]]}, t});
}

static bool
eliminate(struct reducer *x, uint32_t node)
{
	const uint32_t degree = x->degree[node];

	if (x->is_gone[node] || degree > 2)
		return false;
	reduce_tidy(x, node);
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
		fewer[i] = reduce_fewer(x, i);
		VEC_PUSH(x, &node, (struct split_node){fewer[i]->n, fewer[i]->cost});
		VEC_PUSH(x, &which, i);
		VEC_PUSH(x, &choice, fewer[i]->choice);
	}
	for (int64_t i = 0; i < x->edge.n; i++) {
		struct split_edge e = x->edge.at[i];
		uint32_t n[2];
		if (x->dropped[i])
			continue;
		for (int side = 0; side < 2; side++) {
			n[side] = fewer[e.end[side]]->n;
			e.line[side] = reduce_fewer_lines(x, fewer[e.end[side]], e.line[side]);
			e.end[side] = number[e.end[side]];
		}
		VEC_PUSH(x, &edge, reduce_used(x, e, n));
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
		x->cost[i] = reduce_costs(x, p->node[i].cost, p->node[i].n);
	for (uint32_t e = 0; e < p->nedges; e++)
		reduce_add_edge(x, p->edge[e]);
	reduce_exclude(x);
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
