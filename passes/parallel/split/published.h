/*
 * Searches of published systems, to compare with: both change one choice at a time and compute no
 * bound. In those systems an op of the model has one layout for its forward and backward pass. Here
 * nodes that lead are changed, those of the forward pass; others follow: each takes its best choice
 * by what its neighbours have.
 *
 * FlexFlow (Z. Jia, M. Zaharia, A. Aiken, "Beyond Data and Model Parallelism for Deep Neural
 * Networks", MLSys 2019): Markov chain Monte Carlo. A node gets a choice that is drawn; a solution
 * that costs d ms more is taken with probability exp(-d).
 *
 * Unity (C. Unger et al., OSDI 2022): the leading nodes are cut where all paths go through one of
 * them, into parts of at least k = 10. Part by part, for each layout of the node at its end, a
 * queue of candidates, the cheapest first: each gives candidates that differ from it in one node,
 * and those above 1.05 times the cheapest are dropped. The best for each layout at a cut is where
 * the next part starts: dynamic programming over sequence splits. What a candidate costs is summed
 * up anew only around the node that changed, in place of a cache. There are no parallel splits, as
 * every op here is on all devices.
 */
#ifndef PASSES_SPLIT_PUBLISHED_H
#define PASSES_SPLIT_PUBLISHED_H

#include "passes/parallel/split/problem.h"

struct split_published {
	const struct split_problem *p;
	const bool *leads;   /* [nnodes] */
	uint64_t candidates; /* limit on the candidates looked at; afterwards their number */
	uint16_t *choice;    /* [nnodes] the start, then the best solution */
	double cost;         /* of that solution */
};

void split_mcmc(struct split_published *s, uint64_t seed);

void split_unity(struct split_published *s);

#endif
