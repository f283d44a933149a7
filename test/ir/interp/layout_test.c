/* Layout equals meaning: plans by hand for every parallelization op, on device and on time axes. */
#include "test/ir/interp/build.h"

#define TYPED(x, code, n, v, na, at, type) ir_build_typed(&(x)->b, code, NULL, v, n, at, na, type)

static struct ir_value *
on(struct bench *x, enum op_code code, int axis, struct ir_value *v)
{
	return build(x, code, OPERANDS(v), ATTRS(AXIS(x, axis)));
}

static struct ir_value *
cut(struct bench *x, int axis, int dim, struct ir_value *v)
{
	return build(x, OP_partition, OPERANDS(v), ATTRS(INT(x, "dim", dim), AXIS(x, axis)));
}

static struct ir_value *
at_place(struct bench *x, enum op_code code, int axis, int to, struct ir_value *v)
{
	return build(x, code, OPERANDS(v), ATTRS(AXIS(x, axis), INT(x, "to", to)));
}

/* A value that is partial on an axis: a product over an index that is split there. */
static struct ir_value *
partial_on(struct bench *x, int axis, const char *name, int rows, int columns)
{
	char a[16], b[16];
	snprintf(a, sizeof a, "%s.a", name);
	snprintf(b, sizeof b, "%s.b", name);
	struct ir_value *va = cut(x, axis, 1, input(x, a, IR_f32, DIMS(rows, 4)));
	struct ir_value *vb = cut(x, axis, 0, input(x, b, IR_f32, DIMS(4, columns)));
	struct ir_value *r = ir_build2(&x->b, OP_matmul, va, vb);
	assert_non_null(r);
	assert_int_equal(r->type->axis[axis].kind, IR_PARTIAL);
	return r;
}

static void
holds(struct bench *x)
{
	if (!ir_verify(x->m))
		fail_msg("ir_verify: %s", x->message);
	if (!interp_check_layout(x->m, NULL))
		fail_msg("interp_check_layout: %s", x->message);
}

static void
fails(struct bench *x, const char *part)
{
	assert_false(interp_check_layout(x->m, NULL));
	if (!strstr(x->message, part))
		fail_msg("\"%s\" is not in: %s", part, x->message);
}

/* --- device and time axes -----------------------------------------------------------------------
 */

static const int axes[] = {DP, TP, MB};
#define FOR_AXES(a, n) for (int k_ = 0, a = 0; k_ < (n) && (a = axes[k_], true); k_++)

static void
partition_combine_replicate(void **state)
{
	(void)state;
	FOR_AXES(axis, 3)
	{
		struct bench *x = bench_create();
		struct ir_value *v = cut(x, axis, 0, input(x, "x", IR_f32, DIMS(8, 6)));
		v = on(x, OP_combine, axis, ir_build1(&x->b, OP_exp, v));
		assert_int_equal(v->type->axis[axis].kind, IR_SINGLE);
		assert_int_equal(v->type->axis[axis].order, axis == MB ? 1 : 0);
		v = ir_build1(&x->b, OP_neg, v);
		v = cut(x, axis, 1, v); /* from single: a scatter */
		v = at_place(x, OP_combine, axis, 1, ir_build1(&x->b, OP_exp, v));
		output(x, "r", on(x, OP_replicate, axis, v));
		holds(x);
		talloc_free(x);
	}
}

static void
reduce_to_each_place(void **state)
{
	(void)state;
	FOR_AXES(axis, 3)
	for (int to = 0; to < 2; to++) {
		struct bench *x = bench_create();
		struct ir_value *v =
			at_place(x, OP_reduce, axis, to, partial_on(x, axis, "p", 3, 5));
		v = ir_build1(&x->b, OP_relu, v);
		output(x, "r", on(x, OP_replicate, axis, v));
		holds(x);
		talloc_free(x);
	}
}

static void
allreduce_several(void **state)
{
	(void)state;
	FOR_AXES(axis, 2)
	{
		struct bench *x = bench_create();
		struct ir_value *p = partial_on(x, axis, "p", 3, 5),
				*q = partial_on(x, axis, "q", 2, 2);
		struct ir_op *op = ir_op_create(x->m, OP_allreduce, LOC_NONE,
			(struct ir_value *[]){p, q}, 2, (struct ir_attr[]){AXIS(x, axis)}, 1, 2);
		assert_true(ir_infer(x->m, op, NULL));
		ir_block_append(x->b.block, op);
		output(x, "p", ir_build1(&x->b, OP_relu, &op->result[0]));
		output(x, "q", ir_build1(&x->b, OP_relu, &op->result[1]));
		holds(x);
		talloc_free(x);
	}
}

