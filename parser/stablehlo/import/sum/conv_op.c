/*
 * Convolutions that are an IR op: images of two dims (for one dim, a second of size 1), floats,
 * filters that are the same on all processes.
 *
 *     conv2d_filter   the filter is larger than the result: a gradient by filters, where the sum
 *                     over c is over the images of a batch
 *     conv2d_data     dilated images, or a reversed filter, at stride 1: a gradient by images
 *     conv2d          all else; dilated images are dilated first. Batch groups become groups.
 */
#include "parser/stablehlo/import/sum/convolution.h"

#include <string.h>

/* Lists of two, height first; `otherwise` is the height's entry if there is one dim. */
static struct ir_attr
make_pair(const struct convolution *c, const char *key, const int64_t *list, int64_t otherwise)
{
	const int64_t pair[2] = {c->rank == 2 ? list[0] : otherwise, list[c->rank - 1]};

	return ir_make_ints(c->im->module, key, pair, 2);
}

static struct ir_value *
with_height(const struct convolution *c, struct ir_value *v)
{
	return v && c->rank == 1 ? build_unsqueeze(c->im, v, v->type->rank - 1) : v;
}

static struct ir_value *
without_height(const struct convolution *c, struct ir_value *v)
{
	return v && c->rank == 1 ? build_squeeze(c->im, v, v->type->rank - 2) : v;
}

/* Exchanges dims a and b. */
static struct ir_value *
build_swapped(const struct convolution *c, struct ir_value *v, int a, int b)
{
	int64_t perm[IR_MAX_RANK];

	for (int d = 0; d < IR_MAX_RANK; d++)
		perm[d] = d == a ? b : d == b ? a : d;
	return build_transpose(c->im, v, perm);
}

/* [.., (b, n), C, ...] -> [.., n, (b, C), ...]: batch groups become groups of channels. */
static struct ir_value *
build_regrouped(const struct convolution *c, struct ir_value *x)
{
	const int lead = conv_lead(c, 0);
	int64_t shape[IR_MAX_RANK + 1];
	int n = lead;

	if (!x || c->batch_groups == 1)
		return x;
	memcpy(shape, x->type->dim, (size_t)lead * sizeof *shape);
	shape[n++] = c->batch_groups;
	shape[n++] = c->n;
	for (int d = lead + 1; d < x->type->rank; d++)
		shape[n++] = x->type->dim[d];
	x = build_swapped(c, build_reshape(c->im, x, shape, n), lead, lead + 1);
	return build_flatten(c->im, x, lead + 1, lead + 3);
}

static struct ir_value *
by_conv2d(struct convolution *c)
{
	const int64_t lead = conv_lead(c, 0);
	int64_t zero[IR_MAX_RANK] = {0}, interior[IR_MAX_RANK] = {0};

	for (int d = 0; d < c->rank; d++)
		interior[lead + 2 + d] = c->base[d] - 1;
	struct ir_value *x = build_pad_zero(c->im, c->x, zero, zero, interior);
	struct ir_value *in[] = {with_height(c, build_regrouped(c, x)), with_height(c, c->f)};
	const struct ir_attr attr[] = {make_pair(c, "stride", c->stride, 1),
		make_pair(c, "low", c->low, 0), make_pair(c, "high", c->high, 0),
		make_pair(c, "dilation", c->dilation, 1),
		ir_make_int(c->im->module->ctx, "groups", c->groups * c->batch_groups)};
	return without_height(c, ir_build(&c->im->builder, OP_conv2d, in, 2, attr, 5));
}

/* Is dim d one of the attribute's? */
static bool
lists(const struct ir_op *op, const char *key, int64_t dim)
{
	int64_t list[IR_MAX_RANK];
	const int n = ir_attr_ints(op, key, list, IR_MAX_RANK);

	for (int i = 0; i < n; i++)
		if (list[i] == dim)
			return true;
	return false;
}

/* Does `reverse`, seen through a transpose, reverse exactly the filter's spatial dims? */
static bool
turns_filter(const struct convolution *c, const struct ir_op *reverse, const int64_t *perm)
{
	for (int d = 0; d < c->rank + 2; d++)
		if (c->f->type->dim[d] > 1 && lists(reverse, "dims", perm[d]) != (d >= 2))
			return false;
	return true;
}

/* The filter before it was reversed, up to the permutation *perm; NULL: it is not reversed. */
static struct ir_value *
before_turned(const struct convolution *c, int64_t perm[IR_MAX_RANK])
{
	const struct ir_op *op = c->f->op;
	int64_t list[IR_MAX_RANK];

	for (int d = 0; d < IR_MAX_RANK; d++)
		perm[d] = d;
	if (op && op->code == OP_transpose && ir_operand(op, 0)->op) {
		ir_attr_ints(op, "perm", list, IR_MAX_RANK);
		for (int d = 0; d < c->rank + 2; d++)
			perm[d] = list[d];
		op = ir_operand(op, 0)->op;
	}
	return op && op->code == OP_reverse && turns_filter(c, op, perm) ? ir_operand(op, 0) : NULL;
}

