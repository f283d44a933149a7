/*
 * Convolutions by the library, where it supports them: its padding is the same on both sides,
 * except that padding that no window reaches is ignored. Others, and all in a build of dopt without
 * cuDNN, are kernels of loops.
 *
 * The library's algorithms compute in a workspace. One of up to RT_CUDA_WORKSPACE is shared with
 * matrix products; a larger one is part of the scratch of the op: it is in the arena while the op
 * runs, and so in the predicted memory. Here there is no GPU to ask how much they need. What the
 * deterministic algorithms need follows from the shape; the formulas agree with what cuDNN 9
 * reports on an H100 (test/lower/cuda/Inputs/cudnn_algorithms.txt):
 *
 *     implicit products    none, or copies of all three tensors with the channels last, padded to
 *                          16 bytes for tensor cores, unless they are so in memory, and up to
 *                          16.8 MB for sums that are split
 *     Winograd, F(4,3)     both images as tiles of 6 x 6 for every 4 x 4 results, and the filters
 *                          as 6 x 6; 3 x 3 filters without strides. cuDNN prefers it for the
 *                          gradient by the filters in f32, and only that is counted; in 16 bits
 *                          with the channels last tensor cores need none
 *     FFT                  up to 56 times the images, and seldom preferred: not counted
 */
#include "lower/cuda/text.h"

#include "dopt_config.h"
#include "ir/base/vec.h"
#include "runtime/cuda/candidate.h"

#include <inttypes.h>
#include <limits.h>

/* Does the result have the same size on this side if the padding before it is also put after it? */
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

enum {
	CHANNEL_BYTES = 16,     /* bytes of channels that tensor cores read at once */
	SPLIT_BYTES = 24 << 20, /* for split sums: 1.5 times what was observed */
	WINOGRAD_FILTER = 3,    /* F(4,3): filters, results and tiles of a side */
	WINOGRAD_RESULT = 4,
	WINOGRAD_TILE = WINOGRAD_RESULT + WINOGRAD_FILTER - 1,
};

/* Copies of the three tensors with the channels last. Gradients of filters are summed in f32. */
static uint64_t
copies_bytes(const struct rt_cuda_conv *v)
{
	const struct rt_conv_shape *c = &v->shape;
	const int64_t bytes = v->dtype == RT_f32 ? 4 : 2, lanes = CHANNEL_BYTES / bytes;
	const int64_t in = (c->c + lanes - 1) / lanes * lanes;
	const int64_t in_group = (c->c / c->groups + lanes - 1) / lanes * lanes;
	const int64_t out = (c->o + lanes - 1) / lanes * lanes;

	if (c->channels_last && in == c->c && in_group == c->c / c->groups && out == c->o)
		return SPLIT_BYTES;
	return (uint64_t)((c->n * in * c->h * c->w + c->n * out * c->oh * c->ow) * bytes +
			  out * in_group * c->kh * c->kw * 4) +
	       SPLIT_BYTES;
}

/* In f32 whatever the type; 0: the algorithm does not support such shapes. */
static uint64_t
winograd_bytes(const struct rt_cuda_conv *v)
{
	const struct rt_conv_shape *c = &v->shape;
	const int64_t rows = (c->oh + WINOGRAD_RESULT - 1) / WINOGRAD_RESULT;
	const int64_t columns = (c->ow + WINOGRAD_RESULT - 1) / WINOGRAD_RESULT;

	if ((c->channels_last && v->dtype != RT_f32) || c->kind != RT_CONV_FILTER ||
		c->kh != WINOGRAD_FILTER || c->kw != WINOGRAD_FILTER || c->groups != 1 ||
		c->stride[0] * c->stride[1] * c->dilation[0] * c->dilation[1] != 1)
		return 0;
	return (uint64_t)(WINOGRAD_TILE * WINOGRAD_TILE * 4) *
	       (uint64_t)(rows * columns * c->n * (c->c + c->o) + c->c * c->o);
}

uint64_t
cuda_conv_workspace(const struct rt_cuda_conv *c, const struct storage_workspace *limits)
{
	const uint64_t need[] = {copies_bytes(c), winograd_bytes(c)};
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof need / sizeof *need; i++)
		if (need[i] <= limits->most && need[i] > bytes)
			bytes = need[i];
	/* An algorithm whose size these formulas overestimate may need less. */
	if (!bytes)
		bytes = limits->most;
	return bytes > limits->least ? bytes : limits->least;
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
	struct rt_cuda_conv row = {(enum rt_dtype)o->f.dtype, *c, 0, 0, {0}};
	const uint64_t workspace = cuda_conv_workspace(&row, &src->target->workspace);
	char key[RT_CUDA_KEY];

	row.workspace = (size_t)workspace;
	for (int tf32 = 0; tf32 < 2; tf32++) {
		rt_cuda_conv_key(key, &row, tf32);
		row.candidate[tf32] = cuda_candidate(src, key);
	}
	char *text = TEXT(src,
		"RT_%s, {.kind = %s, .n = %" PRId64 ", .c = %" PRId64 ", .h = %" PRId64
		", .w = %" PRId64 ", .o = %" PRId64 ", .kh = %" PRId64 ", .kw = %" PRId64
		",\n\t\t.oh = %" PRId64 ", .ow = %" PRId64 ", .groups = %" PRId64
		", .stride = {%" PRId64 ", %" PRId64 "}, .low = {%" PRId64 ", %" PRId64
		"}, .dilation = {%" PRId64 ", %" PRId64 "}%s},\n\t\t%" PRIu64 ", %" PRIu64
		", {%d, %d}",
		ir_dtype_name((enum ir_dtype)o->f.dtype), kind[c->kind], c->n, c->c, c->h, c->w,
		c->o, c->kh, c->kw, c->oh, c->ow, c->groups, c->stride[0], c->stride[1], c->low[0],
		c->low[1], c->dilation[0], c->dilation[1],
		c->channels_last ? ", .channels_last = true" : "", workspace,
		src->target->workspace.most, row.candidate[0], row.candidate[1]);
	LIST_PUSH(src, src->conv, src->nconvs, text);
	fprintf(t->host, "\trt_cuda_conv(ctx, %d, %s, %s, %s, ", src->nconvs - 1,
		cuda_host_pointer(t, o->in[0]), cuda_host_pointer(t, o->in[1]),
		cuda_host_pointer(t, o->out));
	if (workspace > RT_CUDA_WORKSPACE) {
		fprintf(t->host, "scratch + %" PRId64 ");\n", t->scratch);
		cuda_scratch(t, "unsigned char", "workspace", (int64_t)workspace);
	} else {
		fprintf(t->host, "NULL);\n");
	}
	return true;
}
