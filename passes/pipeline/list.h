/*
 * The list scheduler, which makes every schedule but dualpipev: whenever a rank is free, it takes
 * the best of the ready actions. Which is best and how far a rank runs ahead are settings.
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
	bool split; /* I and W instead of B */
	const struct schedule_stage *stage;
};

struct list_settings {
	const double *live; /* of each rank: limit on the memory that it keeps */
	const int *flight;  /* of each stage: most micro-batches between its F and its I or B */
	const int *backlog; /* of each rank: with this many I without W, W goes before F */
	int round; /* micro-batches that go through all stages of a rank together; 0: all */
	bool backward_first; /* among ready actions; otherwise forward first */
	bool deep_first;     /* in a round: the stage nearest to the loss first, or oldest */
	bool waits; /* a rank that may still run a forward waits for it, not running a backward */
};

/* The placement of stages in a schedule of that name. */
enum list_place list_place_of(enum schedule_name name);

/* The rank of a stage. */
int list_rank(const struct list_shape *shape, int stage);

/* DualPipeV, for at least 2 micro-batches a rank: dualpipe.c. */
struct schedule *dualpipe_make(const void *owner, int nranks, int nsteps);

/* Makes a schedule and sets its makespan. NULL: with these settings the ranks deadlock. */
struct schedule *list_make(const void *owner, const struct list_shape *shape,
	const struct list_settings *how, double *makespan);

#endif
