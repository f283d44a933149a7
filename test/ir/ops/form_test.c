/* Forms, layouts and derivatives of single ops, built by hand. */
#include "ir/ops/form.h"
#include "test/unit.h"

#include <string.h>

struct fixture {
	struct ir_context *ctx;
	struct ir_module *m;
	struct ir_builder b;
	char *message; /* the last error */
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *x = data;

	talloc_free(x->message);
	x->message = talloc_strdup(x, m->text);
}

static int
setup(void **state)
{
	struct fixture *x = talloc_zero(NULL, struct fixture);

	x->ctx = ir_context_create(x);
	x->m = ir_module_create(x, x->ctx, "test");
	x->m->axis[x->m->naxes++] = (struct ir_axis){.name = ir_name(x->ctx, "dp"), .size = 2};
	x->m->axis[x->m->naxes++] = (struct ir_axis){.name = ir_name(x->ctx, "tp"), .size = 4};
	x->b = (struct ir_builder){
		.m = x->m, .block = &ir_func_create(x->m, "main", LOC_NONE)->body};
	diag_set_handler(x->ctx->diag, keep_message, x);
	*state = x;
	return 0;
}

enum { DP, TP };

static struct ir_value *
param(struct fixture *x, const char *name, int rank, const int64_t *dim, struct ir_state dp,
	struct ir_state tp)
{
	struct ir_type t = {.dtype = IR_f32, .rank = (uint8_t)rank, .axis = {dp, tp}};

	memcpy(t.dim, dim, sizeof *dim * (size_t)rank);
	struct ir_value *v =
		ir_build_typed(&x->b, OP_input, name, NULL, 0, NULL, 0, ir_type_intern(x->ctx, &t));
	v->name = ir_name(x->ctx, name);
	return v;
}

#define DIMS(...)                                                                                  \
	sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[])                                          \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define COPIED ((struct ir_state){0})
#define SPLIT(d) ((struct ir_state){IR_SPLIT, d, 0})
#define PARTIAL ((struct ir_state){.kind = IR_PARTIAL})
#define SINGLE(k) ((struct ir_state){.kind = IR_SINGLE, .order = k})

static void
assert_type(struct fixture *x, struct ir_value *v, const char *want)
{
	assert_non_null(v);
	char *have = ir_type_text(x, x->m, v->type);
	assert_string_equal(have, want);
}

static struct ir_value *
partial(struct fixture *x, const char *name)
{
	struct ir_value *a =
		param(x, talloc_asprintf(x, "%s.a", name), DIMS(8, 16), SPLIT(1), COPIED);
	struct ir_value *b =
		param(x, talloc_asprintf(x, "%s.b", name), DIMS(16, 8), SPLIT(0), COPIED);

	return ir_build2(&x->b, OP_matmul, a, b);
}

static void
matmul_layouts_follow_its_indices(void **state)
{
	struct fixture *x = *state;
	struct ir_value *rows = param(x, "rows", DIMS(8, 16), SPLIT(0), COPIED);
	struct ir_value *cols = param(x, "cols", DIMS(16, 12), COPIED, SPLIT(1));
	struct ir_value *w = param(x, "w", DIMS(16, 12), COPIED, COPIED);

	assert_type(x, ir_build2(&x->b, OP_matmul, rows, w), "f32[8/dp,12]");
	assert_type(x, ir_build2(&x->b, OP_matmul, rows, cols), "f32[8/dp,12/tp]");
	assert_type(x, partial(x, "p"), "f32[8,8]+dp");
	struct ir_value *k = param(x, "k", DIMS(8, 16), SPLIT(1), COPIED);
	assert_null(ir_build2(&x->b, OP_matmul, k, w));
	assert_string_equal(x->message, "matmul: operand 2 %w is copied on axis dp; operand 1 is "
					"split there, so it must be "
					"split on dim 0");
	struct ir_value *odd = param(x, "odd", DIMS(15, 3), COPIED, COPIED);
	assert_null(ir_build2(&x->b, OP_matmul, rows, odd));
	assert_string_equal(x->message, "matmul: sizes of k differ: 16 and 15; operands are "
					"f32[8/dp,16] and f32[15,3]");
	struct ir_value *other = param(x, "other", DIMS(3, 8), COPIED, COPIED);
	assert_null(ir_build2(&x->b, OP_matmul, rows, other));
	assert_string_equal(x->message,
		"matmul: sizes of k differ: 16 and 3; operands are f32[8/dp,16] and f32[3,8]; "
		"they fit in the other order");
}

