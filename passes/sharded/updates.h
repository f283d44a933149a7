/*
 * Updates as soon as their gradients are available: the ops of the optimizer for one gradient, up
 * to the `update`, are issued where that gradient arrives, and not at the end of the step. So they
 * run while the step waits for messages.
 */
#ifndef PASSES_SHARDED_UPDATES_H
#define PASSES_SHARDED_UPDATES_H

#include "ir/numbering.h"

struct updates;

/* Finds the optimizer of a step, whose ops are numbered by `order`. Owned by `owner`. */
struct updates *updates_create(
	const void *owner, const struct ir_module *m, const struct ir_numbering *order);

/* Does the op belong to the optimizer, so that it may move? */
bool updates_has(const struct updates *u, const struct ir_op *op);

/*
 * To be called when v, for which reducescatters were waited for, is available before `at`, an op
 * outside of the optimizer. Moves the optimizer's ops that need no other gradients before `at`.
 */
void updates_arrive(struct updates *u, const struct ir_value *v, struct ir_op *at);

#endif
