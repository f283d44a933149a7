/* The memory cost of a second loop over micro-batches. */
#ifndef PASSES_PARALLEL_KEPT_H
#define PASSES_PARALLEL_KEPT_H

#include "passes/pass.h"

/*
 * If values of the current step are kept for all micro-batches, adds a remark of the pass: the
 * bytes, the largest value, and the op that requires a second loop. Silent for a step without time
 * axes. The module must have a typed @main without calls.
 */
void kept_remark(struct pass_run *run, struct ir_module *m);

#endif
