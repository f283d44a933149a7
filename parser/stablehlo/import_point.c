/* Element by element, where it takes more than an op of ours. */
#include "parser/stablehlo/import_ops.h"

bool
import_compare(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_select(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_clamp(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_convert(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_bitcast(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_popcnt(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_clz(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_round_away(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_reduce_precision(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_map(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_mulhi(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_identity(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}
