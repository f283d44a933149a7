/*
 * Ops whose results are exact: comparisons, selections, integers at the limits of their types, the
 * largest and the first of equal elements, floats with fewer bits, random numbers. In every element
 * type that they accept, in a program and in the interpreter; the expected values are computed here
 * from the definition, in 128-bit integers and doubles.
 */
#include "test/lower/program.h"

#include "ir/ops/row.h"

enum {
	N = 1024,
	ROW = 8, /* elements of one reduction */
};

typedef __int128 whole;

/* An element: f for a float, else i. */
struct number {
	double f;
	whole i;
};

enum result { SAME, BOOL, INDEX };

struct limit_case {
	const char
		*text; /* ops that make %r of %x and %y; %m: x in rows; TYPE is the element type */
	const char *types; /* F: floats, Z: integers, B: bool */
	enum result result;
	int row; /* elements of x for one result */
	struct number (*value)(enum ir_dtype t, const struct number *x, const struct number *y);
};

static bool
is_float(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_FLOAT;
}

static int
bits(enum ir_dtype t)
{
	return t == IR_bool ? 1 : (int)ir_dtype_bits(t);
}

static bool
is_signed(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_INT;
}

/* An integer truncated to type t: its low bits. */
static struct number
wrapped(enum ir_dtype t, whole v)
{
	const whole span = (whole)1 << bits(t);
	whole low = v % span;

	if (low < 0)
		low += span;
	return (struct number){.i = is_signed(t) && low >= span / 2 ? low - span : low};
}

static struct number
truth(bool b)
{
	return (struct number){.f = b, .i = b};
}

/* -1, 0, 1; 2: unordered. */
static int
order(enum ir_dtype t, const struct number *x, const struct number *y)
{
	if (!is_float(t))
		return (x->i > y->i) - (x->i < y->i);
	return isnan(x->f) || isnan(y->f) ? 2 : (x->f > y->f) - (x->f < y->f);
}

#define CASE(name)                                                                                 \
	static struct number name(enum ir_dtype t, const struct number *x, const struct number *y)
#define UNUSED (void)t, (void)x, (void)y

/* clang-format off */
CASE(eq) { return truth(order(t, x, y) == 0); }
CASE(ne) { return truth(order(t, x, y) != 0); }
CASE(lt) { return truth(order(t, x, y) == -1); }
CASE(le) { return truth(order(t, x, y) <= 0); }
CASE(gt) { return truth(order(t, x, y) == 1); }
CASE(ge) { return truth(order(t, x, y) == 1 || order(t, x, y) == 0); }
CASE(is_number) { UNUSED; return truth(fabs(x->f) < INFINITY); }
CASE(infinite) { UNUSED; return truth(fabs(x->f) == INFINITY); }
CASE(nan_of) { UNUSED; return truth(x->f != x->f); }
CASE(selected) { return order(t, x, y) == -1 ? *x : *y; }
CASE(larger) { return order(t, x, y) == 1 || (is_float(t) && isnan(x->f)) ? *x : *y; }
CASE(smaller) { return order(t, x, y) == -1 || (is_float(t) && isnan(x->f)) ? *x : *y; }
CASE(negative) { UNUSED; return is_float(t) ? (struct number){.f = -x->f} : wrapped(t, -x->i); }
CASE(absolute) { UNUSED; return is_float(t) ? (struct number){.f = fabs(x->f)} : wrapped(t, x->i < 0 ? -x->i : x->i); }
CASE(sum) { return wrapped(t, x->i + y->i); }
CASE(difference) { return wrapped(t, x->i - y->i); }
CASE(quotient) { return wrapped(t, y->i ? x->i / y->i : 0); }
CASE(remainder_of) { return wrapped(t, y->i ? x->i % y->i : x->i); }
CASE(both) { return wrapped(t, x->i & y->i); }
CASE(either) { return wrapped(t, x->i | y->i); }
CASE(one_of) { return wrapped(t, x->i ^ y->i); }
CASE(inverted) { UNUSED; return wrapped(t, ~x->i); }
CASE(sign) { UNUSED; return wrapped(t, (x->i > 0) - (x->i < 0)); }
CASE(relu) { UNUSED; return wrapped(t, x->i < 0 ? 0 : x->i); }
CASE(clamped) { UNUSED; return wrapped(t, x->i < 1 ? 1 : x->i > 5 ? 5 : x->i); }
CASE(fewer) { UNUSED; return wrapped(t, x->i); }
/* clang-format on */

