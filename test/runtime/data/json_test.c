/* Numbers, strings in place and skipped values of JSON, against what they stand for. */
#include "runtime/data/json.h"
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

static struct rt_json
over(const char *text)
{
	return (struct rt_json){text, text, text + strlen(text)};
}

static void
fixed_numbers_are_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t thousandths;
	} good[] = {{"12.345", 12345}, {"-12.3", -12300}, {"0", 0}, {"-0.001", -1}, {"7", 7000},
		{"23750115633.929", 23750115633929}, {" 1.5", 1500}, {"1e3", 1000000},
		{"1.23456", 1235}, {"-2.5e-3", -3}, {"5e-05", 0},
		{"899999999999999.999", 899999999999999999}};
	static const char *const bad[] = {"", "-", ".5", "1.", "x", "1e", "1e+", "1e30", "nan",
		"\"1\"", "123456789012345678901", "--1", "-x"};
	int64_t x;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct rt_json j = over(good[i].text);
		assert_true(rt_json_fixed(&j, 3, &x));
		assert_int_equal(x, good[i].thousandths);
		assert_ptr_equal(j.at, j.end);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rt_json j = over(bad[i]);
		assert_false(rt_json_fixed(&j, 3, &x));
	}
}

static void
numbers_follow_the_grammar(void **state)
{
	static const char *const good[] = {
		"0", "-0", "1.5", "-1e-7", "2E+3", "1.7976931348623157e308"};
	static const char *const bad[] = {"01", "1.", ".1", "+1", "1e400", "inf", "-", "1e", "0x1"};
	double x;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct rt_json j = over(good[i]);
		assert_true(rt_json_number(&j, &x));
		assert_true(x == strtod(good[i], NULL));
		assert_ptr_equal(j.at, j.end);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rt_json j = over(bad[i]);
		assert_false(rt_json_number(&j, &x) && j.at == j.end);
	}
}

static void
strings_without_escapes_stay_in_place(void **state)
{
	const char *text;
	size_t n;

	(void)state;
	struct rt_json j = over(" \"a b\",");
	assert_true(rt_json_span(&j, &text, &n));
	assert_int_equal(n, 3);
	assert_memory_equal(text, "a b", 3);
	assert_int_equal(*j.at, ',');
	static const char *const other[] = {"\"a\\n\"", "\"a", "a", "\"a\tb\""};
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		j = over(other[i]);
		assert_false(rt_json_span(&j, &text, &n));
	}
}

static void
any_value_is_skipped(void **state)
{
	static const char *const good[] = {"{}", "[]",
		"[1, {\"a\": [true, false, null]}, \"\\u00e9\"]", "-1.5e3", "\"\\\\\"",
		" {\"x\" : {\"y\":[[[]]]} } "};
	static const char *const bad[] = {"{", "[1,]", "{1:2}", "{\"a\" 1}", "[1 2]", "tru", "\"",
		"\"\\q\"", "", "{\"a\":}", "]"};
	char deep[200];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct rt_json j = over(good[i]);
		assert_true(rt_json_skip(&j));
		while (j.at < j.end && *j.at == ' ')
			j.at++;
		assert_ptr_equal(j.at, j.end);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rt_json j = over(bad[i]);
		assert_false(rt_json_skip(&j));
	}
	/* No text makes the stack grow without end. */
	memset(deep, '[', sizeof deep - 1);
	deep[sizeof deep - 1] = 0;
	struct rt_json j = over(deep);
	assert_false(rt_json_skip(&j));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_numbers_are_exact),
		cmocka_unit_test(numbers_follow_the_grammar),
		cmocka_unit_test(strings_without_escapes_stay_in_place),
		cmocka_unit_test(any_value_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
