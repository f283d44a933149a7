/*
 * A smaller problem with the same optimum: nodes that have no choice, and those with at most two
 * neighbours, are eliminated, as their best choice follows from the neighbours'. In the step of an
 * optimizer these are most.
 *
 *     cost of s, table (s, t)             ->  a cost of t        one neighbour
 *     cost of s, tables (s, t), (s, u)    ->  a table (t, u)     two; added to an existing table
 *
 * Of choices that no edge distinguishes, only the cheapest is kept.
 *
 * Results computed from the same costs and tables are computed once, so that blocks that are alike
 * stay alike.
 */
#ifndef PASSES_SPLIT_REDUCE_H
#define PASSES_SPLIT_REDUCE_H

#include "passes/parallel/split/problem.h"

struct split_reduced {
	struct split_problem problem;
	const uint32_t *node;          /* [problem.nnodes] the corresponding node of the original */
	const uint16_t *const *choice; /* [problem.nnodes][choices] which choice of that node */
	double fixed;                  /* cost of the original in addition to that of the problem */
};

/* Owned by `owner`; the original must live as long. */
struct split_reduced *split_reduce(const void *owner, const struct split_problem *p);

/* The best choices of all nodes of the original, given choices of the remaining nodes. */
void split_expand(const struct split_reduced *r, const uint16_t *reduced, uint16_t *choice);

#endif