/* The low bits of a product need only the low 64 of each factor. */
static struct number
product_of(enum ir_dtype t, whole a, whole b)
{
	return wrapped(t, (whole)((unsigned __int128)a * (unsigned __int128)b));
}

CASE(product)
{
	return product_of(t, x->i, y->i);
}
CASE(square)
{
	UNUSED;
	return product_of(t, x->i, x->i);
}

CASE(upper)
{
	/* of 64 bits unsigned, the product does not fit a signed number of 128 */
	if (!is_signed(t))
		return wrapped(
			t, (whole)((unsigned __int128)x->i * (unsigned __int128)y->i >> bits(t)));
	const whole p = x->i * y->i, span = (whole)1 << bits(t);
	return wrapped(t, p / span - (p % span < 0));
}

CASE(power)
{
	struct number r = {.i = 1};

	if (y->i < 0)
		return wrapped(t, x->i == 1 ? 1 : x->i == -1 ? (y->i % 2 ? -1 : 1) : 0);
	for (int i = bits(t) - 1; i >= 0; i--) {
		r = product_of(t, r.i, r.i);
		if (y->i >> i & 1)
			r = product_of(t, r.i, x->i);
	}
	return r;
}

static bool
shifts_all(enum ir_dtype t, const struct number *y)
{
	return y->i < 0 || y->i >= bits(t);
}

CASE(left)
{
	return wrapped(t, shifts_all(t, y) ? 0 : product_of(t, x->i, (whole)1 << y->i).i);
}

CASE(logical)
{
	const whole low = x->i < 0 ? x->i + ((whole)1 << bits(t)) : x->i;

	return wrapped(t, shifts_all(t, y) ? 0 : low >> y->i);
}

/* An unsigned number has no sign: zeros. */
CASE(arithmetic)
{
	return wrapped(t, shifts_all(t, y) ? (x->i < 0 ? -1 : 0) : x->i >> y->i);
}

CASE(count)
{
	int n = 0;

	(void)y;
	for (int i = 0; i < bits(t); i++)
		n += x->i >> i & 1;
	return wrapped(t, n);
}

CASE(leading)
{
	int n = 0;

	(void)y;
	while (n < bits(t) && !(x->i >> (bits(t) - 1 - n) & 1))
		n++;
	return wrapped(t, n);
}

/* Rounded to m bits after the first, ties to even; exponents below `least` give 0, from `most` on
 * infinity. */
static struct number
reduced(double v, int m, int least, int most)
{
	int e = 0;

	if (v == 0 || !isfinite(v))
		return (struct number){.f = v};
	frexp(v, &e);
	const double r = ldexp(nearbyint(ldexp(v, m + 1 - e)), e - m - 1);
	frexp(r, &e);
	return (struct number){.f = copysign(e > most ? INFINITY : e < least ? 0 : fabs(r), v)};
}

/* 3 bits of exponent: bias 3, so normal numbers are from 2^-2 to below 2^4; 5 bits: 2^-14, 2^16. */
CASE(exponent3)
{
	UNUSED;
	return reduced(x->f, 2, -1, 4);
}
/* f16 has 5 bits itself, so its subnormal numbers stay, with 3 bits after the first one. */
CASE(exponent5)
{
	(void)y;
	if (t == IR_f16 && fabs(x->f) < 0x1p-14)
		return (struct number){.f = copysign(nearbyint(x->f * 0x1p17) * 0x1p-17, x->f)};
	return reduced(x->f, 3, -13, 16);
}

