/* Bits of numbers, powers of integers and windows, against loops that say what they are. */
#include "test/ir/interp/build.h"

#include "runtime/kernel/rng.h"

#include <float.h>
#include <math.h>

static const enum ir_dtype integers[] = {
	IR_i8, IR_i16, IR_i32, IR_i64, IR_u8, IR_u16, IR_u32, IR_u64};

enum { N = 400 };

/* Element i: the ends and their neighbours first, then random bits of all lengths. */
static int64_t
whole(enum ir_dtype t, uint64_t key, int i)
{
	static const int64_t ends[] = {0, 1, -1, 2, -2, INT64_MIN, INT64_MAX, 3};
	const uint64_t bits = rt_mix64(key * 7919 + (uint64_t)i);

	if (i < 64)
		return ir_dtype_wrap(t, key == 1 ? ends[i % 8] : ends[i / 8]);
	return ir_dtype_wrap(t, (int64_t)(bits >> (i % (int)ir_dtype_bits(t))));
}

static bool
is_unsigned(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_UINT;
}

/* The value of a cell. */
static __int128
number(enum ir_dtype t, int64_t i)
{
	return is_unsigned(t) ? (__int128)(uint64_t)i : i;
}

static int64_t
count(enum ir_dtype t, int64_t x)
{
	int64_t n = 0;
	for (unsigned i = 0; i < ir_dtype_bits(t); i++)
		n += (uint64_t)x >> i & 1;
	return n;
}

static int64_t
leading(enum ir_dtype t, int64_t x)
{
	int64_t n = 0;
	for (unsigned i = ir_dtype_bits(t); i-- > 0 && !((uint64_t)x >> i & 1);)
		n++;
	return n;
}

/* From the product of absolute values, which fits 128 bits, as quotient rounded down. */
static int64_t
upper(enum ir_dtype t, int64_t x, int64_t y)
{
	const __int128 a = number(t, x), b = number(t, y);
	const bool minus = (a < 0) != (b < 0);
	const unsigned __int128 p =
		(unsigned __int128)(a < 0 ? -a : a) * (unsigned __int128)(b < 0 ? -b : b);
	const unsigned bits = ir_dtype_bits(t);
	const unsigned __int128 low = p & (((unsigned __int128)1 << bits) - 1);
	const uint64_t high = (uint64_t)(p >> bits);

	return ir_dtype_wrap(t, (int64_t)(minus ? 0 - high - (low != 0) : high));
}

/* y times a factor; of a y that would take too long the period of powers modulo 2^64 helps: 2^62.
 */
static int64_t
power(enum ir_dtype t, int64_t x, int64_t y)
{
	const __int128 b = number(t, y);
	uint64_t r = 1, square = (uint64_t)x;

	if (b < 0)
		return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
	if (b < 5000) {
		for (int i = 0; i < (int)b; i++)
			r *= (uint64_t)x;
		return ir_dtype_wrap(t, (int64_t)r);
	}
	for (int i = 0; i < 64; i++, square *= square)
		if ((uint64_t)b >> i & 1)
			r *= square;
	return ir_dtype_wrap(t, (int64_t)r);
}

static struct tensor *
wholes(struct bench *x, enum ir_dtype t, uint64_t key)
{
	struct tensor *a = tensor_create(x, t, DIMS(N));
	for (int i = 0; i < N; i++)
		a->data[i].i = whole(t, key, i);
	return a;
}

