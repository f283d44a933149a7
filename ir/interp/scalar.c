/*
 * The scalar functions of ir/ops/scalar.def over strips of cells. Floats are computed in double,
 * integers in 128 bits and then wrapped, so that no intermediate result overflows. A row's C text
 * is expanded twice: once with x, y, z as doubles and once as integers; the M_ macros choose by
 * their type. Functions that do not apply to one of them are `none` there, and never called: the
 * type letter of a row admits only floats or only integers.
 */
#include "ir/interp/internal.h"
#include "ir/ops/literal.h"
#include "runtime/kernel/bits.h"
#include "runtime/kernel/half.h"
#include "runtime/kernel/rng.h"

#include <float.h>
#include <math.h>

typedef __int128 wide;

static double
none_1(double x)
{
	return x;
}

static double
none_2(double x, double y)
{
	return x + y;
}

static double
sigmoid(double x)
{
	const double e = exp(-fabs(x));
	return (x < 0 ? e : 1) / (1 + e);
}

static double
rsqrt(double x)
{
	return 1 / sqrt(x);
}

static double
softplus(double x)
{
	return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* Rounds halves to even, in any rounding mode. */
static double
nearest_even(double x)
{
	const double below = floor(x), rest = x - below;
	if (!isfinite(x) || rest == 0)
		return x;
	const bool up = rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0);
	return copysign(up ? below + 1 : below, x);
}

static double
sign_f(double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : x;
}

static wide
sign_i(wide x)
{
	return (x > 0) - (x < 0);
}

static wide
abs_i(wide x)
{
	return x < 0 ? -x : x;
}

static double
div_f(double x, double y)
{
	return x / y;
}

static wide
div_i(wide x, wide y)
{
	return y == 0 ? 0 : x / y;
}

static wide
rem_i(wide x, wide y)
{
	return y == 0 ? x : x % y;
}

/* The larger and the smaller, a NaN if either is one: as runtime/kernel/scalar_math.h. */
static double
max_f(double a, double b)
{
	return a != a || a > b ? a : b;
}

static double
min_f(double a, double b)
{
	return a != a || a < b ? a : b;
}

static wide
max_i(wide a, wide b)
{
	return a > b ? a : b;
}

static wide
min_i(wide a, wide b)
{
	return a < b ? a : b;
}

static wide
pow_i(wide x, wide y)
{
	return y < 0 ? rt_pow_i64((int64_t)x, (int64_t)y)
		     : (wide)rt_pow_u64((uint64_t)x, (uint64_t)y);
}

static wide
mulhi(wide x, wide y, int w)
{
	if (x > INT64_MAX || y > INT64_MAX)
		return rt_mulhi_u64((uint64_t)x, (uint64_t)y, w);
	return x * y >> w;
}

/* The quotient if there is no remainder, else -1. */
static wide
exact_i(wide x, wide y)
{
	return y == 0 || x % y ? -1 : x / y;
}

/* Shifts by the width or more leave only bits shifted in. A product, as C has no << for x < 0. */
static wide
shift_left(wide x, wide y, int w)
{
	return y < 0 || y >= w ? 0 : x * ((wide)1 << y);
}

static wide
shift_right(wide x, wide y, int w)
{
	return x >> (y < 0 || y >= w ? 64 : y);
}

static wide
shift_right_logical(wide x, wide y, int w)
{
	return y < 0 || y >= w ? 0 : (x & (((wide)1 << w) - 1)) >> y;
}

#define FLOAT_1(f, x) _Generic((x), double : f, default : none_1)((double)(x))
#define FLOAT_2(f, x, y) _Generic((x), double : f, default : none_2)((double)(x), (double)(y))
#define EITHER_1(f, i, x) _Generic((x), double : f, default : i)(x)
#define EITHER_2(f, i, x, y) _Generic((x), double : f, default : i)(x, y)

