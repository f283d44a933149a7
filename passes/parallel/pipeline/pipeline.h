/* The files of the pass pipeline: see pipeline.c. */
#ifndef PASSES_PARALLEL_PIPELINE_H
#define PASSES_PARALLEL_PIPELINE_H

#include "ir/base/vec.h"
#include "passes/parallel/pipeline/cut.h"
#include "passes/pass.h"

enum {
	PIPELINE_NOWHERE = -1,       /* no stage: on every device */
	PIPELINE_UNREAD = INT32_MAX, /* no op of the line reads it */
};

/* A value at another stage than the stage of its op. */
struct pipeline_copy {
	int stage;
	struct ir_value *value;
	struct pipeline_copy *next;
};

struct pipeline {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_block *block;
	int axis;
	bool quiet;             /* a trial on a copy of the step */
	uint32_t nops, nvalues; /* numbers of ids before the pass adds ops */
	uint8_t *needs;         /* by op->id: a set of ON_ constants */
	int32_t *at; /* by op->id: position of the op in the line, or of its first reader */
	int *stage;  /* by op->id */
	struct pipeline_copy **copies; /* by value->id */
	struct VEC(struct ir_op *) line;
};

/* --- stages of ops: stages.c ------------------------------------------------------------------ */

/* Finds the line, the ops to be divided into stages, and the positions of all other ops. */
void pipeline_make_line(struct pipeline *p);

/* Memory of stages, in bytes: that of the devices, or `memory` if they have no limit, times
 * `share`. */
struct pipeline_room {
	double memory, share;
};

/* What a stage has memory for: PIPELINE_VALUES, the values of its micro-batches under way as the
 * step stands, and its params with their gradients and states; PIPELINE_PARAMS, these alone. */
#define PIPELINE_MEMORIES(ROW) ROW(PIPELINE_VALUES, "values") ROW(PIPELINE_PARAMS, "params")

enum pipeline_memory { PIPELINE_MEMORIES(CHOICE_CODE) };

/* The times and bytes of the line on the devices of each stage; owned by the run's scratch. NULL:
 * reported. */
struct pipeline_line *pipeline_weigh(const struct pipeline *p, struct pipeline_room room);

/* Assigns stages to all ops; stage k begins with op first[k] of the line. */
void pipeline_set_stages(struct pipeline *p, const uint32_t *first, uint32_t stages);

/* The bytes of each stage that do not depend on the order of micro-batches. */
double *pipeline_fixed_bytes(
	const struct pipeline *p, const struct pipeline_line *l, const uint32_t *first);

/* Remarks on the stages. */
void pipeline_tell_stages(
	const struct pipeline *p, const struct pipeline_line *l, const uint32_t *first);

/* --- into the module: sends.c ----------------------------------------------------------------- */

/* Moves ops to their stages and inserts sends. False: reported. */
bool pipeline_apply_stages(struct pipeline *p);

#endif
