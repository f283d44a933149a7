/* Names of the algorithms of collectives; closed forms. */
#include "passes/analysis/collective/collective.h"

const char *
collective_algorithm_name(enum collective_algorithm a)
{
	static const char *const names[] = {
		"auto", "ring", "tree", "halving", "hierarchical", "ps"};
	return names[a];
}

double
collective_ring_seconds(enum rt_coll_kind c, int places, double bytes, double alpha, double beta)
{
	if (places < 2)
		return 0;
	double hops = places - 1;
	double piece = hops * (alpha + bytes / places / beta);
	switch (c) {
	case RT_ALLREDUCE: return 2 * piece;
	case RT_ALLGATHER:
	case RT_REDUCESCATTER:
	case RT_ALLTOALL:
	case RT_GATHER:
	case RT_SCATTER: return piece;
	case RT_BROADCAST:
	case RT_REDUCE: return hops * alpha + bytes / beta;
	case RT_SEND:
	case RT_COLL_KINDS: break;
	}
	return alpha + bytes / beta;
}

/* Levels below the root of the trees of tree.c over n ranks. */
static double
tree_levels(int n)
{
	double levels = 0;
	for (int below = n - 1; below > 0; below /= 2)
		levels++;
	return levels;
}

static bool
tree_form(enum rt_coll_kind c, int places, double *latencies, double *tensors)
{
	*latencies = 1 + tree_levels(places - 1);
	*tensors = 1;
	if (c == RT_ALLREDUCE) { /* at P = 2 and 3 no place has two children */
		*latencies = 2 * tree_levels(places);
		*tensors = places > 3 ? 2 : places / 2.0;
	}
	return c == RT_ALLREDUCE || c == RT_BROADCAST || c == RT_REDUCE;
}

static bool
halving_form(enum rt_coll_kind c, int places, double *latencies, double *tensors)
{
	double both = c == RT_ALLREDUCE ? 2 : 1;
	*latencies = both * tree_levels(places);
	*tensors = both * (places - 1) / places;
	return (places & (places - 1)) == 0 &&
	       (c == RT_ALLREDUCE || c == RT_ALLGATHER || c == RT_REDUCESCATTER);
}

bool
collective_closed_form(enum rt_coll_kind c, enum collective_algorithm a, int places,
	double *latencies, double *tensors)
{
	*latencies = *tensors = 0;
	if (places < 2)
		return a != COLLECTIVE_AUTO && a != COLLECTIVE_HIERARCHICAL;
	switch (a) {
	case COLLECTIVE_RING:
		*latencies = collective_ring_seconds(c, places, 0, 1, 1);
		*tensors = collective_ring_seconds(c, places, 1, 0, 1);
		return true;
	case COLLECTIVE_TREE: return tree_form(c, places, latencies, tensors);
	case COLLECTIVE_HALVING: return halving_form(c, places, latencies, tensors);
	case COLLECTIVE_PS:
		*latencies = 2;
		*tensors = 2.0 * (places - 1) / places;
		return c == RT_ALLREDUCE;
	case COLLECTIVE_AUTO:
	case COLLECTIVE_HIERARCHICAL:
	case COLLECTIVE_NALGORITHMS: break;
	}
	return false;
}
