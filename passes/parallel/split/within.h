/*
 * The best solution that needs at most `limit` bytes; each choice of a node needs some bytes. Bytes
 * get a price, so that a problem without a limit is solved again and again: at a low price its
 * solution needs too many, at a high one it fits, and in between the best that fits is taken. For
 * any price
 *
 *     what fits costs at least    (bound of the problem with prices) - price * limit
 *
 * as its own bytes cost no more than the limit does (H. Everett, "Generalized Lagrange Multiplier
 * Method for Solving Problems of Optimum Allocation of Resources", 1963).
 */
#ifndef PASSES_SPLIT_WITHIN_H
#define PASSES_SPLIT_WITHIN_H

#include "passes/parallel/split/solve.h"

/* Bytes that the choices need in total; bytes[node][choice]. */
double split_bytes(
	const struct split_problem *p, const double *const *bytes, const uint16_t *choice);

/* The least bytes that any choices the nodes allow need. */
double split_least_bytes(const struct split_problem *p, const double *const *bytes);

/* A problem whose bytes have had prices: the solution of each, and the messages of those next to the
 * limit, between which the next starts. So other limits on the same problem take few further
 * prices. */
struct split_priced;

/* Frees the messages, which take most of the memory; a further price starts from none. */
void split_priced_drop(struct split_priced *w);

/* Owned by `owner`; problem and bytes must live as long. */
struct split_priced *split_priced_create(
	const void *owner, const struct split_problem *p, const double *const *bytes);

/* As split_solve, with the sum of sweeps of all prices tried for this limit; choice[] is owned by
 * `owner`. False: no solution that fits was found; then it is the one found that needs least, and
 * its bound is INFINITY if no solution fits. *price: on entry the price per byte of a similar
 * problem, 0 if none is known; then that of this one. NULL: neither. */
bool split_priced_solve(const void *owner, struct split_priced *w, double limit, uint32_t sweeps,
	double gap, double *price, struct split_solution *solution);

/* The solution without a limit. */
struct split_solution split_priced_free(
	const void *owner, struct split_priced *w, uint32_t sweeps, double gap);

/* A solution between the best one tried that fits and those that are cheaper, which costs less than the
 * former (mix.h); choice[] is owned by `owner`. False: there is none. */
bool split_priced_mix(const void *owner, const struct split_priced *w, double limit,
	struct split_solution *solution);

/*
 * Tries up to `most` further prices, from 0 to the highest, first between solutions that differ by
 * the largest factor in bytes. Which does not depend on a limit. Returns how many prices have been
 * tried in all.
 */
uint32_t split_priced_spread(struct split_priced *w, uint32_t most, uint32_t sweeps, double gap);

/* The solution of the i-th price that was tried, in ascending order; choice[] is owned by `owner`. */
struct split_solution split_priced_tried(
	const void *owner, const struct split_priced *w, uint32_t i);

/* split_priced_solve for one limit only. */
bool split_solve_within(const void *owner, const struct split_problem *p,
	const double *const *bytes, double limit, uint32_t sweeps, double gap, double *price,
	struct split_solution *solution);

#endif