#define M_exp(x) FLOAT_1(exp, x)
#define M_log(x) FLOAT_1(log, x)
#define M_tanh(x) FLOAT_1(tanh, x)
#define M_erf(x) FLOAT_1(erf, x)
#define M_sqrt(x) FLOAT_1(sqrt, x)
#define M_sin(x) FLOAT_1(sin, x)
#define M_cos(x) FLOAT_1(cos, x)
#define M_log1p(x) FLOAT_1(log1p, x)
#define M_expm1(x) FLOAT_1(expm1, x)
#define M_log2(x) FLOAT_1(log2, x)
#define M_exp2(x) FLOAT_1(exp2, x)
#define M_tan(x) FLOAT_1(tan, x)
#define M_asin(x) FLOAT_1(asin, x)
#define M_acos(x) FLOAT_1(acos, x)
#define M_atan(x) FLOAT_1(atan, x)
#define M_sinh(x) FLOAT_1(sinh, x)
#define M_cosh(x) FLOAT_1(cosh, x)
#define M_asinh(x) FLOAT_1(asinh, x)
#define M_acosh(x) FLOAT_1(acosh, x)
#define M_atanh(x) FLOAT_1(atanh, x)
#define M_cbrt(x) FLOAT_1(cbrt, x)
#define M_erfc(x) FLOAT_1(erfc, x)
#define M_floor(x) FLOAT_1(floor, x)
#define M_ceil(x) FLOAT_1(ceil, x)
#define M_trunc(x) FLOAT_1(trunc, x)
#define M_rsqrt(x) FLOAT_1(rsqrt, x)
#define M_sigmoid(x) FLOAT_1(sigmoid, x)
#define M_softplus(x) FLOAT_1(softplus, x)
#define M_round_away(x) FLOAT_1(round, x)
#define M_round(x) FLOAT_1(nearest_even, x)
#define M_is_finite(x) isfinite((double)(x))
#define M_is_inf(x) isinf((double)(x))
#define M_pow(x, y) EITHER_2(pow, pow_i, x, y)
#define M_mulhi(x, y, w) mulhi((wide)(x), (wide)(y), w)
#define M_popcnt(x, w) rt_popcnt(rt_low_bits((uint64_t)(wide)(x), w))
#define M_clz(x, w) rt_clz(rt_low_bits((uint64_t)(wide)(x), w), w)
#define M_atan2(x, y) FLOAT_2(atan2, x, y)
#define M_abs(x) EITHER_1(fabs, abs_i, x)
#define M_sign(x) EITHER_1(sign_f, sign_i, x)
#define M_div(x, y) EITHER_2(div_f, div_i, x, y)
#define M_rem(x, y) EITHER_2(fmod, rem_i, x, y)
#define M_max(x, y) EITHER_2(max_f, max_i, x, y)
#define M_min(x, y) EITHER_2(min_f, min_i, x, y)
#define M_and(x, y) ((wide)(x) & (wide)(y))
#define M_or(x, y) ((wide)(x) | (wide)(y))
#define M_xor(x, y) ((wide)(x) ^ (wide)(y))
#define M_exact(x, y) EITHER_2(none_2, exact_i, x, y)
#define M_not(x) ((x) == 0)
#define M_shift_left(x, y, w) shift_left((wide)(x), (wide)(y), w)
#define M_shift_right(x, y, w) shift_right((wide)(x), (wide)(y), w)
#define M_shift_right_logical(x, y, w) shift_right_logical((wide)(x), (wide)(y), w)
#define M_bitcast(x) 0
#define M_reduce_precision(x, y, z) 0
#define M_element(x) 0 /* form.c */
#define M_uniform(x, y) 0
#define M_normal(x, y) 0
#define M_draw_uniform(x, y, z) 0
#define M_draw_normal(x, y, z) 0
#define M_draw_bits(x, y, z) 0

enum { SAME, BOOL, F };

/* Results that are bool are integers in their cell. */
#define STORE_F_SAME(v) r[i].f = at_least((v), least)
#define STORE_F_F(v) r[i].f = at_least((v), least)
#define STORE_F_BOOL(v) r[i].i = (v)

