/* What an allreduce costs: a step is one allreduce of ELEMENTS f32 over PLACES ranks and nothing
 * else, so that "iteration:" is its time. ELEMENTS 0: the step is empty, and the time is that of
 * the loop.
 *
 *	cc -O3 -DPLACES=2 -DELEMENTS=262144 allreduce.c -ldopt_rt ... && ./a.out -steps 1000
 *	mpirun -n 2 ./a.out -steps 1000 */
#include "runtime/rt_program.h"

#ifndef PLACES
#define PLACES 2
#endif
#ifndef ELEMENTS
#define ELEMENTS 262144
#endif

enum { SOURCE = 0, RESULT = (ELEMENTS + 16) * 4 / 64 * 64 + 64, BYTES = 2 * RESULT };

static const struct rt_axis axes[] = {{"dp", PLACES, false}};
static const struct rt_buf buf = {
	.src = SOURCE, .dst = RESULT, .outer = 1, .n = ELEMENTS, .inner = 1};
static const struct rt_coll colls[] = {{.name = "sum",
	.kind = RT_ALLREDUCE,
	.dtype = RT_f32,
	.nbufs = 1,
	.bufs = &buf,
	.bytes = ELEMENTS * (size_t)4}};

static void
step(struct rt_ctx *ctx)
{
	if (!ELEMENTS)
		return;
	rt_post(ctx, 0);
	rt_wait(ctx, 0);
}

static const struct rt_program program = {.abi = RT_ABI_VERSION,
	.name = "allreduce",
	.naxes = 1,
	.axes = axes,
	.ncolls = 1,
	.colls = colls,
	.arena_bytes = BYTES,
	.step = step};

int
main(int argc, char **argv)
{
	return rt_main(&program, &rt_device_host, argc, argv);
}
