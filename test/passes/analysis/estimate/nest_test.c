/*
 * The loops of kernels, counted: what passes/analysis/estimate/nest.h says of kernels whose loops
 * were worked out by hand from ir/loops/scheme.h.
 */
#include "ir/base/arena.h"
#include "parser/dir/parse.h"
#include "passes/analysis/estimate/nest.h"
#include "test/unit.h"

#include <string.h>

/* Of the op that makes %y. */
static const struct nest *
nest_of(void *owner, const char *body)
{
	const char *text = talloc_asprintf(
		owner, "module @m\nfunc @main() {\n%s  output(\"y\", %%y)\n}\n", body);
	struct ir_context *ctx = ir_context_create(owner);
	struct ir_module *m = parse_module(owner, ctx, "test.dir", text, strlen(text), NULL);

	assert_non_null(m);
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->nresults && op->result[0].name && !strcmp(op->result[0].name, "y"))
			return nest_create(owner, m, arena_create(owner), op);
	fail_msg("no %%y");
	return NULL;
}

static void
assert_number(double found, double expected)
{
	if (found != expected)
		fail_msg("%.17g, expected %.17g", found, expected);
}

static void
assert_loops(const struct nest_op *op, double points, double inner, double entries)
{
	assert_int_equal(op->place, NEST_LOOPS);
	assert_number(op->points, points);
	assert_number(op->inner, inner);
	assert_number(op->entries, entries);
}

/* One contiguous loop: two dims are one. */
static void
a_map_is_one_loop(void **state)
{
	const struct nest *n = nest_of(*state, "  %x = input(\"x\") : f32[64,128]\n"
					       "  %y = tanh(%x)\n");

	assert_int_equal(n->n, 1);
	assert_loops(&n->op[0], 64 * 128, 64 * 128, 1);
	assert_true(n->op[0].simd);
	assert_true(n->op[0].stores);
	assert_int_equal(n->op[0].memory[NEST_NEXT], 1);
	assert_int_equal(n->op[0].store, NEST_NEXT);
	assert_number(n->op[0].work[NEST_CALL], 1);
	assert_number(n->touched, 2 * 4 * 64 * 128);
	assert_number(n->scratch, 0);
}

/* The example of ir/loops/scheme.h: three stages in the rows, exp(d) kept in one row. */
static void
a_softmax_has_three_stages(void **state)
{
	const struct nest *n = nest_of(*state, "  %x = input(\"x\") : f32[32,100]\n"
					       "  %y = fuse(%x) {\n"
					       "    %m = max(%x) {dims = [1], keep = true}\n"
					       "    %d = sub(%x, %m)\n"
					       "    %e = exp(%d)\n"
					       "    %s = sum(%e) {dims = [1], keep = true}\n"
					       "    %z = div(%e, %s)\n"
					       "    yield(%z)\n"
					       "  }\n");
	const struct nest_op *max = &n->op[0], *sub = &n->op[1], *exp = &n->op[2], *sum = &n->op[3],
			     *div = &n->op[4];

	assert_int_equal(n->n, 6);
	assert_int_equal(n->segments, 1);
	assert_int_equal(n->stages, 3);
	for (int i = 0; i < 5; i++) {
		assert_loops(&n->op[i], 32 * 100, 100, 32);
		assert_true(n->op[i].simd);
	}
	assert_int_equal(max->stage, 0);
	assert_true(max->sums && !max->adds);
	assert_int_equal(sub->stage, 1);
	assert_int_equal(sub->locals, 1);
	assert_int_equal(exp->stage, 1);
	assert_true(exp->keeps && !exp->stores);
	assert_true(sum->sums && !sum->stores);
	assert_int_equal(div->stage, 2);
	assert_int_equal(div->rows, 1);
	assert_true(div->stores);
	assert_number(div->work[NEST_DIVISION], 1);
	assert_number(n->touched, 2 * 4 * 32 * 100);
	assert_number(n->scratch, 448); /* a row of 400 bytes, aligned */
	assert_int_equal(n->op[5].place, NEST_NOWHERE);
}

