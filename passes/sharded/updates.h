/*
 * Updates as soon as their gradients are there: what an optimizer computes of one gradient, up to the
 * `update`, is issued where that gradient arrives, and not at the end of the step. Where the step
 * waits for messages, it then computes that meanwhile.
 */
#ifndef PASSES_SHARDED_UPDATES_H
#define PASSES_SHARDED_UPDATES_H

#include "ir/numbering.h"

struct updates;

/* Of the optimizer of a step, whose ops are numbered as they come. Owned by `owner`. */
struct updates *updates_create(
	const void *owner, const struct ir_module *m, const struct ir_numbering *order);

/* Is the op one of the optimizer, which may move? */
bool updates_has(const struct updates *u, const struct ir_op *op);

/*
 * The value, which reducescatters were waited for, is there before `at`, an op that is not of the
 * optimizer: so are the ops that need nothing else, and they are moved there.
 */
void updates_arrive(struct updates *u, const struct ir_value *v, struct ir_op *at);

#endif
