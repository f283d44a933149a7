/*
 * Bodies with two halves of arguments, (x1 .. xn, y1 .. yn) -> (z1 .. zn), applied to whole
 * tensors: used for reductions, windows, scans and scatters with any body.
 *
 * A body is associative (StableHLO, "reduce": the order is a tree's over the elements in row-major
 * order); so elements are combined pairwise, always a lower one with a higher one, and n elements
 * take log2(n) applications. All tensors of a fold have one shape and vary over the same axes.
 */
#ifndef PARSER_STABLEHLO_IMPORT_BUILD_FOLD_H
#define PARSER_STABLEHLO_IMPORT_BUILD_FOLD_H

#include "parser/stablehlo/import/build/build.h"

struct fold {
	struct import *im;
	const struct mlir_op *op;
	int region, n;
	uint32_t varies;
	enum import_monoid
		monoid; /* of the region; MONOID_OTHER: the region is imported op by op */
};

/*
 * A fold of n values over region `region`, which must have 2n scalar arguments and n results;
 * the message names the op. False after reporting.
 */
bool fold_begin(struct fold *f, struct import *im, const struct mlir_op *op, int region, int n);

/* The same for an op with, for each result, first a tensor and then an initial value as operand. */
bool fold_begin_reduction(struct fold *f, struct import *im, const struct mlir_op *op);

/* Are the tensors of such an op of one shape, its initial values scalars? False after reporting. */
bool fold_take_inputs(const struct fold *f, const struct import_value *in);

/* The results of such an op on empty tensors, of sizes dim[rank]: the initial values. */
bool fold_nothing(const struct fold *f, const struct import_value *in, const int64_t *dim, int rank,
	struct import_value *out);

/* The operands of such an op, aligned if they vary over processes; sets f->varies. */
const struct import_value *fold_align(struct fold *f, const struct import_value *in);

/* Element type of argument i of the region. */
static inline enum ir_dtype
fold_type(const struct fold *f, int i)
{
	return (enum ir_dtype)f->op->region[f->region].arg[i].type->dtype;
}

/* An array of n values in the import's arena. */
struct ir_value **fold_array(const struct fold *f);

/* out = body(a, b); out may be a or b. Missing dims of one are repeated. False after reporting. */
bool fold_apply(const struct fold *f, struct ir_value *const *a, struct ir_value *const *b,
	struct ir_value **out);

/* v[i] along dim becomes one element, without the dim. */
bool fold_dim(const struct fold *f, struct ir_value **v, int dim);

/* v[i] along dim becomes `count` elements; number o is the fold of `size` elements, `dilation`
 * apart, from o * stride on. */
bool fold_window(const struct fold *f, struct ir_value **v, int dim, int64_t size, int64_t dilation,
	int64_t stride, int64_t count);

/* v = body(init, v) unless init, without local dims, is known to change nothing. */
bool fold_init(const struct fold *f, struct ir_value *const *init, struct ir_value **v);

/* The results of such an op: fold_init, then each as the type that it is written with. */
bool fold_finish(const struct fold *f, struct ir_value *const *init, struct ir_value **v,
	struct import_value *out);

#endif
