/* Single precision functions against libm's in double, over a dense sweep of all floats. */
#include <stdio.h>
#include <fenv.h>
#include <float.h>
#include "runtime/kernel/half.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/subnormal.h"
#include "test/unit.h"

/* One float in so many is tried; a prime, so that all low bits occur. */
#define STRIDE 1499

/* Distance from the exact value in units of its last place in float. */
static double
ulps(float got, double want)
{
	int e;
	frexp(want, &e);
	e = e < -125 ? -125 : e;
	return fabs(got - want) / ldexp(1, e - 24);
}

/* Infinite where the exact result rounds to infinity, NaN where it is one, else within `limit`. */
static void
check_one(const char *name, float x, float got, double want, double limit)
{
	const float rounded = (float)want;
	int ok;
	if (isnan(want))
		ok = isnan(got);
	else if (isinf(rounded))
		ok = got == rounded;
	else
		ok = !isnan(got) && ulps(got, want) <= limit;
	if (!ok)
		fail_msg("%s(%a) = %a, expected %a", name, (double)x, (double)got, want);
}

static void
sweep(const char *name, float (*f)(float), double (*exact)(double), double limit)
{
	static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 88.7f, 88.73f, -87.3f,
		-103.9f, -104.0f, 0x1p-126f, 0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f, INFINITY,
		-INFINITY, NAN};
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		check_one(name, special[i], f(special[i]), exact(special[i]), limit);
	for (uint64_t u = 0; u < (uint64_t)1 << 32; u += STRIDE) {
		const float x = rt_bits_float((uint32_t)u);
		check_one(name, x, f(x), exact(x), limit);
	}
}

static float
exp_macro(float x)
{
	return M_exp(x);
}

static double
exact_softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static void
what_is_computed_in_double_is_within_1_ulp(void **state)
{
	(void)state;
	sweep("sin", m_sin_f32, sin, 1);
	sweep("cos", m_cos_f32, cos, 1);
	sweep("tan", m_tan_f32, tan, 1);
	sweep("log1p", m_log1p_f32, log1p, 1);
	sweep("log2", m_log2_f32, log2, 1);
	sweep("exp2", m_exp2_f32, exp2, 1);
}

/* The floats nearest to a multiple of pi/2 among all, and among those below 2^12, lose most. */
static void
angles_next_to_quarter_turns(void **state)
{
	(void)state;
	static const float near[] = {0x1.6aca0cp+107f, 0x1.6aca0cp+108f, 0x1.44cfbcp+106f,
		0x1.921fb6p+0f, 0x1.921fb6p+1f, 0x1.2d97c8p+2f, 0x1.5fdbbep+2f, 0x1.fffffep+127f};
	for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
		check_one("sin", near[i], m_sin_f32(near[i]), sin(near[i]), 1);
		check_one("cos", near[i], m_cos_f32(near[i]), cos(near[i]), 1);
		check_one("tan", near[i], m_tan_f32(near[i]), tan(near[i]), 1);
	}
	/* and around every multiple of pi/2 up to 2^12 */
	for (int k = 1; k < 2608; k++) {
		const float x = (float)(k * (M_PI / 2));
		check_one("sin", x, m_sin_f32(x), sin(x), 1);
		check_one("cos", x, m_cos_f32(x), cos(x), 1);
	}
}

static void
expm1_is_within_3_ulp(void **state)
{
	(void)state;
	sweep("expm1", m_expm1_f32, expm1, 3);
}

static void
softplus_is_within_2_ulp(void **state)
{
	(void)state;
	sweep("softplus", m_softplus_f32, exact_softplus, 2);
}

static void
check_pow(float x, float y)
{
	const float got = m_pow_f32(x, y);
	const double want = pow(x, y);
	char name[64];
	snprintf(name, sizeof name, "pow of %a by", (double)y);
	check_one(name, x, got, want, 1);
	if (!isnan(want) && !signbit(got) != !signbit(want))
		fail_msg("pow(%a, %a) = %a has the wrong sign", (double)x, (double)y, (double)got);
}

