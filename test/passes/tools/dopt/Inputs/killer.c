/* A plugin whose pass is killed from outside, as where memory is short; EARLY: it crashes when it is loaded. */
#include "dopt/dopt.h"

#include <signal.h>
#include <stdlib.h>

static bool
killed_run(struct pass_run *run, struct ir_module *m)
{
	(void)run;
	(void)m;
	return raise(SIGKILL) == 0;
}

#ifdef EARLY
static void __attribute__((constructor)) crash(void)
{
	abort();
}
#endif

static const struct pass pass_killed = {
	.name = "killed", .family = "test", .summary = "is killed", .run = killed_run};

static const struct pass *const passes[] = {&pass_killed, NULL};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "killer", passes};
