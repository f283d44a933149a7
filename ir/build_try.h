/* Builds an op if it fits; else builds nothing, without a message. */
#ifndef IR_BUILD_TRY_H
#define IR_BUILD_TRY_H

#include "ir/ir.h"

/*
 * Builds an op with operand x, or without operands if x is NULL; `type` as for ir_build_typed, NULL
 * if it follows. Returns NULL if operand, attributes and type do not fit: nothing is reported, and
 * the builder has not failed.
 */
struct ir_value *ir_build_try(struct ir_builder *b, enum op_code code, struct ir_value *x,
	const struct ir_attr *attr, int nattrs, const struct ir_type *type);

#endif
