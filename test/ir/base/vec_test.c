/* Vectors: what they hold as they grow, whoever owns them. */
#include "ir/base/arena.h"
#include "ir/base/vec.h"
#include "test/unit.h"

#include <stdlib.h>

struct pair {
	int64_t a, b;
};

struct numbers VEC(uint32_t);
struct pairs VEC(struct pair);

static void
elements_stay_in_order_while_it_grows(void **state)
{
	void *owner = talloc_new(NULL);
	struct pairs v = {0};

	(void)state;
	for (int64_t i = 0; i < 100000; i++) {
		VEC_PUSH(owner, &v, (struct pair){i, -i});
		assert_int_equal(v.n, i + 1);
		assert_true(v.room >= v.n);
	}
	for (int64_t i = 0; i < 100000; i++) {
		assert_int_equal(v.at[i].a, i);
		assert_int_equal(v.at[i].b, -i);
	}
	talloc_free(owner); /* LeakSanitizer looks whether all has gone */
}

static void
a_vec_is_a_stack(void **state)
{
	struct numbers v = {0};

	(void)state;
	for (uint32_t i = 0; i < 9; i++)
		VEC_PUSH(NULL, &v, i);
	assert_int_equal(VEC_LAST(&v), 8);
	assert_int_equal(VEC_POP(&v), 8);
	assert_int_equal(VEC_POP(&v), 7);
	VEC_PUSH(NULL, &v, 70);
	assert_int_equal(v.n, 8);
	assert_int_equal(VEC_LAST(&v), 70);
	while (v.n) {
		const uint32_t last = VEC_POP(&v);
		assert_int_equal(last, v.n == 7 ? 70 : v.n);
	}
	VEC_FREE(&v);
	assert_null(v.at);
	VEC_PUSH(NULL, &v, 5); /* and may be filled again */
	assert_int_equal(v.at[0], 5);
	VEC_FREE(&v);
	VEC_FREE(&v);
}

/* The value is evaluated when there is room, so that it may be one of the vec's own. */
static void
an_element_is_pushed_again(void **state)
{
	struct numbers v = {0};

	(void)state;
	VEC_PUSH(NULL, &v, 42);
	while (v.n < 1000)
		VEC_PUSH(NULL, &v, v.at[v.n - 1] + 1);
	assert_int_equal(v.at[999], 42 + 999);
	VEC_FREE(&v);
}

static void
nothing_moves_where_there_is_room(void **state)
{
	struct numbers v = {0};

	(void)state;
	VEC_ROOM(NULL, &v, 1000);
	assert_int_equal(v.n, 0);
	assert_int_equal(v.room, 1000);
	const uint32_t *at = v.at;
	while (v.n < 1000)
		VEC_PUSH(NULL, &v, 1);
	assert_ptr_equal(v.at, at);
	VEC_ROOM(NULL, &v, 10); /* never less */
	assert_int_equal(v.room, 1000);
	VEC_ROOM(NULL, &v, 1001); /* twice as much, so that the next ones cost nothing */
	assert_int_equal(v.room, 2000);
	VEC_FREE(&v);
}

static void
a_vec_in_an_arena_goes_with_it(void **state)
{
	struct arena *a = arena_create(NULL);
	struct pairs v = {0};

	(void)state;
	for (int64_t i = 0; i < 1000; i++)
		VEC_PUSH_IN(a, &v, (struct pair){i, 2 * i});
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(v.at[i].b, 2 * i);
	talloc_free(a);
}

/* talloc has no chunk that large, so the last growth is from one kind of memory to another. */
static void
a_vec_is_larger_than_a_chunk(void **state)
{
	void *owner = talloc_new(NULL);
	struct VEC(char) v = {0};

	(void)state;
	VEC_PUSH(owner, &v, 'a');
	VEC_ROOM(owner, &v, 1000);
	VEC_PUSH(owner, &v, 'b');
	VEC_ROOM(owner, &v, 300 << 20);
	v.n = v.room;
	v.at[v.n - 1] = 'y';
	VEC_PUSH(owner, &v, 'z');
	assert_int_equal(v.room, 600 << 20);
	assert_int_equal(v.at[0], 'a');
	assert_int_equal(v.at[1], 'b');
	assert_int_equal(v.at[v.n - 2], 'y');
	assert_int_equal(VEC_LAST(&v), 'z');
	talloc_free(owner);
}

/* Whoever made it: the room is that of the chunk, or of the array. */
static void
lists_grow_from_what_there_is(void **state)
{
	void *owner = talloc_new(NULL);
	uint32_t *list = NEW_ARRAY(owner, uint32_t, 3), *array = ARRAY_NEW(owner, uint32_t, 3);
	const uint32_t *const at[2] = {list, array};
	uint32_t n = 0, k = 0;

	(void)state;
	while (n < 3) {
		LIST_PUSH(owner, list, n, 10 * n);
		ARRAY_PUSH(owner, array, k, 20 * k);
	}
	assert_ptr_equal(list, at[0]);
	assert_ptr_equal(array, at[1]);
	while (n < 100000) {
		LIST_PUSH(owner, list, n, 10 * n);
		ARRAY_PUSH(owner, array, k, 20 * k);
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(list[i], 10 * i);
		assert_int_equal(array[i], 20 * i);
	}
	assert_ptr_equal(talloc_parent(list), owner);
	talloc_free(owner);
}

/* Twice as much each time, so that a list of n elements is moved log n times. */
static void
lists_are_moved_seldom(void **state)
{
	uint32_t *list = NULL, n = 0, moves = 0;
	size_t room = 0;

	(void)state;
	while (n < 4096) {
		LIST_PUSH(NULL, list, n, 1);
		moves += talloc_get_size(list) != room;
		room = talloc_get_size(list);
	}
	assert_in_range(moves, 1, 13);
	talloc_free(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_stay_in_order_while_it_grows),
		cmocka_unit_test(a_vec_is_a_stack),
		cmocka_unit_test(an_element_is_pushed_again),
		cmocka_unit_test(nothing_moves_where_there_is_room),
		cmocka_unit_test(a_vec_in_an_arena_goes_with_it),
		cmocka_unit_test(a_vec_is_larger_than_a_chunk),
		cmocka_unit_test(lists_grow_from_what_there_is),
		cmocka_unit_test(lists_are_moved_seldom),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
