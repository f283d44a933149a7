/* Matrix products by cuBLASLt. Its matrices are by columns, so C = A B is computed as C^T = B^T
 * A^T: what is row-major here is its own transpose there, and no element moves. */
#include "runtime/cuda/cuda.h"
#include "runtime/rank.h"

#include <stdio.h>
#include <stdlib.h>

static void
check(const struct rt_cuda *d, cublasStatus_t status, const char *what)
{
	if (status != CUBLAS_STATUS_SUCCESS)
		rt_cuda_fatal(d, what, cublasLtGetStatusString(status));
}

static enum rt_dtype
result_of(const struct rt_cuda_gemm *g)
{
	return g->wide ? RT_f32 : g->dtype;
}

static cudaDataType_t
data_type(enum rt_dtype t)
{
	switch (t) {
	case RT_f64: return CUDA_R_64F;
	case RT_f16: return CUDA_R_16F;
	case RT_bf16: return CUDA_R_16BF;
	default: return CUDA_R_32F;
	}
}

/* The loop that is the library's batch: the last one that does not add. */
static const struct rt_cuda_gemm_loop *
batch_of(const struct rt_cuda_gemm *g)
{
	return g->nloops > g->nsum ? &g->loops[g->nloops - g->nsum - 1] : NULL;
}

static cublasLtMatrixLayout_t
new_layout(const struct rt_cuda *d, const struct rt_cuda_gemm *g, enum rt_dtype t, int64_t rows,
	int64_t cols, int64_t ld, int64_t stride)
{
	const struct rt_cuda_gemm_loop *batch = batch_of(g);
	cublasLtMatrixLayout_t layout;
	check(d,
		cublasLtMatrixLayoutCreate(
			&layout, data_type(t), (uint64_t)rows, (uint64_t)cols, ld),
		"a matrix");
	if (batch) {
		const int32_t count = (int32_t)batch->size;
		check(d,
			cublasLtMatrixLayoutSetAttribute(
				layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
			"a batch of matrices");
		check(d,
			cublasLtMatrixLayoutSetAttribute(layout,
				CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
				sizeof stride),
			"a batch of matrices");
	}
	return layout;
}

static void
set(const struct rt_cuda *d, cublasLtMatmulDesc_t operation,
	cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes)
{
	check(d, cublasLtMatmulDescSetAttribute(operation, attribute, value, bytes),
		"a matrix product");
}

static cublasLtMatmulDesc_t
new_operation(const struct rt_cuda *d, const struct rt_cuda_gemm *g, bool bias, bool tf32)
{
	const cublasOperation_t op[2] = {CUBLAS_OP_N, CUBLAS_OP_T};
	const cublasComputeType_t compute = g->dtype == RT_f64 ? CUBLAS_COMPUTE_64F
					    : tf32 && g->dtype == RT_f32
						    ? CUBLAS_COMPUTE_32F_FAST_TF32
						    : CUBLAS_COMPUTE_32F;
	const cublasLtEpilogue_t epilogue = bias && g->relu ? CUBLASLT_EPILOGUE_RELU_BIAS
					    : bias          ? CUBLASLT_EPILOGUE_BIAS
					    : g->relu       ? CUBLASLT_EPILOGUE_RELU
							    : CUBLASLT_EPILOGUE_DEFAULT;
	cublasLtMatmulDesc_t operation;
	/* 16-bit floats are multiplied and added up in f32, and so are alpha and beta */
	const cudaDataType_t scale = g->dtype == RT_f64 ? CUDA_R_64F : CUDA_R_32F;
	check(d, cublasLtMatmulDescCreate(&operation, compute, scale), "a matrix product");
	set(d, operation, CUBLASLT_MATMUL_DESC_TRANSA, &op[g->trans_b], sizeof *op);
	set(d, operation, CUBLASLT_MATMUL_DESC_TRANSB, &op[g->trans_a], sizeof *op);
	set(d, operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
	return operation;
}

/* What an address is aligned to at most, as far as the library cares. */
#define MOST_ALIGNED 256u

/* The largest power of two, up to MOST_ALIGNED, that divides all addresses of one operand. */
static uint32_t
alignment(const struct rt_cuda_gemm *g, const void *start, char which)
{
	const size_t bytes = rt_dtype_bytes(which == 'c' ? result_of(g) : g->dtype);
	uint64_t bits = (uint64_t)(uintptr_t)start | MOST_ALIGNED;
	for (int i = 0; i < g->nloops; i++) {
		const struct rt_cuda_gemm_loop *l = &g->loops[i];
		bits |= (uint64_t)(which == 'a' ? l->a : which == 'b' ? l->b : l->c) * bytes;
	}
	return (uint32_t)(bits & -bits);
}

static void
choose_algorithm(const struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p)
{
	const size_t workspace = RT_CUDA_WORKSPACE;
	const uint32_t *align = p->alignment;
	/* not by adding parts of a sum that are rounded to 16 bits */
	const uint32_t reduction =
		rt_dtype_bytes(result_of(g)) > 2
			? CUBLASLT_REDUCTION_SCHEME_MASK
			: CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t result;
	int found = 0;
	check(d, cublasLtMatmulPreferenceCreate(&preference), "a matrix product");
	cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
	cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
		&reduction, sizeof reduction);
	cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &align[1], sizeof *align);
	cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &align[0], sizeof *align);
	cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &align[2], sizeof *align);
	cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &align[2], sizeof *align);
	const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
		d->blas, p->operation, p->a, p->b, p->c, p->c, preference, 1, &result, &found);
	cublasLtMatmulPreferenceDestroy(preference);
	check(d, status, "choosing an algorithm for a matrix product");
	if (!found)
		rt_cuda_fatal(d, "choosing an algorithm for a matrix product",
			"cuBLASLt has no algorithm for these shapes");
	p->algorithm = result.algo;
}

