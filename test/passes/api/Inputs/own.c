/* A plugin with a function of the name of one that is private to libdopt. */
#include "dopt/dopt.h"

extern int plan_count(const char *text);

int
plan_count(const char *text)
{
	int n = 0;

	while (text[n])
		n++;
	return n;
}

static bool
own_run(struct pass_run *run, struct ir_module *m)
{
	(void)m;
	if (plan_count("seven's") != 7)
		return pass_bug(run, NULL, "plan_count is not the plugin's");
	pass_remark(run, NULL, PASS_APPLIED, "plan_count is the plugin's");
	return true;
}

static const struct pass own = {.name = "own",
	.family = "test",
	.summary = "call a function of a common name",
	.run = own_run};

static const struct pass *const passes[] = {&own, 0};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "own", passes};
