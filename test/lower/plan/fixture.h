/* The plan of a step for the host, and its messages: for tests that inspect plans or break them. */
#ifndef TEST_LOWER_PLAN_FIXTURE_H
#define TEST_LOWER_PLAN_FIXTURE_H

#include "test/lower/program.h"

struct fixture {
	struct ir_context *ctx;
	struct lower_plan *plan;
	char *messages; /* all, one per line */
};

static inline void
collect_message(void *data, const struct diag_message *m)
{
	struct fixture *x = data;
	x->messages = talloc_asprintf_append(x->messages, "%u: %s\n", m->line, m->text);
}

/* The plan is sound. */
static inline struct fixture *
fixture_of(const char *text)
{
	struct fixture *x = talloc_zero(NULL, struct fixture);
	const struct parse_options o = {.inline_calls = true};
	x->ctx = ir_context_create(x);
	x->messages = talloc_strdup(x, "");
	diag_set_handler(x->ctx->diag, collect_message, x);
	struct ir_module *m = parse_module(x, x->ctx, "t.dir", text, strlen(text), &o);
	x->plan = m && ir_verify(m) ? lower_plan_create(x, m) : NULL;
	if (!x->plan || !lower_check(x->plan))
		fail_msg("%s\n%s", x->messages, text);
	return x;
}

#endif