/* The product is used up in blocks of 512 KB: 512 rows of 256 floats. */
static void
a_product_is_called_by_blocks(void **state)
{
	const struct nest *n = nest_of(*state, "  %x = input(\"x\") : f32[2048,64]\n"
					       "  %w = input(\"w\") : f32[64,256]\n"
					       "  %b = input(\"b\") : f32[256]\n"
					       "  %y = fuse(%x, %w, %b) {\n"
					       "    %p = matmul(%x, %w)\n"
					       "    %z = add(%p, %b)\n"
					       "    yield(%z)\n"
					       "  }\n");

	assert_int_equal(n->op[0].place, NEST_PRODUCT);
	assert_number(n->op[0].points, 2048.0 * 64 * 256);
	assert_number(n->op[0].entries, 4);
	assert_number(n->op[0].inner, 64);
	assert_int_equal(n->segments, 2);
	assert_loops(&n->op[1], 2048 * 256, 256, 2048);
	assert_int_equal(n->op[1].memory[NEST_NEXT], 2);
}

/* Adds rows up in the result, element after element. */
static void
a_sum_over_rows_adds_in_memory(void **state)
{
	const struct nest *n = nest_of(*state, "  %x = input(\"x\") : f32[100,64]\n"
					       "  %y = sum(%x) {dims = [0]}\n");

	assert_loops(&n->op[0], 6400, 64, 100);
	assert_true(n->op[0].adds && !n->op[0].sums && n->op[0].simd);
	assert_int_equal(n->op[0].store, NEST_NEXT);
}

static void
a_transpose_goes_in_tiles(void **state)
{
	const struct nest *n = nest_of(*state, "  %x = input(\"x\") : f32[64,48]\n"
					       "  %y = transpose(%x) {perm = [1, 0]}\n");

	assert_loops(&n->op[0], 64 * 48, 64, 48);
	assert_true(n->op[0].tiled && !n->op[0].simd);
	assert_int_equal(n->op[0].memory[NEST_STRIDES], 1);
	assert_int_equal(n->op[0].memory[NEST_NEXT], 0);
}

/* Where a slice starts does not matter to how it is read; every second element does. */
static void
positions_that_follow_the_loop_are_walks(void **state)
{
	const struct nest *next = nest_of(*state,
		"  %x = input(\"x\") : f32[8,300]\n"
		"  %y = slice(%x) {start = [0,100], limit = [8,200], step = [1,1]}\n");
	const struct nest *second = nest_of(*state,
		"  %x = input(\"x\") : f32[8,300]\n"
		"  %y = slice(%x) {start = [0,100], limit = [8,200], step = [1,2]}\n");

	assert_loops(&next->op[0], 800, 100, 8);
	assert_int_equal(next->op[0].memory[NEST_NEXT], 1);
	assert_int_equal(next->op[0].tests, 0);
	assert_true(next->op[0].simd);
	assert_loops(&second->op[0], 400, 50, 8);
	assert_int_equal(second->op[0].memory[NEST_STRIDES], 1);
	assert_false(second->op[0].simd);
}

/* Rows by number are read element after element; single elements by number are not. */
static void
rows_by_number_are_contiguous(void **state)
{
	const struct nest *rows = nest_of(*state, "  %t = input(\"t\") : f32[1000,32]\n"
						  "  %i = input(\"i\") : i32[64]\n"
						  "  %y = gather(%t, %i)\n");
	const struct nest *elements = nest_of(*state, "  %t = input(\"t\") : f32[1000]\n"
						      "  %i = input(\"i\") : i32[64]\n"
						      "  %y = gather(%t, %i)\n");

	assert_loops(&rows->op[0], 64 * 32, 32, 64);
	assert_int_equal(rows->op[0].memory[NEST_NEXT], 1);
	assert_int_equal(rows->op[0].memory[NEST_STAYS], 1); /* the number */
	assert_true(rows->op[0].tests > 0);
	assert_int_equal(elements->op[0].memory[NEST_COMPUTED], 1);
	assert_false(elements->op[0].simd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_scratch, free_scratch)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_map_is_one_loop),
		TEST(a_softmax_has_three_stages),
		TEST(a_product_is_called_by_blocks),
		TEST(a_sum_over_rows_adds_in_memory),
		TEST(a_transpose_goes_in_tiles),
		TEST(positions_that_follow_the_loop_are_walks),
		TEST(rows_by_number_are_contiguous),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