/* Reverses the filter. */
static struct ir_value *
build_turned(const struct convolution *c)
{
	int64_t dims[IR_MAX_RANK];
	int64_t perm[IR_MAX_RANK];
	int n = 0;
	struct ir_value *before = before_turned(c, perm);

	if (before)
		return build_transpose(c->im, before, perm);
	for (int d = 0; d < c->rank; d++)
		if (c->kernel[d] > 1)
			dims[n++] = 2 + d;
	return build_reverse(c->im, c->f, dims, n);
}

/* [(g, o), c, ...] -> [(g, c), o, ...] */
static struct ir_value *
build_crossed(const struct convolution *c, struct ir_value *f, int64_t groups)
{
	int64_t shape[IR_MAX_RANK];
	int n = 0;

	if (!f)
		return NULL;
	if (groups == 1)
		return build_swapped(c, f, 0, 1);
	shape[n++] = groups;
	shape[n++] = c->filters / groups;
	for (int d = 1; d < f->type->rank; d++)
		shape[n++] = f->type->dim[d];
	f = build_swapped(c, build_reshape(c->im, f, shape, n), 1, 2);
	return build_flatten(c->im, f, 0, 2);
}

static struct ir_value *
by_conv2d_data(struct convolution *c)
{
	struct ir_context *ctx = c->im->module->ctx;
	const int64_t groups = c->groups * c->batch_groups;
	int64_t low[2];

	for (int d = 0; d < c->rank; d++)
		low[d] = (c->kernel[d] - 1) * c->dilation[d] - c->low[d];
	struct ir_value *in[] = {with_height(c, build_regrouped(c, c->x)),
		with_height(c, build_crossed(c, build_turned(c), groups))};
	const struct ir_attr attr[] = {ir_make_int(ctx, "height", c->rank == 2 ? c->out[0] : 1),
		ir_make_int(ctx, "width", c->out[c->rank - 1]), make_pair(c, "stride", c->base, 1),
		make_pair(c, "low", low, 0), make_pair(c, "dilation", c->dilation, 1),
		ir_make_int(ctx, "groups", groups)};
	return without_height(c, ir_build(&c->im->builder, OP_conv2d_data, in, 2, attr, 6));
}

static struct ir_value *
by_conv2d_filter(struct convolution *c)
{
	struct ir_context *ctx = c->im->module->ctx;
	struct ir_value *in[] = {with_height(c, build_swapped(c, c->x, 0, 1)),
		with_height(c, build_swapped(c, c->f, 0, 1))};
	const struct ir_attr attr[] = {ir_make_int(ctx, "height", c->rank == 2 ? c->out[0] : 1),
		ir_make_int(ctx, "width", c->out[c->rank - 1]),
		make_pair(c, "stride", c->dilation, 1), make_pair(c, "low", c->low, 0),
		make_pair(c, "dilation", c->stride, 1),
		ir_make_int(ctx, "groups", c->batch_groups)};
	struct ir_value *v = ir_build(&c->im->builder, OP_conv2d_filter, in, 2, attr, 6);
	return build_swapped(c, without_height(c, v), 0, 1);
}

/* Is a factor above 1 along a spatial dim of more than one element? */
static bool
spreads(const struct convolution *c, const int64_t *factor, const int64_t *size)
{
	for (int d = 0; d < c->rank; d++)
		if (factor[d] > 1 && size[d] > 1)
			return true;
	return false;
}

static int64_t
product(const int64_t *list, int n)
{
	int64_t x = 1;

	for (int i = 0; i < n && x < INT32_MAX; i++)
		x *= list[i];
	return x;
}

struct ir_value *
conv_by_op(struct convolution *c, bool *fits)
{
	int64_t perm[IR_MAX_RANK];

	*fits = c->rank >= 1 && c->rank <= 2 && ir_dtype_class(c->type) == IR_FLOAT &&
		!c->varies[1] && conv_lead(c, 0) + 4 + (c->batch_groups > 1) <= IR_MAX_RANK;
	if (!*fits)
		return NULL;
	if (product(c->kernel, c->rank) > product(c->out, c->rank) && c->groups == 1 &&
		!c->varies[0] && !spreads(c, c->base, c->image))
		return by_conv2d_filter(c);
	if (!spreads(c, c->stride, c->out) &&
		(spreads(c, c->base, c->image) || before_turned(c, perm)))
		return by_conv2d_data(c);
	return by_conv2d(c);
}