static void
reducescatter_then_allgather(void **state)
{
	(void)state;
	FOR_AXES(axis, 2)
	for (int dim = 0; dim < 2; dim++) {
		struct bench *x = bench_create();
		struct ir_value *p = partial_on(x, axis, "p", 4, 6);
		struct ir_value *v = build(
			x, OP_reducescatter, OPERANDS(p), ATTRS(INT(x, "dim", dim), AXIS(x, axis)));
		output(x, "r", on(x, OP_allgather, axis, ir_build1(&x->b, OP_relu, v)));
		holds(x);
		talloc_free(x);
	}
}

static void
alltoall(void **state)
{
	(void)state;
	FOR_AXES(axis, 2)
	{
		struct bench *x = bench_create();
		struct ir_value *v = cut(x, axis, 0, input(x, "x", IR_f32, DIMS(4, 3, 6)));
		v = build(x, OP_alltoall, OPERANDS(v),
			ATTRS(INT(x, "from", 0), INT(x, "to", 2), AXIS(x, axis)));
		v = build(x, OP_sum, OPERANDS(v), ATTRS(INTS(x, "dims", 0)));
		output(x, "r", on(x, OP_allgather, axis, v));
		holds(x);
		talloc_free(x);
	}
}

static void
send(void **state)
{
	(void)state;
	FOR_AXES(axis, 2)
	{
		struct bench *x = bench_create();
		struct ir_value *v = cut(x, axis, 0, input(x, "x", IR_f32, DIMS(4, 3)));
		v = ir_build1(&x->b, OP_exp, on(x, OP_combine, axis, v));
		v = build(x, OP_send, OPERANDS(v),
			ATTRS(AXIS(x, axis), INT(x, "from", 0), INT(x, "to", 1)));
		v = ir_build1(&x->b, OP_exp, v);
		output(x, "r", on(x, OP_replicate, axis, v));
		holds(x);
		talloc_free(x);
	}
}

/* [8/dp/mb,6/tp]: slices of slices, put on and taken off from the inside. */
static void
mixed_splits(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = cut(x, MB, 0, cut(x, DP, 0, input(x, "x", IR_f32, DIMS(8, 6))));
	v = cut(x, TP, 1, v);
	struct ir_value *w = cut(x, TP, 0, input(x, "w", IR_f32, DIMS(6, 4)));
	v = ir_build2(&x->b, OP_matmul, v, w);
	assert_int_equal(v->type->axis[TP].kind, IR_PARTIAL);
	v = build(x, OP_reducescatter, OPERANDS(v), ATTRS(INT(x, "dim", 0), AXIS(x, TP)));
	v = ir_build1(&x->b, OP_tanh, v); /* [8/dp/mb/tp,4] */
	assert_int_equal(v->type->axis[TP].order, 2);
	v = on(x, OP_allgather, TP, v);
	v = on(x, OP_replicate, MB, on(x, OP_combine, MB, v));
	output(x, "r", on(x, OP_allgather, DP, v));
	holds(x);
}

/* Micro-batches: the loss and the gradient are accumulated over time, then over devices. */
static void
gradient_accumulation(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = cut(x, MB, 0, cut(x, DP, 0, input(x, "x", IR_f32, DIMS(8, 3))));
	struct ir_value *w =
		source(x, OP_param, "w", type_of(x, IR_f32, DIMS(3, 5), COPIED, COPIED, COPIED));
	struct ir_value *h = ir_build2(&x->b, OP_matmul, v, w);
	struct ir_attr spec = ir_make_string(x->ctx, "spec", "ni,nj->ij");
	struct ir_value *g = build(x, OP_contract, OPERANDS(v, h), 1, &spec);
	g = on(x, OP_allreduce, DP, on(x, OP_reduce, MB, g));
	struct ir_value *lr = ir_build_scalar(&x->b, IR_f32, 0.01);
	effect(x, OP_update, NULL,
		OPERANDS(w, ir_build2(&x->b, OP_sub, w, ir_build2(&x->b, OP_mul, g, lr))));
	struct ir_value *l = build(x, OP_mean, OPERANDS(h), NO_ATTRS);
	output(x, "loss", on(x, OP_allreduce, DP, on(x, OP_reduce, MB, l)));
	holds(x);
}

/* --- layouts that ops give ----------------------------------------------------------------------
 */

