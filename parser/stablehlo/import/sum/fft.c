/*
 * stablehlo.fft by products with small matrices (J. W. Cooley and J. W. Tukey, Math. Comput. 19,
 * 1965). A size n = r * m is the dims [r, m]: with w = e^(-2 pi i / n), index j = j1 m + j2 of the
 * input and k = k1 + r k2 of the result,
 *
 *     X[k1 + r k2] = sum(j2) w_m^(j2 k2)  w^(j2 k1)  sum(j1) w_r^(j1 k1) x[j1, j2]
 *                    the rest, size m     a twiddle   a matrix of r x r
 *
 * and so on for m. Both parts of a number are one dim of size 2 next to j1, so that a level is one
 * product of a matrix of 2r x 2r. All ops are linear: gradients, layouts of the other dims and
 * fusion need nothing else.
 *
 *     [batch.., 2, r1, r2, r3] -> [batch.., k1, 2, r2, r3] -> .. -> [batch.., k1, k2, 2, k3]
 *     -> [batch.., k3, k2, k1] for each part
 *
 * A size n with a large prime factor is a convolution (L. I. Bluestein, "A linear filtering approach
 * to the computation of the discrete Fourier transform", 1970): with c[j] = e^(-pi i j^2 / n),
 *
 *     X[k] = c[k] sum(j) (c[j] x[j]) conj(c[k - j])       as 2 j k = j^2 + k^2 - (k - j)^2
 *
 * which is cyclic in a power of two of at least 2n - 1 elements: two transforms of that size, and a
 * table with the transform of conj(c) between them.
 */
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/take.h"
#include "parser/stablehlo/import/ops.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

enum {
	FFT_RADIX = 16,      /* the largest matrix of a size that can be factored: small enough
				 for the number of multiplications, large enough that a tensor is
				 read and written few times */
	FFT_MAX_PRIME = 512, /* a prime factor up to this is one matrix: 4 p^2 numbers in the
				program; a size with a larger one is a convolution */
	FFT_MAX_LOG2 = 24,   /* elements along a dim: there are tables of that size */
	FFT_MAX_LEVELS = FFT_MAX_LOG2,
	FFT_MAX_DIMS = 3, /* StableHLO, "fft" */
};

struct fft {
	struct import *im;
	enum ir_dtype type;
	bool inverse;
	int64_t n, radix[FFT_MAX_LEVELS];
	int levels;
};

/* A complex tensor; im is NULL if it is real. */
struct fft_value {
	struct ir_value *re, *im;
};

/* --- tables --- */

/* e^(2 pi i t / n) for 0 <= t < n, from an angle of at most an eighth of the circle: so equal
 * numbers are equal in all places of a table. */
static void
unit_root(int64_t t, int64_t n, double *re, double *im)
{
	const int64_t quarter = 4 * t / n;
	const int64_t rest = 4 * t - quarter * n; /* of a quarter, in [0, n) */
	const bool upper = 2 * rest > n;
	const double angle = M_PI / 2 * (double)(upper ? n - rest : rest) / (double)n;
	const double c = upper ? sin(angle) : cos(angle), s = upper ? cos(angle) : sin(angle);
	const double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};

	*re = turned[quarter & 3][0];
	*im = turned[quarter & 3][1];
}

/* The sign of the exponent is negative forward. */
static void
root_of(const struct fft *f, int64_t t, int64_t n, double *re, double *im)
{
	unit_root(t % n, n, re, im);
	if (!f->inverse)
		*im = 0.0 - *im; /* not -0 */
}

static struct ir_value *
table(const struct fft *f, const union cell *cell, int rank, const int64_t *dim)
{
	struct ir_type t = {.dtype = (uint8_t)f->type, .rank = (uint8_t)rank};
	int64_t n = 1;

	for (int i = 0; i < rank; i++) {
		t.dim[i] = dim[i];
		n *= dim[i];
	}
	return import_build_literal(f->im, ir_type_intern(f->im->module->ctx, &t), cell, n);
}

/*
 * The matrix of a level of radix r, [k, out, in, j] (the last level: [out, k, in, j]), for `in` and
 * `out` parts of numbers. `scale` is of all elements.
 */
