/*
 * Recursive vector halving and distance doubling (Rabenseifner 2004; Thakur, Rabenseifner, Gropp
 * 2005): a reducescatter in log2 P rounds, each with a partner at twice the distance and half of
 * the remaining data; an allgather is the same in reverse, an allreduce both. The large pieces go
 * to the nearest places, inside a node. Needs a power-of-two number of places.
 */
#include "passes/analysis/collective/build.h"

static void
build_partners(struct builder *b, uint32_t distance)
{
	uint32_t p = b->at->places;
	build_round(b, 1);
	for (uint32_t g = 0; g < b->at->ngroups; g++) {
		const uint32_t *member = b->at->member + (size_t)g * p;
		for (uint32_t i = 0; i < p; i++)
			build_send(b, member[i], member[i ^ distance], 0.5 / distance);
	}
}

bool
build_halving(struct builder *b, uint32_t variant)
{
	uint32_t p = b->at->places;
	enum rt_coll_kind kind = b->request->kind;
	bool all = kind == RT_ALLREDUCE;

	(void)variant;
	for (uint32_t d = 1; (all || kind == RT_REDUCESCATTER) && d < p; d *= 2)
		build_partners(b, d);
	for (uint32_t d = p / 2; (all || kind == RT_ALLGATHER) && d > 0; d /= 2)
		build_partners(b, d);
	return true;
}

bool
form_halving(enum rt_coll_kind kind, int places, double *latencies, double *tensors)
{
	double rounds = 0, both = kind == RT_ALLREDUCE ? 2 : 1;
	for (int distance = 1; distance < places; distance *= 2)
		rounds++;
	*latencies = both * rounds;
	*tensors = both * (places - 1) / places;
	return true;
}
