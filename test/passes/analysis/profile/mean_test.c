/* Times of kernels that were measured more than once, or not well. */
#include "passes/analysis/profile/profile.h"
#include "test/unit.h"

#include <math.h>

static struct profile_op
measured(double median, double spread, int runs)
{
	return (struct profile_op){
		.key = "k", .ranks = 2, .median = median, .spread = spread, .runs = runs};
}

static void
two_measurements_count_by_their_runs(void **state)
{
	const struct profile_op a = measured(10e-6, 0.01, 30), b = measured(16e-6, 0.02, 60);
	const struct profile_op mean = profile_op_mean(&a, &b);

	(void)state;
	assert_true(fabs(mean.median - 14e-6) < 1e-15);
	assert_int_equal(mean.runs, 90);
	/* They are 6 us apart. */
	assert_true(fabs(mean.spread - 6.0 / 14) < 1e-12);
	assert_int_equal(mean.ranks, 2);
	assert_null(profile_op_fault(&mean));
}

static void
the_larger_spread_stays(void **state)
{
	const struct profile_op a = measured(10e-6, 0.3, 30), b = measured(10e-6, 0.02, 30);

	(void)state;
	assert_true(fabs(profile_op_mean(&a, &b).spread - 0.3) < 1e-12);
	assert_true(fabs(profile_op_mean(&b, &a).spread - 0.3) < 1e-12);
}

static void
a_median_that_is_settled_is_taken_as_it_is(void **state)
{
	const struct profile_op sure = measured(10e-6, 0.02, 100), once = measured(10e-6, 0, 1);

	(void)state;
	assert_true(profile_op_careful(&sure) == sure.median);
	assert_true(profile_op_careful(&once) == once.median);
}

/* Half the width is 1.96 * 1.253 / 1.349 * 0.4 / sqrt(16) = 0.182 of the median. */
static void
few_runs_far_apart_cost_what_they_may_be_off(void **state)
{
	const struct profile_op few = measured(10e-6, 0.4, 16), more = measured(10e-6, 0.4, 160);

	(void)state;
	assert_true(fabs(profile_op_careful(&few) / 10e-6 - (1 + 0.18205 - 0.02)) < 1e-4);
	assert_true(profile_op_careful(&more) < profile_op_careful(&few));
	assert_true(profile_op_careful(&more) > 10e-6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_measurements_count_by_their_runs),
		cmocka_unit_test(the_larger_spread_stays),
		cmocka_unit_test(a_median_that_is_settled_is_taken_as_it_is),
		cmocka_unit_test(few_runs_far_apart_cost_what_they_may_be_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
