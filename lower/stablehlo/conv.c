/*
 * Convolutions and windows. Images are [..,c,h,w] with any number of leading dims, which are one
 * batch dim to StableHLO.
 *
 *     conv2d          a[n,c,.], f[o,c,.] -> [n,o,.]
 *     conv2d_data     g[n,o,.] and f with its dims o, c exchanged, backwards: g is spread by the
 *                     stride (lhs_dilation), the filter reversed
 *     conv2d_filter   a is [c,n,.] to it and g [n,o,.]: the batch is what is summed over, g is
 *                     spread by the stride (rhs_dilation), and the result is [o,c,.]
 *
 * Paddings follow from the sizes of the results. If height or width are split, or channels in
 * groups (of such that come last: in any case), the op is converted by its form.
 */
#include "lower/stablehlo/hlo.h"

#include "ir/ops/row.h"

#include <inttypes.h>
#include <string.h>

/* Dimension numbers of height and width. */
struct spatial {
	int64_t v[2];
};

static struct spatial
spatial_attr(const struct ir_op *op, const char *key, int64_t otherwise)
{
	struct spatial s = {{otherwise, otherwise}};

	ir_attr_ints(op, key, s.v, 2);
	return s;
}

/* Is dim `from_end` of any tensor of the op split? */
static bool
splits(const struct hlo *h, const struct ir_op *op, int from_end)
{
	bool split = ir_type_split_factor(
			     h->m, op->result[0].type, op->result[0].type->rank - from_end) > 1;

	for (int i = 0; i < op->noperands; i++) {
		const struct ir_type *t = ir_operand_type(op, i);
		split = split || ir_type_split_factor(h->m, t, t->rank - from_end) > 1;
	}
	return split;
}

static bool
is_last(const struct ir_op *op)
{
	return ir_attr_int(op, "channels_last", 0);
}

/* Can each replica compute its part independently of the others? */
static bool
is_local(const struct hlo *h, const struct ir_op *op)
{
	if (splits(h, op, -row_image_dim(op, -1)) || splits(h, op, -row_image_dim(op, -2)))
		return false;
	if (ir_attr_int(op, "groups", 1) == 1)
		return true;
	if (is_last(op))
		return false;
	/* channels, and the filters, which are dim 0 of operand 2 or of the result */
	const struct ir_type *filters =
		op->code == OP_conv2d_filter ? op->result[0].type : ir_operand_type(op, 1);
	return !splits(h, op, 3) && ir_type_split_factor(h->m, filters, 0) == 1;
}

/* [..,c,h,w] as [n,c,h,w]. */
static struct hlo_value
as_images(struct hlo *h, struct hlo_value x)
{
	int64_t dim[4] = {1};

	for (int d = 0; d < x.rank - 3; d++)
		dim[0] *= x.dim[d];
	memcpy(dim + 1, x.dim + x.rank - 3, 3 * sizeof *dim);
	return hlo_reshape(h, x, 4, dim);
}

struct convolution {
	struct hlo_value lhs, rhs;
	const char *numbers; /* "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]" */
	struct spatial stride, low, high, lhs_dilation, rhs_dilation;
	bool reversed;
	int64_t feature_groups, batch_groups;
	struct hlo_value type;
};

static const char *
spatial_text(struct hlo *h, struct spatial s)
{
	return hlo_array(h, s.v, 2);
}

static struct hlo_value
convolve(struct hlo *h, const struct convolution *c)
{
	const enum ir_dtype t = (enum ir_dtype)c->type.dtype,
			    wide = t == IR_f64 ? IR_f64 : IR_f32; /* narrow sums: rounded once */
	const int64_t padding[] = {c->low.v[0], c->high.v[0], c->low.v[1], c->high.v[1]};
	const char *attrs = hlo_text(h,
		"window_strides = %s, padding = %s, lhs_dilation = %s, rhs_dilation = %s, "
		"window_reversal = array<i1: %s, %s>, dimension_numbers = #stablehlo.conv<%s>, "
		"feature_group_count = %" PRId64 " : i64, batch_group_count = %" PRId64
		" : i64, precision_config = "
		"[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]",
		spatial_text(h, c->stride), hlo_matrix(h, padding, 2, 2),
		spatial_text(h, c->lhs_dilation), spatial_text(h, c->rhs_dilation),
		c->reversed ? "true" : "false", c->reversed ? "true" : "false", c->numbers,
		c->feature_groups, c->batch_groups);
	const struct hlo_value r = hlo_make(h, "stablehlo.convolution",
		(struct hlo_value[]){c->lhs, c->rhs}, 2, attrs, hlo_like(c->type, wide));

	return hlo_convert(h, t, r);
}

static const struct spatial ones = {{1, 1}};

