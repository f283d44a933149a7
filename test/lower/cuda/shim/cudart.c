/* The part of the CUDA runtime and of cuBLASLt that libdopt_rt_cuda calls, on a processor:
 * everything is done at once and in memory, streams and events have nothing to wait for. Two
 * devices that see each other. */
#include "fibers.h"
#include "../../../../runtime/kernel/half.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 2 };

cudaError_t
cudaGetDeviceCount(int *count)
{
	*count = DEVICES;
	return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	(void)device;
	memset(prop, 0, sizeof *prop);
	snprintf(prop->name, sizeof prop->name, "device of the shim");
	return cudaSuccess;
}

/* The one that is asked for: bytes of the second-level cache. */
cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	(void)device;
	*value = attribute == cudaDevAttrL2CacheSize ? 1 << 16 : 0;
	return cudaSuccess;
}

const char *
cudaGetErrorString(cudaError_t error)
{
	return error == cudaSuccess ? "no error" : "an error of the shim";
}

cudaError_t
cudaGetLastError(void)
{
	return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
	return device < DEVICES ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t
cudaDeviceSynchronize(void)
{
	return cudaSuccess;
}

cudaError_t
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return cudaSuccess;
}

cudaError_t
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	return peer < DEVICES && !flags ? cudaSuccess : cudaErrorInvalidDevice;
}

/* --- memory: filled with what shows where nobody wrote
 * -------------------------------------------- */

/* Of an allocation: programs of tests are small, and a library's workspace would take longer to
 * fill than they take to run. */
enum { FILLED_BYTES = 1 << 20 };

cudaError_t
cudaMalloc(void **memory, size_t bytes)
{
	*memory = aligned_alloc(256, (bytes + 256) / 256 * 256);
	if (*memory)
		memset(*memory, 0xFF, bytes < FILLED_BYTES ? bytes : FILLED_BYTES);
	return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t
cudaFree(void *memory)
{
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaMemset(void *to, int value, size_t bytes)
{
	memset(to, value, bytes);
	return cudaSuccess;
}

cudaError_t
cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	return stream ? cudaMemset(to, value, bytes) : cudaErrorInvalidValue;
}

cudaError_t
cudaMemcpyAsync(
	void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)kind;
	memmove(to, from, bytes);
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (to_pitch < width || from_pitch < width)
		return cudaErrorInvalidPitchValue;
	for (size_t i = 0; i < height; i++)
		cudaMemcpyAsync((char *)to + i * to_pitch, (const char *)from + i * from_pitch,
			width, kind, stream);
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

/* --- streams, events, graphs
 * ---------------------------------------------------------------------- */

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	(void)flags;
	*stream = malloc(1);
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	free(stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	(void)flags;
	return stream && event ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
	*event = calloc(1, sizeof(struct timespec));
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	return cudaEventCreate(event);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	clock_gettime(CLOCK_MONOTONIC, (struct timespec *)event);
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	return event ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	return event ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	const struct timespec *a = (const struct timespec *)begin,
			      *b = (const struct timespec *)end;
	*ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 +
		      (double)(b->tv_nsec - a->tv_nsec) / 1e6);
	return cudaSuccess;
}

/* What is captured runs at once as well: a graph is never made. */
cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	(void)stream;
	(void)mode;
	return cudaErrorNotSupported;
}

cudaError_t
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	(void)stream;
	(void)graph;
	return cudaErrorNotSupported;
}

cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	(void)exec;
	(void)graph;
	(void)flags;
	return cudaErrorNotSupported;
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	(void)exec;
	(void)stream;
	return cudaErrorNotSupported;
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
	(void)graph;
	return cudaSuccess;
}

cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	(void)exec;
	return cudaSuccess;
}

/* --- code: kernels that are linked in, by their names
 * --------------------------------------------- */