/* All pairs of special values; random pairs, most of whose results are finite. */
static void
pow_is_within_1_ulp(void **state)
{
	static const float special[] = {0, -0.0f, 1, -1, 2, -2, 3, -3, 0.5f, -0.5f, 1.5f, -2.5f,
		0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p24f,
		0x1.000002p0f, 0x1.fffffep-1f, 0x1.fffffep23f, -0x1.fffffep23f, 1e6f, -1e6f,
		INFINITY, -INFINITY, NAN};
	enum { N = sizeof special / sizeof *special };
	uint64_t u = 1;

	(void)state;
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			check_pow(special[i], special[j]);
	for (int i = 0; i < 1000000; i++) {
		u = u * 6364136223846793005u + 1442695040888963407u;
		const float x = rt_bits_float((uint32_t)(u >> 33));
		const float scale = (float)(fabs(log2((double)x)) + 1e-6);
		const float y = ((float)(u >> 8 & 0xFFFFFF) * 0x1p-23f - 1) * 160 / scale;
		check_pow(x, y);
		check_pow(-x, rintf(y));
	}
}

static double
exact_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static void
exp_is_within_2_ulp(void **state)
{
	(void)state;
	sweep("exp", exp_macro, exp, 2);
}

/* What is masked has scores of -1e30 and lower: its exponential is 0 without a subnormal number on
 * the way, which would raise the flag of an underflow. */
static void
exp_of_masked_values_is_zero_without_underflow(void **state)
{
	(void)state;
	static const float masked[] = {-104.00001f, -150, -1e4f, -1e30f, -FLT_MAX, -INFINITY};

	for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
		const volatile float x = masked[i];
		feclearexcept(FE_ALL_EXCEPT);
		const volatile float y = m_exp_f32(x), s = m_sigmoid_f32(x), p = m_softplus_f32(x);
		assert_int_equal(fetestexcept(FE_UNDERFLOW), 0);
		assert_true(y == 0 && !signbit(y) && s == 0 && p == 0);
		assert_true(m_tanh_f32(x) == -1);
	}
}

/* With subnormal numbers taken as 0: what libm gives, or 0 where that is subnormal. */
static void
small_results_are_zero_in_training(void **state)
{
	(void)state;
	const uint64_t mode = rt_float_keep_subnormals(false);
	const bool flushes = !rt_float_keeps_subnormals() && RT_SUBNORMAL_BITS != 0;

	for (float x = -80; x > -110; x -= 0x1p-10f) {
		const float y = m_exp_f32(x);
		const double want = exp(x);
		if (flushes && want < 0.999999 * FLT_MIN)
			assert_int_equal(rt_float_bits(y), 0);
		else
			check_one("exp", x, y, want, 2);
	}
	const volatile float tiny = 0x1p-130f, big = 0x1p100f;
	if (flushes)
		assert_true(tiny * big == 0 && isinf(1 / tiny) && isinf(m_log_f32(tiny)));
	rt_float_set_mode(mode);
	assert_true(tiny * big == 0x1p-30f);
}

/* Are they the same number, both NaN, or both less than `least` with one sign? */
static bool
are_as_large(double a, double b, double least)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	return !signbit(a) == !signbit(b) && (a == b || (fabs(a) < least && fabs(b) < least));
}

/* Each function of floats alone, and those of two floats, in f32 and in f64. */
#define FUNCTION(name, C)                                                                          \
	static float of_f32_##name(float x, float y)                                               \
	{                                                                                          \
		(void)y;                                                                           \
		return C;                                                                          \
	}                                                                                          \
	static double of_f64_##name(double x, double y)                                            \
	{                                                                                          \
		(void)y;                                                                           \
		return C;                                                                          \
	}
