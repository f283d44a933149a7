/* The order in which the stages of a pipeline run their micro-batches: see schedule.c. */
#ifndef PASSES_PARALLEL_PIPELINE_SCHEDULE_H
#define PASSES_PARALLEL_PIPELINE_SCHEDULE_H

#include "passes/pass.h"
#include "passes/pipeline/schedule.h"

/* Where the stages of a pipeline are, and in which order devices run their micro-batches. */
struct pipeline_order {
	int devices, stages;
	const uint16_t
		*place;   /* [stages] device coordinates, in the module's context; NULL: one each */
	const char *text; /* as written in the IR; NULL: one micro-batch after another */
};

/* A step that is divided into stages and micro-batches. */
struct pipeline_step {
	struct pass_run *run; /* of pass pipeline */
	struct ir_module *m;
	int axis, time;      /* the axes of stages and of micro-batches */
	const double *fixed; /* [stages] bytes that a stage needs in any order */
	double memory;       /* bytes that a device may use; INFINITY: unlimited */
};

struct pipeline_candidate {
	struct pipeline_order order; /* text NULL: no candidate */
	int cut;                     /* the number of the cut that it belongs to */
	double seconds;              /* of an iteration */
	double peak;                 /* bytes */
};

struct pipeline_found {
	struct pipeline_candidate best, named[SCHEDULE_NNAMES];
};

/*
 * The order that the options of pass pipeline ask for, on `devices` devices (0: as many as it
 * needs). For a search only the stages are set. False: reported.
 */
bool pipeline_find_order(struct pass_run *run, int devices, struct pipeline_order *o);

/* Sets the order on the axes of stages and micro-batches. */
void pipeline_set_order(struct ir_module *m, int axis, int time, const struct pipeline_order *o);

/* Does the option ask for a search? */
bool pipeline_is_searched(const struct pass_run *run);

/* Looks for orders of a step, made with cut number `cut`, that are better than those found before.
 * False: reported. */
bool pipeline_search(const struct pipeline_step *s, int cut, struct pipeline_found *found);

/* Remarks on what was found. */
void pipeline_tell(const struct pipeline_step *s, const struct pipeline_found *found);

#endif