cudaError_t
cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *options,
	void **values, unsigned noptions, enum cudaLibraryOption *library_options,
	void **library_values, unsigned nlibrary)
{
	(void)code, (void)options, (void)values, (void)noptions;
	(void)library_options, (void)library_values, (void)nlibrary;
	*library = malloc(1);
	return cudaSuccess;
}

cudaError_t
cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	(void)library;
	*kernel = (cudaKernel_t)shim_find(name);
	return *kernel ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t
cudaLibraryUnload(cudaLibrary_t library)
{
	free(library);
	return cudaSuccess;
}

cudaError_t
cudaLaunchKernel(
	const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	if (!grid.x || !block.x || block.x > 1024 || shared || !stream)
		return cudaErrorInvalidConfiguration;
	shim_run((shim_kernel *)(uintptr_t)kernel, args[0], grid.x, block.x);
	return cudaSuccess;
}

/* --- matrix products
 * -------------------------------------------------------------------------------- */

struct operation {
	cublasComputeType_t compute;
	cudaDataType scale;
	cublasOperation_t a, b;
	cublasLtEpilogue_t epilogue;
	const void *bias;
};

struct layout {
	cudaDataType type;
	uint64_t rows, cols;
	int64_t ld, stride;
	int32_t batch;
};

struct preference {
	uint32_t align[4];
};

struct algorithm {
	uint32_t align[4];
};

