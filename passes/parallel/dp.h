/* What dp shares with passes that split inputs in another dim or over another kind of axis. */
#ifndef PASSES_DP_H
#define PASSES_DP_H

#include "passes/pass.h"

/*
 * Splits dim `dim` of every input of at least `rank` dims over the axis of option `axis` and
 * carries that through the step: see dp.c. Reports and returns false where the axis is one
 * of time or does not divide the dim.
 */
bool dp_split(struct pass_run *run, struct ir_module *m, int dim, int rank);

/* Should this input be split? */
typedef bool dp_choice(const struct ir_op *input, const void *data);

/*
 * The same over any axis, for the inputs that `takes` returns true for. Over a time axis, a value
 * that is summed over the slices or needs all of them is known only after the last slice: it is
 * made by reduce and combine instead of allreduce and allgather.
 */
bool dp_split_over(struct pass_run *run, struct ir_module *m, int axis, int dim, dp_choice *takes,
	const void *data);

#endif
