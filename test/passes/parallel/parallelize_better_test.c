/* Which of two replayed plans parallelize prefers. */
#include "passes/manager/pipeline.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "test/unit.h"

static struct parallel_search
search_with_budget(void *owner, uint64_t budget)
{
	struct parallel_search f = {.run = talloc_zero(owner, struct pass_run)};

	f.run->manager = talloc_zero(owner, struct pass_manager);
	f.run->manager->budget = budget;
	return f;
}

static struct parallel_plan
plan_of(double over, double seconds)
{
	struct parallel_plan p = {0};

	p.over = over;
	p.seconds = seconds;
	return p;
}

/* A plan that fits is better than a faster one that misses the budget by a byte. */
static void
a_plan_that_fits_comes_first(void **state)
{
	const struct parallel_search f = search_with_budget(*state, (uint64_t)80e9);
	const struct parallel_plan fits = plan_of(0, 9), misses = plan_of(1, 1);

	assert_true(parallel_is_better(&f, &fits, &misses));
	assert_false(parallel_is_better(&f, &misses, &fits));
}

/* 30 MB of 80 GB do not outweigh 3 % of the time, as passes that come later change more; 10 GB do. */
static void
about_equally_much_over_the_budget_the_faster_one_is_better(void **state)
{
	const struct parallel_search f = search_with_budget(*state, (uint64_t)80e9);
	const struct parallel_plan least = plan_of(2.21e9, 0.563), faster = plan_of(2.24e9, 0.548),
				   far = plan_of(12e9, 0.4);

	assert_true(parallel_is_better(&f, &faster, &least));
	assert_false(parallel_is_better(&f, &least, &faster));
	assert_true(parallel_is_better(&f, &least, &far));
}

/* Whatever is compared with what first, the same plan is the best: no cycle of three. */
static void
the_order_of_plans_is_transitive(void **state)
{
	const struct parallel_search f = search_with_budget(*state, 1000);
	struct parallel_plan p[60];

	for (int i = 0; i < 60; i++)
		p[i] = plan_of(7 * (i * 11 % 19), 1 + i * 5 % 13);
	for (int i = 0; i < 60; i++)
		for (int k = 0; k < 60; k++)
			for (int l = 0; l < 60; l++)
				if (parallel_is_better(&f, &p[i], &p[k]) &&
					parallel_is_better(&f, &p[k], &p[l]))
					assert_true(parallel_is_better(&f, &p[i], &p[l]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_plan_that_fits_comes_first, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			about_equally_much_over_the_budget_the_faster_one_is_better, make_scratch,
			free_scratch),
		cmocka_unit_test_setup_teardown(
			the_order_of_plans_is_transitive, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
