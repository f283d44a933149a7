/*
 * Memory of a step at one place, by liveness in issue order. Every place runs the same program with
 * the same buffers, so one answer holds for all.
 *
 * - Params, states and inputs are there all the time; outputs from their op to the end of the step.
 * - Any other value lives from its op to its last use; a release is a use.
 * - The operands of a collective live until a result is used: only then its end is waited for.
 *   Without a use, to the end of the step.
 * - A view (reshape) shares its operand's buffer; so do the result of an allreduce, reduce,
 * replicate or send and its operand, where nobody needs the operand any more.
 * - A param's next value that is made element by element lies where the param lies, if nobody reads
 *   the old one later; else it lives to the end of the step and is copied.
 * - A value of one turn of a loop that is read behind the loop has a slot for every turn. What is
 *   read or made in a loop and outside of it lives through the whole loop.
 * - What a kernel keeps inside (ir/scheme.h) lives while it runs.
 *
 * The order is that of ir/issue.h. Sharing and slots are as in lower/buffers.c, lives as in
 * lower/memory.c, which gives buffers their places; test/cost/memory_test.c compares the two.
 */
#ifndef PASSES_ANALYSIS_MEMORY_H
#define PASSES_ANALYSIS_MEMORY_H

#include "ir/ir.h"

/* A buffer by the positions in issue order at which it is first and last in use. */
struct memory_buffer {
	uint64_t bytes;
	uint32_t first, last;
};

/*
 * Most bytes in use at one time among n buffers over `positions` positions; *at (may be NULL): the
 * first position that has them.
 */
uint64_t memory_peak(const struct memory_buffer *b, uint32_t n, uint32_t positions, uint32_t *at);

struct memory_report {
	uint64_t peak; /* all, with persistent */
	uint64_t persistent;
	const struct ir_op *at; /* at which the peak is first reached; NULL: the end, or no step */
};

/* Of a typed @main. Writes op->order. */
void memory_evaluate(struct ir_module *m, struct ir_func *main, struct memory_report *r);

#endif
