/*
 * Pipelines that are tried on copies of a step, and the time and memory of the results: how plan,
 * parallelize and the advice of -budget compare alternatives. Silent: of the messages of tried
 * passes, the first error is kept.
 *
 *     base module --grad,recompute,shard-- copy kept --adam,opfuse--> step: seconds, bytes
 *                                           `--------adam,offload--> step: seconds, bytes
 *
 * Steps are kept after passes that took some time, within a limit on the sum of their ops, and a
 * pipeline continues from the longest kept prefix. Results do not depend on what is kept: passes
 * are deterministic.
 */
#ifndef PASSES_ATTEMPT_H
#define PASSES_ATTEMPT_H

#include "ir/memory/storage.h"
#include "passes/manager/pipeline.h"

struct attempt_result {
	double seconds;  /* of the step; INFINITY: the pipeline failed */
	const char *why; /* the first error, if it failed; owned by the attempts. NULL: unknown */
	uint64_t peak;   /* bytes on a device */
	uint64_t host;   /* bytes in host memory for each device */
	int32_t axis
		[IR_MAX_AXES]; /* sizes of the device axes of the step above 1, in their order */
	int naxes;
	uint64_t effort; /* sum over the passes that were run of the ops before each */
};

/* Runs passes on `m`, which is changed, and replays the step with the model; its memory is not
 * measured. If a pass fails, r->seconds is INFINITY. */
void attempt_on(const struct pass_manager *manager, const struct cost_model *model,
	struct ir_module *m, const char *passes, struct attempt_result *r);

/* Pipelines from one module, with the manager's model, budget and seed. */
struct attempts;

/* Owned by `owner`; the module, which must stay unchanged, and the manager must live as long. */
struct attempts *attempts_create(
	const void *owner, const struct pass_manager *manager, const struct ir_module *m);

/* Replaces the manager's limit on the memory of a device by another one; 0: any. */
void attempts_limit(struct attempts *a, uint64_t budget);

/* Called with the storage of each step that attempts_run measures, until it is NULL. */
typedef void attempts_watcher(void *data, const struct storage *s);

void attempts_watch(struct attempts *a, attempts_watcher *watch, void *data);

void attempts_run(struct attempts *a, const char *passes, struct attempt_result *r);

/* The step that the pipeline makes, owned by `owner`; NULL: a pass refuses it. */
struct ir_module *attempts_step(struct attempts *a, const void *owner, const char *passes);

#endif
