/* The gradient of one op, from its form. */
#ifndef PASSES_ADJOINT_H
#define PASSES_ADJOINT_H

#include "ir/form.h"

/*
 * Builds what operand `operand` of `op` gets from the gradient `g` of its result: a value of the
 * operand's element type and whole shape, in whatever layout it arrives. `a` is scratch for forms.
 * Sets *none (and returns NULL) where the result does not depend on the operand, or only through
 * integers. NULL without *none: an error was reported.
 */
struct ir_value *adjoint(struct ir_builder *b, struct arena *a, struct ir_op *op, int operand,
	struct ir_value *g, bool *none);

/* Has the op a rule of its own, beside what its notation gives? */
bool adjoint_has_rule(enum op_code code);

#endif
