/* Arrays larger than talloc's chunks, and what is said where memory is not to be had. */
#include "ir/base/arena.h"
#include "ir/base/alloc.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MORE_THAN_TALLOC = 300 << 20 }; /* its largest chunk has just under 256 MiB */

static void
an_array_is_larger_than_a_chunk(void **state)
{
	void *owner = talloc_new(NULL);
	char *a = ARRAY_ZERO(owner, char, MORE_THAN_TALLOC);

	(void)state;
	assert_null(talloc_size(owner, MORE_THAN_TALLOC)); /* else all this is not needed */
	assert_int_equal(a[0], 0);
	assert_int_equal(a[MORE_THAN_TALLOC - 1], 0);
	assert_int_equal((uintptr_t)a % _Alignof(max_align_t), 0);
	a[0] = 1;
	a[MORE_THAN_TALLOC - 1] = 2;
	a = ARRAY_RESIZE(owner, a, char, MORE_THAN_TALLOC + 1);
	assert_int_equal(a[0], 1);
	assert_int_equal(a[MORE_THAN_TALLOC - 1], 2);
	assert_int_equal(array_bytes(a), MORE_THAN_TALLOC + 1);
	talloc_free(owner); /* LeakSanitizer looks whether the block has gone, too */
}

static void
arrays_are_freed_resized_and_copied_when_empty_too(void **state)
{
	void *owner = talloc_new(NULL), *other = talloc_new(NULL);
	uint32_t *a = ARRAY_RESIZE(owner, NULL, uint32_t, 0);

	(void)state;
	array_free(NULL);
	a = ARRAY_RESIZE(owner, a, uint32_t, 2);
	memcpy(a, (const uint32_t[]){7, 8}, 2 * sizeof *a);
	const uint32_t *copy = array_copy(owner, a);
	array_free(a);
	array_steal(other, copy);
	assert_int_equal(talloc_total_blocks(owner), 1);
	assert_int_equal(copy[0], 7);
	assert_int_equal(copy[1], 8);
	talloc_free(owner);
	talloc_free(other);
}

static void
an_arena_hands_out_more_than_a_chunk(void **state)
{
	struct arena *a = arena_create(NULL);
	char *p = arena_alloc(a, MORE_THAN_TALLOC);

	(void)state;
	assert_int_equal(p[MORE_THAN_TALLOC - 1], 0);
	assert_int_equal(arena_bytes(a), MORE_THAN_TALLOC);
	talloc_free(a);
}

/* Runs ask(n) in a child; its exit status, and the one line that it wrote to stderr. */
static int
status_of(void (*ask)(size_t n), size_t n, char line[256])
{
	int status = 0, end[2];

	assert_int_equal(pipe(end), 0);
	const pid_t child = fork();
	if (!child) {
		dup2(end[1], STDERR_FILENO);
		ask(n);
		_exit(0);
	}
	close(end[1]);
	FILE *f = fdopen(end[0], "r");
	assert_non_null(f);
	if (!fgets(line, 256, f))
		*line = '\0';
	fclose(f);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
ask_for_rows(size_t n)
{
	const struct rlimit all = {64 << 20, 64 << 20};

	setrlimit(RLIMIT_AS, &all);
	array_create(NULL, n, 12, "rows of the table");
}

static void
resize_to_rows(size_t n)
{
	array_resize(
		NULL, array_create(NULL, 1, 12, "rows of the table"), n, 12, "rows of the table");
}

static void
a_message_says_how_much_for_what(void **state)
{
	char line[256];

	(void)state;
	if (!SANITIZED) { /* whose own memory is beyond any limit of address space */
		assert_int_equal(status_of(ask_for_rows, 10 << 20, line), 1);
		assert_string_equal(line, "dopt: out of memory: cannot allocate 125829120 bytes "
					  "for rows of the table\n");
	}
	/* (size_t)-1 is what a negative number of rows comes to. */
	assert_int_equal(status_of(resize_to_rows, (size_t)-1, line), 3);
	assert_string_equal(line,
		"dopt: internal error: cannot allocate 18446744073709551615 times "
		"12 bytes for rows of the table: size out of range\n");
	assert_int_equal(status_of(resize_to_rows, (size_t)1 << 47, line), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_is_larger_than_a_chunk),
		cmocka_unit_test(arrays_are_freed_resized_and_copied_when_empty_too),
		cmocka_unit_test(an_arena_hands_out_more_than_a_chunk),
		cmocka_unit_test(a_message_says_how_much_for_what),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
