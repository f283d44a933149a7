/* Two passes that make of every 1.0 of f32 the next number above: a unit in the last place, which rounding may be. One
 * says that it keeps bits. */
#include "dopt/dopt.h"

static bool
next_above(struct pass_run *run, struct ir_module *m)
{
	const struct ir_attr next = ir_make_float(m->ctx, "value", 1 + 0x1p-23);

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_constant && ir_attr_float(op, "value", 0) == 1) {
			ir_attr_set(m, op, &next);
			pass_count(run, "ones", 1);
		}
	return true;
}

/* The same, and says that the order of a sum is another one now. */
static bool
reorders(struct pass_run *run, struct ir_module *m)
{
	pass_reorders(run);
	return next_above(run, m);
}

#define PASS(id, keeps, function)                                                                  \
	static const struct pass pass_##id = {.name = #id,                                         \
		.family = "test",                                                                  \
		.summary = "make of 1 the next number",                                            \
		.run = function,                                                                   \
		.keeps_bits = keeps}

PASS(keeps, true, next_above);
PASS(rounds, false, next_above);
PASS(orders, true, reorders);

static const struct pass *const passes[] = {&pass_keeps, &pass_rounds, &pass_orders, NULL};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "rounds", passes};