cublasStatus_t
cublasLtCreate(cublasLtHandle_t *handle)
{
	*handle = malloc(1);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtDestroy(cublasLtHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

const char *
cublasLtGetStatusString(cublasStatus_t status)
{
	return status == CUBLAS_STATUS_SUCCESS ? "success" : "an error of the shim";
}

cublasStatus_t
cublasLtMatmulDescCreate(
	cublasLtMatmulDesc_t *desc, cublasComputeType_t compute, cudaDataType_t scale)
{
	struct operation *o = calloc(1, sizeof *o);
	o->compute = compute;
	o->scale = scale;
	o->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	*desc = (cublasLtMatmulDesc_t)o;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
	free(desc);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
	const void *value, size_t bytes)
{
	struct operation *o = (struct operation *)desc;
	switch (attribute) {
	case CUBLASLT_MATMUL_DESC_TRANSA: memcpy(&o->a, value, bytes); break;
	case CUBLASLT_MATMUL_DESC_TRANSB: memcpy(&o->b, value, bytes); break;
	case CUBLASLT_MATMUL_DESC_EPILOGUE: memcpy(&o->epilogue, value, bytes); break;
	case CUBLASLT_MATMUL_DESC_BIAS_POINTER: memcpy(&o->bias, value, bytes); break;
	default: return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutCreate(
	cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
	struct layout *l = calloc(1, sizeof *l);
	*l = (struct layout){type, rows, cols, ld, 0, 1};
	*layout = (cublasLtMatrixLayout_t)l;
	return ld >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
	free(layout);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
	cublasLtMatrixLayoutAttribute_t attribute, const void *value, size_t bytes)
{
	struct layout *l = (struct layout *)layout;
	if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
		memcpy(&l->batch, value, bytes);
	else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
		memcpy(&l->stride, value, bytes);
	else
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
	*preference = calloc(1, sizeof(struct preference));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
	free(preference);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
	cublasLtMatmulPreferenceAttributes_t attribute, const void *value, size_t bytes)
{
	struct preference *p = (struct preference *)preference;
	switch (attribute) {
	case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: break;
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: memcpy(&p->align[0], value, bytes); break;
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: memcpy(&p->align[1], value, bytes); break;
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: memcpy(&p->align[2], value, bytes); break;
	case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: memcpy(&p->align[3], value, bytes); break;
	default: return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
	cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
	cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
	cublasLtMatmulHeuristicResult_t results[], int *found)
{
	(void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d;
	struct algorithm x;
	memcpy(x.align, ((struct preference *)preference)->align, sizeof x.align);
	memset(results, 0, sizeof *results);
	memcpy(&results[0].algo, &x, sizeof x);
	*found = wanted > 0;
	return CUBLAS_STATUS_SUCCESS;
}

static double
get(cudaDataType type, const void *data, int64_t at)
{
	switch (type) {
	case CUDA_R_64F: return ((const double *)data)[at];
	case CUDA_R_16F: return rt_f16_to_f32(((const uint16_t *)data)[at]);
	case CUDA_R_16BF: return rt_bf16_to_f32(((const uint16_t *)data)[at]);
	default: return ((const float *)data)[at];
	}
}

static void
put(cudaDataType type, void *data, int64_t at, double x)
{
	switch (type) {
	case CUDA_R_64F: ((double *)data)[at] = x; break;
	case CUDA_R_16F: ((uint16_t *)data)[at] = rt_f32_to_f16((float)x); break;
	case CUDA_R_16BF: ((uint16_t *)data)[at] = rt_f32_to_bf16((float)x); break;
	default: ((float *)data)[at] = (float)x;
	}
}

/* Element (i, j) of op(matrix) of batch k. */
static int64_t
element(const struct layout *l, cublasOperation_t op, uint64_t i, uint64_t j, int32_t k)
{
	return k * l->stride + (op == CUBLAS_OP_N ? (int64_t)(i + j * (uint64_t)l->ld)
						  : (int64_t)(j + i * (uint64_t)l->ld));
}

static double
finish(const struct operation *o, const struct layout *l, double x, uint64_t row)
{
	const bool bias =
		o->epilogue == CUBLASLT_EPILOGUE_BIAS || o->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
	const bool relu =
		o->epilogue == CUBLASLT_EPILOGUE_RELU || o->epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
	if (bias)
		x += get(l->type, o->bias, (int64_t)row);
	return relu && x < 0 ? 0 : x;
}

/* Does an address have the alignment that the algorithm was chosen for? */
static bool
is_aligned(const void *p, uint32_t bytes)
{
	return bytes && (uintptr_t)p % bytes == 0;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
	cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
	const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
	cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream)
{
	const struct operation *o = (const struct operation *)desc;
	const struct layout *la = (const struct layout *)a_layout,
			    *lb = (const struct layout *)b_layout;
	const struct layout *lc = (const struct layout *)c_layout,
			    *ld = (const struct layout *)d_layout;
	const struct algorithm *x = (const struct algorithm *)algo;
	const uint64_t k = o->a == CUBLAS_OP_N ? la->cols : la->rows;
	(void)handle;
	if (!workspace || !workspace_bytes || !stream ||
		k != (o->b == CUBLAS_OP_N ? lb->rows : lb->cols) ||
		(o->a == CUBLAS_OP_N ? la->rows : la->cols) != ld->rows ||
		(o->b == CUBLAS_OP_N ? lb->cols : lb->rows) != ld->cols)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!is_aligned(a, x->align[0]) || !is_aligned(b, x->align[1]) ||
		!is_aligned(c, x->align[2]))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	const double scale = get(o->scale, alpha, 0), old = get(o->scale, beta, 0);
	for (int32_t batch = 0; batch < ld->batch; batch++)
		for (uint64_t j = 0; j < ld->cols; j++)
			for (uint64_t i = 0; i < ld->rows; i++) {
				double sum = 0;
				for (uint64_t l = 0; l < k; l++)
					sum += get(la->type, a, element(la, o->a, i, l, batch)) *
					       get(lb->type, b, element(lb, o->b, l, j, batch));
				sum *= scale;
				if (old != 0)
					sum += old * get(lc->type, c,
							     element(lc, CUBLAS_OP_N, i, j, batch));
				put(ld->type, d, element(ld, CUBLAS_OP_N, i, j, batch),
					finish(o, ld, sum, i));
			}
	return CUBLAS_STATUS_SUCCESS;
}
