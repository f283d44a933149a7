/*
 * The optimum by elimination of nodes (U. Bertele and F. Brioschi, "Nonserial Dynamic Programming",
 * 1972): the costs around a node become one table over its neighbours, the least over its choices.
 * See solve.h.
 */
#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "passes/parallel/split/reduce.h"
#include "passes/parallel/split/solve.h"

#include <math.h>
#include <talloc.h>

/* Sweeps before choices are excluded: further ones exclude few. */
enum { SWEEPS = 100 };

/* A cost that depends on the choices of some nodes. It has a stride for each node; the last stride
 * is 1. */
struct factor {
	uint32_t n, *node;
	uint64_t *stride;
	double *cost;
	bool gone;
};

/* The best choice of an eliminated node, for all choices of its neighbours. */
struct eliminated {
	uint32_t node;
	const struct factor *around; /* the nodes and strides of best[] */
	uint16_t *best;
};

/* A factor of the sum for an entry: its strides for the eliminated node and for the neighbours. */
struct part {
	const double *cost;
	uint64_t own, *around;
};

struct exhaust {
	const struct split_problem *p;
	uint16_t **open; /* by node: its choices that are not excluded */
	uint32_t *nopen;
	struct VEC(struct factor *) factor;
	struct factors VEC(uint32_t) *
		at;   /* by node: the factors that it is in, and some that no longer exist */
	double *size; /* by node: number of entries of the table that eliminates it */
	struct VEC(struct eliminated) done;
	bool *is_done;
	uint64_t most;
};

/* Excludes choices with which no solution costs as little as `cost`; those of `choice` stay. */
static void
exclude(struct exhaust *x, double cost, const uint16_t *choice, const struct split_solver *solver)
{
	/* Choices that rounding may have put above the cost of the current solution stay. */
	const double limit = cost + 1e-9 * fabs(cost);

	for (uint32_t i = 0; i < x->p->nnodes; i++) {
		const uint32_t n = x->p->node[i].n;
		double *least = ARRAY_NEW(x, double, n);
		x->open[i] = ARRAY_NEW(x, uint16_t, n);
		split_solver_least(solver, i, least);
		for (uint32_t c = 0; c < n; c++)
			if (least[c] <= limit || c == choice[i])
				x->open[i][x->nopen[i]++] = (uint16_t)c;
		array_free(least);
	}
}

static struct factor *
factor_create(struct exhaust *x, const uint32_t *node, uint32_t n)
{
	struct factor *f = NEW(x, struct factor);
	uint64_t size = 1;

	f->n = n;
	f->node = ARRAY_NEW(f, uint32_t, n);
	f->stride = ARRAY_NEW(f, uint64_t, n);
	for (uint32_t k = n; k-- > 0;) {
		f->node[k] = node[k];
		f->stride[k] = size;
		size *= x->nopen[node[k]];
	}
	f->cost = ARRAY_ZERO(f, double, size);
	for (uint32_t k = 0; k < n; k++)
		VEC_PUSH(x, &x->at[node[k]], (uint32_t)x->factor.n);
	VEC_PUSH(x, &x->factor, f);
	return f;
}

static void
list_factors(struct exhaust *x)
{
	for (uint32_t i = 0; i < x->p->nnodes; i++) {
		struct factor *f = factor_create(x, &i, 1);
		for (uint32_t c = 0; c < x->nopen[i]; c++)
			f->cost[c] = x->p->node[i].cost[x->open[i][c]];
	}
	for (uint32_t k = 0; k < x->p->nedges; k++) {
		const struct split_edge *e = &x->p->edge[k];
		struct factor *f = factor_create(x, e->end, 2);
		for (uint32_t a = 0; a < x->nopen[e->end[0]]; a++)
			for (uint32_t b = 0; b < x->nopen[e->end[1]]; b++)
				f->cost[a * f->stride[0] + b] = split_edge_cost(
					e, x->open[e->end[0]][a], x->open[e->end[1]][b]);
	}
}

static bool
factor_has(const struct factor *f, uint32_t node, uint64_t *stride)
{
	for (uint32_t k = 0; k < f->n; k++)
		if (f->node[k] == node) {
			*stride = f->stride[k];
			return true;
		}
	return false;
}

/* The neighbours of a node; returns the entries of a table over them and the node. */
static double
neighbours(const struct exhaust *x, uint32_t node, uint32_t *list, uint32_t *n)
{
	double size = x->nopen[node];

	*n = 0;
	for (int64_t i = 0; i < x->at[node].n; i++) {
		const struct factor *f = x->factor.at[x->at[node].at[i]];
		for (uint32_t k = 0; k < f->n && !f->gone; k++) {
			bool known = f->node[k] == node;
			for (uint32_t j = 0; j < *n && !known; j++)
				known = list[j] == f->node[k];
			if (known)
				continue;
			list[(*n)++] = f->node[k];
			size *= x->nopen[f->node[k]];
		}
	}
	return size;
}

