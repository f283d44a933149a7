/* Transfers on the host, where the arena is memory like any other: each direction has a ring of
 * transfers that are posted, a thread that copies in that order, and an emulated link.
 *
 *	compute thread   post -> ring -> bump(work)        wait: owner? copy until done, then link
 *	copy thread      sleeps on work; owner? copy until the ring is empty
 *
 * Only the owner copies: the copy thread, or the computing thread while it waits for a transfer
 * that no thread has begun, which saves waking the copy thread. An emulated link carries one
 * transfer after another, each for latency + bytes / bandwidth from its post; the end follows from
 * the posts alone, so bytes are copied early and only a wait takes as long as the link. */
#include "runtime/comm/event.h"
#include "runtime/trace/clock.h"
#include "runtime/transfer.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* Most transfers of a direction that may be posted and not yet copied; one more waits for the first
 * of them. */
#define RING 256u

enum { TO_HOST, TO_DEVICE, DIRECTIONS };

struct posted {
	int32_t transfer;
	int64_t at, start, due; /* ns: posted; the emulated link begins and ends */
};

struct queue {
	const struct rt_transfers *of;
	pthread_t thread;
	bool started;
	struct posted ring[RING];
	uint64_t count;          /* transfers so far: used by the compute thread alone */
	_Atomic uint32_t posted; /* the same for both threads, wrapping around like `done` */
	_Atomic uint32_t done;   /* how many of them are copied */
	_Atomic bool owned;      /* one of the threads copies */
	_Atomic bool stop;
	struct rt_event work; /* a transfer is posted, or left by an owner, or the end has come */
	struct rt_event news; /* `done` or `owned` have changed */
	int64_t link_free;    /* ns: used by the compute thread alone */
};

/* The last post of a transfer. */
struct last {
	uint64_t number; /* `count` of its queue after it; 0: none in this step */
	int64_t due;     /* ns: when the emulated link has carried it */
};

struct rt_transfers {
	struct rt_transfers_setup setup;
	struct queue queue[DIRECTIONS];
	struct last *last; /* [ntransfers] */
};

static struct queue *
queue_of(struct rt_transfers *t, int32_t transfer)
{
	return &t->queue[t->setup.prog->transfers[transfer].to_host ? TO_HOST : TO_DEVICE];
}

/* Has transfer number n (counted from 1) of the queue been copied? Counters wrap around. */
static bool
is_done(const struct queue *q, uint32_t n)
{
	return (int32_t)(atomic_load(&q->done) - n) >= 0;
}

static bool
pending(const struct queue *q)
{
	return atomic_load(&q->done) != atomic_load(&q->posted);
}

static bool
take(struct queue *q)
{
	return !atomic_exchange(&q->owned, true);
}

static void
give(struct queue *q)
{
	atomic_store(&q->owned, false);
	rt_event_bump(&q->news);
	if (pending(q))
		rt_event_bump(&q->work);
}

static void
copy(const struct rt_transfers_setup *s, const struct rt_transfer *x)
{
	if (x->to_host)
		memcpy(s->host + x->host, s->arena + x->device, x->bytes);
	else
		memcpy(s->arena + x->device, s->host + x->host, x->bytes);
}

/* Copies the oldest posted transfer. */
static void
run_one(struct queue *q)
{
	const struct rt_transfers_setup *s = &q->of->setup;
	const uint32_t number = atomic_load(&q->done);
	const struct posted p = q->ring[number % RING];
	const struct rt_transfer *x = &s->prog->transfers[p.transfer];
	struct rt_trace *trace = rt_trace_active(s->trace) ? s->trace : NULL;
	const bool emulated = s->link.bytes_per_second > 0;
	const int64_t begin = trace ? rt_now_ns() : 0;
	copy(s, x);
	const int64_t end = trace ? rt_now_ns() : 0;
	if (trace)
		rt_trace_add(trace, rt_transfer_track(x),
			&(struct rt_trace_event){.begin = emulated ? p.start : begin,
				.end = emulated && p.due > end ? p.due : end,
				.posted = p.at,
				.index = p.transfer,
				.kind = RT_EVENT_TRANSFER});
	atomic_store(&q->done, number + 1);
	rt_event_bump(&q->news);
}

static void *
serve(void *arg)
{
	struct queue *q = arg;
	for (;;) {
		const uint32_t seen = rt_event_value(&q->work);
		if (atomic_load(&q->stop))
			return NULL;
		if (pending(q) && take(q)) {
			while (pending(q))
				run_one(q);
			give(q);
			continue;
		}
		rt_event_wait(&q->work, seen, NULL);
	}
}

