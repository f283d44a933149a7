/* Rules of the ops that index notation does not say: ir/special.c. */
#ifndef IR_SPECIAL_H
#define IR_SPECIAL_H

#include "ir/ir.h"

/*
 * Result type of a reshape: shape and layout. A split dim must be the outermost of the dims that
 * are merged or taken apart with it, so that a place's slice is reshaped in place. Reports
 * failures.
 */
bool special_reshape(struct ir_module *m, const struct ir_op *op, struct ir_type *result);

/* Operand layouts of update and output. Report failures. */
bool special_update(struct ir_module *m, const struct ir_op *op);
bool special_output(struct ir_module *m, const struct ir_op *op);

/* A param, state or input: its written type. */
bool special_written(struct ir_module *m, const struct ir_op *op, const struct ir_type *t);

/* Type of result `operand` of a parallelization op: ir/layout.c. */
bool layout_transition(
	struct ir_module *m, const struct ir_op *op, int operand, struct ir_type *result);

#endif
