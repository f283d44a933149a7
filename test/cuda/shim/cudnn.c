/* The part of cuDNN that libdopt_rt_cuda calls, as loops; nothing where cuDNN's headers are not. A
 * program that relies on more than it asked for fails: sizes must agree, and there is one algorithm
 * a kind, besides one that is faster and not deterministic, which must not be taken. */
#if __has_include(<cudnn.h>)
#include "runtime/half.h"

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE = 4096, FAST = 0, SURE = 1 };

struct cudnnTensorStruct {
	cudnnDataType_t type;
	int n, c, h, w;
};

struct cudnnFilterStruct {
	cudnnDataType_t type;
	int o, c, h, w;
};

struct cudnnConvolutionStruct {
	int pad[2], stride[2], dilation[2], groups;
	bool sums_f32, has_math;
};

struct cudnnContext {
	cudaStream_t stream;
};

#define NEW(p) ((*(p) = calloc(1, sizeof **(p))) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED)
#define DROP(p) (free(p), CUDNN_STATUS_SUCCESS)

cudnnStatus_t
cudnnCreate(cudnnHandle_t *h)
{
	return NEW(h);
}

cudnnStatus_t
cudnnDestroy(cudnnHandle_t h)
{
	return DROP(h);
}

cudnnStatus_t
cudnnSetStream(cudnnHandle_t h, cudaStream_t stream)
{
	h->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

const char *
cudnnGetErrorString(cudnnStatus_t status)
{
	return status == CUDNN_STATUS_SUCCESS ? "no error" : "an error of the shim";
}

cudnnStatus_t
cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *t)
{
	return NEW(t);
}

cudnnStatus_t
cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t t)
{
	return DROP(t);
}

cudnnStatus_t
cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *f)
{
	return NEW(f);
}

cudnnStatus_t
cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t f)
{
	return DROP(f);
}

cudnnStatus_t
cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *c)
{
	return NEW(c);
}

cudnnStatus_t
cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t c)
{
	return DROP(c);
}

cudnnStatus_t
cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t t, cudnnTensorFormat_t format,
	cudnnDataType_t type, int n, int c, int h, int w)
{
	*t = (struct cudnnTensorStruct){type, n, c, h, w};
	return format == CUDNN_TENSOR_NCHW ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t
cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t f, cudnnDataType_t type,
	cudnnTensorFormat_t format, int o, int c, int h, int w)
{
	*f = (struct cudnnFilterStruct){type, o, c, h, w};
	return format == CUDNN_TENSOR_NCHW ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t
cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t c, int pad_h, int pad_w, int stride_h,
	int stride_w, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
	cudnnDataType_t compute)
{
	*c = (struct cudnnConvolutionStruct){.pad = {pad_h, pad_w},
		.stride = {stride_h, stride_w},
		.dilation = {dilation_h, dilation_w},
		.groups = 1,
		.sums_f32 = compute == CUDNN_DATA_FLOAT};
	return mode == CUDNN_CROSS_CORRELATION ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t
cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups)
{
	c->groups = groups;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t c, cudnnMathType_t math)
{
	(void)math;
	c->has_math = true;
	return CUDNN_STATUS_SUCCESS;
}

static bool
is_side(int in, int kernel, int out, int pad, int stride, int dilation)
{
	return (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1 == out;
}

static bool
fits(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t f, cudnnConvolutionDescriptor_t c,
	cudnnTensorDescriptor_t y)
{
	return x->type == y->type && x->type == f->type && c->sums_f32 && c->has_math &&
	       x->n == y->n && y->c == f->o && x->c == f->c * c->groups && f->o % c->groups == 0 &&
	       is_side(x->h, f->h, y->h, c->pad[0], c->stride[0], c->dilation[0]) &&
	       is_side(x->w, f->w, y->w, c->pad[1], c->stride[1], c->dilation[1]);
}

#define ALGORITHMS(name, type)                                                                     \
	static cudnnStatus_t name(int most, int *n, type *row)                                     \
	{                                                                                          \
		*n = 2;                                                                            \
		if (most < *n)                                                                     \
			return CUDNN_STATUS_BAD_PARAM;                                             \
		memset(row, 0, 2 * sizeof *row);                                                   \
		row[0].algo = FAST;                                                                \
		row[0].determinism = CUDNN_NON_DETERMINISTIC;                                      \
		row[1].algo = SURE;                                                                \
		row[1].determinism = CUDNN_DETERMINISTIC;                                          \
		row[1].memory = WORKSPACE;                                                         \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}

ALGORITHMS(forward_algorithms, cudnnConvolutionFwdAlgoPerf_t)
ALGORITHMS(data_algorithms, cudnnConvolutionBwdDataAlgoPerf_t)
ALGORITHMS(filter_algorithms, cudnnConvolutionBwdFilterAlgoPerf_t)

cudnnStatus_t
cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t h, const cudnnTensorDescriptor_t x,
	const cudnnFilterDescriptor_t f, const cudnnConvolutionDescriptor_t c,
	const cudnnTensorDescriptor_t y, const int most, int *n, cudnnConvolutionFwdAlgoPerf_t *row)
{
	(void)h;
	return fits(x, f, c, y) ? forward_algorithms(most, n, row) : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t
cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t h, const cudnnFilterDescriptor_t f,
	const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t c,
	const cudnnTensorDescriptor_t x, const int most, int *n,
	cudnnConvolutionBwdDataAlgoPerf_t *row)
{
	(void)h;
	return fits(x, f, c, y) ? data_algorithms(most, n, row) : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t
cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t h, const cudnnTensorDescriptor_t x,
	const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t c,
	const cudnnFilterDescriptor_t f, const int most, int *n,
	cudnnConvolutionBwdFilterAlgoPerf_t *row)
{
	(void)h;
	return fits(x, f, c, y) ? filter_algorithms(most, n, row) : CUDNN_STATUS_BAD_PARAM;
}

