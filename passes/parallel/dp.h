/* What dp shares with passes that split inputs in another dim. */
#ifndef PASSES_DP_H
#define PASSES_DP_H

#include "passes/pass.h"

/*
 * Splits dim `dim` of every input of at least `rank` dims over the axis of option `axis` and
 * carries that through the step: see dp.c. Reports and returns false where the axis is one
 * of time or does not divide the dim.
 */
bool dp_split(struct pass_run *run, struct ir_module *m, int dim, int rank);

#endif
