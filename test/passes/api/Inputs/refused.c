/* A plugin that is sound unless a macro says otherwise. */
#include "dopt/dopt.h"

#ifndef SYMBOL
#define SYMBOL dopt_plugin
#endif
#ifndef NAME
#define NAME "refused"
#endif
#ifndef RUN
#define RUN run
#endif
#ifndef TYPE
#define TYPE PASS_STRING
#endif

#ifdef CALL
void CALL(void);
#endif

extern bool run(struct pass_run *r, struct ir_module *m);

bool
run(struct pass_run *r, struct ir_module *m)
{
	(void)r;
	(void)m;
#ifdef CALL
	CALL();
#endif
	return true;
}

static const struct pass_option options[] = {
	{"option", TYPE, "word", "half a sentence", 0, 0, 0},
	{0},
};

static const struct pass pass_refused = {
	.name = NAME, .family = "test", .summary = "does nothing", .options = options, .run = RUN};

static const struct pass *const passes[] = {&pass_refused, 0};

extern const struct dopt_plugin SYMBOL;
const struct dopt_plugin SYMBOL = {DOPT_API_VERSION, "refused", passes};
