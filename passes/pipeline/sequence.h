/*
 * Orders of actions that a search changes: for each rank a list of F, I and W, and what they take. A B
 * is an I and a W after it, which is never slower.
 */
#ifndef PASSES_PIPELINE_SEQUENCE_H
#define PASSES_PIPELINE_SEQUENCE_H

#include "passes/pipeline/list.h"

struct sequence {
	struct list_shape shape;
	double memory; /* the most that a rank keeps */
	int n; /* actions: (stage * nsteps + micro-batch) * 3, and 0 for F, 1 for I, 2 for W */
	int *action; /* rank after rank, those of rank r from first[r] to before first[r + 1] */
	int *first;
	double makespan;
};

/* The actions of a schedule of that shape; its stages, which it does not copy, must stay. */
struct sequence *sequence_create(
	const void *owner, const struct list_shape *shape, double memory, const struct schedule *s);

/*
 * Each stage does its F in the order of micro-batches, so its I and its W, which is not slower: they take the same, and
 * whenever a stage has done k of them, the stage that it waits for had done k.
 */
struct schedule *sequence_schedule(const void *owner, const struct sequence *o);

/*
 * Exchanges actions of ranks for a shorter makespan, without keeping more than the limit. It ends after
 * `work` actions that it has simulated, or at a makespan of `bound`. The same seed gives the same order.
 */
void sequence_improve(struct sequence *o, int64_t work, double bound, uint64_t seed);

#endif
