/* Every op of the table against a closed form or a loop of its own. */
#include "test/ir/interp/build.h"

#include "runtime/kernel/rng.h"

#include <float.h>
#include <math.h>

static double
wave(int64_t i)
{
	return sin((double)i * 0.7 + 0.3) * 2;
}

static double
positive(int64_t i)
{
	return 0.25 + (double)(i % 13) * 0.4;
}

static double
ramp(int64_t i)
{
	return (double)(i * 7 % 23) - 11;
}

static void
close_to(double have, double want)
{
	if (!(fabs(have - want) <= 1e-12 * fmax(1, fabs(want))))
		fail_msg("%.17g is not %.17g", have, want);
}

/* --- pointwise ----------------------------------------------------------------------------------
 */

static double
relu(double v)
{
	return v > 0 ? v : 0;
}

static double
gelu(double v)
{
	return 0.5 * v * (1 + erf(v / sqrt(2)));
}

static double
rsqrt(double v)
{
	return 1 / sqrt(v);
}

static double
sigmoid(double v)
{
	return 1 / (1 + exp(-v));
}

static double
minus(double v)
{
	return -v;
}

static double
same(double v)
{
	return v;
}

/* Between -0.95 and 0.95. */
static double
below_one(int64_t i)
{
	return wave(i) * 0.475;
}

static double
above_one(int64_t i)
{
	return 1 + positive(i);
}

/* Halves, both zeros among them, and numbers beside. */
static double
halves(int64_t i)
{
	return (double)(i % 21 - 10) / 2 + (i % 3 ? 0 : 0.125);
}

static double
log_of_1_plus_exp(double v)
{
	return log1p(exp(v));
}

static double
square(double v)
{
	return v * v;
}

static double
silu(double v)
{
	return v / (1 + exp(-v));
}

static double
gelu_tanh(double v)
{
	return v / 2 * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * pow(v, 3))));
}

static double
leaky_relu(double v)
{
	return fmax(v, v / 100);
}

static double
elu(double v)
{
	return v > 0 ? v : exp(v) - 1;
}

static double
sign(double v)
{
	return (v > 0) - (v < 0);
}

/* Halves away from zero but where that is odd. */
static double
round_to_even(double v)
{
	const double away = round(v);
	return fabs(v - trunc(v)) == 0.5 && fmod(away, 2) != 0 ? trunc(v) : away;
}

static const struct {
	enum op_code op;
	double (*f)(double);
	double (*in)(int64_t);
} unary[] = {{OP_neg, minus, wave}, {OP_abs, fabs, wave}, {OP_exp, exp, wave},
	{OP_log, log, positive}, {OP_tanh, tanh, wave}, {OP_erf, erf, wave},
	{OP_sqrt, sqrt, positive}, {OP_rsqrt, rsqrt, positive}, {OP_sigmoid, sigmoid, wave},
	{OP_sin, sin, wave}, {OP_cos, cos, wave}, {OP_relu, relu, wave}, {OP_gelu, gelu, wave},
	{OP_stop_gradient, same, wave}, {OP_log1p, log1p, positive}, {OP_expm1, expm1, wave},
	{OP_log2, log2, positive}, {OP_exp2, exp2, wave}, {OP_tan, tan, wave},
	{OP_asin, asin, below_one}, {OP_acos, acos, below_one}, {OP_atan, atan, wave},
	{OP_sinh, sinh, wave}, {OP_cosh, cosh, wave}, {OP_asinh, asinh, wave},
	{OP_acosh, acosh, above_one}, {OP_atanh, atanh, below_one}, {OP_cbrt, cbrt, wave},
	{OP_erfc, erfc, wave}, {OP_floor, floor, halves}, {OP_ceil, ceil, halves},
	{OP_trunc, trunc, halves}, {OP_round, round_to_even, halves}, {OP_sign, sign, halves},
	{OP_softplus, log_of_1_plus_exp, wave}, {OP_square, square, wave}, {OP_silu, silu, wave},
	{OP_gelu_tanh, gelu_tanh, wave}, {OP_leaky_relu, leaky_relu, wave}, {OP_elu, elu, wave},
	{OP_clamp, same, wave}};

/* Longer than a strip of registers, so that its border is met. */
static void
one_operand(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof unary / sizeof unary[0]; k++) {
		struct bench *x = bench_create();
		output(x, "r", ir_build1(&x->b, unary[k].op, input(x, "a", IR_f64, DIMS(2, 301))));
		struct interp *it = interpreter(x, false);
		const struct tensor *a = filled(x, IR_f64, DIMS(2, 301), unary[k].in);
		set(it, "a", a);
		step(x, it, 0);
		const struct tensor *r = interp_output(it, "r");
		for (int i = 0; i < 602; i++)
			close_to(r->data[i].f, unary[k].f(a->data[i].f));
		talloc_free(x);
	}
}

/* Floats that are narrower are rounded once, after the op. */
static void
results_are_rounded(void **state)
{
	struct bench *x = *state;
	output(x, "r", ir_build1(&x->b, OP_exp, input(x, "a", IR_f32, DIMS(50))));
	const struct tensor *a = filled(x, IR_f32, DIMS(50), wave);
	struct interp *it = interpreter(x, false), *f64 = interpreter(x, true);
	set(it, "a", a);
	set(f64, "a", a);
	step(x, it, 0);
	step(x, f64, 0);
	for (int i = 0; i < 50; i++) {
		assert_true(interp_output(it, "r")->data[i].f == (double)(float)exp(a->data[i].f));
		assert_true(interp_output(f64, "r")->data[i].f == exp(a->data[i].f));
	}
}

static double
f_add(double a, double b)
{
	return a + b;
}
static double
f_sub(double a, double b)
{
	return a - b;
}
static double
f_mul(double a, double b)
{
	return a * b;
}
static double
f_div(double a, double b)
{
	return a / b;
}
static double
f_eq(double a, double b)
{
	return a == b;
}
static double
f_ne(double a, double b)
{
	return a != b;
}
static double
f_lt(double a, double b)
{
	return a < b;
}
static double
f_le(double a, double b)
{
	return a <= b;
}
static double
f_gt(double a, double b)
{
	return a > b;
}
static double
f_ge(double a, double b)
{
	return a >= b;
}