static struct ir_value *
matrix(const struct fft *f, int64_t r, int in, int out, bool last, double scale)
{
	union cell *cell = NEW_ARRAY(f->im->missing, union cell, (size_t)(r * r * in * out));
	const int64_t dim[] = {last ? out : r, last ? r : out, in, r};

	for (int64_t k = 0; k < r; k++)
		for (int64_t j = 0; j < r; j++) {
			double re, im;
			root_of(f, k * j, r, &re, &im);
			const double part[2][2] = {{re, -im}, {im, re}};
			for (int o = 0; o < out; o++)
				for (int i = 0; i < in; i++) {
					const int64_t row = last ? o * r + k : k * out + o;
					cell[(row * in + i) * r + j].f = part[o][i] * scale;
				}
		}
	struct ir_value *v = table(f, cell, 4, dim);
	talloc_free(cell);
	return v;
}

/* x times e^(-2 pi i k m / (r * rest)): dims [.., k, part, m..] of `at` on. */
static struct ir_value *
twiddle(const struct fft *f, struct ir_value *x, int at, int64_t r, int64_t rest)
{
	union cell *cell[2], sign[2] = {{.f = -1}, {.f = 1}};
	int64_t dim[IR_MAX_RANK];
	const int rank = x ? x->type->rank - at : 0;

	if (!x)
		return NULL;
	memcpy(dim, x->type->dim + at, (size_t)rank * sizeof *dim);
	dim[1] = 1;
	for (int p = 0; p < 2; p++)
		cell[p] = NEW_ARRAY(f->im->missing, union cell, (size_t)(r * rest));
	for (int64_t k = 0; k < r; k++)
		for (int64_t m = 0; m < rest; m++)
			root_of(f, k * m, r * rest, &cell[0][k * rest + m].f,
				&cell[1][k * rest + m].f);
	struct ir_value *re = table(f, cell[0], rank, dim), *im = table(f, cell[1], rank, dim);
	for (int i = 0; i < rank; i++)
		dim[i] = i == 1 ? 2 : 1;
	struct ir_value *signs = table(f, sign, rank - 1, dim + 1);
	struct ir_value *turned = build_reverse(f->im, x, (int64_t[]){at + 1}, 1);
	if (re && im && signs && turned)
		x = build2(f->im, OP_add, build2(f->im, OP_mul, x, re),
			build2(f->im, OP_mul, build2(f->im, OP_mul, turned, signs), im));
	for (int p = 0; p < 2; p++)
		talloc_free(cell[p]);
	return x;
}

/* --- one dim --- */

/* The largest divisor up to FFT_RADIX, else the smallest prime factor. */
static int64_t
radix_of(int64_t n)
{
	int64_t p = FFT_RADIX + 1;

	if (n <= FFT_RADIX)
		return n;
	for (int64_t d = FFT_RADIX; d > 1; d--)
		if (n % d == 0)
			return d;
	while (p * p <= n && n % p)
		p++;
	return n % p ? n : p;
}

/* False: a prime factor is too large for a matrix. */
static bool
factor(struct fft *f)
{
	f->levels = 0;
	for (int64_t rest = f->n; rest > 1 || !f->levels; rest /= f->radix[f->levels++]) {
		f->radix[f->levels] = radix_of(rest);
		if (f->radix[f->levels] > FFT_MAX_PRIME)
			return false;
	}
	return true;
}

/* Level l of x, [batch.., k1.., parts, j, m..], where the dims of parts begins at `at`. */
static struct ir_value *
level(const struct fft *f, struct ir_value *x, int at, int l, int out)
{
	const bool last = l == f->levels - 1;
	const int rank = x->type->rank, in = (int)x->type->dim[at];
	char a[IR_MAX_RANK + 1] = "", spec[64];

	for (int i = 0; i < rank; i++)
		a[i] = (char)('a' + i);
	snprintf(spec, sizeof spec, "%s,%s%c%c->%.*s%s%s", a, last ? "yz" : "zy", a[at], a[at + 1],
		at, a, last ? "yz" : "zy", a + at + 2);
	struct ir_value *w = matrix(
		f, f->radix[l], in, out, last, last && f->inverse ? 1.0 / (double)f->n : 1.0);
	return build_contract(f->im, spec, x, w);
}

