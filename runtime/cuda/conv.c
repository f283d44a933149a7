/* Convolutions by cuDNN: one description per row of the program's table, made by its first call.
 * Only deterministic algorithms are used, and only those that need no more workspace than the row
 * has. With TF32 or 16-bit floats those for tensor cores come first and those without (which need
 * less) are used if none of these fits. */
#include "runtime/cuda/candidate.h"
#include "runtime/cuda/cuda.h"
#include "runtime/rank.h"

#include <cudnn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Most algorithms requested from cuDNN, best first: all that it has. */
#define MOST_ALGORITHMS 16

struct prepared {
	bool ready, tf32;
	cudnnTensorDescriptor_t x, y;
	cudnnFilterDescriptor_t f;
	cudnnConvolutionDescriptor_t conv;
	int algorithm; /* of the enumeration that belongs to the kind */
	size_t workspace;
	int candidate,
		found; /* of the algorithms that fit: the one to choose; how many there are */
	/* the last call */
	const void *a, *b;
	void *out, *room;
};

struct rt_cuda_convs {
	cudnnHandle_t library;
	struct prepared *prepared; /* [nconvs] */
};

static void
check(const struct rt_cuda *d, cudnnStatus_t status, const char *what)
{
	if (status != CUDNN_STATUS_SUCCESS)
		rt_cuda_fatal(d, what, cudnnGetErrorString(status));
}

static cudnnDataType_t
data_type(enum rt_dtype t)
{
	return t == RT_f16    ? CUDNN_DATA_HALF
	       : t == RT_bf16 ? CUDNN_DATA_BFLOAT16
			      : CUDNN_DATA_FLOAT;
}

