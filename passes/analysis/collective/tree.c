/*
 * Double binary tree (Sanders, Speck, Traeff 2009), in the form used by NCCL since 2.4: half of the
 * tensor goes through each of two trees, and an inner rank of one tree is a leaf of the other
 * (except for one or two places at the ends).
 *
 *     0 ------------ 8          rank r > 0 with lowest bit b hangs from the number that has b
 *            4               cleared and the bit above it set, or only cleared if there
 *        2       6      10      is no such rank; 0 is the root
 *       1 3     5 7    9  11
 *
 * The second tree is the first with ranks mirrored (r becomes n-1-r) if n is even, else moved on by
 * one. Ranks are the members sorted by node, so that the lower levels stay inside nodes.
 *
 * Allreduce: to the roots and back, both trees over all places; each place sends and receives twice
 * the tensor. Broadcast and reduce: the trees span all places but the root, and both hang from it.
 * It is a pipeline of chunks, so its time is the latencies of the longest path plus the bytes of
 * the most loaded link. node_tree.c is a second variant.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/collective/build.h"

#include <talloc.h>

uint32_t
tree_parent(uint32_t rank, uint32_t n)
{
	uint32_t bit = rank & -rank, cleared = rank ^ bit;
	uint32_t above = cleared | bit << 1;
	return above < n ? above : cleared;
}

struct trees
trees_of(const void *owner, uint32_t n)
{
	struct trees t = {n, 0, NEW_ARRAY(owner, uint32_t, n)};
	for (uint32_t r = 0; r < n; r++) {
		t.level[r] = 0;
		for (uint32_t up = r; up; up = tree_parent(up, n))
			t.level[r]++;
		t.levels = t.level[r] > t.levels ? t.level[r] : t.levels;
	}
	return t;
}

uint32_t
tree_number(const struct trees *t, int tree, uint32_t rank)
{
	return tree == 0 ? rank : t->n % 2 ? (rank + 1) % t->n : t->n - 1 - rank;
}

/* The member of a group that has the rank. A root of both trees is outside of them. */
static uint32_t
member_of(const struct builder *b, uint32_t g, const struct trees *t, int tree, uint32_t rank)
{
	const struct placement *at = b->at;
	uint32_t i = tree_number(t, tree, rank);
	if (t->n < at->places && i >= at->root[g])
		i++;
	return at->member[(size_t)g * at->places + i];
}

/* All edges that end on a level. */
static void
build_level(struct builder *b, const struct trees *t, uint32_t level, bool up)
{
	build_round(b, 1);
	for (int tree = 0; tree < 2; tree++)
		for (uint32_t g = 0; g < b->at->ngroups; g++)
			for (uint32_t r = 1; r < t->n; r++) {
				if (t->level[r] != level)
					continue;
				uint32_t child = member_of(b, g, t, tree, r);
				uint32_t parent = member_of(b, g, t, tree, tree_parent(r, t->n));
				build_send(b, up ? child : parent, up ? parent : child, 0.5);
			}
}

/* Between the common root and the roots of the trees. */
static void
build_top(struct builder *b, const struct trees *t, bool up)
{
	build_round(b, 1);
	for (int tree = 0; tree < 2; tree++)
		for (uint32_t g = 0; g < b->at->ngroups; g++) {
			uint32_t root = b->at->member[(size_t)g * b->at->places + b->at->root[g]];
			uint32_t child = member_of(b, g, t, tree, 0);
			build_send(b, up ? child : root, up ? root : child, 0.5);
		}
}

bool
build_tree(struct builder *b, uint32_t variant)
{
	bool up = b->request->kind != RT_BROADCAST, down = b->request->kind != RT_REDUCE;
	bool rooted = !up || !down;

	if (variant)
		return build_node_trees(b, up, down);
	struct trees t = trees_of(NULL, b->at->places - rooted);
	b->pipelined = true;
	b->schedule->lanes = 2;
	for (uint32_t level = t.levels; up && level > 0; level--)
		build_level(b, &t, level, true);
	if (rooted)
		build_top(b, &t, up);
	for (uint32_t level = 1; down && level <= t.levels; level++)
		build_level(b, &t, level, false);
	talloc_free(t.level);
	return true;
}

/* Levels below the root of a tree over n ranks. */
static double
levels_of(int n)
{
	double levels = 0;
	for (int below = n - 1; below > 0; below /= 2)
		levels++;
	return levels;
}

bool
form_tree(enum rt_coll_kind kind, int places, double *latencies, double *tensors)
{
	*latencies = 1 + levels_of(places - 1);
	*tensors = 1;
	if (kind == RT_ALLREDUCE) { /* at P = 2 and 3 no place has two children */
		*latencies = 2 * levels_of(places);
		*tensors = places > 3 ? 2 : places / 2.0;
	}
	return true;
}