static const struct {
	enum op_code op;
	double (*f)(double, double);
	bool compares;
} binary[] = {{OP_add, f_add, false}, {OP_sub, f_sub, false}, {OP_mul, f_mul, false},
	{OP_div, f_div, false}, {OP_maximum, fmax, false}, {OP_minimum, fmin, false},
	{OP_pow, pow, false}, {OP_rem, fmod, false}, {OP_atan2, atan2, false}, {OP_eq, f_eq, true},
	{OP_ne, f_ne, true}, {OP_lt, f_lt, true}, {OP_le, f_le, true}, {OP_gt, f_gt, true},
	{OP_ge, f_ge, true}};

/* [2,3,4] with [3,1]: dims are matched from the right, a size of 1 is repeated. */
static void
two_operands_broadcast(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof binary / sizeof binary[0]; k++) {
		struct bench *x = bench_create();
		struct ir_value *v = input(x, "a", IR_f64, DIMS(2, 3, 4));
		output(x, "r",
			ir_build2(&x->b, binary[k].op, v, input(x, "b", IR_f64, DIMS(3, 1))));
		struct interp *it = interpreter(x, false);
		const struct tensor *a = filled(x, IR_f64, DIMS(2, 3, 4), positive);
		const struct tensor *b = filled(x, IR_f64, DIMS(3, 1), positive);
		set(it, "a", a);
		set(it, "b", b);
		step(x, it, 0);
		const struct tensor *r = interp_output(it, "r");
		for (int i = 0; i < 24; i++) {
			const double want = binary[k].f(a->data[i].f, b->data[i / 4 % 3].f);
			close_to(binary[k].compares ? (double)r->data[i].i : r->data[i].f, want);
		}
		talloc_free(x);
	}
}

/* Integers wrap to their width, division truncates and x / 0 is 0. */
static void
integers(void **state)
{
	(void)state;
	static const struct {
		enum op_code op;
		enum ir_dtype t;
		int64_t a, b, want;
	} table[] = {{OP_add, IR_i8, 100, 100, -56}, {OP_add, IR_u8, 200, 100, 44},
		{OP_sub, IR_u8, 1, 2, 255}, {OP_mul, IR_i32, 65536, 65536, 0},
		{OP_div, IR_i32, -7, 2, -3}, {OP_div, IR_i32, 7, 0, 0},
		{OP_maximum, IR_i64, -5, 3, 3}, {OP_minimum, IR_i64, -5, 3, -5},
		{OP_add, IR_i64, INT64_MAX, 1, INT64_MIN},
		{OP_mul, IR_i64, INT64_MIN, -1, INT64_MIN},
		{OP_div, IR_i64, INT64_MIN, -1, INT64_MIN}, {OP_lt, IR_i32, -1, 1, 1},
		{OP_rem, IR_i32, -7, 2, -1}, {OP_rem, IR_i32, 7, -2, 1}, {OP_rem, IR_u8, 200, 7, 4},
		{OP_rem, IR_i64, INT64_MIN, -1, 0}, {OP_rem, IR_i8, 7, 0, 7},
		{OP_and, IR_i32, 12, 10, 8}, {OP_or, IR_i8, 12, 10, 14}, {OP_xor, IR_u8, 12, 10, 6},
		{OP_and, IR_i64, -1, INT64_MIN, INT64_MIN}, {OP_xor, IR_i8, -1, 1, -2},
		{OP_shift_left, IR_i32, 3, 4, 48}, {OP_shift_left, IR_i8, 1, 7, -128},
		{OP_shift_left, IR_u8, 255, 1, 254}, {OP_shift_left, IR_i32, 1, 32, 0},
		{OP_shift_left, IR_i64, -3, 62, INT64_C(1) << 62},
		{OP_shift_left, IR_i32, 1, -1, 0}, {OP_shift_right, IR_i32, -9, 2, -3},
		{OP_shift_right, IR_u8, 200, 3, 25}, {OP_shift_right, IR_i8, -2, 8, -1},
		{OP_shift_right, IR_u8, 255, 8, 0}, {OP_shift_right, IR_i64, INT64_MIN, 63, -1},
		{OP_shift_right, IR_i32, -5, -1, -1}, {OP_shift_right_logical, IR_i8, -2, 1, 127},
		{OP_shift_right_logical, IR_i32, -1, 28, 15},
		{OP_shift_right_logical, IR_i64, -1, 63, 1},
		{OP_shift_right_logical, IR_u8, 255, 4, 15},
		{OP_shift_right_logical, IR_i8, -1, 8, 0},
		{OP_shift_right_logical, IR_i32, -1, -1, 0},
		/* 16 bits; 32 and 64 without a sign: -1 is the largest */
		{OP_add, IR_i16, 32767, 1, -32768}, {OP_mul, IR_u16, 65535, 65535, 1},
		{OP_sub, IR_u16, 0, 1, 65535}, {OP_add, IR_u32, UINT32_MAX, 1, 0},
		{OP_mul, IR_u32, UINT32_MAX, UINT32_MAX, 1}, {OP_add, IR_u64, -1, 1, 0},
		{OP_mul, IR_u64, -1, -1, 1}, {OP_mul, IR_u64, INT64_MIN, 2, 0},
		{OP_sub, IR_u64, 0, 1, -1}, {OP_div, IR_u64, -1, 2, INT64_MAX},
		{OP_div, IR_u64, 7, -1, 0}, {OP_div, IR_u64, -1, 0, 0}, {OP_rem, IR_u64, -1, 10, 5},
		{OP_rem, IR_u64, -1, 0, -1}, {OP_div, IR_u32, UINT32_MAX, UINT32_MAX, 1},
		{OP_maximum, IR_u64, -1, 1, -1}, {OP_minimum, IR_u64, -1, 1, 1},
		{OP_lt, IR_u64, -1, 1, 0}, {OP_gt, IR_u64, INT64_MIN, INT64_MAX, 1},
		{OP_shift_right, IR_u64, -1, 63, 1}, {OP_shift_right_logical, IR_u64, -1, 63, 1},
		{OP_shift_right, IR_u64, -1, 64, 0}, {OP_shift_left, IR_u64, 3, 63, INT64_MIN},
		{OP_shift_left, IR_u64, 1, -1, 0}, {OP_shift_right, IR_u32, UINT32_MAX, 31, 1},
		{OP_shift_left, IR_u16, 1, 15, 32768}, {OP_shift_right, IR_i16, -32768, 15, -1},
		{OP_xor, IR_u64, -1, 1, -2}, {OP_div, IR_i16, -32768, -1, -32768}};
	for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
		struct bench *x = bench_create();
		struct ir_value *a = input(x, "a", table[k].t, SCALAR_DIMS);
		output(x, "r",
			ir_build2(&x->b, table[k].op, a, input(x, "b", table[k].t, SCALAR_DIMS)));
		struct interp *it = interpreter(x, false);
		struct tensor *t = tensor_create(x, table[k].t, SCALAR_DIMS);
		t->data->i = table[k].a;
		set(it, "a", t);
		t->data->i = table[k].b;
		set(it, "b", t);
		step(x, it, 0);
		assert_int_equal(interp_output(it, "r")->data->i, table[k].want);
		talloc_free(x);
	}
}

