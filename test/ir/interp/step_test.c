/* Steps: initial values, inputs, what lives from step to step, comparisons of modules. */
#include "test/ir/interp/build.h"

#include "runtime/data/batch.h"
#include "runtime/kernel/half.h"
#include "runtime/kernel/init.h"
#include "runtime/kernel/rng.h"
#include "runtime/data/safetensors.h"

#include <math.h>

/* --- initial values -----------------------------------------------------------------------------
 */

static void
initial_values_are_the_runtimes(void **state)
{
	struct bench *x = *state;
	static const struct {
		const char *name;
		enum rt_init init;
	} kinds[] = {{"zeros", RT_INIT_ZEROS}, {"ones", RT_INIT_ONES},
		{"constant", RT_INIT_CONSTANT}, {"normal", RT_INIT_NORMAL},
		{"uniform", RT_INIT_UNIFORM}, {"he", RT_INIT_HE}, {"xavier", RT_INIT_XAVIER}};
	for (int k = 0; k < 7; k++) {
		const struct ir_attr attr[] = {ir_make_string(x->ctx, "init", kinds[k].name),
			INT(x, "seed", k), ir_make_float(x->ctx, "scale", 0.5),
			ir_make_float(x->ctx, "value", 0.25)};
		ir_build_typed(&x->b, k % 2 ? OP_param : OP_state, kinds[k].name, NULL, 0, attr, 4,
			type_of(x, IR_f32, DIMS(6, 4), k % 3 ? COPIED : SPLIT(0, 0), COPIED,
				COPIED));
	}
	const struct interp_options o = {.seed = 11};
	struct interp *it = interp_create(x, x->m, &o);
	assert_non_null(it);
	for (int k = 0; k < 7; k++) {
		const struct rt_tensor t = {.name = kinds[k].name,
			.rank = 2,
			.dims = {6, 4},
			.init = kinds[k].init,
			.scale = 0.5,
			.mean = 0.25,
			.seed = (uint64_t)k};
		const struct rt_initer in = rt_initer_of(&t, 11);
		for (int i = 0; i < 24; i++)
			assert_true(interp_persistent(it, kinds[k].name)->data[i].f ==
				    (double)(float)rt_init_value(&in, (uint64_t)i));
	}
}

static void
an_unknown_init_is_reported(void **state)
{
	struct bench *x = *state;
	const struct ir_attr init = ir_make_string(x->ctx, "init", "random");
	struct ir_value *v = ir_build_typed(&x->b, OP_param, "w", NULL, 0, &init, 1,
		type_of(x, IR_f32, DIMS(2), COPIED, COPIED, COPIED));
	if (!v)
		return; /* refused even earlier */
	const struct interp_options o = {.seed = 0};
	assert_null(interp_create(x, x->m, &o));
	assert_non_null(strstr(x->message, "xavier"));
}

/* --- inputs -------------------------------------------------------------------------------------
 */

static void
random_inputs_are_by_name_and_seed(void **state)
{
	struct bench *x = *state;
	const struct ir_attr range = INT(x, "range", 10);
	output(x, "x", input(x, "x", IR_f32, DIMS(100)));
	output(x, "i",
		ir_build_typed(&x->b, OP_input, "i", NULL, 0, &range, 1,
			type_of(x, IR_i32, DIMS(100), SPLIT(0, 0), COPIED, COPIED)));
	output(x, "b", input(x, "b", IR_bool, DIMS(100)));
	const struct interp_options o = {.seed = 5}, l = {.seed = 5, .mode = INTERP_LAYOUT};
	struct interp *it = interp_create(x, x->m, &o), *layout = interp_create(x, x->m, &l);
	assert_non_null(it);
	assert_non_null(layout);
	step(x, it, 3);
	step(x, layout, 3);
	int64_t most = 0, ones = 0;
	for (int k = 0; k < 100; k++) {
		const double want = rt_normal(rt_key(5, 0, "x"), (uint64_t)k);
		assert_true(interp_output(it, "x")->data[k].f == (double)(float)want);
		const int64_t i = interp_output(it, "i")->data[k].i,
			      b = interp_output(it, "b")->data[k].i;
		assert_int_equal(interp_output(layout, "i")->data[k].i, i);
		assert_in_range(i, 0, 9);
		assert_in_range(b, 0, 1);
		most = i > most ? i : most;
		ones += b;
	}
	assert_int_equal(most, 9);
	assert_in_range(ones, 20, 80);
}

