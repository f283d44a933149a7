/* Collectives between ranks of one process, on one device or several that read each other's memory.
 * Each rank enqueues its share of a collective in its own communication stream:
 *
 *	post          the event `ready` marks that this rank's sources are complete
 *	barrier       (of the host threads) all have posted
 *	stream        waits for every rank's `ready`; moves or adds this rank's share; marks `done`
 *	barrier       all have enqueued their share
 *	stream        waits for every rank's `done`
 *
 * A send is between two places, which have a barrier and events of their own: others do not take
 * part. The host threads wait for each other's posts only, never for the device. A sum over places
 * adds each element in the order of the places and writes it to all that receive it, so results
 * equal those of the host's transports bit for bit, as far as both round alike. */
#include "runtime/cuda/cuda.h"

#include "runtime/comm/event.h"

#include <stdlib.h>

struct peers;

/* Shared by all places of a group, stored at place 0. */
struct meeting {
	struct rt_barrier barrier;
	struct peers *members[RT_CUDA_MAX_PEERS];
};

struct marks {
	cudaEvent_t ready, done;
};

struct side {
	struct rt_cuda_group group;
	struct meeting own, *meeting; /* `meeting` is place 0's own */
	struct rt_barrier
		pair[RT_CUDA_MAX_PEERS]; /* with each place; the lower place's barrier is used */
	struct marks
		marks[RT_CUDA_MAX_PEERS]; /* for sends, with each place; own entry: other kinds */
};

struct peers {
	struct rt_cuda_carrier base;
	unsigned char *arena;
	struct side sides[RT_MAX_AXES]; /* by axis */
};

/* Parts of a sum begin at multiples of this many elements, so that a warp's accesses are not
 * split. */
#define PART_ALIGN 64

static unsigned char *
arena_of(const struct side *s, int place)
{
	return s->meeting->members[place]->arena;
}

static void
put_moves(const struct peers *p, const struct side *s, const struct rt_coll *c)
{
	const struct rt_cuda *d = p->base.device;
	const int places = s->group.places, me = s->group.me;
	for (int i = 1; i <= places; i++) {
		/* Each place begins with a different neighbour, and ends with its own data. */
		const int from = (me + i) % places;
		for (int b = 0; b < c->nbufs && rt_coll_moves(c, from, me); b++) {
			const struct rt_region source = rt_coll_source(c, &c->bufs[b], places, me);
			const struct rt_region target =
				rt_coll_target(c, &c->bufs[b], places, from);
			rt_cuda_put_move(d, d->communication, rt_dtype_bytes(c->dtype),
				arena_of(s, from), &source, p->arena, &target);
		}
	}
}

/* This place's share of a sum that several places receive. */
static void
put_share(const struct peers *p, const struct side *s, const struct rt_coll *c)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	const int places = s->group.places;
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_buf *buf = &c->bufs[b];
		const int64_t n = buf->outer * buf->n * buf->inner;
		const int64_t share = (n / places + PART_ALIGN) / PART_ALIGN * PART_ALIGN;
		const int64_t begin = s->group.me * share,
			      end = begin + share < n ? begin + share : n;
		struct dopt_sum_args args = {
			.nfrom = places, .n = end - begin, .region = {{1, 1, 1}, {0, 0, 0}, n, 0}};
		for (int q = 0; q < places; q++) {
			args.from[q] = arena_of(s, q) + buf->src + (size_t)begin * bytes;
			if (rt_coll_moves(c, 0, q))
				args.to[args.nto++] =
					arena_of(s, q) + buf->dst + (size_t)begin * bytes;
		}
		rt_cuda_put_sum(p->base.device, p->base.device->communication, c->dtype, &args);
	}
}

/* This place's slice of the sum of the wholes. */
static void
put_slice(const struct peers *p, const struct side *s, const struct rt_coll *c)
{
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_region r =
			rt_coll_source(c, &c->bufs[b], s->group.places, s->group.me);
		struct dopt_sum_args args = {.to = {p->arena + c->bufs[b].dst},
			.nfrom = s->group.places,
			.nto = 1,
			.n = rt_region_elements(&r),
			.region = {.run = r.run}};
		for (int i = 0; i < 3; i++) {
			args.region.counts[i] = r.counts[i];
			args.region.strides[i] = r.strides[i];
		}
		for (int q = 0; q < s->group.places; q++)
			args.from[q] = arena_of(s, q) + r.base;
		rt_cuda_put_sum(p->base.device, p->base.device->communication, c->dtype, &args);
	}
}

static bool
is_party(const struct rt_coll *c, int place)
{
	return c->kind != RT_SEND || place == c->from || place == c->to;
}

static struct rt_barrier *
barrier_of(const struct side *s, const struct rt_coll *c)
{
	if (c->kind != RT_SEND)
		return &s->meeting->barrier;
	const int low = c->from < c->to ? c->from : c->to, high = c->from + c->to - low;
	return &s->meeting->members[low]->sides[c->axis].pair[high];
}

static const struct marks *
marks_of(const struct side *s, const struct rt_coll *c, int place)
{
	const int with = c->kind != RT_SEND ? place : c->from + c->to - place;
	return &s->meeting->members[place]->sides[c->axis].marks[with];
}

