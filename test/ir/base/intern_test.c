/* Names: equal texts are one pointer, whatever their lengths and however many there are. */
#include "ir/base/intern.h"
#include "ir/base/mix.h"
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static void
names_of_all_lengths_are_there_once(void **state)
{
	enum { PAGE = NAME_PAGE * NAME_UNIT, LENGTHS = 3 * PAGE };
	struct ir_context *ctx = ir_context_create(NULL);
	char *text = malloc(LENGTHS);
	const char **name = calloc(LENGTHS, sizeof *name);

	(void)state;
	assert_non_null(text);
	assert_non_null(name);
	memset(text, 'x', LENGTHS);
	/* All short ones; then some that fill a page to the last byte, or take several. */
	for (size_t n = 0; n < LENGTHS; n += n < 100 ? 1 : n % PAGE < PAGE - 20 ? 4021 : 1) {
		name[n] = ir_name_n(ctx, text, n);
		assert_int_equal(name_length(name[n]), n);
		assert_int_equal(strlen(name[n]), n);
		assert_memory_equal(name[n], text, n);
		assert_int_equal((uintptr_t)name[n] % NAME_UNIT, 0);
	}
	for (size_t n = 0; n < LENGTHS; n++)
		if (name[n])
			assert_ptr_equal(ir_name_n(ctx, text, n), name[n]);
	talloc_free(ctx);
	free(name);
	free(text);
}

/* More than are remembered as recent, in another order than they came. */
static void
many_names_keep_their_numbers(void **state)
{
	enum { NAMES = 20000 };
	struct ir_context *ctx = ir_context_create(NULL);
	const char **name = calloc(NAMES, sizeof *name);
	char text[16];

	(void)state;
	assert_non_null(name);
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(text, sizeof text, "v%u.x", i);
		name[i] = ir_name(ctx, text);
		assert_int_equal(name_number(name[i]), name_number(name[0]) + i);
	}
	for (uint32_t i = 0; i < NAMES; i++) {
		const uint32_t at = (uint32_t)((uint64_t)i * 7919 % NAMES);
		snprintf(text, sizeof text, "v%u.x", at);
		assert_ptr_equal(ir_name(ctx, text), name[at]);
		assert_string_equal(name[at], text);
	}
	assert_int_equal(ctx->intern->names, name_number(name[0]) + NAMES);
	talloc_free(ctx);
	free(name);
}

/* The names of the ops come first: their numbers are the codes. */
static void
ops_are_the_first_names(void **state)
{
	struct ir_context *ctx = ir_context_create(NULL);

	(void)state;
	for (uint32_t code = 0; code < OP_NCODES; code++)
		assert_int_equal(name_number(ir_name(ctx, op_name((enum op_code)code))), code);
	talloc_free(ctx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_all_lengths_are_there_once),
		cmocka_unit_test(many_names_keep_their_numbers),
		cmocka_unit_test(ops_are_the_first_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
