/* The program's code on the device, and its launches. */
#include "runtime/cuda/cuda.h"
#include "runtime/rank.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes between rows of cudaMemcpy2D at most: cudaDevAttrMaxPitch of all devices. */
#define MOST_PITCH ((size_t)INT32_MAX)

static bool
fail_load(struct rt_status *st, const char *what, cudaError_t error)
{
	return error == cudaSuccess ||
	       rt_fail(st, RT_EXIT_RUN, "%s: %s", what, cudaGetErrorString(error));
}

/* The kernels that every program contains, by name. */
static bool
load_support(struct rt_cuda *d, struct rt_status *st)
{
	char name[64];
	bool ok = true;
	for (int t = 0; t < RT_DTYPES && ok; t++) {
		snprintf(name, sizeof name, "dopt_sum_%s", rt_dtype_info((enum rt_dtype)t)->name);
		ok = fail_load(st, name, cudaLibraryGetKernel(&d->sum[t], d->library, name));
	}
	for (int bytes = 1; bytes <= RT_CUDA_MOVE && ok; bytes *= 2) {
		snprintf(name, sizeof name, "dopt_move_%d", bytes);
		ok = fail_load(st, name, cudaLibraryGetKernel(&d->move[bytes], d->library, name));
	}
	return ok;
}

bool
rt_cuda_load(struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st)
{
	d->target = setup->prog->target;
	d->world = setup->world;
	d->trace = setup->trace;
	const struct rt_cuda_program *p = d->target->cuda;
	d->kernels = calloc((size_t)p->nkernels + 1, sizeof(cudaKernel_t));
	d->products = calloc((size_t)p->ngemms + 1, sizeof *d->products);
	if (!d->kernels || !d->products)
		return rt_fail_memory(st, (size_t)p->nkernels * sizeof(cudaKernel_t), "kernels");
	bool ok = fail_load(st, "the program's kernels (built for another device?)",
		cudaLibraryLoadData(&d->library, p->image, NULL, NULL, 0, NULL, NULL, 0));
	for (int i = 0; i < p->nkernels && ok; i++)
		ok = fail_load(st, p->kernels[i].name,
			cudaLibraryGetKernel(&d->kernels[i], d->library, p->kernels[i].name));
	ok = ok && load_support(d, st);
	if (ok && cublasLtCreate(&d->blas) != CUBLAS_STATUS_SUCCESS)
		ok = rt_fail(st, RT_EXIT_RUN, "cannot initialize cuBLASLt");
	ok = ok && fail_load(st, "workspace", cudaMalloc(&d->workspace, RT_CUDA_WORKSPACE));
	ok = ok && fail_load(st, "addresses", cudaMalloc(&d->addresses, RT_CUDA_ADDRESSES));
	return ok && (!setup->prog->ncolls || fail_load(st, "memory of collectives",
						      cudaMalloc(&d->collectives, RT_CUDA_ROOM)));
}

void
rt_cuda_drop_graph(struct rt_cuda *d)
{
	if (d->graph)
		cudaGraphExecDestroy(d->graph);
	d->graph = NULL;
}

void
rt_cuda_unload(struct rt_cuda *d)
{
	rt_cuda_free_products(d);
	if (d->target && d->target->cuda->close_convs)
		d->target->cuda->close_convs(d);
	rt_cuda_free_spans(d);
	cudaFree(d->workspace);
	cudaFree(d->addresses);
	cudaFree(d->collectives);
	if (d->blas)
		cublasLtDestroy(d->blas);
	if (d->library)
		cudaLibraryUnload(d->library);
	free(d->kernels);
	free(d->products);
	d->workspace = NULL;
	d->addresses = NULL;
	d->collectives = NULL;
	d->blas = NULL;
	d->library = NULL;
	d->kernels = NULL;
	d->products = NULL;
}

static void
launch(const struct rt_cuda *d, cudaKernel_t kernel, cudaStream_t stream, int64_t grid,
	uint32_t threads, void *args, const char *name)
{
	void *params[] = {args};
	rt_cuda_check(d,
		cudaLaunchKernel((const void *)kernel, (dim3){(unsigned)grid, 1, 1},
			(dim3){threads, 1, 1}, params, 0, stream),
		name);
}

bool
rt_cuda_tf32(const struct rt_ctx *ctx)
{
	return ctx->rank->options->tf32;
}

void
rt_cuda_launch(struct rt_ctx *ctx, int32_t kernel, int64_t grid, const void *args, size_t bytes)
{
	const struct rt_cuda *d = rt_cuda_of(ctx);
	const struct rt_cuda_kernel *k = &d->target->cuda->kernels[kernel];
	(void)bytes;
	launch(d, d->kernels[kernel], d->compute, grid, k->threads, (void *)(uintptr_t)args,
		k->name);
}

/* Blocks for n elements of a support kernel. */
static int64_t
support_grid(int64_t n)
{
	const int64_t blocks = (n + RT_CUDA_SUPPORT_BLOCK - 1) / RT_CUDA_SUPPORT_BLOCK;
	return blocks < RT_CUDA_SUPPORT_GRID ? blocks : RT_CUDA_SUPPORT_GRID;
}

void
rt_cuda_put_sum(
	const struct rt_cuda *d, cudaStream_t stream, enum rt_dtype t, struct dopt_sum_args *args)
{
	if (args->n > 0)
		launch(d, d->sum[t], stream, support_grid(args->n), RT_CUDA_SUPPORT_BLOCK, args,
			"a sum over devices");
}

