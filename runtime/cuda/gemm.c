/* Matrix products by cuBLASLt. Its matrices are column-major, so C = A B is computed as C^T = B^T
 * A^T: what is row-major here is its own transpose there, and no element is moved.
 *
 * A batch of the library is one loop: matrices at equal distances. Products over two loops, such as
 * those of the heads of all texts, are one call with the addresses of their matrices, which stay in
 * the device's memory for as long as the program runs: operands have the same ones in each step. */
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/candidate.h"
#include "runtime/rank.h"

#include <stdio.h>
#include <stdlib.h>

/* The largest alignment of an address that matters to the library. */
#define MOST_ALIGNED 256u

static void
check(const struct rt_cuda *d, cublasStatus_t status, const char *what)
{
	if (status != CUBLAS_STATUS_SUCCESS)
		rt_cuda_fatal(d, what, cublasLtGetStatusString(status));
}

/* Batches by addresses are new in cuBLAS 13.1. */
#define HAS_ADDRESSES (CUBLAS_VERSION >= 130100)

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

/* Steps of the loops that do not add, or of those that do. */
static int64_t
steps_of(const struct rt_cuda_gemm *g, bool adding)
{
	const int first = g->nloops - g->nsum;
	int64_t count = 1;
	for (int i = adding ? first : 0; i < (adding ? g->nloops : first); i++)
		count *= g->loops[i].size;
	return count;
}

static void
set_layout(const struct rt_cuda *d, cublasLtMatrixLayout_t layout,
	cublasLtMatrixLayoutAttribute_t attribute, const void *value, size_t bytes)
{
	check(d, cublasLtMatrixLayoutSetAttribute(layout, attribute, value, bytes),
		"a batch of matrices");
}

/* A matrix of a batch: by addresses, or `stride` elements apart. */
static cublasLtMatrixLayout_t
new_layout(const struct rt_cuda *d, const struct rt_cuda_gemm *g, enum rt_dtype t, int64_t rows,
	int64_t cols, int64_t ld, int64_t stride, bool addressed)
{
	const struct rt_cuda_gemm_loop *batch = batch_of(g);
	cublasLtMatrixLayout_t layout;
	check(d,
		cublasLtMatrixLayoutCreate(
			&layout, data_type(t), (uint64_t)rows, (uint64_t)cols, ld),
		"a matrix");
	if (!batch)
		return layout;
	const int32_t count = (int32_t)(addressed ? steps_of(g, false) : batch->size);
	set_layout(d, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
#if HAS_ADDRESSES
	const uint32_t mode = CUBLASLT_BATCH_MODE_POINTER_ARRAY;
	if (addressed)
		set_layout(d, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, sizeof mode);
#endif
	if (!addressed)
		set_layout(d, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
			sizeof stride);
	return layout;
}

static struct rt_cuda_batch
new_batch(const struct rt_cuda *d, const struct rt_cuda_gemm *g, bool addressed)
{
	const struct rt_cuda_gemm_loop none = {0}, *loop = batch_of(g) ? batch_of(g) : &none;
	struct rt_cuda_batch x = {.a = new_layout(d, g, g->dtype, g->trans_b ? g->k : g->n,
					  g->trans_b ? g->n : g->k, g->ldb, loop->b, addressed),
		.b = new_layout(d, g, g->dtype, g->trans_a ? g->m : g->k, g->trans_a ? g->k : g->m,
			g->lda, loop->a, addressed),
		.c = new_layout(d, g, result_of(g), g->n, g->m, g->ldc, loop->c, addressed)};
	for (int i = 0; i < 3; i++)
		x.alignment[i] = 2 * MOST_ALIGNED;
	return x;
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

/* False: the library has none. */
static bool
choose_algorithm(const struct rt_cuda *d, const struct rt_cuda_gemm *g,
	cublasLtMatmulDesc_t operation, struct rt_cuda_batch *p)
{
	struct rt_cuda_product *const product = &d->products[g - d->target->cuda->gemms];
	const size_t workspace = RT_CUDA_WORKSPACE;
	const uint32_t *align = p->alignment;
	/* not by adding parts of a sum that are rounded to 16 bits */
	const uint32_t reduction =
		rt_dtype_bytes(result_of(g)) > 2
			? CUBLASLT_REDUCTION_SCHEME_MASK
			: CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t result[RT_CUDA_CANDIDATES];
	const int wanted = product->candidate ? RT_CUDA_CANDIDATES : 1;
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
		d->blas, operation, p->a, p->b, p->c, p->c, preference, wanted, result, &found);
	cublasLtMatmulPreferenceDestroy(preference);
	if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED)
		check(d, status, "choosing an algorithm for a matrix product");
	product->found = status == CUBLAS_STATUS_SUCCESS ? found : 0;
	if (product->found)
		p->algorithm = result[product->candidate < found ? product->candidate : 0].algo;
	return product->found > 0;
}

