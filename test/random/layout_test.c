/*
 * Random programs: by layout they are what they mean, and so are they with the parallelization ops
 * erased; printed and parsed they are the same text.
 */
#include "ir/interp.h"
#include "test/random/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum {
	COUNT = 1000, /* programs: seconds, also under sanitizers */
	STEPS = 30,   /* tries of a program: about twenty ops */
};

static bool
check_program(struct trial *t, uint64_t seed, int steps, struct ir_module **made)
{
	const struct random_options o = {.steps = steps, .parallel = true, .fuse = true};
	struct ir_module *m = *made = random_module(t, t->ctx, seed, &o);
	t->keep = true;
	if (!ir_verify(m) || !trial_is_fixed_point(t, m) || !interp_check_layout(m, NULL))
		return false;
	struct ir_module *plain = trial_erased(t, m);
	return ir_verify(plain) && interp_check_modules(plain, m, NULL);
}

static void
layout_equals_meaning(void **state)
{
	(void)state;
	assert_int_equal(trial_run(COUNT, STEPS, check_program), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(layout_equals_meaning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
