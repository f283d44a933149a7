/*
 * Delays readers of scattered gradients. A reducescatter overlaps the kernels after it, up to the
 * first one that waits for its result. Ops on a slice alone, such as its conversion and its sum
 * over micro-batches, are not needed before the optimizer, and are issued later here:
 *
 *     %s = reducescatter(%d)                        %s = reducescatter(%d)
 *     %g = convert(%s)                              ... backward of other blocks ...
 *     ... backward of other blocks ...       --->   %g = convert(%s)
 *     output("grad.w", %g)                          output("grad.w", %g)
 *
 * The whole gradient, %d, stays in memory until then, as its message may not have ended.
 */
#ifndef PASSES_SHARDED_SCATTERS_H
#define PASSES_SHARDED_SCATTERS_H

#include "ir/ir.h"

/*
 * Delays readers of results of reducescatters on device axes in @main: until the gradients
 * scattered since then take more than `most` bytes, until the first op that reads more than the
 * slice, or until the end of the loop over micro-batches. `early`: updates follow where gradients
 * that are scattered once per step arrive (updates.h). Returns how many chains of readers moved.
 */
uint32_t scatters_delay(struct ir_module *m, uint64_t most, bool early);

/* Returns the bucket of a reducescatter; consecutive ones of one bucket are fused. */
typedef uint32_t scatter_bucket(void *data, const struct ir_op *op);

/*
 * Fuses reducescatters on device axes that have the same bucket and kind, in the position of the
 * last; their readers are delayed as far as scatters_delay can. Calls `bucket` once for each, in
 * order of the block. Returns how many were fused.
 */
uint32_t scatters_fuse(struct ir_module *m, scatter_bucket *bucket, void *data);

#endif
