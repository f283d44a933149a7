/* triangular_solve, cholesky, ragged_dot. */
#include "parser/stablehlo/import_ops.h"

bool
import_triangular_solve(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_cholesky(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_ragged_dot(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}