static void
prepare(const struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p,
	const void *bias, bool tf32)
{
	p->operation = new_operation(d, g, bias != NULL, tf32);
	if (bias)
		set(d, p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
	p->strided = new_batch(d, g, false);
	p->unknown = !g->addresses || !HAS_ADDRESSES;
	if (!p->unknown)
		p->addressed = new_batch(d, g, true);
	p->candidate = g->candidate[rt_cuda_in_tf32(g->dtype, tf32)];
	p->ready = true;
}

/* Chooses an algorithm the first time, and when an operand is less aligned than before. False: the
 * library has none. */
static bool
adapt(const struct rt_cuda *d, const struct rt_cuda_gemm *g, cublasLtMatmulDesc_t operation,
	struct rt_cuda_batch *p, const void *a, const void *b, const void *c)
{
	const uint32_t now[3] = {alignment(g, a, 'a'), alignment(g, b, 'b'), alignment(g, c, 'c')};
	bool worse = false;
	for (int i = 0; i < 3; i++) {
		worse |= now[i] < p->alignment[i];
		p->alignment[i] = now[i] < p->alignment[i] ? now[i] : p->alignment[i];
	}
	return !worse || choose_algorithm(d, g, operation, p);
}

static void
multiply(const struct rt_cuda *d, const struct rt_cuda_gemm *g, cublasLtMatmulDesc_t operation,
	const struct rt_cuda_batch *p, const void *a, const void *b, void *c, bool add)
{
	const double one64 = 1, beta64 = add;
	const float one32 = 1, beta32 = add;
	const void *one = g->dtype == RT_f64 ? (const void *)&one64 : &one32;
	const void *beta = g->dtype == RT_f64 ? (const void *)&beta64 : &beta32;
	check(d,
		cublasLtMatmul(d->blas, operation, one, b, p->a, a, p->b, beta, c, p->c, c, p->c,
			&p->algorithm, d->workspace, RT_CUDA_WORKSPACE, d->compute),
		"a matrix product");
}

/* The offsets of one product's matrices, in elements of the operands; does it add to C? */
struct place {
	int64_t a, b, c;
	bool add;
};

/* Step `index` of loops `first` to `end`, without the library's batch if `strided`. */
static struct place
place_of(const struct rt_cuda_gemm *g, int first, int end, int64_t index, bool strided)
{
	struct place at = {0};
	for (int l = end - 1; l >= first; l--) {
		const struct rt_cuda_gemm_loop *loop = &g->loops[l];
		if (strided && loop == batch_of(g))
			continue;
		const int64_t i = index % loop->size;
		index /= loop->size;
		at.a += i * loop->a;
		at.b += i * loop->b;
		at.c += i * loop->c;
		at.add |= l >= g->nloops - g->nsum && i > 0;
	}
	return at;
}

/* One call for each step of all loops except the library's batch. */
static void
multiply_strided(const struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p,
	const void *a, const void *b, void *c)
{
	const size_t bytes = rt_dtype_bytes(g->dtype), result_bytes = rt_dtype_bytes(result_of(g));
	const int64_t batch = batch_of(g) ? batch_of(g)->size : 1;
	const int64_t count = steps_of(g, false) / batch * steps_of(g, true);
	if (!adapt(d, g, p->operation, &p->strided, a, b, c))
		rt_cuda_fatal(d, "choosing an algorithm for a matrix product",
			"cuBLASLt has no algorithm for these shapes");
	for (int64_t i = 0; i < count; i++) {
		const struct place at = place_of(g, 0, g->nloops, i, true);
		multiply(d, g, p->operation, &p->strided, (const char *)a + (size_t)at.a * bytes,
			(const char *)b + (size_t)at.b * bytes,
			(char *)c + (size_t)at.c * result_bytes, at.add);
	}
}

/* The addresses of all matrices, of each step of the loops that add: of b, a and c. */
static void
fill_addresses(const struct rt_cuda_gemm *g, const struct rt_cuda_site *s, const void **to)
{
	const size_t bytes = rt_dtype_bytes(g->dtype), result_bytes = rt_dtype_bytes(result_of(g));
	const int64_t n = steps_of(g, false);
	const int first = g->nloops - g->nsum;
	for (int64_t k = 0; k < steps_of(g, true); k++, to += 3 * n) {
		const struct place sum = place_of(g, first, g->nloops, k, false);
		for (int64_t i = 0; i < n; i++) {
			const struct place at = place_of(g, 0, first, i, false);
			to[i] = (const char *)s->b + (size_t)(at.b + sum.b) * bytes;
			to[n + i] = (const char *)s->a + (size_t)(at.a + sum.a) * bytes;
			to[2 * n + i] = (const char *)s->c + (size_t)(at.c + sum.c) * result_bytes;
		}
	}
}

/* The addresses for these operands, written the first time; NULL: no memory is left, or a step is
 * being captured, during which nothing may be written. */
static const char *
addresses_of(struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p,
	const void *a, const void *b, const void *c)
{
	const size_t bytes = (size_t)(3 * steps_of(g, false) * steps_of(g, true)) * sizeof(void *);
	for (int i = 0; i < p->nsites; i++)
		if (p->sites[i].a == a && p->sites[i].b == b && p->sites[i].c == c)
			return (const char *)d->addresses + p->sites[i].at;
	if (bytes > RT_CUDA_ADDRESSES - d->addressed || d->capturing)
		return NULL;
	const struct rt_cuda_site site = {a, b, c, d->addressed};
	struct rt_cuda_site *more = realloc(p->sites, (size_t)(p->nsites + 1) * sizeof *more);
	const void **host = malloc(bytes);
	p->sites = more ? more : p->sites;
	if (!more || !host)
		rt_cuda_fatal(d, "a matrix product", "out of memory");
	fill_addresses(g, &site, host);
	char *to = (char *)d->addresses + site.at;
	rt_cuda_check(d, cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, d->compute),
		"addresses of matrices");
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "addresses of matrices");
	free(host);
	p->sites[p->nsites++] = site;
	d->addressed += bytes;
	return to;
}

