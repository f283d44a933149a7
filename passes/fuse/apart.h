/*
 * Kernels that may be merged, if no path through other kernels leads from one to the other.
 *
 * All nodes, which are kernels numbered by the caller, are kept in an order in which each comes
 * after those that it reads. A path from one to another stays between them, so only the nodes
 * between them are searched: the readers of the first and the operands of the second, in
 * alternation, with equal effort:
 *
 *     ... a ──> readers ──>     meet: a path    <── operands <── b ...
 *
 * If one side ends without meeting the other, they may be joined: moving the readers of a after b,
 * or the operands of b before a, restores the order (Pearce, Kelly, "A Dynamic Topological Sort
 * Algorithm for Directed Acyclic Graphs", 2006, with two sides and a list with labels in place of
 * numbers). So the cost depends neither on the size of the step nor on nodes far from both.
 */
#ifndef PASSES_FUSE_APART_H
#define PASSES_FUSE_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apart; /* the order of the nodes */

/* Receives the nodes that a function of struct apart_graph finds; true: stop. */
typedef bool apart_visit(void *to, uint32_t node);

/* The current readers and operands of a node. Each function passes nodes other than `node` itself,
 * possibly repeatedly, to visit(to, ...) until that returns true; returns whether it did. */
struct apart_graph {
	void *data;
	bool (*readers)(void *data, uint32_t node, apart_visit *visit, void *to);
	bool (*operands)(void *data, uint32_t node, apart_visit *visit, void *to);
	size_t most; /* nodes: if a side visits more, a path is assumed; 0: no limit */
};

/* For nodes 0 ... n - 1, none of which depends on itself; nodes that are no longer used have no
 * readers and no operands. Owned by `owner`; the graph is copied. */
struct apart *apart_create(const void *owner, uint32_t n, const struct apart_graph *graph);

/*
 * True if no path through others leads from a to b or from b to a. Node b then represents both in
 * the order, and the caller must merge them in the graph before the next query.
 */
bool apart_join(struct apart *o, uint32_t a, uint32_t b);

#endif
