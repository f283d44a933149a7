/* Collectives on the host: posted into a ring, executed in that order, one at a time, by the thread
 * that holds the transport: one communication thread per rank, so that they overlap with
 * computation, or the computing thread itself while it waits, which saves two thread switches if
 * nothing overlaps.
 *
 *	compute thread   post -> ring -> bump(work)            wait: owner? run until done
 *	comm. thread     sleeps on work; owner? run until the ring is empty
 *
 * A thread that releases the transport bumps `news`, for a computing thread that waits and found it
 * taken, and `work` while something is posted, so nothing is left unexecuted. A lazy transport
 * leaves everything to the computing thread until another rank needs something. */
#include "runtime/trace/clock.h"
#include "runtime/comm/engine.h"
#include "runtime/comm/event.h"
#include "runtime/comm/parts.h"
#include "runtime/comm/threads.h"
#include <pthread.h>
#include <stdlib.h>

/* Most collectives that may be posted and not yet executed; one more waits for the first of
 * them. */
#define RING 256u

struct posted {
	int32_t coll;
	int64_t at; /* ns */
};

struct rt_engine {
	struct rt_engine_setup setup;
	pthread_t thread;
	struct posted ring[RING];
	uint64_t count;          /* collectives so far: used by the compute thread alone */
	_Atomic uint32_t posted; /* the same for other threads, wrapping around like `done` */
	_Atomic uint32_t done;   /* how many of them are complete */
	_Atomic bool owned;      /* some thread is executing */
	struct rt_event news;    /* `done` or `owned` have changed */
	_Atomic bool stop;
	uint64_t *last;      /* [ncolls]: `count` after its last post, 0: never posted */
	struct rt_buf *room; /* for the current part */
};

/* Has collective number n (counted from 1) been completed? Counters wrap around. */
static bool
is_done(const struct rt_engine *e, uint32_t n)
{
	return (int32_t)(atomic_load(&e->done) - n) >= 0;
}

static bool
pending(const struct rt_engine *e)
{
	return atomic_load(&e->done) != atomic_load(&e->posted);
}

static bool
take(struct rt_engine *e)
{
	return !atomic_exchange(&e->owned, true);
}

/* Is there work for the communication thread? */
static bool
is_due(const struct rt_engine *e)
{
	const struct rt_transport *t = e->setup.transport;
	return pending(e) && (!t->lazy || atomic_load(&t->wanted));
}

static void
give(struct rt_engine *e)
{
	atomic_store(&e->owned, false);
	rt_event_bump(&e->news);
	if (is_due(e))
		rt_event_bump(&e->setup.transport->work);
}

/* The parts of a collective, one after the other. */
static void
run_parts(struct rt_engine *e, const struct rt_coll *c, int64_t posted)
{
	struct rt_transport *t = e->setup.transport;
	const int places = (int)e->setup.prog->axes[c->axis].size;
	int64_t began = 0;
	for (int i = 0; i < rt_parts(c); i++) {
		const struct rt_coll part = rt_part(c, places, i, e->room);
		if (!part.nbufs)
			continue;
		t->ops->run(t, &part, posted);
		began = began ? began : t->began;
	}
	t->began = began;
}

/* Executes the oldest posted collective. */
static void
run_one(struct rt_engine *e)
{
	const uint32_t number = atomic_load(&e->done);
	const struct posted p = e->ring[number % RING];
	const struct rt_coll *c = &e->setup.prog->colls[p.coll];
	struct rt_transport *t = e->setup.transport;
	struct rt_trace *trace = rt_trace_active(e->setup.trace) ? e->setup.trace : NULL;
	atomic_store(&t->wanted, false);
	rt_activity_collective(t->activity, p.coll);
	t->began = t->ended = 0;
	const int64_t begin = trace ? rt_now_ns() : 0;
	run_parts(e, c, p.at);
	t->finished = rt_now_ns();
	if (trace)
		rt_trace_add(trace, RT_TRACK_COMMUNICATION,
			&(struct rt_trace_event){.begin = t->began ? t->began : begin,
				.end = t->ended ? t->ended : t->finished,
				.posted = p.at,
				.sequence = rt_trace_sequence(trace, p.coll),
				.index = p.coll,
				.kind = RT_EVENT_COLLECTIVE});
	atomic_store(&e->done, number + 1);
	rt_event_bump(&e->news);
}