static float
get(cudnnDataType_t type, const void *p, int64_t i)
{
	if (type == CUDNN_DATA_FLOAT)
		return ((const float *)p)[i];
	const uint16_t bits = ((const uint16_t *)p)[i];
	return type == CUDNN_DATA_HALF ? rt_f16_to_f32(bits) : rt_bf16_to_f32(bits);
}

static void
put(cudnnDataType_t type, void *p, int64_t i, float v)
{
	if (type == CUDNN_DATA_FLOAT)
		((float *)p)[i] = v;
	else
		((uint16_t *)p)[i] = type == CUDNN_DATA_HALF ? rt_f32_to_f16(v) : rt_f32_to_bf16(v);
}

/* The three tensors, and the sums of the one that is computed. */
struct tensors {
	const void *x, *f, *y;
	float *sum;
	char out;
};

static void
add_one(struct tensors *t, cudnnDataType_t type, int64_t x, int64_t f, int64_t y)
{
	if (t->out == 'x')
		t->sum[x] += get(type, t->f, f) * get(type, t->y, y);
	else if (t->out == 'f')
		t->sum[f] += get(type, t->x, x) * get(type, t->y, y);
	else
		t->sum[y] += get(type, t->x, x) * get(type, t->f, f);
}

/* All products of one image, result channel and place of a filter. */
static void
add_plane(struct tensors *t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t f,
	cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t y, const int at[5])
{
	const int n = at[0], o = at[1], ch = at[2], k = at[3], l = at[4];
	const int channel = o / (f->o / c->groups) * f->c + ch;

	for (int i = 0; i < y->h; i++)
		for (int j = 0; j < y->w; j++) {
			const int h = i * c->stride[0] + k * c->dilation[0] - c->pad[0];
			const int w = j * c->stride[1] + l * c->dilation[1] - c->pad[1];
			if (h < 0 || h >= x->h || w < 0 || w >= x->w)
				continue;
			add_one(t, x->type, (((int64_t)n * x->c + channel) * x->h + h) * x->w + w,
				(((int64_t)o * f->c + ch) * f->h + k) * f->w + l,
				(((int64_t)n * y->c + o) * y->h + i) * y->w + j);
		}
}

static cudnnStatus_t
convolve(struct tensors *t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t f,
	cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t y, void *to, int64_t size,
	const float *alpha, const float *beta, size_t workspace)
{
	int at[5];

	if (!fits(x, f, c, y) || *alpha != 1 || *beta != 0 || workspace != WORKSPACE)
		return CUDNN_STATUS_BAD_PARAM;
	t->sum = calloc((size_t)size, sizeof *t->sum);
	if (!t->sum)
		return CUDNN_STATUS_ALLOC_FAILED;
	for (at[0] = 0; at[0] < x->n; at[0]++)
		for (at[1] = 0; at[1] < f->o; at[1]++)
			for (at[2] = 0; at[2] < f->c; at[2]++)
				for (at[3] = 0; at[3] < f->h; at[3]++)
					for (at[4] = 0; at[4] < f->w; at[4]++)
						add_plane(t, x, f, c, y, at);
	for (int64_t i = 0; i < size; i++)
		put(x->type, to, i, t->sum[i]);
	free(t->sum);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnConvolutionForward(cudnnHandle_t h, const void *alpha, const cudnnTensorDescriptor_t x,
	const void *px, const cudnnFilterDescriptor_t f, const void *pf,
	const cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algorithm, void *space,
	size_t bytes, const void *beta, const cudnnTensorDescriptor_t y, void *py)
{
	struct tensors t = {.x = px, .f = pf, .out = 'y'};

	if (!h->stream || (int)algorithm != SURE || !space)
		return CUDNN_STATUS_BAD_PARAM;
	return convolve(&t, x, f, c, y, py, (int64_t)y->n * y->c * y->h * y->w, alpha, beta, bytes);
}

cudnnStatus_t
cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha, const cudnnFilterDescriptor_t f,
	const void *pf, const cudnnTensorDescriptor_t y, const void *py,
	const cudnnConvolutionDescriptor_t c, cudnnConvolutionBwdDataAlgo_t algorithm, void *space,
	size_t bytes, const void *beta, const cudnnTensorDescriptor_t x, void *px)
{
	struct tensors t = {.f = pf, .y = py, .out = 'x'};

	if (!h->stream || (int)algorithm != SURE || !space)
		return CUDNN_STATUS_BAD_PARAM;
	return convolve(&t, x, f, c, y, px, (int64_t)x->n * x->c * x->h * x->w, alpha, beta, bytes);
}

cudnnStatus_t
cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void *alpha, const cudnnTensorDescriptor_t x,
	const void *px, const cudnnTensorDescriptor_t y, const void *py,
	const cudnnConvolutionDescriptor_t c, cudnnConvolutionBwdFilterAlgo_t algorithm,
	void *space, size_t bytes, const void *beta, const cudnnFilterDescriptor_t f, void *pf)
{
	struct tensors t = {.x = px, .y = py, .out = 'f'};

	if (!h->stream || (int)algorithm != SURE || !space)
		return CUDNN_STATUS_BAD_PARAM;
	return convolve(&t, x, f, c, y, pf, (int64_t)f->o * f->c * f->h * f->w, alpha, beta, bytes);
}
#else
extern const char shim_has_no_cudnn;
const char shim_has_no_cudnn = 0;
#endif