#define ROW(name, C) {#name, of_f32_##name, of_f64_##name},
#define EACH_F_1(name, C) EACH(name, C)
#define EACH_F_2(name, C) EACH(name, C)
#define EACH_F_3(name, C)
#define EACH_SAME_1(name, C)
#define EACH_SAME_2(name, C)
#define EACH_SAME_3(name, C)
#define EACH_BOOL_1(name, C)
#define EACH_BOOL_2(name, C)
#define SCALAR(name, arity, infix, kind, linear, work, laws, C, d0, d1, d2)                        \
	EACH_##kind##_##arity(name, C)
#define ALSO EACH(pow, M_pow(x, y)) EACH(rem, M_rem(x, y)) EACH(div, M_div(x, y))

#define EACH FUNCTION
#include "ir/ops/scalar.def"
ALSO
#undef EACH
#define EACH ROW

	/* What a function gives of subnormal numbers that count as zeros is what it gives of zeros with their
 * signs, or as subnormal as that. */
	static void
	subnormal_numbers_are_read_as_zeros(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		float (*f32)(float, float);
		double (*f64)(double, double);
	} rows[] = {
#include "ir/ops/scalar.def"
		ALSO};
	/* Each pair is a subnormal number and its zero; other numbers stand for themselves. */
	static const float f32[][2] = {{0x1p-130f, 0}, {-0x1p-149f, -0.0f}, {0x1.8p-127f, 0},
		{0, 0}, {-0.0f, -0.0f}, {1, 1}, {-3, -3}, {0.5f, 0.5f}, {INFINITY, INFINITY},
		{-INFINITY, -INFINITY}, {FLT_MIN, FLT_MIN}};
	static const double f64[][2] = {{0x1p-1030, 0}, {-0x1p-1074, -0.0}, {0x1.8p-1023, 0},
		{0, 0}, {-0.0, -0.0}, {1, 1}, {-3, -3}, {0.5, 0.5}, {INFINITY, INFINITY},
		{-INFINITY, -INFINITY}, {DBL_MIN, DBL_MIN}};
	enum { ROWS = sizeof rows / sizeof *rows, NUMBERS = sizeof f32 / sizeof *f32 };
	float wide[ROWS][NUMBERS][NUMBERS][2];
	double wider[ROWS][NUMBERS][NUMBERS][2];
	const uint64_t mode = rt_float_keep_subnormals(false);
	const bool flushes = !rt_float_keeps_subnormals() && RT_SUBNORMAL_BITS != 0;

	for (size_t i = 0; i < ROWS; i++)
		for (size_t x = 0; x < NUMBERS; x++)
			for (size_t y = 0; y < NUMBERS; y++)
				for (int k = 0; k < 2; k++) {
					wide[i][x][y][k] = rows[i].f32(f32[x][k], f32[y][k]);
					wider[i][x][y][k] = rows[i].f64(f64[x][k], f64[y][k]);
				}
	rt_float_set_mode(mode);
	for (size_t i = 0; flushes && i < ROWS; i++)
		for (size_t x = 0; x < NUMBERS; x++)
			for (size_t y = 0; y < NUMBERS; y++) {
				const float *a = wide[i][x][y];
				const double *b = wider[i][x][y];
				if (!are_as_large(a[0], a[1], (double)FLT_MIN))
					fail_msg("%s(%a, %a) = %a, expected %a", rows[i].name,
						(double)f32[x][0], (double)f32[y][0], (double)a[0],
						(double)a[1]);
				if (!are_as_large(b[0], b[1], DBL_MIN))
					fail_msg("%s(%a, %a) = %a, expected %a", rows[i].name,
						f64[x][0], f64[y][0], b[0], b[1]);
			}
}

static void
log_is_within_2_ulp(void **state)
{
	(void)state;
	sweep("log", m_log_f32, log, 2);
}

static void
tanh_is_within_4_ulp(void **state)
{
	(void)state;
	sweep("tanh", m_tanh_f32, tanh, 4);
}

static void
erf_is_within_4_ulp(void **state)
{
	(void)state;
	sweep("erf", m_erf_f32, erf, 4);
}

