/*
 * Convolutions of the library, where it has them: padding is the same on both sides there, up to
 * what no window reaches. Others are kernels of loops, and so is all where dopt was built without
 * cuDNN.
 */
#include "lower/cuda_text.h"

#include "dopt_config.h"

#include <inttypes.h>
#include <limits.h>
#include <talloc.h>

/* Is a side of the result as long with the padding before it also behind it? */
static bool
is_symmetric(
	int64_t size, int64_t kernel, int64_t out, int64_t stride, int64_t low, int64_t dilation)
{
	return (size + 2 * low - dilation * (kernel - 1) - 1) / stride + 1 == out;
}

/* The library counts elements in int. */
static bool
is_countable(const struct rt_conv_shape *c)
{
	return c->n * c->c * c->h * c->w <= INT_MAX && c->n * c->o * c->oh * c->ow <= INT_MAX &&
	       c->o * (c->c / c->groups) * c->kh * c->kw <= INT_MAX;
}

bool
cuda_conv(struct cuda_text *t)
{
	static const char *const kind[] = {[RT_CONV_FORWARD] = "RT_CONV_FORWARD",
		[RT_CONV_DATA] = "RT_CONV_DATA",
		[RT_CONV_FILTER] = "RT_CONV_FILTER"};
	struct cuda_sources *src = t->src;
	const struct scheme_op *o = &t->s->op[t->g->op[0]];
	const struct rt_conv_shape *c = &t->g->conv;

	if (!*DOPT_CUDNN_LIBS || !t->g->library || !is_countable(c) ||
		!is_symmetric(c->h, c->kh, c->oh, c->stride[0], c->low[0], c->dilation[0]) ||
		!is_symmetric(c->w, c->kw, c->ow, c->stride[1], c->low[1], c->dilation[1]))
		return false;
	src->conv = talloc_realloc(src, src->conv, char *, (size_t)src->nconvs + 1);
	if (!src->conv)
		out_of_memory();
	src->conv[src->nconvs] = talloc_asprintf(src,
		"RT_%s, {.kind = %s, .n = %" PRId64 ", .c = %" PRId64 ", .h = %" PRId64
		", .w = %" PRId64 ", .o = %" PRId64 ", .kh = %" PRId64 ", .kw = %" PRId64
		",\n\t\t.oh = %" PRId64 ", .ow = %" PRId64 ", .groups = %" PRId64
		", .stride = {%" PRId64 ", %" PRId64 "}, .low = {%" PRId64 ", %" PRId64
		"}, .dilation = {%" PRId64 ", %" PRId64 "}}",
		ir_dtype_name((enum ir_dtype)o->f.dtype), kind[c->kind], c->n, c->c, c->h, c->w,
		c->o, c->kh, c->kw, c->oh, c->ow, c->groups, c->stride[0], c->stride[1], c->low[0],
		c->low[1], c->dilation[0], c->dilation[1]);
	fprintf(t->host, "\trt_cuda_conv(ctx, %d, %s, %s, %s);\n", src->nconvs++,
		cuda_host_pointer(t, o->in[0]), cuda_host_pointer(t, o->in[1]),
		cuda_host_pointer(t, o->out));
	return true;
}