static void
partial_passes_through_linear_ops_alone(void **state)
{
	struct fixture *x = *state;
	struct ir_value *p = partial(x, "p"), *q = partial(x, "q");
	struct ir_value *c = param(x, "c", DIMS(8, 8), COPIED, COPIED);

	assert_type(x, ir_build2(&x->b, OP_add, p, q), "f32[8,8]+dp");
	assert_type(x, ir_build2(&x->b, OP_mul, p, c), "f32[8,8]+dp");
	assert_type(x, ir_build2(&x->b, OP_div, p, c), "f32[8,8]+dp");
	assert_type(x, ir_build1(&x->b, OP_transpose, p), "f32[8,8]+dp");
	assert_null(ir_build2(&x->b, OP_add, p, c));
	assert_null(ir_build2(&x->b, OP_mul, p, q));
	assert_null(ir_build2(&x->b, OP_div, c, p));
	assert_null(ir_build1(&x->b, OP_relu, p));
	assert_null(ir_build1(&x->b, OP_max, p));
}

static void
single_at_different_places_adds_to_a_partial(void **state)
{
	struct fixture *x = *state;
	struct ir_value *a = param(x, "a", DIMS(8), SINGLE(0), COPIED),
			*b = param(x, "b", DIMS(8), SINGLE(1), COPIED);
	struct ir_value *c = param(x, "c", DIMS(8), COPIED, COPIED);

	assert_type(x, ir_build2(&x->b, OP_add, a, a), "f32[8]@dp=0");
	assert_type(x, ir_build2(&x->b, OP_add, a, c), "f32[8]@dp=0");
	assert_type(x, ir_build2(&x->b, OP_add, a, b), "f32[8]+dp");
	assert_null(ir_build2(&x->b, OP_mul, a, b));
}

static void
reductions_over_a_split_dim_are_partial_sums(void **state)
{
	struct fixture *x = *state;
	struct ir_value *a = param(x, "a", DIMS(8, 16), SPLIT(0), COPIED);
	int64_t zero = 0, one = 1;
	struct ir_attr d0 = ir_make_ints(x->m, "dims", &zero, 1),
		       d1 = ir_make_ints(x->m, "dims", &one, 1);

	assert_type(x, ir_build(&x->b, OP_sum, &a, 1, &d0, 1), "f32[16]+dp");
	assert_type(x, ir_build(&x->b, OP_mean, &a, 1, &d1, 1), "f32[8/dp]");
	assert_type(x, ir_build(&x->b, OP_max, &a, 1, &d1, 1), "f32[8/dp]");
	assert_null(ir_build(&x->b, OP_max, &a, 1, &d0, 1));
}

static void
parallel_ops_change_the_layout_as_their_row_says(void **state)
{
	struct fixture *x = *state;
	struct ir_value *p = partial(x, "p"), *c = param(x, "c", DIMS(16, 8), COPIED, COPIED);
	struct ir_attr dp = ir_make_axis(x->ctx, "axis", DP), dim = ir_make_int(x->ctx, "dim", 0);
	struct ir_attr tp = ir_make_axis(x->ctx, "axis", TP);

	assert_type(x, ir_build(&x->b, OP_allreduce, &p, 1, &dp, 1), "f32[8,8]");
	assert_type(x, ir_build(&x->b, OP_reduce, &p, 1, &dp, 1), "f32[8,8]@dp=0");
	assert_type(x, ir_build(&x->b, OP_reducescatter, &p, 1, (struct ir_attr[]){dim, dp}, 2),
		"f32[8/dp,8]");
	struct ir_value *s = ir_build(&x->b, OP_partition, &c, 1, (struct ir_attr[]){dim, dp}, 2);
	struct ir_value *st = ir_build(&x->b, OP_partition, &s, 1, (struct ir_attr[]){dim, tp}, 2);
	assert_type(x, st, "f32[16/dp/tp,8]");
	assert_type(x, ir_build(&x->b, OP_allgather, &st, 1, &tp, 1), "f32[16/dp,8]");
	assert_null(ir_build(&x->b, OP_allgather, &st, 1, &dp, 1));
	assert_string_equal(x->message,
		"allgather: operand 1 is split on dim 0 on axis dp; another axis "
		"splits its slices further; undo that split first");
	assert_null(ir_build(&x->b, OP_allreduce, &c, 1, &dp, 1));
	assert_string_equal(
		x->message, "allreduce: operand 1 %c is copied on axis dp; it must be partial");
}

