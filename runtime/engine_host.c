/* Collectives on the host: posted into a ring, executed in that order, one at a time, by whoever
 * holds the transport: a communication thread a rank, so that they overlap with computation, or the
 * computing thread itself while it waits, which saves two changes of thread where nothing overlaps.
 *
 *	compute thread   post -> ring -> bump(work)            wait: owner? run until done
 *	comm. thread     sleeps on work; owner? run until the ring is empty
 *
 * Whoever gives the transport up while something is posted bumps `work`, so nothing is left
 * lying. */
#include "runtime/clock.h"
#include "runtime/engine.h"
#include "runtime/event.h"
#include "runtime/threads.h"
#include <pthread.h>
#include <stdlib.h>

/* Collectives that may be posted and not yet executed; one more waits for the first of them. */
#define RING 256u

struct posted {
	int32_t coll;
	int64_t at; /* ns */
};

struct rt_engine {
	struct rt_engine_setup setup;
	pthread_t thread;
	struct posted ring[RING];
	uint64_t count;          /* collectives so far: the compute thread's own */
	_Atomic uint32_t posted; /* the same for everybody, wrapping around like `done` */
	struct rt_event done;    /* how many of them are complete */
	struct rt_event work;    /* changes when there is something to do */
	_Atomic bool owned;      /* somebody executes */
	_Atomic bool stop;
	uint64_t *last; /* [ncolls]: `count` after its last post, 0: never posted */
};

/* Has collective number n (counted from 1) been completed? Counters wrap around. */
static bool
is_done(const struct rt_engine *e, uint32_t n)
{
	return (int32_t)(rt_event_value(&e->done) - n) >= 0;
}

static bool
pending(const struct rt_engine *e)
{
	return rt_event_value(&e->done) != atomic_load(&e->posted);
}

static bool
take(struct rt_engine *e)
{
	return !atomic_exchange(&e->owned, true);
}

static void
give(struct rt_engine *e)
{
	atomic_store(&e->owned, false);
	if (pending(e))
		rt_event_bump(&e->work);
}

/* Executes the oldest collective that is posted. */
static void
run_one(struct rt_engine *e)
{
	const uint32_t number = rt_event_value(&e->done);
	const struct posted p = e->ring[number % RING];
	const struct rt_coll *c = &e->setup.prog->colls[p.coll];
	struct rt_trace *trace = e->setup.trace;
	const int64_t begin = trace ? rt_now_ns() : 0;
	e->setup.transport->ops->run(e->setup.transport, c, p.at);
	if (trace)
		rt_trace_add(trace, RT_TRACK_COMMUNICATION, RT_EVENT_COLLECTIVE, p.coll, begin,
			rt_now_ns(), p.at, number);
	rt_event_bump(&e->done);
}

static void *
communicate(void *arg)
{
	struct rt_engine *e = arg;
	rt_single_threaded_libraries();
	rt_precise_sleep();
	for (;;) {
		const uint32_t seen = rt_event_value(&e->work);
		if (atomic_load(&e->stop))
			return NULL;
		if (pending(e) && take(e)) {
			while (pending(e))
				run_one(e);
			give(e);
			continue;
		}
		rt_event_wait(&e->work, seen, NULL);
	}
}

/* Waits for collective number n, as the executor if nobody else is. */
static void
wait_for(struct rt_engine *e, uint32_t n)
{
	if (is_done(e, n))
		return;
	atomic_store_explicit(&e->setup.transport->urgent, true, memory_order_relaxed);
	while (!is_done(e, n)) {
		if (take(e)) {
			while (!is_done(e, n))
				run_one(e);
			give(e);
			break;
		}
		const uint32_t done = rt_event_value(&e->done);
		if ((int32_t)(done - n) < 0)
			rt_event_wait(&e->done, done, &e->setup.transport->urgent);
	}
	atomic_store_explicit(&e->setup.transport->urgent, false, memory_order_relaxed);
}

static void
host_post(struct rt_engine *e, int32_t coll)
{
	const uint32_t number = (uint32_t)e->count;
	if (number - rt_event_value(&e->done) >= RING)
		wait_for(e, number - RING + 1);
	e->ring[number % RING] = (struct posted){coll, rt_now_ns()};
	e->last[coll] = ++e->count;
	atomic_store(&e->posted, number + 1);
	rt_event_bump(&e->work);
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
	/* Of 32 bits each, old numbers would look new some day. */
	memset(e->last, 0, (size_t)e->setup.prog->ncolls * sizeof *e->last);
}

static void
host_destroy(struct rt_engine *e)
{
	atomic_store(&e->stop, true);
	rt_event_bump(&e->work);
	pthread_join(e->thread, NULL);
	free(e->last);
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
	e->last = calloc((size_t)setup->prog->ncolls + 1, sizeof *e->last);
	if (!e->last)
		rt_fail_memory(st, (size_t)setup->prog->ncolls * sizeof *e->last, "collectives");
	else if (pthread_create(&e->thread, NULL, communicate, e))
		rt_fail(st, RT_EXIT_RUN, "cannot start a communication thread");
	else
		return e;
	free(e->last);
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
