/* Transfers on a device: each is put into the stream of its direction after the event that marks
 * its post in the compute stream; waiting for it makes the compute stream wait for its end. The
 * host waits for neither. Host memory is pinned (device.c), else a copy would not be asynchronous.
 *
 *	compute   kernel, posted -----------------> wait for complete, kernel
 *	to host          wait for posted, copy, complete
 */
#include "runtime/cuda/cuda.h"

#include "runtime/trace/clock.h"

#include <stdlib.h>

struct rt_transfers {
	struct rt_transfers_setup setup;
	struct rt_cuda *device;
	cudaEvent_t *posted, *complete; /* [ntransfers] */
};

static void
cuda_destroy(struct rt_transfers *t)
{
	rt_cuda_free_events(t->posted, t->setup.prog->ntransfers);
	rt_cuda_free_events(t->complete, t->setup.prog->ntransfers);
	free(t);
}

static struct rt_transfers *
cuda_create(const struct rt_transfers_setup *setup, struct rt_status *st)
{
	struct rt_transfers *t = calloc(1, sizeof *t);
	if (!t) {
		rt_fail_memory(st, sizeof *t, "transfers");
		return NULL;
	}
	t->setup = *setup;
	t->device = setup->device;
	if (rt_cuda_make_events(&t->posted, setup->prog->ntransfers, st) &&
		rt_cuda_make_events(&t->complete, setup->prog->ntransfers, st))
		return t;
	cuda_destroy(t);
	return NULL;
}

static void
put_copy(struct rt_transfers *t, cudaStream_t stream, const struct rt_transfer *x)
{
	unsigned char *device = t->setup.arena + x->device, *host = t->setup.host + x->host;
	if (!x->bytes)
		return;
	rt_cuda_check(t->device,
		x->to_host
			? cudaMemcpyAsync(host, device, x->bytes, cudaMemcpyDeviceToHost, stream)
			: cudaMemcpyAsync(device, host, x->bytes, cudaMemcpyHostToDevice, stream),
		x->to_host ? "a copy to host memory" : "a copy from host memory");
}

static void
cuda_post(struct rt_transfers *t, int32_t transfer)
{
	struct rt_cuda *d = t->device;
	const struct rt_transfer *x = &t->setup.prog->transfers[transfer];
	const cudaStream_t stream = x->to_host ? d->to_host : d->to_device;
	const struct rt_cuda_span what = {.track = rt_transfer_track(x),
		.kind = RT_EVENT_TRANSFER,
		.index = transfer,
		.posted = d->probe ? rt_now_ns() : 0};
	rt_cuda_check(d, cudaEventRecord(t->posted[transfer], d->compute), "posting a copy");
	rt_cuda_check(d, cudaStreamWaitEvent(stream, t->posted[transfer], 0), "posting a copy");
	const int span = rt_cuda_span_begin(d, stream, &what);
	put_copy(t, stream, x);
	rt_cuda_span_end(d, stream, span);
	rt_cuda_check(d, cudaEventRecord(t->complete[transfer], stream), "ending a copy");
}

static void
cuda_wait(struct rt_transfers *t, int32_t transfer)
{
	rt_cuda_wait_event(t->device, t->complete[transfer], RT_EVENT_TRANSFER_WAIT, transfer);
}

/* The engine's drain has waited for all streams, with the watchdog informed: work before a copy may
 * wait for other ranks. */
static void
cuda_drain(struct rt_transfers *t)
{
	(void)t;
}

const struct rt_transfers_ops rt_cuda_transfers = {
	.create = cuda_create,
	.post = cuda_post,
	.wait = cuda_wait,
	.drain = cuda_drain,
	.destroy = cuda_destroy,
};
