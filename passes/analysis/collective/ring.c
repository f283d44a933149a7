/*
 * Rings and linear algorithms: each kind has a form of this "algorithm", so that it always applies.
 *
 * Ring (Thakur, Rabenseifner, Gropp 2005; Patarasuk and Yuan 2009): in each of P-1 rounds every
 * place passes one of the P pieces of the tensor to its neighbour; that is an allgather, or a
 * reducescatter, and an allreduce is both. Broadcast and reduce go along the ring in pieces, a
 * pipeline. Gather and scatter: the root receives or sends one piece after the other. Alltoall:
 * pairwise, in each round with a partner at another distance (Thakur and others, "long messages");
 * if all nodes have the same size, the distance consists of one between nodes and one inside the
 * node, so that in a round all sends cross between nodes or none does. With very many places,
 * rounds of distances that differ by a factor of up to two count as equal: see PAIRWISE_SENDS.
 *
 * A ring passes through each node once and so uses one path between nodes, the only one if the
 * members of a node share a network card. If they have several, libraries use several rings (NCCL:
 * channels) which leave each node from different members. So does the second variant: with c paths,
 * ring j carries 1/c of the tensor and takes the members of each node from number j m/c on.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/collective/build.h"

#include <talloc.h>

/* One order through all members of a group, starting with the root if there is one. */
static void
fill_order(const struct builder *b, uint32_t g, uint32_t shift, bool rooted, uint32_t *order)
{
	const struct placement *at = b->at;
	const uint32_t *member = at->member + (size_t)g * at->places;
	const uint32_t *node = at->node + (size_t)g * (at->places + 1);
	uint32_t root = rooted ? at->root[g] : 0, home = 0, n = 0;
	while (node[home + 1] <= root)
		home++;
	for (uint32_t k = 0; k < at->nnodes[g]; k++) {
		uint32_t here = (home + k) % at->nnodes[g];
		uint32_t first = node[here], m = node[here + 1] - first;
		bool fixed = rooted && !k; /* in the root's node: the others follow it */
		if (fixed)
			order[n++] = member[root];
		for (uint32_t i = fixed; i < m; i++) {
			uint32_t at_node =
				fixed ? root - first + 1 + (i - 1 + shift) % (m - 1) : i + shift;
			order[n++] = member[first + at_node % m];
		}
	}
}

/* [ways][ngroups][places] */
static uint32_t *
all_orders(const void *owner, const struct builder *b, uint32_t ways, bool rooted)
{
	const struct placement *at = b->at;
	uint32_t *order = NEW_ARRAY(owner, uint32_t, (size_t)at->ngroups * ways * at->places);
	for (uint32_t j = 0; j < ways; j++)
		for (uint32_t g = 0; g < at->ngroups; g++)
			fill_order(b, g, ways > 1 ? j * (at->even / ways) : 0, rooted,
				order + ((size_t)j * at->ngroups + g) * at->places);
	return order;
}

static void
build_rings(struct builder *b, uint32_t ways, uint32_t repeat)
{
	uint32_t p = b->at->places, n = b->at->ngroups * ways;
	uint32_t *order = all_orders(NULL, b, ways, false);
	b->schedule->lanes = ways;
	build_round(b, repeat);
	for (uint32_t r = 0; r < n; r++)
		for (uint32_t i = 0; i < p; i++)
			build_send(b, order[r * p + i], order[r * p + (i + 1) % p], 1.0 / p / ways);
	talloc_free(order);
}

/* From the root along the ring, or towards the root. */
static void
build_chains(struct builder *b, uint32_t ways, bool towards)
{
	uint32_t p = b->at->places, n = b->at->ngroups * ways;
	uint32_t *order = all_orders(NULL, b, ways, true);
	b->pipelined = true;
	b->schedule->lanes = ways;
	for (uint32_t i = 0; i + 1 < p; i++) {
		build_round(b, 1);
		for (uint32_t r = 0; r < n; r++) {
			const uint32_t *o = order + (size_t)r * p;
			if (towards)
				build_send(b, o[p - 1 - i], o[p - 2 - i], 1.0 / ways);
			else
				build_send(b, o[i], o[i + 1], 1.0 / ways);
		}
	}
	talloc_free(order);
}