static void
of_integers(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) {
		const enum ir_dtype t = integers[k];
		struct bench *x = bench_create();
		struct ir_value *a = input(x, "a", t, DIMS(N)), *b = input(x, "b", t, DIMS(N));
		output(x, "popcnt", ir_build1(&x->b, OP_popcnt, a));
		output(x, "clz", ir_build1(&x->b, OP_count_leading_zeros, a));
		output(x, "mulhi", ir_build2(&x->b, OP_mulhi, a, b));
		output(x, "pow", ir_build2(&x->b, OP_pow, a, b));
		output(x, "abs", ir_build1(&x->b, OP_abs, a));
		output(x, "neg", ir_build1(&x->b, OP_neg, a));
		output(x, "sign", ir_build1(&x->b, OP_sign, a));
		struct interp *it = interpreter(x, false);
		const struct tensor *ta = wholes(x, t, 1), *tb = wholes(x, t, 2);
		set(it, "a", ta);
		set(it, "b", tb);
		step(x, it, 0);
		for (int i = 0; i < N; i++) {
			const int64_t u = ta->data[i].i, v = tb->data[i].i;
			const __int128 n = number(t, u);
			assert_int_equal(interp_output(it, "popcnt")->data[i].i, count(t, u));
			assert_int_equal(interp_output(it, "clz")->data[i].i, leading(t, u));
			assert_int_equal(interp_output(it, "mulhi")->data[i].i, upper(t, u, v));
			assert_int_equal(interp_output(it, "pow")->data[i].i, power(t, u, v));
			assert_int_equal(interp_output(it, "abs")->data[i].i,
				ir_dtype_wrap(t, (int64_t)(n < 0 ? -n : n)));
			assert_int_equal(
				interp_output(it, "neg")->data[i].i, ir_dtype_wrap(t, (int64_t)-n));
			assert_int_equal(interp_output(it, "sign")->data[i].i, (n > 0) - (n < 0));
		}
		talloc_free(x);
	}
}

/* Floats as integers and back: what memory holds. */
static void
bitcast(void **state)
{
	(void)state;
	static const double values[] = {
		0, -0.0, 1, -2.5, 0.1, 1e-40, INFINITY, -INFINITY, FLT_MAX, 3e-320};
	enum { V = sizeof values / sizeof *values };
	struct bench *x = bench_create();
	struct ir_value *f = input(x, "f", IR_f32, DIMS(V)), *d = input(x, "d", IR_f64, DIMS(V)),
			*h = input(x, "h", IR_u16, DIMS(3));
	const struct ir_attr i32 = ir_make_dtype(x->ctx, "to", IR_i32),
			     u32 = ir_make_dtype(x->ctx, "to", IR_u32),
			     u64 = ir_make_dtype(x->ctx, "to", IR_u64),
			     f64 = ir_make_dtype(x->ctx, "to", IR_f64),
			     f16 = ir_make_dtype(x->ctx, "to", IR_f16),
			     bf16 = ir_make_dtype(x->ctx, "to", IR_bf16);
	struct ir_value *bits = build(x, OP_bitcast, OPERANDS(d), 1, &u64);
	output(x, "i32", build(x, OP_bitcast, OPERANDS(f), 1, &i32));
	output(x, "u32", build(x, OP_bitcast, OPERANDS(f), 1, &u32));
	output(x, "u64", bits);
	output(x, "f64", build(x, OP_bitcast, OPERANDS(bits), 1, &f64));
	output(x, "f16", build(x, OP_bitcast, OPERANDS(h), 1, &f16));
	output(x, "bf16", build(x, OP_bitcast, OPERANDS(h), 1, &bf16));
	struct interp *it = interpreter(x, false);
	struct tensor *tf = tensor_create(x, IR_f32, DIMS(V)),
		      *td = tensor_create(x, IR_f64, DIMS(V)),
		      *th = tensor_create(x, IR_u16, DIMS(3));
	for (int i = 0; i < V; i++) {
		tf->data[i].f = (double)(float)values[i];
		td->data[i].f = values[i];
	}
	th->data[0].i = 0x3C00;
	th->data[1].i = 0xC000;
	th->data[2].i = 0x7F80;
	set(it, "f", tf);
	set(it, "d", td);
	set(it, "h", th);
	step(x, it, 0);
	for (int i = 0; i < V; i++) {
		const float single = (float)values[i];
		int32_t s;
		uint32_t u;
		int64_t l;
		memcpy(&s, &single, sizeof s);
		memcpy(&u, &single, sizeof u);
		memcpy(&l, &values[i], sizeof l);
		assert_int_equal(interp_output(it, "i32")->data[i].i, s);
		assert_int_equal(interp_output(it, "u32")->data[i].i, u);
		assert_int_equal(interp_output(it, "u64")->data[i].i, l);
		assert_true(interp_output(it, "f64")->data[i].f == values[i]);
	}
	assert_true(interp_output(it, "f16")->data[0].f == 1);
	assert_true(interp_output(it, "f16")->data[1].f == -2);
	assert_true(interp_output(it, "f16")->data[2].f != interp_output(it, "f16")->data[2].f);
	assert_true(interp_output(it, "bf16")->data[0].f == 0x1p-7);
	assert_true(interp_output(it, "bf16")->data[1].f == -2);
	assert_true(interp_output(it, "bf16")->data[2].f == INFINITY);
	talloc_free(x);
}

