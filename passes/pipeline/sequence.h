/*
 * Orders of actions that a search changes: for each rank a list of F, I and W, with their times. A
 * B is an I and a W after it, which is never slower.
 */
#ifndef PASSES_PIPELINE_SEQUENCE_H
#define PASSES_PIPELINE_SEQUENCE_H

#include "passes/pipeline/list.h"

struct sequence {
	struct list_shape shape;
	double memory; /* limit on the memory that a rank keeps */
	int n; /* actions: (stage * nsteps + micro-batch) * 3, plus 0 for F, 1 for I, 2 for W */
	int *action; /* rank after rank; those of rank r are first[r] ... first[r + 1] - 1 */
	int *first;
	double makespan;
};

/* The actions of a schedule of that shape, whose stages are not copied and must live as long. */
struct sequence *sequence_create(
	const void *owner, const struct list_shape *shape, double memory, const struct schedule *s);

/*
 * Sorts the F of each stage in the order of micro-batches, and likewise its I and its W. That is
 * not slower: they take the same time, and whenever a stage has done k of them, the stage that it
 * waits for has done k before.
 */
struct schedule *sequence_schedule(const void *owner, const struct sequence *o);

/*
 * Exchanges actions of ranks for a shorter makespan, without keeping more than the limit. It ends
 * after `work` simulated actions, or at a makespan of `bound`. The same seed gives the same order.
 */
void sequence_improve(struct sequence *o, int64_t work, double bound, uint64_t seed);

#endif
