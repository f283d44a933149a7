/* Windows that move over a tensor. */
#include "parser/stablehlo/import/build/window.h"

#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>

bool
window_along(struct import *im, const struct mlir_op *op, const char *dims, int d,
	const struct window_dim *x, int64_t *padded, int64_t *count)
{
	if (x->n > ((int64_t)1 << IR_MAX_ELEMENTS_LOG2) / x->base)
		return import_error(im, op,
			"%s %d of size %" PRId64 " is too large to be dilated by %" PRId64, dims, d,
			x->n, x->base);
	const int64_t size = x->n ? (x->n - 1) * x->base + 1 : 0;
	const int64_t reach = (x->size - 1) * x->dilation + 1;
	*padded = x->low + size + x->high;
	if (*padded < 0)
		return import_error(im, op, "padding crops more than the size %" PRId64 " of %s %d",
			size, dims, d);
	*count = *padded < reach ? 0 : (*padded - reach) / x->stride + 1;
	return true;
}

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
		const struct window_dim x = {t->dim[d], w->size[d], w->stride[d], w->base[d],
			w->dilation[d], w->low[d], w->high[d]};
		if (!window_along(im, op, "dim", d, &x, &w->padded[d], &w->count[d]))
			return false;
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