/* Returns when transfer number n of the queue is copied. */
static void
wait_for(struct queue *q, uint32_t n)
{
	while (!is_done(q, n)) {
		/* Read before both checks: a change after it ends the sleep. */
		const uint32_t seen = rt_event_value(&q->news);
		if (is_done(q, n))
			return;
		if (take(q)) {
			while (!is_done(q, n))
				run_one(q);
			give(q);
			return;
		}
		rt_event_wait(&q->news, seen, NULL);
	}
}

/* Returns when the clock shows `due`: sleeps, and polls the clock for as long as waking may
 * take. */
static void
wait_for_link(const struct rt_transfers *t, int64_t due)
{
	if (rt_now_ns() >= due)
		return;
	rt_sleep_until_ns(due - RT_WAKE_NS);
	while (rt_now_ns() < due)
		if (t->setup.crowded)
			sched_yield();
}

/* The time at which the emulated link has carried a transfer that starts then; without a link, at
 * once. */
static int64_t
carried(const struct rt_link *link, size_t bytes, int64_t start)
{
	if (link->bytes_per_second <= 0)
		return start;
	const double seconds = link->latency + (double)bytes / link->bytes_per_second;
	return start + (int64_t)(seconds * 1e9);
}

static void
host_post(struct rt_transfers *t, int32_t transfer)
{
	struct queue *q = queue_of(t, transfer);
	const uint32_t number = (uint32_t)q->count;
	const int64_t now = rt_now_ns(), start = q->link_free > now ? q->link_free : now;
	if (number - atomic_load(&q->done) >= RING)
		wait_for(q, number - RING + 1);
	q->link_free = carried(&t->setup.link, t->setup.prog->transfers[transfer].bytes, start);
	q->ring[number % RING] = (struct posted){transfer, now, start, q->link_free};
	t->last[transfer] = (struct last){++q->count, q->link_free};
	atomic_store(&q->posted, number + 1);
	rt_event_bump(&q->work);
}

static void
host_wait(struct rt_transfers *t, int32_t transfer)
{
	const struct last *last = &t->last[transfer];
	if (!last->number)
		return;
	wait_for(queue_of(t, transfer), (uint32_t)last->number);
	wait_for_link(t, last->due);
}

static void
host_drain(struct rt_transfers *t)
{
	for (int i = 0; i < DIRECTIONS; i++) {
		struct queue *q = &t->queue[i];
		wait_for(q, (uint32_t)q->count);
		wait_for_link(t, q->link_free);
	}
	/* With 32 bits, old numbers would eventually look new. */
	memset(t->last, 0, (size_t)t->setup.prog->ntransfers * sizeof *t->last);
}

static void
host_destroy(struct rt_transfers *t)
{
	for (int i = 0; i < DIRECTIONS; i++) {
		struct queue *q = &t->queue[i];
		if (!q->started)
			continue;
		atomic_store(&q->stop, true);
		rt_event_bump(&q->work);
		pthread_join(q->thread, NULL);
	}
	free(t->last);
	free(t);
}

/* Only directions with transfers need a thread. */
static bool
start(struct rt_transfers *t, struct rt_status *st)
{
	for (int32_t i = 0; i < t->setup.prog->ntransfers; i++) {
		struct queue *q = queue_of(t, i);
		if (q->started)
			continue;
		q->of = t;
		q->started = !pthread_create(&q->thread, NULL, serve, q);
		if (!q->started)
			return rt_fail(st, RT_EXIT_RUN, "cannot start a copy thread");
	}
	return true;
}

static struct rt_transfers *
host_create(const struct rt_transfers_setup *setup, struct rt_status *st)
{
	struct rt_transfers *t = calloc(1, sizeof *t);
	const size_t n = (size_t)setup->prog->ntransfers + 1;
	if (t) {
		t->setup = *setup;
		t->last = calloc(n, sizeof *t->last);
	}
	if (!t || !t->last) {
		rt_fail_memory(st, n * sizeof *t->last, "transfers");
		free(t);
		return NULL;
	}
	rt_precise_sleep(); /* the computing thread waits for the link */
	if (start(t, st))
		return t;
	host_destroy(t);
	return NULL;
}

const struct rt_transfers_ops rt_transfers_host = {
	.create = host_create,
	.post = host_post,
	.wait = host_wait,
	.drain = host_drain,
	.destroy = host_destroy,
};
