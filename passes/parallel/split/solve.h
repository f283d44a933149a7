/*
 * A lower bound on what a problem costs, and choices that cost little more.
 *
 * The bound is that of the edge decomposition: an edge owns its table less a message to each end, a
 * node its costs plus these messages, and the sum of all minima is not more than any solution
 * costs, whatever the messages are. A sweep goes through the nodes, one way and then the other. At
 * each node it collects from every edge its least cost for each choice and passes the sum on, in
 * equal shares, to the edges to later nodes. So no sweep lowers the bound. After V. Kolmogorov,
 * "Convergent Tree-Reweighted Message Passing for Energy Minimization", 2006 (TRW-S), and S.
 * Tourani et al., "MPLP++: Fast, Parallel Dual Block-Coordinate Ascent for Dense Graphical Models",
 * 2018.
 *
 * Each half of a sweep also makes a solution: a node takes the best choice given the choices of
 * nodes already visited and the messages of the others. Deterministic.
 */
#ifndef PASSES_SPLIT_SOLVE_H
#define PASSES_SPLIT_SOLVE_H

#include "passes/parallel/split/problem.h"

struct split_solution {
	uint16_t *choice; /* [nnodes] */
	double cost, bound;
	uint32_t sweeps;
};

struct split_solver;

/* Owned by `owner`; the problem must live as long. */
struct split_solver *split_solver_create(const void *owner, const struct split_problem *p);

/* A sweep, there and back; returns the bound. */
double split_solver_sweep(struct split_solver *s);

/* The bound, summed up again over all nodes and edges. */
double split_solver_bound(const struct split_solver *s);

/* least[x]: a lower bound on the cost of any solution in which the node takes choice x, for each
 * x. */
void split_solver_least(const struct split_solver *s, uint32_t node, double *least);

/* The cheapest choices so far, [nnodes]; owned by the solver. */
const uint16_t *split_solver_best(const struct split_solver *s);

/* Reduces the problem (reduce.h), then makes at most `sweeps` sweeps, fewer if the solution costs
 * at most 1 + gap times the bound, or if the bound says that none costs less than `limit`; then
 * local descent. choice[] is owned by `owner`. */
struct split_solution split_solve(const void *owner, const struct split_problem *p, uint32_t sweeps,
	double gap, double limit);

/* Messages with which a search ended. Zeroed: none, from which other searches start. */
struct split_messages {
	uint64_t shape; /* of the reduced problem that they belong to */
	double *all;    /* NULL: none */
};

/*
 * As split_solve, but starts from these messages if they belong to a problem of the same shape, and
 * replaces them by those at its end, owned by `owner`. Any messages give a bound, so those of a
 * problem with similar costs save most sweeps.
 */
struct split_solution split_solve_from(const void *owner, const struct split_problem *p,
	uint32_t sweeps, double gap, double limit, struct split_messages *start);

/*
 * Messages between those of two problems of the same shape, owned by `owner`: share 0 is a, 1 is b;
 * a copy of a if b has none or another shape. With costs that are between theirs in the same way,
 * they give at least the bound between both bounds, as minima of sums are concave.
 */
struct split_messages split_messages_between(const void *owner, const struct split_messages *a,
	const struct split_messages *b, double share);

/*
 * The optimum: the problem is reduced, choices that a bound excludes are dropped, then nodes are
 * eliminated one by one, the one whose neighbours have the fewest choices together first. False:
 * that would need a table of more than `most` entries. choice[] is owned by `owner`.
 */
bool split_exhaust(const void *owner, const struct split_problem *p, uint64_t most,
	struct split_solution *solution);

#endif
