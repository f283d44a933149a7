/*
 * LAPACK's eigenvalues of symmetric matrices and singular values, by a fixed number of sweeps of
 * rotations (templates.dir, @eigh and @svd).
 *
 * An odd number of columns gets one of zeros, which no rotation changes; as a sweep returns every
 * column to its place, it is the last one again at the end.
 */
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/template.h"
#include "parser/stablehlo/import/sum/lapack.h"

#include <float.h>
#include <string.h>
#include <talloc.h>

enum {
	EIGEN_MAX_COLUMNS = 64, /* unrolled: some forty ops for each column and sweep */
	/* Random matrices of 64 columns need 6 sweeps in f32 and 8 in f64; with clusters of
	 * eigenvalues up to 12 in f64 (32 columns) and, to the last bit, 11 in f32. */
	EIGEN_SWEEPS_F32 = 9,
	EIGEN_SWEEPS_F64 = 13,
};

/* The operands of the functions: a matrix, and what they need to move its columns. */
struct eigen {
	struct import *im;
	enum ir_dtype type;
	int64_t rows, columns; /* with the additional one */
	struct ir_value *operand[4];
};

static struct ir_value *
table(const struct eigen *e, const union cell *cell, int64_t rows)
{
	const struct ir_type t = {.dtype = (uint8_t)e->type, .rank = 2, .dim = {rows, e->columns}};

	return import_build_literal(
		e->im, ir_type_intern(e->im->module->ctx, &t), cell, rows * e->columns);
}

/* The place of column i after a round. */
static int64_t
next_place(int64_t i, int64_t n)
{
	const int64_t half = n / 2;

	if (i == 0 || n == 2)
		return i;
	if (i < half)
		return i == half - 1 ? n - 1 : i + 1;
	return i == half ? 1 : i - 1;
}

static void
make_tables(struct eigen *e)
{
	const int64_t n = e->columns;
	union cell *move = ZERO_ARRAY(e->im->missing, union cell, (size_t)(n * n)),
		   *swap = ZERO_ARRAY(move, union cell, (size_t)(n * n)),
		   *sign = ZERO_ARRAY(move, union cell, (size_t)n);

	for (int64_t i = 0; i < n; i++) {
		const int64_t to = next_place(i, n), partner = (i + n / 2) % n;
		move[i * n + to].f = 1;
		swap[partner * n + to].f = 1;
		sign[to].f = i < n / 2 ? 1 : -1;
	}
	e->operand[1] = table(e, move, n);
	e->operand[2] = table(e, swap, n);
	e->operand[3] = table(e, sign, 1);
	talloc_free(move);
}

/* Runs a function that reads the numbers of those letters. */
static bool
call(const struct eigen *e, const char *function, const char *letters,
	struct ir_value *const *operand, int noperands, struct ir_value **result, int nresults)
{
	const bool wide = e->type == IR_f64;
	const int sweeps = wide ? EIGEN_SWEEPS_F64 : EIGEN_SWEEPS_F32;
	const struct template_number all[] = {{"M", (double)e->rows}, {"N", (double)e->columns},
		{"K", (double)(sweeps * (e->columns - 1))},
		{"E", wide ? DBL_EPSILON : FLT_EPSILON}};
	struct template_number number[sizeof all / sizeof *all];
	int n = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strchr(letters, all[i].name[0]))
			number[n++] = all[i];
	const struct template_call c = {.function = function,
		.type = e->type,
		.operand = operand,
		.noperands = noperands,
		.nresults = nresults,
		.number = number,
		.nnumbers = n};
	return template_build(e->im, &c, result);
}

/* Runs a function on matrix a; results lose the additional column again, and the additional row that square ones have. */
static bool
rotate(struct eigen *e, const char *function, struct ir_value *a, bool square,
	struct ir_value **result, int nresults)
{
	const int rank = a->type->rank;
	const int64_t n = a->type->dim[rank - 1], odd = n % 2;
	int64_t high[IR_MAX_RANK] = {0}, none[IR_MAX_RANK] = {0};

	e->rows = a->type->dim[rank - 2] + (square ? odd : 0);
	e->columns = n + odd;
	high[rank - 1] = odd;
	high[rank - 2] = square ? odd : 0;
	e->operand[0] = odd ? build_pad_zero(e->im, a, none, high, none) : a;
	make_tables(e);
	if (!call(e, function, "NKE", e->operand, 4, result, nresults))
		return false;
	for (int i = 0; i < nresults; i++) {
		if (odd)
			result[i] = build_slice_dim(e->im, result[i], rank - 1, 0, n, 1);
		/* the first of @svd has the rows of a, which may be n + 1 of them */
		if (odd && (square || i > 0) && result[i] &&
			result[i]->type->dim[rank - 2] == n + 1)
			result[i] = build_slice_dim(e->im, result[i], rank - 2, 0, n, 1);
		if (!result[i])
			return false;
	}
	e->columns = n;
	return true;
}

/* Sorts numbers [..,1,N], ascending or descending, and the columns of n matrices with them. */
static bool
sort(const struct eigen *e, struct ir_value **number, bool ascending, struct ir_value **matrix,
	int n)
{
	struct ir_value *made[2];
	struct ir_builder *b = &e->im->builder;
	struct ir_value *key = ascending ? ir_build1(b, OP_neg, *number) : *number;

	if (!call(e, "descending", "N", &key, 1, made, 2))
		return false;
	*number = ascending ? ir_build1(b, OP_neg, made[0]) : made[0];
	for (int i = 0; i < n; i++)
		matrix[i] = build2(e->im, OP_matmul, matrix[i], made[1]);
	return *number != NULL;
}

