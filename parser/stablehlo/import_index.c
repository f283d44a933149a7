/* Gather, scatter, random numbers. */
#include "parser/stablehlo/import_ops.h"

bool
import_gather(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_scatter(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_index_select(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_rng(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_rng_bits(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}
