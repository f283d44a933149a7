/*
 * convert between all pairs of element types, in a program and in the interpreter, on values at the
 * limits of roundings and ranges. The expected values are computed here from the definition, in
 * long double, which holds every value of every type.
 */
#include "test/lower/program.h"

#include <float.h>
#include <math.h>

_Static_assert(LDBL_MANT_DIG >= 64, "a long double holds the 64-bit integers");

/* Bits of the significand, exponent of the smallest normal number as frexp has it, largest. */
static const struct {
	int bits, least;
	double largest;
} format[] = {[IR_f64] = {53, -1021, DBL_MAX},
	[IR_f32] = {24, -125, FLT_MAX},
	[IR_f16] = {11, -13, 65504},
	[IR_bf16] = {8, -125, 0x1.FEp127}};

static const double floats[] = {0, -0.0, 1, -1, 0.5, -0.5, 0.9999999, -0.9999999, 1.5, 2.5, -2.5,
	/* the smallest numbers, and halves of them */
	0x1p-24, 0x1p-25, -0x1p-25, 0x1.000001p-25, 0x1.8p-24, 0x1p-133, 0x1p-134, 0x1.0001p-134,
	0x1p-149, 0x1p-150, 0x1.0000001p-150, 0x1p-1074, -0x1p-1074, 0x1.ffcp-15, 0x1.ffep-15,
	/* in the middle between two f16, two bf16, two f32; and slightly off */
	1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 0x3p-11, 1 + 0x3p-11 - 0x1p-40, 1 + 0x1p-8,
	1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8 - 0x1p-40, 1 + 0x3p-8, 1 + 0x3p-8 - 0x1p-40, 1 + 0x1p-24,
	1 + 0x1p-24 + 0x1p-50, 1 + 0x3p-24, -1 - 0x1p-8 - 0x1p-40,
	/* the largest of f16, bf16, f32, and the values at which they become infinite */
	65504, 65519, 65520, -65520, 65519.999999, 0x1.FEp127, 0x1.FFp127, 0x1.FEFFFFFFp127,
	-0x1.FFp127, FLT_MAX, 0x1.FFFFFFp127, 0x1.FFFFFEFFFFp127, DBL_MAX, -DBL_MAX, INFINITY,
	-INFINITY, NAN,
	/* the ends of the integers */
	126.99, 127, 127.99, 128, -128, -128.99, -129, 254.5, 255, 255.99, 256, -256, 300,
	2147483647, 2147483648.0, 2147483520.0, -2147483648.0, -2147483649.0, 2147483647.5,
	4294967296.0, 4294967295.0, 4294967295.5, 32767, 32768, -32768, -32769, 65535, 65535.5,
	65536, 0x1p64, 0x1.fffffffffffffp63, -0.9, 16777217, 0x1p53, 0x1p62, 0x1p63,
	0x1.fffffffffffffp62, -0x1p63, -0x1.8p63, 1e30, -1e30};

static const int64_t integers[] = {0, 1, -1, 2, 127, 128, -127, -128, -129, 254, 255, 256, -255,
	-256, 257, 259, 300, -300, 2049, 2051, 65504, 65519, 65520, -65520, 65535, 65536, 16777217,
	16777219, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, 0x100000000,
	(1LL << 53) + 1, (1LL << 53) + 3, -(1LL << 53) - 1, INT64_MAX, INT64_MIN, INT64_MIN + 1,
	/* in the middle between two f32, two bf16, and slightly off: beyond the precision of a
	 * float, a double */
	(1LL << 40) + (1LL << 16), (1LL << 40) + (1LL << 16) + 1, (1LL << 62) + (1LL << 38),
	(1LL << 62) + (1LL << 38) + 1, -(1LL << 62) - (1LL << 38) - 1,
	(1LL << 62) + (3LL << 38) - 1, (1LL << 40) + (1LL << 32), (1LL << 40) + (1LL << 32) + 1,
	(1LL << 62) + (1LL << 54) + 1, -(1LL << 62) - (1LL << 54) - 1,
	/* the ends of 16 bits; for u64 values above i64, in the middle and slightly off */
	32767, 32768, -32768, -32769, UINT32_MAX, INT64_MIN + 1024, INT64_MIN + 1025,
	INT64_MIN + (1LL << 39), INT64_MIN + (1LL << 39) + 1, INT64_MIN + (1LL << 55) + 1, -1024,
	-1025, (1LL << 30) + (1LL << 22) + 1, (3LL << 29) - (1LL << 22) - 1};

enum {
	NFLOATS = sizeof floats / sizeof *floats,
	NINTEGERS = sizeof integers / sizeof *integers,
	MOST = NFLOATS > NINTEGERS ? NFLOATS : NINTEGERS,
};

static bool
is_float(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_FLOAT;
}

/* To nearest, halves to even: in units of the last place. */
static long double
as_float(enum ir_dtype t, long double v)
{
	int e;
	if (v == 0 || !(fabsl(v) <= LDBL_MAX))
		return v;
	frexpl(v, &e);
	const int last = (e > format[t].least ? e : format[t].least) - format[t].bits;
	const long double r = ldexpl(rintl(ldexpl(v, -last)), last);
	return fabsl(r) > format[t].largest ? copysignl(INFINITY, v) : copysignl(r, v);
}

