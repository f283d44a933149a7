/*
 * The order in which a step issues its ops, with loops over time axes. An op whose operands or
 * results are split or partial on time axes is done once in every iteration. Consecutive such ops
 * over the same axes are one loop; other ops among them are moved before the loop, or after it if
 * they need a value that is complete only then. Otherwise the order of the text is kept. lower/
 * issues the program in this order, and passes/analysis/ replays it.
 *
 *     %x(mb)  %w  %h(mb)  %g = reduce(mb)  %n(%g)  %y(mb)    ->    w  loop { x h g y }  n
 *
 * A loop over time axes that are declared with {peel = true} has ops of the second kind where they
 * are written, and they are done in its last iteration, as if that were peeled:
 *
 *     w  loop { x h g  [last: n]  y }
 *
 * In a loop over an axis with a schedule, such as {schedule = "1f1b"}, ops of the forward pass come
 * before those of the backward pass, and each stage runs both in its own order of iterations
 * (cells.h). The stage of an op is the coordinate of its results on the first device axis on which
 * results of the loop are single. An op is backward if it waits for a later stage in the same
 * iteration, sends to an earlier stage, or neither a later stage nor an output waits for it. If the
 * schedule divides the backward pass, the ops that an earlier stage waits for come first.
 */
#ifndef IR_ISSUE_H
#define IR_ISSUE_H

#include "ir/ir.h"
#include "ir/memory/cells.h"

/*
 * Positions [first, end) of the order, with `iterations` iterations. Ops between two loops, which are
 * done once, form a loop of their own, over no axes.
 */
struct issue_loop {
	uint32_t first, end;
	uint32_t over; /* set of time axes; 0: done once */
	uint32_t iterations;
	/* with cells: where the ops of each phase begin, and `end` */
	uint32_t phase[CELL_PHASES + 1];
	/* order of the iterations on each stage; NULL: one after another */
	const struct cells *cells;
	int stage_axis; /* with cells: the axis of the stages */
};

struct issue {
	const struct ir_op **op; /* [n] in order */
	uint32_t *position;      /* of each op of the block, by op->id */
	uint32_t *loop_of;       /* [n] number of the loop of each position */
	bool *once;              /* [n] done once: in no loop, or only in its last iteration */
	struct issue_loop *loop; /* [nloops], covering all positions */
	uint32_t n, nloops;
	const char *why; /* why the first invalid schedule cannot be followed; NULL: all can */
	const struct ir_op *why_op; /* the op that prevents it */
};

/*
 * The order of a block whose ops are typed, a talloc child of `owner`. It is out of date once the
 * block changes.
 */
struct issue *issue_create(const void *owner, const struct ir_module *m, const struct ir_block *b);

/* Can the schedules of @main, whose ops are typed, be followed? Reports if not. */
bool issue_check(const struct ir_module *m);

/* Without loops over time axes the order of a block is its text's. */
bool issue_has_loops(const struct ir_module *m);

/* The loop of an op of the block. */
const struct issue_loop *issue_loop_of(const struct issue *o, const struct ir_op *op);

/* The phase of an op of a loop with cells. */
enum cell_phase issue_phase(const struct issue *o, const struct ir_op *op);

/* The stage of a value of a loop with cells; -1: all stages have it. */
int issue_stage(const struct issue_loop *l, const struct ir_value *v);

/* Is the op, in a loop with cells, a message from one device to another? If so, fills *m. */
bool issue_message(const struct issue *o, const struct ir_op *op, struct cell_message *m);

/* The slots that a value made in a loop with cells needs if nothing outside the loop reads it; 1:
 * for one iteration only. *crosses: it must outlast the phase that makes it. */
uint32_t issue_ring(const struct issue *o, const struct ir_value *v, bool *crosses);

/* The messages of a loop with cells and their ops: arrays owned by `owner`. Returns how many. */
uint32_t issue_messages(const void *owner, const struct issue *o, const struct issue_loop *l,
	const struct ir_op ***op, struct cell_message **message);

/* Time axes on which a type is split or partial: a set. */
uint32_t issue_axes(const struct ir_module *m, const struct ir_type *t);

/* Time axes over which an op is repeated: a set, empty if it is done once. */
uint32_t issue_op_axes(const struct ir_module *m, const struct ir_op *op);

/* Product of the sizes of the axes of a set. */
int64_t issue_iterations(const struct ir_module *m, uint32_t axes);

/*
 * The iteration over the axes `to` that corresponds to iteration `t` over `from`, axes row-major in
 * declared order; on axes that `from` does not have, the last one.
 */
uint32_t issue_map(const struct ir_module *m, uint32_t from, uint32_t t, uint32_t to);

#endif