static void
logic_and_select(void **state)
{
	struct bench *x = *state;
	struct ir_value *p = input(x, "p", IR_bool, DIMS(4)), *q = input(x, "q", IR_bool, DIMS(4));
	struct ir_value *a = input(x, "a", IR_i32, DIMS(4)),
			*b = input(x, "b", IR_i32, SCALAR_DIMS);
	output(x, "and", ir_build2(&x->b, OP_and, p, q));
	output(x, "or", ir_build2(&x->b, OP_or, p, q));
	output(x, "xor", ir_build2(&x->b, OP_xor, p, q));
	output(x, "not", ir_build1(&x->b, OP_not, p));
	output(x, "not_a", ir_build1(&x->b, OP_not, a));
	output(x, "select", build(x, OP_select, OPERANDS(p, a, b), NO_ATTRS));
	struct interp *it = interpreter(x, false);
	struct tensor *tp = tensor_create(x, IR_bool, DIMS(4)),
		      *tq = tensor_create(x, IR_bool, DIMS(4));
	for (int i = 0; i < 4; i++) {
		tp->data[i].i = i >> 1;
		tq->data[i].i = i & 1;
	}
	set(it, "p", tp);
	set(it, "q", tq);
	const struct tensor *ta = filled(x, IR_i32, DIMS(4), ramp);
	set(it, "a", ta);
	struct tensor *tb = tensor_create(x, IR_i32, SCALAR_DIMS);
	tb->data->i = 77;
	set(it, "b", tb);
	step(x, it, 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(interp_output(it, "and")->data[i].i, i == 3);
		assert_int_equal(interp_output(it, "or")->data[i].i, i != 0);
		assert_int_equal(interp_output(it, "xor")->data[i].i, i == 1 || i == 2);
		assert_int_equal(interp_output(it, "not")->data[i].i, i < 2);
		assert_int_equal(interp_output(it, "not_a")->data[i].i, -1 - ta->data[i].i);
		assert_int_equal(
			interp_output(it, "select")->data[i].i, i < 2 ? 77 : ta->data[i].i);
	}
}

static void
classes_of_floats(void **state)
{
	struct bench *x = *state;
	static const double v[] = {
		0, -0.0, 1, DBL_MAX, -DBL_MAX, DBL_TRUE_MIN, INFINITY, -INFINITY, NAN};
	enum { N = sizeof v / sizeof *v };
	struct ir_value *a = input(x, "a", IR_f64, DIMS(N));
	output(x, "finite", ir_build1(&x->b, OP_is_finite, a));
	output(x, "inf", ir_build1(&x->b, OP_is_inf, a));
	output(x, "nan", ir_build1(&x->b, OP_is_nan, a));
	struct interp *it = interpreter(x, false);
	struct tensor *t = tensor_create(x, IR_f64, DIMS(N));
	for (int i = 0; i < N; i++)
		t->data[i].f = v[i];
	set(it, "a", t);
	step(x, it, 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(interp_output(it, "finite")->data[i].i, i < 6);
		assert_int_equal(interp_output(it, "inf")->data[i].i, i == 6 || i == 7);
		assert_int_equal(interp_output(it, "nan")->data[i].i, i == 8);
	}
}

/* Bounds that are missing bound nothing; an integer's bound may be none that its type holds. */
static void
clamp(void **state)
{
	struct bench *x = *state;
	struct ir_value *a = input(x, "a", IR_f64, DIMS(40)), *i = input(x, "i", IR_i8, DIMS(40));
	const struct ir_attr low = ir_make_float(x->ctx, "low", -0.5),
			     high = ir_make_float(x->ctx, "high", 1.25),
			     far = ir_make_float(x->ctx, "low", -1000), three = INT(x, "high", 3);
	output(x, "both", build(x, OP_clamp, OPERANDS(a), ATTRS(low, high)));
	output(x, "low", build(x, OP_clamp, OPERANDS(a), 1, &low));
	output(x, "high", build(x, OP_clamp, OPERANDS(a), 1, &high));
	output(x, "int", build(x, OP_clamp, OPERANDS(i), ATTRS(far, three)));
	struct interp *it = interpreter(x, false);
	const struct tensor *ta = filled(x, IR_f64, DIMS(40), wave),
			    *ti = filled(x, IR_i8, DIMS(40), ramp);
	set(it, "a", ta);
	set(it, "i", ti);
	step(x, it, 0);
	for (int k = 0; k < 40; k++) {
		const double v = ta->data[k].f;
		assert_true(interp_output(it, "both")->data[k].f == fmin(fmax(v, -0.5), 1.25));
		assert_true(interp_output(it, "low")->data[k].f == fmax(v, -0.5));
		assert_true(interp_output(it, "high")->data[k].f == fmin(v, 1.25));
		const int64_t n = ti->data[k].i;
		assert_int_equal(interp_output(it, "int")->data[k].i, n < 3 ? n : 3);
	}
}

static void
convert(void **state)
{
	(void)state;
	static const struct {
		enum ir_dtype from, to;
		double v, want;
	} table[] = {{IR_f32, IR_i32, -2.75, -2}, {IR_f32, IR_i8, 300, 127}, {IR_f32, IR_u8, -4, 0},
		{IR_f64, IR_i64, 1e30, 9223372036854775807.0}, {IR_f64, IR_i32, NAN, 0},
		{IR_f32, IR_bool, 0.5, 1}, {IR_i32, IR_i8, 300, 44},
		{IR_i32, IR_f32, 16777217, 16777216}, {IR_i32, IR_bool, 2, 1},
		{IR_f64, IR_f32, 0.1, 0.1f}, {IR_f64, IR_f16, 1e6, INFINITY},
		{IR_f64, IR_bf16, 1.00390625, 1}};
	for (size_t k = 0; k < sizeof table / sizeof table[0]; k++) {
		struct bench *x = bench_create();
		struct ir_value *a = input(x, "a", table[k].from, SCALAR_DIMS);
		struct ir_attr to = ir_make_dtype(x->ctx, "to", table[k].to);
		output(x, "r", build(x, OP_convert, OPERANDS(a), 1, &to));
		struct interp *it = interpreter(x, false);
		struct tensor *t = tensor_create(x, table[k].from, SCALAR_DIMS);
		if (ir_dtype_class(table[k].from) == IR_FLOAT)
			t->data->f = table[k].v;
		else
			t->data->i = (int64_t)table[k].v;
		set(it, "a", t);
		step(x, it, 0);
		const union cell r = *interp_output(it, "r")->data;
		const double have = ir_dtype_class(table[k].to) == IR_FLOAT ? r.f : (double)r.i;
		assert_true(have == table[k].want);
		talloc_free(x);
	}
}