static const struct {
	int e, m; /* bits of exponent and mantissa, as stored */
} format[] = {[IR_f64] = {11, 52}, [IR_f32] = {8, 23}, [IR_f16] = {5, 10}, [IR_bf16] = {8, 7}};

/* From the definition, in long double: v of type t with e exponent and m mantissa bits. */
static double
reduced(enum ir_dtype t, double v, int e, int m)
{
	const int bias = (1 << (e - 1)) - 1, least = 2 - (1 << (format[t].e - 1));
	int exponent;

	if (v != v)
		return m ? v : INFINITY;
	if (isinf(v) || v == 0)
		return v;
	frexp(v, &exponent);
	exponent = exponent - 1 > least ? exponent - 1 : least;
	const int last = exponent - (m < format[t].m ? m : format[t].m);
	const long double scaled = ldexpl((long double)v, -last);
	long double r = ldexpl(rintl(scaled), last);
	/* Without a mantissa the even one of two is that whose exponent, as stored, is. */
	if (m == 0 && fabsl(scaled) == 1.5L)
		r = ldexpl(copysignl((exponent - least + 1) % 2 ? 2 : 1, v), last);
	if (e < format[t].e && fabsl(r) < ldexpl(1, 1 - bias))
		r = 0;
	const int top = e < format[t].e ? bias : (1 << (format[t].e - 1)) - 1;
	if (fabsl(r) >= ldexpl(1, top + 1))
		return copysign(INFINITY, v);
	return copysign((double)r, v);
}

static void
reduce_precision(void **state)
{
	(void)state;
	static const enum ir_dtype floats[] = {IR_f64, IR_f32, IR_f16, IR_bf16};
	static const int to[][2] = {{5, 10}, {8, 7}, {4, 3}, {5, 2}, {2, 1}, {3, 0}, {8, 23},
		{11, 52}, {11, 4}, {1, 3}};
	enum { FORMATS = sizeof to / sizeof *to, V = 600 };
	for (size_t k = 0; k < 4; k++) {
		const enum ir_dtype t = floats[k];
		struct bench *x = bench_create();
		struct ir_value *a = input(x, "a", t, DIMS(V));
		struct tensor *ta = tensor_create(x, t, DIMS(V));
		for (int j = 0; j < FORMATS; j++)
			output(x, talloc_asprintf(x, "r%d", j),
				build(x, OP_reduce_precision, OPERANDS(a),
					ATTRS(ir_make_int(x->ctx, "exponent", to[j][0]),
						ir_make_int(x->ctx, "mantissa", to[j][1]))));
		for (int i = 0; i < V; i++) {
			const uint64_t bits = rt_mix64((uint64_t)i);
			const double unit = (double)(bits >> 11) * 0x1p-53;
			/* ends first; halves between two; all sizes */
			ta->data[i].f = ir_dtype_round(
				t, i == 0   ? INFINITY
				   : i == 1 ? -0.0
				   : i == 2 ? NAN
				   : i == 3 ? 65504
				   : i == 4 ? 65520
				   : i == 5 ? 0x1p-14
				   : i == 6 ? 0x1.ffcp-15
				   : i < 90 ? 1 + (double)(i - 10) / 16
					    : (i % 2 ? -1 : 1) * ldexp(1 + unit, i % 300 - 150));
		}
		struct interp *it = interpreter(x, false);
		set(it, "a", ta);
		step(x, it, 0);
		for (int j = 0; j < FORMATS; j++) {
			const struct tensor *r = interp_output(it, talloc_asprintf(x, "r%d", j));
			for (int i = 0; i < V; i++) {
				const double v = ta->data[i].f, have = r->data[i].f,
					     want = reduced(t, v, to[j][0], to[j][1]);
				if (have != want && (have == have || want == want))
					fail_msg("%s %a to e%dm%d is %a, expected %a",
						ir_dtype_name(t), v, to[j][0], to[j][1], have,
						want);
			}
		}
		talloc_free(x);
	}
}

/* --- windows
 * ---------------------------------------------------------------------------------------- */

struct shape {
	int64_t size, stride, low, high, dilation, base;
};