static const char *
digits(struct bench *x)
{
	const char *folder = getenv("DOPT_TEST_DATA"); /* test/environment */
	assert_non_null(folder);
	return talloc_asprintf(x, "%s/digits.safetensors", folder);
}

/* Rows of the digits in the order that programs read them. */
static void
rows_of_a_data_set(void **state)
{
	struct bench *x = *state;
	const char *path = digits(x);
	struct rt_status st = {0};
	struct rt_st_file file;
	if (!rt_st_open(&file, path, &st))
		fail_msg("%s", st.text);
	enum { B = 1000, N = 1500, W = 64 };
	output(x, "x",
		source(x, OP_input, "x",
			type_of(x, IR_f32, DIMS(B, W), SPLIT(0, 0), COPIED, COPIED)));
	output(x, "y", input(x, "y", IR_i32, DIMS(B)));
	const struct interp_options o = {.seed = 4, .mode = INTERP_LAYOUT, .data = path};
	struct interp *it = interp_create(x, x->m, &o);
	assert_non_null(it);
	step(x, it, 1); /* the second step goes round the end of the epoch */
	const float *images = rt_st_find(&file, "train.x")->data;
	const int32_t *labels = rt_st_find(&file, "train.y")->data;
	for (int i = 0; i < B; i++) {
		const int64_t row = rt_batch_row(4, 1, i, N, B);
		assert_int_equal(interp_output(it, "y")->data[i].i, labels[row]);
		for (int k = 0; k < W; k++)
			assert_true(interp_output(it, "x")->data[i * W + k].f ==
				    (double)images[row * W + k]);
	}
	rt_st_close(&file);
}

static void
a_data_set_that_does_not_fit_is_reported(void **state)
{
	struct bench *x = *state;
	input(x, "x", IR_f32, DIMS(10, 63));
	const struct interp_options o = {.data = digits(x)},
				    none = {.data = "/nowhere.safetensors"};
	struct interp *it = interp_create(x, x->m, &o);
	assert_non_null(it);
	assert_false(interp_step(it, 0));
	assert_non_null(strstr(x->message, "train.x"));
	assert_null(interp_create(x, x->m, &none));
	assert_non_null(strstr(x->message, "/nowhere.safetensors"));
}

/* --- from step to step --------------------------------------------------------------------------
 */

/* Reading a state behind its update gives the old value; the new one is there in the next step. */
static void
updates_take_effect_after_the_step(void **state)
{
	struct bench *x = *state;
	struct ir_value *s =
		source(x, OP_state, "n", type_of(x, IR_i32, SCALAR_DIMS, COPIED, COPIED, COPIED));
	effect(x, OP_update, NULL,
		OPERANDS(s, ir_build2(&x->b, OP_add, s, ir_build_scalar(&x->b, IR_i32, 3))));
	output(x, "n", ir_build2(&x->b, OP_add, s, s));
	struct interp *it = interpreter(x, false);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(interp_persistent(it, "n")->data->i, 3 * i);
		step(x, it, i);
		assert_int_equal(interp_output(it, "n")->data->i, 6 * i);
	}
	struct tensor *t = tensor_create(x, IR_i32, SCALAR_DIMS);
	t->data->i = 50;
	assert_true(interp_set_persistent(it, "n", t));
	step(x, it, 4);
	assert_int_equal(interp_persistent(it, "n")->data->i, 53);
	t->dtype = IR_i64;
	assert_false(interp_set_persistent(it, "n", t));
	assert_false(interp_set_persistent(it, "m", t));
}

static void
a_released_value_cannot_be_read(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = input(x, "x", IR_f32, DIMS(4));
	effect(x, OP_release, NULL, OPERANDS(v));
	output(x, "r", v);
	struct interp *it = interpreter(x, false);
	assert_false(interp_step(it, 0));
	assert_non_null(strstr(x->message, "released"));
}

/* --- rounding -----------------------------------------------------------------------------------
 */

