/*
 * Kernels that are to become one, where no path through others leads from one to the other.
 *
 * All nodes, kernels numbered by their owner, stand in an order in which each comes after those that
 * it reads. A path from one to another stays between them, so what the first leads to and what the
 * second depends on are searched there alone, in turns, each side as far as the other has come:
 *
 *     ... a ──> readers ──>     meet: a path    <── operands <── b ...
 *
 * Where one side ends without meeting the other, they may be joined: with what a leads to moved
 * behind b, or what b depends on moved before a, all are in order again (Pearce, Kelly, "A Dynamic
 * Topological Sort Algorithm for Directed Acyclic Graphs", 2006, with two sides and a list with
 * labels in place of numbers). So neither a step of a million ops nor what is far from both costs
 * anything.
 */
#ifndef PASSES_FUSE_APART_H
#define PASSES_FUSE_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apart; /* the order of the nodes */

/* Takes what a function of struct apart_graph finds; true: it needs no more. */
typedef bool apart_visit(void *to, uint32_t node);

/* Who reads whom, as it is when it is asked. Each gives other nodes than `node` itself, some maybe
 * several times, to visit(to, ...), until that returns true; returns whether it did. */
struct apart_graph {
	void *data;
	bool (*readers)(void *data, uint32_t node, apart_visit *visit, void *to);
	bool (*operands)(void *data, uint32_t node, apart_visit *visit, void *to);
	size_t most; /* nodes: where one side is given more, a path is assumed; 0: no limit */
};

/* For nodes 0 ... n - 1, none of which depends on itself; those that are nobody's business any more
 * have no readers and no operands. Owned by `owner`; the graph is copied. */
struct apart *apart_create(const void *owner, uint32_t n, const struct apart_graph *graph);

/*
 * Does no path through others lead from a to b or from b to a? Then node b stands for both in the
 * order, and the caller has to make it so in the graph, before anything else is asked.
 */
bool apart_join(struct apart *o, uint32_t a, uint32_t b);

#endif
