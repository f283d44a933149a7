/*
 * `joint` on random programs: by the cost model it is told to believe, no policy makes a faster
 * step, whatever the evaluations, with a profile of some of the kernels and without.
 */
#include "test/passes/search/devices.h"
#include "test/passes/search/policies.h"

enum { COUNT = 120, STEPS = 25, MOST_EVALUATIONS = 8 };

static bool
check_model(struct trial *t, const struct ir_module *m, struct cost_model *model, uint64_t seed)
{
	const char *const search = talloc_asprintf(
		t, "joint{evaluations=%u}", (unsigned)(1 + seed % MOST_EVALUATIONS));
	const char *faster = policies_faster(t, m, model, search);

	return !faster || wrong(t, faster);
}

static bool
check(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	char *text = talloc_asprintf(t, "cluster @t {\n device test {%s}\n}\n",
		devices[seed % (sizeof devices / sizeof *devices)]);
	struct cluster *c = cluster_parse(t, t->ctx, "t.cluster", text, strlen(text));
	struct cost_model *model =
		cost_model_create(t, t->ctx->diag, &(struct cost_options){.cluster = c});
	struct ir_module *copy = ir_module_clone(t, m);

	if (policies_seconds(model, copy) < 0)
		return true; /* more places than can be told apart */
	if (!check_model(t, m, model, seed))
		return wrong(t, "without a profile");
	model = policies_profiled(t, m, model, c, "test", seed);
	if (!model)
		return wrong(t, "the profile is refused");
	return check_model(t, m, model, seed) || wrong(t, "with a profile");
}

static const struct trial_test test = {
	.count = COUNT, .steps = STEPS, .options = device_options, .check = check};

static void
no_policy_is_faster_than_the_search(void **state)
{
	(void)state;
	assert_int_equal(trial_run(&test), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_policy_is_faster_than_the_search)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
