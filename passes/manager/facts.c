/* Facts that can be read off a module, in one walk over @main. */
#include "passes/manager/facts.h"

#include <string.h>

/* Properties shown by ops, a set. */
enum shown {
	CALL = 1 << 0,
	/* Gradients are outputs until an optimizer consumes them: output("grad.w1", %g). */
	GRADIENT = 1 << 1,
	UPDATE = 1 << 2, /* of a param */
	FUSE = 1 << 3,
	ON_HOST = 1 << 4,
};

static unsigned
shown_by(const struct ir_op *op)
{
	if (op->code == OP_output)
		return strncmp(op->symbol, "grad.", 5) ? 0 : GRADIENT;
	if (op->code == OP_update)
		return ir_operand(op, 0)->op && ir_operand(op, 0)->op->code == OP_param ? UPDATE
											: 0;
	if (op_is(op, TRAIT_PERSISTENT))
		return op->result[0].type && op->result[0].type->memory == IR_HOST ? ON_HOST : 0;
	return op_is(op, TRAIT_CALLS) ? CALL : op->code == OP_fuse ? FUSE : 0;
}

unsigned
pass_facts_shown(const struct ir_module *m)
{
	const struct ir_func *f = ir_func_find(m, "main");
	unsigned shown = 0;

	if (f)
		IR_FOR_OPS (op, &f->body)
			shown |= shown_by(op);
	return shown;
}

bool
pass_fact_holds(const struct pass_fact *f, unsigned shown)
{
	return ((shown & f->shown) != 0) != f->absent;
}

const struct pass_fact pass_facts[] = {
	{"no-calls", "@main has no calls", CALL, true, "inline", true},
	{"grad", "@main has an output(\"grad.w\") with the gradient of each param w", GRADIENT,
		false, NULL, false},
	{"optimizer", "@main updates a param", UPDATE, false, NULL, false},
	{"backward", "@main has gradients of params, or updates a param", GRADIENT | UPDATE, false,
		NULL, false},
	{"fused", "@main has a fuse", FUSE, false, NULL, false},
	{"offloaded", "@main has a param or state in host memory", ON_HOST, false, NULL, false},
	{0},
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
bool
pass_fact_listed(const char *list, const char *fact, size_t length)
{
	const char *word;
	size_t n;

	while (pass_fact_next(&list, &word, &n))
		if (n == length && !memcmp(word, fact, n))
			return true;
	return false;
}
