/*
 * Ops on given values compared with correctly rounded results (MPFR), in a program and in the
 * interpreter, with subnormal numbers and with zeros instead of them. A test of such ops has a
 * table of cases.
 */
#ifndef TEST_LOWER_EXACT_H
#define TEST_LOWER_EXACT_H

#include "test/lower/program.h"

#include "ir/ops/error.h"

#include <mpfr.h>

enum {
	EXACT_VALUES = 2048, /* of each operand and type */
	EXACT_BITS =
		200, /* bits of results that count as exact: those of an f64 and as many more */
};

/* The exact result for elements i of operands x and y; NaN if it is one. */
typedef void (*exact_value)(mpfr_t r, const double *x, const double *y, int i);

struct exact_case {
	enum op_code op;
	const char
		*text; /* ops that make %r of %x and %y, EXACT_VALUES elements; N is their number */
	exact_value value;
	/* Results below this many times the smallest normal number come from a subnormal factor:
	 * their last place is that of such a number times this. */
	double subnormal_factor;
	bool moves_bits; /* subnormal numbers are preserved */
};

/* Significant bits, least exponent of a normal number (0.5 <= m < 1), largest number. */
static const struct exact_format {
	int bits, least;
	double largest;
	bool flushed; /* smaller ones count as 0, except in programs that compute with them */
} exact_format[] = {[IR_f64] = {53, -1021, 0x1.fffffffffffffp1023, true},
	[IR_f32] = {24, -125, 0x1.fffffep127, true},
	[IR_f16] = {11, -13, 65504, false},
	[IR_bf16] = {8, -125, 0x1.FEp127, true}};

static const enum ir_dtype exact_types[] = {IR_f64, IR_f32, IR_f16, IR_bf16};

/* v rounded to type t: of wide types the nearest double. */
static inline double
exact_rounded(enum ir_dtype t, double v)
{
	switch (t) {
	case IR_f64: return v;
	case IR_f32: return (float)v;
	case IR_f16: return rt_f16_to_f32(rt_f64_to_f16(v));
	default: return rt_bf16_to_f32(rt_f64_to_bf16(v));
	}
}

/* Element i of operand `which` in type t: usual sizes, all bit patterns, special values. */
static inline double
exact_element(enum ir_dtype t, int which, int i)
{
	static const double special[] = {0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -3, INFINITY, -INFINITY,
		NAN, 0x1p-126, -0x1p-126, 0x1p-130, 0x1p-24, 88.7, -87.3, 104, 709.7, 1e-7, 0.99,
		5.5, -5.5};
	const uint64_t bits = rt_mix64((uint64_t)(i * 2 + which + 1));
	const double unit = 2 * (double)(bits >> 11) * 0x1p-53 - 1;
	const int nspecial = sizeof special / sizeof *special;
	if (i < nspecial * nspecial)
		return exact_rounded(t, special[which ? i / nspecial : i % nspecial]);
	switch (i % 4) {
	case 0: return exact_rounded(t, unit);
	case 1: return exact_rounded(t, ldexp(unit, (int)(rt_mix64(bits) % 40) - 24));
	case 2: return exact_rounded(t, ldexp(unit, (int)(rt_mix64(bits) % 2098) - 1074));
	default: return exact_rounded(t, ldexp(unit, (int)(rt_mix64(bits) % 252) - 126));
	}
}

/* The value that arithmetic of type t reads. */
static inline double
exact_taken(enum ir_dtype t, double v, bool keeps)
{
	const bool small = fabs(v) < ldexp(0.5, exact_format[t].least);

	return small && exact_format[t].flushed && !keeps ? copysign(0, v) : v;
}

/* A unit in the last place of v in type t. */
static inline double
exact_unit(enum ir_dtype t, double v)
{
	int e = 0;

	frexp(v, &e);
	return ldexp(1, (v == 0 || e < exact_format[t].least ? exact_format[t].least : e) -
				exact_format[t].bits);
}

