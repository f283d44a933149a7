/* Collectives between threads of one process: every thread can access the arenas of all others, so
 * a collective is a barrier, work, and a barrier.
 *
 *	moves: every place copies its data directly from the others' arenas
 *	sums:  every place adds up one part of the message and writes it to all that get it
 *
 * An emulated link lets a collective end no earlier than start + turns * latency + bytes /
 * bandwidth, where start is when the last place had posted and had completed the previous
 * collective; turns and bytes are those of the ring algorithms. Every place computes the same end
 * from the same numbers. */
#include "runtime/bind.h"
#include "runtime/trace/clock.h"
#include "runtime/comm/event.h"
#include "runtime/layout.h"
#include "runtime/comm/region.h"
#include "runtime/comm/sum.h"
#include "runtime/comm/transport.h"
#include <sched.h>
#include <stdlib.h>

/* Bytes that are added before they are distributed: source and result stay in the first-level
 * cache. */
#define PIECE_BYTES 8192
/* Parts of a sum begin at multiples of this many elements: no two threads write one cache line. */
#define PART_ALIGN 64
/* Weight of one sleep in the running mean of how late sleeps end. */
#define LATE_SHARE 8
/* A place that waits for others that compute calls them again after this time: they may not have
 * posted yet. */
#define CALL_NS 1000000

/* The places that differ only on one axis. */
struct group {
	struct rt_barrier barrier;
	int places;
	struct threads **members; /* [places] */
	int64_t *ready;           /* [places]: posted, and the link free, ns */
	struct rt_barrier *pair;  /* [places * places] for sends: lower * places + higher */
};

/* What all transports of a process share. */
struct hub {
	_Atomic int users;
	int nranks;
	struct rt_link link;
	struct group *groups; /* [naxes * nranks]: only those of a group's first member are used */
};

struct threads {
	struct rt_transport base;
	struct hub *hub;
	struct group *groups[RT_MAX_AXES];
	int place[RT_MAX_AXES]; /* in the group */
	int64_t link_free;      /* ns */
	int64_t late;           /* ns by which recent sleeps ended late */
	const void **sources;   /* [most places of an axis]: of a sum */
};

static void
run_moves(struct threads *t, const struct group *g, const struct rt_coll *c, int me)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	for (int i = 1; i <= g->places; i++) {
		/* Each place begins with a different neighbour, and ends with its own data. */
		const int p = (me + i) % g->places;
		if (!rt_coll_moves(c, p, me))
			continue;
		for (int b = 0; b < c->nbufs; b++) {
			const struct rt_region from = rt_coll_source(c, &c->bufs[b], g->places, me);
			const struct rt_region to = rt_coll_target(c, &c->bufs[b], g->places, p);
			rt_region_copy(t->base.arena, &to, g->members[p]->base.arena, &from, bytes);
		}
	}
}

/* Adds n elements at `from` of all arenas and writes them to `to` of every place that gets them. */
static void
sum_piece(struct threads *t, const struct group *g, const struct rt_coll *c, size_t from, size_t to,
	int64_t n)
{
	for (int p = 0; p < g->places; p++)
		t->sources[p] = g->members[p]->base.arena + from;
	char *first = NULL;
	for (int q = 0; q < g->places; q++) {
		if (!rt_coll_moves(c, 0, q))
			continue;
		char *target = g->members[q]->base.arena + to;
		if (first)
			memcpy(target, first, (size_t)n * rt_dtype_bytes(c->dtype));
		else
			rt_sum(c->dtype, first = target, t->sources, g->places, n);
	}
}

/* The message as one row of elements: computes this place's share of it, in any of the buffers. */
static void
sum_share(struct threads *t, const struct group *g, const struct rt_coll *c, int me)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	const int64_t piece = PIECE_BYTES / (int64_t)bytes;
	const int64_t total = rt_coll_part(c, g->places);
	const int64_t share = (total / g->places + PART_ALIGN) / PART_ALIGN * PART_ALIGN;
	const int64_t begin = me * share, end = begin + share;
	int64_t first = 0; /* index of this buffer's first element in the row */
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_buf *buf = &c->bufs[b];
		const int64_t n = buf->outer * buf->n * buf->inner;
		const int64_t stop = end < first + n ? end - first : n;
		for (int64_t at = begin > first ? begin - first : 0; at < stop; at += piece) {
			const size_t skip = (size_t)at * bytes;
			sum_piece(t, g, c, buf->src + skip, buf->dst + skip,
				stop - at < piece ? stop - at : piece);
		}
		first += n;
	}
}

