/*
 * The scalar functions of ir/scalar.def over strips of cells. Floats are computed in double,
 * integers in 128 bits and then wrapped, so that no intermediate result overflows. A row's C text
 * is expanded twice: once with x, y, z as doubles and once as integers; what makes no sense for
 * integers is 0 there and never reached, because kind F takes floats only.
 */
#include "ir/interp_internal.h"
#include "runtime/rng.h"

#include <assert.h>
#include <math.h>

typedef __int128 wide;

static double
sigmoid(double x)
{
	const double e = exp(-fabs(x));
	return (x < 0 ? e : 1) / (1 + e);
}

/* The larger and the smaller, a NaN if either is one: as runtime/scalar_math.h. */
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

#define M_div(x, y) ((x) / (y))
#define M_max(x, y) max_f(x, y)
#define M_min(x, y) min_f(x, y)
#define M_exp(x) exp(x)
#define M_log(x) log(x)
#define M_tanh(x) tanh(x)
#define M_erf(x) erf(x)
#define M_sqrt(x) sqrt(x)
#define M_rsqrt(x) (1 / sqrt(x))
#define M_sigmoid(x) sigmoid(x)
#define M_sin(x) sin(x)
#define M_cos(x) cos(x)
#define M_abs(x) fabs(x)
#define M_pow(x, y) pow(x, y)
#define M_and(x, y) ((x) != 0 && (y) != 0)
#define M_or(x, y) ((x) != 0 || (y) != 0)
#define M_not(x) ((x) == 0)
#define M_uniform(x, y) 0
#define M_normal(x, y) 0

enum { SAME, BOOL, F };

/* Results that are bool are integers in their cell. */
#define STORE_F_SAME(v) r[i].f = (v)
#define STORE_F_F(v) r[i].f = (v)
#define STORE_F_BOOL(v) r[i].i = (v)

static void
float_run(enum scalar_fn fn, union cell *r, const union cell *xs, const union cell *ys,
	const union cell *zs, int n)
{
	switch (fn) {
#define SCALAR(name, arity, infix, kind, linear, C, ...)                                           \
	case FN_##name:                                                                            \
		for (int i = 0; i < n; i++) {                                                      \
			const double x = xs[i].f, y = ys[i].f, z = zs[i].f;                        \
			(void)x, (void)y, (void)z;                                                 \
			STORE_F_##kind(C);                                                         \
		}                                                                                  \
		break;
#include "ir/scalar.def"
#undef SCALAR
	case FN_COUNT: break;
	}
}

#undef M_div
#undef M_max
#undef M_min
#undef M_exp
#undef M_log
#undef M_tanh
#undef M_erf
#undef M_sqrt
#undef M_rsqrt
#undef M_sigmoid
#undef M_sin
#undef M_cos
#undef M_abs
#undef M_pow
#define M_div(x, y) ((y) == 0 ? 0 : (x) / (y))
#define M_max(x, y) ((x) > (y) ? (x) : (y))
#define M_min(x, y) ((x) < (y) ? (x) : (y))
#define M_exp(x) 0
#define M_log(x) 0
#define M_tanh(x) 0
#define M_erf(x) 0
#define M_sqrt(x) 0
#define M_rsqrt(x) 0
#define M_sigmoid(x) 0
#define M_sin(x) 0
#define M_cos(x) 0
#define M_abs(x) ((x) < 0 ? -(x) : (x))
#define M_pow(x, y) 0

static void
int_run(enum scalar_fn fn, enum ir_dtype t, union cell *r, const union cell *xs,
	const union cell *ys, const union cell *zs, int n)
{
	switch (fn) {
#define SCALAR(name, arity, infix, kind, linear, C, ...)                                           \
	case FN_##name:                                                                            \
		for (int i = 0; i < n; i++) {                                                      \
			const wide x = xs[i].i, y = ys[i].i, z = zs[i].i;                          \
			(void)x, (void)y, (void)z;                                                 \
			r[i].i = tensor_wrap(t, (int64_t)(C));                                     \
		}                                                                                  \
		break;
#include "ir/scalar.def"
#undef SCALAR
	case FN_COUNT: break;
	}
}

/* Truncated, the nearest that the type holds where it is out of range; NaN is 0. */
static int64_t
float_to_int(enum ir_dtype t, double v)
{
	if (t == IR_bool)
		return v != 0;
	if (v != v)
		return 0;
	const int bits = (int)(8 * ir_dtype_bytes(t));
	const bool isunsigned = ir_dtype_class(t) == IR_UINT;
	const double top = ldexp(1, isunsigned ? bits : bits - 1), bottom = isunsigned ? 0 : -top;
	if (v >= top)
		return (int64_t)((UINT64_MAX >> 1) >> (isunsigned ? 63 - bits : 64 - bits));
	return v <= bottom ? (int64_t)bottom : (int64_t)v;
}

static void
convert_run(
	enum ir_dtype to, enum ir_dtype from, bool f64, union cell *r, const union cell *x, int n)
{
	const bool f = ir_dtype_class(from) == IR_FLOAT;
	if (ir_dtype_class(to) != IR_FLOAT) {
		for (int i = 0; i < n; i++)
			r[i].i = f ? float_to_int(to, x[i].f) : tensor_wrap(to, x[i].i);
		return;
	}
	for (int i = 0; i < n; i++) {
		const double v = f ? x[i].f : (double)x[i].i;
		r[i].f = f64 ? v : tensor_round(to, v);
	}
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

static void
select_run(union cell *r, const union cell *c, const union cell *a, const union cell *b, int n)
{
	for (int i = 0; i < n; i++)
		r[i] = c[i].i ? a[i] : b[i];
}

void
scalar_run(enum scalar_fn fn, enum ir_dtype dtype, enum ir_dtype arg, bool f64, union cell *r,
	const union cell *x, const union cell *y, const union cell *z, int n)
{
	if (fn == FN_convert)
		convert_run(dtype, arg, f64, r, x, n);
	else if (fn == FN_uniform || fn == FN_normal)
		random_run(fn == FN_normal, r, x, y, n);
	else if (fn == FN_select)
		select_run(r, x, y, z, n);
	else if (ir_dtype_class(arg) == IR_FLOAT)
		float_run(fn, r, x, y, z, n);
	else
		int_run(fn, dtype, r, x, y, z, n);
}
