/* Collectives on a device: each is put into the communication stream after the event that marks its
 * post in the compute stream; waiting for it makes the compute stream wait for its end. The host
 * waits for neither. NCCL is the carrier if ranks are MPI processes; ranks of one process read each
 * other's memory. */
#include "runtime/cuda/cuda.h"

#include "runtime/trace/clock.h"
#include "runtime/layout.h"
#include "runtime/comm/parts.h"
#include "runtime/watch/watchdog.h"

#include <stdlib.h>

/* Most collectives in flight that can be distinguished: more than a step has. */
#define RT_CUDA_ORDER 4096

/* A step that is a graph is assumed to compute for this many times the longest previous step; after
 * that, to wait. */
#define LATE 2

struct rt_engine {
	struct rt_engine_setup setup;
	struct rt_cuda *device;
	struct rt_cuda_carrier *carrier;
	cudaEvent_t *posted, *complete; /* [ncolls] */
	/* The first collectives since the device was last idle, for the watchdog. */
	_Atomic int32_t order[RT_CUDA_ORDER];
	_Atomic uint32_t nposted, before; /* since then, and before that */
	struct rt_buf *room;              /* for the current part */
};

struct rt_cuda_group
rt_cuda_group_of(const struct rt_engine_setup *setup, int axis)
{
	const struct rt_axis *a = &setup->prog->axes[axis];
	if (a->is_time)
		return (struct rt_cuda_group){1, 0, setup->world->rank, 0};
	const int stride = (int)rt_axis_stride(setup->prog, axis), me = (int)setup->coord[axis];
	return (struct rt_cuda_group){(int)a->size, me, setup->world->rank - me * stride, stride};
}

static bool
make_events(struct rt_engine *e, struct rt_status *st)
{
	const int n = e->setup.prog->ncolls;
	e->room = calloc((size_t)rt_parts_room(e->setup.prog) + 1, sizeof *e->room);
	if (!e->room)
		return rt_fail_memory(st, sizeof *e->room, "collectives");
	return rt_cuda_make_events(&e->posted, n, st) && rt_cuda_make_events(&e->complete, n, st);
}

static void
cuda_destroy(struct rt_engine *e)
{
	const struct rt_world *w = e->setup.world;
	rt_watchdog_watch(w->watchdog, w->rank, (struct rt_watched){0});
	rt_cuda_drop_graph(e->device);
	if (e->carrier)
		e->carrier->ops->free(e->carrier);
	rt_cuda_free_events(e->posted, e->setup.prog->ncolls);
	rt_cuda_free_events(e->complete, e->setup.prog->ncolls);
	rt_cuda_unload(e->device);
	free(e->room);
	free(e);
}

/* What the device is doing: the first incomplete collective is running if its post has been reached
 * in the stream, else earlier kernels are. The host waits for the device meanwhile. */
static enum rt_device_work
look(void *arg, struct rt_activity *p)
{
	struct rt_engine *e = arg;
	const uint32_t n = RT_GET(e->nposted);
	cudaSetDevice(e->device->number); /* the watchdog's thread has no current device */
	if (e->carrier->ops->look)
		e->carrier->ops->look(e->carrier);
	if (e->device->graph) /* only the duration of a step is known */
		return rt_now_ns() - RT_GET(e->device->began) < LATE * RT_GET(e->device->longest)
			       ? RT_DEVICE_COMPUTES
			       : RT_DEVICE_UNKNOWN;
	if (n > RT_CUDA_ORDER || e->device->capturing)
		return RT_DEVICE_UNKNOWN;
	for (uint32_t i = 0; i < n; i++) {
		const int32_t coll = RT_GET(e->order[i]);
		if (cudaEventQuery(e->complete[coll]) == cudaSuccess)
			continue;
		RT_PUT(p->coll, coll);
		RT_PUT(p->collectives, RT_GET(e->before) + i + 1);
		return cudaEventQuery(e->posted[coll]) == cudaSuccess ? RT_DEVICE_COLLECTIVE
								      : RT_DEVICE_COMPUTES;
	}
	return RT_DEVICE_COMPUTES;
}

/* Ends the waits of the carrier's library. */
static void
end(void *arg)
{
	struct rt_engine *e = arg;
	cudaSetDevice(e->device->number);
	if (e->carrier->ops->end)
		e->carrier->ops->end(e->carrier);
}

