/* Loops that are not unrolled: loop.c, called by control.c. */
#ifndef PARSER_STABLEHLO_IMPORT_LOOP_H
#define PARSER_STABLEHLO_IMPORT_LOOP_H

#include "parser/stablehlo/import/import.h"

enum import_condition {
	CONDITION_FALSE,
	CONDITION_TRUE,
	CONDITION_OPEN,   /* data decides */
	CONDITION_FAILED, /* reported */
};

/* Imports the condition of a while with these carried values. */
enum import_condition import_condition(struct import *im, const struct mlir_op *op,
	const struct import_value *carried, struct import_value *condition);

/* Binds the arguments of a block. */
void import_bind_all(struct import *im, struct mlir_block *b, const struct import_value *v);

/* Imports a while whose signature was checked as a while of the IR. */
import_function import_loop;

#endif
