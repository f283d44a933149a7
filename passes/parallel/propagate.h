/* Propagation of layouts, for passes that set the layouts of some values. */
#ifndef PASSES_PROPAGATE_H
#define PASSES_PROPAGATE_H

#include "passes/pass.h"

/* Moves the allgathers over these device axes, a set, after the ops that can work on slices: see
 * propagate.c. Reports and returns false after an error. */
bool propagate_over(struct pass_run *run, struct ir_module *m, uint32_t axes);

#endif
