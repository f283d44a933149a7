/*
 * How far scalar functions of the interpreter are from the correctly rounded value, in units in
 * the last place: over random bits, over ranges where the functions are steep, and at the ends.
 * The true value is that of the long double function, whose error is far below a unit of an f64.
 */
#include "test/ir/interp/build.h"

#include "ir/ops/literal.h"
#include "runtime/kernel/rng.h"

#include <float.h>
#include <math.h>

_Static_assert(LDBL_MANT_DIG >= 64, "a long double has 11 bits more than a double");

enum {
	RANDOM = 4000,   /* inputs of random bits, and as many of moderate size */
	MOST_NARROW = 1, /* ULP of f32, f16 and bf16, which are computed in double */
	MOST_DOUBLE = 4, /* of f64: what the C library promises of its worst functions */
};

static const double special[] = {0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 1e-3, -1e-3, 1e-8, -1e-8, 1e8,
	-1e8, 0x1p-126, 0x1p-149, -0x1p-149, 0x1p-1022, 0x1p-1074, FLT_MAX, -FLT_MAX, DBL_MAX,
	-DBL_MAX, 65504, 88.7, -88.7, 103.9, -103.9, 709.7, -745.1, 3.14159265358979,
	1.5707963267948966, 0.9999999, 1.0000001, 127.5, -149.5, INFINITY, -INFINITY, NAN};

enum { SPECIALS = sizeof special / sizeof *special, INPUTS = SPECIALS + 2 * RANDOM };

static long double
rsqrt_l(long double x)
{
	return 1 / sqrtl(x);
}

static long double
sigmoid_l(long double x)
{
	return x > 0 ? 1 / (1 + expl(-x)) : expl(x) / (1 + expl(x));
}

static long double
softplus_l(long double x)
{
	return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}

static long double
sign_l(long double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : x;
}

static const struct {
	enum op_code op;
	long double (*f)(long double);
} unary[] = {{OP_exp, expl}, {OP_log, logl}, {OP_tanh, tanhl}, {OP_erf, erfl}, {OP_sqrt, sqrtl},
	{OP_rsqrt, rsqrt_l}, {OP_sigmoid, sigmoid_l}, {OP_sin, sinl}, {OP_cos, cosl},
	{OP_abs, fabsl}, {OP_log1p, log1pl}, {OP_expm1, expm1l}, {OP_log2, log2l}, {OP_exp2, exp2l},
	{OP_tan, tanl}, {OP_asin, asinl}, {OP_acos, acosl}, {OP_atan, atanl}, {OP_sinh, sinhl},
	{OP_cosh, coshl}, {OP_asinh, asinhl}, {OP_acosh, acoshl}, {OP_atanh, atanhl},
	{OP_cbrt, cbrtl}, {OP_erfc, erfcl}, {OP_floor, floorl}, {OP_ceil, ceill},
	{OP_trunc, truncl}, {OP_round, rintl}, {OP_round_away, roundl}, {OP_softplus, softplus_l},
	{OP_sign, sign_l}};

static long double
div_l(long double x, long double y)
{
	return x / y;
}

static const struct {
	enum op_code op;
	long double (*f)(long double, long double);
} binary[] = {{OP_pow, powl}, {OP_atan2, atan2l}, {OP_rem, fmodl}, {OP_div, div_l}};

/* Input i of type t: the special ones, random bits, numbers of -16 to 16. */
static double
value(enum ir_dtype t, uint64_t key, int i)
{
	unsigned char bytes[8];
	const uint64_t bits = rt_mix64(key * 1000003 + (uint64_t)i);

	if (i >= SPECIALS && i < SPECIALS + RANDOM) {
		memcpy(bytes, &bits, sizeof bytes);
		return literal_read(t, bytes, 0).f;
	}
	const double v = i < SPECIALS ? special[(uint64_t)i * (2 * key + 1) % SPECIALS]
				      : ((double)(bits >> 11) * 0x1p-52 - 1) * 16;
	literal_write(t, bytes, 0, (union ir_number){.f = v});
	return literal_read(t, bytes, 0).f;
}