/* This place's slice of the sum of the wholes. */
static void
sum_slice(struct threads *t, const struct group *g, const struct rt_coll *c, int me)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_region from = rt_coll_source(c, &c->bufs[b], g->places, me);
		struct rt_run run = {.region = &from};
		char *to = t->base.arena + c->bufs[b].dst;
		size_t at;
		for (int64_t n; (n = rt_run_next(&run, bytes, PIECE_BYTES, &at)) > 0;) {
			for (int p = 0; p < g->places; p++)
				t->sources[p] = g->members[p]->base.arena + at;
			rt_sum(c->dtype, to, t->sources, g->places, n);
			to += (size_t)n * bytes;
		}
	}
}

/* A sleep ends late by the time of its timer, which is nearly constant, and, if the thread is alone
 * on its core, by the time that the core takes to wake: so it is ended early. */
static int64_t
early(const struct threads *t, bool alone)
{
	return t->link_free - (alone ? RT_WAKE_NS : t->late);
}

/* Waits until the emulated link has carried the message. */
static void
hold(struct threads *t)
{
	struct rt_haste *haste = &t->base.haste;
	struct rt_activity *activity = t->base.activity;
	bool changed = true;
	if (activity)
		RT_PUT(activity->held, true);
	while (changed) {
		const uint32_t seen = rt_event_value(&haste->changes);
		const bool alone = seen & 1;
		const int64_t at = early(t, alone);
		if (rt_now_ns() >= at)
			break;
		changed = rt_event_wait_until(&haste->changes, seen, at);
		const int64_t late = rt_now_ns() - at;
		if (!changed && !alone && late < RT_WAKE_NS)
			t->late += (late - t->late) / LATE_SHARE;
	}
	while (rt_now_ns() < t->link_free)
		if (haste->crowded)
			sched_yield();
	if (activity)
		RT_PUT(activity->held, false);
}

/* The time at which the emulated link has carried a message that starts now. */
static int64_t
carried(const struct threads *t, const struct rt_coll *c, int places, int64_t start)
{
	const struct rt_link *link = &t->hub->link;
	const double seconds = rt_coll_wire_turns(c, places) * link->latency +
			       rt_coll_wire_bytes(c, places) / link->bytes_per_second;
	return start + (int64_t)(seconds * 1e9);
}

/* Do all places that take part wait for the end at about the same time? */
static bool
is_alike(const struct rt_coll *c)
{
	return rt_coll_symmetric(c->kind);
}

/* Does the place take part? A send involves two places only. */
static bool
is_party(const struct rt_coll *c, int place)
{
	return c->kind != RT_SEND || place == c->from || place == c->to;
}

static struct rt_barrier *
barrier_of(struct group *g, const struct rt_coll *c)
{
	if (c->kind != RT_SEND)
		return &g->barrier;
	return &g->pair[c->from < c->to ? c->from * g->places + c->to
					: c->to * g->places + c->from];
}

/* Wakes the communication threads of the other places, which compute and do not wait. */
static void
call_others(const struct threads *t, const struct group *g, const struct rt_coll *c)
{
	for (int p = 0; p < g->places; p++) {
		struct rt_transport *other = &g->members[p]->base;
		if (other == &t->base || !is_party(c, p))
			continue;
		atomic_store(&other->wanted, true);
		rt_event_bump(&other->work);
	}
}

/* All places begin together. A thread works on a lazy transport because a rank waits, its own or
 * another, which it may not know and which cannot call the missing places: if they do not come by
 * themselves, it calls them. */
static void
meet(struct threads *t, struct group *g, const struct rt_coll *c)
{
	const struct rt_haste *haste = &t->base.haste;
	struct rt_barrier *barrier = barrier_of(g, c);
	const uint32_t phase = rt_barrier_arrive(barrier);
	if (!t->base.lazy) {
		rt_barrier_pass(barrier, phase, haste);
		return;
	}
	bool calls = rt_is_urgent(haste);
	bool met = (is_alike(c) || !calls) && rt_event_look(&barrier->phase, phase, haste);
	for (; !met; calls = true) {
		if (calls)
			call_others(t, g, c);
		met = rt_event_wait_until(&barrier->phase, phase, rt_now_ns() + CALL_NS);
	}
}