/* Every f16 and bf16 is its own rounding; what lies halfway goes to the even one. */
static void
rounding_to_half_precision(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 0x10000; h++) {
		const double f16 = (double)rt_f16_to_f32((uint16_t)h),
			     bf16 = (double)rt_bf16_to_f32((uint16_t)h);
		assert_true(f16 != f16 || ir_dtype_round(IR_f16, f16) == f16);
		assert_true(bf16 != bf16 || ir_dtype_round(IR_bf16, bf16) == bf16);
		const double n16 = (double)rt_f16_to_f32((uint16_t)(h + 1)), mid = (f16 + n16) / 2;
		const double nb = (double)rt_bf16_to_f32((uint16_t)(h + 1)), midb = (bf16 + nb) / 2;
		if (isfinite(mid) && (h & 0x7FFF) != 0x7FFF)
			assert_true(ir_dtype_round(IR_f16, mid) == (h & 1 ? n16 : f16));
		if (isfinite(midb) && (h & 0x7FFF) != 0x7FFF)
			assert_true(ir_dtype_round(IR_bf16, midb) == (h & 1 ? nb : bf16));
	}
	assert_true(ir_dtype_round(IR_f16, 65519.999) == 65504);
	assert_true(isinf(ir_dtype_round(IR_f16, 65520)));
}

/* --- comparisons --------------------------------------------------------------------------------
 */

/* y = (a * b) * scale, by another association where `other`. */
static void
products(struct bench *x, double scale, bool other)
{
	struct ir_value *a = input(x, "a", IR_f32, DIMS(4, 3)),
			*b = input(x, "b", IR_f32, DIMS(4, 3));
	struct ir_value *s = ir_build_scalar(&x->b, IR_f32, scale);
	output(x, "y",
		other ? ir_build2(&x->b, OP_mul, a, ir_build2(&x->b, OP_mul, b, s))
		      : ir_build2(&x->b, OP_mul, ir_build2(&x->b, OP_mul, a, b), s));
}

static void
equal_modules_and_others(void **state)
{
	struct bench *x = *state, *y = bench_create(), *z = bench_create(), *empty = bench_create();
	products(x, 3, false);
	products(y, 3, true);
	products(z, 3.001, false);
	assert_true(interp_check_modules(x->m, y->m, NULL));
	assert_false(interp_check_modules(x->m, z->m, NULL));
	assert_non_null(strstr(z->message, "output \"y\" in step 0: "));
	assert_false(interp_check_modules(x->m, empty->m, NULL));
	assert_non_null(strstr(empty->message, "output \"y\" is missing"));
	talloc_free(y);
	talloc_free(z);
	talloc_free(empty);
}

/* y = (a * 3 + 1e9) - 1e9 - a * 3, which is rounding and nothing else, or 0, and some more; z = a * scale. */
static void
leftovers(struct bench *x, bool zero, double more, double scale)
{
	struct ir_value *a = input(x, "a", IR_f32, DIMS(4, 3));
	struct ir_value *big = ir_build_scalar(&x->b, IR_f32, 1e9);
	struct ir_value *s = ir_build2(&x->b, OP_mul, a, ir_build_scalar(&x->b, IR_f32, 3));
	struct ir_value *sum = zero ? s : ir_build2(&x->b, OP_add, s, big);
	sum = zero ? sum : ir_build2(&x->b, OP_sub, sum, big);
	sum = ir_build2(&x->b, OP_sub, sum, s);
	output(x, "y",
		more == 0 ? sum
			  : ir_build2(&x->b, OP_add, sum, ir_build_scalar(&x->b, IR_f32, more)));
	output(x, "z", ir_build2(&x->b, OP_mul, a, ir_build_scalar(&x->b, IR_f32, scale)));
}

static void
what_rounding_alone_changes_may_differ(void **state)
{
	struct bench *x = *state, *y = bench_create(), *z = bench_create(), *far = bench_create();
	leftovers(far, true, 0.1, 5);
	leftovers(x, false, 0, 5);
	leftovers(y, true, 0, 5);
	leftovers(z, true, 0, 5.001);
	assert_true(interp_check_modules(x->m, y->m, NULL));
	assert_false(interp_check_modules(x->m, z->m, NULL)); /* the other output still is */
	assert_non_null(strstr(z->message, "output \"z\" in step 0: "));
	assert_false(interp_check_modules(y->m, x->m, NULL));   /* rounding does not change 0 */
	assert_false(interp_check_modules(x->m, far->m, NULL)); /* more than it changes the other */
	talloc_free(far);
	talloc_free(y);
	talloc_free(z);
}

