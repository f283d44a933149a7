/* Attributes that name dims, and slices: for all families. */
#ifndef PARSER_STABLEHLO_IMPORT_OPS_SHAPE_H
#define PARSER_STABLEHLO_IMPORT_OPS_SHAPE_H

#include "parser/stablehlo/import/import.h"

/* Exactly n (at most IR_MAX_RANK) integers of the attribute. Reports and returns false else. */
bool import_ints(
	struct import *im, const struct mlir_op *op, const char *name, int64_t *out, int n);

/* Elements start, start + stride ... below limit of each local dim; stride NULL: 1. */
struct ir_value *import_build_slice(struct import *im, const struct import_value *v,
	const int64_t *start, const int64_t *limit, const int64_t *stride);

/* An integer key in the total order of floats: point.c. */
struct ir_value *import_total_key(struct import *im, struct ir_value *v);

#endif
