/* Convolutions by cuDNN: one description a row of the program's table, made by its first call. Only
 * algorithms that give the same bits each time are taken, and no more workspace than products have:
 * both use it in the one stream of computation. */
#include "runtime/cuda/cuda.h"
#include "runtime/rank.h"

#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>

/* Algorithms that cuDNN is asked for, best first: all it has. */
#define MOST_ALGORITHMS 16

struct prepared {
	bool ready;
	cudnnTensorDescriptor_t x, y;
	cudnnFilterDescriptor_t f;
	cudnnConvolutionDescriptor_t conv;
	int algorithm; /* of the enumeration that belongs to the kind */
	size_t workspace;
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
describe(const struct rt_cuda *d, const struct rt_cuda_conv *c, struct prepared *p, bool tf32)
{
	const struct rt_conv_shape *s = &c->shape;
	const cudnnDataType_t type = data_type(c->dtype);
	const cudnnMathType_t math = c->dtype != RT_f32 ? CUDNN_TENSOR_OP_MATH
				     : tf32             ? CUDNN_DEFAULT_MATH
							: CUDNN_FMA_MATH;

	check(d, cudnnCreateTensorDescriptor(&p->x), "images");
	check(d, cudnnCreateTensorDescriptor(&p->y), "results");
	check(d, cudnnCreateFilterDescriptor(&p->f), "filters");
	check(d, cudnnCreateConvolutionDescriptor(&p->conv), "a convolution");
	check(d,
		cudnnSetTensor4dDescriptor(
			p->x, CUDNN_TENSOR_NCHW, type, (int)s->n, (int)s->c, (int)s->h, (int)s->w),
		"images");
	check(d,
		cudnnSetTensor4dDescriptor(p->y, CUDNN_TENSOR_NCHW, type, (int)s->n, (int)s->o,
			(int)s->oh, (int)s->ow),
		"results");
	check(d,
		cudnnSetFilter4dDescriptor(p->f, type, CUDNN_TENSOR_NCHW, (int)s->o,
			(int)(s->c / s->groups), (int)s->kh, (int)s->kw),
		"filters");
	check(d,
		cudnnSetConvolution2dDescriptor(p->conv, (int)s->low[0], (int)s->low[1],
			(int)s->stride[0], (int)s->stride[1], (int)s->dilation[0],
			(int)s->dilation[1], CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
		"a convolution");
	check(d, cudnnSetConvolutionGroupCount(p->conv, (int)s->groups), "groups");
	check(d, cudnnSetConvolutionMathType(p->conv, math), "a convolution");
}

/* The first algorithm of a list that may be used becomes that of `p`; the rows of the three kinds
 * have the same members. */
#define TAKE_FIRST(p, list, n)                                                                     \
	for (int i = 0; i < (n) && !(p)->ready; i++) {                                             \
		(p)->ready = (list)[i].status == CUDNN_STATUS_SUCCESS &&                           \
			     (list)[i].determinism == CUDNN_DETERMINISTIC &&                       \
			     (list)[i].memory <= RT_CUDA_WORKSPACE;                                \
		(p)->algorithm = (int)(list)[i].algo;                                              \
		(p)->workspace = (list)[i].memory;                                                 \
	}

static void
choose(const struct rt_cuda *d, enum rt_conv_kind kind, cudnnHandle_t l, struct prepared *p)
{
	static const char what[] = "choosing how to convolve";
	cudnnConvolutionFwdAlgoPerf_t forward[MOST_ALGORITHMS];
	cudnnConvolutionBwdDataAlgoPerf_t data[MOST_ALGORITHMS];
	cudnnConvolutionBwdFilterAlgoPerf_t filter[MOST_ALGORITHMS];
	int n = 0;

	switch (kind) {
	case RT_CONV_FORWARD:
		check(d,
			cudnnGetConvolutionForwardAlgorithm_v7(
				l, p->x, p->f, p->conv, p->y, MOST_ALGORITHMS, &n, forward),
			what);
		TAKE_FIRST(p, forward, n)
		break;
	case RT_CONV_DATA:
		check(d,
			cudnnGetConvolutionBackwardDataAlgorithm_v7(
				l, p->f, p->y, p->conv, p->x, MOST_ALGORITHMS, &n, data),
			what);
		TAKE_FIRST(p, data, n)
		break;
	case RT_CONV_FILTER:
		check(d,
			cudnnGetConvolutionBackwardFilterAlgorithm_v7(
				l, p->x, p->y, p->conv, p->f, MOST_ALGORITHMS, &n, filter),
			what);
		TAKE_FIRST(p, filter, n)
		break;
	}
	if (!p->ready)
		rt_cuda_fatal(d, what, "cuDNN knows no deterministic way for this shape");
}

static struct rt_cuda_convs *
open_library(const struct rt_cuda *d)
{
	struct rt_cuda_convs *l = calloc(1, sizeof *l);

	if (l)
		l->prepared = calloc((size_t)d->target->cuda->nconvs, sizeof *l->prepared);
	if (!l || !l->prepared)
		rt_cuda_fatal(d, "cuDNN", "out of memory");
	check(d, cudnnCreate(&l->library), "cuDNN cannot be started");
	check(d, cudnnSetStream(l->library, d->compute), "cuDNN");
	return l;
}

void
rt_cuda_conv(struct rt_ctx *ctx, int32_t conv, const void *a, const void *b, void *out)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	const struct rt_cuda_conv *c = &d->target->cuda->convs[conv];
	const float one = 1, zero = 0;

	if (!d->convs)
		d->convs = open_library(d);
	const cudnnHandle_t l = d->convs->library;
	struct prepared *p = &d->convs->prepared[conv];
	if (!p->ready) {
		describe(d, c, p, ctx->rank->options->tf32);
		choose(d, c->shape.kind, l, p);
	}
	switch (c->shape.kind) {
	case RT_CONV_FORWARD:
		check(d,
			cudnnConvolutionForward(l, &one, p->x, a, p->f, b, p->conv,
				(cudnnConvolutionFwdAlgo_t)p->algorithm, d->workspace, p->workspace,
				&zero, p->y, out),
			"a convolution");
		break;
	case RT_CONV_DATA:
		check(d,
			cudnnConvolutionBackwardData(l, &one, p->f, b, p->y, a, p->conv,
				(cudnnConvolutionBwdDataAlgo_t)p->algorithm, d->workspace,
				p->workspace, &zero, p->x, out),
			"the gradient of a convolution by its images");
		break;
	case RT_CONV_FILTER:
		check(d,
			cudnnConvolutionBackwardFilter(l, &one, p->x, a, p->y, b, p->conv,
				(cudnnConvolutionBwdFilterAlgo_t)p->algorithm, d->workspace,
				p->workspace, &zero, p->f, out),
			"the gradient of a convolution by its filters");
		break;
	}
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