/* w' = w - rate * w, reported before: the outputs of step 0 are equal whatever the rate. */
static void
decay(struct bench *x, double rate)
{
	struct ir_value *w =
		source(x, OP_param, "w", type_of(x, IR_f32, DIMS(4), COPIED, COPIED, COPIED));
	output(x, "w", w);
	if (rate == 0)
		return;
	struct ir_value *d = ir_build2(&x->b, OP_mul, w, ir_build_scalar(&x->b, IR_f32, rate));
	effect(x, OP_update, NULL, OPERANDS(w, ir_build2(&x->b, OP_sub, w, d)));
}

static void
updates_are_compared(void **state)
{
	struct bench *x = *state, *y = bench_create(), *none = bench_create();
	decay(x, 0.5);
	decay(y, 0.25);
	decay(none, 0);
	assert_true(interp_check_modules(x->m, x->m, NULL));
	assert_false(interp_check_modules(x->m, y->m, NULL));
	assert_non_null(strstr(y->message, "param \"w\""));
	assert_true(interp_check_modules(none->m, y->m, NULL));  /* an optimizer was added */
	assert_false(interp_check_modules(y->m, none->m, NULL)); /* and here one was lost */
	talloc_free(y);
	talloc_free(none);
}

static void
differences_are_located(void **state)
{
	struct bench *x = *state;
	struct tensor *a = tensor_create(x, IR_f64, DIMS(3, 4)),
		      *b = tensor_create(x, IR_f64, DIMS(3, 4));
	struct tensor_diff d;
	a->data[0].f = b->data[0].f = 100;
	a->data[2].f = b->data[2].f = NAN;
	assert_true(tensor_compare(a, b, 0, &d));
	a->data[5].f = 1;
	a->data[10].f = 2;
	b->data[10].f = -3;
	assert_true(tensor_compare(a, b, 0.06, NULL)); /* relative to the largest element */
	assert_false(tensor_compare(a, b, 0.001, &d));
	assert_int_equal(d.count, 2);
	assert_int_equal(d.first, 5);
	assert_int_equal(d.worst, 10);
	assert_true(d.a == 2 && d.b == -3);
	assert_string_equal(tensor_index_text(x, a, d.worst), "[2,2]");
	b->data[1].f = INFINITY;
	assert_false(tensor_compare(a, b, 1, NULL));
}

static void
printing_a_run(void **state)
{
	struct bench *x = *state;
	struct ir_value *s =
		source(x, OP_state, "n", type_of(x, IR_i32, SCALAR_DIMS, COPIED, COPIED, COPIED));
	effect(x, OP_update, NULL,
		OPERANDS(s, ir_build2(&x->b, OP_add, s, ir_build_scalar(&x->b, IR_i32, 1))));
	output(x, "n", s);
	struct ir_type t = {.dtype = IR_f32, .rank = 2, .dim = {2, 3}};
	output(x, "iota",
		ir_build_typed(&x->b, OP_iota, NULL, NULL, 0, (struct ir_attr[]){INT(x, "dim", 1)},
			1, ir_type_intern(x->ctx, &t)));
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_true(interp_run_print(x->m, &(struct interp_options){.steps = 2}, out));
	fclose(out);
	assert_string_equal(text, "step 0 n = 0\nstep 0 iota = [[0, 1, 2], [0, 1, 2]]\n"
				  "step 1 n = 1\nstep 1 iota = [[0, 1, 2], [0, 1, 2]]\n");
	free(text);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)
	const struct CMUnitTest tests[] = {TEST(initial_values_are_the_runtimes),
		TEST(an_unknown_init_is_reported), TEST(random_inputs_are_by_name_and_seed),
		TEST(rows_of_a_data_set), TEST(a_data_set_that_does_not_fit_is_reported),
		TEST(updates_take_effect_after_the_step), TEST(a_released_value_cannot_be_read),
		cmocka_unit_test(rounding_to_half_precision), TEST(equal_modules_and_others),
		TEST(what_rounding_alone_changes_may_differ), TEST(updates_are_compared),
		TEST(differences_are_located), TEST(printing_a_run)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