static void
peers_run(struct rt_cuda_carrier *base, const struct rt_coll *c)
{
	struct peers *p = (struct peers *)base;
	const struct rt_cuda *d = base->device;
	const struct side *s = &p->sides[c->axis];
	if (!is_party(c, s->group.me))
		return;
	const struct marks *mine = marks_of(s, c, s->group.me);
	struct rt_barrier *barrier = barrier_of(s, c);
	rt_cuda_check(d, cudaEventRecord(mine->ready, d->communication), "a collective");
	rt_barrier_wait(barrier, NULL);
	for (int q = 0; q < s->group.places; q++)
		if (is_party(c, q))
			rt_cuda_check(d,
				cudaStreamWaitEvent(d->communication, marks_of(s, c, q)->ready, 0),
				"a collective");
	if (c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE)
		put_share(p, s, c);
	else if (c->kind == RT_REDUCESCATTER)
		put_slice(p, s, c);
	else
		put_moves(p, s, c);
	rt_cuda_check(d, cudaEventRecord(mine->done, d->communication), "a collective");
	rt_barrier_wait(barrier, NULL);
	for (int q = 0; q < s->group.places; q++)
		if (is_party(c, q))
			rt_cuda_check(d,
				cudaStreamWaitEvent(d->communication, marks_of(s, c, q)->done, 0),
				"a collective");
}

static void
peers_free(struct rt_cuda_carrier *base)
{
	struct peers *p = (struct peers *)base;
	for (int a = 0; a < base->setup->prog->naxes; a++)
		for (int q = 0; q < RT_CUDA_MAX_PEERS; q++) {
			if (p->sides[a].marks[q].ready)
				cudaEventDestroy(p->sides[a].marks[q].ready);
			if (p->sides[a].marks[q].done)
				cudaEventDestroy(p->sides[a].marks[q].done);
		}
	free(p);
}

static const struct rt_cuda_carrier_ops peers_ops = {peers_run, peers_free, NULL, NULL};

/* Lets this rank's device read the memory of the other rank's device. */
static bool
enable_access(const struct rt_cuda *d, const struct rt_cuda *other, struct rt_status *st)
{
	int possible = 0;
	if (d->number == other->number)
		return true;
	cudaDeviceCanAccessPeer(&possible, d->number, other->number);
	if (!possible)
		return rt_fail(st, RT_EXIT_RUN,
			"devices %d and %d cannot read each other's memory: "
			"start the ranks with mpirun",
			d->number, other->number);
	const cudaError_t error = cudaDeviceEnablePeerAccess(other->number, 0);
	if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled)
		return rt_fail(st, RT_EXIT_RUN, "devices %d and %d: %s", d->number, other->number,
			cudaGetErrorString(error));
	cudaGetLastError(); /* already enabled is not an error */
	return true;
}

/* Finds the others of this rank's group on an axis among all ranks of the process. */
static bool
join(struct peers *p, struct peers *const *all, int axis, struct rt_status *st)
{
	struct side *s = &p->sides[axis];
	s->meeting = &all[s->group.first]->sides[axis].own;
	s->meeting->members[s->group.me] = p;
	if (s->group.me == 0)
		s->own.barrier.count = (uint32_t)s->group.places;
	bool ok = true;
	for (int q = 0; q < s->group.places && ok; q++)
		ok = enable_access(
			p->base.device, all[s->group.first + q * s->group.stride]->base.device, st);
	return ok;
}

/* The barrier and events for sends with a place. */
static cudaError_t
create_marks(struct side *s, int place)
{
	s->pair[place].count = place == s->group.me ? 1 : 2;
	const cudaError_t error =
		cudaEventCreateWithFlags(&s->marks[place].ready, cudaEventDisableTiming);
	return error != cudaSuccess
		       ? error
		       : cudaEventCreateWithFlags(&s->marks[place].done, cudaEventDisableTiming);
}

static bool
prepare(struct peers *p, const struct rt_engine_setup *setup, struct rt_status *st)
{
	cudaError_t error = cudaSuccess;
	p->arena = setup->arena;
	for (int a = 0; a < setup->prog->naxes && error == cudaSuccess; a++) {
		p->sides[a].group = rt_cuda_group_of(setup, a);
		if (p->sides[a].group.places > RT_CUDA_MAX_PEERS)
			return rt_fail(st, RT_EXIT_RUN,
				"axis %s has %d devices; at most %d are supported in one process",
				setup->prog->axes[a].name, p->sides[a].group.places,
				RT_CUDA_MAX_PEERS);
		for (int q = 0; q < p->sides[a].group.places && error == cudaSuccess; q++)
			error = create_marks(&p->sides[a], q);
	}
	return rt_cuda_try(st, "an event", error);
}

struct rt_cuda_carrier *
rt_cuda_peers(struct rt_cuda *d, const struct rt_engine_setup *setup, struct rt_status *st)
{
	struct peers *p = calloc(1, sizeof *p);
	struct peers **all = calloc((size_t)setup->world->nranks, sizeof *all);
	if (!p || !all)
		rt_fail_memory(st, sizeof *p, "the other ranks");
	else {
		p->base = (struct rt_cuda_carrier){&peers_ops, d, setup};
		prepare(p, setup, st);
	}
	if (rt_agree(setup->world, st)) {
		setup->world->ops->allgather(setup->world, &p, all, sizeof p);
		for (int a = 0; a < setup->prog->naxes && !st->code; a++)
			join(p, all, a, st);
	}
	/* No rank continues before all have joined. */
	const bool ok = rt_agree(setup->world, st);
	free(all);
	if (ok)
		return &p->base;
	if (p && p->base.ops)
		peers_free(&p->base);
	else
		free(p);
	return NULL;
}
