/* Every kind of collective on both axes of mesh [a = 2, b = 2], with one buffer and with two,
 * strided, and in PARTS parts, with LIBRARY by MPI's own collectives, from numbers that differ on every rank (the param `source`) to an output that keeps what
 * each rank got. Generated code would write the same tables out. */
#include "runtime/rt_program.h"

enum {
	SLOT = 1024, /* elements of a buffer, at most: 756, of an alltoall */
	COLLS = 40,
	SOURCE = 0,
	SOURCE_ELEMENTS = 2 * SLOT,
	RESULT = SOURCE_ELEMENTS * 4,
	RESULT_ELEMENTS = COLLS * 2 * SLOT,
	BYTES = RESULT + RESULT_ELEMENTS * 4
};

static const struct rt_axis axes[] = {{"a", 2, false}, {"b", 2, false}};

static const struct rt_tensor tensors[] = {
	{.name = "source",
		.role = RT_PARAM,
		.dtype = RT_f32,
		.rank = 2,
		.dims = {4, SOURCE_ELEMENTS},
		.split = {{2, {0, 1}}},
		.init = RT_INIT_NORMAL,
		.scale = 1,
		.offset = SOURCE},
	{.name = "result",
		.role = RT_OUTPUT,
		.dtype = RT_f32,
		.rank = 2,
		.dims = {4, RESULT_ELEMENTS},
		.split = {{2, {0, 1}}},
		.offset = RESULT},
};

#define BUF(i, b, first)                                                                           \
	{                                                                                          \
		SOURCE + (b)*SLOT * 4, RESULT + ((i)*2 + (b)) * SLOT * 4, 3, 5, 7, 4, 3, 6, first, \
			0                                                                          \
	}
#define BUFS(i, first)                                                                             \
	{                                                                                          \
		BUF(i, 0, first), BUF(i, 1, first)                                                 \
	}
#define BUFS_OF_KIND(k, first)                                                                     \
	BUFS(4 * (k), first), BUFS(4 * (k) + 1, first), BUFS(4 * (k) + 2, first),                  \
		BUFS(4 * (k) + 3, first)

static const struct rt_buf bufs[COLLS][2] = {BUFS_OF_KIND(0, false), BUFS_OF_KIND(1, false),
	BUFS_OF_KIND(2, false), BUFS_OF_KIND(3, false), BUFS_OF_KIND(4, false),
	BUFS_OF_KIND(5, false), BUFS_OF_KIND(6, false), BUFS_OF_KIND(7, false),
	BUFS_OF_KIND(8, false), BUFS_OF_KIND(9, true)};

#ifndef PARTS
#define PARTS 1
#endif
#define PARTS_OF(kind)                                                                             \
	((kind) == RT_ALLREDUCE || (kind) == RT_ALLGATHER || (kind) == RT_REDUCESCATTER ? PARTS : 0)

#define COLL(i, kind_, axis_, nbufs_)                                                              \
	{                                                                                          \
		.name = #kind_, .kind = RT_##kind_, .axis = axis_, .dtype = RT_f32, .from = 1,     \
		.to = (i) / 4 % 2, .nbufs = nbufs_, .bufs = bufs[i], .bytes = 840, .op = i,        \
		.parts = PARTS_OF(RT_##kind_)                                                      \
	}
#define COLLS_OF_KIND(k, kind)                                                                     \
	COLL(4 * (k), kind, 0, 1), COLL(4 * (k) + 1, kind, 0, 2), COLL(4 * (k) + 2, kind, 1, 1),   \
		COLL(4 * (k) + 3, kind, 1, 2)

static const struct rt_coll colls[COLLS] = {COLLS_OF_KIND(0, ALLREDUCE), COLLS_OF_KIND(1, REDUCE),
	COLLS_OF_KIND(2, BROADCAST), COLLS_OF_KIND(3, ALLGATHER), COLLS_OF_KIND(4, GATHER),
	COLLS_OF_KIND(5, SCATTER), COLLS_OF_KIND(6, REDUCESCATTER), COLLS_OF_KIND(7, ALLTOALL),
	COLLS_OF_KIND(8, SEND), COLLS_OF_KIND(9, ALLTOALL)};

static void
step(struct rt_ctx *ctx)
{
	memset(ctx->arena + RESULT, 0, BYTES - RESULT);
	for (int i = 0; i < COLLS; i++)
		rt_post(ctx, i);
	for (int i = 0; i < COLLS; i++)
		rt_wait(ctx, i);
}

static const struct rt_program program = {
	.abi = RT_ABI_VERSION,
#ifdef LIBRARY
	.library = true,
#endif
	.name = "every",
	.naxes = 2,
	.axes = axes,
	.ntensors = 2,
	.tensors = tensors,
	.ncolls = COLLS,
	.colls = colls,
	.arena_bytes = BYTES,
	.step = step,
};

int
main(int argc, char **argv)
{
	return rt_main(&program, &rt_device_host, argc, argv);
}
