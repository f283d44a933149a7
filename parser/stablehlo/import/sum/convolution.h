/*
 * A convolution with all attributes that StableHLO allows, read and checked, in one order of
 * dims:
 *
 *     images   [N, C, x1, x2 ...]     N = batch_groups * n     C = groups * c
 *     filters  [O, c, k1, k2 ...]     O = groups * o, or batch_groups * o
 *     result   [n, O, y1, y2 ...]
 *
 *     result[n,O,y] = sum over c, k of images[.., y * stride + k * dilation - low] filters[O,c,k]
 *
 * where the images have `base - 1` zeros between their elements and low and high zeros around them.
 */
#ifndef PARSER_STABLEHLO_IMPORT_SUM_CONVOLUTION_H
#define PARSER_STABLEHLO_IMPORT_SUM_CONVOLUTION_H

#include "parser/stablehlo/import/build/build.h"

enum {
	CONV_MAX_PLACES = 1 << 12, /* filter or result positions that are unrolled: a few
			    ops each, within the limit of loops (IMPORT_MAX_UNROLLED) */
	CONV_MAX_SPATIAL = IR_MAX_RANK - 2,
};

struct convolution {
	struct import *im;
	const struct mlir_op *op;
	int rank;                                            /* spatial dims */
	int image_dim[IR_MAX_RANK], filter_dim[IR_MAX_RANK]; /* perm into the order above */
	int result_dim[IR_MAX_RANK]; /* of the op's result: dim i above is its dim result_dim[i] */
	int64_t batch_groups, groups;
	int64_t n, channels, filters; /* n, c, O of above */
	int64_t stride[IR_MAX_RANK], dilation[IR_MAX_RANK], base[IR_MAX_RANK];
	int64_t low[IR_MAX_RANK], high[IR_MAX_RANK];
	int64_t kernel[IR_MAX_RANK], image[IR_MAX_RANK]; /* sizes, undilated */
	int64_t padded[IR_MAX_RANK], out[IR_MAX_RANK];
	bool reversed[IR_MAX_RANK];
	enum ir_dtype type; /* in which it is computed */

	uint32_t varies[2];     /* axes of images and filters */
	struct ir_value *x, *f; /* in the order above, with leading dims, of type `type` */
};

/*
 * By one of the ops conv2d, conv2d_data, conv2d_filter if it fits; else NULL and *fits = false. The
 * result is in the order above, leading dims first.
 */
struct ir_value *conv_by_op(struct convolution *c, bool *fits);

/* By products of slices, one for each position of the filter, or of the result if fewer. */
struct ir_value *conv_by_places(struct convolution *c);

static inline int
conv_lead(const struct convolution *c, int side)
{
	return __builtin_popcount(c->varies[side]);
}

#endif
