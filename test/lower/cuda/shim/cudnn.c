/* The part of cuDNN that libdopt_rt_cuda calls, as loops; empty without cuDNN's headers. A program
 * that relies on more than it requested fails: sizes must agree, and the workspace is overwritten.
 * Each kind has an algorithm that is faster and not deterministic, which must not be used, and one
 * that needs a workspace: a little with FMA_MATH, copies of the three tensors with TENSOR_OP_MATH
 * unless their channels are last, which is what DEFAULT_MATH becomes; a run has the math type of its row. With SHIM_FAST=0 those
 * without FMA_MATH are the faster ones, with SHIM_FAST=1 those with it.
 *
 * With SHIM_CUDNN_ALGORITHMS=FILE, convolutions that were queried from a real cuDNN have its
 * algorithms (test/lower/cuda/Inputs/cudnn_algorithms.txt), and are not computed. */
#if __has_include(<cudnn.h>)
#include "runtime/kernel/half.h"
#include "streams.h"

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKSPACE = 4096, FAST = 0, SURE = 1 };
enum { FORWARD, DATA, FILTER }; /* kinds, in the order of the lines of the file */
enum { ROWS = 8, NAME = 128, LINE = 1024 };

struct cudnnTensorStruct {
	cudnnDataType_t type;
	int n, c, h, w;
	bool last; /* channels */
};

struct cudnnFilterStruct {
	cudnnDataType_t type;
	int o, c, h, w;
	bool last;
};

struct cudnnConvolutionStruct {
	int pad[2], stride[2], dilation[2], groups;
	bool sums_f32, has_math;
	cudnnMathType_t math;
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
	*t = (struct cudnnTensorStruct){type, n, c, h, w, format == CUDNN_TENSOR_NHWC};
	return t->last || format == CUDNN_TENSOR_NCHW ? CUDNN_STATUS_SUCCESS
						      : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t
cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t f, cudnnDataType_t type,
	cudnnTensorFormat_t format, int o, int c, int h, int w)
{
	*f = (struct cudnnFilterStruct){type, o, c, h, w, format == CUDNN_TENSOR_NHWC};
	return f->last || format == CUDNN_TENSOR_NCHW ? CUDNN_STATUS_SUCCESS
						      : CUDNN_STATUS_NOT_SUPPORTED;
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
	c->math = math;
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
	return x->type == y->type && x->type == f->type && x->last == y->last &&
	       x->last == f->last && c->sums_f32 && c->has_math && x->n == y->n && y->c == f->o &&
	       x->c == f->c * c->groups && f->o % c->groups == 0 &&
	       is_side(x->h, f->h, y->h, c->pad[0], c->stride[0], c->dilation[0]) &&
	       is_side(x->w, f->w, y->w, c->pad[1], c->stride[1], c->dilation[1]);
}

struct row {
	int algorithm;
	cudnnStatus_t status;
	bool deterministic;
	size_t memory;
	cudnnMathType_t math;
};

static size_t
bytes_of(cudnnDataType_t type, int64_t elements)
{
	return (size_t)elements * (type == CUDNN_DATA_FLOAT ? 4 : 2);
}

/* "0: [a1 st0 det1 60.8MB] ...". */
static int
read_rows(const char *line, struct row *row)
{
	int n = 0, status, deterministic;
	double megabytes;

	for (const char *p = line; n < ROWS && (p = strchr(p, '[')) != NULL; p++, n++) {
		if (sscanf(p, "[a%d st%d det%d %lfMB]", &row[n].algorithm, &status, &deterministic,
			    &megabytes) != 4)
			return 0;
		row[n].status = (cudnnStatus_t)status;
		row[n].deterministic = deterministic;
		row[n].memory = (size_t)(megabytes * 1e6);
	}
	return n;
}

/* The file's entry for a convolution of that kind; 0 rows: none. */
static int
known_rows(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t f, cudnnConvolutionDescriptor_t c,
	int kind, struct row *row)
{
	const char *path = getenv("SHIM_CUDNN_ALGORITHMS");
	FILE *file = path && !x->last ? fopen(path, "r") : NULL;
	char name[NAME], line[LINE];
	int n = 0;

	snprintf(name, sizeof name, "conv %dx%dx%dx%d o%d k%d s%d %s\n", x->n, x->c, x->h, x->w,
		f->o, f->h, c->stride[0], c->math == CUDNN_FMA_MATH ? "FMA" : "DEFAULT");
	while (file && !n && fgets(line, sizeof line, file)) {
		if (strcmp(line, name) != 0)
			continue;
		for (int k = 0; k <= kind && fgets(line, sizeof line, file); k++)
			n = k == kind ? read_rows(line, row) : 0;
	}
	if (file)
		fclose(file);
	return n;
}

