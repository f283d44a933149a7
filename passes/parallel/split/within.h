/*
 * The best solution that needs at most so many bytes: each choice of a node has some. Bytes get a price, so that a
 * problem without a limit is solved again and again: at a low price its solution needs too many, at a high one it
 * fits, and in between the best that fits is taken. For any price
 *
 *     what fits costs at least    (bound of the problem with prices) - price * limit
 *
 * as its own bytes cost no more than the limit does (H. Everett, "Generalized Lagrange Multiplier Method for Solving
 * Problems of Optimum Allocation of Resources", 1963).
 */
#ifndef PASSES_SPLIT_WITHIN_H
#define PASSES_SPLIT_WITHIN_H

#include "passes/parallel/split/solve.h"

/* Bytes that the choices need together; bytes[node][choice]. */
double split_bytes(
	const struct split_problem *p, const double *const *bytes, const uint16_t *choice);

/* No choices that the nodes allow need less. */
double split_least_bytes(const struct split_problem *p, const double *const *bytes);

/* As split_solve, the sum of sweeps of all prices. False: no solution that fits was found, and it is the one that
 * needs least of those that were; its bound is INFINITY if there is none that fits.
 * *price: of a byte, where one is known of a problem like it, 0 where none is; then that of this one. NULL: neither. */
bool split_solve_within(const void *owner, const struct split_problem *p,
	const double *const *bytes, double limit, uint32_t sweeps, double gap, double *price,
	struct split_solution *solution);

#endif
