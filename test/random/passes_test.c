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
	COUNT = 100, /* programs, each through every pass: seconds, also under sanitizers */
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

static const char *const combined[] = {"canonicalize,cse,dce",
	"canonicalize,tensorfuse,canonicalize", "canonicalize,cse,opfuse,dce"};

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

/* The pass with its required options, of which we can make up axes alone; NULL where it has others.
 */
static const char *
pass_text(const void *owner, const struct pass *p)
{
	char *text = talloc_strdup(owner, p->name);
	int n = 0;
	for (const struct pass_option *o = p->options; o && o->name; o++) {
		if (o->fallback)
			continue;
		if (o->type != PASS_AXIS && o->type != PASS_AXES)
			return NULL;
		text = talloc_asprintf_append(text, "%s%s=dp", n++ ? "," : "{", o->name);
	}
	return n ? talloc_strdup_append(text, "}") : text;
}

static bool
try_pipeline(struct trial *t, const struct ir_module *m, const char *text)
{
	if (keeps_meaning(t, m, text))
		return true;
	t->text = talloc_asprintf_append(t->text, "pipeline %s\n", text);
	return false;
}

/* Every pass of the table that trains nothing, and some together. `fused`: m has fuses already. */
static bool
all_keep_meaning(struct trial *t, const struct ir_module *m, bool fused)
{
	const struct pass_registry *r = pass_registry_create(t);
	const size_t n = sizeof combined / sizeof *combined - (fused ? 1 : 0);
	for (int i = 0; i < pass_registry_count(r); i++) {
		const struct pass *p = pass_registry_get(r, i);
		const char *text = pass_text(t, p);
		if (!text || strcmp(p->family, "train") == 0 ||
			(fused && p->conflicts && strstr(p->conflicts, "fused")))
			continue;
		if (!try_pipeline(t, m, text))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!try_pipeline(t, m, combined[i]))
			return false;
	return true;
}

static bool
check_keeping(struct trial *t, uint64_t seed, int steps, struct ir_module **made)
{
	/* every fourth without a layout: dp declares one */
	const struct random_options o = {
		.steps = steps, .parallel = seed % 4 != 0, .fuse = seed % 3 == 0};
	struct ir_module *m = *made = random_module(t, t->ctx, seed, &o);
	t->keep = true;
	return all_keep_meaning(t, m, o.fuse);
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
	const struct random_options o = {.steps = steps, .parallel = seed % 4 != 0, .loss = true};
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