enum hlo_done
hlo_conv2d(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	struct convolution c = {
		.lhs = in[0],
		.rhs = in[1],
		.numbers = is_last(op) ? "[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]"
				       : "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
		.stride = spatial_attr(op, "stride", 1),
		.low = spatial_attr(op, "low", 0),
		.high = spatial_attr(op, "high", 0),
		.lhs_dilation = ones,
		.rhs_dilation = spatial_attr(op, "dilation", 1),
		.feature_groups = ir_attr_int(op, "groups", 1),
		.batch_groups = 1,
	};
	const struct hlo_value type = hlo_local_type(h, op->result[0].type);

	if (!is_local(h, op))
		return HLO_OTHER;
	c.lhs = as_images(h, in[0]);
	c.type = c.lhs;
	memcpy(c.type.dim + 1, type.dim + type.rank - 3, 3 * sizeof *type.dim);
	*out = hlo_reshape(h, convolve(h, &c), type.rank, type.dim);
	return HLO_DONE;
}

/* Filters [o,c/g,k,l] as [o/g,c,k,l]: separate for each group. */
static struct hlo_value
exchange_groups(struct hlo *h, struct hlo_value f, int64_t groups)
{
	const int64_t o = f.dim[0], c = f.dim[1], k = f.dim[2], l = f.dim[3];

	f = hlo_reshape(h, f, 5, (const int64_t[]){groups, o / groups, c, k, l});
	f = hlo_transpose(h, f, (const int64_t[]){1, 0, 2, 3, 4});
	return hlo_reshape(h, f, 4, (const int64_t[]){o / groups, groups * c, k, l});
}

enum hlo_done
hlo_conv2d_data(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	const struct spatial low = spatial_attr(op, "low", 0);
	const struct hlo_value type = hlo_local_type(h, op->result[0].type);
	struct convolution c = {
		.numbers = is_last(op) ? "[b, 0, 1, f]x[i, 0, 1, o]->[b, 0, 1, f]"
				       : "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
		.stride = ones,
		.lhs_dilation = spatial_attr(op, "stride", 1),
		.rhs_dilation = spatial_attr(op, "dilation", 1),
		.reversed = true,
		.feature_groups = ir_attr_int(op, "groups", 1),
		.batch_groups = 1,
	};

	if (!is_local(h, op))
		return HLO_OTHER;
	c.lhs = as_images(h, in[0]);
	c.rhs = c.feature_groups == 1 ? in[1] : exchange_groups(h, in[1], c.feature_groups);
	c.type = c.lhs;
	memcpy(c.type.dim + 1, type.dim + type.rank - 3, 3 * sizeof *type.dim);
	for (int i = 0; i < 2; i++) {
		const int d = row_image_dim(op, 2 + i);
		const int64_t reach = c.rhs_dilation.v[i] * (in[1].dim[d] - 1),
			      spread = (c.lhs.dim[d] - 1) * c.lhs_dilation.v[i] + 1;
		c.low.v[i] = reach - low.v[i];
		c.high.v[i] = c.type.dim[d] - spread + low.v[i];
	}
	*out = hlo_reshape(h, convolve(h, &c), type.rank, type.dim);
	return HLO_DONE;
}

enum hlo_done
hlo_conv2d_filter(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	struct convolution c = {
		.numbers = is_last(op) ? "[f, 0, 1, b]x[i, 0, 1, o]->[f, 0, 1, b]"
				       : "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
		.stride = spatial_attr(op, "dilation", 1),
		.low = spatial_attr(op, "low", 0),
		.lhs_dilation = ones,
		.rhs_dilation = spatial_attr(op, "stride", 1),
		.feature_groups = 1,
		.batch_groups = ir_attr_int(op, "groups", 1),
		.type = hlo_local_type(h, op->result[0].type),
	};

	if (!is_local(h, op))
		return HLO_OTHER;
	c.lhs = as_images(h, in[0]);
	c.rhs = as_images(h, in[1]);
	for (int i = 0; i < 2; i++) {
		const int d = row_image_dim(op, 2 + i);
		c.high.v[i] = (c.type.dim[d] - 1) * c.stride.v[i] +
			      c.rhs_dilation.v[i] * (c.rhs.dim[d] - 1) + 1 - c.lhs.dim[d] -
			      c.low.v[i];
	}
	*out = convolve(h, &c);
	return HLO_DONE;
}

/* --- windows ------------------------------------------------------------------------------------
 */

