/*
 * What a reader of a value waits for. A view is available as soon as the viewed value; the results
 * of a barrier only when all of its operands are:
 *
 *     %a1, %g1 = barrier(%a, %g)
 *     %r = reshape(%a1)              a reader of %r waits for the ops that make %a and %g
 */
#ifndef IR_MEMORY_AWAITED_H
#define IR_MEMORY_AWAITED_H

#include "ir/base/vec.h"
#include "ir/ir.h"

/* Zeroed: empty. Free it with awaited_free, or with its owner. */
struct awaited {
	struct VEC(const struct ir_value *) value; /* none is the result of a view */
	struct VEC(const struct ir_op *) barrier;  /* visited barriers */
};

/* Adds what a reader of v waits for. A value may be added twice, unless through a barrier. */
void awaited_add(
	const void *owner, struct awaited *a, const struct ir_module *m, const struct ir_value *v);
/* Makes the list empty; its memory is kept. */
void awaited_clear(struct awaited *a);
void awaited_free(struct awaited *a);

#endif
