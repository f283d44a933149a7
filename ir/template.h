/* Templates: functions whose types are found at each call. */
#ifndef IR_TEMPLATE_H
#define IR_TEMPLATE_H

#include "ir/ir.h"

/* Result types of a call, by instantiating the callee. Reports and returns false where that fails. */
bool
ir_infer_call(struct ir_module *m, struct ir_op *call, const struct ir_type *const *written);

/* Replaces a call by the ops of the callee. Reports and returns false where that fails. */
bool
ir_inline_call(struct ir_module *m, struct ir_op *call);

#endif
