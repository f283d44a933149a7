/*
 * triangular_solve and cholesky (StableHLO, both), unrolled over rows and columns.
 *
 * A solve from the right, X A = B, is one from the left of transposes, A' X' = B'; a transposed
 * upper triangle is a lower one. So there are two: from the first row down, and from the last row
 * up,
 *
 *     x_i = (b_i - sum over solved rows j of a_ij x_j) / a_ii
 *
 * cholesky makes l column by column: below l_jj = sqrt(a_jj - sum of l_jk^2) is
 * (a_ij - sum over k < j of l_ik l_jk) / l_jj. Only the named triangle of a matrix is read.
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"
#include "parser/stablehlo/import/sum/solve.h"

#include <inttypes.h>
#include <string.h>

static struct ir_value *
build_swapped(struct import *im, struct ir_value *v)
{
	return v ? build_swap(im, v, v->type->rank - 2, v->type->rank - 1) : NULL;
}

/* Rows from i to k of a matrix, columns from j to l. */
static struct ir_value *
build_block(struct import *im, struct ir_value *v, int64_t i, int64_t k, int64_t j, int64_t l)
{
	const int rank = v->type->rank;

	return build_slice_dim(im, build_slice_dim(im, v, rank - 2, i, k, 1), rank - 1, j, l, 1);
}

struct solve {
	struct import *im;
	struct ir_value *a, *b; /* [.., m, m], [.., m, n] */
	int64_t m, n;
	bool lower, unit;
};

/* Row i, from the rows solved so far: for a lower triangle those above i. */
static struct ir_value *
build_row(const struct solve *s, int64_t i, struct ir_value *solved)
{
	struct ir_builder *b = &s->im->builder;
	struct ir_value *row = build_block(s->im, s->b, i, i + 1, 0, s->n);

	if (solved) {
		struct ir_value *left = s->lower ? build_block(s->im, s->a, i, i + 1, 0, i)
						 : build_block(s->im, s->a, i, i + 1, i + 1, s->m);
		row = ir_build2(b, OP_sub, row, ir_build2(b, OP_matmul, left, solved));
	}
	return s->unit ? row
		       : ir_build2(b, OP_div, row, build_block(s->im, s->a, i, i + 1, i, i + 1));
}

static struct ir_value *
build_solved(const struct solve *s)
{
	struct ir_value *solved = NULL;
	const int rows = s->b->type->rank - 2;

	for (int64_t k = 0; k < s->m; k++) {
		struct ir_value *row = build_row(s, s->lower ? k : s->m - 1 - k, solved);
		if (!row)
			return NULL;
		struct ir_value *both[] = {s->lower ? solved : row, s->lower ? row : solved};
		solved = solved ? build_concat(s->im, both, 2, rows) : row;
		if (!solved)
			return NULL;
	}
	return solved;
}

/* Matrices of one element type, square, with the batch dims of each other. */
static bool
solve_check_matrix(struct import *im, const struct mlir_op *op, const struct mlir_type *a)
{
	if (a->rank < 2 || a->dim[a->rank - 1] != a->dim[a->rank - 2])
		return import_error(
			im, op, "operand 1 must be a square matrix, or a batch of them");
	if (ir_dtype_class((enum ir_dtype)a->dtype) != IR_FLOAT)
		return import_error(im, op, "operand 1 must be of floats");
	if (a->dim[a->rank - 1] > SOLVE_MAX_ROWS)
		return import_unsupported_form(
			im, op, "a matrix of more than %d rows", SOLVE_MAX_ROWS);
	return true;
}

static bool
check_solve(struct import *im, const struct mlir_op *op, const struct import_value *in, bool left)
{
	const struct mlir_type *a = in[0].type, *b = in[1].type;

	if (!solve_check_matrix(im, op, a))
		return false;
	if (b->rank != a->rank || memcmp(a->dim, b->dim, (a->rank - 2u) * sizeof *a->dim))
		return import_error(im, op, "the operands have different batch dims");
	if (a->dtype != b->dtype)
		return import_error(im, op, "the operands have different element types");
	if (b->dim[b->rank - (left ? 2 : 1)] != a->dim[a->rank - 1])
		return import_error(im, op,
			"operand 2 has %" PRId64 " %s, but the matrix has %" PRId64,
			b->dim[b->rank - (left ? 2 : 1)], left ? "rows" : "columns",
			a->dim[a->rank - 1]);
	return true;
}