/* --- sources ------------------------------------------------------------------------------------
 */

static void
sources(void **state)
{
	struct bench *x = *state;
	const struct ir_type *t = type_of(x, IR_f64, DIMS(3, 5), COPIED, COPIED, COPIED);
	const struct ir_attr value = ir_make_float(x->ctx, "value", 2.5), dim = INT(x, "dim", 1),
			     seed = INT(x, "seed", 9);
	output(x, "constant", ir_build_typed(&x->b, OP_constant, NULL, NULL, 0, &value, 1, t));
	output(x, "iota", ir_build_typed(&x->b, OP_iota, NULL, NULL, 0, &dim, 1, t));
	output(x, "uniform", ir_build_typed(&x->b, OP_uniform, NULL, NULL, 0, &seed, 1, t));
	output(x, "normal", ir_build_typed(&x->b, OP_normal, NULL, NULL, 0, &seed, 1, t));
	struct interp *it = interpreter(x, false);
	step(x, it, 0);
	for (int i = 0; i < 15; i++) {
		assert_true(interp_output(it, "constant")->data[i].f == 2.5);
		assert_true(interp_output(it, "iota")->data[i].f == i % 5);
		assert_true(interp_output(it, "uniform")->data[i].f ==
			    rt_uniform(rt_mix64(9), (uint64_t)i));
		assert_true(interp_output(it, "normal")->data[i].f ==
			    rt_normal(rt_mix64(9), (uint64_t)i));
	}
}

/* Numbers of a step: name, seed, counter and position decide, and x gives no more than the shape.
 */
static void
random_ops(void **state)
{
	struct bench *x = *state;
	const struct ir_attr seed = INT(x, "seed", 9), bits = ir_make_dtype(x->ctx, "to", IR_i64);
	struct ir_value *v = input(x, "x", IR_f64, DIMS(3, 5)),
			*n = input(x, "n", IR_i64, SCALAR_DIMS);
	static const char *const name[] = {"a", "b"};
	for (int i = 0; i < 2; i++) {
		struct ir_value *u = build(x, OP_random_uniform, OPERANDS(n, v), 1, &seed);
		u->op->symbol = ir_name(x->ctx, name[i]);
		output(x, i ? "u2" : "u", u);
	}
	struct ir_value *normal = build(x, OP_random_normal, OPERANDS(n, v), 1, &seed);
	struct ir_value *b = build(x, OP_random_bits, OPERANDS(n, v), 1, &bits);
	normal->op->symbol = b->op->symbol = ir_name(x->ctx, "a");
	output(x, "normal", normal);
	output(x, "bits", b);
	struct interp *it = interpreter(x, false);
	struct tensor *count = tensor_create(x, IR_i64, SCALAR_DIMS);
	for (int64_t k = 0; k < 3; k++) {
		count->data->i = k << 40 | 77;
		set(it, "n", count);
		step(x, it, k);
		for (int64_t i = 0; i < 15; i++) {
			const int64_t a = (int64_t)(rt_key(0, 9, "a") >> 11),
				      c = (int64_t)(rt_key(0, 9, "b") >> 11),
				      d = (int64_t)(rt_key(0, 0, "a") >> 11);
			const int64_t at = count->data->i;
			assert_true(interp_output(it, "u")->data[i].f == rt_draw_uniform(a, at, i));
			assert_true(
				interp_output(it, "u2")->data[i].f == rt_draw_uniform(c, at, i));
			assert_true(interp_output(it, "normal")->data[i].f ==
				    (double)(float)rt_draw_normal(a, at, i));
			assert_true(interp_output(it, "bits")->data[i].i == rt_draw_bits(d, at, i));
		}
	}
}

/* --- products -----------------------------------------------------------------------------------
 */

/* Sizes that no tile divides, and more inner elements than a panel holds. */
static void
matmul(void **state)
{
	struct bench *x = *state;
	enum { B = 2, M = 7, K = 300, N = 11 };
	struct ir_value *va = input(x, "a", IR_f64, DIMS(B, M, K)),
			*vb = input(x, "b", IR_f64, DIMS(K, N));
	output(x, "r", ir_build2(&x->b, OP_matmul, va, vb));
	const struct tensor *a = filled(x, IR_f64, DIMS(B, M, K), wave),
			    *b = filled(x, IR_f64, DIMS(K, N), wave);
	struct interp *it = interpreter(x, false);
	set(it, "a", a);
	set(it, "b", b);
	step(x, it, 0);
	const struct tensor *r = interp_output(it, "r");
	assert_int_equal(tensor_elements(r), B * M * N);
	for (int i = 0; i < B * M; i++)
		for (int n = 0; n < N; n++) {
			double sum = 0;
			for (int k = 0; k < K; k++)
				sum += a->data[i * K + k].f * b->data[k * N + n].f;
			close_to(r->data[i * N + n].f, sum);
		}
}

static void
matmul_of_integers(void **state)
{
	struct bench *x = *state;
	struct ir_value *va = input(x, "a", IR_i32, DIMS(3, 4)),
			*vb = input(x, "b", IR_i32, DIMS(4, 2));
	output(x, "r", ir_build2(&x->b, OP_matmul, va, vb));
	const struct tensor *a = filled(x, IR_i32, DIMS(3, 4), ramp),
			    *b = filled(x, IR_i32, DIMS(4, 2), ramp);
	struct interp *it = interpreter(x, false);
	set(it, "a", a);
	set(it, "b", b);
	step(x, it, 0);
	for (int i = 0; i < 6; i++) {
		int64_t sum = 0;
		for (int k = 0; k < 4; k++)
			sum += a->data[i / 2 * 4 + k].i * b->data[k * 2 + i % 2].i;
		assert_int_equal(interp_output(it, "r")->data[i].i, sum);
	}
}