/* Floats lose their fraction and stop at the ends; integers keep their low bits. */
static long double
as_integer(enum ir_dtype t, bool from_float, long double v)
{
	const int bits = 8 * (int)ir_dtype_bytes(t);
	const long double top = ldexpl(1, ir_dtype_class(t) == IR_UINT ? bits : bits - 1),
			  bottom = ir_dtype_class(t) == IR_UINT ? 0 : -top;
	if (v != v)
		return 0;
	if (from_float)
		return truncl(v < bottom ? bottom : v > top - 1 ? top - 1 : v);
	long double low = v - ldexpl(floorl(ldexpl(v, -bits)), bits);
	return low >= top ? low - ldexpl(1, bits) : low;
}

/* The value that arithmetic reads for a number of that type, if subnormal numbers count as
 * zeros. */
static long double
taken(enum ir_dtype t, long double v)
{
	return t != IR_f16 && fabsl(v) < ldexpl(0.5, format[t].least) ? copysignl(0, v) : v;
}

static long double
converted(enum ir_dtype to, enum ir_dtype from, long double v, bool keeps)
{
	if (from == to)
		return v; /* bits are preserved */
	if (is_float(from) && !keeps)
		v = taken(from, v);
	if (to == IR_bool)
		return v != 0; /* NaN is not 0 */
	if (is_float(to))
		return keeps ? as_float(to, v) : taken(to, as_float(to, v));
	return as_integer(to, is_float(from), v);
}

/* The values of type t: those of the lists, rounded to it. Returns their number. */
static int
values_of(enum ir_dtype t, long double *v)
{
	const int n = is_float(t) ? NFLOATS : NINTEGERS;
	for (int i = 0; i < n; i++)
		v[i] = is_float(t)    ? as_float(t, floats[i])
		       : t == IR_bool ? i & 1
				      : as_integer(t, false, (long double)integers[i]);
	return n;
}

/* The bits of a half whose value is v: all are tried. */
static uint16_t
half_of(enum ir_dtype t, double v)
{
	for (unsigned h = 0; h < 65536; h++) {
		const float x =
			t == IR_f16 ? rt_f16_to_f32((uint16_t)h) : rt_bf16_to_f32((uint16_t)h);
		if ((x == v && !signbit(x) == !signbit(v)) || (x != x && v != v))
			return (uint16_t)h;
	}
	fail_msg("%a is no %s", v, ir_dtype_name(t));
	return 0;
}

/* The content of the interpreter's cell for an integer. */
static int64_t
cell_of(enum ir_dtype t, long double v)
{
	return t == IR_u64 ? (int64_t)(uint64_t)v : (int64_t)v;
}

static void
put_element(enum ir_dtype t, unsigned char *at, long double v)
{
	const double f64 = (double)v;
	const float f32 = (float)v;
	const int64_t integer = is_float(t) ? 0 : cell_of(t, v);
	const uint16_t half = t == IR_f16 || t == IR_bf16 ? half_of(t, f64) : 0;
	const void *from = t == IR_f64                   ? (const void *)&f64
			   : t == IR_f32                 ? (const void *)&f32
			   : t == IR_f16 || t == IR_bf16 ? (const void *)&half
							 : (const void *)&integer;
	memcpy(at, from, ir_dtype_bytes(t)); /* little-endian, as the files are */
}

static long double
get_element(const struct rt_st_tensor *file, enum ir_dtype t, int i)
{
	int64_t v;
	if (t != IR_i64 && t != IR_u64)
		return element(file, t, i);
	memcpy(&v, (const char *)file->data + i * 8, sizeof v);
	return t == IR_u64 ? (long double)(uint64_t)v : (long double)v;
}

/* Params p0 ... of all types, and c0_0, c0_1 ...: param i as type j. */
static char *
program_text(const void *owner)
{
	char *text = talloc_strdup(owner, "module @converts\nfunc @main() {\n");
	for (int i = 0; i < IR_NDTYPES; i++)
		text = talloc_asprintf_append(text, "%%p%d = state(\"p%d\") : %s[%d]\n", i, i,
			ir_dtype_name((enum ir_dtype)i),
			is_float((enum ir_dtype)i) ? NFLOATS : NINTEGERS);
	for (int i = 0; i < IR_NDTYPES; i++)
		for (int j = 0; j < IR_NDTYPES; j++)
			text = talloc_asprintf_append(text,
				"%%c%d_%d = convert(%%p%d) {to = %s}\noutput(\"c%d_%d\", "
				"%%c%d_%d)\n",
				i, j, i, ir_dtype_name((enum ir_dtype)j), i, j, i, j);
	return talloc_strdup_append(text, "}\n");
}

