/* A problem with other costs of nodes: see problem.h. */
#include "ir/base/alloc.h"
#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "passes/parallel/split/problem.h"

#include <math.h>

struct combined {
	const double *cost, *other;
	double *result;
};

MAP_SAME(same_arrays, struct combined, struct combined,
	list[i].cost == key->cost && list[i].other == key->other)

struct split_problem
split_combine(const void *owner, const struct split_problem *p, double weight,
	const double *const *other, double price)
{
	struct split_problem combined = *p;
	struct split_node *node = COPY_ARRAY(owner, struct split_node, p->node, p->nnodes);
	struct VEC(struct combined) list = {0};
	struct map map = {0};

	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct combined key = {node[i].cost, other ? other[i] : NULL, NULL};
		const uint32_t k = map_add(owner, &map,
			mix_word(mix_pointer(key.cost), mix_pointer(key.other)), same_arrays,
			list.at, &key);
		if (k == list.n) {
			double *cost = ARRAY_NEW(owner, double, node[i].n);
			for (uint32_t x = 0; x < node[i].n; x++)
				cost[x] = key.cost[x] < SPLIT_NEVER
						  ? fmin(SPLIT_NEVER,
							    weight * key.cost[x] +
								    (other ? price * key.other[x]
									   : 0))
						  : SPLIT_NEVER;
			VEC_PUSH(owner, &list, ((struct combined){key.cost, key.other, cost}));
		}
		node[i].cost = list.at[k].result;
	}
	combined.node = node;
	return combined;
}
