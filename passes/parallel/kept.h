/* What a second loop over micro-batches costs. */
#ifndef PASSES_PARALLEL_KEPT_H
#define PASSES_PARALLEL_KEPT_H

#include "passes/pass.h"

/*
 * A remark of the pass about the step as it is now, if values are kept for all micro-batches: how
 * many bytes, the largest one, and the op for which the loop is divided in two. Silent for a step
 * without time axes. The module must have a typed @main without calls.
 */
void kept_remark(struct pass_run *run, struct ir_module *m);

#endif