static void
prepare(const struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p,
	const void *bias, bool tf32)
{
	const struct rt_cuda_gemm_loop none = {0}, *batch = batch_of(g) ? batch_of(g) : &none;
	p->operation = new_operation(d, g, bias != NULL, tf32);
	if (bias)
		set(d, p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
	p->a = new_layout(d, g, g->dtype, g->trans_b ? g->k : g->n, g->trans_b ? g->n : g->k,
		g->ldb, batch->b);
	p->b = new_layout(d, g, g->dtype, g->trans_a ? g->m : g->k, g->trans_a ? g->k : g->m,
		g->lda, batch->a);
	p->c = new_layout(d, g, result_of(g), g->n, g->m, g->ldc, batch->c);
	for (int i = 0; i < 3; i++)
		p->alignment[i] = 2 * MOST_ALIGNED;
	p->ready = true;
}

/* Chooses an algorithm the first time, and where an operand is less aligned than ever before. */
static void
adapt(const struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p,
	const void *a, const void *b, const void *c)
{
	const uint32_t now[3] = {alignment(g, a, 'a'), alignment(g, b, 'b'), alignment(g, c, 'c')};
	bool worse = false;
	for (int i = 0; i < 3; i++) {
		worse |= now[i] < p->alignment[i];
		p->alignment[i] = now[i] < p->alignment[i] ? now[i] : p->alignment[i];
	}
	if (worse)
		choose_algorithm(d, g, p);
}

static void
multiply(const struct rt_cuda *d, const struct rt_cuda_gemm *g, const struct rt_cuda_product *p,
	const void *a, const void *b, void *c, bool add)
{
	const double one64 = 1, beta64 = add;
	const float one32 = 1, beta32 = add;
	const void *one = g->dtype == RT_f64 ? (const void *)&one64 : &one32;
	const void *beta = g->dtype == RT_f64 ? (const void *)&beta64 : &beta32;
	check(d,
		cublasLtMatmul(d->blas, p->operation, one, b, p->a, a, p->b, beta, c, p->c, c, p->c,
			&p->algorithm, d->workspace, RT_CUDA_WORKSPACE, d->compute),
		"a matrix product");
}

void
rt_cuda_gemm(
	struct rt_ctx *ctx, int32_t gemm, const void *a, const void *b, const void *bias, void *c)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	const struct rt_cuda_gemm *g = &d->target->cuda->gemms[gemm];
	struct rt_cuda_product *p = &d->products[gemm];
	const size_t bytes = rt_dtype_bytes(g->dtype), result_bytes = rt_dtype_bytes(result_of(g));
	if (!p->ready)
		prepare(d, g, p, bias, ctx->rank->options->tf32);
	else if (bias) /* it may be elsewhere than the last time */
		set(d, p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
	adapt(d, g, p, a, b, c);
	int64_t count = 1;
	for (int i = 0; i < g->nloops; i++)
		count *= &g->loops[i] == batch_of(g) ? 1 : g->loops[i].size;
	for (int64_t i = 0; i < count; i++) {
		int64_t rest = i, at_a = 0, at_b = 0, at_c = 0;
		bool add = false;
		for (int l = g->nloops - 1; l >= 0; l--) {
			const struct rt_cuda_gemm_loop *loop = &g->loops[l];
			if (loop == batch_of(g))
				continue;
			const int64_t index = rest % loop->size;
			rest /= loop->size;
			at_a += index * loop->a;
			at_b += index * loop->b;
			at_c += index * loop->c;
			add |= l >= g->nloops - g->nsum && index > 0;
		}
		multiply(d, g, p, (const char *)a + (size_t)at_a * bytes,
			(const char *)b + (size_t)at_b * bytes,
			(char *)c + (size_t)at_c * result_bytes, add);
	}
}

void
rt_cuda_free_products(struct rt_cuda *d)
{
	for (int i = 0; d->products && i < d->target->cuda->ngemms; i++) {
		struct rt_cuda_product *p = &d->products[i];
		if (!p->ready)
			continue;
		cublasLtMatmulDescDestroy(p->operation);
		cublasLtMatrixLayoutDestroy(p->a);
		cublasLtMatrixLayoutDestroy(p->b);
		cublasLtMatrixLayoutDestroy(p->c);
	}
}
