/*
 * Passes on random programs: a pass that is no training pass keeps the meaning of every output and
 * update; grad after a plan is grad before it; and what a pass leaves is printed and parsed to the
 * same text and can be erased.
 */
#include "ir/interp.h"
#include "passes/pipeline.h"
#include "test/random/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <talloc.h>

enum {
	COUNT = 400, /* programs, each through every pipeline */
	STEPS = 25,
};

/* Runs a pipeline on *m; a pass may refuse the program, then *m is NULL. False: a pass is at fault.
 */
static bool
apply(struct trial *t, struct ir_module **m, const char *text)
{
	struct pass_manager *manager = pass_manager_create(t, t->ctx);
	struct pass_pipeline *p = pass_pipeline_create(t);
	manager->verify_each = true;
	if (!pass_pipeline_parse(p, manager, "pipeline", text) ||
		!pass_pipeline_check(p, manager, *m)) {
		*m = NULL;
		return true;
	}
	const enum pass_status status = pass_pipeline_run(p, manager, m, NULL);
	if (status == PASS_FAILED)
		*m = NULL;
	return status != PASS_BUG;
}

/* --- passes that keep the meaning ---------------------------------------------------------------
 */

static const char *const keeping[] = {"canonicalize", "cse", "dce", "tensorfuse",
	"canonicalize,cse,dce", "canonicalize,tensorfuse,canonicalize", "opfuse",
	"canonicalize,cse,opfuse,dce", "dp{axis=dp}"};

static bool
keeps_meaning(struct trial *t, const struct ir_module *m, const char *text)
{
	struct ir_module *after = ir_module_clone(t, m);
	if (!apply(t, &after, text))
		return false;
	if (!after)
		return true;
	struct ir_module *plain = trial_erased(t, after);
	return trial_is_fixed_point(t, after) && interp_check_modules(m, after, NULL) &&
	       ir_verify(plain);
}

static bool
check_keeping(struct trial *t, uint64_t seed, int steps, struct ir_module **made)
{
	/* every fourth without a layout: dp declares one */
	const struct random_options o = {
		.steps = steps, .parallel = seed % 4 != 0, .fuse = seed % 3 == 0};
	/* the last pipelines take no fuses */
	const size_t n = sizeof keeping / sizeof *keeping - (o.fuse ? 3 : 0);
	struct ir_module *m = *made = random_module(t, t->ctx, seed, &o);
	t->keep = true;
	for (size_t i = 0; i < n; i++)
		if (!keeps_meaning(t, m, keeping[i])) {
			t->text = talloc_asprintf_append(t->text, "pipeline %s\n", keeping[i]);
			return false;
		}
	return true;
}

static void
passes_keep_the_meaning(void **state)
{
	(void)state;
	assert_int_equal(trial_run(COUNT, STEPS, check_keeping), 0);
}

/* --- training -----------------------------------------------------------------------------------
 */

static const char *const training[] = {"grad", "grad,sgd{lr=0.01}", "grad,adam{lr=0.01}"};

static bool
check_training(struct trial *t, uint64_t seed, int steps, struct ir_module **made)
{
	const struct random_options o = {.steps = steps, .parallel = true, .loss = true};
	struct ir_module *m = *made = random_module(t, t->ctx, seed, &o);
	t->keep = true;
	const char *text = training[seed % 3];
	struct ir_module *plan = ir_module_clone(t, m), *plain = trial_erased(t, m);
	if (!apply(t, &plan, text) || !apply(t, &plain, text))
		return false;
	if (!plan || !plain)
		return !plan && !plain;
	return trial_is_fixed_point(t, plan) && interp_check_layout(plan, NULL) &&
	       interp_check_modules(plain, plan, NULL) && ir_verify(trial_erased(t, plan));
}

static void
grad_of_a_plan_is_the_grad_of_its_meaning(void **state)
{
	(void)state;
	assert_int_equal(trial_run(COUNT, STEPS, check_training), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(passes_keep_the_meaning),
		cmocka_unit_test(grad_of_a_plan_is_the_grad_of_its_meaning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