static struct hlo_value
reduce_window(struct hlo *h, const struct ir_op *op, struct hlo_value x, enum form_reduce how)
{
	const struct spatial window = spatial_attr(op, "window", 1),
			     stride = spatial_attr(op, "stride", 1),
			     low = spatial_attr(op, "low", 0), high = spatial_attr(op, "high", 0);
	const enum ir_dtype t = (enum ir_dtype)x.dtype;
	int64_t size[HLO_MAX_RANK], step[HLO_MAX_RANK], padding[2 * HLO_MAX_RANK] = {0};
	struct hlo_value type = hlo_like(hlo_local_type(h, op->result[0].type), t);

	for (int d = 0; d < x.rank; d++)
		size[d] = step[d] = 1;
	for (int i = 0; i < 2; i++) {
		const int d = x.rank + row_image_dim(op, i - 2);
		size[d] = window.v[i];
		step[d] = stride.v[i];
		padding[2 * d] = low.v[i];
		padding[2 * d + 1] = high.v[i];
	}
	const struct hlo_value in[] = {
		x, hlo_constant(h, hlo_type(t, 0, NULL), hlo_identity(how, t))};
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.reduce_window",
			     .in = in,
			     .nin = 2,
			     .attrs = hlo_text(h,
				     "window_dimensions = %s, window_strides = %s, padding = %s",
				     hlo_array(h, size, x.rank), hlo_array(h, step, x.rank),
				     hlo_matrix(h, padding, x.rank, 2)),
			     .region = hlo_region(h, hlo_monoid(how, t), t),
			     .out = &type,
			     .nout = 1});
	return type;
}

enum hlo_done
hlo_max_pool(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	if (!is_local(h, op))
		return HLO_OTHER;
	*out = reduce_window(h, op, in[0], REDUCE_MAX);
	return HLO_DONE;
}

enum hlo_done
hlo_avg_pool(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	const struct spatial window = spatial_attr(op, "window", 1);
	const enum ir_dtype t = (enum ir_dtype)in[0].dtype, wide = t == IR_f64 ? IR_f64 : IR_f32;

	if (!is_local(h, op))
		return HLO_OTHER;
	const struct hlo_value sum = reduce_window(h, op, hlo_convert(h, wide, in[0]), REDUCE_SUM);
	const struct hlo_value n = hlo_number(h, sum, (double)(window.v[0] * window.v[1]));
	*out = hlo_convert(h, t, hlo_two(h, "stablehlo.divide", sum, n));
	return HLO_DONE;
}

/* A window along one dim, with dilated elements. */
enum hlo_done
hlo_window(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	static const struct {
		const char *how;
		enum form_reduce reduce;
	} ways[] = {{"add", REDUCE_SUM}, {"max", REDUCE_MAX}, {"min", REDUCE_MIN},
		{"mul", REDUCE_PROD}};
	static const char *const keys[] = {"size", "stride", "base", "dilation"},
				 *const names[] = {"window_dimensions", "window_strides",
					 "base_dilations", "window_dilations"};
	const char *how = ir_attr_string(op, "how", "add"), *attrs = "";
	const enum ir_dtype t = (enum ir_dtype)in[0].dtype,
			    wide = t == IR_f16 || t == IR_bf16 ? IR_f32 : t;
	const int rank = in[0].rank;
	const int64_t given = ir_attr_int(op, "dim", 0), dim = given < 0 ? given + rank : given;
	int64_t list[HLO_MAX_RANK], padding[2 * HLO_MAX_RANK] = {0};
	enum form_reduce reduce = REDUCE_NONE;

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(how, ways[i].how))
			reduce = ways[i].reduce;
	if (splits(h, op, (int)(rank - dim)) || reduce == REDUCE_NONE)
		return HLO_OTHER;
	for (int k = 0; k < 4; k++) {
		for (int d = 0; d < rank; d++)
			list[d] = d == dim ? ir_attr_int(op, keys[k], 1) : 1;
		attrs = hlo_text(h, "%s%s = %s, ", attrs, names[k], hlo_array(h, list, rank));
	}
	padding[2 * dim] = ir_attr_int(op, "low", 0);
	padding[2 * dim + 1] = ir_attr_int(op, "high", 0);
	const struct hlo_value x = hlo_convert(h, wide, in[0]),
			       start = hlo_constant(
				       h, hlo_type(wide, 0, NULL), hlo_identity(reduce, wide)),
			       operand[] = {x, start};
	struct hlo_value type = hlo_like(hlo_local_type(h, op->result[0].type), wide);
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.reduce_window",
			     .in = operand,
			     .nin = 2,
			     .attrs = hlo_text(
				     h, "%spadding = %s", attrs, hlo_matrix(h, padding, rank, 2)),
			     .region = hlo_region(h, hlo_monoid(reduce, wide), wide),
			     .out = &type,
			     .nout = 1});
	*out = hlo_convert(h, t, type);
	return HLO_DONE;
}
