/* Collectives, and programs of several processes. */
#include "parser/stablehlo/import_ops.h"

bool
import_all_reduce(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_all_gather(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_reduce_scatter(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_all_to_all(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_collective_permute(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_collective_broadcast(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_replica_id(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_partition_id(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_run_parallel(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_manual(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}

bool
import_sharding(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op, NULL);
}
