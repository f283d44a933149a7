/* A rank's parts, and what a step function calls: see rank.h. */
#include "runtime/rank.h"
#include "runtime/trace/clock.h"
#include <stdlib.h>

/* Events a track of a trace keeps: some hundred steps of a large model, 12 MB. */
#define TRACE_EVENTS ((size_t)1 << 18)

size_t
rt_slice_bytes(const struct rt_program *p, const struct rt_tensor *t)
{
	const int64_t anywhere[RT_MAX_AXES] = {0};
	struct rt_box box;
	return (size_t)rt_tensor_box(p, t, anywhere, 0, &box) * rt_dtype_bytes(t->dtype);
}

/* Where a slice is in the arena. */
static unsigned char *
place_of(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	return r->ctx.arena + t->offset + (size_t)slice * rt_slice_bytes(r->prog, t);
}

const void *
rt_rank_view(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	if (r->device->is_host)
		return place_of(r, t, slice);
	r->device->download(
		r->ctx.device, r->stage, place_of(r, t, slice), rt_slice_bytes(r->prog, t));
	return r->stage;
}

void *
rt_rank_room(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	return r->device->is_host ? (void *)place_of(r, t, slice) : r->stage;
}

void
rt_rank_put(struct rt_rank *r, const struct rt_tensor *t, int64_t slice)
{
	if (!r->device->is_host)
		r->device->upload(
			r->ctx.device, place_of(r, t, slice), r->stage, rt_slice_bytes(r->prog, t));
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
	r->ctx.arena = r->device->alloc(r->ctx.device, r->prog->arena_bytes);
	if (!r->ctx.arena)
		return rt_fail_memory(st, r->prog->arena_bytes, "the arena");
	r->allocated = r->prog->arena_bytes + r->device->beside;
	/* A single rank on the host has no tensor on its way. */
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

/* Files of one run have one number: rank 0's. */
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
		return rt_fail_memory(r->status, r->prog->arena_bytes, "messages");
	r->transport->arena = (char *)r->ctx.arena;
	r->transport->activity = r->world->activity;
	return true;
}

bool
rt_rank_open(struct rt_rank *r, struct rt_transport *transport)
{
	rt_activity_stage(r->world->activity, RT_STAGE_OPEN);
	r->ctx.rank = r;
	r->ctx.prog = r->prog;
	r->probe.trace = NULL;
	r->transport = transport; /* released with the rank from here on */
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
	return rt_agree(r->world, r->status);
}

void
rt_rank_close(struct rt_rank *r)
{
	if (r->engine)
		r->device->engine->destroy(r->engine);
	if (r->transport)
		r->transport->ops->free(r->transport);
	rt_trace_free(r->trace);
	if (r->ctx.arena)
		r->device->free(r->ctx.device, r->ctx.arena);
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

void
rt_post(struct rt_ctx *ctx, int32_t coll)
{
	struct rt_probe *p = ctx->probe;
	const int64_t begin = p ? rt_now_ns() : 0;
	ctx->rank->device->engine->post(ctx->rank->engine, coll);
	if (p) /* the communication thread may have taken the core */
		p->busy_ns += rt_now_ns() - begin;
}

void
rt_wait(struct rt_ctx *ctx, int32_t coll)
{
	struct rt_probe *p = ctx->probe;
	const int64_t begin = p ? rt_now_ns() : 0;
	ctx->rank->device->engine->wait(ctx->rank->engine, coll);
	if (!p)
		return;
	const int64_t now = rt_now_ns();
	p->busy_ns += now - begin;
	if (p->trace)
		rt_trace_add(p->trace, RT_TRACK_COMPUTE,
			&(struct rt_trace_event){
				.begin = begin, .end = now, .index = coll, .kind = RT_EVENT_WAIT});
}