static int
best_of(enum ir_dtype t, const struct number *x, int sign)
{
	int best = 0;

	for (int i = 1; i < ROW; i++) {
		const bool is_nan = is_float(t) && isnan(x[best].f);
		if (!is_nan &&
			(order(t, &x[i], &x[best]) == sign || (is_float(t) && isnan(x[i].f))))
			best = i;
	}
	return best;
}

CASE(most_at)
{
	(void)y;
	return wrapped(IR_i32, best_of(t, x, 1));
}
CASE(least_at)
{
	(void)y;
	return wrapped(IR_i32, best_of(t, x, -1));
}

/* A zero becomes +0: never -0. */
CASE(most)
{
	(void)y;
	const struct number r = x[best_of(t, x, 1)];
	return (struct number){r.f + 0, r.i};
}
CASE(least)
{
	(void)y;
	const struct number r = x[best_of(t, x, -1)];
	return (struct number){r.f + 0, r.i};
}

CASE(total)
{
	whole v = 0;

	(void)y;
	for (int i = 0; i < ROW; i++)
		v += x[i].i;
	return wrapped(t, v);
}

CASE(multiplied)
{
	struct number r = {.i = 1};

	(void)y;
	for (int i = 0; i < ROW; i++)
		r = product_of(t, r.i, x[i].i);
	return r;
}

CASE(some)
{
	whole v = 0;
	UNUSED;
	for (int i = 0; i < ROW; i++)
		v |= x[i].i;
	return truth(v != 0);
}
CASE(every)
{
	whole v = 1;
	UNUSED;
	for (int i = 0; i < ROW; i++)
		v &= x[i].i;
	return truth(v != 0);
}

static const struct limit_case cases[] = {
	{"%r = eq(%x, %y)", "FZB", BOOL, 1, eq},
	{"%r = ne(%x, %y)", "FZB", BOOL, 1, ne},
	{"%r = lt(%x, %y)", "FZB", BOOL, 1, lt},
	{"%r = le(%x, %y)", "FZB", BOOL, 1, le},
	{"%r = gt(%x, %y)", "FZB", BOOL, 1, gt},
	{"%r = ge(%x, %y)", "FZB", BOOL, 1, ge},
	{"%r = is_finite(%x)", "F", BOOL, 1, is_number},
	{"%r = is_inf(%x)", "F", BOOL, 1, infinite},
	{"%r = is_nan(%x)", "F", BOOL, 1, nan_of},
	{"%c = lt(%x, %y)\n%r = select(%c, %x, %y)", "FZB", SAME, 1, selected},
	{"%r = maximum(%x, %y)", "FZB", SAME, 1, larger},
	{"%r = minimum(%x, %y)", "FZB", SAME, 1, smaller},
	{"%r = neg(%x)", "FZ", SAME, 1, negative},
	{"%r = abs(%x)", "FZ", SAME, 1, absolute},
	{"%r = add(%x, %y)", "Z", SAME, 1, sum},
	{"%r = sub(%x, %y)", "Z", SAME, 1, difference},
	{"%r = mul(%x, %y)", "Z", SAME, 1, product},
	{"%r = div(%x, %y)", "Z", SAME, 1, quotient},
	{"%r = rem(%x, %y)", "Z", SAME, 1, remainder_of},
	{"%r = pow(%x, %y)", "Z", SAME, 1, power},
	{"%r = mulhi(%x, %y)", "Z", SAME, 1, upper},
	{"%r = and(%x, %y)", "ZB", SAME, 1, both},
	{"%r = or(%x, %y)", "ZB", SAME, 1, either},
	{"%r = xor(%x, %y)", "ZB", SAME, 1, one_of},
	{"%r = not(%x)", "ZB", SAME, 1, inverted},
	{"%r = shift_left(%x, %y)", "Z", SAME, 1, left},
	{"%r = shift_right(%x, %y)", "Z", SAME, 1, arithmetic},
	{"%r = shift_right_logical(%x, %y)", "Z", SAME, 1, logical},
	{"%r = popcnt(%x)", "Z", SAME, 1, count},
	{"%r = count_leading_zeros(%x)", "Z", SAME, 1, leading},
	{"%r = sign(%x)", "Z", SAME, 1, sign},
	{"%r = relu(%x)", "Z", SAME, 1, relu},
	{"%r = square(%x)", "Z", SAME, 1, square},
	{"%r = clamp(%x) {low = 1, high = 5}", "Z", SAME, 1, clamped},
	{"%b = bitcast(%x) {to = TYPE}\n%r = stop_gradient(%b)", "Z", SAME, 1, fewer},
	{"%r = reduce_precision(%x) {exponent = 3, mantissa = 2}", "F", SAME, 1, exponent3},
	{"%r = reduce_precision(%x) {exponent = 5, mantissa = 3}", "F", SAME, 1, exponent5},
	{"%r = argmax(%m) {dims = [1]}", "FZB", INDEX, ROW, most_at},
	{"%r = argmin(%m) {dims = [1]}", "FZB", INDEX, ROW, least_at},
	{"%r = max(%m) {dims = [1]}", "FZ", SAME, ROW, most},
	{"%r = min(%m) {dims = [1]}", "FZ", SAME, ROW, least},
	{"%r = sum(%m) {dims = [1]}", "Z", SAME, ROW, total},
	{"%r = prod(%m) {dims = [1]}", "Z", SAME, ROW, multiplied},
	{"%r = any(%m) {dims = [1]}", "B", SAME, ROW, some},
	{"%r = all(%m) {dims = [1]}", "B", SAME, ROW, every},
};
enum { NCASES = sizeof cases / sizeof *cases };

