/* Numbers with units and counts with nouns: ir/base/number.h. */
#include "ir/base/number.h"
#include "test/unit.h"

#include <math.h>

static void
a_number_has_three_digits_and_the_largest_unit_that_fits(void **state)
{
	char text[NUMBER_TEXT];

	(void)state;
	assert_string_equal(number_seconds(text, 1.2399e-3), "1.24ms");
	assert_string_equal(number_seconds(text, 20e-6), "20us");
	assert_string_equal(number_seconds(text, 0), "0");
	assert_string_equal(number_seconds(text, 7200), "7200s");
	assert_string_equal(number_bytes(text, 25e6), "25MB");
	assert_string_equal(number_bytes(text, 1), "1B");
	assert_string_equal(number_flops(text, 1.979e15), "1.98PFLOP/s");
}

static void
a_column_keeps_zeros_and_signs(void **state)
{
	char text[NUMBER_TEXT];

	(void)state;
	assert_string_equal(number_seconds_column(text, 1.2e-3), "1.20ms");
	assert_string_equal(number_seconds_column(text, -20e-6), "-20.0us");
	assert_string_equal(number_seconds_column(text, 0.9999e-3), "1.00ms");
	assert_string_equal(number_seconds_column(text, 123e-9), "123ns");
	assert_string_equal(number_seconds_column(text, 0), "0");
	assert_string_equal(number_seconds_column(text, INFINITY), "inf");
	assert_string_equal(number_seconds_column(text, -INFINITY), "-inf");
}

static void
check_count(int64_t n, const char *noun, const char *expected)
{
	char *text = number_count(NULL, n, noun);

	assert_string_equal(text, expected);
	talloc_free(text);
}

static void
one_is_singular_and_all_else_is_plural(void **state)
{
	(void)state;
	check_count(1, "op(s) fused", "1 op fused");
	check_count(0, "op(s) fused", "0 ops fused");
	check_count(2, "op(s) fused", "2 ops fused");
	check_count(-1, "degree(s)", "-1 degrees");
	check_count(1, "identit(y/ies)", "1 identity");
	check_count(3, "identit(y/ies)", "3 identities");
	check_count(1, "allreduce", "1 allreduce");
	check_count(1, "left (open", "1 left (open");
	assert_string_equal(number_plural(1), "");
	assert_string_equal(number_plural(0), "s");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_has_three_digits_and_the_largest_unit_that_fits),
		cmocka_unit_test(a_column_keeps_zeros_and_signs),
		cmocka_unit_test(one_is_singular_and_all_else_is_plural),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
