/*
 * Pipeline texts made at random from the words and signs that mean something. Whatever the text,
 * the parser either takes it, and then what it prints of it parses to the same, or reports an
 * error.
 */
#include "passes/manager/pipeline.h"
#include "test/unit.h"

#include <string.h>

enum {
	TEXTS = 100000, /* some seconds with sanitizers */
	MAX_WORDS = 14, /* pieces of a text */
};

static void
count_messages(void *data, const struct diag_message *m)
{
	int *errors = data;

	*errors += m->level == DIAG_ERROR;
	assert_true(m->line == 0 || m->column > 0);
}

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static char *
random_text(const void *owner, uint64_t *state)
{
	static const char *const piece[] = {"cse", "dce", "adam", "inline", "lr", "beta1", "keep",
		"{", "}", "{", "}", ",", ",", "=", "=", "0.5", "3e-4", "true", "\"", "\"a,b\"", "[",
		"]", "[a,b]", " ", "\n", "\t", "x", "-1", "1e999", "\x80", "canonicalize",
		"adam{lr=1}"};
	char *text = talloc_strdup(owner, "");
	int n = (int)(next_random(state) % MAX_WORDS);

	for (int i = 0; i < n; i++)
		text = talloc_strdup_append(
			text, piece[next_random(state) % (sizeof piece / sizeof *piece)]);
	return text;
}

/* Taken, or one error at least; what was taken and printed is taken again and printed the same. */
static void
random_texts(void **unused)
{
	uint64_t state = 1;
	int taken = 0;

	(void)unused;
	for (int i = 0; i < TEXTS; i++) {
		void *scratch = talloc_new(NULL);
		struct diag *d = diag_create(scratch);
		struct ir_context ctx = {.diag = d};
		struct pass_manager *manager = pass_manager_create(scratch, &ctx);
		struct pass_pipeline *p = pass_pipeline_create(scratch),
				     *q = pass_pipeline_create(scratch);
		int errors = 0;
		diag_set_handler(d, count_messages, &errors);
		char *text = random_text(scratch, &state);
		bool ok = pass_pipeline_parse(p, manager, "text", text);
		assert_int_equal(ok, errors == 0);
		if (ok) {
			char *printed = pass_pipeline_text(scratch, p, 0);
			assert_true(pass_pipeline_parse(q, manager, "printed", printed));
			assert_int_equal(p->n, q->n);
			assert_string_equal(printed, pass_pipeline_text(scratch, q, 0));
			taken += p->n > 0;
		}
		talloc_free(scratch);
	}
	assert_true(taken > TEXTS / 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_texts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