static double
rounded(enum ir_dtype t, double v)
{
	return t == IR_f64 ? v : t == IR_f32 ? (float)v : ir_dtype_round(t, v);
}

/* Element i of x (0) or y (1): all pairs of special ones, then few values, so that many are equal,
 * then all sizes. */
static struct number
made(enum ir_dtype t, int which, int i)
{
	static const double special[] = {0, -0.0, 1, -1, 0.5, 2, -3, INFINITY, -INFINITY, NAN,
		0x1p-126, 0x1p-130, -0x1p-1070, 0x1p-14, 0x1p-24, 65504, 15.5, 16, 0x1.cp-3,
		0x1.ep-2};
	enum { SPECIAL = sizeof special / sizeof *special, ENDS = 16 };
	const uint64_t random = rt_mix64((uint64_t)(2 * i + which + 1));
	const int w = bits(t);
	const whole top = (whole)1 << (w - is_signed(t));
	const whole ends[ENDS] = {
		0, 1, -1, 2, -2, 3, top - 1, -top, top, top - 2, 1 - top, w - 1, w, w + 1, -w, 7};

	if (is_float(t)) {
		const double unit = 2 * (double)(random >> 11) * 0x1p-53 - 1;
		const double v = i < SPECIAL * SPECIAL ? special[which ? i / SPECIAL : i % SPECIAL]
				 : i % 2 ? ldexp(unit, (int)(rt_mix64(random) % 60) - 30)
					 : (double)(random % 5) - 2;
		return (struct number){.f = rounded(t, v)};
	}
	if (i < ENDS * ENDS)
		return wrapped(t, ends[which ? i / ENDS : i % ENDS]);
	return wrapped(t, i % 2 ? (whole)(random >> (random & 31)) : (whole)(random % 5));
}

static bool
takes(const struct limit_case *c, enum ir_dtype t)
{
	return strchr(c->types, is_float(t) ? 'F' : t == IR_bool ? 'B' : 'Z') != NULL;
}

static enum ir_dtype
result_type(const struct limit_case *c, enum ir_dtype t)
{
	return c->result == BOOL ? IR_bool : c->result == INDEX ? IR_i32 : t;
}

