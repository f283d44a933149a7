/*
 * The list scheduler behind every schedule: whenever a rank is free, it takes the best of the actions
 * that are ready. What is best and how far a rank runs ahead are settings.
 */
#ifndef PASSES_PIPELINE_LIST_H
#define PASSES_PIPELINE_LIST_H

#include "passes/pipeline/schedule.h"

enum list_place {
	LIST_LOOP, /* stage s is on rank s % nranks */
	LIST_V,    /* there and back: 0 1 2 3 3 2 1 0 */
};

struct list_shape {
	int nranks, nstages, nsteps;
	enum list_place place;
	bool split; /* I and W, instead of B */
	const struct schedule_stage *stage;
};

struct list_settings {
	const double *live; /* of each rank: the most that it keeps */
	const int *flight;  /* of each stage: micro-batches between its F and its I or B, at most */
	const int *
		backlog; /* of each rank: as many I without their W make W come first, while it has F left */
	int round; /* micro-batches that go through all stages of a rank before the next ones; 0: all */
	bool backward_first; /* of actions that are ready; else forward first */
	bool deep_first; /* within a round: the stage nearest to the loss first, else the oldest micro-batch */
	bool waits; /* a rank that may run a forward waits for it rather than run a backward */
};

/* How a schedule of that name places its stages. */
enum list_place list_place_of(enum schedule_name name);

/* The rank of a stage. */
int list_rank(const struct list_shape *shape, int stage);

/* DualPipeV, for at least 2 micro-batches a rank: dualpipe.c. */
struct schedule *dualpipe_make(const void *owner, int nranks, int nsteps);

/* A schedule and its makespan. NULL: with these settings the ranks come to a stop. */
struct schedule *list_make(const void *owner, const struct list_shape *shape,
	const struct list_settings *how, double *makespan);

#endif
