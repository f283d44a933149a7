/*
 * A plugin of passes that each do one thing wrong, for the tests of what the driver does about it.
 */
#include "dopt/dopt.h"

#include <stdlib.h>
#include <string.h>

static struct ir_op *
first_op(struct ir_module *m, enum op_code code)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == code)
			return op;
	return NULL;
}

/* Leaves a value used before it is defined. */
static bool
break_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_op *op = first_op(m, OP_relu);

	(void)run;
	ir_op_unlink(op);
	ir_block_append(&ir_func_find(m, "main")->body, op);
	return true;
}

/* A module that is sound and computes something else. */
static bool
lie_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_op *op = first_op(m, OP_relu);
	struct ir_builder b = {.m = m, .block = op->block, .before = op, .loc = op->loc};

	run->changed = true;
	ir_replace_uses(&op->result[0], ir_build1(&b, OP_neg, ir_operand(op, 0)));
	ir_op_erase(op);
	return true;
}

static bool
crash_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	(void)m;
	abort();
}

/* Reads what is not there, of the relu. */
static bool
segv_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_op *op = first_op(m, OP_relu);

	op->body = run->scratch ? NULL : op->body;
	return op->body->first->code == op->code;
}

/* Recursion that ends too late, at the relu. */
static int
descend(const struct ir_op *op, volatile int depth)
{
	return depth < 0 ? 0 : descend(op, depth + 1) + op->code + depth;
}

static bool
deep_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	return descend(first_op(m, OP_relu), 0) == 0;
}

static bool
leave_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	(void)m;
	exit(0);
}

static bool
silent_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	(void)m;
	return false;
}

static bool
fail_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_op *op = first_op(m, OP_relu);

	diag_error(run->ctx->diag, op ? op->loc : LOC_NONE, "relu does not please me");
	return false;
}

/* Does nothing, and says that it provides what it does not. */
static bool
nothing_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	(void)m;
	return true;
}

/* A slower step: the relu once more. */
static bool
slow_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_op *op = first_op(m, OP_relu);
	struct ir_builder b = {.m = m, .block = op->block, .before = op->next, .loc = op->loc};
	struct ir_value *again = NULL;

	run->changed = true;
	for (int64_t i = 0; i < pass_int(run, "times"); i++)
		again = ir_build1(&b, OP_relu, again ? again : &op->result[0]);
	IR_FOR_USES (u, &op->result[0]) {
		if (again && u->op != op->next) {
			ir_set_operand(u->op, (int)(u - u->op->operand), again);
			break;
		}
	}
	return true;
}

static bool
asks_run(struct pass_run *run, struct ir_module *m)
{
	(void)m;
	return pass_int(run, "nothing") == 0;
}

/* Says what its options are. */
static bool
options_run(struct pass_run *run, struct ir_module *m)
{
	int axis[IR_MAX_AXES];

	(void)m;
	pass_remark(run, NULL, PASS_MISSED, "int %lld%s, float %g, size %lld, time %g, bool %d",
		(long long)pass_int(run, "int"), pass_given(run, "int") ? " given" : "",
		pass_float(run, "float"), (long long)pass_size(run, "size"), pass_time(run, "time"),
		pass_bool(run, "bool"));
	pass_remark(run, NULL, PASS_MISSED, "string '%s', enum %d, axis %d, axes %d",
		pass_string(run, "string"), pass_enum(run, "enum"), pass_axis(run, "axis"),
		pass_axes(run, "axes", axis));
	return true;
}

/* Runs other passes inside. */
static bool
nested_run(struct pass_run *run, struct ir_module *m)
{
	return pass_apply(run, m, pass_string(run, "passes"));
}

static const struct pass_option slow_options[] = {
	{"times", PASS_INT, "1", "how often", NULL, 1, 100},
	{0},
};

static const struct pass_option nested_options[] = {
	{"passes", PASS_STRING, "dce", "what to run", NULL, 0, 0},
	{0},
};

static const struct pass_option need_options[] = {
	{"size", PASS_SIZE, NULL, "how much", NULL, 0, 0},
	{"axis", PASS_AXIS, NULL, "where", NULL, 0, 0},
	{0},
};

static const struct pass_option all_options[] = {
	{"int", PASS_INT, "3", "a number", NULL, -5, 5},
	{"float", PASS_FLOAT, "0.5", "a number", NULL, 0, 1},
	{"size", PASS_SIZE, "25MB", "bytes", NULL, 0, 0},
	{"time", PASS_TIME, "3us", "seconds", NULL, 0, 0},
	{"bool", PASS_BOOL, "false", "yes or no", NULL, 0, 0},
	{"string", PASS_STRING, "", "any text", NULL, 0, 0},
	{"enum", PASS_ENUM, "ring", "one of three", "ring,tree,auto", 0, 0},
	{"axis", PASS_AXIS, "", "an axis", NULL, 0, 0},
	{"axes", PASS_AXES, "", "axes", NULL, 0, 0},
	{0},
};

#define BAD(id, ...)                                                                               \
	static const struct pass pass_##id = {.name = #id,                                         \
		.family = "test",                                                                  \
		.summary = "does " #id,                                                            \
		.run = id##_run,                                                                   \
		__VA_ARGS__}

BAD(break, .needs = NULL);
BAD(lie, .needs = NULL);
BAD(crash, .needs = NULL);
BAD(segv, .needs = NULL);
BAD(deep, .needs = NULL);
BAD(leave, .needs = NULL);
BAD(silent, .needs = NULL);
BAD(fail, .needs = NULL);
BAD(slow, .options = slow_options);
BAD(asks, .needs = NULL);
BAD(options, .options = all_options);
BAD(nested, .options = nested_options);

static const struct pass pass_promises = {.name = "promises",
	.family = "test",
	.summary = "promises what it does not do",
	.provides = "!optimizer",
	.run = nothing_run};
static const struct pass pass_required = {.name = "required",
	.family = "test",
	.summary = "requires options",
	.options = need_options,
	.run = nothing_run};
static const struct pass pass_plain = {.name = "plain",
	.family = "test",
	.summary = "needs no calls",
	.needs = "no-calls",
	.run = nothing_run};
static const struct pass pass_red = {.name = "red",
	.family = "test",
	.summary = "provides red",
	.provides = "red",
	.conflicts = "red",
	.run = nothing_run};
static const struct pass pass_blue = {.name = "blue",
	.family = "test",
	.summary = "needs red, takes it away",
	.needs = "red",
	.provides = "!red,blue",
	.run = nothing_run};

static const struct pass *const passes[] = {&pass_break, &pass_lie, &pass_crash, &pass_segv,
	&pass_deep, &pass_leave, &pass_silent, &pass_fail, &pass_slow, &pass_asks, &pass_options,
	&pass_nested, &pass_promises, &pass_required, &pass_plain, &pass_red, &pass_blue, NULL};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "bad", passes};