/* Two tensors at different places are partial: the other places count as zero. */
static void
singles_add_up(void **state)
{
	struct bench *x = *state;
	const struct ir_type *a0 = type_of(x, IR_f32, DIMS(4, 3), SINGLE(0), COPIED, COPIED);
	const struct ir_type *b1 = type_of(x, IR_f32, DIMS(3), SINGLE(1), COPIED, COPIED);
	struct ir_value *v = ir_build2(
		&x->b, OP_sub, source(x, OP_input, "a", a0), source(x, OP_input, "b", b1));
	assert_int_equal(v->type->axis[DP].kind, IR_PARTIAL);
	output(x, "r", ir_build1(&x->b, OP_exp, on(x, OP_allreduce, DP, v)));
	holds(x);
}

static void
split_tables(void **state)
{
	struct bench *x = *state;
	const struct ir_attr range = INT(x, "range", 8), size = INT(x, "size", 8);
	const struct ir_attr to = ir_make_dtype(x->ctx, "to", IR_f32);
	struct ir_value *i = ir_build_typed(&x->b, OP_input, "i", NULL, 0, &range, 1,
		type_of(x, IR_i32, DIMS(6), COPIED, COPIED, COPIED));
	struct ir_value *t = cut(x, DP, 0, input(x, "t", IR_f32, DIMS(8, 5)));
	struct ir_value *rows = ir_build2(&x->b, OP_gather, t, i);
	assert_int_equal(rows->type->axis[DP].kind, IR_PARTIAL);
	rows = on(x, OP_allreduce, DP, rows);
	output(x, "rows", rows);
	struct ir_value *si = cut(x, TP, 0, i);
	struct ir_value *sum =
		build(x, OP_scatter_add, OPERANDS(cut(x, TP, 0, rows), si), 1, &size);
	output(x, "sum", on(x, OP_allreduce, TP, sum));
	struct ir_value *hot = TYPED(x, OP_one_hot, 1, &i, 2, ((struct ir_attr[]){size, to}),
		type_of(x, IR_f32, DIMS(6, 8), SPLIT(1, 0), COPIED, SPLIT(1, 1)));
	assert_non_null(hot);
	assert_int_equal(hot->type->axis[MB].order, 1);
	output(x, "hot",
		on(x, OP_allgather, DP, on(x, OP_replicate, MB, on(x, OP_combine, MB, hot))));
	holds(x);
}

static void
split_sources(void **state)
{
	struct bench *x = *state;
	const struct ir_type *t = type_of(x, IR_f32, DIMS(6, 8), SPLIT(1, 1), SPLIT(1, 0), COPIED);
	const struct ir_attr seed = INT(x, "seed", 3), dim = INT(x, "dim", 1),
			     value = ir_make_float(x->ctx, "value", 7);
	struct ir_value *v = ir_build2(&x->b, OP_add, TYPED(x, OP_normal, 0, NULL, 1, &seed, t),
		TYPED(x, OP_iota, 0, NULL, 1, &dim, t));
	v = ir_build2(&x->b, OP_mul, v, TYPED(x, OP_constant, 0, NULL, 1, &value, t));
	output(x, "r", on(x, OP_allgather, TP, on(x, OP_allgather, DP, v)));
	holds(x);
}

static void
reshape_split(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = cut(x, TP, 1, cut(x, DP, 0, input(x, "x", IR_f32, DIMS(4, 6, 2))));
	v = on(x, OP_allgather, TP, v);
	v = build(x, OP_reshape, OPERANDS(v), ATTRS(INTS(x, "shape", 24, 2)));
	v = build(x, OP_reshape, OPERANDS(v), ATTRS(INTS(x, "shape", 2, 3, 8)));
	output(x, "r", on(x, OP_allgather, DP, v));
	holds(x);
}

static void
fuse_runs_its_body(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = cut(x, DP, 0, input(x, "x", IR_f32, DIMS(4, 6))),
			*w = cut(x, DP, 0, input(x, "y", IR_f32, DIMS(4, 6)));
	struct ir_op *op =
		ir_op_create(x->m, OP_fuse, LOC_NONE, (struct ir_value *[]){v, w}, 2, NULL, 0, 1);
	struct ir_block *body = ir_op_make_body(x->m, op);
	struct ir_builder b = {.m = x->m, .block = body};
	struct ir_value *s =
		ir_build1(&b, OP_exp, ir_build2(&b, OP_mul, &body->arg[0], &body->arg[1]));
	ir_block_append(body, ir_op_create(x->m, OP_yield, LOC_NONE, &s, 1, NULL, 0, 0));
	op->result[0].type = s->type;
	ir_block_append(x->b.block, op);
	output(x, "r", on(x, OP_allgather, DP, &op->result[0]));
	output(x, "plain",
		on(x, OP_allgather, DP, ir_build1(&x->b, OP_exp, ir_build2(&x->b, OP_mul, v, w))));
	holds(x);
	struct interp *it = interpreter(x, true);
	step(x, it, 0);
	assert_true(tensor_compare(interp_output(it, "r"), interp_output(it, "plain"), 0, NULL));
}

