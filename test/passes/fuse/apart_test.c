/* Joining nodes that no path connects, and the limit of the search for one. */
#include "passes/fuse/apart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <talloc.h>

enum { LENGTH = 300, NODES = 2 * LENGTH };

/* Two chains of which none reads the other; nodes 0, 2, 4 ... and 1, 3, 5 ... */
static bool
next(void *data, uint32_t node, apart_visit *visit, void *to)
{
	(void)data;
	return node + 2 < NODES && visit(to, node + 2);
}

static bool
previous(void *data, uint32_t node, apart_visit *visit, void *to)
{
	(void)data;
	return node >= 2 && visit(to, node - 2);
}

/* The first of one chain, and the last of the same or of the other. */
static bool
may_join(size_t most, uint32_t a, uint32_t b)
{
	const struct apart_graph graph = {NULL, next, previous, most};
	struct apart *o = apart_create(NULL, NODES, &graph);
	const bool joined = apart_join(o, a, b);

	talloc_free(o);
	return joined;
}

static void
a_path_keeps_two_apart(void **state)
{
	(void)state;
	assert_true(may_join(0, 0, NODES - 1));
	assert_false(may_join(0, 0, NODES - 2));
	assert_true(may_join(0, 0, 2)); /* one reads the other: no path through others */
}

static void
a_long_search_counts_as_a_path(void **state)
{
	(void)state;
	assert_true(may_join(LENGTH, 0, NODES - 1));
	assert_false(may_join(LENGTH / 2, 0, NODES - 1));
	assert_true(may_join(LENGTH / 2, 0, 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_keeps_two_apart),
		cmocka_unit_test(a_long_search_counts_as_a_path),
	};
	return cmocka_run_group_tests_name("apart", tests, NULL, NULL);
}
