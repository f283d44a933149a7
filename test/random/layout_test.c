/*
 * Random programs: the results by layout equal those by meaning, also with the parallelization ops
 * erased; printed and parsed they are the same text.
 */
#include "ir/interp/interp.h"
#include "test/random/check.h"
#include "test/unit.h"

enum {
	COUNT = 1000, /* programs: seconds, also under sanitizers */
	STEPS = 30,   /* attempts per program: about twenty ops */
};

static void
options(uint64_t seed, struct random_options *o)
{
	(void)seed;
	o->parallel = o->fuse = true;
}

static bool
check_program(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	(void)seed;
	struct ir_module *copy = ir_module_clone(t, m);
	if (!ir_verify(copy) || !trial_is_fixed_point(t, m) || !interp_check_layout(m, NULL))
		return false;
	struct ir_module *plain = trial_erased(t, m);
	return ir_verify(plain) && interp_check_modules(plain, m, NULL);
}

static void
layout_equals_meaning(void **state)
{
	(void)state;
	static const struct trial_test test = {
		.count = COUNT, .steps = STEPS, .options = options, .check = check_program};
	assert_int_equal(trial_run(&test), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(layout_equals_meaning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