static char *
program_text(const void *owner)
{
	char *text = talloc_strdup(owner, "module @limits\nfunc @main() {\n");

	for (int t = 0; t < IR_NDTYPES; t++) {
		const char *type = ir_dtype_name((enum ir_dtype)t);
		text = talloc_asprintf_append(text,
			"%%x.%s = state(\"x.%s\") : %s[%d]\n%%y.%s = state(\"y.%s\") : %s[%d]\n"
			"%%m.%s = reshape(%%x.%s) {shape = [%d,%d]}\n",
			type, type, type, N, type, type, type, N, type, type, N / ROW, ROW);
		for (int i = 0; i < NCASES; i++) {
			if (!takes(&cases[i], (enum ir_dtype)t))
				continue;
			for (const char *p = cases[i].text; *p; p++)
				if (strncmp(p, "TYPE", 4) == 0) {
					text = talloc_strdup_append(text, type);
					p += 3;
				} else if (*p != '%') {
					text = talloc_asprintf_append(text, "%c", *p);
				} else if (*++p == 'x' || *p == 'y' || *p == 'm') {
					text = talloc_asprintf_append(text, "%%%c.%s", *p, type);
				} else {
					text = talloc_asprintf_append(
						text, "%%%c%d.%s", *p, i, type);
				}
			text = talloc_asprintf_append(
				text, "\noutput(\"r%d.%s\", %%r%d.%s)\n", i, type, i, type);
		}
	}
	return talloc_strdup_append(text, "}\n");
}

static void
put(enum ir_dtype t, unsigned char *at, struct number v)
{
	const float f32 = (float)v.f;
	const int64_t integer = (int64_t)v.i;
	const uint16_t half = t == IR_f16 ? rt_f64_to_f16(v.f) : rt_f64_to_bf16(v.f);
	const void *from = t == IR_f64   ? (const void *)&v.f
			   : t == IR_f32 ? (const void *)&f32
			   : is_float(t) ? (const void *)&half
					 : (const void *)&integer;

	memcpy(at, from, ir_dtype_bytes(t)); /* little-endian, as the files are */
}

static struct number
get(const struct rt_st_tensor *file, enum ir_dtype t, int i)
{
	int64_t low = 0;

	if (is_float(t))
		return (struct number){.f = element(file, t, i)};
	memcpy(&low, (const char *)file->data + (size_t)i * ir_dtype_bytes(t), ir_dtype_bytes(t));
	return t == IR_bool ? (struct number){.i = low} : wrapped(t, low);
}

static void
write_values(struct batch *b, const char *path)
{
	struct rt_st_entry entry[2 * IR_NDTYPES];
	struct rt_st_writer w;
	struct rt_status st = {0};
	const int64_t n = N;

	for (int k = 0; k < 2 * IR_NDTYPES; k++)
		entry[k] = (struct rt_st_entry){talloc_asprintf(b, "%c.%s", "xy"[k % 2],
							ir_dtype_name((enum ir_dtype)(k / 2))),
			(enum rt_dtype)(k / 2), 1, &n};
	bool ok = rt_st_create(&w, path, entry, 2 * IR_NDTYPES, NULL, 0, &st);
	for (int k = 0; k < 2 * IR_NDTYPES && ok; k++) {
		const enum ir_dtype t = (enum ir_dtype)(k / 2);
		const size_t bytes = ir_dtype_bytes(t);
		unsigned char *data = talloc_size(b, bytes * N);
		for (int i = 0; i < N; i++)
			put(t, data + (size_t)i * bytes, made(t, k % 2, i));
		ok = rt_st_append(&w, data, bytes * N, &st);
	}
	assert_true(rt_st_finish(&w, ok, &st) && ok);
}

static struct interp *
interpreter(struct batch *b, bool keeps)
{
	const struct interp_options o = {.mode = INTERP_MEANING, .subnormals = keeps};
	struct interp *it = interp_create(b, b->program[0].m, &o);
	const int64_t n = N;

	for (int k = 0; k < 2 * IR_NDTYPES; k++) {
		const enum ir_dtype t = (enum ir_dtype)(k / 2);
		struct tensor *v = tensor_create(b, t, 1, &n);
		for (int i = 0; i < N; i++)
			if (is_float(t))
				v->data[i].f = made(t, k % 2, i).f;
			else
				v->data[i].i = (int64_t)made(t, k % 2, i).i;
		assert_true(interp_set_persistent(
			it, talloc_asprintf(b, "%c.%s", "xy"[k % 2], ir_dtype_name(t)), v));
	}
	assert_true(interp_step(it, 0));
	return it;
}

