/* In place of what a machine does not have: -DWITHOUT_MPI, -DWITHOUT_NCCL, -DWITHOUT_CUDNN. Ranks
 * are then threads of one process. The matrix products of the host, which a CUDA program does not
 * call, are left out too. */
#include "runtime/cuda/cuda.h"
#include "runtime/comm/threads.h"

#include <stdlib.h>

void
rt_single_threaded_libraries(void)
{
}

#ifdef WITHOUT_MPI
bool
rt_mpi_started(void)
{
	return false;
}

bool
rt_mpi_world(struct rt_world *w, double seconds, struct rt_status *st)
{
	(void)w;
	(void)seconds;
	return rt_fail(st, RT_EXIT_USAGE, "built without MPI");
}

void
rt_mpi_finish(struct rt_world *w, double seconds)
{
	(void)w;
	(void)seconds;
}

_Noreturn void
rt_abort(const struct rt_world *w, int code)
{
	(void)w;
	_Exit(code);
}

struct rt_transport *
rt_mpi_transport(const struct rt_program *prog, const struct rt_world *w, const int64_t *coord)
{
	(void)prog;
	(void)w;
	(void)coord;
	return NULL;
}
#endif

#ifdef WITHOUT_NCCL
struct rt_cuda_carrier *
rt_cuda_nccl(struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st)
{
	(void)d;
	(void)setup;
	rt_fail(st, RT_EXIT_RUN, "built without NCCL");
	return NULL;
}
#endif

#ifdef WITHOUT_CUDNN
void
rt_cuda_conv(
	struct rt_ctx *ctx, int32_t conv, const void *a, const void *b, void *out, void *workspace)
{
	(void)conv, (void)a, (void)b, (void)out, (void)workspace;
	rt_cuda_fatal(rt_cuda_of(ctx), "a convolution", "built without cuDNN");
}

bool
rt_cuda_conv_again(struct rt_cuda *d, int32_t conv, int32_t candidate)
{
	(void)d, (void)conv, (void)candidate;
	return false;
}

void
rt_cuda_close_convs(struct rt_cuda *d)
{
	(void)d;
}
#endif
