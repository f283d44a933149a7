/* Templates: functions whose types are found at each call. */
#include "ir/template.h"

bool
ir_infer_call(struct ir_module *m, struct ir_op *call, const struct ir_type *const *written)
{
	(void)written;
	diag_error(m->ctx->diag, call->loc, "call: @%s has no types here", call->symbol);
	return false;
}

bool
ir_inline_call(struct ir_module *m, struct ir_op *call)
{
	return ir_infer_call(m, call, NULL);
}
