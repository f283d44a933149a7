/* In which order the stages of a pipeline do their micro-batches: see pipeline_schedule.c. */
#ifndef PASSES_PARALLEL_PIPELINE_SCHEDULE_H
#define PASSES_PARALLEL_PIPELINE_SCHEDULE_H

#include "passes/pass.h"
#include "passes/pipeline/schedule.h"

/* A step that is divided into stages and micro-batches. */
struct pipeline_step {
	struct pass_run *run; /* of pass pipeline */
	struct ir_module *m;
	int axis, time;      /* of the stages, of the micro-batches */
	const double *fixed; /* [stages] bytes that a stage has whatever the order is */
	double memory;       /* bytes that a device may have; INFINITY: any number */
};

/* A schedule of a step, as text of the IR. */
struct pipeline_candidate {
	const char *text; /* NULL: there is none */
	int cut;          /* the number of the step that it is of */
	double seconds;   /* of an iteration */
	double peak;      /* bytes */
};

struct pipeline_found {
	struct pipeline_candidate best, named[SCHEDULE_NNAMES];
};

/* Does the option ask for a search? */
bool pipeline_is_searched(const struct pass_run *run);

/* Looks for schedules of a step, the next of several cuts, that are better than those found before. False: reported. */
bool pipeline_search(const struct pipeline_step *s, int cut, struct pipeline_found *found);

/* Gives the axis of the micro-batches the schedule that was found, or that the option says. False: reported. */
bool pipeline_set_schedule(const struct pipeline_step *s, const struct pipeline_found *found);

#endif