static void
threads_run(struct rt_transport *base, const struct rt_coll *c, int64_t posted_ns)
{
	struct threads *t = (struct threads *)base;
	struct group *g = t->groups[c->axis];
	const int me = t->place[c->axis];
	struct rt_barrier *barrier = barrier_of(g, c);
	if (!is_party(c, me))
		return;
	if (c->kind == RT_SEND && c->from == c->to) { /* a copy, without another place */
		run_moves(t, g, c, me);
		return;
	}
	g->ready[me] = posted_ns > t->link_free ? posted_ns : t->link_free;
	meet(t, g, c);
	int64_t start = g->ready[me];
	for (int p = 0; p < g->places; p++)
		start = is_party(c, p) && g->ready[p] > start ? g->ready[p] : start;
	const bool slow = t->hub->link.bytes_per_second > 0 && g->places > 1;
	if (slow) {
		t->link_free = carried(t, c, g->places, start);
		t->base.began = start;
		t->base.ended = t->link_free;
	}
	if (c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE)
		sum_share(t, g, c, me);
	else if (c->kind == RT_REDUCESCATTER)
		sum_slice(t, g, c, me);
	else
		run_moves(t, g, c, me);
	/* The other places arrive while the link is busy, so none has to be woken for that. */
	const uint32_t phase = rt_barrier_arrive(barrier);
	if (slow)
		hold(t);
	rt_barrier_pass(barrier, phase, &t->base.haste);
}

static void
free_hub(struct hub *hub, int naxes)
{
	for (int i = 0; hub->groups && i < naxes * hub->nranks; i++) {
		free(hub->groups[i].members);
		free(hub->groups[i].ready);
		free(hub->groups[i].pair);
	}
	free(hub->groups);
	free(hub);
}

static void
threads_free(struct rt_transport *base)
{
	struct threads *t = (struct threads *)base;
	struct hub *hub = t->hub;
	const int naxes = base->prog->naxes;
	free(t->sources);
	free(t);
	if (atomic_fetch_sub(&hub->users, 1) == 1)
		free_hub(hub, naxes);
}

static const struct rt_transport_ops threads_ops = {threads_run, threads_free};

/* Adds rank r to its group on axis a, which its first member creates. */
static bool
join(struct hub *hub, struct threads *t, int a, int r)
{
	const struct rt_program *p = t->base.prog;
	const int places = p->axes[a].is_time ? 1 : (int)p->axes[a].size;
	const int me = p->axes[a].is_time ? 0 : (int)t->base.coord[a];
	const int first = r - me * (int)(p->axes[a].is_time ? 0 : rt_axis_stride(p, a));
	struct group *g = &hub->groups[a * hub->nranks + first];
	if (!g->members) {
		g->members = calloc((size_t)places, sizeof *g->members);
		g->ready = calloc((size_t)places, sizeof *g->ready);
		g->pair = calloc((size_t)places * (size_t)places, sizeof *g->pair);
		for (int k = 0; g->pair && k < places * places; k++)
			g->pair[k].count = 2;
		g->places = places;
		g->barrier.count = (uint32_t)places;
	}
	if (!g->members || !g->ready || !g->pair)
		return false;
	g->members[me] = t;
	t->groups[a] = g;
	t->place[a] = me;
	return true;
}

static struct threads *
new_transport(const struct rt_program *prog, struct hub *hub, int r)
{
	struct threads *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->base.ops = &threads_ops;
	t->base.prog = prog;
	t->base.haste.processors = rt_cores();
	t->base.haste.crowded = hub->nranks > t->base.haste.processors;
	t->base.lazy = 2 * hub->nranks > rt_cores();
	t->hub = hub;
	atomic_fetch_add(&hub->users, 1);
	rt_place_coords(prog, r, t->base.coord);
	t->sources = calloc((size_t)hub->nranks, sizeof *t->sources);
	bool ok = t->sources != NULL;
	for (int a = 0; a < prog->naxes && ok; a++)
		ok = join(hub, t, a, r);
	if (ok)
		return t;
	threads_free(&t->base);
	return NULL;
}

struct rt_transport **
rt_threads_transports(const struct rt_program *prog, int nranks, struct rt_link link)
{
	const size_t n = (size_t)nranks;
	struct hub *hub = calloc(1, sizeof *hub);
	struct rt_transport **all = calloc(n, sizeof *all);
	if (hub) {
		hub->nranks = nranks;
		hub->link = link;
		hub->groups = calloc((size_t)prog->naxes * n + 1, sizeof *hub->groups);
	}
	bool ok = hub && all && hub->groups;
	if (ok)
		hub->users = 1;
	for (int r = 0; r < nranks && ok; r++) {
		struct threads *t = new_transport(prog, hub, r);
		ok = t != NULL;
		all[r] = t ? &t->base : NULL;
	}
	for (int r = 0; r < nranks && !ok && all; r++)
		if (all[r])
			threads_free(all[r]);
	if (hub && (!hub->users || atomic_fetch_sub(&hub->users, 1) == 1))
		free_hub(hub, prog->naxes);
	if (!ok) {
		free(all);
		return NULL;
	}
	return all;
}
