/*
 * The order in which a step issues its ops, with loops over time axes. The order of the text is
 * kept but for ops without slices in time that stand among ops with slices: an op whose operands or
 * results are split or partial on time axes is done once for every place on them. Consecutive such
 * ops over the same axes are one loop; ops without slices that stand among them go before the loop,
 * or behind it where they need what is complete only then. lower/ issues the program so, and
 * passes/analysis/ replays it so.
 *
 *     %x(mb)  %w  %h(mb)  %g = reduce(mb)  %n(%g)  %y(mb)    ->    w  loop { x h g y }  n
 */
#ifndef IR_ISSUE_H
#define IR_ISSUE_H

#include "ir/ir.h"

/*
 * Positions [first, end) of the order, done `turns` times one after another. What is done once
 * between two loops is a loop of its own, over no axes.
 */
struct issue_loop {
	uint32_t first, end;
	uint32_t over; /* set of time axes; 0: done once */
	uint32_t turns;
};

struct issue {
	const struct ir_op **op; /* [n] in order */
	uint32_t *position;      /* [n] of each op, by op->order */
	uint32_t *loop_of;       /* [n] number of the loop of each position */
	struct issue_loop *loop; /* [nloops], covering all positions */
	uint32_t n, nloops;
};

/*
 * The order of a block whose ops are numbered (ir_block_number) and typed, a talloc child of
 * `owner`. It is out of date once the block changes.
 */
struct issue *issue_create(const void *owner, const struct ir_module *m, const struct ir_block *b);

/* The loop in which an op of the block is done. */
const struct issue_loop *issue_loop_of(const struct issue *o, const struct ir_op *op);

/* Time axes on which a type is split or partial: a set. */
uint32_t issue_axes(const struct ir_module *m, const struct ir_type *t);

/* Product of the sizes of the axes of a set. */
int64_t issue_turns(const struct ir_module *m, uint32_t axes);

/*
 * The turn over the axes `to` at which turn `t` over `from` stands, axes row-major in declared
 * order; on axes that `from` does not have, the last one.
 */
uint32_t issue_map(const struct ir_module *m, uint32_t from, uint32_t t, uint32_t to);

#endif
