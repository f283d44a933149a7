/*
 * Replaces every call in @main by the ops of its function, innermost last, then drops the functions
 * that are no longer called.
 *
 * It is correct because a template means its body with sizes and operands substituted;
 * ir_inline_calls (ir/template.h) does that, including calls in the substituted ops.
 */
#include "ir/template.h"
#include "passes/pass.h"

#include <string.h>

static void
drop_templates(struct pass_run *run, struct ir_module *m)
{
	struct ir_func **link = &m->func;

	while (*link) {
		if (!strcmp((*link)->name, "main")) {
			link = &(*link)->next;
			continue;
		}
		/* Prelude functions are not part of the text: dropping them is not a change. */
		pass_count(run, "function(s) removed", !(*link)->prelude);
		*link = (*link)->next;
	}
	m->last_func = link;
}

static bool
inline_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");
	unsigned inlined = 0;

	if (!f)
		return true;
	if (!ir_inline_calls(m, f, &inlined))
		return false;
	if (inlined)
		pass_count(run, "call(s) inlined", inlined);
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
