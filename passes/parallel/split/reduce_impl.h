/* Shared by the files of reduce.h: the rest of the problem while nodes are eliminated, and its
 * cached results. */
#ifndef PASSES_SPLIT_REDUCE_IMPL_H
#define PASSES_SPLIT_REDUCE_IMPL_H

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "passes/parallel/split/reduce.h"

#include <math.h>

/* The inputs of a cached result. */
enum make {
	MAKE_COSTS,
	MAKE_FITTING,
	MAKE_FIXED,
	MAKE_FOLDED,
	MAKE_SERIES,
	MAKE_LINES,
	MAKE_SUM,
	MAKE_FEWER,
	MAKE_FEWER_LINES,
	MAKE_USED
};
struct key {
	uintptr_t of[8]; /* enum make, then pointers and numbers */
};

struct known {
	struct key key;
	const void *result;
};

/* Lines of choices in two tables at once: line i has those lines in the first and in the second
 * table. */
struct pairs {
	uint16_t *line;
	uint32_t n;
	uint16_t *of[2];
};

/* A table without the lines that no choice has, and the lines of choices in it. */
struct used {
	const struct split_table *table;
	uint16_t *line[2];
};

/* The choices of a node that are kept. */
struct fewer {
	uint32_t n;
	uint16_t *choice;
	double *cost;
};

/* An eliminated node: its costs at that time, and its edges. */
struct gone {
	uint32_t node;
	const double *cost;
	uint32_t n;
	struct split_edge edge[2];
};

struct reducer {
	struct split_reduced r; /* first: the address of a reducer is that of its reduced problem */
	const struct split_problem *p;
	const double **cost; /* by node */
	bool *is_gone;
	struct VEC(struct split_edge) edge;
	bool *dropped;                  /* by edge; an array that grows with them */
	struct ends VEC(uint32_t) * at; /* by node: its edges, and some that are dropped */
	uint32_t *degree;               /* by node: number of its edges that are not dropped */
	struct map map;
	struct VEC(struct known) known;
	struct VEC(struct gone) gone;
};

#define KEY(...) ((struct key){{__VA_ARGS__}})
#define P(pointer) ((uintptr_t)(pointer))

/* The entry of a result, NULL in it if it has not been computed yet. Valid until the next call. */
const void **reduce_recall(struct reducer *x, struct key key);

/* --- edges: reduce_edges.c --- */

static inline int
side_of(const struct split_edge *e, uint32_t node)
{
	return e->end[1] == node;
}

static inline double
table_at(const struct split_table *t, int side, uint32_t here, uint32_t there)
{
	return side ? t->cost[there * t->columns + here] : t->cost[here * t->columns + there];
}

static inline uint32_t
lines_of(const struct split_table *t, int side)
{
	return side ? t->columns : t->rows;
}

/* A new table to be filled. */
struct split_table *reduce_table(
	struct reducer *x, uint32_t rows, uint32_t columns, double **cost, double **flipped);

/* Fills the transposed table. */
void reduce_flip(const struct split_table *t, double *flipped);

/* Lines by which two tables together distinguish the choices of a node. */
const struct pairs *reduce_pair_lines(
	struct reducer *x, const uint16_t *a, const uint16_t *b, uint32_t n);

/* The edge with its table reduced to the lines that its ends' choices have; n[]: choices of the
 * ends. */
struct split_edge reduce_used(struct reducer *x, struct split_edge e, const uint32_t n[2]);

/* Removes dropped edges from the list of a node. */
void reduce_tidy(struct reducer *x, uint32_t node);

/* Adds the edge to an existing edge between its nodes, if there is one. */
void reduce_add_edge(struct reducer *x, struct split_edge e);

/* --- choices: reduce_choices.c --- */

static inline double
least_of(const double *cost, uint32_t n)
{
	double least = cost[0];

	for (uint32_t c = 1; c < n; c++)
		least = fmin(least, cost[c]);
	return least;
}

/* One array for equal costs. */
const double *reduce_costs(struct reducer *x, const double *cost, uint32_t n);

/* Gives impossible choices the cost SPLIT_NEVER. */
void reduce_exclude(struct reducer *x);

/* Of choices that have the same line in every edge, keeps the cheapest; drops impossible ones. */
const struct fewer *reduce_fewer(struct reducer *x, uint32_t node);

/* The lines of the kept choices. */
const uint16_t *reduce_fewer_lines(struct reducer *x, const struct fewer *f, const uint16_t *line);

#endif
