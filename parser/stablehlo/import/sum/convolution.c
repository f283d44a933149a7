/* convolution and dynamic_conv (StableHLO, "convolution"): attributes, and the choice of route. */
#include "parser/stablehlo/import/sum/convolution.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"
#include "parser/stablehlo/import/build/window.h"

#include <inttypes.h>
#include <string.h>

/* One of the three sides of dimension_numbers: two dims and the spatial ones, all different. */
static bool
take_side(struct convolution *c, const struct mlir_attr *dict, const char *first,
	const char *second, const char *spatial, int rank, int *out)
{
	int64_t dim[2];
	struct dims rest;

	if (!take_int(c->im, c->op, dict, first, -1, &dim[0]) ||
		!take_int(c->im, c->op, dict, second, -1, &dim[1]) ||
		!take_dims(c->im, c->op, dict, spatial, rank, &rest))
		return false;
	if (rest.n != c->rank)
		return import_error(
			c->im, c->op, "%s has %d entries, not %d", spatial, rest.n, c->rank);
	for (int i = 0; i < 2; i++) {
		if (dim[i] < 0 || dim[i] >= rank || dims_has(&rest, dim[i]) || dim[0] == dim[1])
			return import_error(c->im, c->op,
				"%s is %" PRId64 ", which is not a dim or is named twice",
				i ? second : first, dim[i]);
		out[i] = (int)dim[i];
	}
	for (int i = 0; i < rest.n; i++)
		out[2 + i] = (int)rest.dim[i];
	return true;
}

static bool
take_dimension_numbers(struct convolution *c, const struct import_value *in)
{
	const struct mlir_attr *dict = mlir_attr_find(c->op, "dimension_numbers");
	const int rank = in[0].type->rank;

	if (!dict || dict->kind != MLIR_DICT)
		return import_error(c->im, c->op, "has no dimension_numbers");
	if (in[1].type->rank != rank || c->op->result[0].type->rank != rank)
		return import_error(c->im, c->op,
			"images, filters and result have ranks %d, %d and %d", rank,
			in[1].type->rank, c->op->result[0].type->rank);
	if (rank < 2)
		return import_error(c->im, c->op,
			"images have rank %d; expected at least the batch and feature dims", rank);
	c->rank = rank - 2;
	return take_side(c, dict, "input_batch_dimension", "input_feature_dimension",
		       "input_spatial_dimensions", rank, c->image_dim) &&
	       take_side(c, dict, "kernel_output_feature_dimension",
		       "kernel_input_feature_dimension", "kernel_spatial_dimensions", rank,
		       c->filter_dim) &&
	       take_side(c, dict, "output_batch_dimension", "output_feature_dimension",
		       "output_spatial_dimensions", rank, c->result_dim);
}

static bool
take_lists(struct convolution *c, const int64_t *given)
{
	int64_t reversed[IR_MAX_RANK];

	if (!take_list(c->im, c->op, "window_strides", c->rank, 1, 1, c->stride) ||
		!take_list(c->im, c->op, "lhs_dilation", c->rank, 1, 1, c->base) ||
		!take_list(c->im, c->op, "rhs_dilation", c->rank, 1, 1, c->dilation) ||
		!take_list(c->im, c->op, "window_reversal", c->rank, 0, 0, reversed) ||
		!take_int(c->im, c->op, NULL, "feature_group_count", 1, &c->groups) ||
		!take_int(c->im, c->op, NULL, "batch_group_count", 1, &c->batch_groups))
		return false;
	for (int d = 0; d < c->rank; d++)
		c->reversed[d] = reversed[d] != 0;
	if (!given)
		return take_padding(c->im, c->op, c->rank, c->low, c->high);
	for (int d = 0; d < c->rank; d++) {
		c->low[d] = given[2 * d];
		c->high[d] = given[2 * d + 1];
	}
	return true;
}

static bool
check_groups(struct convolution *c, int64_t n, int64_t features)
{
	if (c->groups < 1 || c->batch_groups < 1)
		return import_error(c->im, c->op, "group counts must be at least 1");
	if (c->groups > 1 && c->batch_groups > 1)
		return import_error(
			c->im, c->op, "feature_group_count and batch_group_count are both above 1");
	if (n % c->batch_groups)
		return import_error(c->im, c->op,
			"batch_group_count %" PRId64 " does not divide the batch size %" PRId64,
			c->batch_groups, n);
	if (features != c->channels * c->groups)
		return import_error(c->im, c->op,
			"images have %" PRId64 " features, but the filters have %" PRId64
			" in each of %" PRId64 " groups",
			features, c->channels, c->groups);
	if (c->filters % (c->groups * c->batch_groups))
		return import_error(c->im, c->op,
			"the %" PRId64 " output features are not divisible into %" PRId64 " groups",
			c->filters, c->groups * c->batch_groups);
	c->n = n / c->batch_groups;
	return true;
}

