/*
 * Trees over nodes, as in NCCL: the pair of tree.c spans only the nodes, connecting one member of
 * each, the head; inside a node a chain passes through the others. With several paths between nodes
 * an allreduce has one such pair for each path, with different heads.
 *
 *     broadcast     home: root -> b -> c          root -> heads of both trees over the other nodes
 *                   each other node: head -> b -> c
 *
 * The time of a pipeline: latencies of a chain and of the levels, and the bytes of the most loaded
 * link: for a network card, twice the tensor of its path in an allreduce, once the tensor in a
 * broadcast. Applies if all nodes have the same number of members, at least two, and there are two
 * nodes.
 */
#include "passes/analysis/collective/build.h"

#include <talloc.h>

struct layout {
	struct builder *b;
	struct trees trees;
	uint32_t members, nodes, ways;
	bool rooted; /* the root's node is above the trees */
};

/* The member of a node at position `place` of the chain of a way; 0 is the head. */
static uint32_t
link_of(const struct layout *l, uint32_t g, uint32_t node, uint32_t way, uint32_t place)
{
	const struct placement *at = l->b->at;
	uint32_t m = l->members, head = l->rooted ? at->root[g] % m : way * (m / l->ways);
	return at->member[(size_t)g * at->places + node * m + (head + place) % m];
}

/* The head of the node that has a rank in one of the trees. */
static uint32_t
head_of(const struct layout *l, uint32_t g, uint32_t way, int tree, uint32_t rank)
{
	uint32_t node = tree_number(&l->trees, tree, rank);
	if (l->rooted && node >= l->b->at->root[g] / l->members)
		node++;
	return link_of(l, g, node, way, 0);
}

/* Between two places of all chains. */
static void
build_chain_step(const struct layout *l, uint32_t from, uint32_t to)
{
	build_round(l->b, 1);
	for (uint32_t way = 0; way < l->ways; way++)
		for (uint32_t g = 0; g < l->b->at->ngroups; g++)
			for (uint32_t node = 0; node < l->nodes; node++)
				build_send(l->b, link_of(l, g, node, way, from),
					link_of(l, g, node, way, to), 1.0 / l->ways);
}

/* An edge of a tree, both of whose ends are heads. */
static void
build_edge(const struct layout *l, uint32_t child, uint32_t parent, bool up)
{
	build_send(l->b, up ? child : parent, up ? parent : child, 0.5 / l->ways);
}

/* Edges between nodes that end at a level; 0: those from the root to both trees. */
static void
build_level(const struct layout *l, uint32_t level, bool up)
{
	uint32_t n = l->trees.n;
	build_round(l->b, 1);
	for (uint32_t way = 0; way < l->ways; way++)
		for (uint32_t i = 0; i < l->b->at->ngroups * 2 * n; i++) {
			uint32_t g = i / (2 * n), r = i / 2 % n;
			int tree = i % 2;
			if (l->trees.level[r] != level)
				continue;
			uint32_t parent = r ? head_of(l, g, way, tree, tree_parent(r, n))
					    : link_of(l, g, l->b->at->root[g] / l->members, way, 0);
			build_edge(l, head_of(l, g, way, tree, r), parent, up);
		}
}

bool
build_node_trees(struct builder *b, bool up, bool down)
{
	uint32_t m = b->at->even, n = m ? b->at->places / m : 0;
	bool rooted = !up || !down;
	if (m < 2 || n < 2)
		return false;
	struct layout l = {b, trees_of(NULL, n - rooted), m, n, 1, rooted};
	if (!rooted)
		l.ways = placement_ways(b->at, b->cluster);
	b->pipelined = true;
	b->schedule->lanes = l.ways;
	for (uint32_t place = m - 1; up && place > 0; place--)
		build_chain_step(&l, place, place - 1);
	for (uint32_t level = l.trees.levels + 1; up && level > !rooted; level--)
		build_level(&l, level - 1, true);
	for (uint32_t level = !rooted; down && level <= l.trees.levels; level++)
		build_level(&l, level, false);
	for (uint32_t place = 1; down && place < m; place++)
		build_chain_step(&l, place - 1, place);
	talloc_free(l.trees.level);
	return true;
}
