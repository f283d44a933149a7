/*
 * Random programs in random layouts, and the results of passes on them: the checker accepts every
 * plan for either target. Nothing is compiled or run, so that many can be tested: programs_test.c
 * tests what programs compute.
 */
#include "lower/cuda/cuda.h"
#include "test/random/check.h"
#include "test/unit.h"

#include <string.h>

enum {
	COUNT = 1000,          /* programs, each planned eight times: some seconds */
	SANITIZED_COUNT = 100, /* sanitizers make that many times slower */
	STEPS = 30,            /* attempts per program: about twenty ops */
};

static bool
trains(uint64_t seed)
{
	return seed % 3 == 0;
}

static void
options(uint64_t seed, struct random_options *o)
{
	o->parallel = seed % 7 != 0;
	o->wide = seed % 2;
	o->fuse = seed % 4 == 0;
	o->loss = trains(seed);
}

static bool
is_sound(struct trial *t, const char *after, struct ir_module *m)
{
	static const struct storage_target *const target[] = {&storage_host, &cuda_storage};

	for (size_t i = 0; i < sizeof target / sizeof *target; i++) {
		struct lower_plan *p = lower_plan_create_for(NULL, m, target[i]);
		const bool sound = !p || lower_check(p);
		talloc_free(p);
		if (sound)
			continue;
		t->text = talloc_asprintf_append(t->text, "for %s%s%s\n", i ? "cuda" : "host",
			*after ? " after " : "", after);
		return false;
	}
	return true;
}

/* Not every pass accepts every program; other tests cover what passes do. */
static bool
is_sound_after(struct trial *t, const struct ir_module *m, const char *passes)
{
	struct ir_module *after = ir_module_clone(t, m);
	char *said = talloc_strdup(t, t->text);

	if (!trial_run_passes(t, &after, passes) || !after) {
		t->text = said;
		return true;
	}
	return is_sound(t, passes, after);
}

static bool
check_program(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	static const char *const passes[] = {
		"dce,opfuse", "opfuse,tensorfuse{bucket=1KB}", "dce,tensorfuse,stage"};
	static const char *const training[] = {"grad,sgd,opfuse", "grad,adam,tensorfuse,opfuse",
		"grad,adam,dce,tensorfuse{bucket=1KB}"};
	const char *const *list = trains(seed) ? training : passes;
	bool sound = is_sound(t, "", ir_module_clone(t, m));

	for (int i = 0; i < 3 && sound; i++)
		sound = is_sound_after(t, m, list[i]);
	return sound;
}

static void
plans_are_sound(void **state)
{
	(void)state;
	struct trial_test test = {.count = COUNT,
		.steps = STEPS,
		.options = options,
		.check = check_program,
		.found = {610000403661}};

	if (SANITIZED)
		test.count = SANITIZED_COUNT;
	assert_int_equal(trial_run(&test), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_sound)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