/* The type that sums are made in. */
static enum ir_dtype
sum_type(enum ir_dtype a, enum ir_dtype b, enum ir_dtype result)
{
	enum ir_dtype t = ir_dtype_bytes(b) > ir_dtype_bytes(a) ? b : a;

	if (ir_dtype_class(t) != IR_FLOAT ||
		(ir_dtype_class(result) == IR_FLOAT && ir_dtype_bytes(result) > ir_dtype_bytes(t)))
		t = result;
	return t == IR_bool ? IR_i32 : t;
}

/* Reads and checks; padding is `given` if that is not NULL: low and high of each dim. */
static bool
conv_take(struct convolution *c, struct import *im, const struct mlir_op *op,
	const struct import_value *in, const int64_t *given)
{
	*c = (struct convolution){.im = im, .op = op};
	if (!take_dimension_numbers(c, in) || !take_lists(c, given))
		return false;
	const int64_t *x = in[0].type->dim, *f = in[1].type->dim;
	c->filters = f[c->filter_dim[0]];
	c->channels = f[c->filter_dim[1]];
	if (!check_groups(c, x[c->image_dim[0]], x[c->image_dim[1]]))
		return false;
	for (int d = 0; d < c->rank; d++) {
		c->image[d] = x[c->image_dim[2 + d]];
		c->kernel[d] = f[c->filter_dim[2 + d]];
		const struct window_dim w = {c->image[d], c->kernel[d], c->stride[d], c->base[d],
			c->dilation[d], c->low[d], c->high[d]};
		if (!window_along(im, op, "spatial dim", d, &w, &c->padded[d], &c->out[d]))
			return false;
	}
	c->type = sum_type((enum ir_dtype)in[0].type->dtype, (enum ir_dtype)in[1].type->dtype,
		(enum ir_dtype)op->result[0].type->dtype);
	for (int side = 0; side < 2; side++)
		c->varies[side] = in[side].varies;
	return true;
}

/* An operand in the order of convolution.h. */
static struct ir_value *
build_ordered(struct convolution *c, const struct import_value *v, const int *dim)
{
	const int lead = import_lead(v);
	int64_t perm[IR_MAX_RANK];

	for (int d = 0; d < lead; d++)
		perm[d] = d;
	for (int d = 0; d < c->rank + 2; d++)
		perm[lead + d] = lead + dim[d];
	return build_transpose(c->im, build_convert(c->im, v->value, c->type), perm);
}

static struct ir_value *
build_filters(struct convolution *c, const struct import_value *v)
{
	int64_t dims[IR_MAX_RANK];
	int n = 0;

	for (int d = 0; d < c->rank; d++)
		if (c->reversed[d] && c->kernel[d] > 1)
			dims[n++] = import_lead(v) + 2 + d;
	return build_reverse(c->im, build_ordered(c, v, c->filter_dim), dims, n);
}

static bool
build_convolution(struct convolution *c, const struct import_value *in, struct import_value *out)
{
	const uint32_t varies = in[0].varies | in[1].varies;
	const int lead = __builtin_popcount(varies);
	int64_t perm[IR_MAX_RANK];
	bool fits = true;

	for (int d = 0; d < c->rank; d++)
		if (!c->out[d]) {
			if (import_is_empty(c->op->result[0].type))
				return true;
			return import_error(c->im, c->op,
				"the filter does not fit the padded image along spatial dim %d", d);
		}
	int64_t dim[IR_MAX_RANK] = {c->n, c->filters};
	for (int d = 0; d < c->rank; d++)
		dim[2 + d] = c->out[d];
	if (!build_fits(c->im, dim, c->rank + 2))
		return false;
	c->x = build_ordered(c, &in[0], c->image_dim);
	c->f = build_filters(c, &in[1]);
	struct ir_value *v = c->x && c->f ? conv_by_op(c, &fits) : NULL;
	if (!fits)
		v = conv_by_places(c);
	for (int d = 0; d < lead; d++)
		perm[d] = d;
	for (int d = 0; d < c->rank + 2; d++)
		perm[lead + c->result_dim[d]] = lead + d;
	v = build_transpose(c->im, v, perm);
	v = build_convert(c->im, v, (enum ir_dtype)c->op->result[0].type->dtype);
	out[0] = import_result(c->op, 0, v, varies);
	return v != NULL;
}

bool
import_convolution(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct convolution c;
	int64_t given[2 * IR_MAX_RANK];
	const bool dynamic = op->noperands == 3;

	if (dynamic) {
		const int n = in[0].type->rank - 2;
		const struct mlir_type *t = in[2].type;
		if (n < 0 || t->rank != 2 || t->dim[0] != n || t->dim[1] != 2)
			return import_error(im, op, "d_padding must be %d x 2", n > 0 ? n : 0);
		if (!take_known(im, &in[2], 2 * n, given))
			return import_unsupported(im, op, "padding that is not constant");
	}
	return conv_take(&c, im, op, in, dynamic ? given : NULL) && build_convolution(&c, in, out);
}