/* May case c give `have` for the exact result? Sets *units: the error in units of the case. */
static inline bool
exact_agrees(const struct exact_case *c, enum ir_dtype t, mpfr_t exact, double operand, double have,
	bool keeps, double *units)
{
	/* For an op that sums and is given one product: here a sum of two products. */
	static const struct op_error products = {true, ERROR_OF_RESULT, 1.5, 1.5};
	const struct op_error stated = op_error(c->op), e = stated.stated ? stated : products;
	const struct exact_format *f = &exact_format[t];
	const bool half = t == IR_f16 || t == IR_bf16;
	const enum ir_dtype computed = half ? IR_f32 : t;
	const double near = mpfr_get_d(exact, MPFR_RNDN),
		     least = ldexp(0.5, exact_format[computed].least),
		     unit = fabs(near) < c->subnormal_factor * least
				    ? c->subnormal_factor * exact_unit(computed, 0)
				    : exact_unit(computed, near),
		     rounding = half ? exact_unit(t, near) / 2 : 0,
		     exponent = e.of == ERROR_OF_EXPONENT && near != 0
					? fabs(log(fabs(near / operand)))
					: 0,
		     allowed = (t == IR_f64 ? e.f64 : e.f32) * (1 + exponent) * unit + rounding;
	mpfr_t off;

	*units = 0;
	if (mpfr_nan_p(exact) || isnan(have))
		return mpfr_nan_p(exact) && isnan(have);
	if (isinf(have)) /* from half a unit beyond the largest on */
		return (have > 0) == (mpfr_sgn(exact) > 0) &&
		       (isinf(near) || fabs(near) + allowed >= f->largest);
	if (isinf(near) && mpfr_inf_p(exact))
		return false;
	if (f->flushed && !keeps && fabs(have) < ldexp(0.5, f->least))
		return have == 0 && fabs(near) < least * fmax(c->subnormal_factor, 1) + allowed;
	mpfr_init2(off, EXACT_BITS);
	mpfr_d_sub(off, have, exact, MPFR_RNDN);
	const double by = fabs(mpfr_get_d(off, MPFR_RNDN));
	mpfr_clear(off);
	*units = fmax(by - rounding, 0) / unit;
	return by <= allowed * (1 + 0x1p-40);
}

static inline char *
exact_text(const void *owner, const struct exact_case *c, int n)
{
	char *text =
		talloc_asprintf(owner, "module @exact\nlet N = %d\nfunc @main() {\n", EXACT_VALUES);

	for (size_t k = 0; k < sizeof exact_types / sizeof *exact_types; k++) {
		const char *t = ir_dtype_name(exact_types[k]);
		for (int which = 0; which < 2; which++)
			text = talloc_asprintf_append(text, "%%%c.%s = state(\"%c.%s\") : %s[%d]\n",
				"xy"[which], t, "xy"[which], t, t, EXACT_VALUES);
		for (int i = 0; i < n; i++) {
			for (const char *p = c[i].text; *p; p++)
				if (*p != '%')
					text = talloc_asprintf_append(text, "%c", *p);
				else if (*++p == 'x' || *p == 'y')
					text = talloc_asprintf_append(text, "%%%c.%s", *p, t);
				else
					text = talloc_asprintf_append(text, "%%%c%d.%s", *p, i, t);
			text = talloc_asprintf_append(
				text, "\noutput(\"r%d.%s\", %%r%d.%s)\n", i, t, i, t);
		}
	}
	return talloc_strdup_append(text, "}\n");
}

static inline void
exact_put(enum ir_dtype t, unsigned char *at, double v)
{
	const float f32 = (float)v;
	const uint16_t half = t == IR_f16 ? rt_f64_to_f16(v) : rt_f64_to_bf16(v);

	memcpy(at,
		t == IR_f64   ? (const void *)&v
		: t == IR_f32 ? (const void *)&f32
			      : &half,
		ir_dtype_bytes(t));
}

/* A file with the operands. */
static inline void
exact_write(struct batch *b, const char *path)
{
	enum { N = 2 * sizeof exact_types / sizeof *exact_types };
	struct rt_st_entry entry[N];
	struct rt_st_writer w;
	struct rt_status st = {0};
	const int64_t n = EXACT_VALUES;

	for (int k = 0; k < N; k++) {
		const enum ir_dtype t = exact_types[k / 2];
		entry[k] = (struct rt_st_entry){
			talloc_asprintf(b, "%c.%s", "xy"[k % 2], ir_dtype_name(t)),
			(enum rt_dtype)t, 1, &n};
	}
	bool ok = rt_st_create(&w, path, entry, N, NULL, 0, &st);
	for (int k = 0; k < N && ok; k++) {
		const enum ir_dtype t = exact_types[k / 2];
		const size_t bytes = ir_dtype_bytes(t);
		unsigned char *data = talloc_size(b, bytes * EXACT_VALUES);
		for (int i = 0; i < EXACT_VALUES; i++)
			exact_put(t, data + (size_t)i * bytes, exact_element(t, k % 2, i));
		ok = rt_st_append(&w, data, bytes * EXACT_VALUES, &st);
	}
	assert_true(rt_st_finish(&w, ok, &st) && ok);
}

