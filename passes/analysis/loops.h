/*
 * Loops over time axes. An op whose operands or results are split or partial on time axes is done
 * once for every place on them. Consecutive ops over the same axes are one loop; ops that are no
 * work (views, params, releases) stand in whatever loop surrounds them.
 *
 *     %x = input : f32[64/mb,8]        turns 0 1 2 3 ... of both ops alternate
 *     %h = matmul(%x, %w)         \
 *     %g = reduce(%p) {axis = mb} /    after the last turn %g is complete
 */
#ifndef PASSES_ANALYSIS_LOOPS_H
#define PASSES_ANALYSIS_LOOPS_H

#include "ir/ir.h"

struct loop {
	uint32_t over;        /* set of time axes; 0: not a loop */
	uint32_t first, last; /* positions of its first and last op that is work */
	uint32_t turns;
};

/* The set of time axes that an op is done over. */
uint32_t loop_axes(const struct ir_module *m, const struct ir_op *op);

/* Product of the sizes of the axes of a set. */
uint32_t loop_turns(const struct ir_module *m, uint32_t over);

/*
 * The turn over `to` at which turn `t` over `from` stands, axes row-major in declared order; on
 * axes that `from` does not have, the last one.
 */
uint32_t loop_map(const struct ir_module *m, uint32_t from, uint32_t t, uint32_t to);

/*
 * The loops of a block in order, covering every op that is work; ops must be numbered. Array owned
 * by `owner`; returns how many.
 */
uint32_t loop_list(
	const void *owner, const struct ir_module *m, const struct ir_block *b, struct loop **list);

#endif
