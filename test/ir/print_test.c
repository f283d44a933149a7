/* What text cannot reach: names that meet, quantities, numbers to the bit, single ops and types. */
#include "ir/base/out.h"
#include "ir/base/unit.h"
#include "parser/dir/parse.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ir_module *
parse(struct ir_context *ctx, const char *text)
{
	struct ir_module *m = parse_module(ctx, ctx, "test", text, strlen(text), NULL);

	assert_non_null(m);
	return m;
}

/* In a buffer of talloc. */
static char *
print(const struct ir_module *m)
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	ir_print(f, m);
	fclose(f);
	char *copy = talloc_strdup(NULL, s);
	free(s);
	return copy;
}

/* The context that the tests share. */
static int
set_up(void **state)
{
	*state = ir_context_create(NULL);
	return 0;
}

/* Passes give values names that are taken: the first keeps it, others get the next free number. */
static void
names_that_meet(void **state)
{
	struct ir_context *ctx = *state;
	struct ir_module *m = parse(ctx,
		"module @m\nfunc @main() {\n"
		"%a = input(\"a\") : f32[2]\n%a_1 = relu(%a)\n%b = relu(%a_1)\n%c = relu(%b)\n"
		"%d = relu(%c)\n%3 = relu(%d)\noutput(\"e\", %3)\n}\n");
	struct ir_op *op = ir_func_find(m, "main")->body.first;
	const char *name[] = {"a", "a_1", "a", "a", NULL};

	for (int i = 0; i < 5; i++, op = op->next)
		op->result[0].name = name[i] ? ir_name(ctx, name[i]) : NULL;
	char *text = print(m);
	assert_string_equal(text,
		"module @m\n\nfunc @main() {\n"
		"  %a = input(\"a\") : f32[2]\n  %a_1 = relu(%a) : f32[2]\n"
		"  %a_2 = relu(%a_1) : f32[2]\n  %a_3 = relu(%a_2) : f32[2]\n"
		"  %0 = relu(%a_3) : f32[2]\n  %1 = relu(%0) : f32[2]\n  output(\"e\", %1)\n}\n");
	char *again = print(parse(ctx, text));
	assert_string_equal(text, again);
	talloc_free(text);
	talloc_free(again);
}

/* The argument of a body is called as the operand, whatever its own name is. */
static void
arguments_follow_operands(void **state)
{
	struct ir_context *ctx = *state;
	struct ir_module *m =
		parse(ctx, "module @m\nfunc @main() {\n"
			   "%a = input(\"a\") : f32[2]\n%b = input(\"b\") : f32[2]\n"
			   "%c = fuse(%a) {\n%d = relu(%a)\nyield(%d)\n}\noutput(\"c\", %c)\n}\n");
	struct ir_op *a = ir_func_find(m, "main")->body.first, *fuse = a->next->next;

	ir_set_operand(fuse, 0, &a->next->result[0]);
	fuse->body->first->result[0].name = ir_name(ctx, "b");
	char *text = print(m);
	assert_non_null(strstr(text, "  %c = fuse(%b) {\n    %b_1 = relu(%b) : f32[2]\n    "
				     "yield(%b_1)\n  } : f32[2]\n"));
	char *again = print(parse(ctx, text));
	assert_string_equal(text, again);
	talloc_free(text);
	talloc_free(again);
}

static void
one_op(void **state)
{
	struct ir_context *ctx = *state;
	struct ir_module *m = parse(ctx,
		"module @m\nmesh [dp = 2]\nfunc @main() {\n"
		"%0 = input(\"a\") {range = 3} : i32[2/dp]\n%1 = relu(%0)\noutput(\"c\", %1)\n}\n");
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	ir_print_op(f, m, ir_func_find(m, "main")->body.first);
	ir_print_op(f, m, ir_func_find(m, "main")->body.first->next);
	fclose(f);
	assert_string_equal(
		s, "%0 = input(\"a\") {range = 3} : i32[2/dp]\n%1 = relu(%0) : i32[2/dp]\n");
	free(s);
}

