/* CUDA devices for the runtime's main loop, and the program's entry: see rt_cuda.h. */
#include "runtime/cuda/cuda.h"
#include "runtime/rank.h"
#include "runtime/trace/clock.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void
rt_cuda_fatal(const struct rt_cuda *d, const char *what, const char *why)
{
	/* After the watchdog has ended a collective, calls fail, too; the reason has been
	 * reported. */
	if (!d->world || !rt_activity_ended(d->world->activity))
		fprintf(stderr, "%serror: device %d: %s: %s\n", rt_line_start(), d->number, what,
			why);
	if (d->world)
		rt_abort(d->world, RT_EXIT_RUN);
	_Exit(RT_EXIT_RUN);
}

void
rt_cuda_check(const struct rt_cuda *d, cudaError_t error, const char *what)
{
	if (error != cudaSuccess)
		rt_cuda_fatal(d, what, cudaGetErrorString(error));
}

/* The number of devices; fails with the reason if no device can be used. */
static bool
count_devices(int *count, struct rt_status *st)
{
	*count = 0;
	const cudaError_t error = cudaGetDeviceCount(count);
	if (error != cudaSuccess)
		return rt_fail(st, RT_EXIT_DEVICE, "no CUDA device: %s", cudaGetErrorString(error));
	return *count > 0 || rt_fail(st, RT_EXIT_DEVICE, "no CUDA device: the driver reports none");
}

static bool
cuda_available(int needed, struct rt_status *st)
{
	int count;
	(void)needed;
	return count_devices(&count, st);
}

bool
rt_cuda_try(struct rt_status *st, const char *what, cudaError_t error)
{
	return error == cudaSuccess ||
	       rt_fail(st, RT_EXIT_RUN, "%s: %s", what, cudaGetErrorString(error));
}

bool
rt_cuda_make_events(cudaEvent_t **events, int n, struct rt_status *st)
{
	*events = calloc((size_t)n + 1, sizeof **events);
	if (!*events)
		return rt_fail_memory(st, (size_t)n * sizeof **events, "events");
	for (int i = 0; i < n; i++)
		if (!rt_cuda_try(st, "an event",
			    cudaEventCreateWithFlags(&(*events)[i], cudaEventDisableTiming)))
			return false;
	return true;
}

void
rt_cuda_free_events(cudaEvent_t *events, int n)
{
	for (int i = 0; events && i < n; i++)
		if (events[i])
			cudaEventDestroy(events[i]);
	free(events);
}

static void
cuda_close(void *dev)
{
	struct rt_cuda *d = dev;
	if (!d)
		return;
	const cudaStream_t streams[] = {d->compute, d->communication, d->to_host, d->to_device};
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (streams[i])
			cudaStreamDestroy(streams[i]);
	free(d);
}

static bool
cuda_open(int local, void **dev, struct rt_status *st)
{
	int count;
	*dev = NULL;
	if (!count_devices(&count, st))
		return false;
	struct rt_cuda *d = calloc(1, sizeof *d);
	if (!d)
		return rt_fail_memory(st, sizeof *d, "a device");
	*dev = d;
	d->number = local % count; /* ranks of one process may share a device */
	bool ok = rt_cuda_try(st, "cudaSetDevice", cudaSetDevice(d->number));
	/* If blocks of both are ready, those of a message run first: other ranks wait for it. */
	int least = 0, greatest = 0;
	ok = ok && rt_cuda_try(st, "a stream's priority",
			   cudaDeviceGetStreamPriorityRange(&least, &greatest));
	const struct {
		cudaStream_t *stream;
		int priority;
	} made[] = {{&d->compute, least}, {&d->communication, greatest}, {&d->to_host, least},
		{&d->to_device, least}};
	for (size_t i = 0; i < sizeof made / sizeof *made && ok; i++)
		ok = rt_cuda_try(st, "a stream",
			cudaStreamCreateWithPriority(
				made[i].stream, cudaStreamNonBlocking, made[i].priority));
	return ok;
}

static void *
cuda_alloc(void *dev, size_t bytes)
{
	struct rt_cuda *d = dev;
	void *memory = NULL;
	if (cudaMalloc(&memory, bytes ? bytes : 1) != cudaSuccess)
		return NULL;
	rt_cuda_check(d, cudaMemset(memory, 0, bytes), "clearing memory");
	rt_cuda_check(d, cudaDeviceSynchronize(), "clearing memory");
	return memory;
}