static void
reshape_keeps_slices_together(void **state)
{
	struct fixture *x = *state;
	struct ir_value *a = param(x, "a", DIMS(8, 4, 3), SPLIT(0), COPIED),
			*b = param(x, "b", DIMS(8, 4, 3), COPIED, SPLIT(1));
	int64_t flat[] = {32, 3}, apart[] = {2, 4, 12}, rows[] = {8, 12};
	struct ir_attr f = ir_make_ints(x->m, "shape", flat, 2),
		       ap = ir_make_ints(x->m, "shape", apart, 3);
	struct ir_attr r = ir_make_ints(x->m, "shape", rows, 2);

	assert_type(x, ir_build(&x->b, OP_reshape, &a, 1, &f, 1), "f32[32/dp,3]");
	assert_type(x, ir_build(&x->b, OP_reshape, &a, 1, &ap, 1), "f32[2/dp,4,12]");
	assert_type(x, ir_build(&x->b, OP_reshape, &b, 1, &r, 1), "f32[8,12/tp]");
	assert_null(ir_build(&x->b, OP_reshape, &b, 1, &f, 1));
}

static void
a_table_split_by_rows_gathers_to_a_partial(void **state)
{
	struct fixture *x = *state;
	struct ir_value *t = param(x, "t", DIMS(16, 8), SPLIT(0), COPIED);
	struct ir_type it = {.dtype = IR_i32, .rank = 1, .dim = {6}};
	struct ir_value *i =
		ir_build_typed(&x->b, OP_input, "i", NULL, 0, NULL, 0, ir_type_intern(x->ctx, &it));

	assert_type(x, ir_build2(&x->b, OP_gather, t, i), "f32[6,8]+dp");
}

static void
a_gather_reads_at_computed_positions(void **state)
{
	struct fixture *x = *state;
	struct arena *a = arena_create(x);
	struct ir_value *t = param(x, "t", DIMS(16, 8), COPIED, COPIED);
	struct ir_type it = {.dtype = IR_i32, .rank = 1, .dim = {6}};
	struct ir_value *i =
		ir_build_typed(&x->b, OP_input, "i", NULL, 0, NULL, 0, ir_type_intern(x->ctx, &it));
	struct ir_value *g = ir_build2(&x->b, OP_gather, t, i);
	struct form f;

	assert_true(form_make(x->m, a, g->op, NULL, &f));
	const int rows = f.in[0].index[0], columns = f.in[0].index[1];
	assert_non_null(f.at[rows]);
	assert_int_equal(f.at[rows]->kind, EXPR_CALL); /* the number as i64 */
	assert_int_equal(f.at[rows]->arg[0]->id, 1);
	assert_int_equal(f.size[rows], 16);
	assert_null(f.at[columns]);
	/* of the 16 rows it reads 6, one for each number, and does no arithmetic */
	assert_true(op_work(x->m, g->op).flops == 0);
	assert_true(op_work(x->m, g->op).bytes == 4.0 * (6 * 8 + 6 + 6 * 8));
}

static void
matmul_work_is_two_flops_a_product(void **state)
{
	struct fixture *x = *state;
	struct ir_value *a = param(x, "a", DIMS(8, 16), SPLIT(0), COPIED),
			*w = param(x, "w", DIMS(16, 12), COPIED, COPIED);
	struct ir_value *y = ir_build2(&x->b, OP_matmul, a, w);
	struct op_work work = op_work(x->m, y->op);

	assert_true(work.flops == 2.0 * 4 * 16 * 12);
	assert_true(work.bytes == 4.0 * (4 * 16 + 16 * 12 + 4 * 12));
}

/* Its row says a sum of n for each of n; running sums are n additions. */
static void
cumsum_work_is_an_addition_an_element(void **state)
{
	struct fixture *x = *state;
	struct ir_value *a = param(x, "a", DIMS(8, 16), SPLIT(0), COPIED);
	const struct ir_attr attr[] = {
		ir_make_int(x->m->ctx, "dim", 1), ir_make_bool(x->m->ctx, "exclusive", true)};
	struct ir_value *y = ir_build(&x->b, OP_cumsum, &a, 1, attr, 2);

	assert_true(op_work(x->m, y->op).flops == 4.0 * 16);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)

int
main(void)
{
	const struct CMUnitTest test[] = {
		TEST(matmul_layouts_follow_its_indices),
		TEST(partial_passes_through_linear_ops_alone),
		TEST(single_at_different_places_adds_to_a_partial),
		TEST(reductions_over_a_split_dim_are_partial_sums),
		TEST(parallel_ops_change_the_layout_as_their_row_says),
		TEST(reshape_keeps_slices_together),
		TEST(a_table_split_by_rows_gathers_to_a_partial),
		TEST(a_gather_reads_at_computed_positions),
		TEST(matmul_work_is_two_flops_a_product),
		TEST(cumsum_work_is_an_addition_an_element),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