/* Between the root and the others, one after another. */
static void
build_linear(struct builder *b, bool towards)
{
	uint32_t p = b->at->places;
	uint32_t *order = all_orders(NULL, b, 1, true);
	for (uint32_t i = 1; i < p; i++) {
		build_round(b, 1);
		for (uint32_t g = 0; g < b->at->ngroups; g++) {
			uint32_t root = order[g * p], other = order[g * p + i];
			build_send(b, towards ? other : root, towards ? root : other, 1.0 / p);
		}
	}
	talloc_free(order);
}

/* Member i of node k sends to member i + inside of node k + across; `repeat` such rounds. */
static void
build_exchange(struct builder *b, uint32_t across, uint32_t inside, uint32_t m, uint32_t repeat)
{
	uint32_t p = b->at->places, n = p / m;
	build_round(b, repeat);
	for (uint32_t g = 0; g < b->at->ngroups; g++) {
		const uint32_t *member = b->at->member + (size_t)g * p;
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t i = 0; i < m; i++)
				build_send(b, member[k * m + i],
					member[(k + across) % n * m + (i + inside) % m], 1.0 / p);
	}
}

/* The number of nodes, of n in a circle, at a distance between `least` and twice that. */
static uint32_t
nodes_away(uint32_t n, uint32_t least)
{
	const uint32_t end = 2 * least < n / 2 + 1 ? 2 * least : n / 2 + 1;

	/* For even n there is only one node at distance n / 2. */
	return 2 * (end - least) - (end == n / 2 + 1 && n % 2 == 0);
}

/* Between n nodes: all distances, or if there are too many one for those up to twice as far, and
 * inside nodes none and the middle one. */
static void
build_across(struct builder *b, uint32_t n, uint32_t m)
{
	const uint64_t sends = (uint64_t)b->at->ngroups * b->at->places * b->at->places;

	if (sends <= PAIRWISE_SENDS) {
		for (uint32_t across = 1; across < n; across++)
			for (uint32_t inside = 0; inside < m; inside++)
				build_exchange(b, across, inside, m, 1);
		return;
	}
	for (uint32_t least = 1; least <= n / 2; least *= 2) {
		const uint32_t middle = least + least / 2, across = middle < n / 2 ? middle : least;
		build_exchange(b, across, 0, m, nodes_away(n, least));
		if (m > 1)
			build_exchange(b, across, m / 2, m, (m - 1) * nodes_away(n, least));
	}
}

static void
build_pairwise(struct builder *b)
{
	const uint32_t m = b->at->even && b->at->even < b->at->places ? b->at->even : 1;
	for (uint32_t inside = 1; inside < m; inside++)
		build_exchange(b, 0, inside, m, 1);
	build_across(b, b->at->places / m, m);
}

static bool
build_single(struct builder *b)
{
	build_round(b, 1);
	for (uint32_t g = 0; g < b->request->ngroups; g++) {
		const uint32_t *device = b->request->device + (size_t)g * b->request->places;
		if (b->request->from >= b->request->places || b->request->to >= b->request->places)
			return false;
		build_send(b, device[b->request->from], device[b->request->to], 1);
	}
	return true;
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

bool
form_ring(enum rt_coll_kind kind, int places, double *latencies, double *tensors)
{
	*latencies = collective_ring_seconds(kind, places, 0, 1, 1);
	*tensors = collective_ring_seconds(kind, places, 1, 0, 1);
	return true;
}

bool
build_ring(struct builder *b, uint32_t variant)
{
	uint32_t steps = b->at->places - 1, ways = 1;
	enum rt_coll_kind kind = b->request->kind;
	bool rings = kind == RT_ALLREDUCE || kind == RT_REDUCE || kind == RT_BROADCAST ||
		     kind == RT_ALLGATHER || kind == RT_REDUCESCATTER;

	if (variant && (!rings || (ways = placement_ways(b->at, b->cluster)) < 2))
		return false;
	switch (kind) {
	case RT_ALLREDUCE: build_rings(b, ways, 2 * steps); return true;
	case RT_ALLGATHER:
	case RT_REDUCESCATTER: build_rings(b, ways, steps); return true;
	case RT_BROADCAST: build_chains(b, ways, false); return true;
	case RT_REDUCE: build_chains(b, ways, true); return true;
	case RT_GATHER: build_linear(b, true); return true;
	case RT_SCATTER: build_linear(b, false); return true;
	case RT_ALLTOALL: build_pairwise(b); return true;
	case RT_SEND: return build_single(b);
	case RT_COLL_KINDS: break;
	}
	return false;
}
