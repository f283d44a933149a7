/* What import_block.c shares with import.c and import_names.c alone. */
#ifndef PARSER_STABLEHLO_IMPORT_BLOCK_H
#define PARSER_STABLEHLO_IMPORT_BLOCK_H

#include "parser/stablehlo/import.h"

/* Fills im->rows. */
void import_rows(struct import *im);

/* Gives an IR value the name that the text has for it, unless that is a number or it has one. */
void import_name_value(struct import *im, const struct mlir_value *v, struct ir_value *value);

/* How the text calls an argument or result of a function; NULL: it does not. */
const char *import_argument_text(const struct mlir_value *v);
const char *import_result_text(const struct mlir_op *func, uint32_t i);

#endif
