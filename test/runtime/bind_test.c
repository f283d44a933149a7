/* Shares of the cores that a process may use: equal, apart, and all of them together. */
#include <sched.h>
#include "runtime/bind.h"
#include "test/unit.h"

/* Binds as rank r of n would, and goes back; the share. */
static cpu_set_t
share_of(int rank, int nranks)
{
	cpu_set_t all, own;
	struct rt_status st = {0};
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	assert_true(rt_bind(rank, nranks, &st));
	assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
	return own;
}

static void
ranks_share_all_cores_and_none_with_another(void **state)
{
	(void)state;
	cpu_set_t all;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	for (int nranks = 1; nranks <= CPU_COUNT(&all); nranks++) {
		cpu_set_t seen, both;
		CPU_ZERO(&seen);
		for (int rank = 0; rank < nranks; rank++) {
			const cpu_set_t own = share_of(rank, nranks);
			const int least = CPU_COUNT(&all) / nranks;
			assert_in_range(CPU_COUNT(&own), least, least + 1);
			CPU_AND(&both, &own, &seen);
			assert_int_equal(CPU_COUNT(&both), 0);
			CPU_OR(&seen, &own, &seen);
		}
		assert_true(CPU_EQUAL(&seen, &all));
	}
}

static void
more_ranks_than_cores_are_refused(void **state)
{
	(void)state;
	cpu_set_t all, after;
	struct rt_status st = {0};
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	assert_false(rt_bind(0, CPU_COUNT(&all) + 1, &st));
	assert_int_equal(st.code, RT_EXIT_USAGE);
	assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
	assert_true(CPU_EQUAL(&all, &after));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_share_all_cores_and_none_with_another),
		cmocka_unit_test(more_ranks_than_cores_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
