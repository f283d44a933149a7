/*
 * Replaces every call in @main by the ops of its function, innermost last, then drops the functions
 * that nothing calls any more.
 *
 * Right because a template means its body with sizes and operands put in; ir_inline_call does that
 * for one call (ir/template.h). Calls among the ops put in are replaced in turn: the walk goes on
 * at the first of them. Recursion ends with the error of ir_inline_call, which bounds the depth.
 */
#include "ir/template.h"
#include "passes/pass.h"

#include <string.h>

static bool
inline_calls(struct pass_run *run, struct ir_module *m, struct ir_func *f)
{
	struct ir_op *op = f->body.first;

	while (op) {
		if (!op_is(op, TRAIT_CALLS)) {
			op = op->next;
			continue;
		}
		struct ir_op *prev = op->prev;
		if (!ir_inline_call(m, op))
			return false;
		pass_count(run, "call(s) inlined", 1);
		op = prev ? prev->next : f->body.first;
	}
	return true;
}

static void
drop_templates(struct pass_run *run, struct ir_module *m)
{
	struct ir_func **link = &m->func;

	while (*link) {
		if (!strcmp((*link)->name, "main")) {
			link = &(*link)->next;
			continue;
		}
		/* The prelude's are not part of the text: dropping them is no change. */
		pass_count(run, "function(s) removed", !(*link)->prelude);
		*link = (*link)->next;
	}
	m->last_func = link;
}

static bool
inline_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");

	if (!f)
		return true;
	if (!inline_calls(run, m, f))
		return false;
	if (!pass_bool(run, "keep"))
		drop_templates(run, m);
	return true;
}

static const struct pass_option options[] = {
	{"keep", PASS_BOOL, "false", "keep functions that are no longer called", NULL, 0, 0},
	{0},
};

const struct pass pass_inline = {
	.name = "inline",
	.family = "prepare",
	.summary = "replace calls with the bodies of their functions",
	.options = options,
	.provides = "no-calls",
	.run = inline_run,
	.keeps_bits = true,
};
