/*
 * Which ops of a kernel are convolutions that a library computes? By op name: conv2d and its two
 * gradients, in f32, f16 or bf16, if the local part is a convolution by itself: no computed index
 * is split, and no position depends on where a slice begins.
 */
#include "ir/loops/build.h"
#include "ir/ops/row.h"

/* Channels that a library's layouts are in multiples of. */
#define CHANNELS 16

/* The two entries of a list of the op, or one for both; `otherwise` if it is absent. */
static void
pair(const struct ir_op *op, const char *key, int64_t otherwise, int64_t out[2])
{
	const int n = ir_attr_ints(op, key, out, 2);

	if (n < 1)
		out[0] = otherwise;
	if (n < 2)
		out[1] = out[0];
}

/* Does an expression use an index whose first position differs between places? */
static bool
is_shifted(const struct scheme_op *o)
{
	for (int i = 0; i < o->f.nindices; i++) {
		if (!o->offset[i].type)
			continue;
		if (o->f.at[i])
			return true;
		for (int k = 0; k < o->f.nindices; k++)
			if (o->f.at[k] && expr_uses_index(o->f.at[k], i))
				return true;
	}
	return false;
}

/* Loads of the body, without constants, which are not in memory. */
#define BOTH 3u

/* Does a library accept the padding after the image? It follows from the sizes.
 */
static bool
fits_padding(
	int64_t size, int64_t kernel, int64_t out, int64_t stride, int64_t low, int64_t dilation)
{
	const int64_t reach = (kernel - 1) * dilation + 1;
	const int64_t high = (out - 1) * stride + reach - size - low;

	return low >= 0 && low < reach && high > -stride && high < reach && stride > 0 &&
	       dilation > 0 && (size - reach + low + high) / stride + 1 == out;
}

/* Element types of the libraries; f16 and bf16 are summed in f32. */
static bool
is_narrow(uint8_t t)
{
	return t == IR_f32 || t == IR_f16 || t == IR_bf16;
}

/* All dims before channels, height and width are one. */
static int64_t
images(const struct scheme_tensor *t)
{
	int64_t n = 1;

	for (int d = 0; d < t->rank - 3; d++)
		n *= t->dim[d];
	return n;
}

/* Channels, height and width of images, or of filters. */
static int64_t
image_dim(const struct ir_op *op, const struct scheme_tensor *t, int which)
{
	return t->dim[t->rank + row_image_dim(op, which - 3)];
}

bool
scheme_find_conv(const struct scheme *s, const struct scheme_op *o, struct rt_conv_shape *c)
{
	const struct scheme_tensor *first = &s->tensor[o->in[0]], *second = &s->tensor[o->in[1]],
				   *out = &s->tensor[o->out], *x, *f, *y;
	const struct ir_op *op = o->op;

	if (op->code == OP_conv2d) {
		c->kind = RT_CONV_FORWARD;
		x = first, f = second, y = out;
	} else if (op->code == OP_conv2d_data) {
		c->kind = RT_CONV_DATA;
		x = out, f = second, y = first;
	} else if (op->code == OP_conv2d_filter) {
		c->kind = RT_CONV_FILTER;
		x = first, f = out, y = second;
	} else {
		return false;
	}
	c->channels_last = ir_attr_int(op, "channels_last", 0);
	c->n = images(x), c->c = image_dim(op, x, 0), c->h = image_dim(op, x, 1);
	c->w = image_dim(op, x, 2);
	c->o = f->dim[0], c->kh = image_dim(op, f, 1), c->kw = image_dim(op, f, 2);
	c->oh = image_dim(op, y, 1), c->ow = image_dim(op, y, 2);
	c->groups = ir_attr_int(op, "groups", 1);
	pair(op, "stride", 1, c->stride);
	pair(op, "low", 0, c->low);
	pair(op, "dilation", 1, c->dilation);
	return is_narrow(o->f.dtype) && first->dtype == o->f.dtype && second->dtype == o->f.dtype &&
	       scheme_loads(o->f.body) == BOTH && !first->constant && !second->constant &&
	       !o->absent && !is_shifted(o) && images(y) == c->n && image_dim(op, y, 0) == c->o &&
	       c->c == image_dim(op, f, 0) * c->groups && c->o % c->groups == 0 &&
	       fits_padding(c->h, c->kh, c->oh, c->stride[0], c->low[0], c->dilation[0]) &&
	       fits_padding(c->w, c->kw, c->ow, c->stride[1], c->low[1], c->dilation[1]);
}

static int64_t
blocked(int64_t channels)
{
	return (channels + CHANNELS - 1) / CHANNELS * CHANNELS;
}

int64_t
scheme_conv_scratch(const struct rt_conv_shape *c, enum ir_dtype t)
{
	const int64_t x = c->n * blocked(c->c) * c->h * c->w,
		      y = c->n * blocked(c->o) * c->oh * c->ow;
	const int64_t f = blocked(c->o) * blocked(c->c / c->groups) * c->kh * c->kw;

	/* A library also needs a workspace, of the size of a filter or of some images. */
	const int64_t bytes = 4 * (x + y + 2 * f + (x + y) / c->n) + 8 * SCHEME_ALIGN;
	const int64_t widened = t == IR_f32 ? 0 : rt_conv_half_room(c);
	return (bytes + SCHEME_ALIGN - 1) / SCHEME_ALIGN * SCHEME_ALIGN + widened;
}
