/*
 * Memory of a step at one place, by liveness in issue order.
 *
 * - Params, states and inputs are there all the time.
 * - Any other value lives from its op to its last use, or to a release if that comes earlier.
 * - A collective's operands and results live until the first op that uses a result: only its wait
 * says that the buffers are no longer in use. Without a use, to the end of the step.
 * - A value that is a view of another (reshape) shares its buffer.
 */
#ifndef PASSES_ANALYSIS_MEMORY_H
#define PASSES_ANALYSIS_MEMORY_H

#include "ir/ir.h"

/* A buffer by the positions in issue order at which it is first and last in use. */
struct memory_buffer {
	uint64_t bytes;
	uint32_t first, last;
};

/* Most bytes in use at one time among n buffers over `positions`; *at (may be NULL): the first
 * position that has them. */
uint64_t memory_peak(const struct memory_buffer *b, uint32_t n, uint32_t positions, uint32_t *at);

struct memory_report {
	uint64_t peak; /* all, with persistent */
	uint64_t persistent;
	const struct ir_op *at; /* the first op at which the peak is reached; NULL: an empty step */
};

/* Of @main's body; ops must be typed. Writes op->order. Place by place the same program: one
 * answer. */
void memory_evaluate(struct ir_module *m, struct ir_func *main, struct memory_report *r);

#endif
