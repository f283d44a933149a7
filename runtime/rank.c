/* A rank's resources, and the functions that a step function calls: see rank.h. */
#include "runtime/rank.h"
#include "runtime/bind.h"
#include "runtime/trace/clock.h"
#include <stdlib.h>

/* Events that a track of a trace keeps: some hundred steps of a large model, 12 MB. */
#define TRACE_EVENTS ((size_t)1 << 18)

size_t
rt_slice_bytes(const struct rt_program *p, const struct rt_tensor *t)
{
	const int64_t anywhere[RT_MAX_AXES] = {0};
	struct rt_box box;
	return (size_t)rt_tensor_box(p, t, anywhere, 0, &box) * rt_dtype_bytes(t->dtype);
}

/* The address of a slice: in the arena, or in host memory. */
static unsigned char *
place_of(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	unsigned char *base = t->on_host ? r->ctx.host : r->ctx.arena;
	return base + t->offset + (size_t)slice * rt_slice_bytes(r->prog, t);
}

/* Can the processor access the tensor in place? */
static bool
is_near(const struct rt_rank *r, const struct rt_tensor *t)
{
	return r->device->is_host || t->on_host;
}

void
rt_rank_keep(struct rt_rank *r, const struct rt_tensor *t, void *to)
{
	const size_t bytes = rt_slice_bytes(r->prog, t);
	if (is_near(r, t))
		memcpy(to, place_of(r, t, 0), bytes);
	else
		r->device->download(r->ctx.device, to, place_of(r, t, 0), bytes);
}

void
rt_rank_restore(struct rt_rank *r, const struct rt_tensor *t, const void *from)
{
	const size_t bytes = rt_slice_bytes(r->prog, t);
	if (is_near(r, t))
		memcpy(place_of(r, t, 0), from, bytes);
	else
		r->device->upload(r->ctx.device, place_of(r, t, 0), from, bytes);
}

const void *
rt_rank_view(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	if (is_near(r, t))
		return place_of(r, t, slice);
	r->device->download(
		r->ctx.device, r->stage, place_of(r, t, slice), rt_slice_bytes(r->prog, t));
	return r->stage;
}

void *
rt_rank_room(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	return is_near(r, t) ? (void *)place_of(r, t, slice) : r->stage;
}

void
rt_rank_put(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	if (!is_near(r, t))
		r->device->upload(
			r->ctx.device, place_of(r, t, slice), r->stage, rt_slice_bytes(r->prog, t));
}

static bool
allocate_host(struct rt_rank *r)
{
	const size_t bytes = r->prog->host_bytes;
	if (!bytes)
		return true;
	r->ctx.host = r->device->alloc_host(r->ctx.device, bytes, r->status);
	r->allocated_host = bytes;
	return r->ctx.host != NULL;
}

static bool
allocate(struct rt_rank *r)
{
	struct rt_status *st = r->status;
	size_t stage = 1;
	for (int i = 0; i < r->prog->ntensors; i++) {
		const size_t bytes = rt_slice_bytes(r->prog, &r->prog->tensors[i]);
		stage = bytes > stage ? bytes : stage;
	}
	const size_t arena = rt_arena_bytes(r->prog, r->ctx.coord);
	r->ctx.arena = r->device->alloc(r->ctx.device, arena);
	if (!r->ctx.arena)
		return rt_fail_memory(st, arena, "the arena");
	r->allocated = arena + r->device->outside_arena +
		       (r->prog->ncolls ? r->device->for_collectives : 0);
	if (!allocate_host(r))
		return false;
	/* A single rank on the host has no tensor in flight. */
	const bool alone = r->device->is_host && r->world->nranks == 1;
	r->own_stage = !alone && (!r->device->is_host || r->prog->stage_bytes < stage);
	r->stage = r->own_stage ? malloc(stage) : r->ctx.arena + r->prog->stage;
	if (!r->stage)
		return rt_fail_memory(st, stage, "communication staging");
	if (!r->options->trace)
		return true;
	r->trace = rt_trace_new(r->prog, r->world->rank, r->ctx.coord, TRACE_EVENTS);
	return r->trace || rt_fail_memory(st, TRACE_EVENTS, "the trace");
}

/* The traces of one run have one number: rank 0's. */
static bool
number_run(struct rt_rank *r)
{
	if (!r->trace)
		return true;
	const int64_t mine = rt_trace_run(r->trace);
	int64_t *all = malloc((size_t)r->world->nranks * sizeof *all);
	if (!all)
		rt_fail_memory(r->status, (size_t)r->world->nranks * sizeof *all, "a trace");
	if (!rt_agree(r->world, r->status)) {
		free(all);
		return false;
	}
	r->world->ops->allgather(r->world, &mine, all, sizeof mine);
	rt_trace_set_run(r->trace, all[0]);
	free(all);
	return true;
}

static bool
open_transport(struct rt_rank *r, struct rt_transport *transport)
{
	r->transport = transport;
	if (r->device->engine != &rt_engine_host)
		return true;
	if (!transport)
		r->transport = rt_mpi_transport(r->prog, r->world, r->ctx.coord);
	if (!r->transport)
		return rt_fail_memory(r->status, rt_arena_bytes(r->prog, r->ctx.coord), "messages");
	r->transport->arena = (char *)r->ctx.arena;
	r->transport->activity = r->world->activity;
	if (r->trace)
		rt_trace_processors(r->trace, r->transport->haste.processors);
	return true;
}

