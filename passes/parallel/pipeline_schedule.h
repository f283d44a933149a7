/* In which order the stages of a pipeline do their micro-batches: see pipeline_schedule.c. */
#ifndef PASSES_PARALLEL_PIPELINE_SCHEDULE_H
#define PASSES_PARALLEL_PIPELINE_SCHEDULE_H

#include "passes/pass.h"
#include "passes/pipeline/schedule.h"

/* Where the stages of a pipeline are, and in which order devices do their micro-batches. */
struct pipeline_order {
	int devices, stages;
	const uint16_t *
		place; /* [stages] coordinates, of the module's context; NULL: each stage has a device */
	const char *text; /* as the IR has it; NULL: one micro-batch after another */
};

/* A step that is divided into stages and micro-batches. */
struct pipeline_step {
	struct pass_run *run; /* of pass pipeline */
	struct ir_module *m;
	int axis, time;      /* of the stages, of the micro-batches */
	const double *fixed; /* [stages] bytes that a stage has whatever the order is */
	double memory;       /* bytes that a device may have; INFINITY: any number */
};

struct pipeline_candidate {
	struct pipeline_order order; /* text NULL: there is none */
	int cut;                     /* the number of the step that it is of */
	double seconds;              /* of an iteration */
	double peak;                 /* bytes */
};

struct pipeline_found {
	struct pipeline_candidate best, named[SCHEDULE_NNAMES];
};

/*
 * The order that the options of pass pipeline ask for, on so many devices (0: as many as it needs). False: reported. Of
 * a search it has the stages alone.
 */
bool pipeline_find_order(struct pass_run *run, int devices, struct pipeline_order *o);

/* Gives the axes of stages and micro-batches the order. */
void pipeline_set_order(struct ir_module *m, int axis, int time, const struct pipeline_order *o);

/* Does the option ask for a search? */
bool pipeline_is_searched(const struct pass_run *run);

/* Looks for orders of a step, the next of several cuts, that are better than those found before. False: reported. */
bool pipeline_search(const struct pipeline_step *s, int cut, struct pipeline_found *found);

/* Remarks on what was found. */
void pipeline_tell(const struct pipeline_step *s, const struct pipeline_found *found);

#endif
