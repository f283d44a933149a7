/* What the files that make a plan share: plan.c, buffers.c, actions.c, update.c, waits.c, memory.c.
 */
#ifndef LOWER_PLAN_BUILD_H
#define LOWER_PLAN_BUILD_H

#include "ir/issue.h"
#include "lower/plan.h"

struct plan_build {
	struct lower_plan *p;
	const struct issue *order; /* of @main */
	bool failed;
};

/* The op's result lies where its operand 0 does and nothing has to be done. */
bool plan_is_view(const struct ir_module *m, const struct ir_op *op);

/* Does result r of a parallelization op lie where operand r does, because nobody else needs that?
 */
bool plan_in_place(const struct plan_build *b, const struct ir_op *op, int r);

/* Buffers and values of all results, in order; decides which new values of params are made in
 * place. */
void plan_buffers(struct plan_build *b);

/* Actions of the ops, without WAITs. */
void plan_actions(struct plan_build *b);

/* Adds an action at the end. The pointer is valid until the next one is added. */
struct lower_action *plan_add_action(
	struct lower_plan *p, enum lower_action_kind kind, const struct ir_op *op);

/* A new buffer; returns its number. */
int32_t plan_add_buffer(struct lower_plan *p, enum lower_role role, const struct ir_value *v,
	uint64_t bytes, int64_t slots);

/* A new entry for a value (NULL: one without a name); returns its number. */
int32_t plan_add_value(struct lower_plan *p, const struct ir_value *v, int32_t buffer);

/* Puts a WAIT before the first action that conflicts with a collective on its way. */
void plan_waits(struct plan_build *b);

/* Lives and offsets of all buffers. */
void plan_memory(struct lower_plan *p);

#endif
