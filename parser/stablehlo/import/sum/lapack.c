/* LAPACK's factorizations, unrolled by columns. `info`, whose sign callers test, is 0, or 1 if a
 * factor has NaNs. */
#include "parser/stablehlo/import/sum/lapack.h"

#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/template.h"
#include "parser/stablehlo/import/sum/solve.h"

#include <string.h>

bool
lapack_letter(struct import *im, const struct mlir_op *op, const char *name, const char *letters,
	char *out)
{
	const struct mlir_attr *config = mlir_attr_find(op, "mhlo.backend_config");
	const struct mlir_attr *a =
		config && config->kind == MLIR_DICT ? mlir_item_find(config, name) : NULL;

	*out = a && a->kind == MLIR_INT && a->i > 0 && a->i < 128 ? (char)a->i : 0;
	return (*out && strchr(letters, *out)) ||
	       import_error(im, op, "mhlo.backend_config must give %s, one of the letters %s", name,
		       letters);
}

bool
lapack_info(struct import *im, const struct mlir_op *op, int result,
	const struct import_value *like, struct ir_value *bad, struct import_value *out)
{
	const struct mlir_type *t = op->result[result].type;
	struct import_value zero = {.value = import_integer(im, IR_i32, 0), .type = t};

	if (t->dtype != IR_i32 || t->rank != like->type->rank - 2)
		return import_error(im, op, "result %d must be i32, one for each matrix, not %s",
			result + 1, t->text);
	zero.value = bad ? build_convert(im, bad, IR_i32)
			 : import_build_broadcast(im, &zero, t->rank, t->dim, NULL);
	return import_give(op, result, zero.value, bad ? like->varies : 0, out);
}

bool
import_lapack_cholesky(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	char uplo;

	if (!lapack_letter(im, op, "uplo", "LU", &uplo) ||
		!solve_cholesky(im, op, in, uplo == 'L', out))
		return false;
	const int rank = out[0].value->type->rank;
	struct ir_value *bad =
		build_reduce(im, OP_any, ir_build1(&im->builder, OP_is_nan, out[0].value),
			(int64_t[]){rank - 2, rank - 1}, 2);
	return bad && lapack_info(im, op, 1, in, bad, out);
}

bool
import_lapack_solve(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	char side, uplo, trans, diag;

	if (!lapack_letter(im, op, "side", "LR", &side) ||
		!lapack_letter(im, op, "uplo", "LU", &uplo) ||
		!lapack_letter(im, op, "trans_x", "NTC", &trans) ||
		!lapack_letter(im, op, "diag", "NU", &diag))
		return false;
	const struct solve_form f = {.left = side == 'L',
		.lower = uplo == 'L',
		.unit = diag == 'U',
		.transpose = trans != 'N'};
	return solve_triangular(im, op, in, &f, out);
}

bool
lapack_factorize(struct import *im, const struct mlir_op *op, const char *function,
	struct ir_value *const *operand, int noperands, int64_t k, struct ir_value **result,
	int nresults)
{
	const struct ir_type *t = operand[0]->type;

	if (ir_dtype_class((enum ir_dtype)t->dtype) != IR_FLOAT || t->rank < 2)
		return import_error(
			im, op, "operand 1 must be a matrix of floats, or a batch of them");
	if (k > SOLVE_MAX_ROWS)
		return import_unsupported_form(
			im, op, "a matrix of more than %d rows and columns", SOLVE_MAX_ROWS);
	const struct template_number number[] = {{"M", (double)t->dim[t->rank - 2]},
		{"N", (double)t->dim[t->rank - 1]}, {"K", (double)k}};
	const struct template_call call = {.function = function,
		.type = (enum ir_dtype)t->dtype,
		.operand = operand,
		.noperands = noperands,
		.nresults = nresults,
		.number = number,
		.nnumbers = 3};
	return template_build(im, &call, result);
}

/* The number of diagonal elements. */
static int64_t
diagonal_of(const struct mlir_type *t)
{
	const int64_t m = t->rank > 1 ? t->dim[t->rank - 2] : 0,
		      n = t->rank ? t->dim[t->rank - 1] : 0;

	return m < n ? m : n;
}

/* The factors of a matrix and a number for each diagonal element. */
static bool
give_factors(struct import *im, const struct mlir_op *op, const char *function,
	const struct import_value *in, struct import_value *out)
{
	struct ir_value *made[2];

	if (!lapack_factorize(im, op, function, &in[0].value, 1, diagonal_of(in[0].type), made, 2))
		return false;
	for (int i = 0; i < 2; i++)
		out[i] = import_result(op, i, made[i], in[0].varies);
	return true;
}

bool
import_lapack_lu(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return give_factors(im, op, "lu", in, out) && lapack_info(im, op, 2, in, NULL, out);
}

bool
import_lapack_qr(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return give_factors(im, op, "qr", in, out);
}

bool
import_lapack_q(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct import_value v[2] = {in[0], in[1]};
	struct ir_value *x[2], *q;

	if (in[1].type->rank != in[0].type->rank - 1 || in[1].type->dtype != in[0].type->dtype)
		return import_error(im, op, "operand 2 must have a number for each reflection");
	import_align(im, v, 2, true);
	x[0] = v[0].value;
	x[1] = build_unsqueeze(im, v[1].value, v[1].value ? v[1].value->type->rank : 0);
	if (!x[1] ||
		!lapack_factorize(im, op, "q", x, 2, in[1].type->dim[in[1].type->rank - 1], &q, 1))
		return false;
	out[0] = import_result(op, 0, q, v[0].varies);
	return true;
}