/* The algorithms of a convolution of that kind, best first. */
static int
rows_of(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t f, cudnnConvolutionDescriptor_t c,
	cudnnTensorDescriptor_t y, int kind, struct row *row)
{
	const int n = known_rows(x, f, c, kind, row);
	const size_t copies =
		x->last ? 0
			: bytes_of(x->type, (int64_t)x->n * x->c * x->h * x->w) +
				  bytes_of(x->type, (int64_t)y->n * y->c * y->h * y->w) +
				  bytes_of(x->type, (int64_t)f->o * f->c * f->h * f->w);

	for (int i = 0; i < n; i++)
		row[i].math = c->math; /* not in the file */
	if (n)
		return n;
	row[0] = (struct row){FAST, CUDNN_STATUS_SUCCESS, false, 0, c->math};
	row[1] = (struct row){
		SURE, CUDNN_STATUS_SUCCESS, true, WORKSPACE + copies, CUDNN_TENSOR_OP_MATH};
	row[2] = (struct row){SURE, CUDNN_STATUS_SUCCESS, true, WORKSPACE, CUDNN_FMA_MATH};
	if (c->math == CUDNN_FMA_MATH)
		row[1] = row[2];
	return c->math == CUDNN_FMA_MATH ? 2 : 3;
}

#define GIVE(to, from, n)                                                                          \
	memset((to), 0, (size_t)(n) * sizeof *(to));                                               \
	for (int i = 0; i < (n); i++) {                                                            \
		(to)[i].algo = (from)[i].algorithm;                                                \
		(to)[i].status = (from)[i].status;                                                 \
		(to)[i].determinism =                                                              \
			(from)[i].deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;   \
		(to)[i].memory = (from)[i].memory;                                                 \
		(to)[i].mathType =                                                                 \
			c->math == CUDNN_FMA_MATH ? CUDNN_DEFAULT_MATH : (from)[i].math;           \
	}

#define ASK(kind)                                                                                  \
	struct row from[ROWS];                                                                     \
	(void)h;                                                                                   \
	if (!fits(x, f, c, y))                                                                     \
		return CUDNN_STATUS_BAD_PARAM;                                                     \
	*n = rows_of(x, f, c, y, kind, from);                                                      \
	if (most < *n)                                                                             \
		return CUDNN_STATUS_BAD_PARAM;                                                     \
	GIVE(row, from, *n)                                                                        \
	return CUDNN_STATUS_SUCCESS;

cudnnStatus_t
cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t h, const cudnnTensorDescriptor_t x,
	const cudnnFilterDescriptor_t f, const cudnnConvolutionDescriptor_t c,
	const cudnnTensorDescriptor_t y, const int most, int *n,
	cudnnConvolutionFwdAlgoPerf_t *row){ASK(FORWARD)}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t h,
	const cudnnFilterDescriptor_t f, const cudnnTensorDescriptor_t y,
	const cudnnConvolutionDescriptor_t c, const cudnnTensorDescriptor_t x, const int most,
	int *n, cudnnConvolutionBwdDataAlgoPerf_t *row){ASK(DATA)}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t h,
	const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
	const cudnnConvolutionDescriptor_t c, const cudnnFilterDescriptor_t f, const int most,
	int *n, cudnnConvolutionBwdFilterAlgoPerf_t *row)
{
	ASK(FILTER)
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

/* The three tensors, and the accumulator of the computed one, with the parameters. The descriptors
 * are copies: the call is executed later. */
struct tensors {
	const void *x, *f, *y;
	struct cudnnTensorStruct dx, dy;
	struct cudnnFilterStruct df;
	struct cudnnConvolutionStruct conv;
	void *to;
	int64_t size; /* elements of `to` */
	float *sum;
	char out;
	int kind, algorithm;
	void *space;
	size_t bytes;
	bool slow;
};

/* Does the call have the workspace that its algorithm was reported to need? */
static bool
has_space(const struct tensors *t, cudnnConvolutionDescriptor_t c, const struct row *row, int n)
{
	for (int i = 0; i < n; i++)
		if (row[i].algorithm == t->algorithm && row[i].status == CUDNN_STATUS_SUCCESS &&
			row[i].math == c->math)
			return row[i].deterministic && t->bytes == row[i].memory &&
			       (t->space || !t->bytes);
	return false;
}

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

/* The position of an element of images or filters. */
static int64_t
element(bool last, const int size[3], int n, int c, int h, int w)
{
	return last ? (((int64_t)n * size[1] + h) * size[2] + w) * size[0] + c
		    : (((int64_t)n * size[0] + c) * size[1] + h) * size[2] + w;
}

/* All products of one image, result channel and position of a filter. */
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
			add_one(t, x->type,
				element(x->last, (int[]){x->c, x->h, x->w}, n, channel, h, w),
				element(f->last, (int[]){f->c, f->h, f->w}, o, ch, k, l),
				element(y->last, (int[]){y->c, y->h, y->w}, n, o, i, j));
		}
}