static struct tensor *
contraction(struct bench *x, const char *spec, const struct tensor *a, const struct tensor *b)
{
	struct ir_value *v[2] = {input(x, "a", IR_f64, a->rank, a->dim),
		b ? input(x, "b", IR_f64, b->rank, b->dim) : NULL};
	struct ir_attr attr = ir_make_string(x->ctx, "spec", spec);
	output(x, "r", build(x, OP_contract, b ? 2 : 1, v, 1, &attr));
	struct interp *it = interpreter(x, false);
	set(it, "a", a);
	if (b)
		set(it, "b", b);
	step(x, it, 0);
	return tensor_copy(x, interp_output(it, "r"));
}

/* The scores of an attention: batch and head are batch indices that are not leading. */
static void
contract_attention(void **state)
{
	struct bench *x = *state;
	enum { B = 2, S = 5, T = 6, H = 3, D = 4 };
	const struct tensor *a = filled(x, IR_f64, DIMS(B, S, H, D), wave);
	const struct tensor *b = filled(x, IR_f64, DIMS(B, T, H, D), positive);
	const struct tensor *r = contraction(x, "bshd,bthd->bhst", a, b);
	for (int i = 0; i < B * H * S * T; i++) {
		const int t = i % T, s = i / T % S, h = i / T / S % H, n = i / T / S / H;
		double sum = 0;
		for (int d = 0; d < D; d++)
			sum += a->data[((n * S + s) * H + h) * D + d].f *
			       b->data[((n * T + t) * H + h) * D + d].f;
		close_to(r->data[i].f, sum);
	}
}

/* An index of one operand alone is summed: no matrix product, the general loops. */
static void
contract_sums_out(void **state)
{
	struct bench *x = *state;
	const struct tensor *a = filled(x, IR_f64, DIMS(3, 4), wave),
			    *b = filled(x, IR_f64, DIMS(3, 5), wave);
	const struct tensor *r = contraction(x, "ij,ik->k", a, b);
	for (int k = 0; k < 5; k++) {
		double sum = 0;
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 4; j++)
				sum += a->data[i * 4 + j].f * b->data[i * 5 + k].f;
		close_to(r->data[k].f, sum);
	}
}

/* --- reductions ---------------------------------------------------------------------------------
 */

static double
reduce4(enum op_code op, const double *v, int n)
{
	double sum = 0, product = 1, most = v[0], least = v[0];
	for (int i = 0; i < n; i++) {
		sum += v[i];
		product *= v[i];
		most = fmax(most, v[i]);
		least = fmin(least, v[i]);
	}
	return op == OP_prod   ? product
	       : op == OP_sum  ? sum
	       : op == OP_mean ? sum / n
	       : op == OP_max  ? most
			       : least;
}

static void
reductions(void **state)
{
	(void)state;
	static const enum op_code ops[] = {OP_sum, OP_mean, OP_max, OP_min, OP_prod};
	for (int k = 0; k < 5; k++) {
		struct bench *x = bench_create();
		struct ir_value *v = input(x, "a", IR_f64, DIMS(2, 3, 4));
		const struct ir_attr keep = ir_make_bool(x->ctx, "keep", true);
		output(x, "all", build(x, ops[k], OPERANDS(v), NO_ATTRS));
		output(x, "middle", build(x, ops[k], OPERANDS(v), ATTRS(INTS(x, "dims", 1))));
		output(x, "kept",
			build(x, ops[k], OPERANDS(v), ATTRS(INTS(x, "dims", 0, -1), keep)));
		struct interp *it = interpreter(x, false);
		const struct tensor *a = filled(x, IR_f64, DIMS(2, 3, 4), wave);
		set(it, "a", a);
		step(x, it, 0);
		double list[24];
		for (int i = 0; i < 24; i++)
			list[i] = a->data[i].f;
		close_to(interp_output(it, "all")->data->f, reduce4(ops[k], list, 24));
		for (int i = 0; i < 8; i++) {
			for (int j = 0; j < 3; j++)
				list[j] = a->data[(i / 4 * 3 + j) * 4 + i % 4].f;
			close_to(interp_output(it, "middle")->data[i].f, reduce4(ops[k], list, 3));
		}
		const struct tensor *kept = interp_output(it, "kept");
		assert_int_equal(kept->rank, 3);
		for (int i = 0; i < 3; i++) {
			for (int j = 0; j < 8; j++)
				list[j] = a->data[(j / 4 * 3 + i) * 4 + j % 4].f;
			close_to(kept->data[i].f, reduce4(ops[k], list, 8));
		}
		talloc_free(x);
	}
}

/* Divided once: of ones it is 1, whatever their number. */
static void
means_of_ones(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = input(x, "a", IR_f32, DIMS(1437));
	output(x, "r", build(x, OP_mean, OPERANDS(v), NO_ATTRS));
	struct interp *it = interpreter(x, false);
	struct tensor *a = tensor_create(x, IR_f32, DIMS(1437));
	for (int i = 0; i < 1437; i++)
		a->data[i].f = 1;
	set(it, "a", a);
	step(x, it, 0);
	assert_true(interp_output(it, "r")->data->f == 1);
}

/* Of rows with 0 to 4 that hold. Integers wrap. */
static void
reductions_of_truths_and_integers(void **state)
{
	struct bench *x = *state;
	struct ir_value *p = input(x, "p", IR_bool, DIMS(5, 4)),
			*n = input(x, "n", IR_i8, DIMS(5, 4));
	const struct ir_attr dims = INTS(x, "dims", 1);
	output(x, "any", build(x, OP_any, OPERANDS(p), 1, &dims));
	output(x, "all", build(x, OP_all, OPERANDS(p), 1, &dims));
	output(x, "prod", build(x, OP_prod, OPERANDS(n), 1, &dims));
	struct interp *it = interpreter(x, false);
	struct tensor *t = tensor_create(x, IR_bool, DIMS(5, 4)),
		      *v = tensor_create(x, IR_i8, DIMS(5, 4));
	for (int i = 0; i < 20; i++) {
		t->data[i].i = i % 4 < i / 4;
		v->data[i].i = 3 + i;
	}
	set(it, "p", t);
	set(it, "n", v);
	step(x, it, 0);
	for (int i = 0; i < 5; i++) {
		int product = 1;
		for (int k = 0; k < 4; k++)
			product *= 3 + i * 4 + k;
		assert_int_equal(interp_output(it, "any")->data[i].i, i > 0);
		assert_int_equal(interp_output(it, "all")->data[i].i, i == 4);
		assert_int_equal(interp_output(it, "prod")->data[i].i, (int8_t)product);
	}
}