static void
write_values(struct batch *b, const char *path)
{
	struct rt_st_entry entry[IR_NDTYPES];
	struct rt_st_writer w;
	struct rt_status st = {0};
	long double v[MOST];
	int64_t n[IR_NDTYPES];
	for (int t = 0; t < IR_NDTYPES; t++) {
		n[t] = values_of((enum ir_dtype)t, v);
		entry[t] = (struct rt_st_entry){
			talloc_asprintf(b, "p%d", t), (enum rt_dtype)t, 1, &n[t]};
	}
	bool ok = rt_st_create(&w, path, entry, IR_NDTYPES, NULL, 0, &st);
	for (int t = 0; t < IR_NDTYPES && ok; t++) {
		const size_t bytes = ir_dtype_bytes((enum ir_dtype)t);
		unsigned char *data = talloc_size(b, bytes * MOST);
		values_of((enum ir_dtype)t, v);
		for (int i = 0; i < n[t]; i++)
			put_element((enum ir_dtype)t, data + (size_t)i * bytes, v[i]);
		ok = rt_st_append(&w, data, bytes * (size_t)n[t], &st);
	}
	assert_true(rt_st_finish(&w, ok, &st) && ok);
}

/* The interpreter adds up the values of its places, so that zeros have no sign there. */
static void
check(const char *who, bool signs, bool keeps, enum ir_dtype to, enum ir_dtype from, long double v,
	long double have)
{
	const long double want = converted(to, from, v, keeps);
	const bool zero = want == 0 && (!signs || !is_float(to));
	const bool same = want != want ? have != have
				       : have == want && (zero || !signbit(have) == !signbit(want));
	if (!same)
		fail_msg("%s: %La of %s is %La as %s, expected %La", who, v, ir_dtype_name(from),
			have, ir_dtype_name(to), want);
}

/* Program 0 of the batch, computing with subnormal numbers or not. */
static void
run_and_check(struct batch *b, const char *load, bool keeps)
{
	struct rt_st_file file;
	struct rt_status st = {0};
	long double v[MOST];
	char *dump = talloc_asprintf(b, "%s/dump", b->folder);

	assert_int_equal(run_with(b, 0, dump, keeps ? "-subnormals" : "-no-eval", (char *)load), 0);
	assert_true(rt_st_open(&file, dump, &st));
	for (int i = 0; i < IR_NDTYPES; i++)
		for (int j = 0; j < IR_NDTYPES; j++) {
			const int n = values_of((enum ir_dtype)i, v);
			const struct rt_st_tensor *t =
				rt_st_find(&file, talloc_asprintf(b, "c%d_%d", i, j));
			assert_non_null(t);
			for (int k = 0; k < n; k++)
				check("program", true, keeps, (enum ir_dtype)j, (enum ir_dtype)i,
					v[k], get_element(t, (enum ir_dtype)j, k));
		}
	rt_st_close(&file);
}

static void
in_a_program(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	char *values = talloc_asprintf(b, "%s/values", b->folder),
	     *load = talloc_asprintf(b, "-load=%s", values);
	write_values(b, values);
	batch_add(b, "converts", program_text(b));
	b->steps = 1;
	assert_true(batch_try_build(b, "-O2"));
	run_and_check(b, load, true);
	if (BATCH_TARGET == LOWER_HOST) /* CUDA programs always compute with subnormal numbers */
		run_and_check(b, load, false);
	batch_end(b);
}

static void
interpret_and_check(bool keeps)
{
	struct batch *b = batch_create();
	const struct interp_options o = {.mode = INTERP_MEANING, .subnormals = keeps};
	struct ir_module *m = module_of(b, "converts", program_text(b));
	struct interp *it = interp_create(b, m, &o);
	long double v[MOST];
	for (int i = 0; i < IR_NDTYPES; i++) {
		const int64_t n = values_of((enum ir_dtype)i, v);
		struct tensor *t = tensor_create(b, (enum ir_dtype)i, 1, &n);
		for (int k = 0; k < n; k++)
			if (is_float((enum ir_dtype)i))
				t->data[k].f = (double)v[k];
			else
				t->data[k].i = cell_of((enum ir_dtype)i, v[k]);
		assert_true(interp_set_persistent(it, talloc_asprintf(b, "p%d", i), t));
	}
	assert_true(interp_step(it, 0));
	for (int i = 0; i < IR_NDTYPES; i++)
		for (int j = 0; j < IR_NDTYPES; j++) {
			const int n = values_of((enum ir_dtype)i, v);
			const struct tensor *r =
				interp_output(it, talloc_asprintf(b, "c%d_%d", i, j));
			for (int k = 0; k < n; k++)
				check("interpreter", false, keeps, (enum ir_dtype)j,
					(enum ir_dtype)i, v[k],
					is_float((enum ir_dtype)j) ? (long double)r->data[k].f
					: j == IR_u64 ? (long double)(uint64_t)r->data[k].i
						      : (long double)r->data[k].i);
		}
	batch_end(b);
}

static void
in_the_interpreter(void **state)
{
	(void)state;
	interpret_and_check(true);
	interpret_and_check(false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_program),
		cmocka_unit_test(in_the_interpreter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
