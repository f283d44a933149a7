/* The smallest program that trains: z = x . w + b on integer labels, data parallel over PLACES
 * places, MICRO micro-batches, as generated code would be. Rows with label -1 count as 0.
 *
 *	loss = 1/B sum (z - y)^2, dw = 2/B sum (z - y) x, db = 2/B sum (z - y); sgd with rate
 * 0.05 */
#include "runtime/rt_program.h"

#ifndef PLACES
#define PLACES 2
#endif
#ifndef MICRO
#define MICRO 1
#endif

#ifndef GENERATOR
#define GENERATOR NULL
#endif

enum { B = 8, K = 3, ROWS = B / PLACES / MICRO };

enum offset { X = 0, Y = 256, W = 512, BIAS = 576, DW = 640, DB = 704, LOSS = 768, BYTES = 832 };

static const struct rt_axis axes[] = {{"dp", PLACES, false}, {"mb", MICRO, true}};

static const struct rt_tensor tensors[] = {
	{.name = "x",
		.role = RT_INPUT,
		.dtype = RT_f32,
		.rank = 2,
		.dims = {B, K},
		.split = {{2, {0, 1}}},
		.offset = X},
	{.name = "y",
		.role = RT_INPUT,
		.dtype = RT_i32,
		.rank = 1,
		.dims = {B},
		.split = {{2, {0, 1}}},
		.range = 10,
		.offset = Y},
	{.name = "w",
		.role = RT_PARAM,
		.dtype = RT_f32,
		.rank = 1,
		.dims = {K},
		.init = RT_INIT_NORMAL,
		.scale = 0.5,
		.offset = W},
	{.name = "b",
		.role = RT_PARAM,
		.dtype = RT_f32,
		.init = RT_INIT_CONSTANT,
		.mean = 0.25,
		.offset = BIAS},
	{.name = "loss", .role = RT_OUTPUT, .dtype = RT_f32, .offset = LOSS},
};

static const struct rt_kernel kernels[] = {
	{"gradient", "fuse(matmul, sub)", 4.0 * ROWS *K, 8.0 * ROWS *K},
	{"update", "update(%w, %b)", 2.0 * (K + 1), 12.0 * (K + 1)},
};

static const struct rt_buf gradients[] = {
	{DW, DW, 1, K, 1, 0, 0, 0, false}, {DB, DB, 1, 1, 1, 0, 0, 0, false}};
static const struct rt_buf losses[] = {{LOSS, LOSS, 1, 1, 1, 0, 0, 0, false}};

static const struct rt_coll colls[] = {
	{.name = "gradients",
		.kind = RT_ALLREDUCE,
		.axis = 0,
		.dtype = RT_f32,
		.nbufs = 2,
		.bufs = gradients,
		.bytes = 16,
		.op = 4},
	{.name = "loss",
		.kind = RT_ALLREDUCE,
		.axis = 0,
		.dtype = RT_f32,
		.nbufs = 1,
		.bufs = losses,
		.bytes = 4,
		.op = 5},
};

static void
gradient(struct rt_ctx *ctx, int64_t mb)
{
	const float *x = (const float *)(ctx->arena + X) + mb * ROWS * K;
	const int32_t *y = (const int32_t *)(ctx->arena + Y) + mb * ROWS;
	const float *w = (const float *)(ctx->arena + W), *b = (const float *)(ctx->arena + BIAS);
	float *dw = (float *)(ctx->arena + DW), *db = (float *)(ctx->arena + DB);
	float *loss = (float *)(ctx->arena + LOSS);
	for (int i = 0; i < ROWS; i++) {
		float z = *b - (float)y[i];
		for (int k = 0; k < K; k++)
			z += x[i * K + k] * w[k];
		z = y[i] < 0 ? 0 : z;
		*loss += z * z / B;
		*db += 2 * z / B;
		for (int k = 0; k < K; k++)
			dw[k] += 2 * z * x[i * K + k] / B;
	}
}

static void
update(struct rt_ctx *ctx)
{
	float *w = (float *)(ctx->arena + W), *b = (float *)(ctx->arena + BIAS);
	const float *dw = (const float *)(ctx->arena + DW), *db = (const float *)(ctx->arena + DB);
	for (int k = 0; k < K; k++)
		w[k] -= 0.05f * dw[k];
	*b -= 0.05f * *db;
}

static void
step(struct rt_ctx *ctx)
{
	rt_kernel_begin(ctx, 0);
	memset(ctx->arena + DW, 0, BYTES - DW);
	for (int64_t mb = 0; mb < MICRO; mb++)
		gradient(ctx, mb);
	rt_kernel_end(ctx, 0);
	rt_post(ctx, 0);
	rt_post(ctx, 1);
	rt_wait(ctx, 0);
	rt_kernel_begin(ctx, 1);
	update(ctx);
	rt_kernel_end(ctx, 1);
	rt_wait(ctx, 1);
}

static const struct rt_program program = {
	.abi = RT_ABI_VERSION,
	.extensions = RT_EXTENSIONS_USED,
	.name = "tiny",
	.naxes = 2,
	.axes = axes,
	.ntensors = sizeof tensors / sizeof *tensors,
	.tensors = tensors,
	.nkernels = 2,
	.kernels = kernels,
	.ncolls = 2,
	.colls = colls,
	.arena_bytes = BYTES,
	.batch = B,
	.step = step,
	.generator = GENERATOR,
};

int
main(int argc, char **argv)
{
	return rt_main(&program, &rt_device_host, argc, argv);
}