static void *
communicate(void *arg)
{
	struct rt_engine *e = arg;
	struct rt_event *work = &e->setup.transport->work;
	rt_single_threaded_libraries();
	rt_precise_sleep();
	for (;;) {
		const uint32_t seen = rt_event_value(work);
		if (atomic_load(&e->stop))
			return NULL;
		if (is_due(e) && take(e)) {
			while (is_due(e))
				run_one(e);
			give(e);
			continue;
		}
		rt_event_wait(work, seen, NULL);
	}
}

/* Waits for collective number n, as the executor if no other thread is. The communication thread
 * may be on the same core, which is left to it. */
static void
wait_for(struct rt_engine *e, uint32_t n)
{
	struct rt_haste *haste = &e->setup.transport->haste;
	struct rt_activity *activity = e->setup.transport->activity;
	if (is_done(e, n))
		return;
	rt_event_bump(&haste->changes);
	rt_activity_wait(activity, RT_WAIT_COLLECTIVE, -1);
	for (;;) {
		/* Read before both checks: a change after it ends the sleep. */
		const uint32_t seen = rt_event_value(&e->news);
		if (is_done(e, n))
			break;
		if (take(e)) {
			while (!is_done(e, n))
				run_one(e);
			give(e);
			break;
		}
		rt_event_wait(&e->news, seen, haste->crowded ? haste : NULL);
	}
	rt_activity_go_on(activity);
	rt_event_bump(&haste->changes);
}

static void
host_post(struct rt_engine *e, int32_t coll)
{
	const uint32_t number = (uint32_t)e->count;
	if (number - atomic_load(&e->done) >= RING)
		wait_for(e, number - RING + 1);
	e->ring[number % RING] = (struct posted){coll, rt_now_ns()};
	e->last[coll] = ++e->count;
	atomic_store(&e->posted, number + 1);
	if (is_due(e))
		rt_event_bump(&e->setup.transport->work);
}

static void
host_wait(struct rt_engine *e, int32_t coll)
{
	if (e->last[coll])
		wait_for(e, (uint32_t)e->last[coll]);
}

static void
host_drain(struct rt_engine *e)
{
	wait_for(e, (uint32_t)e->count);
	/* With 32 bits, old numbers would eventually look new. */
	memset(e->last, 0, (size_t)e->setup.prog->ncolls * sizeof *e->last);
}

static void
host_destroy(struct rt_engine *e)
{
	atomic_store(&e->stop, true);
	rt_event_bump(&e->setup.transport->work);
	pthread_join(e->thread, NULL);
	free(e->last);
	free(e->room);
	free(e);
}

static struct rt_engine *
host_create(const struct rt_engine_setup *setup, struct rt_status *st)
{
	struct rt_engine *e = calloc(1, sizeof *e);
	if (!e) {
		rt_fail_memory(st, sizeof *e, "the communication thread");
		return NULL;
	}
	e->setup = *setup;
	rt_precise_sleep(); /* the computing thread executes, too */
	e->last = calloc((size_t)setup->prog->ncolls + 1, sizeof *e->last);
	e->room = calloc((size_t)rt_parts_room(setup->prog) + 1, sizeof *e->room);
	if (!e->last || !e->room)
		rt_fail_memory(st, (size_t)setup->prog->ncolls * sizeof *e->last, "collectives");
	else if (pthread_create(&e->thread, NULL, communicate, e))
		rt_fail(st, RT_EXIT_RUN, "cannot start a communication thread");
	else
		return e;
	free(e->last);
	free(e->room);
	free(e);
	return NULL;
}

const struct rt_engine_ops rt_engine_host = {
	.create = host_create,
	.post = host_post,
	.wait = host_wait,
	.drain = host_drain,
	.destroy = host_destroy,
};
