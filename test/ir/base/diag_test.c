/* Messages: what is done to names that are too long to show. */
#include "ir/base/diag.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>
#include <talloc.h>

enum { TEXT = 4096, SHOWN = 256, DOTS = 3 };

static void
keep_text(void *data, const struct diag_message *message)
{
	snprintf(data, TEXT, "%s", message->text);
}

/* The message "a NAME b" with a name of `n` times `byte`: its text in `shown`. */
static void
report_name(char *shown, int n, char byte)
{
	char name[TEXT / 2];
	struct diag *d = diag_create(NULL);
	const struct ir_loc nowhere = {0, 0};

	memset(name, byte, (size_t)n);
	name[n] = '\0';
	diag_set_handler(d, keep_text, shown);
	diag_error(d, nowhere, "a %s b", name);
	talloc_free(d);
}

static void
a_long_name_is_cut_and_what_follows_stays(void **state)
{
	const char bytes[] = {'x', '\xd0', '\xab'}; /* a letter; half of a character, either */
	char shown[TEXT];

	(void)state;
	for (size_t b = 0; b < sizeof bytes; b++)
		for (int n = 1; n < 3 * SHOWN; n++) {
			report_name(shown, n, bytes[b]);
			const size_t length = strlen(shown);
			assert_true(length <= SHOWN + strlen("a  b"));
			assert_memory_equal(shown, "a ", 2);
			assert_string_equal(shown + length - 2, " b");
			if (n <= SHOWN)
				assert_int_equal(length, n + 4);
			else
				assert_memory_equal(shown + length - 2 - DOTS, "...", DOTS);
		}
}

/* The first error of each trial; what comes later, and what is counted, is as if there had been none. */
static void
a_trial_keeps_its_first_error(void **state)
{
	const struct ir_loc nowhere = {0, 0};
	char shown[TEXT] = "";
	struct diag *d = diag_create(NULL);

	(void)state;
	diag_set_handler(d, keep_text, shown);
	const bool before = diag_mute(d, true);
	struct diag_trial *outer = diag_trial_begin(d);
	diag_report(d, DIAG_WARNING, nowhere, "a warning");
	struct diag_trial *inner = diag_trial_begin(d);
	diag_error(d, nowhere, "first %d", 1);
	diag_error(d, nowhere, "second");
	assert_int_equal(diag_errors(d), 2);
	assert_string_equal(diag_trial_end(d, inner, d), "first 1");
	assert_int_equal(diag_errors(d), 0);
	diag_error(d, nowhere, "third");
	assert_string_equal(diag_trial_end(d, outer, d), "third");
	assert_null(diag_trial_end(d, diag_trial_begin(d), d));
	diag_error(d, nowhere, "muted");
	assert_string_equal(shown, "");
	diag_mute(d, before);
	diag_error(d, nowhere, "shown");
	assert_string_equal(shown, "shown");
	assert_int_equal(diag_errors(d), 1);
	talloc_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_name_is_cut_and_what_follows_stays),
		cmocka_unit_test(a_trial_keeps_its_first_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