/* The first of equals; NaN before all; over several dims the row-major number. */
static void
places_of_extremes(void **state)
{
	struct bench *x = *state;
	static const double rows[6][4] = {{1, 3, 2, 3}, {2, 0, 0, 1}, {NAN, 1, NAN, 5},
		{-INFINITY, -INFINITY, -1, -2}, {7, 7, 7, 7}, {0, -0.0, -5, 9}};
	static const int largest[6] = {1, 0, 0, 2, 0, 3}, smallest[6] = {0, 1, 0, 0, 0, 2};
	struct ir_value *a = input(x, "a", IR_f64, DIMS(6, 4)),
			*i = input(x, "i", IR_i8, DIMS(3, 2, 4));
	const struct ir_attr last = INTS(x, "dims", -1), keep = ir_make_bool(x->ctx, "keep", true);
	output(x, "max", build(x, OP_argmax, OPERANDS(a), 1, &last));
	output(x, "min", build(x, OP_argmin, OPERANDS(a), 1, &last));
	output(x, "first", build(x, OP_argmax, OPERANDS(i), ATTRS(INTS(x, "dims", 0), keep)));
	output(x, "both", build(x, OP_argmin, OPERANDS(i), ATTRS(INTS(x, "dims", 0, 2))));
	output(x, "all", build(x, OP_argmax, OPERANDS(i), NO_ATTRS));
	struct interp *it = interpreter(x, false);
	struct tensor *t = tensor_create(x, IR_f64, DIMS(6, 4));
	const struct tensor *n = filled(x, IR_i8, DIMS(3, 2, 4), ramp);
	for (int k = 0; k < 24; k++)
		t->data[k].f = rows[k / 4][k % 4];
	set(it, "a", t);
	set(it, "i", n);
	step(x, it, 0);
	for (int k = 0; k < 6; k++) {
		assert_int_equal(interp_output(it, "max")->data[k].i, largest[k]);
		assert_int_equal(interp_output(it, "min")->data[k].i, smallest[k]);
	}
	assert_int_equal(interp_output(it, "first")->rank, 3);
	for (int k = 0; k < 8; k++) {
		int best = 0;
		for (int d = 1; d < 3; d++)
			if (n->data[d * 8 + k].i > n->data[best * 8 + k].i)
				best = d;
		assert_int_equal(interp_output(it, "first")->data[k].i, best);
	}
	for (int r = 0; r < 2; r++) {
		int best = 0;
		for (int k = 1; k < 12; k++)
			if (n->data[(k / 4 * 2 + r) * 4 + k % 4].i <
				n->data[(best / 4 * 2 + r) * 4 + best % 4].i)
				best = k;
		assert_int_equal(interp_output(it, "both")->data[r].i, best);
	}
	int best = 0;
	for (int k = 1; k < 24; k++)
		best = n->data[k].i > n->data[best].i ? k : best;
	assert_int_equal(interp_output(it, "all")->data->i, best);
}

/* --- shapes -------------------------------------------------------------------------------------
 */

static void
shapes(void **state)
{
	struct bench *x = *state;
	struct ir_value *v = input(x, "a", IR_i32, DIMS(2, 3));
	output(x, "broadcast",
		build(x, OP_broadcast, OPERANDS(v),
			ATTRS(INTS(x, "shape", 2, 4, 3), INTS(x, "dims", 0, 2))));
	output(x, "leading", build(x, OP_broadcast, OPERANDS(v), ATTRS(INTS(x, "shape", 4, 2, 3))));
	output(x, "transpose", build(x, OP_transpose, OPERANDS(v), NO_ATTRS));
	output(x, "reshape", build(x, OP_reshape, OPERANDS(v), ATTRS(INTS(x, "shape", 3, 2))));
	struct ir_value *w = input(x, "w", IR_i32, DIMS(2, 3, 4));
	output(x, "perm", build(x, OP_transpose, OPERANDS(w), ATTRS(INTS(x, "perm", 2, 0, 1))));
	struct interp *it = interpreter(x, false);
	const struct tensor *a = filled(x, IR_i32, DIMS(2, 3), ramp),
			    *b = filled(x, IR_i32, DIMS(2, 3, 4), ramp);
	set(it, "a", a);
	set(it, "w", b);
	step(x, it, 0);
	for (int i = 0; i < 24; i++) {
		assert_int_equal(
			interp_output(it, "broadcast")->data[i].i, a->data[i / 12 * 3 + i % 3].i);
		assert_int_equal(interp_output(it, "leading")->data[i].i, a->data[i % 6].i);
		/* perm[p][q][r] with sizes 4,2,3 is w[q][r][p] */
		assert_int_equal(
			interp_output(it, "perm")->data[i].i, b->data[i % 6 * 4 + i / 6].i);
	}
	for (int i = 0; i < 6; i++) {
		assert_int_equal(
			interp_output(it, "transpose")->data[i].i, a->data[i % 2 * 3 + i / 2].i);
		assert_int_equal(interp_output(it, "reshape")->data[i].i, a->data[i].i);
	}
}

/* --- by index -----------------------------------------------------------------------------------
 */

enum { V = 5, W = 3, NI = 6 };
static const int64_t places[NI] = {4, 0, -1, 2, 5, 2}; /* -1 and 5 are out of range */

static bool
inside(int64_t i)
{
	return i >= 0 && i < V;
}