static void
open_transfers(struct rt_rank *r)
{
	const struct rt_transfers_setup setup = {.prog = r->prog,
		.arena = r->ctx.arena,
		.host = r->ctx.host,
		.device = r->ctx.device,
		.link = r->options->host_link,
		.crowded = r->world->nlocal > rt_cores(),
		.trace = r->trace};
	if (r->prog->ntransfers)
		r->transfers = r->device->transfers->create(&setup, r->status);
}

bool
rt_rank_open(struct rt_rank *r, struct rt_transport *transport)
{
	rt_activity_stage(r->world->activity, RT_STAGE_OPEN);
	r->ctx.rank = r;
	r->ctx.prog = r->prog;
	r->probe.trace = NULL;
	r->transport = transport; /* from here on released with the rank */
	rt_place_coords(r->prog, r->world->rank, r->ctx.coord);
	const int local = r->world->local;
	if (r->device->available(local + 1, r->status) &&
		r->device->open(local, &r->ctx.device, r->status))
		allocate(r);
	if (!rt_agree(r->world, r->status))
		return false;
	if (!number_run(r))
		return false;
	open_transport(r, transport);
	r->probe.trace = r->trace;
	if (!rt_agree(r->world, r->status))
		return false;
	const struct rt_engine_setup setup = {r->prog, r->world, r->ctx.coord, r->ctx.arena,
		r->ctx.device, r->transport, r->trace};
	r->engine = r->device->engine->create(&setup, r->status);
	if (r->engine)
		open_transfers(r);
	return rt_agree(r->world, r->status);
}

void
rt_rank_drain(struct rt_rank *r)
{
	r->device->engine->drain(r->engine);
	if (r->transfers)
		r->device->transfers->drain(r->transfers);
	r->device->sync(r->ctx.device);
}

void
rt_rank_close(struct rt_rank *r)
{
	if (r->transfers)
		r->device->transfers->destroy(r->transfers);
	if (r->engine)
		r->device->engine->destroy(r->engine);
	if (r->transport)
		r->transport->ops->free(r->transport);
	rt_trace_free(r->trace);
	free(r->resumed);
	if (r->ctx.arena)
		r->device->free(r->ctx.device, r->ctx.arena);
	if (r->ctx.host)
		r->device->free_host(r->ctx.device, r->ctx.host);
	if (r->own_stage)
		free(r->stage);
	r->device->close(r->ctx.device);
}

void
rt_probe_begin(struct rt_ctx *ctx, int32_t kernel)
{
	(void)kernel;
	ctx->probe->begin = rt_now_ns();
}

void
rt_probe_end(struct rt_ctx *ctx, int32_t kernel)
{
	struct rt_probe *p = ctx->probe;
	const int64_t now = rt_now_ns();
	p->busy_ns += now - p->begin;
	if (p->trace)
		rt_trace_add(p->trace, RT_TRACK_COMPUTE,
			&(struct rt_trace_event){.begin = p->begin,
				.end = now,
				.index = kernel,
				.kind = RT_EVENT_KERNEL});
}

/* Time that the computing thread spends in a post or a wait is not overhead. A device that works
 * asynchronously times its waits itself. */
static struct rt_probe *
probe_of(const struct rt_ctx *ctx)
{
	return ctx->rank->device->is_host ? ctx->probe : NULL;
}

static int64_t
begin_call(const struct rt_ctx *ctx)
{
	return probe_of(ctx) ? rt_now_ns() : 0;
}

static void
end_post(struct rt_probe *p, int64_t begin)
{
	if (p) /* a communication or copy thread may have taken the core */
		p->busy_ns += rt_now_ns() - begin;
}

static void
end_wait(struct rt_probe *p, int64_t begin, int32_t index, enum rt_event_kind kind)
{
	if (!p)
		return;
	const int64_t now = rt_now_ns();
	p->busy_ns += now - begin;
	p->waited_ns += now - begin;
	if (p->trace)
		rt_trace_add(p->trace, RT_TRACK_COMPUTE,
			&(struct rt_trace_event){
				.begin = begin, .end = now, .index = index, .kind = kind});
}

void
rt_post(struct rt_ctx *ctx, int32_t coll)
{
	const int64_t begin = begin_call(ctx);
	ctx->rank->device->engine->post(ctx->rank->engine, coll);
	end_post(probe_of(ctx), begin);
}

void
rt_wait(struct rt_ctx *ctx, int32_t coll)
{
	const int64_t begin = begin_call(ctx);
	ctx->rank->device->engine->wait(ctx->rank->engine, coll);
	end_wait(probe_of(ctx), begin, coll, RT_EVENT_WAIT);
}

void
rt_transfer_post(struct rt_ctx *ctx, int32_t transfer)
{
	const int64_t begin = begin_call(ctx);
	ctx->rank->device->transfers->post(ctx->rank->transfers, transfer);
	end_post(probe_of(ctx), begin);
}

void
rt_transfer_wait(struct rt_ctx *ctx, int32_t transfer)
{
	const int64_t begin = begin_call(ctx);
	ctx->rank->device->transfers->wait(ctx->rank->transfers, transfer);
	end_wait(probe_of(ctx), begin, transfer, RT_EVENT_TRANSFER_WAIT);
}
