/* Shared by collective.c and exchange.c: parts.c. */
#ifndef PARSER_STABLEHLO_IMPORT_COLLECTIVE_COLLECTIVE_H
#define PARSER_STABLEHLO_IMPORT_COLLECTIVE_COLLECTIVE_H

#include "parser/stablehlo/spmd/spmd.h"

/* An attribute that is a number; a dim of all operands at one process. Report what is wrong. */
bool collective_int(struct import *im, const struct mlir_op *op, const char *name, int64_t *v);
bool collective_dim(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const char *name, int *dim);

/* Has every operand a value and a result? */
bool collective_counts(struct import *im, const struct mlir_op *op, const struct import_value *in);

/* Result i, from a value that varies over these axes; from a row for each process. */
bool collective_give(struct import *im, const struct mlir_op *op, uint32_t i,
	struct ir_value *value, uint32_t varies, struct import_value *out);
bool collective_give_rows(struct import *im, const struct mlir_op *op, uint32_t i,
	struct ir_value **row, struct import_value *out);

/* Has every process a row? Else it is in no group. */
bool collective_complete(struct import *im, const struct mlir_op *op, struct ir_value *const *row);

/* Both, and frees the rows. NULL: no. */
bool collective_finish(struct import *im, const struct mlir_op *op, uint32_t i,
	struct ir_value **row, struct import_value *out);

/* The product of the sizes of the axes. */
int64_t collective_size(const struct import *im, uint32_t axes);

/* Splits dim `at` of x into one part for each place of the axes: a new dim for each axis.
 */
struct ir_value *collective_parts(struct import *im, struct ir_value *x, int at, uint32_t axes);

#endif
