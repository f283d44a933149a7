/*
 * Attributes of an op as checked numbers, which importers read before they build.
 *
 * Every function reports at the op and returns false if the attribute violates the specification.
 * An absent attribute has its default. Dims are those of StableHLO.
 */
#ifndef PARSER_STABLEHLO_IMPORT_BUILD_TAKE_H
#define PARSER_STABLEHLO_IMPORT_BUILD_TAKE_H

#include "parser/stablehlo/import/import.h"

/* Dims of a tensor, ascending or not. */
struct dims {
	int64_t dim[IR_MAX_RANK];
	int n;
};

/* An integer or truth value of the op, or of `dict` if that is not NULL. */
bool take_int(struct import *im, const struct mlir_op *op, const struct mlir_attr *dict,
	const char *name, int64_t otherwise, int64_t *out);
/* A list of n integers, each `least` at least; absent: all `otherwise`. */
bool take_list(struct import *im, const struct mlir_op *op, const char *name, int n, int64_t least,
	int64_t otherwise, int64_t *out);
/* Low and high of n dims, from a dense n x 2 or a list of 2n; absent: zeros. */
bool take_padding(struct import *im, const struct mlir_op *op, int n, int64_t *low, int64_t *high);
/* Are the dims of the attribute in [0, rank) and different? */
bool take_distinct(struct import *im, const struct mlir_op *op, const char *name,
	const int64_t *dims, int n, int rank);
/* A list of dims below `rank`, no dim twice; absent: none. */
bool take_dims(struct import *im, const struct mlir_op *op, const struct mlir_attr *dict,
	const char *name, int rank, struct dims *out);

/* The same, ascending. */
bool take_ascending(struct import *im, const struct mlir_op *op, const struct mlir_attr *dict,
	const char *name, int rank, struct dims *out);

static inline bool
dims_has(const struct dims *d, int64_t dim)
{
	for (int i = 0; i < d->n; i++)
		if (d->dim[i] == dim)
			return true;
	return false;
}

/* All of a and b are different; `what` for the message. */
bool take_disjoint(struct import *im, const struct mlir_op *op, const struct dims *a,
	const struct dims *b, const char *what);

/* Operand i has the shape of operand j. */
bool take_same_shape(
	struct import *im, const struct mlir_op *op, const struct import_value *in, int i, int j);
/* Operand i is a scalar. */
bool take_scalar(struct import *im, const struct mlir_op *op, const struct import_value *in, int i);
/* The n integers of a value that depends only on constants, row-major. False, without a report, if
 * it is not known. */
bool take_known(struct import *im, const struct import_value *v, int n, int64_t *out);

#endif