static void
describe(const struct rt_cuda *d, const struct rt_cuda_conv *c, struct prepared *p)
{
	const struct rt_conv_shape *s = &c->shape;
	const cudnnDataType_t type = data_type(c->dtype);
	const cudnnTensorFormat_t format = s->channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;

	check(d, cudnnCreateTensorDescriptor(&p->x), "images");
	check(d, cudnnCreateTensorDescriptor(&p->y), "results");
	check(d, cudnnCreateFilterDescriptor(&p->f), "filters");
	check(d, cudnnCreateConvolutionDescriptor(&p->conv), "a convolution");
	check(d,
		cudnnSetTensor4dDescriptor(
			p->x, format, type, (int)s->n, (int)s->c, (int)s->h, (int)s->w),
		"images");
	check(d,
		cudnnSetTensor4dDescriptor(
			p->y, format, type, (int)s->n, (int)s->o, (int)s->oh, (int)s->ow),
		"results");
	check(d,
		cudnnSetFilter4dDescriptor(p->f, type, format, (int)s->o, (int)(s->c / s->groups),
			(int)s->kh, (int)s->kw),
		"filters");
	check(d,
		cudnnSetConvolution2dDescriptor(p->conv, (int)s->low[0], (int)s->low[1],
			(int)s->stride[0], (int)s->stride[1], (int)s->dilation[0],
			(int)s->dilation[1], CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
		"a convolution");
	check(d, cudnnSetConvolutionGroupCount(p->conv, (int)s->groups), "groups");
}

/* An algorithm of the list, of any kind. Its workspace depends on the math type: there may be one
 * row for each. */
struct algorithm {
	int algorithm;
	cudnnMathType_t math;
	size_t workspace;
};

/* The usable ones of a list; the rows of the three kinds have the same members. */
#define TAKE(to, nto, list, n)                                                                     \
	for (int i = 0; i < (n); i++)                                                              \
		if ((list)[i].status == CUDNN_STATUS_SUCCESS &&                                    \
			(list)[i].determinism == CUDNN_DETERMINISTIC)                              \
			(to)[(nto)++] = (struct algorithm){                                        \
				(int)(list)[i].algo, (list)[i].mathType, (list)[i].memory};

/* cuDNN's deterministic algorithms for the kind, best first. Returns their number. */
static int
ask(const struct rt_cuda *d, enum rt_conv_kind kind, cudnnHandle_t l, const struct prepared *p,
	struct algorithm *to)
{
	cudnnConvolutionFwdAlgoPerf_t forward[MOST_ALGORITHMS];
	cudnnConvolutionBwdDataAlgoPerf_t data[MOST_ALGORITHMS];
	cudnnConvolutionBwdFilterAlgoPerf_t filter[MOST_ALGORITHMS];
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
	int n = 0, nto = 0;

	switch (kind) {
	case RT_CONV_FORWARD:
		status = cudnnGetConvolutionForwardAlgorithm_v7(
			l, p->x, p->f, p->conv, p->y, MOST_ALGORITHMS, &n, forward);
		TAKE(to, nto, forward, n)
		break;
	case RT_CONV_DATA:
		status = cudnnGetConvolutionBackwardDataAlgorithm_v7(
			l, p->f, p->y, p->conv, p->x, MOST_ALGORITHMS, &n, data);
		TAKE(to, nto, data, n)
		break;
	case RT_CONV_FILTER:
		status = cudnnGetConvolutionBackwardFilterAlgorithm_v7(
			l, p->x, p->y, p->conv, p->f, MOST_ALGORITHMS, &n, filter);
		TAKE(to, nto, filter, n)
		break;
	}
	if (status != CUDNN_STATUS_NOT_SUPPORTED)
		check(d, status, "choosing an algorithm for a convolution");
	return status == CUDNN_STATUS_SUCCESS ? nto : 0;
}

/* Ends the program: no algorithm fits; `least` is the smallest workspace that one needs (0: there
 * is none). */
static _Noreturn void
refuse(const struct rt_cuda *d, const struct rt_cuda_conv *c, size_t least)
{
	static const char *const kind[] = {[RT_CONV_FORWARD] = "the convolution",
		[RT_CONV_DATA] = "the gradient with respect to the images of the convolution",
		[RT_CONV_FILTER] = "the gradient with respect to the filters of the convolution"};
	const struct rt_conv_shape *s = &c->shape;
	char what[256], why[256], option[64];

	snprintf(what, sizeof what,
		"%s of %s[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "] with filters [%" PRId64
		",%" PRId64 ",%" PRId64 ",%" PRId64 "], strides %" PRId64 " and %" PRId64,
		kind[s->kind], rt_dtype_info(c->dtype)->name, s->n, s->c, s->h, s->w, s->o,
		s->c / s->groups, s->kh, s->kw, s->stride[0], s->stride[1]);
	/* A larger limit helps only if the limit determined the workspace. */
	const size_t most = c->most > least ? c->most : least;
	if (c->workspace < c->most)
		snprintf(option, sizeof option, "%zu..%zu", least, most);
	else
		snprintf(option, sizeof option, "%zu", least);
	if (least)
		snprintf(why, sizeof why,
			"cuDNN's deterministic algorithms need a workspace of at least %zu "
			"bytes, but it has %zu; build the program with dopt -workspace=%s",
			least, c->workspace, option);
	else
		snprintf(why, sizeof why, "cuDNN has no deterministic algorithm for it");
	rt_cuda_fatal(d, what, why);
}

/* Stores the candidate of those algorithms that fit in `p`; the first if there are fewer. */
static void
choose(const struct rt_cuda *d, const struct rt_cuda_conv *c, cudnnHandle_t l, struct prepared *p,
	bool tf32)
{
	const cudnnMathType_t math[] = {c->dtype != RT_f32 ? CUDNN_TENSOR_OP_MATH
					: tf32             ? CUDNN_DEFAULT_MATH
							   : CUDNN_FMA_MATH,
		CUDNN_FMA_MATH};
	size_t least = 0;

	for (int m = 0; m < 2; m++) {
		struct algorithm list[MOST_ALGORITHMS];
		check(d, cudnnSetConvolutionMathType(p->conv, math[m]), "a convolution");
		const int n = ask(d, c->shape.kind, l, p, list);
		p->found = 0;
		for (int i = 0; i < n; i++) {
			if (list[i].workspace <= c->workspace)
				list[p->found++] = list[i];
			else if (!least || list[i].workspace < least)
				least = list[i].workspace;
		}
		if (!p->found)
			continue;
		const struct algorithm *best = &list[p->candidate < p->found ? p->candidate : 0];
		/* FMA_MATH stays whatever the row says: DEFAULT_MATH allows TF32 */
		if (math[m] != CUDNN_FMA_MATH)
			check(d, cudnnSetConvolutionMathType(p->conv, best->math), "a convolution");
		p->algorithm = best->algorithm;
		p->workspace = best->workspace;
		p->ready = true;
		return;
	}
	refuse(d, c, least);
}

static struct rt_cuda_convs *
open_library(const struct rt_cuda *d)
{
	struct rt_cuda_convs *l = calloc(1, sizeof *l);

	if (l)
		l->prepared = calloc((size_t)d->target->cuda->nconvs, sizeof *l->prepared);
	if (!l || !l->prepared)
		rt_cuda_fatal(d, "cuDNN", "out of memory");
	check(d, cudnnCreate(&l->library), "cannot initialize cuDNN");
	check(d, cudnnSetStream(l->library, d->compute), "cuDNN");
	return l;
}

static void
run(const struct rt_cuda_conv *c, const struct rt_cuda *d, const struct prepared *p)
{
	const cudnnHandle_t l = d->convs->library;
	const float one = 1, zero = 0;

	switch (c->shape.kind) {
	case RT_CONV_FORWARD:
		check(d,
			cudnnConvolutionForward(l, &one, p->x, p->a, p->f, p->b, p->conv,
				(cudnnConvolutionFwdAlgo_t)p->algorithm, p->room, p->workspace,
				&zero, p->y, p->out),
			"a convolution");
		break;
	case RT_CONV_DATA:
		check(d,
			cudnnConvolutionBackwardData(l, &one, p->f, p->b, p->y, p->a, p->conv,
				(cudnnConvolutionBwdDataAlgo_t)p->algorithm, p->room, p->workspace,
				&zero, p->x, p->out),
			"the gradient of a convolution with respect to its images");
		break;
	case RT_CONV_FILTER:
		check(d,
			cudnnConvolutionBackwardFilter(l, &one, p->x, p->a, p->y, p->b, p->conv,
				(cudnnConvolutionBwdFilterAlgo_t)p->algorithm, p->room,
				p->workspace, &zero, p->f, p->out),
			"the gradient of a convolution with respect to its filters");
		break;
	}
}

void
rt_cuda_conv(
	struct rt_ctx *ctx, int32_t conv, const void *a, const void *b, void *out, void *workspace)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	const struct rt_cuda_conv *c = &d->target->cuda->convs[conv];

	if (!d->convs)
		d->convs = open_library(d);
	struct prepared *p = &d->convs->prepared[conv];
	p->a = a;
	p->b = b;
	p->out = out;
	p->room = workspace ? workspace : d->workspace;
	if (!p->ready) {
		describe(d, c, p);
		p->tf32 = ctx->rank->options->tf32;
		p->candidate = c->candidate[rt_cuda_in_tf32(c->dtype, p->tf32)];
		choose(d, c, d->convs->library, p, p->tf32);
	}
	run(c, d, p);
}

bool
rt_cuda_conv_again(struct rt_cuda *d, int32_t conv, int32_t candidate)
{
	struct prepared *p = d->convs ? &d->convs->prepared[conv] : NULL;
	const struct rt_cuda_conv *c = &d->target->cuda->convs[conv];

	if (!p || !p->ready)
		return false;
	if (candidate != p->candidate) {
		p->candidate = candidate;
		choose(d, c, d->convs->library, p, p->tf32);
	}
	run(c, d, p);
	return candidate < p->found;
}

void
rt_cuda_close_convs(struct rt_cuda *d)
{
	if (!d->convs)
		return;
	for (int i = 0; i < d->target->cuda->nconvs; i++) {
		struct prepared *p = &d->convs->prepared[i];
		if (!p->ready)
			continue;
		cudnnDestroyTensorDescriptor(p->x);
		cudnnDestroyTensorDescriptor(p->y);
		cudnnDestroyFilterDescriptor(p->f);
		cudnnDestroyConvolutionDescriptor(p->conv);
	}
	cudnnDestroy(d->convs->library);
	free(d->convs->prepared);
	free(d->convs);
	d->convs = NULL;
}
