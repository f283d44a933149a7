/*
 * A tree as generic MLIR text, for tests of the reader.
 *
 * The text can be read again and gives the same text; MLIR's own tools accept it as text of unknown
 * dialects. Types of integer and float attributes are lost: they become 64 bits; a word, such as
 * compare's LT, is #stablehlo<word LT>; the inside of #stablehlo.dot<..> and similar is a
 * dictionary.
 */
#ifndef TEST_FUZZ_MLIR_PRINT_H
#define TEST_FUZZ_MLIR_PRINT_H

#include "parser/stablehlo/mlir/mlir.h"

#include <stdio.h>

void mlir_print(FILE *out, const struct mlir_file *file);

#endif
