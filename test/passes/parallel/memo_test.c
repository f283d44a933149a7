/* What trials of parallelize share: the mesh of a number of devices. */
#include "passes/parallel/parallelize/parallelize.h"
#include "test/unit.h"

static void
a_mesh_is_known_for_its_number_of_devices(void **state)
{
	struct parallel_memo *memo = parallel_memo_create(*state);

	assert_int_equal(parallel_memo_first(memo, 8, false)->cuts, -1);
	parallel_memo_first(memo, 8, false)->cuts = 5;
	assert_int_equal(parallel_memo_first(memo, 8, false)->cuts, 5);
	assert_int_equal(parallel_memo_first(memo, 8, true)->cuts, -1);
	assert_int_equal(parallel_memo_first(memo, 4, false)->cuts, -1);
	assert_int_equal(parallel_memo_first(memo, 8, false)->cuts, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_mesh_is_known_for_its_number_of_devices, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