static inline struct interp *
exact_interpreter(struct batch *b, struct ir_module *m, bool keeps)
{
	const struct interp_options o = {.mode = INTERP_MEANING, .subnormals = keeps};
	struct interp *it = interp_create(b, m, &o);
	const int64_t n = EXACT_VALUES;

	for (size_t k = 0; k < 2 * sizeof exact_types / sizeof *exact_types; k++) {
		const enum ir_dtype t = exact_types[k / 2];
		struct tensor *v = tensor_create(b, t, 1, &n);
		for (int i = 0; i < n; i++)
			v->data[i].f = exact_element(t, (int)k % 2, i);
		assert_true(interp_set_persistent(
			it, talloc_asprintf(b, "%c.%s", "xy"[k % 2], ir_dtype_name(t)), v));
	}
	assert_true(interp_step(it, 0));
	return it;
}

/* Compares the elements of one case and type, of the program and of the interpreter. Reports the
 * first wrong one; returns whether there is one. */
static inline bool
exact_differs(const struct exact_case *c, enum ir_dtype t, const struct rt_st_tensor *program,
	const struct tensor *interp, bool keeps)
{
	double x[EXACT_VALUES], y[EXACT_VALUES], most[2] = {0}, at[2] = {0};
	mpfr_t exact;

	for (int i = 0; i < EXACT_VALUES; i++) {
		x[i] = exact_taken(t, exact_element(t, 0, i), keeps);
		y[i] = exact_taken(t, exact_element(t, 1, i), keeps);
	}
	mpfr_init2(exact, EXACT_BITS);
	for (int i = 0; i < tensor_elements(interp); i++) {
		const double have[2] = {element(program, t, i), interp->data[i].f};
		double units;
		c->value(exact, x, y, i);
		const double operand =
			strstr(c->text, "%y") ? fmax(fabs(x[i]), fabs(y[i])) : fabs(x[i]);
		for (int k = 0; k < 2; k++) {
			if (!exact_agrees(c, t, exact, operand, have[k], keeps, &units)) {
				print_error(
					"%s: %s of %a and %a in %s is %a, %g units off; exact: %a\n",
					k ? "interpreter" : "program", c->text, x[i], y[i],
					ir_dtype_name(t), have[k], units,
					mpfr_get_d(exact, MPFR_RNDN));
				mpfr_clear(exact);
				return true;
			}
			if (units > most[k]) {
				most[k] = units;
				at[k] = x[i];
			}
		}
	}
	mpfr_clear(exact);
	print_message("%s %s: program %.3g units at %a, interpreter %.3g at %a\n", ir_dtype_name(t),
		c->text, most[0], at[0], most[1], at[1]);
	return false;
}

/* All cases, in all types of floats, with subnormal numbers kept or counting as 0. Returns the
 * number of failures. */
static inline int
exact_run(struct batch *b, const struct exact_case *c, int n, const char *values, bool keeps)
{
	struct rt_st_file file;
	struct rt_status st = {0};
	char *dump = talloc_asprintf(b, "%s/dump", b->folder),
	     *load = talloc_asprintf(b, "-load=%s", values);
	struct interp *it = exact_interpreter(b, b->program[0].m, keeps);
	int wrong = 0;

	assert_int_equal(run_with(b, 0, dump, keeps ? "-subnormals" : "-no-eval", load), 0);
	assert_true(rt_st_open(&file, dump, &st));
	for (size_t k = 0; k < sizeof exact_types / sizeof *exact_types; k++)
		for (int i = 0; i < n; i++) {
			const char *name =
				talloc_asprintf(b, "r%d.%s", i, ir_dtype_name(exact_types[k]));
			if (!keeps && c[i].moves_bits)
				continue;
			wrong += exact_differs(&c[i], exact_types[k], rt_st_find(&file, name),
				interp_output(it, name), keeps);
		}
	rt_st_close(&file);
	return wrong;
}

static inline void
exact_check(const struct exact_case *c, int n)
{
	struct batch *b = batch_create();
	char *values = talloc_asprintf(b, "%s/values", b->folder);
	int wrong;

	exact_write(b, values);
	batch_add(b, "exact", exact_text(b, c, n));
	b->steps = 1;
	assert_true(batch_try_build(b, "-O3"));
	wrong = exact_run(b, c, n, values, true);
	if (BATCH_TARGET == LOWER_HOST) /* CUDA programs always compute with subnormal numbers */
		wrong += exact_run(b, c, n, values, false);
	batch_end(b);
	assert_int_equal(wrong, 0);
}

#endif
