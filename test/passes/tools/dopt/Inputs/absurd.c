/* A pass that makes a list of as many dims as an attribute that is not there has: -1. */
#include "dopt/dopt.h"

static bool
absurd_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	ir_make_ints(m, "dims", NULL, -1);
	return true;
}

static const struct pass pass_absurd = {.name = "absurd",
	.family = "test",
	.summary = "asks for more memory than any machine has",
	.run = absurd_run};

static const struct pass *const passes[] = {&pass_absurd, NULL};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "absurd", passes};