static bool
take_transpose(struct import *im, const struct mlir_op *op, bool *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "transpose_a");

	*out = false;
	if (!a)
		return true;
	if (a->kind != MLIR_WORD)
		return import_error(im, op, "transpose_a must be a keyword");
	*out = !strcmp(a->s, "TRANSPOSE") || !strcmp(a->s, "ADJOINT");
	return *out || !strcmp(a->s, "NO_TRANSPOSE") ||
	       import_error(im, op,
		       "transpose_a is %s; expected NO_TRANSPOSE, TRANSPOSE or ADJOINT", a->s);
}

bool
solve_triangular(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const struct solve_form *f, struct import_value *out)
{
	struct import_value v[2] = {in[0], in[1]};

	if (!check_solve(im, op, in, f->left))
		return false;
	import_align(im, v, 2, true);
	const enum ir_dtype t = (enum ir_dtype)in[0].type->dtype;
	struct solve s = {.im = im,
		.a = build_convert(im, v[0].value, build_wide(t)),
		.b = build_convert(im, v[1].value, build_wide(t)),
		.lower = f->lower,
		.unit = f->unit};
	if (f->transpose == f->left) { /* a transposed, once */
		s.a = build_swapped(im, s.a);
		s.lower = !s.lower;
	}
	if (!f->left)
		s.b = build_swapped(im, s.b);
	if (!s.a || !s.b)
		return false;
	s.m = s.b->type->dim[s.b->type->rank - 2];
	s.n = s.b->type->dim[s.b->type->rank - 1];
	struct ir_value *x = build_solved(&s);
	x = build_convert(im, f->left ? x : build_swapped(im, x), t);
	return import_give(op, 0, x, v[0].varies, out);
}

bool
import_triangular_solve(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int64_t left, lower, unit;
	struct solve_form f;

	if (!take_int(im, op, NULL, "left_side", 1, &left) ||
		!take_int(im, op, NULL, "lower", 1, &lower) ||
		!take_int(im, op, NULL, "unit_diagonal", 0, &unit) ||
		!take_transpose(im, op, &f.transpose))
		return false;
	f.left = left != 0;
	f.lower = lower != 0;
	f.unit = unit != 0;
	return solve_triangular(im, op, in, &f, out);
}

/* Column j from its diagonal on, from the columns before it, [.., m, j]. */
static struct ir_value *
build_column(struct import *im, struct ir_value *a, struct ir_value *done, int64_t j)
{
	struct ir_builder *b = &im->builder;
	const int rank = a->type->rank;
	const int64_t m = a->type->dim[rank - 1];
	struct ir_value *c = build_block(im, a, j, m, j, j + 1);

	if (done) {
		struct ir_value *below = build_block(im, done, j, m, 0, j);
		struct ir_value *row = build_block(im, done, j, j + 1, 0, j);
		if (!below || !row)
			return NULL;
		c = ir_build2(b, OP_sub, c, ir_build2(b, OP_matmul, below, build_swapped(im, row)));
	}
	if (!c)
		return NULL;
	struct ir_value *diagonal =
		ir_build1(b, OP_sqrt, build_slice_dim(im, c, rank - 2, 0, 1, 1));
	if (j + 1 == m)
		return diagonal;
	struct ir_value *part[] = {diagonal,
		ir_build2(b, OP_div, build_slice_dim(im, c, rank - 2, 1, m - j, 1), diagonal)};
	return build_concat(im, part, 2, rank - 2);
}

bool
solve_cholesky(struct import *im, const struct mlir_op *op, const struct import_value *in,
	bool lower, struct import_value *out)
{
	const enum ir_dtype t = (enum ir_dtype)in[0].type->dtype;
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
	struct ir_value *done = NULL;

	if (!solve_check_matrix(im, op, in[0].type))
		return false;
	struct ir_value *a = build_convert(im, in[0].value, build_wide(t));
	a = lower ? a : build_swapped(im, a);
	if (!a)
		return false;
	const int rank = a->type->rank;
	for (int64_t j = 0; j < a->type->dim[rank - 1]; j++) {
		low[rank - 2] = j;
		struct ir_value *column =
			build_pad_zero(im, build_column(im, a, done, j), low, high, NULL);
		if (!column)
			return false;
		done = done ? build_concat(im, (struct ir_value *[]){done, column}, 2, rank - 1)
			    : column;
	}
	done = build_convert(im, lower ? done : build_swapped(im, done), t);
	return import_give(op, 0, done, in[0].varies, out);
}

bool
import_cholesky(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int64_t lower;

	return take_int(im, op, NULL, "lower", 0, &lower) &&
	       solve_cholesky(im, op, in, lower != 0, out);
}
