/* Names of collectives and of their algorithms; closed forms. */
#include "passes/analysis/collective/collective.h"

const char *
collective_name(enum collective c)
{
	static const char *const names[] = {"allreduce", "reduce", "broadcast", "allgather",
		"gather", "scatter", "reducescatter", "alltoall", "send"};
	return names[c];
}

const char *
collective_algorithm_name(enum collective_algorithm a)
{
	static const char *const names[] = {
		"auto", "ring", "tree", "halving", "hierarchical", "ps"};
	return names[a];
}

double
collective_ring_seconds(enum collective c, int places, double bytes, double alpha, double beta)
{
	if (places < 2)
		return 0;
	double hops = places - 1;
	double piece = hops * (alpha + bytes / places / beta);
	switch (c) {
	case COLL_ALLREDUCE: return 2 * piece;
	case COLL_ALLGATHER:
	case COLL_REDUCESCATTER:
	case COLL_ALLTOALL:
	case COLL_GATHER:
	case COLL_SCATTER: return piece;
	case COLL_BROADCAST:
	case COLL_REDUCE: return hops * alpha + bytes / beta;
	case COLL_SEND:
	case COLL_NKINDS: break;
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
tree_form(enum collective c, int places, double *latencies, double *tensors)
{
	*latencies = 1 + tree_levels(places - 1);
	*tensors = 1;
	if (c == COLL_ALLREDUCE) { /* at P = 2 and 3 no place has two children */
		*latencies = 2 * tree_levels(places);
		*tensors = places > 3 ? 2 : places / 2.0;
	}
	return c == COLL_ALLREDUCE || c == COLL_BROADCAST || c == COLL_REDUCE;
}

static bool
halving_form(enum collective c, int places, double *latencies, double *tensors)
{
	double both = c == COLL_ALLREDUCE ? 2 : 1;
	*latencies = both * tree_levels(places);
	*tensors = both * (places - 1) / places;
	return (places & (places - 1)) == 0 &&
	       (c == COLL_ALLREDUCE || c == COLL_ALLGATHER || c == COLL_REDUCESCATTER);
}

bool
collective_closed_form(enum collective c, enum collective_algorithm a, int places,
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
		return c == COLL_ALLREDUCE;
	case COLLECTIVE_AUTO:
	case COLLECTIVE_HIERARCHICAL:
	case COLLECTIVE_NALGORITHMS: break;
	}
	return false;
}