/* Both parts along one dim: [batch.., n] -> [batch.., parts, r1, r2 ..] */
static struct ir_value *
stack(const struct fft *f, const struct fft_value *z)
{
	const struct ir_type *t = z->re->type;
	int64_t shape[IR_MAX_RANK];
	const int batch = t->rank - 1;
	struct ir_value *part[2];

	memcpy(shape, t->dim, (size_t)batch * sizeof *shape);
	shape[batch] = 1;
	for (int l = 0; l < f->levels; l++)
		shape[batch + 1 + l] = f->radix[l];
	part[0] = build_reshape(f->im, z->re, shape, batch + 1 + f->levels);
	part[1] = z->im ? build_reshape(f->im, z->im, shape, batch + 1 + f->levels) : NULL;
	return z->im ? build_concat(f->im, part, 2, batch) : part[0];
}

/* The part of [batch.., k1, k2, parts, k3] as [batch.., n], k3 outermost. */
static struct ir_value *
unstack(const struct fft *f, struct ir_value *x, int batch, int part)
{
	int64_t perm[IR_MAX_RANK];
	int64_t shape[IR_MAX_RANK];

	x = build_element(f->im, x, batch + f->levels - 1, part);
	if (!x)
		return NULL;
	for (int i = 0; i < batch; i++)
		perm[i] = i;
	for (int l = 0; l < f->levels; l++)
		perm[batch + l] = batch + f->levels - 1 - l;
	memcpy(shape, x->type->dim, (size_t)batch * sizeof *shape);
	shape[batch] = f->n;
	x = f->levels > 1 ? build_transpose(f->im, x, perm) : x;
	return build_reshape(f->im, x, shape, batch + 1);
}

/* Along the last dim, which has been factored. The imaginary part of the result is left out if it is
 * not wanted. */
static bool
transform_factors(struct fft *f, const struct mlir_op *op, struct fft_value *z, bool real_result)
{
	const int batch = z->re->type->rank - 1;
	int64_t rest = f->n;

	if (batch + 1 + f->levels > IR_MAX_RANK)
		return import_unsupported_form(f->im, op,
			"%d dims in addition to %d factors of the size %" PRId64, batch, f->levels,
			f->n);
	struct ir_value *x = stack(f, z);
	for (int l = 0; l < f->levels && x; l++) {
		const bool last = l == f->levels - 1;
		x = level(f, x, batch + l, l, last && real_result ? 1 : 2);
		rest /= f->radix[l];
		if (!last)
			x = twiddle(f, x, batch + l, f->radix[l], rest);
	}
	z->re = x ? unstack(f, x, batch, 0) : NULL;
	z->im = z->re && !real_result ? unstack(f, x, batch, 1) : NULL;
	return z->re && (real_result || z->im);
}

/* --- one dim, as a convolution --- */

/* The forward transform of n numbers, a power of two, for tables: even and odd elements apart. */
static void
table_transform(double complex *x, double complex *scratch, int64_t n)
{
	const int64_t half = n / 2;

	if (n == 1)
		return;
	for (int64_t j = 0; j < half; j++) {
		scratch[j] = x[2 * j];
		scratch[half + j] = x[2 * j + 1];
	}
	table_transform(scratch, x, half);
	table_transform(scratch + half, x + half, half);
	for (int64_t k = 0; k < half; k++) {
		double re, im;
		unit_root(k, n, &re, &im);
		const double complex odd = scratch[half + k] * (re - im * I);
		x[k] = scratch[k] + odd;
		x[half + k] = scratch[k] - odd;
	}
}

/* Complex numbers along the last dim, scaled. */
static struct fft_value
complex_table(const struct fft *f, const double complex *x, int64_t n, double scale)
{
	union cell *re = NEW_ARRAY(f->im->missing, union cell, (size_t)n);
	union cell *im = NEW_ARRAY(f->im->missing, union cell, (size_t)n);

	for (int64_t i = 0; i < n; i++) {
		re[i].f = creal(x[i]) * scale;
		im[i].f = cimag(x[i]) * scale;
	}
	const struct fft_value v = {table(f, re, 1, &n), table(f, im, 1, &n)};
	talloc_free(re);
	talloc_free(im);
	return v;
}