/* The same number, with the same sign of a zero. */
static bool
same(enum ir_dtype t, struct number want, struct number have)
{
	if (!is_float(t))
		return want.i == have.i;
	if (isnan(want.f) || isnan(have.f))
		return isnan(want.f) && isnan(have.f);
	return want.f == have.f && !signbit(want.f) == !signbit(have.f);
}

/* The value that arithmetic reads: a subnormal number may count as 0, except in f16. */
static struct number
taken(enum ir_dtype t, struct number v, bool keeps)
{
	const double least = t == IR_f64 ? 0x1p-1022 : 0x1p-126;

	if (is_float(t) && t != IR_f16 && !keeps && fabs(v.f) < least)
		v.f = copysign(0, v.f);
	return v;
}

/* One case in one type; reports the first wrong element. */
static bool
differs(const struct limit_case *c, enum ir_dtype t, const struct rt_st_tensor *program,
	const struct tensor *interp, bool keeps)
{
	const enum ir_dtype to = result_type(c, t);
	struct number x[N], y[N];

	for (int i = 0; i < N; i++) {
		x[i] = taken(t, made(t, 0, i), keeps);
		y[i] = taken(t, made(t, 1, i), keeps);
	}
	for (int i = 0; i < N / c->row; i++) {
		const struct number *in = &x[i * c->row], other = y[i];
		const struct number want = c->value(t, in, &other);
		const struct number have[2] = {
			get(program, to, i), is_float(to) ? (struct number){.f = interp->data[i].f}
							  : wrapped(to, interp->data[i].i)};
		for (int k = 0; k < 2; k++) {
			if (same(to, want, have[k]))
				continue;
			print_error(
				"%s: %s in %s, element %d of %a (%lld) and %a (%lld): %a (%lld), not %a (%lld)\n",
				k ? "interpreter" : "program", c->text, ir_dtype_name(t), i,
				in[0].f, (long long)in[0].i, other.f, (long long)other.i, have[k].f,
				(long long)have[k].i, want.f, (long long)want.i);
			return true;
		}
	}
	return false;
}

static int
run_all(struct batch *b, const char *load, bool keeps)
{
	struct rt_st_file file;
	struct rt_status st = {0};
	char *dump = talloc_asprintf(b, "%s/dump", b->folder);
	struct interp *it = interpreter(b, keeps);
	int wrong = 0;

	assert_int_equal(run_with(b, 0, dump, keeps ? "-subnormals" : "-no-eval", (char *)load), 0);
	assert_true(rt_st_open(&file, dump, &st));
	for (int t = 0; t < IR_NDTYPES; t++)
		for (int i = 0; i < NCASES; i++) {
			const char *name =
				talloc_asprintf(b, "r%d.%s", i, ir_dtype_name((enum ir_dtype)t));
			/* it depends on the target whether a moved result stays subnormal */
			if (takes(&cases[i], (enum ir_dtype)t) &&
				(keeps || !is_float((enum ir_dtype)t) || cases[i].result != SAME))
				wrong += differs(&cases[i], (enum ir_dtype)t,
					rt_st_find(&file, name), interp_output(it, name), keeps);
		}
	rt_st_close(&file);
	return wrong;
}

static void
results_are_exact(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	char *values = talloc_asprintf(b, "%s/values", b->folder);

	write_values(b, values);
	batch_add(b, "limits", program_text(b));
	b->steps = 1;
	assert_true(batch_try_build(b, "-O2"));
	const char *load = talloc_asprintf(b, "-load=%s", values);
	int wrong = run_all(b, load, true);
	if (BATCH_TARGET == LOWER_HOST) /* CUDA programs always compute with subnormal numbers */
		wrong += run_all(b, load, false);
	batch_end(b);
	assert_int_equal(wrong, 0);
}