/* A sum of rounded numbers is not the rounded sum, nor is what wrapped in 8 bits a summand. */
static void
partial_values_are_not_rounded(void **state)
{
	struct bench *x = *state;
	const struct ir_attr to = ir_make_dtype(x->ctx, "to", IR_i32),
			     half = ir_make_dtype(x->ctx, "to", IR_f16);
	struct ir_value *p = partial_on(x, DP, "p", 3, 5);
	assert_null(ir_build(&x->b, OP_convert, &p, 1, &to, 1));
	assert_non_null(strstr(x->message, "not linear"));
	assert_non_null(ir_build(&x->b, OP_convert, &p, 1, &half, 1));
	struct ir_value *bytes[2];
	for (int k = 0; k < 2; k++)
		bytes[k] = source(x, OP_input, k ? "b" : "a",
			type_of(x, IR_u8, DIMS(4), SINGLE(k), COPIED, COPIED));
	p = ir_build2(&x->b, OP_add, bytes[0], bytes[1]);
	assert_int_equal(p->type->axis[DP].kind, IR_PARTIAL);
	assert_null(ir_build(&x->b, OP_convert, &p, 1, &to, 1));
}

/* --- the check finds what is wrong --------------------------------------------------------------
 */

/* A sum that was not made: the places' summands are taken for copies. */
static void
a_missing_allreduce_is_found(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = partial_on(x, DP, "p", 3, 5);
	struct ir_type t = *v->type;
	t.axis[DP] = COPIED;
	v->type = ir_type_intern(x->ctx, &t);
	output(x, "r", v);
	fails(x, "matmul");
}

/* Slices in the wrong order of axes. */
static void
a_wrong_order_of_splits_is_found(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = cut(x, TP, 0, cut(x, DP, 0, input(x, "x", IR_f32, DIMS(8))));
	v = ir_build1(&x->b, OP_exp, v);
	v->type = type_of(x, IR_f32, DIMS(8), SPLIT(0, 1), SPLIT(0, 0), COPIED);
	output(x, "r", v);
	fails(x, "exp");
}

/* A value read where no place holds it. */
static void
a_value_that_is_elsewhere_is_found(void **state)
{
	struct bench *x = *state;
	struct ir_value *v =
		source(x, OP_input, "a", type_of(x, IR_f32, DIMS(4), SINGLE(1), COPIED, COPIED));
	v = ir_build1(&x->b, OP_exp, v);
	v->type = type_of(x, IR_f32, DIMS(4), COPIED, COPIED, COPIED);
	output(x, "r", v);
	fails(x, "does not hold it");
}

/* x := 4 x (1 - x), sixty times: it doubles what is wrong with x each time, so that of two orders
 * of a sum nothing common is left. That is the step's doing, not the layout's. */
static void
amplified_rounding_is_no_difference(void **state)
{
	struct bench *x = *state;
	struct ir_value *a = cut(x, DP, 1, input(x, "a", IR_f32, DIMS(3, 8)));
	struct ir_value *b = cut(x, DP, 0, input(x, "b", IR_f32, DIMS(8, 5)));
	struct ir_value *v = ir_build1(&x->b, OP_exp, a); /* products of floats would be exact */
	v = ir_build2(&x->b, OP_matmul, v, b);
	v = ir_build1(&x->b, OP_sigmoid, on(x, OP_allreduce, DP, v));
	for (int i = 0; i < 60; i++) {
		struct ir_value *square = ir_build2(&x->b, OP_mul, v, v);
		struct ir_value *rest = ir_build2(&x->b, OP_sub, v, square);
		struct ir_value *twice = ir_build2(&x->b, OP_add, rest, rest);
		v = ir_build2(&x->b, OP_add, twice, twice);
	}
	output(x, "r", v);
	holds(x);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)
	const struct CMUnitTest tests[] = {cmocka_unit_test(partition_combine_replicate),
		cmocka_unit_test(reduce_to_each_place), cmocka_unit_test(allreduce_several),
		cmocka_unit_test(reducescatter_then_allgather), cmocka_unit_test(alltoall),
		cmocka_unit_test(send), TEST(mixed_splits), TEST(gradient_accumulation),
		TEST(singles_add_up), TEST(split_tables), TEST(split_sources), TEST(reshape_split),
		TEST(fuse_runs_its_body), TEST(partial_values_are_not_rounded),
		TEST(a_missing_allreduce_is_found), TEST(a_wrong_order_of_splits_is_found),
		TEST(a_value_that_is_elsewhere_is_found),
		TEST(amplified_rounding_is_no_difference)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
