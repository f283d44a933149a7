/* The gradient of one op, from its form. */
#ifndef PASSES_ADJOINT_H
#define PASSES_ADJOINT_H

#include "ir/ops/form.h"

/*
 * Builds the contribution of the gradient `g` of the result of `op` to its operand `operand`: a
 * value of the operand's element type and global shape, in any layout. `a` is scratch for forms.
 * Sets *none (and returns NULL) if the result does not depend on the operand, or only through
 * integers. NULL without *none: an error was reported.
 */
struct ir_value *adjoint(struct ir_builder *b, struct arena *a, struct ir_op *op, int operand,
	struct ir_value *g, bool *none);

/*
 * The same in a layout that fits: if the ops of the gradient do not support that of `op`, operands,
 * result and g are brought to a supported one (adjoint_layout.c). *axes: the axes on which they
 * were gathered for it, usually 0. NULL without *none: no layout fits; nothing was reported, and
 * ops of failed attempts are removed.
 */
struct ir_value *adjoint_fitted(struct ir_builder *b, struct arena *a, struct ir_op *op,
	int operand, struct ir_value *g, bool *none, uint32_t *axes);

/*
 * Why the op has no gradient in any layout, as half a sentence; NULL: it has one.
 */
const char *adjoint_lacks(const struct ir_op *op);

/* Does the op have a rule in addition to its notation? */
bool adjoint_has_rule(enum op_code code);

#endif