/* Below this, values of type t count as 0 (runtime/kernel/subnormal.h). */
static double
least_of(enum ir_dtype t, const struct interp_options *o)
{
	if (o->subnormals)
		return 0;
	if (o->f64 || t == IR_f64)
		return DBL_MIN;
	return t == IR_f32 || t == IR_bf16 ? (double)FLT_MIN : 0;
}

static double
at_least(double x, double least)
{
	return fabs(x) < least ? copysign(0, x) : x;
}

void
scalar_flush(enum ir_dtype t, const struct interp_options *o, union cell *r, int n)
{
	const double least = least_of(t, o);

	if (ir_dtype_class(t) != IR_FLOAT)
		return;
	for (int i = 0; i < n; i++)
		r[i].f = at_least(r[i].f, least);
}

static void
float_run(enum scalar_fn fn, double least, union cell *r, const union cell *xs,
	const union cell *ys, const union cell *zs, int n)
{
	const int w = 64;

	switch (fn) {
#define SCALAR(name, arity, infix, kind, linear, work, laws, C, ...)                               \
	case FN_##name:                                                                            \
		for (int i = 0; i < n; i++) {                                                      \
			const double x = at_least(xs[i].f, least), y = at_least(ys[i].f, least),   \
				     z = at_least(zs[i].f, least);                                 \
			(void)x, (void)y, (void)z;                                                 \
			STORE_F_##kind(C);                                                         \
		}                                                                                  \
		break;
#include "ir/ops/scalar.def"
#undef SCALAR
	case FN_COUNT: break;
	}
}

static wide
wide_of(union cell c, bool unsigned64)
{
	return unsigned64 ? (wide)(uint64_t)c.i : c.i;
}

/* ir_dtype_wrap without calls, as positions in tensors need it for each element. */
struct wrapping {
	unsigned spare; /* high bits that the type does not have */
	enum ir_dclass class;
};

static inline int64_t
wrapped(struct wrapping w, int64_t v)
{
	const uint64_t up = (uint64_t)v << w.spare;

	if (w.class == IR_BOOL)
		return v != 0;
	return w.class == IR_UINT ? (int64_t)(up >> w.spare) : (int64_t)up >> w.spare;
}

static void
int_run(enum scalar_fn fn, enum ir_dtype t, enum ir_dtype arg, union cell *r, const union cell *xs,
	const union cell *ys, const union cell *zs, int n)
{
	const int w = (int)(8 * ir_dtype_bytes(t));
	const struct wrapping wrap = {64 - 8 * ir_dtype_bytes(t), ir_dtype_class(t)};
	/* The low half of a product is the same with a sign, and does not overflow. */
	const bool unsigned64 = arg == IR_u64 && fn != FN_mul;

	switch (fn) {
#define SCALAR(name, arity, infix, kind, linear, work, laws, C, ...)                               \
	case FN_##name:                                                                            \
		for (int i = 0; i < n; i++) {                                                      \
			const wide x = wide_of(xs[i], unsigned64), y = wide_of(ys[i], unsigned64), \
				   z = wide_of(zs[i], unsigned64);                                 \
			(void)x, (void)y, (void)z;                                                 \
			r[i].i = wrapped(wrap, (int64_t)(C));                                      \
		}                                                                                  \
		break;
#include "ir/ops/scalar.def"
#undef SCALAR
	case FN_COUNT: break;
	}
}

/* An integer as the nearest double that rounds once to a narrower type. */
static double
to_odd(enum ir_dtype t, int64_t i)
{
	return t == IR_u64 ? rt_u64_to_odd((uint64_t)i) : rt_i64_to_odd(i);
}

static void
convert_run(enum ir_dtype to, enum ir_dtype from, const struct interp_options *o, union cell *r,
	const union cell *x, int n)
{
	const bool f = ir_dtype_class(from) == IR_FLOAT, f64 = o->f64;
	const double least = f && to != from ? least_of(from, o) : 0;
	if (ir_dtype_class(to) != IR_FLOAT) {
		for (int i = 0; i < n; i++)
			r[i].i = f ? ir_dtype_truncated(to, at_least(x[i].f, least))
				   : ir_dtype_wrap(to, x[i].i);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (f64 || to == IR_f64)
			r[i].f = f ? at_least(x[i].f, least) : ir_dtype_double(from, x[i].i);
		else
			r[i].f = ir_dtype_round(
				to, f ? at_least(x[i].f, least) : to_odd(from, x[i].i));
	}
	if (f && to != from)
		scalar_flush(to, o, r, n);
}

