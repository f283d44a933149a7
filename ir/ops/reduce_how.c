/* How elements are combined: see reduce_how.h. */
#include "ir/ops/reduce_how.h"

#include <string.h>

/* For bool there is no sum: `max` is any, `min` is all. */
static bool
check_bool(const struct ir_module *m, const struct ir_op *op, enum form_reduce reduce)
{
	if (ir_operand_type(op, 0)->dtype != IR_bool || reduce == REDUCE_MAX ||
		reduce == REDUCE_MIN)
		return true;
	diag_error(m->ctx->diag, op->loc, "%s: for bool, how must be max (any) or min (all)",
		op_name((enum op_code)op->code));
	return false;
}

bool
reduce_how(const struct ir_module *m, const struct ir_op *op, struct form *f)
{
	static const struct {
		const char *name;
		enum form_reduce reduce;
	} ways[] = {{"add", REDUCE_SUM}, {"max", REDUCE_MAX}, {"min", REDUCE_MIN},
		{"mul", REDUCE_PROD}};
	const char *how = ir_attr_string(op, "how", "add");

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(how, ways[i].name) == 0) {
			f->reduce = (uint8_t)ways[i].reduce;
			return check_bool(m, op, ways[i].reduce);
		}
	diag_error(m->ctx->diag, op->loc, "%s: how is \"%s\"; it can be add, max, min or mul",
		op_name((enum op_code)op->code), how);
	return false;
}
