/* Shared by rows.c, block.c, import.c and names.c only. */
#ifndef PARSER_STABLEHLO_IMPORT_BLOCK_H
#define PARSER_STABLEHLO_IMPORT_BLOCK_H

#include "parser/stablehlo/import/import.h"

/* Fills im->rows. */
void import_rows(struct import *im);

/* Gives an IR value its name in the text, unless this is a number or the value has a name. */
void import_name_value(struct import *im, const struct mlir_value *v, struct ir_value *value);

/* The name that the text gives an argument or result of a function; NULL: none. */
const char *import_argument_text(const struct mlir_value *v);
const char *import_result_text(const struct mlir_op *func, uint32_t i);

/* The attributes of a result of a function, a DICT; NULL: none. */
const struct mlir_attr *import_result_attrs(const struct mlir_op *func, uint32_t i);

/*
 * The op that an argument or result with the attributes of[n] was before it became StableHLO
 * (OP_input, OP_param, OP_state, OP_output), with its attributes in attr[ROW_MAX_ATTRS]; -1 if the
 * text does not say. `type` is that of the value; NULL: not known. written.c.
 */
int import_written(struct import *im, const struct mlir_attr *of, uint32_t n,
	const struct ir_type *type, struct ir_attr *attr, int *nattrs);

#endif
