/*
 * An additive problem: each node takes one of its choices, each edge costs what the choices at its
 * ends cost together, and the sum is minimized.
 *
 *     node s: choice x costs s.cost[x]
 *     edge (s, t): choices x, y cost table.cost[row[x]][column[y]]
 *
 * Choices that an edge cannot tell apart share a row of its table. Tables, rows and columns are
 * pointers, so that edges that are alike share them.
 */
#ifndef PASSES_SPLIT_PROBLEM_H
#define PASSES_SPLIT_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

/* The cost of impossible choices, in seconds: no step takes as long, and doubles of that size still
 * resolve 0.1 ns. */
#define SPLIT_NEVER 1e6

struct split_node {
	uint32_t n;         /* choices, at least 1 */
	const double *cost; /* [n] */
};

struct split_table {
	uint32_t rows, columns;
	const double *cost;    /* [rows][columns] */
	const double *flipped; /* [columns][rows], the transposed table */
};

struct split_edge {
	uint32_t end[2];         /* two nodes, the node of the rows first */
	const uint16_t *line[2]; /* by choice of each end: its row, its column */
	const struct split_table *table;
};

struct split_problem {
	const struct split_node *node;
	const struct split_edge *edge;
	uint32_t nnodes, nedges;
};

/* An end of an edge, as the node there sees it. */
struct split_half {
	uint32_t edge, other;
	int side; /* of the edge: 0 or 1 */
};

/* The ends of edges at node s are half[first[s]] ... half[first[s + 1] - 1]. Owned by `owner`. */
void split_halves(const void *owner, const struct split_problem *p, struct split_half **half,
	uint32_t **first);

/* What an edge costs with choice x at its first end and y at its second. */
static inline double
split_edge_cost(const struct split_edge *e, uint32_t x, uint32_t y)
{
	return e->table->cost[e->line[0][x] * e->table->columns + e->line[1][y]];
}

/* The cost of the choices; SPLIT_NEVER or more: they are impossible. */
double split_cost(const struct split_problem *p, const uint16_t *choice);

/* The problem in which nodes cost `weight` times as much, plus `price` for each unit of
 * other[node][choice] (NULL: none), except for impossible choices. It shares the edges; nodes
 * belong to `owner`, and nodes that shared costs still do. */
struct split_problem split_combine(const void *owner, const struct split_problem *p, double weight,
	const double *const *other, double price);

/* Local descent: each node takes its best choice, the others held, until nothing changes. */
void split_descend(const struct split_problem *p, uint16_t *choice);

#endif