/* Numbers in a row, those of both signs in one: their difference counts what lies between. */
static int64_t
rank_of(enum ir_dtype t, double v)
{
	uint64_t bits = 0;
	const int width = (int)ir_dtype_bits(t);

	literal_write(t, (unsigned char *)&bits, 0, (union ir_number){.f = v});
	const uint64_t sign = (uint64_t)1 << (width - 1);
	return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

/* The nearest number of type t. */
static double
nearest(enum ir_dtype t, long double v)
{
	return t == IR_f64   ? (double)v
	       : t == IR_f32 ? (double)(float)v
			     : ir_dtype_round(t, (double)v);
}

static int64_t
ulps(enum ir_dtype t, double have, long double want)
{
	const double near = nearest(t, want);

	if (have != have || near != near)
		return have != have && near != near ? 0 : INT64_MAX;
	const int64_t d = rank_of(t, have) - rank_of(t, near);
	return d < 0 ? -d : d;
}

struct worst {
	int64_t ulps;
	double x, y, have;
};

static void
note(struct worst *w, int64_t d, double x, double y, double have)
{
	if (d > w->ulps)
		*w = (struct worst){d, x, y, have};
}

static void
judge(enum op_code op, enum ir_dtype t, const struct worst *w)
{
	const int most = t == IR_f64 ? MOST_DOUBLE : MOST_NARROW;

	if (w->ulps > 0)
		printf("%s of %s: at most %lld ULP\n", op_name(op), ir_dtype_name(t),
			(long long)w->ulps);
	if (w->ulps > most)
		fail_msg("%s of %s: %lld ULP at %a, %a: %a", op_name(op), ir_dtype_name(t),
			(long long)w->ulps, w->x, w->y, w->have);
}

static void
check_type(enum ir_dtype t)
{
	struct bench *x = bench_create();
	struct ir_value *a = input(x, "a", t, DIMS(INPUTS)), *b = input(x, "b", t, DIMS(INPUTS));
	struct tensor *ta = tensor_create(x, t, DIMS(INPUTS)),
		      *tb = tensor_create(x, t, DIMS(INPUTS));
	const size_t nunary = sizeof unary / sizeof *unary,
		     nbinary = sizeof binary / sizeof *binary;

	for (size_t k = 0; k < nunary; k++)
		output(x, op_name(unary[k].op), ir_build1(&x->b, unary[k].op, a));
	for (size_t k = 0; k < nbinary; k++)
		output(x, op_name(binary[k].op), ir_build2(&x->b, binary[k].op, a, b));
	for (int i = 0; i < INPUTS; i++) {
		ta->data[i].f = value(t, 1, i);
		tb->data[i].f = value(t, 2, i);
	}
	struct interp *it = interpreter_with(x, &(struct interp_options){.subnormals = true});
	set(it, "a", ta);
	set(it, "b", tb);
	step(x, it, 0);
	for (size_t k = 0; k < nunary; k++) {
		const struct tensor *r = interp_output(it, op_name(unary[k].op));
		struct worst w = {0};
		for (int i = 0; i < INPUTS; i++)
			note(&w, ulps(t, r->data[i].f, unary[k].f((long double)ta->data[i].f)),
				ta->data[i].f, 0, r->data[i].f);
		judge(unary[k].op, t, &w);
	}
	for (size_t k = 0; k < nbinary; k++) {
		const struct tensor *r = interp_output(it, op_name(binary[k].op));
		struct worst w = {0};
		for (int i = 0; i < INPUTS; i++)
			note(&w, ulps(t, r->data[i].f, binary[k].f(ta->data[i].f, tb->data[i].f)),
				ta->data[i].f, tb->data[i].f, r->data[i].f);
		judge(binary[k].op, t, &w);
	}
	talloc_free(x);
}

static void
of_single_precision(void **state)
{
	(void)state;
	check_type(IR_f32);
}

static void
of_16_bits(void **state)
{
	(void)state;
	check_type(IR_f16);
	check_type(IR_bf16);
}

static void
of_double_precision(void **state)
{
	(void)state;
	check_type(IR_f64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_single_precision),
		cmocka_unit_test(of_16_bits),
		cmocka_unit_test(of_double_precision),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
