/*
 * Windows that move over a tensor: sizes, strides, dilations and padding of reduce_window and
 * select_and_scatter, checked, and the padded tensor that they see.
 */
#ifndef PARSER_STABLEHLO_IMPORT_BUILD_WINDOW_H
#define PARSER_STABLEHLO_IMPORT_BUILD_WINDOW_H

#include "parser/stablehlo/import/build/build.h"

enum {
	WINDOW_MAX_PLACES =
		1 << 12, /* of a window that is unrolled element by element: about ten ops
					each, within the limit of loops (IMPORT_MAX_UNROLLED) */
};

struct window {
	int rank;
	int64_t size[IR_MAX_RANK], stride[IR_MAX_RANK];
	int64_t base[IR_MAX_RANK], dilation[IR_MAX_RANK]; /* of the tensor, of the window */
	int64_t low[IR_MAX_RANK], high[IR_MAX_RANK];
	int64_t padded[IR_MAX_RANK], count[IR_MAX_RANK]; /* sizes with padding; of the result */
};

/* One dim of n elements, and a window of `size` elements that moves along it. */
struct window_dim {
	int64_t n, size, stride;
	int64_t base, dilation; /* of the tensor, of the window */
	int64_t low, high;
};

/* The size of the dim with its padding, and the number of windows; messages call it "`dims` d".
 * False after reporting. */
bool window_along(struct import *im, const struct mlir_op *op, const char *dims, int d,
	const struct window_dim *x, int64_t *padded, int64_t *count);

/* The window attributes of an op on a tensor of that type. False after reporting. */
bool window_take(
	struct window *w, struct import *im, const struct mlir_op *op, const struct mlir_type *t);

/* v, which has `lead` leading dims, dilated and padded with `with` (NULL: zeros). */
struct ir_value *window_pad(const struct window *w, struct import *im, struct ir_value *v,
	struct ir_value *with, int lead);

/* The number of elements of a window; the offset of element k, row-major, along each dim. */
int64_t window_places(const struct window *w);
void window_offset(const struct window *w, int64_t k, int64_t *offset);

/* The elements of all windows at that offset: a tensor with the sizes of the result. */
struct ir_value *window_at(const struct window *w, struct import *im, struct ir_value *padded,
	const int64_t *offset, int lead);

/* Back: v with the sizes of the result, at that offset of all windows of a padded tensor; zeros
 * elsewhere. */
struct ir_value *window_back(const struct window *w, struct import *im, struct ir_value *v,
	const int64_t *offset, int lead);

#endif