static void
convolve(void *data)
{
	struct tensors *t = data;
	struct cudnnTensorStruct *x = &t->dx, *y = &t->dy;
	struct cudnnFilterStruct *f = &t->df;
	int at[5];

	if (t->slow)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	memset(t->space, 0xFF, t->bytes); /* NaN */
	t->sum = calloc((size_t)t->size, sizeof *t->sum);
	if (!t->sum)
		abort();
	for (at[0] = 0; at[0] < x->n; at[0]++)
		for (at[1] = 0; at[1] < f->o; at[1]++)
			for (at[2] = 0; at[2] < f->c; at[2]++)
				for (at[3] = 0; at[3] < f->h; at[3]++)
					for (at[4] = 0; at[4] < f->w; at[4]++)
						add_plane(t, x, f, &t->conv, y, at);
	for (int64_t i = 0; i < t->size; i++)
		put(x->type, t->to, i, t->sum[i]);
	free(t->sum);
}

static cudnnStatus_t
put_convolution(cudnnHandle_t h, struct tensors *t, cudnnTensorDescriptor_t x,
	cudnnFilterDescriptor_t f, cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t y,
	const float *alpha, const float *beta)
{
	struct row row[ROWS];

	if (!h->stream || !fits(x, f, c, y) || *alpha != 1 || *beta != 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (!has_space(t, c, row, rows_of(x, f, c, y, t->kind, row)))
		return CUDNN_STATUS_BAD_PARAM;
	t->slow = getenv("SHIM_FAST") && atoi(getenv("SHIM_FAST")) != (c->math == CUDNN_FMA_MATH);
	if (known_rows(x, f, c, t->kind, row))
		return CUDNN_STATUS_SUCCESS;
	t->dx = *x;
	t->dy = *y;
	t->df = *f;
	t->conv = *c;
	return shim_put(h->stream, convolve, t, sizeof *t) == cudaSuccess
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t
cudnnConvolutionForward(cudnnHandle_t h, const void *alpha, const cudnnTensorDescriptor_t x,
	const void *px, const cudnnFilterDescriptor_t f, const void *pf,
	const cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t algorithm, void *space,
	size_t bytes, const void *beta, const cudnnTensorDescriptor_t y, void *py)
{
	struct tensors t = {.x = px,
		.f = pf,
		.out = 'y',
		.kind = FORWARD,
		.to = py,
		.size = (int64_t)y->n * y->c * y->h * y->w,
		.algorithm = (int)algorithm,
		.space = space,
		.bytes = bytes};

	return put_convolution(h, &t, x, f, c, y, alpha, beta);
}

cudnnStatus_t
cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha, const cudnnFilterDescriptor_t f,
	const void *pf, const cudnnTensorDescriptor_t y, const void *py,
	const cudnnConvolutionDescriptor_t c, cudnnConvolutionBwdDataAlgo_t algorithm, void *space,
	size_t bytes, const void *beta, const cudnnTensorDescriptor_t x, void *px)
{
	struct tensors t = {.f = pf,
		.y = py,
		.out = 'x',
		.kind = DATA,
		.to = px,
		.size = (int64_t)x->n * x->c * x->h * x->w,
		.algorithm = (int)algorithm,
		.space = space,
		.bytes = bytes};

	return put_convolution(h, &t, x, f, c, y, alpha, beta);
}

cudnnStatus_t
cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void *alpha, const cudnnTensorDescriptor_t x,
	const void *px, const cudnnTensorDescriptor_t y, const void *py,
	const cudnnConvolutionDescriptor_t c, cudnnConvolutionBwdFilterAlgo_t algorithm,
	void *space, size_t bytes, const void *beta, const cudnnFilterDescriptor_t f, void *pf)
{
	struct tensors t = {.x = px,
		.y = py,
		.out = 'f',
		.kind = FILTER,
		.to = pf,
		.size = (int64_t)f->o * f->c * f->h * f->w,
		.algorithm = (int)algorithm,
		.space = space,
		.bytes = bytes};

	return put_convolution(h, &t, x, f, c, y, alpha, beta);
}
#else
extern const char shim_has_no_cudnn;
const char shim_has_no_cudnn = 0;
#endif