/* All loops that do not add as one call. False: not possible. */
static bool
multiply_addressed(struct rt_cuda *d, const struct rt_cuda_gemm *g, struct rt_cuda_product *p,
	const void *a, const void *b, const void *c)
{
	if (p->unknown)
		return false;
	p->unknown = !adapt(d, g, p->operation, &p->addressed, a, b, c);
	const char *at = p->unknown ? NULL : addresses_of(d, g, p, a, b, c);
	const size_t row = (size_t)steps_of(g, false) * sizeof(void *);
	for (int64_t k = 0; at && k < steps_of(g, true); k++, at += 3 * row)
		multiply(d, g, p->operation, &p->addressed, at + row, at,
			(void *)(uintptr_t)(at + 2 * row), k > 0);
	return at != NULL;
}

void
rt_cuda_gemm(
	struct rt_ctx *ctx, int32_t gemm, const void *a, const void *b, const void *bias, void *c)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	const struct rt_cuda_gemm *g = &d->target->cuda->gemms[gemm];
	struct rt_cuda_product *p = &d->products[gemm];
	if (!p->ready)
		prepare(d, g, p, bias, ctx->rank->options->tf32);
	else if (bias) /* its address may differ from the last call */
		set(d, p->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
	p->a = a;
	p->b = b;
	p->c = c;
	if (!multiply_addressed(d, g, p, a, b, c))
		multiply_strided(d, g, p, a, b, c);
}

bool
rt_cuda_gemm_again(struct rt_cuda *d, int32_t gemm, int32_t candidate)
{
	const struct rt_cuda_gemm *g = &d->target->cuda->gemms[gemm];
	struct rt_cuda_product *p = &d->products[gemm];
	if (!p->ready)
		return false;
	if (candidate != p->candidate)
		for (int i = 0; i < 3; i++) /* so that an algorithm is chosen */
			p->strided.alignment[i] = p->addressed.alignment[i] = 2 * MOST_ALIGNED;
	p->candidate = candidate;
	if (!multiply_addressed(d, g, p, p->a, p->b, p->c))
		multiply_strided(d, g, p, p->a, p->b, p->c);
	return candidate < p->found;
}

void
rt_cuda_forget_addresses(struct rt_cuda *d)
{
	for (int i = 0; i < d->target->cuda->ngemms; i++)
		d->products[i].nsites = 0;
	d->addressed = 0;
}

static void
free_batch(struct rt_cuda_batch *x)
{
	const cublasLtMatrixLayout_t layouts[] = {x->a, x->b, x->c};
	for (int i = 0; i < 3; i++)
		if (layouts[i])
			cublasLtMatrixLayoutDestroy(layouts[i]);
}

void
rt_cuda_free_products(struct rt_cuda *d)
{
	for (int i = 0; d->products && i < d->target->cuda->ngemms; i++) {
		struct rt_cuda_product *p = &d->products[i];
		if (!p->ready)
			continue;
		cublasLtMatmulDescDestroy(p->operation);
		free_batch(&p->strided);
		free_batch(&p->addressed);
		free(p->sites);
	}
}