/* The table over the neighbours: entry by entry, the least over the choices of the node. */
static void
eliminate(struct exhaust *x, uint32_t node, const uint32_t *around, uint32_t n)
{
	struct VEC(struct part) part = {0};
	uint64_t size = 1, stride = 0;

	for (int64_t i = 0; i < x->at[node].n; i++) {
		struct factor *f = x->factor.at[x->at[node].at[i]];
		if (f->gone)
			continue;
		factor_has(f, node, &stride);
		f->gone = true;
		VEC_PUSH(x, &part, (struct part){f->cost, stride, ARRAY_ZERO(x, uint64_t, n)});
		for (uint32_t k = 0; k < n; k++)
			if (factor_has(f, around[k], &stride))
				VEC_LAST(&part).around[k] = stride;
	}
	struct factor *f = factor_create(x, around, n);
	for (uint32_t k = 0; k < n; k++)
		size *= x->nopen[around[k]];
	uint16_t *best = ARRAY_NEW(x, uint16_t, size);
	for (uint64_t entry = 0; entry < size; entry++) {
		double least = INFINITY;
		for (uint32_t c = 0; c < x->nopen[node]; c++) {
			double cost = 0;
			for (int64_t i = 0; i < part.n; i++) {
				uint64_t at = c * part.at[i].own;
				for (uint32_t k = 0; k < n; k++)
					at += entry / f->stride[k] % x->nopen[around[k]] *
					      part.at[i].around[k];
				cost += part.at[i].cost[at];
			}
			if (cost < least) {
				least = cost;
				best[entry] = (uint16_t)c;
			}
		}
		f->cost[entry] = least;
	}
	VEC_PUSH(x, &x->done, (struct eliminated){node, f, best});
	x->is_done[node] = true;
	VEC_FREE(&part);
}

static bool
eliminate_all(struct exhaust *x)
{
	uint32_t *list = ARRAY_NEW(x, uint32_t, x->p->nnodes + 1),
		 *around = ARRAY_NEW(x, uint32_t, x->p->nnodes + 1), n, m;

	for (uint32_t i = 0; i < x->p->nnodes; i++)
		x->size[i] = neighbours(x, i, list, &n);
	for (uint32_t turn = 0; turn < x->p->nnodes; turn++) {
		uint32_t next = x->p->nnodes;
		for (uint32_t i = 0; i < x->p->nnodes; i++)
			if (!x->is_done[i] && (next == x->p->nnodes || x->size[i] < x->size[next]))
				next = i;
		if (x->size[next] > (double)x->most)
			return false;
		neighbours(x, next, around, &n);
		eliminate(x, next, around, n);
		for (uint32_t k = 0; k < n; k++)
			x->size[around[k]] = neighbours(x, around[k], list, &m);
	}
	return true;
}

/* The last node eliminated is the first whose choice is known. */
static void
read_back(const struct exhaust *x, uint16_t *choice)
{
	uint16_t *at = ARRAY_NEW(x, uint16_t, x->p->nnodes);

	for (int64_t i = x->done.n; i-- > 0;) {
		const struct eliminated *e = &x->done.at[i];
		uint64_t entry = 0;
		for (uint32_t k = 0; k < e->around->n; k++)
			entry += at[e->around->node[k]] * e->around->stride[k];
		at[e->node] = e->best[entry];
		choice[e->node] = x->open[e->node][at[e->node]];
	}
}

bool
split_exhaust(const void *owner, const struct split_problem *p, uint64_t most,
	struct split_solution *solution)
{
	void *scratch = alloc_scratch(NULL);
	const struct split_reduced *reduced = split_reduce(scratch, p);
	const struct split_problem *small = &reduced->problem;
	struct split_solver *solver = split_solver_create(scratch, small);
	struct exhaust *x = NEW(scratch, struct exhaust);

	*solution = split_solve(owner, p, SWEEPS, 0, INFINITY);
	for (uint32_t i = 0; i < solution->sweeps; i++)
		split_solver_sweep(solver);
	x->p = small;
	x->most = most;
	x->open = ZERO_ARRAY(x, uint16_t *, small->nnodes);
	x->nopen = ZERO_ARRAY(x, uint32_t, small->nnodes);
	x->is_done = ZERO_ARRAY(x, bool, small->nnodes);
	x->at = ZERO_ARRAY(x, struct factors, small->nnodes);
	x->size = ZERO_ARRAY(x, double, small->nnodes);
	exclude(x, solution->cost - reduced->fixed, split_solver_best(solver), solver);
	list_factors(x);
	const bool complete = eliminate_all(x);
	if (complete) {
		uint16_t *choice = ARRAY_NEW(x, uint16_t, small->nnodes);
		read_back(x, choice);
		split_expand(reduced, choice, solution->choice);
		solution->cost = solution->bound = split_cost(p, solution->choice);
	}
	talloc_free(scratch);
	return complete;
}
