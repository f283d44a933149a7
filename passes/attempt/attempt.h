/*
 * Pipelines that are tried on copies of a step, and what their steps take and need: how plan, parallelize and the advice
 * of -budget compare alternatives. Silent: what a tried pass says is discarded.
 *
 *     base module --grad,recompute,shard-- copy kept --adam,opfuse--> step: seconds, bytes
 *                                           `--------adam,offload--> step: seconds, bytes
 *
 * Steps are kept after passes that took some time, within a limit on their ops together, and a pipeline goes on from
 * the longest beginning that was kept. What it finds does not depend on what is kept: passes are deterministic.
 */
#ifndef PASSES_ATTEMPT_H
#define PASSES_ATTEMPT_H

#include "passes/manager/pipeline.h"

struct attempt_result {
	double seconds; /* of the step; INFINITY: the pipeline was refused */
	uint64_t peak;  /* bytes on a device */
	uint64_t host;  /* bytes in host memory for each device */
	int32_t axis
		[IR_MAX_AXES]; /* sizes of the device axes of the step above 1, in their order */
	int naxes;
	uint64_t effort; /* ops of the steps before each pass that was run, the sum */
};

/* Runs passes on `m`, which is changed, and replays the step with the model; its memory is not measured. Where one of
 * them fails r->seconds is INFINITY. */
void attempt_on(const struct pass_manager *manager, const struct cost_model *model,
	struct ir_module *m, const char *passes, struct attempt_result *r);

/* Pipelines from one module, with the manager's model, budget and seed. */
struct attempts;

/* Owned by `owner`; the module, which must stay as it is, and the manager must live as long. */
struct attempts *attempts_create(
	const void *owner, const struct pass_manager *manager, const struct ir_module *m);

void attempts_run(struct attempts *a, const char *passes, struct attempt_result *r);

#endif
