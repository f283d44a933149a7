/* What plan.c, actions.c and waits.c share while they make a plan. */
#ifndef LOWER_PLAN_BUILD_H
#define LOWER_PLAN_BUILD_H

#include "lower/plan/plan.h"

struct plan_build {
	struct lower_plan *p;
	const struct issue *order; /* of @main */
	bool failed;
};

/* Actions of the ops, without WAITs. */
void plan_actions(struct plan_build *b);

/* Appends an action that is done at moment `at`. The pointer is valid until the next one is
 * added. */
struct lower_action *plan_add_action(
	struct lower_plan *p, enum lower_action_kind kind, const struct ir_op *op, int32_t at);

/* A new entry for a value (NULL: one without a name); returns its number. */
int32_t plan_add_value(struct lower_plan *p, const struct ir_value *v, int32_t buffer);

/* Puts WAITs where a collective in flight must have ended. */
void plan_waits(struct plan_build *b);

#endif
