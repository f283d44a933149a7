/* What can be read off a module; each in one walk over @main. */
#include "passes/manager/facts.h"

#include <string.h>

static const struct ir_func *
main_of(const struct ir_module *m)
{
	return ir_func_find(m, "main");
}

static bool
has_no_calls(const struct ir_module *m)
{
	const struct ir_func *f = main_of(m);

	if (f)
		IR_FOR_OPS (op, &f->body)
			if (op_is(op, TRAIT_CALLS))
				return false;
	return true;
}

/* Gradients are reported as outputs until an optimizer takes them: output("grad.w1", %g). */
static bool
has_gradients(const struct ir_module *m)
{
	const struct ir_func *f = main_of(m);

	if (f)
		IR_FOR_OPS (op, &f->body)
			if (op->code == OP_output && !strncmp(op->symbol, "grad.", 5))
				return true;
	return false;
}

static bool
has_optimizer(const struct ir_module *m)
{
	const struct ir_func *f = main_of(m);

	if (f)
		IR_FOR_OPS (op, &f->body)
			if (op->code == OP_update && ir_operand(op, 0)->op &&
				ir_operand(op, 0)->op->code == OP_param)
				return true;
	return false;
}

static bool
has_backward(const struct ir_module *m)
{
	return has_gradients(m) || has_optimizer(m);
}

static bool
has_fuse(const struct ir_module *m)
{
	const struct ir_func *f = main_of(m);

	if (f)
		IR_FOR_OPS (op, &f->body)
			if (op->code == OP_fuse)
				return true;
	return false;
}

static bool
in_host_memory(const struct ir_module *m)
{
	const struct ir_func *f = main_of(m);

	if (f)
		IR_FOR_OPS (op, &f->body)
			if (op_is(op, TRAIT_PERSISTENT) && op->result[0].type->memory == IR_HOST)
				return true;
	return false;
}

const struct pass_fact pass_facts[] = {
	{"no-calls", "@main has no calls", has_no_calls, "inline", true},
	{"grad", "@main has an output(\"grad.w\") with the gradient of each param w", has_gradients,
		NULL, false},
	{"optimizer", "@main updates a param", has_optimizer, NULL, false},
	{"backward", "@main has gradients of params, or updates a param", has_backward, NULL,
		false},
	{"fused", "@main has a fuse", has_fuse, NULL, false},
	{"offloaded", "@main has a param or state in host memory", in_host_memory, NULL, false},
	{NULL, NULL, NULL, NULL, false},
};

const struct pass_fact *
pass_fact_find(const char *name, size_t length)
{
	for (const struct pass_fact *f = pass_facts; f->name; f++)
		if (strlen(f->name) == length && !memcmp(f->name, name, length))
			return f;
	return NULL;
}

bool
pass_fact_next(const char **at, const char **word, size_t *length)
{
	if (!*at)
		return false;
	*word = *at + strspn(*at, ", ");
	*length = strcspn(*word, ", ");
	*at = *word + *length;
	return *length > 0;
}
