/* Tests that -emit=stablehlo has every scalar function. */

#include "lower/stablehlo/hlo.h"
#include "test/unit.h"

/* An op of the table needs no code of its own if its functions are supported. */
static void
every_scalar_function_has_a_row(void **state)
{
	(void)state;
	for (int f = 0; f < FN_COUNT; f++)
		if (f != FN_element && !hlo_scalar_exists((enum scalar_fn)f))
			fail_msg("lower/stablehlo/scalar.c: no row for %s",
				fn_name((enum scalar_fn)f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_scalar_function_has_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
