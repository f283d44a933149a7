/* Tensors in many layouts on mesh [a = A, c = C] with steps [t = T]. A step only copies: an output
 * is what the rank has of an input or a parameter, in the same layout, so that files show it as a
 * whole. */
#include "runtime/rt_program.h"

#ifndef A
#define A 1
#endif
#ifndef C
#define C 1
#endif
#ifndef T
#define T 1
#endif

enum { P0 = 0, P1 = 256, P2 = 512, P3 = 768, S0 = 832 };
enum { IN = 1024, OUT0 = 2048, OUT1 = 3072, BYTES = 4096 };

static const struct rt_axis axes[] = {{"a", A, false}, {"t", T, true}, {"c", C, false}};

static const struct rt_tensor tensors[] = {
	{.name = "p0",
		.role = RT_PARAM,
		.dtype = RT_f32,
		.rank = 2,
		.dims = {4, 6},
		.split = {{1, {0}}, {1, {2}}},
		.init = RT_INIT_HE,
		.scale = 1,
		.offset = P0},
	{.name = "p1",
		.role = RT_PARAM,
		.dtype = RT_f64,
		.rank = 1,
		.dims = {8},
		.split = {{2, {2, 0}}},
		.init = RT_INIT_UNIFORM,
		.scale = 2,
		.mean = 1,
		.seed = 5,
		.offset = P1},
	{.name = "p2",
		.role = RT_PARAM,
		.dtype = RT_f32,
		.rank = 2,
		.dims = {3, 4},
		.split = {{0, {0}}, {1, {2}}},
		.single = {A},
		.init = RT_INIT_XAVIER,
		.scale = 1,
		.offset = P2},
	{.name = "p3",
		.role = RT_PARAM,
		.dtype = RT_bf16,
		.rank = 1,
		.dims = {5},
		.init = RT_INIT_NORMAL,
		.scale = 1,
		.offset = P3},
	{.name = "s0",
		.role = RT_STATE,
		.dtype = RT_i32,
		.init = RT_INIT_CONSTANT,
		.mean = 7,
		.offset = S0},
	{.name = "x",
		.role = RT_INPUT,
		.dtype = RT_f32,
		.rank = 3,
		.dims = {8, 3, 4},
		.split = {{2, {0, 1}}, {0, {0}}, {1, {2}}},
		.offset = IN},
	{.name = "x_again",
		.role = RT_OUTPUT,
		.dtype = RT_f32,
		.rank = 3,
		.dims = {8, 3, 4},
		.split = {{2, {0, 1}}, {0, {0}}, {1, {2}}},
		.offset = OUT0},
	{.name = "p0_again",
		.role = RT_OUTPUT,
		.dtype = RT_f32,
		.rank = 2,
		.dims = {4, 6},
		.split = {{1, {0}}, {1, {2}}},
		.offset = OUT1},
};

static void
step(struct rt_ctx *ctx)
{
	memcpy(ctx->arena + OUT0, ctx->arena + IN, OUT1 - OUT0);
	memcpy(ctx->arena + OUT1, ctx->arena + P0, P1 - P0);
}

static const struct rt_program program = {
	.abi = RT_ABI_VERSION,
	.name = "layouts",
	.naxes = 3,
	.axes = axes,
	.ntensors = sizeof tensors / sizeof *tensors,
	.tensors = tensors,
	.arena_bytes = BYTES,
	.batch = 8,
	.step = step,
};

int
main(int argc, char **argv)
{
	return rt_main(&program, &rt_device_host, argc, argv);
}