static void
by_index(void **state)
{
	struct bench *x = *state;
	struct ir_value *t = input(x, "t", IR_f64, DIMS(V, W)),
			*i = input(x, "i", IR_i32, DIMS(NI));
	struct ir_value *u = input(x, "u", IR_f64, DIMS(NI, W)),
			*s = input(x, "s", IR_f64, DIMS(NI, V));
	struct ir_value *e = input(x, "e", IR_f64, DIMS(NI));
	const struct ir_attr size = INT(x, "size", V), to = ir_make_dtype(x->ctx, "to", IR_f32);
	output(x, "gather", ir_build2(&x->b, OP_gather, t, i));
	output(x, "scatter_add", build(x, OP_scatter_add, OPERANDS(u, i), 1, &size));
	output(x, "pick", ir_build2(&x->b, OP_pick, s, i));
	output(x, "put", build(x, OP_put, OPERANDS(e, i), 1, &size));
	output(x, "one_hot", build(x, OP_one_hot, OPERANDS(i), ATTRS(size, to)));
	struct interp *it = interpreter(x, false);
	const struct tensor *tt = filled(x, IR_f64, DIMS(V, W), wave),
			    *tu = filled(x, IR_f64, DIMS(NI, W), positive);
	const struct tensor *ts = filled(x, IR_f64, DIMS(NI, V), wave),
			    *te = filled(x, IR_f64, DIMS(NI), wave);
	struct tensor *ti = tensor_create(x, IR_i32, DIMS(NI));
	for (int k = 0; k < NI; k++)
		ti->data[k].i = places[k];
	set(it, "t", tt);
	set(it, "i", ti);
	set(it, "u", tu);
	set(it, "s", ts);
	set(it, "e", te);
	step(x, it, 0);
	double added[V * W] = {0};
	for (int k = 0; k < NI; k++) {
		const int64_t v = places[k];
		for (int w = 0; w < W; w++) {
			close_to(interp_output(it, "gather")->data[k * W + w].f,
				inside(v) ? tt->data[v * W + w].f : 0);
			if (inside(v))
				added[v * W + w] += tu->data[k * W + w].f;
		}
		close_to(interp_output(it, "pick")->data[k].f,
			inside(v) ? ts->data[k * V + v].f : 0);
		for (int w = 0; w < V; w++) {
			close_to(interp_output(it, "put")->data[k * V + w].f,
				v == w ? te->data[k].f : 0);
			close_to(interp_output(it, "one_hot")->data[k * V + w].f, v == w);
		}
	}
	for (int k = 0; k < V * W; k++)
		close_to(interp_output(it, "scatter_add")->data[k].f, added[k]);
}

/* By a selection of its own: the smallest that is left, the first of equals. */
static bool
goes_first(double a, double b, bool descending)
{
	if (a != a || b != b)
		return a == a ? !descending && b != b : descending && b == b;
	return descending ? a > b : a < b;
}

static double
few(int64_t i)
{
	return i % 5 == 3 ? NAN : i % 7 == 2 ? -0.0 : (double)(i * 11 % 6) - 2;
}

static void
check_order(struct interp *it, const char *values, const char *positions, const struct tensor *a,
	int dim, bool descending)
{
	const struct tensor *v = interp_output(it, values), *p = interp_output(it, positions);
	int64_t inner = 1, outer = 1;
	for (int d = 0; d < a->rank; d++)
		*(d < dim ? &outer : &inner) *= d == dim ? 1 : a->dim[d];
	const int64_t n = a->dim[dim], k = v->dim[dim];
	for (int64_t r = 0; r < outer * inner; r++) {
		bool taken[64] = {false};
		for (int64_t i = 0; i < k; i++) {
			int64_t best = -1;
			for (int64_t c = 0; c < n; c++) {
				const int64_t row = r / inner * n * inner + r % inner;
				if (!taken[c] && (best < 0 || goes_first(a->data[row + c * inner].f,
								      a->data[row + best * inner].f,
								      descending)))
					best = c;
			}
			taken[best] = true;
			const int64_t at = (r / inner * k + i) * inner + r % inner;
			const double want = a->data[(r / inner * n + best) * inner + r % inner].f;
			assert_int_equal(p->data[at].i, best);
			assert_true(v->data[at].f == want ||
				    (want != want && v->data[at].f != v->data[at].f));
		}
	}
}

static void
in_order(void **state)
{
	struct bench *x = *state;
	struct ir_value *a = input(x, "a", IR_f64, DIMS(3, 17, 2));
	const struct ir_attr dim = INT(x, "dim", 1), k = INT(x, "k", 4),
			     down = ir_make_bool(x->ctx, "descending", true);
	struct ir_value *s = build(x, OP_sort, OPERANDS(a), 1, &dim);
	struct ir_value *d = build(x, OP_sort, OPERANDS(a), ATTRS(dim, down));
	struct ir_value *t = build(x, OP_topk, OPERANDS(a), ATTRS(k, dim));
	struct ir_value *l = build(x, OP_sort, OPERANDS(a), NO_ATTRS);
	output(x, "s", s);
	output(x, "sp", &s->op->result[1]);
	output(x, "d", d);
	output(x, "dp", &d->op->result[1]);
	output(x, "t", t);
	output(x, "tp", &t->op->result[1]);
	output(x, "l", l);
	output(x, "lp", &l->op->result[1]);
	struct interp *it = interpreter(x, false);
	const struct tensor *ta = filled(x, IR_f64, DIMS(3, 17, 2), few);
	set(it, "a", ta);
	step(x, it, 0);
	check_order(it, "s", "sp", ta, 1, false);
	check_order(it, "d", "dp", ta, 1, true);
	check_order(it, "t", "tp", ta, 1, true);
	check_order(it, "l", "lp", ta, 2, false);
}

/* A barrier: each result is its operand. */
static void
behind_a_barrier(void **state)
{
	struct bench *x = *state;
	struct ir_value *v[] = {input(x, "a", IR_f64, DIMS(3, 4)), input(x, "b", IR_f64, DIMS(5))};
	struct ir_value *r = ir_build_barrier(&x->b, v, 2);
	output(x, "ra", &r[0]);
	output(x, "rb", &r[1]);
	struct interp *it = interpreter(x, false);
	const struct tensor *a = filled(x, IR_f64, DIMS(3, 4), few),
			    *b = filled(x, IR_f64, DIMS(5), few);
	set(it, "a", a);
	set(it, "b", b);
	step(x, it, 0);
	const struct tensor *ra = interp_output(it, "ra"), *rb = interp_output(it, "rb");
	assert_memory_equal(ra->data, a->data, 12 * sizeof *a->data);
	assert_memory_equal(rb->data, b->data, 5 * sizeof *b->data);
}