/* z = z * w; the imaginary part of z is 0 if it has none, and of the result left out if not wanted. */
static void
multiply(struct import *im, struct fft_value *z, struct fft_value w, bool real_result)
{
	struct ir_value *re = build2(im, OP_mul, z->re, w.re), *i = NULL;

	if (z->im)
		re = build2(im, OP_sub, re, build2(im, OP_mul, z->im, w.im));
	if (!real_result) {
		i = build2(im, OP_mul, z->re, w.im);
		if (z->im)
			i = build2(im, OP_add, i, build2(im, OP_mul, z->im, w.re));
	}
	*z = (struct fft_value){re, i};
}

static struct ir_value *
lengthen(struct import *im, struct ir_value *v, int64_t by)
{
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, interior[IR_MAX_RANK] = {0};

	if (!v)
		return NULL;
	high[v->type->rank - 1] = by;
	return build_pad_zero(im, v, low, high, interior);
}

/* c, and the transform of its conjugate as a cyclic sequence of m. */
static void
chirp(const struct fft *f, int64_t m, struct fft_value *c, struct fft_value *spectrum,
	struct fft_value *scaled)
{
	const int64_t n = f->n;
	double complex *x = NEW_ARRAY(f->im->missing, double complex, (size_t)n);
	double complex *y = NEW_ARRAY(f->im->missing, double complex, (size_t)m);
	double complex *scratch = NEW_ARRAY(f->im->missing, double complex, (size_t)m);

	for (int64_t j = 0; j < m; j++)
		y[j] = 0;
	for (int64_t j = 0; j < n; j++) {
		double re, im;
		root_of(f, j * j, 2 * n, &re, &im);
		x[j] = re + im * I;
		y[j] = y[(m - j) % m] = re - im * I;
	}
	table_transform(y, scratch, m);
	*c = complex_table(f, x, n, 1);
	*scaled = f->inverse ? complex_table(f, x, n, 1 / (double)n) : *c;
	*spectrum = complex_table(f, y, m, 1);
	talloc_free(scratch);
	talloc_free(y);
	talloc_free(x);
}

static bool
transform_chirp(struct fft *f, const struct mlir_op *op, struct fft_value *z, bool real_result)
{
	struct fft g = {.im = f->im, .type = f->type, .n = 1};
	struct fft_value c, spectrum, scaled;
	const int last = z->re->type->rank - 1;

	while (g.n < 2 * f->n - 1)
		g.n *= 2;
	factor(&g);
	chirp(f, g.n, &c, &spectrum, &scaled);
	multiply(f->im, z, c, false);
	z->re = lengthen(f->im, z->re, g.n - f->n);
	z->im = lengthen(f->im, z->im, g.n - f->n);
	if (!z->re || !z->im || !transform_factors(&g, op, z, false))
		return false;
	multiply(f->im, z, spectrum, false);
	g.inverse = true;
	if (!z->re || !z->im || !transform_factors(&g, op, z, false))
		return false;
	z->re = build_slice_dim(f->im, z->re, last, 0, f->n, 1);
	z->im = build_slice_dim(f->im, z->im, last, 0, f->n, 1);
	multiply(f->im, z, scaled, real_result);
	return z->re && (real_result || z->im);
}

/* Along the last dim. */
static bool
transform_last(struct fft *f, const struct mlir_op *op, struct fft_value *z, bool real_result)
{
	f->n = z->re->type->dim[z->re->type->rank - 1];
	if (f->n > (int64_t)1 << FFT_MAX_LOG2)
		return import_unsupported_form(
			f->im, op, "more than 2^%d elements along a dim", FFT_MAX_LOG2);
	return factor(f) ? transform_factors(f, op, z, real_result)
			 : transform_chirp(f, op, z, real_result);
}

/* --- all dims --- */

static bool
transform(struct fft *f, const struct mlir_op *op, struct fft_value *z, int dim, bool real_result)
{
	const int last = z->re ? z->re->type->rank - 1 : 0;

	z->re = build_swap(f->im, z->re, dim, last);
	z->im = build_swap(f->im, z->im, dim, last);
	if (!z->re || !transform_last(f, op, z, real_result))
		return false;
	z->re = build_swap(f->im, z->re, dim, last);
	z->im = build_swap(f->im, z->im, dim, last);
	return z->re != NULL;
}

