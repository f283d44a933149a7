/* Computes terms of the loss by micro-batch. */
#ifndef PASSES_PARALLEL_MICROBATCH_H
#define PASSES_PARALLEL_MICROBATCH_H

#include "passes/pass.h"

/*
 * The first op between sums over the micro-batches of the time axis and the loss, an output "loss"
 * or the only one, that is not linear in those sums; NULL: none. The module must have a typed @main
 * without calls.
 */
const struct ir_op *microbatch_term(const void *owner, const struct ir_module *m, int axis);

/*
 * Computes these terms by micro-batch and averages them: see microbatch.c. The forward step must
 * have been split over the axis. False: reported.
 */
bool microbatch_loss(struct pass_run *run, struct ir_module *m, int axis);

#endif