/* Sums of all up to each element, from both ends, with and without it, one by one. */
static void
running_sums(void **state)
{
	enum { ROWS = 3, LENGTH = 700, COLUMNS = 2 };
	struct bench *x = *state;
	static const char *const name[] = {"with", "without", "back", "back without"};
	struct ir_value *a = input(x, "a", IR_f64, DIMS(ROWS, LENGTH, COLUMNS));
	const struct ir_attr dim = INT(x, "dim", 1);
	for (int k = 0; k < 4; k++) {
		const struct ir_attr exclusive = ir_make_bool(x->ctx, "exclusive", k & 1),
				     reverse = ir_make_bool(x->ctx, "reverse", k >> 1);
		output(x, name[k],
			build(x, OP_cumsum, OPERANDS(a), ATTRS(dim, exclusive, reverse)));
	}
	struct interp *it = interpreter(x, false);
	const struct tensor *ta = filled(x, IR_f64, DIMS(ROWS, LENGTH, COLUMNS), wave);
	set(it, "a", ta);
	step(x, it, 0);
	for (int row = 0; row < ROWS; row++)
		for (int column = 0; column < COLUMNS; column++) {
			const int64_t base = row * LENGTH * COLUMNS + column;
			double up = 0, all = 0;
			for (int i = 0; i < LENGTH; i++)
				all += ta->data[base + i * COLUMNS].f;
			for (int i = 0; i < LENGTH; i++) {
				const int64_t at = base + i * COLUMNS;
				const double v = ta->data[at].f;
				close_to(interp_output(it, name[0])->data[at].f, up + v);
				close_to(interp_output(it, name[1])->data[at].f, up);
				close_to(interp_output(it, name[2])->data[at].f, all - up);
				close_to(interp_output(it, name[3])->data[at].f, all - up - v);
				up += v;
			}
		}
}

static void
along_rows(void **state)
{
	struct bench *x = *state;
	struct ir_value *a = input(x, "a", IR_f64, DIMS(2, V)),
			*i = input(x, "i", IR_i32, DIMS(2, NI)),
			*u = input(x, "u", IR_f64, DIMS(2, NI));
	const struct ir_attr batch = INT(x, "batch", 1), sizes = INTS(x, "sizes", V);
	output(x, "pick", build(x, OP_gather_nd, OPERANDS(a, i), ATTRS(batch)));
	output(x, "put", build(x, OP_scatter_nd, OPERANDS(u, i), ATTRS(batch, sizes)));
	struct interp *it = interpreter(x, false);
	const struct tensor *ta = filled(x, IR_f64, DIMS(2, V), wave),
			    *tu = filled(x, IR_f64, DIMS(2, NI), positive);
	struct tensor *ti = tensor_create(x, IR_i32, DIMS(2, NI));
	double added[2 * V] = {0};
	for (int r = 0; r < 2 * NI; r++) {
		ti->data[r].i = places[(r + r / NI) % NI];
		if (inside(ti->data[r].i))
			added[r / NI * V + ti->data[r].i] += tu->data[r].f;
	}
	set(it, "a", ta);
	set(it, "i", ti);
	set(it, "u", tu);
	step(x, it, 0);
	for (int r = 0; r < 2 * NI; r++)
		close_to(interp_output(it, "pick")->data[r].f,
			inside(ti->data[r].i) ? ta->data[r / NI * V + ti->data[r].i].f : 0);
	for (int r = 0; r < 2 * V; r++)
		close_to(interp_output(it, "put")->data[r].f, added[r]);
}

/* What nothing goes to is the highest, or the lowest, of the element type. */
static void
extremes_of_nothing(void **state)
{
	static const struct {
		enum ir_dtype t;
		int64_t low, high;
	} type[] = {{IR_i32, INT32_MIN, INT32_MAX}, {IR_i8, -128, 127}, {IR_u8, 0, 255},
		{IR_i64, INT64_MIN, INT64_MAX}};
	struct bench *x = *state;
	const struct ir_attr sizes = INTS(x, "sizes", 2),
			     min = ir_make_string(x->ctx, "how", "min"),
			     max = ir_make_string(x->ctx, "how", "max");
	struct ir_value *i = input(x, "i", IR_i32, DIMS(1));
	for (int k = 0; k < 4; k++) {
		char name[3][8];
		for (int n = 0; n < 3; n++)
			snprintf(name[n], sizeof *name, "%c%d", "uab"[n], k);
		struct ir_value *u = input(x, name[0], type[k].t, DIMS(1));
		output(x, name[1], build(x, OP_scatter_nd, OPERANDS(u, i), ATTRS(sizes, min)));
		output(x, name[2], build(x, OP_scatter_nd, OPERANDS(u, i), ATTRS(sizes, max)));
	}
	struct interp *it = interpreter(x, false);
	struct tensor *one = tensor_create(x, IR_i32, DIMS(1));
	one->data->i = 1;
	set(it, "i", one);
	step(x, it, 0);
	for (int k = 0; k < 4; k++) {
		char name[2][8];
		for (int n = 0; n < 2; n++)
			snprintf(name[n], sizeof *name, "%c%d", "ab"[n], k);
		assert_int_equal(interp_output(it, name[0])->data[0].i, type[k].high);
		assert_int_equal(interp_output(it, name[1])->data[0].i, type[k].low);
	}
}

/* An i8 can name 128 rows; of more it must not be taken modulo 256. */
static void
narrow_index_of_a_long_dim(void **state)
{
	struct bench *x = *state;
	struct ir_value *t = input(x, "t", IR_f64, DIMS(400)), *i = input(x, "i", IR_i8, DIMS(1));
	output(x, "r", ir_build2(&x->b, OP_gather, t, i));
	struct interp *it = interpreter(x, false);
	const struct tensor *tt = filled(x, IR_f64, DIMS(400), wave);
	struct tensor *ti = tensor_create(x, IR_i8, DIMS(1));
	ti->data->i = 44;
	set(it, "t", tt);
	set(it, "i", ti);
	step(x, it, 0);
	close_to(interp_output(it, "r")->data->f, tt->data[44].f);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_operand), TEST(results_are_rounded),
		cmocka_unit_test(two_operands_broadcast), cmocka_unit_test(integers),
		TEST(logic_and_select), TEST(classes_of_floats), TEST(clamp),
		cmocka_unit_test(convert), TEST(sources), TEST(random_ops), TEST(matmul),
		TEST(matmul_of_integers), TEST(contract_attention), TEST(contract_sums_out),
		cmocka_unit_test(reductions), TEST(reductions_of_truths_and_integers),
		TEST(places_of_extremes), TEST(means_of_ones), TEST(shapes), TEST(by_index),
		TEST(in_order), TEST(behind_a_barrier), TEST(running_sums), TEST(along_rows),
		TEST(extremes_of_nothing), TEST(narrow_index_of_a_long_dim)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
