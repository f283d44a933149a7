/* Windows that move over a tensor. */
#include "parser/stablehlo/import/window.h"

#include "parser/stablehlo/import/take.h"

#include <inttypes.h>

bool
window_take(
	struct window *w, struct import *im, const struct mlir_op *op, const struct mlir_type *t)
{
	*w = (struct window){.rank = t->rank};
	if (t->rank && !mlir_attr_find(op, "window_dimensions"))
		return import_error(im, op, "has no window_dimensions");
	if (!take_list(im, op, "window_dimensions", t->rank, 1, 1, w->size) ||
		!take_list(im, op, "window_strides", t->rank, 1, 1, w->stride) ||
		!take_list(im, op, "base_dilations", t->rank, 1, 1, w->base) ||
		!take_list(im, op, "window_dilations", t->rank, 1, 1, w->dilation) ||
		!take_padding(im, op, t->rank, w->low, w->high))
		return false;
	for (int d = 0; d < t->rank; d++) {
		if (t->dim[d] > ((int64_t)1 << IMPORT_MAX_BITS) / w->base[d])
			return import_error(im, op,
				"dim %d of size %" PRId64 " is too large to be dilated by %" PRId64,
				d, t->dim[d], w->base[d]);
		const int64_t size = t->dim[d] ? (t->dim[d] - 1) * w->base[d] + 1 : 0;
		const int64_t reach = (w->size[d] - 1) * w->dilation[d] + 1;
		w->padded[d] = w->low[d] + size + w->high[d];
		if (w->padded[d] < 0)
			return import_error(im, op,
				"padding crops more than the size %" PRId64 " of dim %d", size, d);
		w->count[d] = w->padded[d] < reach ? 0 : (w->padded[d] - reach) / w->stride[d] + 1;
	}
	return true;
}

struct ir_value *
window_pad(const struct window *w, struct import *im, struct ir_value *v, struct ir_value *with,
	int lead)
{
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, interior[IR_MAX_RANK] = {0};

	for (int d = 0; d < w->rank; d++) {
		low[lead + d] = w->low[d];
		high[lead + d] = w->high[d];
		interior[lead + d] = w->base[d] - 1;
	}
	return with ? build_pad(im, v, with, low, high, interior)
		    : build_pad_zero(im, v, low, high, interior);
}

int64_t
window_places(const struct window *w)
{
	int64_t n = 1;

	for (int d = 0; d < w->rank && n <= WINDOW_MAX_PLACES; d++)
		n *= w->size[d];
	return n;
}

void
window_offset(const struct window *w, int64_t k, int64_t *offset)
{
	for (int d = w->rank - 1; d >= 0; d--) {
		offset[d] = k % w->size[d] * w->dilation[d];
		k /= w->size[d];
	}
}

struct ir_value *
window_at(const struct window *w, struct import *im, struct ir_value *padded, const int64_t *offset,
	int lead)
{
	int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK], step[IR_MAX_RANK];

	if (!padded)
		return NULL;
	for (int d = 0; d < lead; d++) {
		limit[d] = padded->type->dim[d];
		step[d] = 1;
	}
	for (int d = 0; d < w->rank; d++) {
		start[lead + d] = offset[d];
		limit[lead + d] = offset[d] + (w->count[d] - 1) * w->stride[d] + 1;
		step[lead + d] = w->stride[d];
	}
	return build_slice(im, padded, start, limit, step);
}

struct ir_value *
window_back(const struct window *w, struct import *im, struct ir_value *v, const int64_t *offset,
	int lead)
{
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0}, interior[IR_MAX_RANK] = {0};

	for (int d = 0; d < w->rank; d++) {
		low[lead + d] = offset[d];
		high[lead + d] = w->padded[d] - offset[d] - (w->count[d] - 1) * w->stride[d] - 1;
		interior[lead + d] = w->stride[d] - 1;
	}
	return build_pad_zero(im, v, low, high, interior);
}