/* Pinned: else copies are not asynchronous, and slower than the link. */
static void *
cuda_alloc_host(void *dev, size_t bytes, struct rt_status *st)
{
	void *memory = NULL;
	(void)dev;
	const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
	if (error != cudaSuccess) {
		rt_fail(st, RT_EXIT_RUN,
			"cannot pin %zu bytes of host memory for offloaded tensors: %s", bytes,
			cudaGetErrorString(error));
		return NULL;
	}
	memset(memory, 0, bytes);
	return memory;
}

static void
cuda_free_host(void *dev, void *memory)
{
	(void)dev;
	cudaFreeHost(memory);
}

static void
cuda_free(void *dev, void *memory)
{
	(void)dev;
	cudaFree(memory);
}

static void
cuda_sync(void *dev)
{
	struct rt_cuda *d = dev;
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "the compute stream");
	rt_cuda_check(d, cudaStreamSynchronize(d->communication), "the communication stream");
	rt_cuda_check(d, cudaStreamSynchronize(d->to_host), "the stream of copies to the host");
	rt_cuda_check(d, cudaStreamSynchronize(d->to_device), "the stream of copies to the device");
}

static void
cuda_upload(void *dev, void *to, const void *host, size_t bytes)
{
	struct rt_cuda *d = dev;
	rt_cuda_check(d, cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, d->compute),
		"a copy to the device");
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "a copy to the device");
}

static void
cuda_download(void *dev, void *host, const void *from, size_t bytes)
{
	struct rt_cuda *d = dev;
	cuda_sync(d);
	rt_cuda_check(d, cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, d->compute),
		"a copy from the device");
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "a copy from the device");
}

static const struct rt_device cuda_device = {
	.name = "cuda",
	.available = cuda_available,
	.open = cuda_open,
	.close = cuda_close,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.alloc_host = cuda_alloc_host,
	.free_host = cuda_free_host,
	.upload = cuda_upload,
	.download = cuda_download,
	.sync = cuda_sync,
	.is_host = false,
	.outside_arena = RT_CUDA_WORKSPACE + RT_CUDA_ADDRESSES,
	.for_collectives = RT_CUDA_ROOM,
	.engine = &rt_cuda_engine,
	.transfers = &rt_cuda_transfers,
};

/* Captures the whole step; work that it puts into other streams must have joined the compute
 * stream. */
static void
capture(struct rt_cuda *d, struct rt_ctx *ctx)
{
	cudaGraph_t graph;
	d->capturing = true;
	rt_cuda_check(d, cudaStreamBeginCapture(d->compute, cudaStreamCaptureModeThreadLocal),
		"capturing the step");
	d->target->prog->step(ctx);
	rt_cuda_check(d, cudaStreamEndCapture(d->compute, &graph), "capturing the step");
	d->capturing = false;
	rt_cuda_check(d, cudaGraphInstantiate(&d->graph, graph, 0), "instantiating the step");
	rt_cuda_check(d, cudaGraphDestroy(graph), "a graph");
}

/* One step: as one graph if that is requested and possible. The first step loads code and chooses
 * algorithms, and steps whose kernels are timed are not captured. */
static void
cuda_step(struct rt_ctx *ctx)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	d->probe = ctx->probe;
	RT_PUT(d->began, rt_now_ns());
	const bool wanted =
		ctx->rank->options->graph && !d->needs_host && !ctx->probe && d->steps > 0;
	if (!ctx->probe)
		d->steps++;
	if (!wanted) {
		d->target->prog->step(ctx);
		return;
	}
	if (!d->graph)
		capture(d, ctx);
	rt_cuda_check(d, cudaGraphLaunch(d->graph, d->compute), "launching the step");
}

int
rt_cuda_main(
	const struct rt_program *prog, const struct rt_cuda_program *cuda, int argc, char **argv)
{
	const struct rt_cuda_target target = {prog, cuda};
	struct rt_program whole = *prog;
	whole.target = &target;
	whole.step = cuda_step;
	return rt_main(&whole, &cuda_device, argc, argv);
}
