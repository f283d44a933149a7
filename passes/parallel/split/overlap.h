/*
 * The solution in which the larger of two sums is least: the costs of nodes, and those of edges. If
 * nodes are kernels and edges are messages that overlap them, a step takes at least the larger sum,
 * T >= max(C, M), hence
 *
 *     T >= a C + (1 - a) M          for any a from 0 to 1
 *
 * and the right side is a problem with weights, whose bound holds for T. Weights are bisected until
 * both sums are equal.
 */
#ifndef PASSES_SPLIT_OVERLAP_H
#define PASSES_SPLIT_OVERLAP_H

#include "passes/parallel/split/solve.h"

/* The larger of the two sums. */
double split_overlapped(const struct split_problem *p, const uint16_t *choice);

/* As split_solve, with cost and bound of the larger sum, and the sweeps of all weights. */
struct split_solution split_solve_overlap(
	const void *owner, const struct split_problem *p, uint32_t sweeps, double gap);

#endif
