/* Places, boxes and the copies between global and local tensors. */
#include "runtime/layout.h"
#include "test/unit.h"

/* mesh [a = 2, c = 3], steps [t = 2], between them in declared order. */
static const struct rt_axis axes[] = {{"a", 2, false}, {"t", 2, true}, {"c", 3, false}};
static const struct rt_program program = {.naxes = 3, .axes = axes};

static void
places_count_the_last_device_axis_innermost(void **state)
{
	(void)state;
	assert_int_equal(rt_places(&program), 6);
	assert_int_equal(rt_axis_stride(&program, 0), 3);
	assert_int_equal(rt_axis_stride(&program, 2), 1);
	for (int64_t place = 0; place < 6; place++) {
		int64_t coord[RT_MAX_AXES];
		rt_place_coords(&program, place, coord);
		assert_int_equal(coord[0], place / 3);
		assert_int_equal(coord[1], 0);
		assert_int_equal(coord[2], place % 3);
	}
}

/* f32[12/c/a, 5, 4/t]: slices of the first dimension count c first. */
static const struct rt_tensor tensor = {.name = "x",
	.dtype = RT_i32,
	.rank = 3,
	.dims = {12, 5, 4},
	.split = {{2, {2, 0}}, {0, {0}}, {1, {1}}}};

static void
boxes_follow_the_order_of_the_axes(void **state)
{
	(void)state;
	assert_int_equal(rt_tensor_slices(&program, &tensor), 2);
	for (int64_t place = 0; place < 6; place++)
		for (int64_t t = 0; t < 2; t++) {
			int64_t coord[RT_MAX_AXES];
			struct rt_box box;
			rt_place_coords(&program, place, coord);
			assert_int_equal(
				rt_tensor_box(&program, &tensor, coord, t, &box), 2 * 5 * 2);
			assert_int_equal(box.start[0], 2 * (coord[2] * 2 + coord[0]));
			assert_int_equal(box.start[1], 0);
			assert_int_equal(box.start[2], 2 * t);
			assert_int_equal(box.extent[0], 2);
			assert_int_equal(box.extent[1], 5);
			assert_int_equal(box.extent[2], 2);
		}
}

static void
slices_of_all_places_are_the_whole_tensor(void **state)
{
	(void)state;
	int32_t global[12 * 5 * 4], again[12 * 5 * 4], local[2 * 5 * 2];
	for (int i = 0; i < 240; i++) {
		global[i] = i;
		again[i] = -1;
	}
	for (int64_t place = 0; place < 6; place++)
		for (int64_t t = 0; t < 2; t++) {
			int64_t coord[RT_MAX_AXES];
			struct rt_box box;
			rt_place_coords(&program, place, coord);
			rt_tensor_box(&program, &tensor, coord, t, &box);
			for (int64_t i = 0; i < 20; i++)
				local[i] = global[((box.start[0] + i / 10) * 5 + i / 2 % 5) * 4 +
						  box.start[2] + i % 2];
			rt_box_store(3, tensor.dims, &box, 4, local, again);
		}
	assert_memory_equal(global, again, sizeof global);
}

static void
count_runs(void *arg, int64_t global, int64_t local, int64_t n)
{
	(void)global;
	(void)local;
	int64_t *count = arg;
	count[0]++;
	count[1] += n;
}

static void
whole_inner_dimensions_are_one_run(void **state)
{
	(void)state;
	static const int64_t dims[] = {6, 5, 4};
	static const struct {
		struct rt_box box;
		int64_t runs, elements;
	} cases[] = {{{{0, 0, 0}, {6, 5, 4}}, 1, 120}, {{{2, 0, 0}, {3, 5, 4}}, 1, 60},
		{{{0, 1, 0}, {6, 2, 4}}, 6, 48}, {{{1, 0, 2}, {2, 5, 2}}, 10, 20},
		{{{1, 0, 2}, {0, 5, 2}}, 0, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t count[2] = {0, 0};
		rt_box_runs(3, dims, &cases[i].box, count_runs, count);
		assert_int_equal(count[0], cases[i].runs);
		assert_int_equal(count[1], cases[i].elements);
	}
	int64_t count[2] = {0, 0};
	rt_box_runs(0, dims, &cases[0].box, count_runs, count);
	assert_true(count[0] == 1 && count[1] == 1);
}

static void
one_place_speaks_for_copies_and_single_tensors_are_where_they_are(void **state)
{
	(void)state;
	struct rt_tensor t = {.name = "w", .rank = 1, .dims = {6}, .split = {{1, {2}}}};
	int here = 0, owners = 0;
	for (int64_t place = 0; place < 6; place++) {
		int64_t coord[RT_MAX_AXES];
		rt_place_coords(&program, place, coord);
		here += rt_tensor_here(&program, &t, coord);
		owners += rt_tensor_owner(&program, &t, coord);
		/* Copied over a, split over c: the places with a = 0. */
		assert_int_equal(rt_tensor_owner(&program, &t, coord), coord[0] == 0);
	}
	assert_true(here == 6 && owners == 3);
	t = (struct rt_tensor){.name = "w", .single = {2, 0, 3}};
	for (int64_t place = 0; place < 6; place++) {
		int64_t coord[RT_MAX_AXES];
		rt_place_coords(&program, place, coord);
		assert_int_equal(rt_tensor_here(&program, &t, coord), place == 5);
		assert_int_equal(rt_tensor_owner(&program, &t, coord), place == 5);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_count_the_last_device_axis_innermost),
		cmocka_unit_test(boxes_follow_the_order_of_the_axes),
		cmocka_unit_test(slices_of_all_places_are_the_whole_tensor),
		cmocka_unit_test(whole_inner_dimensions_are_one_run),
		cmocka_unit_test(one_place_speaks_for_copies_and_single_tensors_are_where_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
