/*
 * Inside nodes, then between them, then inside again: with m members on each of n nodes, a
 * reducescatter inside the nodes leaves 1/m of the tensor at each member; the members with the same
 * number in their nodes make an allreduce of it, all m at once; finally an allgather inside. (As in
 * BlueConnect, Cho and others 2019, and the two-level allreduce of Horovod.) An allgather and a
 * reducescatter are the matching halves. Between the nodes a ring is used or, in a variant,
 * halving.
 *
 * Applies if all nodes have the same number of members, at least two, and there are at least two
 * nodes.
 */
#include "passes/analysis/collective/build.h"

/* Rings of n members of group g: every `stride`th of its list from `first` on. */
static void
build_cycle(
	struct builder *b, uint32_t g, uint32_t first, uint32_t n, uint32_t stride, double fraction)
{
	const uint32_t *member = b->at->member + (size_t)g * b->at->places + first;
	for (uint32_t i = 0; i < n; i++)
		build_send(b, member[i * stride], member[(i + 1) % n * stride], fraction);
}

/* The smallest number of members on a node that is larger than `above`; 0: none. */
static uint32_t
next_size(const struct placement *at, uint32_t above)
{
	uint32_t best = 0;
	for (uint32_t g = 0; g < at->ngroups; g++)
		for (uint32_t k = 0; k < at->nnodes[g]; k++) {
			const uint32_t *node = at->node + (size_t)g * (at->places + 1) + k;
			uint32_t m = node[1] - node[0];
			if (m > above && (!best || m < best))
				best = m;
		}
	return best;
}

/* Nodes with fewer members finish earlier: one round for each distinct number of members. */
void
build_inside(struct builder *b)
{
	const struct placement *at = b->at;
	for (uint32_t done = 1, m; (m = next_size(at, done)) != 0; done = m) {
		build_round(b, m - done);
		for (uint32_t g = 0; g < at->ngroups; g++)
			for (uint32_t k = 0; k < at->nnodes[g]; k++) {
				const uint32_t *node = at->node + (size_t)g * (at->places + 1) + k;
				uint32_t members = node[1] - node[0];
				if (members >= m)
					build_cycle(b, g, node[0], members, 1, 1.0 / members);
			}
	}
}

/* A ring through the members with the same number in their nodes, for all numbers at once. */
static void
build_across(struct builder *b, uint32_t repeat)
{
	uint32_t m = b->at->even, p = b->at->places;
	build_round(b, repeat);
	for (uint32_t g = 0; g < b->at->ngroups; g++)
		for (uint32_t i = 0; i < m; i++)
			build_cycle(b, g, i, p / m, m, 1.0 / p);
}

static void
build_across_halving(struct builder *b, uint32_t distance)
{
	uint32_t m = b->at->even, p = b->at->places;
	build_round(b, 1);
	for (uint32_t g = 0; g < b->at->ngroups; g++) {
		const uint32_t *member = b->at->member + (size_t)g * p;
		for (uint32_t i = 0; i < p; i++)
			build_send(b, member[i], member[(i / m ^ distance) * m + i % m],
				0.5 / distance / m);
	}
}

bool
build_hierarchical(struct builder *b, uint32_t variant)
{
	enum rt_coll_kind kind = b->request->kind;
	uint32_t n = b->at->places / b->at->even;
	bool scatters = kind == RT_ALLREDUCE || kind == RT_REDUCESCATTER;
	bool gathers = kind == RT_ALLREDUCE || kind == RT_ALLGATHER;

	if (variant && (n & (n - 1)))
		return false;
	if (scatters)
		build_inside(b);
	build_stage(b);
	if (!variant)
		build_across(b, scatters && gathers ? 2 * (n - 1) : n - 1);
	for (uint32_t d = 1; variant && scatters && d < n; d *= 2)
		build_across_halving(b, d);
	for (uint32_t d = n / 2; variant && gathers && d > 0; d /= 2)
		build_across_halving(b, d);
	build_stage(b);
	if (gathers)
		build_inside(b);
	return true;
}