enum { RANDOM = 1 << 16 }; /* numbers of each type: enough that some are next to 1 in 16 bits */

static const char *const random_ops[] = {"uniform() {seed = 3} : %s[%d]",
	"random_uniform(\"u\", %%n, %%x) {to = %s}", "normal() {seed = 3} : %s[%d]",
	"random_normal(\"n\", %%n, %%x) {to = %s}"};
enum { NRANDOM = sizeof random_ops / sizeof *random_ops, UNIFORM = 2 };

/* Numbers in [0,1) are below 1 in every type, and all are the same in a program and in the
 * interpreter. */
static void
random_numbers_are_the_same(void **state)
{
	static const enum ir_dtype types[] = {IR_f64, IR_f32, IR_f16, IR_bf16};
	struct batch *b = batch_create();
	char *text = talloc_asprintf(b,
		"module @random\nfunc @main() {\n%%n = constant() {value = 5} : i64[]\n%%x = constant() "
		"{value = 0} : f32[%d]\n",
		RANDOM);
	struct rt_st_file file;
	struct rt_status st = {0};
	const char *name[4][NRANDOM];
	int wrong = 0;

	(void)state;
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < NRANDOM; i++) {
			name[k][i] = talloc_asprintf(b, "r%d.%s", i, ir_dtype_name(types[k]));
			text = talloc_asprintf_append(text, "%%%s = ", name[k][i]);
			text = talloc_asprintf_append(
				text, random_ops[i], ir_dtype_name(types[k]), RANDOM);
			text = talloc_asprintf_append(
				text, "\noutput(\"%s\", %%%s)\n", name[k][i], name[k][i]);
		}
	batch_add(b, "random", talloc_strdup_append(text, "}\n"));
	b->steps = 1;
	assert_true(batch_try_build(b, "-O2"));
	const struct interp_options o = {.mode = INTERP_MEANING};
	struct interp *it = interp_create(b, b->program[0].m, &o);
	char *dump = talloc_asprintf(b, "%s/dump", b->folder),
	     *save = talloc_asprintf(b, "%s/save", b->folder);
	assert_true(interp_step(it, 0));
	assert_int_equal(run_program(b, 0, dump, save), 0);
	assert_true(rt_st_open(&file, dump, &st));
	for (int k = 0; k < 4; k++)
		for (int i = 0; i < NRANDOM; i++) {
			const struct rt_st_tensor *have = rt_st_find(&file, name[k][i]);
			const struct tensor *want = interp_output(it, name[k][i]);
			double least = 1, most = 0;
			for (int e = 0; e < RANDOM; e++) {
				const double v = element(have, types[k], e);
				wrong += v != want->data[e].f;
				least = fmin(least, v);
				most = fmax(most, v);
			}
			if (i < UNIFORM && (least < 0 || most >= 1 || most < 0.99)) {
				print_error("%s is from %a to %a\n", name[k][i], least, most);
				wrong++;
			}
		}
	rt_st_close(&file);
	batch_end(b);
	assert_int_equal(wrong, 0);
}

/* Rows that return truth values, and rows for integers and truth values alone. */
static void
every_such_row_has_a_case(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);

	for (int op = 0; op < OP_NCODES; op++) {
		const struct ir_row *row = &ctx->row[op];
		const char *call = talloc_asprintf(ctx, "= %s(", row->name);
		bool known = !row->pattern || !*row->types ||
			     (row->result_type[0] != 'b' && row->types[strspn(row->types, "ZL,")]);
		for (int i = 0; i < NCASES; i++)
			known |= strstr(cases[i].text, call) != NULL;
		if (!known)
			fail_msg("%s has no case", row->name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_exact),
		cmocka_unit_test(random_numbers_are_the_same),
		cmocka_unit_test_setup_teardown(
			every_such_row_has_a_case, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
