/*
 * Where scattered gradients are read. A reducescatter runs next to the kernels after it, up to the
 * first one that waits for its result. What is computed of a slice alone, its conversion and its sum
 * over micro-batches, is not needed before the optimizer, and is issued later here:
 *
 *     %s = reducescatter(%d)                        %s = reducescatter(%d)
 *     %g = convert(%s)                              ... backward of other blocks ...
 *     ... backward of other blocks ...       --->   %g = convert(%s)
 *     output("grad.w", %g)                          output("grad.w", %g)
 *
 * The whole gradient, %d, stays in memory until then: its message may not be over.
 */
#ifndef PASSES_SHARDED_SCATTERS_H
#define PASSES_SHARDED_SCATTERS_H

#include "ir/ir.h"

/*
 * Delays what reads results of reducescatters on device axes in @main: until the gradients that were
 * scattered since take more than `most` bytes, until the first op that reads more than the slice, or
 * until the end of the loop over micro-batches. `early`: the updates of what is scattered once follow
 * where it arrives (updates.h). Returns how many readers moved.
 */
uint32_t scatters_delay(struct ir_module *m, uint64_t most, bool early);

/* The bucket of a reducescatter; those of consecutive ones of one bucket become one message. */
typedef uint32_t scatter_bucket(void *data, const struct ir_op *op);

/*
 * Fuses reducescatters on device axes of one bucket and one kind, in the position of the last; what
 * reads them is delayed as far as scatters_delay can. `bucket` is asked once for each, in order of
 * the block. Returns how many were fused.
 */
uint32_t scatters_fuse(struct ir_module *m, scatter_bucket *bucket, void *data);

#endif
