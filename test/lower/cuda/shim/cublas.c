/* The part of cuBLASLt that libdopt_rt_cuda calls, on a processor: a product is three loops. With
 * SHIM_STRIDED it lacks batches by addresses; with SHIM_COUNT it prints at the end how many
 * products were requested. It has three algorithms, of which SHIM_FAST is the number of the fastest. */
#include "../../../../runtime/kernel/half.h"
#include "streams.h"

#include <cublasLt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	uint32_t mode; /* cublasLtBatchMode_t */
};

struct preference {
	uint32_t align[4], reduction;
};

struct algorithm {
	uint32_t align[4];
	int64_t part; /* summands that are added up before they are rounded to the result's type */
	int number;
};

enum { ALGORITHMS = 3, SLOW_NS = 2000000 };

/* The fewest whose rounding is visible in a 16-bit result. */
enum { PART = 32 };

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
	*l = (struct layout){type, rows, cols, ld, 0, 1, CUBLASLT_BATCH_MODE_STRIDED};
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
	else if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_MODE)
		memcpy(&l->mode, value, bytes);
	else
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
	struct preference *p = calloc(1, sizeof *p);
	p->reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
	*preference = (cublasLtMatmulPreference_t)p;
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
	case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: memcpy(&p->reduction, value, bytes); break;
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
	const struct preference *p = (struct preference *)preference;
	const uint32_t rounds =
		CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
	struct algorithm x = {.part = p->reduction & rounds ? PART : INT64_MAX};
	memcpy(x.align, p->align, sizeof x.align);
	*found = 0;
	if (getenv("SHIM_STRIDED") && ((struct layout *)d)->mode != CUBLASLT_BATCH_MODE_STRIDED)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	for (; x.number < wanted && x.number < ALGORITHMS; x.number++) {
		memset(&results[x.number], 0, sizeof *results);
		memcpy(&results[x.number].algo, &x, sizeof x);
	}
	*found = x.number;
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

static double
rounded(cudaDataType type, double x)
{
	double element; /* at least as large as any element */

	put(type, &element, 0, x);
	return get(type, &element, 0);
}

/* Element (i, j) of op(matrix) of batch k, from the address given by matrix_of. */
static int64_t
element(const struct layout *l, cublasOperation_t op, uint64_t i, uint64_t j, int32_t k)
{
	const int64_t start = l->mode == CUBLASLT_BATCH_MODE_STRIDED ? k * l->stride : 0;
	return start + (op == CUBLAS_OP_N ? (int64_t)(i + j * (uint64_t)l->ld)
					  : (int64_t)(j + i * (uint64_t)l->ld));
}

static void *
matrix_of(const struct layout *l, const void *operand, int32_t k)
{
	return l->mode == CUBLASLT_BATCH_MODE_STRIDED ? (void *)(uintptr_t)operand
						      : ((void *const *)operand)[k];
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

/* Are all matrices of an operand aligned? */
static bool
are_aligned(const struct layout *l, const void *operand, uint32_t bytes)
{
	bool aligned = true;
	for (int32_t k = 0; k < (l->mode == CUBLASLT_BATCH_MODE_STRIDED ? 1 : l->batch); k++)
		aligned &= is_aligned(matrix_of(l, operand, k), bytes);
	return aligned;
}

/* A product that has not been computed yet. */
struct product {
	struct operation o;
	struct layout a, b, c, d;
	int64_t part;
	double scale, old; /* alpha and beta */
	bool slow;
	const void *pa, *pb, *pc;
	void *pd;
};

static double
element_of(const struct product *p, uint64_t i, uint64_t j, int32_t batch)
{
	const struct operation *o = &p->o;
	const uint64_t k = o->a == CUBLAS_OP_N ? p->a.cols : p->a.rows;
	double sum = 0;
	for (uint64_t l = 0; l < k; l++) {
		if (l && (int64_t)l % p->part == 0)
			sum = rounded(p->d.type, sum);
		sum += get(p->a.type, matrix_of(&p->a, p->pa, batch),
			       element(&p->a, o->a, i, l, batch)) *
		       get(p->b.type, matrix_of(&p->b, p->pb, batch),
			       element(&p->b, o->b, l, j, batch));
	}
	sum *= p->scale;
	if (p->old != 0)
		sum += p->old * get(p->c.type, matrix_of(&p->c, p->pc, batch),
					element(&p->c, CUBLAS_OP_N, i, j, batch));
	return finish(o, &p->d, sum, i);
}

static void
multiply(void *data)
{
	const struct product *p = data;
	const struct timespec pause = {0, SLOW_NS};
	if (p->slow)
		nanosleep(&pause, NULL);
	for (int32_t batch = 0; batch < p->d.batch; batch++)
		for (uint64_t j = 0; j < p->d.cols; j++)
			for (uint64_t i = 0; i < p->d.rows; i++)
				put(p->d.type, matrix_of(&p->d, p->pd, batch),
					element(&p->d, CUBLAS_OP_N, i, j, batch),
					element_of(p, i, j, batch));
}

static _Atomic int nproducts, nothers;

static void
say(void)
{
	fprintf(stderr, "shim: %d calls for products\n", nproducts);
	if (nothers)
		fprintf(stderr, "shim: %d not by the first algorithm\n", nothers);
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
	cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
	const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
	cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream)
{
	const struct operation *o = (const struct operation *)desc;
	const struct algorithm *x = (const struct algorithm *)algo;
	const struct product p = {.o = *o,
		.a = *(const struct layout *)a_layout,
		.b = *(const struct layout *)b_layout,
		.c = *(const struct layout *)c_layout,
		.d = *(const struct layout *)d_layout,
		.part = x->part,
		.slow = getenv("SHIM_FAST") && atoi(getenv("SHIM_FAST")) != x->number,
		.scale = get(o->scale, alpha, 0),
		.old = get(o->scale, beta, 0),
		.pa = a,
		.pb = b,
		.pc = c,
		.pd = d};
	(void)handle;
	nothers += x->number > 0;
	if (!nproducts++ && getenv("SHIM_COUNT"))
		atexit(say);
	if (!workspace || !workspace_bytes || !stream ||
		(o->a == CUBLAS_OP_N ? p.a.cols : p.a.rows) !=
			(o->b == CUBLAS_OP_N ? p.b.rows : p.b.cols) ||
		(o->a == CUBLAS_OP_N ? p.a.rows : p.a.cols) != p.d.rows ||
		(o->b == CUBLAS_OP_N ? p.b.cols : p.b.rows) != p.d.cols)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (p.a.mode != p.d.mode || p.b.mode != p.d.mode || p.c.mode != p.d.mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!are_aligned(&p.a, a, x->align[0]) || !are_aligned(&p.b, b, x->align[1]) ||
		!are_aligned(&p.c, c, x->align[2]))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return shim_put(stream, multiply, &p, sizeof p) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
