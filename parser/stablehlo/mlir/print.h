/*
 * A tree as generic MLIR text: for tests of the reader, and for debugging.
 *
 * The text can be read again and gives the same text; MLIR's own tools take it, as text of
 * dialects that they do not know. Types of integer and float attributes are not kept, so that they
 * become 64 bits; a word, as compare's LT, is #stablehlo<word LT>; the inside of #stablehlo.dot<..>
 * and its like is a dictionary.
 */
#ifndef PARSER_STABLEHLO_MLIR_PRINT_H
#define PARSER_STABLEHLO_MLIR_PRINT_H

#include "parser/stablehlo/mlir/mlir.h"

#include <stdio.h>

void mlir_print(FILE *out, const struct mlir_file *file);

#endif