static bool
check_matrix(struct import *im, const struct mlir_op *op, const struct mlir_type *t, bool square)
{
	if (t->rank < 2 || (t->dtype != IR_f32 && t->dtype != IR_f64) ||
		(square && t->dim[t->rank - 1] != t->dim[t->rank - 2]))
		return import_error(im, op,
			"operand 1 must be a %smatrix of f32 or f64, or a batch of them",
			square ? "square " : "");
	const int64_t m = t->dim[t->rank - 2], n = t->dim[t->rank - 1];
	return (m < n ? m : n) <= EIGEN_MAX_COLUMNS ||
	       import_unsupported_form(im, op, "eigenvalues of a matrix of more than %d columns",
		       EIGEN_MAX_COLUMNS);
}

static struct ir_value *
transpose(struct import *im, struct ir_value *v)
{
	return v ? build_swap(im, v, v->type->rank - 2, v->type->rank - 1) : NULL;
}

/* A symmetric matrix from one of its triangles. */
static struct ir_value *
symmetric(struct import *im, struct ir_value *a, bool lower)
{
	const int rank = a->type->rank;
	const int64_t n = a->type->dim[rank - 1];
	struct ir_value *i = build_unsqueeze(im, build_iota(im, IR_i32, 1, 0, n), 1),
			*j = build_iota(im, IR_i32, 1, 0, n);

	struct ir_value *given = i && j ? build2(im, lower ? OP_ge : OP_le, i, j) : NULL;
	return given ? build_select(im, given, a, transpose(im, a)) : NULL;
}

bool
import_lapack_eigh(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct eigen e = {.im = im, .type = (enum ir_dtype)in[0].type->dtype};
	struct ir_value *made[2];
	char uplo;

	if (!lapack_letter(im, op, "uplo", "LU", &uplo) || !check_matrix(im, op, in[0].type, true))
		return false;
	struct ir_value *a = symmetric(im, in[0].value, uplo == 'L');
	if (!a || !rotate(&e, "eigh", a, true, made, 2) || !sort(&e, &made[1], true, made, 1))
		return false;
	out[0] = import_result(op, 0, made[0], in[0].varies);
	out[1] = import_result(
		op, 1, build_squeeze(im, made[1], made[1]->type->rank - 2), in[0].varies);
	return lapack_info(im, op, 2, &in[0], NULL, out);
}

/*
 * An orthogonal matrix of `columns` columns that begins with those of u, except those of zeros: the
 * QR factorization of u, whose R is diagonal.
 */
static struct ir_value *
complete(const struct eigen *e, const struct mlir_op *op, struct ir_value *u, int64_t columns)
{
	const int rank = u->type->rank;
	const int64_t given = u->type->dim[rank - 1];
	int64_t high[IR_MAX_RANK] = {0}, none[IR_MAX_RANK] = {0};
	struct eigen wide = {
		.im = e->im, .type = e->type, .rows = u->type->dim[rank - 2], .columns = columns};
	struct ir_value *made[2], *x[2], *signed_columns;

	if (!lapack_factorize(e->im, op, "qr", &u, 1, given, made, 2))
		return NULL;
	high[rank - 1] = columns - given;
	x[0] = build_pad_zero(e->im, made[0], none, high, none);
	x[1] = build_unsqueeze(e->im, made[1], rank - 1);
	made[1] = x[0];
	if (!x[0] || !x[1] || !lapack_factorize(e->im, op, "q", x, 2, given, made, 1) ||
		!call(&wide, "signed_columns", "MN", made, 2, &signed_columns, 1))
		return NULL;
	return signed_columns;
}

/* Factors u, s, v of a matrix of at least as many rows as columns; v is not transposed. */
static bool
decompose(struct eigen *e, const struct mlir_op *op, struct ir_value *a, int64_t columns,
	struct ir_value **u, struct ir_value **s, struct ir_value **v)
{
	struct ir_value *made[3];

	if (!a || !rotate(e, "svd", a, false, made, 3) || !sort(e, &made[2], false, made, 2))
		return false;
	*s = build_squeeze(e->im, made[2], made[2]->type->rank - 2);
	*v = made[1];
	*u = made[0] ? complete(e, op, made[0], columns) : NULL;
	return *u && *s && *v;
}

/* A result that LAPACK leaves undefined. */
static bool
give_zeros(struct import *im, const struct mlir_op *op, int result, struct import_value *out)
{
	const struct ir_type *t = import_type(im, op, op->result[result].type, 0);

	return import_give(op, result, t ? build_zeros(im, t) : NULL, 0, out);
}

bool
import_lapack_svd(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct eigen e = {.im = im, .type = (enum ir_dtype)in[0].type->dtype};
	struct ir_value *a = in[0].value, *u, *s, *v;
	const int rank = in[0].type->rank;
	char mode;

	if (!lapack_letter(im, op, "mode", "ASN", &mode) ||
		!check_matrix(im, op, in[0].type, false))
		return false;
	const int64_t m = in[0].type->dim[rank - 2], n = in[0].type->dim[rank - 1];
	const bool tall = m >= n;
	const int64_t most = tall ? m : n, least = tall ? n : m;
	if (!decompose(&e, op, tall ? a : transpose(im, a), mode == 'S' ? least : most, &u, &s, &v))
		return false;
	out[0] = import_result(op, 0, a, in[0].varies);
	out[1] = import_result(op, 1, s, in[0].varies);
	if (mode == 'N')
		return give_zeros(im, op, 2, out) && give_zeros(im, op, 3, out) &&
		       lapack_info(im, op, 4, &in[0], NULL, out);
	out[2] = import_result(op, 2, tall ? u : v, in[0].varies);
	out[3] = import_result(op, 3, transpose(im, tall ? v : u), in[0].varies);
	return lapack_info(im, op, 4, &in[0], NULL, out);
}