/* Every double reads back to the same bits. */
static void
floats(void **state)
{
	double value[] = {0, -0.0, 1, -1.5, 0.1, 0.30000000000000004, 1e300, 5e-324,
		1.7976931348623157e308, 123456789012345680};
	uint64_t bits = 1;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char text[OUT_NUMBER];
		double d;
		bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
		memcpy(&d, &bits, sizeof d);
		if (i < (int)(sizeof value / sizeof *value))
			d = value[i];
		if (isnan(d) || isinf(d))
			continue;
		size_t n = number_of_float(text, d);
		assert_int_equal(n, strlen(text));
		double back = strtod(text, NULL);
		assert_memory_equal(&back, &d, sizeof d);
		assert_true(strpbrk(text, ".e") != NULL);
	}
}

static void
integers(void **state)
{
	const int64_t value[] = {0, -1, 9, 10, -1234567890, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
		char text[OUT_NUMBER] = "", want[OUT_NUMBER];
		snprintf(want, sizeof want, "%lld", (long long)value[i]);
		assert_int_equal(number_of_int(text, value[i]), strlen(want));
		assert_string_equal(text, want);
	}
}

/* A quantity, printed as an attribute of an op; no op of the table has one. */
static void
quantity(struct ir_context *ctx, double f, enum ir_unit unit, const char *want)
{
	struct ir_module *m = parse(ctx,
		"module @m\nfunc @main() {\n%a = input(\"a\") : f32[2]\noutput(\"a\", %a)\n}\n");
	struct ir_op *op = ir_func_find(m, "main")->body.first;
	struct ir_attr attr = {
		.key = ir_name(ctx, "range"), .kind = ATTR_QUANTITY, .n = (uint16_t)unit, .f = f};
	char *text;

	ir_attr_set(m, op, &attr);
	text = print(m);
	char *at = strstr(text, "{range = ");
	assert_non_null(at);
	at += strlen("{range = ");
	*strchr(at, '}') = '\0';
	if (want)
		assert_string_equal(at, want);
	char *end;
	double x = strtod(at, &end);
	int back = ir_unit_find(end, strlen(end));
	assert_true(back >= 0 && ir_unit_kind((enum ir_unit)back) == ir_unit_kind(unit));
	x *= ir_unit_scale((enum ir_unit)back);
	assert_memory_equal(&x, &f, sizeof f);
	talloc_free(text);
}

static void
quantities(void **state)
{
	struct ir_context *ctx = *state;
	uint64_t bits = 7;

	quantity(ctx, 25e6, UNIT_MB, "25MB");
	quantity(ctx, 3 * 1e-6, UNIT_us, "3us");
	quantity(ctx, 450e9, UNIT_GB_s, "450GB/s");
	quantity(ctx, 1.5 * 1048576, UNIT_MiB, "1.5MiB");
	for (int i = 0; i < 200; i++) {
		bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
		quantity(ctx, (double)(bits >> 40) * 1e-9, (enum ir_unit)(bits % UNIT_COUNT), NULL);
	}
}

static void
types(void **state)
{
	struct ir_context *ctx = *state;
	struct ir_module *m = parse(ctx, "module @m\nmesh [dp = 2, tp = 4]\nfunc @main() {\n}\n");
	unsigned errors = diag_errors(ctx->diag);
	const char *good[] = {
		"f32[]", "bf16[8/dp/tp,3]", "i32[8/tp/dp]", "f64[2]+dp+tp", "f32[2]+tp@dp=1", NULL};
	const char *bad[] = {
		"f32", "f32[", "f32[1] x", "f32[1]+", "", "f32[3/dp]", "f32[1]@dp", NULL};

	for (int i = 0; good[i]; i++) {
		const struct ir_type *t = parse_type_text(m, "type", good[i], strlen(good[i]));
		assert_non_null(t);
		char *text = ir_type_text(ctx, m, t);
		assert_string_equal(text, good[i]);
		assert_ptr_equal(parse_type_text(m, "type", text, strlen(text)), t);
	}
	assert_int_equal(diag_errors(ctx->diag), errors);
	for (int i = 0; bad[i]; i++) {
		assert_null(parse_type_text(m, "type", bad[i], strlen(bad[i])));
		assert_int_equal(diag_errors(ctx->diag), errors + (unsigned)i + 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_meet),
		cmocka_unit_test(arguments_follow_operands),
		cmocka_unit_test(one_op),
		cmocka_unit_test(floats),
		cmocka_unit_test(integers),
		cmocka_unit_test(quantities),
		cmocka_unit_test(types),
	};

	return cmocka_run_group_tests(tests, set_up, free_scratch);
}