static int64_t
joined(int how, enum ir_dtype t, int64_t a, int64_t b)
{
	switch (how) {
	case 0: return ir_dtype_wrap(t, (int64_t)((uint64_t)a + (uint64_t)b));
	case 1: return ir_dtype_less(t, a, b) ? b : a;
	case 2: return ir_dtype_less(t, b, a) ? b : a;
	default: return ir_dtype_wrap(t, (int64_t)((uint64_t)a * (uint64_t)b));
	}
}

static int64_t
nothing(int how, enum ir_dtype t)
{
	const int64_t low =
		ir_dtype_class(t) == IR_INT ? -((int64_t)1 << (ir_dtype_bits(t) - 1)) : 0;
	return how == 0 ? 0 : how == 1 ? low : how == 2 ? ir_dtype_wrap(t, ~low) : 1;
}

/* The elements are laid out with what is between and around them, then each window is looked at. */
static void
check_window(enum ir_dtype t, int dim, const struct shape *s, int how)
{
	enum { ROWS = 5, COLUMNS = 7, PLACES = 64 };
	static const char *const ways[] = {"add", "max", "min", "mul"};
	const int extent = dim ? COLUMNS : ROWS, other = dim ? ROWS : COLUMNS;
	struct bench *x = bench_create();
	struct ir_value *a = input(x, "a", t, DIMS(ROWS, COLUMNS));
	output(x, "r",
		build(x, OP_window, OPERANDS(a),
			ATTRS(ir_make_int(x->ctx, "dim", dim), ir_make_int(x->ctx, "size", s->size),
				ir_make_int(x->ctx, "stride", s->stride),
				ir_make_int(x->ctx, "low", s->low),
				ir_make_int(x->ctx, "high", s->high),
				ir_make_int(x->ctx, "dilation", s->dilation),
				ir_make_int(x->ctx, "base", s->base),
				ir_make_string(x->ctx, "how", ways[how]))));
	struct interp *it = interpreter(x, false);
	struct tensor *ta = tensor_create(x, t, DIMS(ROWS, COLUMNS));
	for (int i = 0; i < ROWS * COLUMNS; i++)
		ta->data[i].i = whole(t, 3, 64 + i);
	set(it, "a", ta);
	step(x, it, 0);
	const struct tensor *r = interp_output(it, "r");
	for (int line = 0; line < other; line++) {
		int64_t place[PLACES];
		int n = 0;
		for (int64_t p = -s->low; p < (extent - 1) * s->base + 1 + s->high; p++) {
			const bool there = p >= 0 && p % s->base == 0 && p / s->base < extent;
			const int64_t at = p / s->base;
			assert_true(n < PLACES);
			place[n++] = !there ? nothing(how, t)
				     : dim  ? ta->data[line * COLUMNS + at].i
					    : ta->data[at * COLUMNS + line].i;
		}
		int64_t i = 0;
		for (int64_t from = 0; from + (s->size - 1) * s->dilation < n;
			from += s->stride, i++) {
			int64_t want = nothing(how, t);
			for (int64_t k = 0; k < s->size; k++)
				want = joined(how, t, want, place[from + k * s->dilation]);
			const int64_t have = dim ? r->data[line * r->dim[1] + i].i
						 : r->data[i * COLUMNS + line].i;
			assert_int_equal(have, want);
		}
		assert_int_equal(i, r->dim[dim]);
	}
	talloc_free(x);
}

static void
window(void **state)
{
	(void)state;
	static const struct shape shapes[] = {{1, 1, 0, 0, 1, 1}, {3, 1, 0, 0, 1, 1},
		{2, 2, 1, 0, 1, 1}, {3, 2, 1, 2, 1, 1}, {2, 1, 0, 0, 3, 1}, {3, 1, 2, 2, 2, 2},
		{1, 1, 3, 2, 1, 3}, {2, 3, -1, 4, 2, 2}, {2, 1, 3, -2, 1, 1}, {4, 5, 0, 0, 1, 4}};
	static const enum ir_dtype types[] = {IR_i32, IR_u8, IR_u64, IR_i16};
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
		for (int how = 0; how < 4; how++)
			for (int dim = 0; dim < 2; dim++) {
				check_window(types[(s + (size_t)how) % 4], dim, &shapes[s], how);
				if (how == 1 || how == 2) /* any, all */
					check_window(IR_bool, dim, &shapes[s], how);
			}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_integers),
		cmocka_unit_test(bitcast),
		cmocka_unit_test(reduce_precision),
		cmocka_unit_test(window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