static struct dopt_region
region_of(const struct rt_region *r)
{
	struct dopt_region out = {.run = r->run};
	for (int i = 0; i < 3; i++) {
		out.counts[i] = r->counts[i];
		out.strides[i] = r->strides[i];
	}
	return out;
}

/* Halves the elements of a region, if two neighbours are one; else false. */
static bool
pair(struct dopt_region *r)
{
	if (r->run % 2 || r->first % 2)
		return false;
	for (int i = 0; i < 3; i++)
		if (r->counts[i] > 1 && r->strides[i] % 2)
			return false;
	for (int i = 0; i < 3; i++)
		r->strides[i] /= 2;
	r->run /= 2;
	r->first /= 2;
	return true;
}

/* Moves elements of `bytes` bytes, as many at once as alignment allows, up to 16 bytes: rows of a
 * slice of a matrix are packed by 16 bytes a thread. */
static void
put_move(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, struct dopt_move_args args,
	const char *what)
{
	while (bytes < RT_CUDA_MOVE) {
		struct dopt_move_args twice = args;
		if (((uintptr_t)args.from | (uintptr_t)args.to) % (2 * bytes) || args.n % 2 ||
			!pair(&twice.from_region) || !pair(&twice.to_region))
			break;
		twice.n /= 2;
		args = twice;
		bytes *= 2;
	}
	launch(d, d->move[bytes], stream, support_grid(args.n), RT_CUDA_SUPPORT_BLOCK, &args, what);
}

void
rt_cuda_put_move(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, const void *from,
	const struct rt_region *from_region, void *to, const struct rt_region *to_region)
{
	const char *source = (const char *)from + from_region->base;
	char *target = (char *)to + to_region->base;
	const int64_t n = rt_region_elements(from_region);
	if (!n || source == target)
		return;
	if (rt_cuda_is_run(from_region) && rt_cuda_is_run(to_region)) {
		rt_cuda_check(d,
			cudaMemcpyAsync(
				target, source, (size_t)n * bytes, cudaMemcpyDefault, stream),
			"a copy between devices");
		return;
	}
	put_move(d, stream, bytes,
		(struct dopt_move_args){
			source, target, n, region_of(from_region), region_of(to_region)},
		"a move between devices");
}

void
rt_cuda_put_range(const struct rt_cuda *d, cudaStream_t stream, size_t bytes, void *base,
	const struct rt_region *region, int64_t at, int64_t n, void *row, bool to_row)
{
	void *start = (char *)base + region->base;
	if (!n)
		return;
	if (rt_cuda_is_run(region)) {
		void *there = (char *)start + (size_t)at * bytes;
		rt_cuda_check(d,
			cudaMemcpyAsync(to_row ? row : there, to_row ? there : row,
				(size_t)n * bytes, cudaMemcpyDeviceToDevice, stream),
			"a copy of a part");
		return;
	}
	const struct dopt_region line = {{1, 1, 1}, {0, 0, 0}, n, 0};
	struct dopt_region part = region_of(region);
	part.first = at;
	put_move(d, stream, bytes,
		(struct dopt_move_args){to_row ? start : row, to_row ? row : start, n,
			to_row ? part : line, to_row ? line : part},
		"a move of a part");
}

void
rt_cuda_zero(struct rt_ctx *ctx, void *to, size_t bytes)
{
	const struct rt_cuda *d = rt_cuda_of(ctx);
	rt_cuda_check(d, cudaMemsetAsync(to, 0, bytes, d->compute), "clearing memory");
}

void
rt_cuda_copy(struct rt_ctx *ctx, void *to, const void *from, size_t bytes)
{
	const struct rt_cuda *d = rt_cuda_of(ctx);
	rt_cuda_check(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, d->compute), "a copy");
}

bool
rt_cuda_is_true(struct rt_ctx *ctx, const void *condition)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	unsigned char value = 0;

	d->needs_host = true;
	rt_cuda_copy(ctx, &value, condition, sizeof value);
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "the condition of a loop");
	return value != 0;
}

void
rt_cuda_copy_blocks(struct rt_ctx *ctx, void *to, size_t to_stride, const void *from,
	size_t from_stride, size_t bytes, int64_t outer)
{
	const struct rt_cuda *d = rt_cuda_of(ctx);
	if (outer == 1 || to_stride > MOST_PITCH || from_stride > MOST_PITCH)
		for (int64_t i = 0; i < outer; i++)
			rt_cuda_copy(ctx, (char *)to + (size_t)i * to_stride,
				(const char *)from + (size_t)i * from_stride, bytes);
	else
		rt_cuda_check(d,
			cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, (size_t)outer,
				cudaMemcpyDeviceToDevice, d->compute),
			"a copy of blocks");
}

void
rt_cuda_add(struct rt_ctx *ctx, enum rt_dtype t, void *sum, const void *x, int64_t n, bool first)
{
	if (first) {
		rt_cuda_copy(ctx, sum, x, (size_t)n * rt_dtype_bytes(t));
		return;
	}
	struct dopt_sum_args args = {.from = {sum, x},
		.to = {sum},
		.nfrom = 2,
		.nto = 1,
		.n = n,
		.region = {{1, 1, 1}, {0, 0, 0}, n, 0}};
	rt_cuda_put_sum(rt_cuda_of(ctx), rt_cuda_of(ctx)->compute, t, &args);
}
