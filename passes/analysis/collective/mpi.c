/*
 * MPI's own collectives. The library chooses among algorithms by size and number of ranks, each
 * library in its own way. For long messages Open MPI and MPICH both take rings, and their time is
 * computed here; times of short messages have to be measured.
 */
#include "passes/analysis/collective/build.h"

bool
build_mpi(struct builder *b, uint32_t variant)
{
	return build_ring(b, variant);
}

bool
form_mpi(enum rt_coll_kind kind, int places, double *latencies, double *tensors)
{
	return form_ring(kind, places, latencies, tensors);
}