static struct rt_engine *
cuda_create(const struct rt_engine_setup *setup, struct rt_status *st)
{
	struct rt_engine *e = calloc(1, sizeof *e);
	if (!e)
		rt_fail_memory(st, sizeof *e, "the communication stream");
	else {
		e->setup = *setup;
		e->device = setup->device;
		if (rt_cuda_load(e->device, setup, st))
			make_events(e, st);
	}
	/* All ranks create their carriers together, so none may be missing. */
	if (!rt_agree(setup->world, st)) {
		if (e)
			cuda_destroy(e);
		return NULL;
	}
	const bool processes = rt_mpi_started();
	e->device->needs_host = !processes && setup->world->nranks > 1;
	e->carrier = processes ? rt_cuda_nccl(e->device, &e->setup, st)
			       : rt_cuda_peers(e->device, &e->setup, st);
	if (e->carrier) {
		rt_watchdog_watch(setup->world->watchdog, setup->world->rank,
			(struct rt_watched){look, end, e});
		return e;
	}
	cuda_destroy(e);
	return NULL;
}

/* The parts of a collective, one after the other in the stream. */
static void
run_parts(struct rt_engine *e, const struct rt_coll *c)
{
	const int places = (int)e->setup.prog->axes[c->axis].size;
	for (int i = 0; i < rt_parts(c); i++) {
		const struct rt_coll part = rt_part(c, places, i, e->room);
		if (part.nbufs)
			e->carrier->ops->run(e->carrier, &part);
	}
}

static void
cuda_post(struct rt_engine *e, int32_t coll)
{
	struct rt_cuda *d = e->device;
	const struct rt_coll *c = &e->setup.prog->colls[coll];
	const struct rt_cuda_span what = {.track = RT_TRACK_COMMUNICATION,
		.kind = RT_EVENT_COLLECTIVE,
		.index = coll,
		.posted = d->probe ? rt_now_ns() : 0,
		.sequence = d->probe && d->trace ? rt_trace_sequence(d->trace, coll) : 0};
	struct rt_activity *activity = e->setup.world->activity;
	const uint32_t number = RT_GET(e->nposted);
	rt_cuda_check(d, cudaEventRecord(e->posted[coll], d->compute), "posting a collective");
	rt_cuda_check(d, cudaStreamWaitEvent(d->communication, e->posted[coll], 0),
		"posting a collective");
	const int span = rt_cuda_span_begin(d, d->communication, &what);
	rt_activity_collective(activity, coll);
	rt_activity_wait(activity, RT_WAIT_COLLECTIVE, -1);
	run_parts(e, c);
	rt_activity_go_on(activity);
	if (number < RT_CUDA_ORDER)
		RT_PUT(e->order[number], coll);
	RT_PUT(e->nposted, number + 1);
	rt_cuda_span_end(d, d->communication, span);
	rt_cuda_check(
		d, cudaEventRecord(e->complete[coll], d->communication), "ending a collective");
}

static void
cuda_wait(struct rt_engine *e, int32_t coll)
{
	rt_cuda_wait_event(e->device, e->complete[coll], RT_EVENT_WAIT, coll);
}

static void
cuda_drain(struct rt_engine *e)
{
	struct rt_cuda *d = e->device;
	struct rt_activity *activity = e->setup.world->activity;
	const uint32_t all = RT_GET(e->before) + RT_GET(e->nposted);
	if (activity)
		RT_PUT(activity->device, (int32_t)RT_DEVICE_UNKNOWN);
	rt_activity_wait(activity, RT_WAIT_DEVICE, -1);
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "a kernel of the step");
	rt_cuda_check(d, cudaStreamSynchronize(d->communication), "a collective of the step");
	rt_cuda_check(d, cudaStreamSynchronize(d->to_host), "a copy to host memory");
	rt_cuda_check(d, cudaStreamSynchronize(d->to_device), "a copy from host memory");
	rt_activity_go_on(activity);
	if (rt_activity_ended(activity)) /* and so did these waits */
		rt_abort(e->setup.world, RT_EXIT_RUN);
	const int64_t began = atomic_exchange(&d->began, 0), took = rt_now_ns() - began;
	if (began && took > RT_GET(d->longest))
		RT_PUT(d->longest, took);
	if (activity)
		RT_PUT(activity->collectives, all);
	RT_PUT(e->nposted, 0);
	RT_PUT(e->before, all);
	rt_cuda_resolve_spans(d);
}

const struct rt_engine_ops rt_cuda_engine = {
	.create = cuda_create,
	.post = cuda_post,
	.wait = cuda_wait,
	.drain = cuda_drain,
	.destroy = cuda_destroy,
};