static void
erfc_is_within_6_ulp(void **state)
{
	(void)state;
	sweep("erfc", m_erfc_f32, erfc, 6);
}

static void
sigmoid_is_within_4_ulp(void **state)
{
	(void)state;
	sweep("sigmoid", m_sigmoid_f32, exact_sigmoid, 4);
}

static void
signs_of_zero_survive_odd_functions(void **state)
{
	(void)state;
	assert_true(signbit(M_tanh(-0.0f)) && signbit(M_erf(-0.0f)));
	assert_false(signbit(M_tanh(0.0f)) || signbit(M_erf(0.0f)));
	assert_true(signbit(M_sin(-0.0f)) && signbit(M_tan(-0.0f)));
	assert_true(signbit(M_log1p(-0.0f)) && signbit(M_expm1(-0.0f)));
	assert_false(signbit(M_sin(0.0f)) || signbit(M_log1p(0.0f)) || signbit(M_expm1(0.0f)));
}

static void
max_and_min_pass_nan_on_from_both_sides(void **state)
{
	(void)state;
	const float nan = NAN;
	assert_true(isnan(M_max(nan, 1.0f)) && isnan(M_max(1.0f, nan)));
	assert_true(isnan(M_min(nan, 1.0f)) && isnan(M_min(1.0f, nan)));
	assert_true(isnan(M_max((double)nan, 1.0)) && isnan(M_min(1.0, (double)nan)));
	assert_true(M_max(2.0f, 1.0f) == 2.0f && M_min(2.0f, 1.0f) == 1.0f);
}

static void
classes_and_signs(void **state)
{
	(void)state;
	const float inf = INFINITY, nan = NAN;
	assert_true(M_is_finite(0x1.fffffep127f) && M_is_finite(0x1.fffffffffffffp1023));
	assert_false(M_is_finite(inf) || M_is_finite(-inf) || M_is_finite(nan));
	assert_false(M_is_finite((double)inf) || M_is_finite((double)nan));
	assert_true(M_is_inf(inf) && M_is_inf(-inf) && M_is_inf(-(double)inf));
	assert_false(M_is_inf(nan) || M_is_inf(0x1.fffffep127f) || M_is_inf((double)nan));
	assert_true(M_sign(-3) == -1 && M_sign(0) == 0 && M_sign(INT64_MAX) == 1);
	assert_true(M_sign(-0x1p-149f) == -1 && M_sign(0.0f) == 0 && M_sign(inf) == 1);
	assert_true(isnan(M_sign(nan)) && isnan(M_sign((double)nan)) && M_sign(-2.0) == -1);
	assert_true(M_round(2.5f) == 2 && M_round(3.5f) == 4 && M_round(-0.5) == 0);
	assert_true(M_round(0.49999997f) == 0 && M_trunc(-1.9f) == -1 && M_ceil(-1.5) == -1);
}

static void
macros_choose_by_type(void **state)
{
	(void)state;
	assert_int_equal(sizeof M_exp(1.0), sizeof(double));
	assert_int_equal(sizeof M_exp(1.0f), sizeof(float));
	assert_true(M_max(INT64_C(1) << 40, INT64_C(2)) == INT64_C(1) << 40);
	assert_true(M_abs(INT32_MIN) == INT32_MIN && M_abs(-3) == 3 && M_abs(-2.5f) == 2.5f);
	assert_true(M_min(3, 4) == 3 && M_floor(-1.5f) == -2.0f && M_rsqrt(4.0) == 0.5);
	assert_true(M_fma(2.0, 3.0, 1.0) == 7.0 && m_pow_f32(2.0f, 3.0f) == 8.0f);
	assert_true(M_sigmoid(0.0) == 0.5 && M_sigmoid(-800.0) == 0 && M_sigmoid(800.0) == 1);
}

