/* See overlap.h. */
#include "passes/parallel/split/overlap.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* Number of weights that are tried: the last ones differ by 1 %. */
enum { WEIGHTS = 8 };

static double
node_sum(const struct split_problem *p, const uint16_t *choice)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nnodes; i++)
		sum += p->node[i].cost[choice[i]];
	return sum;
}

double
split_overlapped(const struct split_problem *p, const uint16_t *choice)
{
	const double nodes = node_sum(p, choice);

	return fmax(nodes, split_cost(p, choice) - nodes);
}

struct split_solution
split_solve_overlap(const void *owner, const struct split_problem *p, uint32_t sweeps, double gap)
{
	struct split_solution best = {
		ARRAY_ZERO(owner, uint16_t, p->nnodes), INFINITY, -INFINITY, 0};
	double low = 0, high = 1;

	for (int i = 0; i < WEIGHTS; i++) {
		void *scratch = alloc_scratch(NULL);
		const double a = (low + high) / 2;
		/* Edges keep their tables, so nodes are scaled: a / (1 - a) C + M. */
		const struct split_problem weighted =
			split_combine(scratch, p, a / (1 - a), NULL, 0);
		const struct split_solution s =
			split_solve(scratch, &weighted, sweeps, gap, INFINITY);
		const double cost = split_overlapped(p, s.choice);
		best.bound = fmax(best.bound, (1 - a) * s.bound);
		best.sweeps += s.sweeps;
		if (cost < best.cost) {
			best.cost = cost;
			memcpy(best.choice, s.choice, p->nnodes * sizeof *s.choice);
		}
		if (node_sum(p, s.choice) < cost)
			high = a;
		else
			low = a;
		talloc_free(scratch);
	}
	return best;
}
