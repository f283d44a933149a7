/*
 * A plugin, built outside of the tree against the installed headers: see plugin.test.
 *
 * halve: multiplies every output whose name begins with `prefix` by a half. Works on any layout: a
 * product with a constant is linear.
 */
#include "dopt/dopt.h"

#include <string.h>

static bool
halve_run(struct pass_run *run, struct ir_module *m)
{
	const char *prefix = pass_string(run, "prefix");

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (op->code != OP_output || strncmp(op->symbol, prefix, strlen(prefix)) != 0)
			continue;
		struct ir_builder b = {.m = m, .block = op->block, .before = op, .loc = op->loc};
		enum ir_dtype t = (enum ir_dtype)ir_operand_type(op, 0)->dtype;
		if (ir_dtype_class(t) != IR_FLOAT) {
			pass_remark(run, op, PASS_MISSED, "%s is no float", op->symbol);
			continue;
		}
		struct ir_value *half = ir_build_scalar(&b, t, 0.5);
		struct ir_value *product = ir_build2(&b, OP_mul, ir_operand(op, 0), half);
		if (!product)
			return false;
		ir_set_operand(op, 0, product);
		pass_count(run, "outputs halved", 1);
	}
	return true;
}

static const struct pass_option options[] = {
	{"prefix", PASS_STRING, "", "outputs whose names begin with this", NULL, 0, 0},
	{0},
};

static const struct pass pass_halve = {
	.name = "halve",
	.family = "example",
	.summary = "halve outputs",
	.options = options,
	.needs = "no-calls",
	.run = halve_run,
};

static const struct pass *const passes[] = {&pass_halve, NULL};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "halve", passes};
