/*
 * Between two solutions of a problem, one that fits into a limit of bytes and a cheaper one that does
 * not: parts of the problem change to the cheaper choices until the limit is reached. Layers that are
 * equal all change at the same price of a byte (within.h); here some of them change.
 *
 * Nodes whose choices differ and that are connected by edges change together. Parts are not connected
 * to each other, so that what each saves and needs is exact and does not depend on the others: a
 * knapsack, of which the parts that save most per byte are taken first (G. Dantzig, "Discrete-Variable
 * Extremum Problems", 1957).
 */
#ifndef PASSES_SPLIT_MIX_H
#define PASSES_SPLIT_MIX_H

#include "passes/parallel/split/problem.h"

/* Changes choice[], which needs at most `limit` bytes, towards `other`. Returns the cost that this
 * saves, 0 or more. bytes[node][choice]. */
double split_mix(const struct split_problem *p, const double *const *bytes, double limit,
	const uint16_t *other, uint16_t *choice);

#endif