/* What bits of f16 mean, by the definition of the format. */
static double
exact_f16(unsigned h)
{
	const int exponent = h >> 10 & 31, mantissa = h & 1023;
	double x = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
	if (exponent == 31)
		x = mantissa ? NAN : INFINITY;
	return h & 0x8000 ? -x : x;
}

static void
every_f16_has_its_value_and_comes_back(void **state)
{
	const uint64_t mode = rt_float_keep_subnormals(*state == NULL);

	for (unsigned h = 0; h < 65536; h++) {
		const float x = rt_f16_to_f32((uint16_t)h);
		const double want = exact_f16(h);
		if (isnan(want)) {
			assert_true(isnan(x) && isnan(rt_f16_to_f32(rt_f32_to_f16(x))));
			continue;
		}
		assert_true(x == want && !signbit(x) == !signbit(want));
		assert_int_equal(rt_f32_to_f16(x), h);
	}
	rt_float_set_mode(mode);
}

/* Between two neighbours of either half type the nearer one is taken, in the middle the even
 * one. */
static void
halves_round_to_nearest_even(void **state)
{
	(void)state;
	for (unsigned h = 0; h < 0x7BFF; h++) {
		const float low = rt_f16_to_f32((uint16_t)h),
			    high = rt_f16_to_f32((uint16_t)(h + 1));
		const float middle = (low + high) / 2;
		assert_int_equal(rt_f32_to_f16(middle), h + (h & 1));
		assert_int_equal(rt_f32_to_f16(nextafterf(middle, low)), h);
		assert_int_equal(rt_f32_to_f16(nextafterf(middle, high)), h + 1);
	}
	for (unsigned h = 0x80; h < 0x7F7F; h++) {
		const float low = rt_bf16_to_f32((uint16_t)h),
			    high = rt_bf16_to_f32((uint16_t)(h + 1));
		const float middle = low + (high - low) / 2;
		assert_int_equal(rt_f32_to_bf16(middle), h + (h & 1));
		assert_int_equal(rt_f32_to_bf16(nextafterf(middle, low)), h);
		assert_int_equal(rt_f32_to_bf16(nextafterf(middle, high)), h + 1);
	}
	assert_int_equal(rt_f32_to_f16(65520.0f), 0x7C00);
	assert_int_equal(rt_f32_to_f16(65519.0f), 0x7BFF);
	assert_int_equal(rt_f32_to_bf16(0x1.fffffep127f), 0x7F80);
	assert_true(isnan(rt_bf16_to_f32(rt_f32_to_bf16(NAN))));
}

int
main(void)
{
	int training;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exp_is_within_2_ulp),
		cmocka_unit_test(exp_of_masked_values_is_zero_without_underflow),
		cmocka_unit_test(small_results_are_zero_in_training),
		cmocka_unit_test(log_is_within_2_ulp),
		cmocka_unit_test(tanh_is_within_4_ulp),
		cmocka_unit_test(erf_is_within_4_ulp),
		cmocka_unit_test(erfc_is_within_6_ulp),
		cmocka_unit_test(sigmoid_is_within_4_ulp),
		cmocka_unit_test(what_is_computed_in_double_is_within_1_ulp),
		cmocka_unit_test(angles_next_to_quarter_turns),
		cmocka_unit_test(subnormal_numbers_are_read_as_zeros),
		cmocka_unit_test(expm1_is_within_3_ulp),
		cmocka_unit_test(softplus_is_within_2_ulp),
		cmocka_unit_test(pow_is_within_1_ulp),
		cmocka_unit_test(classes_and_signs),
		cmocka_unit_test(signs_of_zero_survive_odd_functions),
		cmocka_unit_test(max_and_min_pass_nan_on_from_both_sides),
		cmocka_unit_test(macros_choose_by_type),
		cmocka_unit_test(every_f16_has_its_value_and_comes_back),
		{"the same where subnormal floats are 0", every_f16_has_its_value_and_comes_back,
			NULL, NULL, &training},
		cmocka_unit_test(halves_round_to_nearest_even),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
