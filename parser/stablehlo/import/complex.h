/*
 * Complex numbers: before the import, the tree of a program that has some is rewritten so that each
 * complex value is two real ones, its real and its imaginary part.
 *
 *     complex.c        values, operands, attributes, functions, regions
 *     complex.def      what becomes of each op
 *     complex_op.c     the rules that it names
 *
 * So the rest of the importer and all of dopt work on real numbers. An op without complex operands
 * and results remains as it is.
 */
#ifndef PARSER_STABLEHLO_IMPORT_COMPLEX_H
#define PARSER_STABLEHLO_IMPORT_COMPLEX_H

#include "parser/stablehlo/import/import.h"

struct complex {
	struct import *im;
	struct ptr_map *parts; /* struct mlir_value -> struct complex_parts that replace it */
	struct ptr_map *rules; /* op name -> the function for it */
	struct mlir_block *to; /* the block that ops are appended to */
};

/* A complex value has both parts; another value that was moved has the same in both. */
struct complex_parts {
	struct mlir_value *part[2];
};

/* complex<f32> or complex<f64> as the elements of a tensor. */
bool complex_is(const struct mlir_type *t);
/* The type of a part; another type is returned as it is. */
const struct mlir_type *complex_part_type(struct complex *c, const struct mlir_type *t);

/* What replaces a value so far: itself, if nothing does. */
struct complex_parts complex_get(const struct complex *c, const struct mlir_value *v);
void complex_set(struct complex *c, const struct mlir_value *v, struct mlir_value *re,
	struct mlir_value *im);

/* n arguments or results, with two for each complex one: `old` itself if it has none. */
struct mlir_value *complex_expand(
	struct complex *c, struct mlir_value *old, uint32_t n, uint32_t *count);

/* Appends an op of n operands, whose result has that type, in the place of `like`. */
struct mlir_value *complex_new(struct complex *c, const struct mlir_op *like, const char *name,
	struct mlir_value *const *operand, uint32_t n, const struct mlir_type *type);

/* Appends a copy of the op that has part `bit i of mask` of each complex operand i, and that part
 * (of operand 0) of regions, results and attributes. */
struct mlir_op *complex_copy(struct complex *c, const struct mlir_op *op, uint32_t mask);

enum { COMPLEX_RE = 0, COMPLEX_IM = -1 }; /* masks: the same part of all operands */

/* Appends the op itself with both parts of each complex operand and result. */
void complex_through(struct complex *c, struct mlir_op *op);
/* The same, and the import will report that the op is not supported. */
void complex_refuse(struct complex *c, struct mlir_op *op);

/* Appends what replaces an op that has a complex operand or result: complex_op.c. */
void complex_by_rule(struct complex *c, struct mlir_op *op);

#endif