/* An element as the bits of its type, and back. */
static uint64_t
bits_of(enum ir_dtype t, union cell c)
{
	uint64_t bits = 0;

	literal_write(t, (unsigned char *)&bits, 0,
		ir_dtype_class(t) == IR_FLOAT ? (union ir_number){.f = c.f}
					      : (union ir_number){.i = c.i});
	return bits;
}

static union cell
cell_of(enum ir_dtype t, uint64_t bits)
{
	const union ir_number v = literal_read(t, (const unsigned char *)&bits, 0);

	return ir_dtype_class(t) == IR_FLOAT ? (union cell){.f = v.f} : (union cell){.i = v.i};
}

static void
bitcast_run(enum ir_dtype to, enum ir_dtype from, union cell *r, const union cell *x, int n)
{
	for (int i = 0; i < n; i++)
		r[i] = cell_of(to, bits_of(from, x[i]));
}

static void
reduce_precision_run(enum ir_dtype t, union cell *r, const union cell *x,
	const union cell *exponent, const union cell *mantissa, int n)
{
	const int m = fn_mantissa_bits(t), e = (int)(8 * ir_dtype_bytes(t)) - 1 - m;

	for (int i = 0; i < n; i++)
		r[i] = cell_of(t, rt_reduce_precision(bits_of(t, x[i]), e, m, (int)exponent[i].f,
					  (int)mantissa[i].f));
}

/* Numbers by seed and position: programs have the same key. */
static void
random_run(bool normal, union cell *r, const union cell *seed, const union cell *at, int n)
{
	for (int i = 0; i < n; i++) {
		const uint64_t key = rt_mix64((uint64_t)seed[i].i), index = (uint64_t)at[i].i;
		r[i].f = normal ? rt_normal(key, index) : rt_uniform(key, index);
	}
}

/* The same by key, counter and position. */
static void
draw_run(enum scalar_fn fn, union cell *r, const union cell *key, const union cell *count,
	const union cell *at, int n)
{
	for (int i = 0; i < n; i++)
		if (fn == FN_draw_bits)
			r[i].i = rt_draw_bits(key[i].i, count[i].i, at[i].i);
		else if (fn == FN_draw_normal)
			r[i].f = rt_draw_normal(key[i].i, count[i].i, at[i].i);
		else
			r[i].f = rt_draw_uniform(key[i].i, count[i].i, at[i].i);
}

static void
select_run(union cell *r, const union cell *c, const union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		r[i] = c[i].i ? a[i] : b[i];
}

/* A sign is a bit. */
static bool
moves_bits(enum scalar_fn fn)
{
	return fn == FN_neg || fn == FN_abs || fn == FN_stop;
}

void
scalar_run(enum scalar_fn fn, enum ir_dtype dtype, enum ir_dtype arg,
	const struct interp_options *o, union cell *r, const union cell *x, const union cell *y,
	const union cell *z, int n)
{
	if (fn == FN_convert)
		convert_run(dtype, arg, o, r, x, n);
	else if (fn == FN_uniform || fn == FN_normal)
		random_run(fn == FN_normal, r, x, y, n);
	else if (fn_is_keyed(fn))
		draw_run(fn, r, x, y, z, n);
	else if (fn == FN_bitcast)
		bitcast_run(dtype, arg, r, x, n);
	else if (fn == FN_reduce_precision)
		reduce_precision_run(dtype, r, x, y, z, n);
	else if (fn == FN_select)
		select_run(r, x, y, z, n);
	else if (ir_dtype_class(arg) == IR_FLOAT)
		float_run(fn, moves_bits(fn) ? 0 : least_of(arg, o), r, x, y, z, n);
	else
		int_run(fn, dtype, arg, r, x, y, z, n);
}
