/*
 * What a message costs: a step is one collective of f32 and nothing else, so that "iteration:" is
 * its time.
 *
 *     message [KIND BYTES RANKS] [options of a program]     allreduce 1048576 2 unless told
 *     mpirun -n 2 message allgather 4000000 2 -steps 1000
 *
 * KIND is allreduce, allgather or reducescatter; BYTES are those of the whole tensor, rounded up to
 * equal slices. BYTES 0: the step is empty, and the time is that of the loop.
 */
#include "runtime/rt_program.h"

#include <stdio.h>
#include <stdlib.h>

enum { OWN_ARGUMENTS = 3 };

static void
step(struct rt_ctx *ctx)
{
	rt_post(ctx, 0);
	rt_wait(ctx, 0);
}

static void
step_empty(struct rt_ctx *ctx)
{
	(void)ctx;
}

static int
run(enum rt_coll_kind kind, int64_t bytes, int64_t ranks, int argc, char **argv)
{
	const int64_t size = (int64_t)sizeof(float), slices = kind == RT_ALLREDUCE ? 1 : ranks;
	const int64_t n = (bytes + size * slices - 1) / (size * slices);
	const size_t room = ((size_t)(n * slices * size) / RT_ARENA_ALIGN + 1) * RT_ARENA_ALIGN;
	const struct rt_axis axis = {"dp", ranks, false};
	const struct rt_buf buf = {.src = 0, .dst = room, .outer = 1, .n = n, .inner = 1};
	const struct rt_coll coll = {.name = "message",
		.kind = kind,
		.dtype = RT_f32,
		.nbufs = 1,
		.bufs = &buf,
		.bytes = (size_t)(n * slices * size)};
	const struct rt_program program = {.abi = RT_ABI_VERSION,
		.name = "message",
		.naxes = 1,
		.axes = &axis,
		.ncolls = n ? 1 : 0,
		.colls = &coll,
		.arena_bytes = 2 * room,
		.step = n ? step : step_empty};

	return rt_main(&program, &rt_device_host, argc, argv);
}

int
main(int argc, char **argv)
{
	if (argc <= OWN_ARGUMENTS || argv[1][0] == '-')
		return run(RT_ALLREDUCE, 1 << 20, 2, argc, argv);
	const enum rt_coll_kind kind = rt_coll_find(argv[1], strlen(argv[1]));
	const int64_t bytes = atoll(argv[2]), ranks = atoll(argv[3]);
	const bool known = kind == RT_ALLREDUCE || kind == RT_ALLGATHER || kind == RT_REDUCESCATTER;
	if (!known || bytes < 0 || ranks < 1) {
		fprintf(stderr, "message [KIND BYTES RANKS] [options of a program]\n");
		return EXIT_FAILURE;
	}
	argv[OWN_ARGUMENTS] = argv[0];
	return run(kind, bytes, ranks, argc - OWN_ARGUMENTS, argv + OWN_ARGUMENTS);
}
