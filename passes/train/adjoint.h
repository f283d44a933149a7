/* The gradient of one op, from its form. */
#ifndef PASSES_ADJOINT_H
#define PASSES_ADJOINT_H

#include "ir/ops/form.h"

/*
 * Builds what operand `operand` of `op` gets from the gradient `g` of its result: a value of the
 * operand's element type and whole shape, in whatever layout it arrives. `a` is scratch for forms.
 * Sets *none (and returns NULL) where the result does not depend on the operand, or only through
 * integers. NULL without *none: an error was reported.
 */
struct ir_value *adjoint(struct ir_builder *b, struct arena *a, struct ir_op *op, int operand,
	struct ir_value *g, bool *none);

/*
 * The same in a layout that fits: where the ops of the gradient do not fit that of `op`, operands,
 * result and g are brought to one in which they do (adjoint_layout.c). *axes: those on which
 * they were made whole for it, 0 mostly. NULL without *none: no layout fits; nothing was reported,
 * and nothing is left of what was tried.
 */
struct ir_value *adjoint_fitted(struct ir_builder *b, struct arena *a, struct ir_op *op,
	int operand, struct ir_value *g, bool *none, uint32_t *axes);

/*
 * Why the op has no gradient in any layout, as half a sentence; NULL: it has one.
 */
const char *adjoint_lacks(const struct ir_op *op);

/* Has the op a rule of its own, beside what its notation gives? */
bool adjoint_has_rule(enum op_code code);

#endif