/* A row x[0 ... n / 2] becomes n elements with x[n - k] the conjugate of x[k]. */
static struct ir_value *
mirror(struct import *im, struct ir_value *v, int64_t n, bool imaginary)
{
	const int dim = v ? v->type->rank - 1 : 0;

	if (!v || n <= 2)
		return n == 1 ? build_slice_dim(im, v, dim, 0, 1, 1) : v;
	struct ir_value *back = build_reverse(
		im, build_slice_dim(im, v, dim, 1, (n + 1) / 2, 1), (int64_t[]){dim}, 1);
	if (back && imaginary)
		back = ir_build1(&im->builder, OP_neg, back);
	return build_concat(im, (struct ir_value *[]){v, back}, 2, dim);
}

struct fft_kind {
	const char *name;
	bool inverse, real_operand, real_result;
};

static const struct fft_kind kinds[] = {{"FFT", false, false, false}, {"IFFT", true, false, false},
	{"RFFT", false, true, false}, {"IRFFT", true, false, true}};

static const struct fft_kind *
kind_of(const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "fft_type");

	for (size_t i = 0; a && a->kind == MLIR_WORD && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(a->s, kinds[i].name))
			return &kinds[i];
	return NULL;
}

/* Are there the parts of one tensor, with the last dims of that length? */
static bool
check(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const struct fft_kind *kind, const struct dims *length)
{
	const struct mlir_type *t = in[0].type;
	const uint32_t operands = kind->real_operand ? 1 : 2, results = kind->real_result ? 1 : 2;

	if (op->noperands != operands || op->nresults != results)
		return import_error(im, op, "%s takes a %s tensor and gives a %s one", kind->name,
			kind->real_operand ? "real" : "complex",
			kind->real_result ? "real" : "complex");
	if (t->dtype != IR_f32 && t->dtype != IR_f64)
		return import_error(im, op, "takes f32 or f64, not %s", t->element);
	if (length->n < 1 || length->n > FFT_MAX_DIMS || length->n > t->rank)
		return import_error(im, op,
			"fft_length has %d sizes, expected 1 to %d and at most the rank %d",
			length->n, FFT_MAX_DIMS, t->rank);
	for (int i = 0; i < length->n; i++) {
		const int64_t have = t->dim[t->rank - length->n + i], n = length->dim[i];
		const bool half = kind->real_result && i == length->n - 1;
		if (n < 1 || have != (half ? n / 2 + 1 : n))
			return import_error(im, op,
				"dim %d has size %" PRId64 ", but fft_length has %" PRId64,
				t->rank - length->n + i, have, n);
	}
	return true;
}

bool
import_fft(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *lengths = mlir_attr_find(op, "fft_length");
	const struct fft_kind *kind = kind_of(op);
	struct dims length;

	length.n = lengths ? mlir_attr_ints(lengths, length.dim, IR_MAX_RANK) : -1;
	if (!kind)
		return import_error(im, op, "fft_type must be FFT, IFFT, RFFT or IRFFT");
	if (!check(im, op, in, kind, &length))
		return false;
	struct import_value v[2] = {in[0], kind->real_operand ? in[0] : in[1]};
	import_align(im, v, 2, true);
	struct fft_value z = {v[0].value, kind->real_operand ? NULL : v[1].value};
	struct fft f = {
		.im = im, .type = (enum ir_dtype)in[0].type->dtype, .inverse = kind->inverse};
	const int last = z.re ? z.re->type->rank - 1 : 0;
	const int64_t n = length.dim[length.n - 1];
	bool ok = z.re != NULL;
	if (ok && kind->real_operand) {
		ok = transform(&f, op, &z, last, false);
		z.re = build_slice_dim(im, z.re, last, 0, n / 2 + 1, 1);
		z.im = build_slice_dim(im, z.im, last, 0, n / 2 + 1, 1);
	}
	for (int i = 1; i < length.n && ok; i++)
		ok = transform(&f, op, &z, last - i, false);
	if (ok && kind->real_result) {
		z.re = mirror(im, z.re, n, false);
		z.im = mirror(im, z.im, n, true);
	}
	if (ok && !kind->real_operand)
		ok = z.re && z.im && transform(&f, op, &z, last, kind->real_result);
	if (!ok)
		return false;
	out[0] = import_result(op, 0, z.re, v[0].varies);
	if (!kind->real_result)
		out[1] = import_result(op, 1, z.im, v[0].varies);
	return z.re != NULL;
}
