/* The attribute `how` of ops that combine several elements into one: scatter_nd, window. */
#ifndef IR_REDUCE_HOW_H
#define IR_REDUCE_HOW_H

#include "ir/ops/form.h"

/* Sets f->reduce from "add", "max", "min" or "mul"; absent: add. Reports any other one, and those
 * that bool does not have. */
bool reduce_how(const struct ir_module *m, const struct ir_op *op, struct form *f);

#endif
