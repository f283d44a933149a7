/* The watchdog thread: see watchdog.h. Its times are sums of the intervals between checks, except
 * those in which it was itself delayed, so that a process that was stopped for an hour and
 * continues does not consider the others late. */
#include "runtime/watch/watchdog.h"
#include "runtime/trace/clock.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Checks within the time that a rank may wait, and the interval between two: often enough to be
 * exact to a few percent, and never so often that it costs computation. */
#define LOOKS 20
#define MIN_LOOK_NS 10000000
#define MAX_LOOK_NS 1000000000
/* A check may come late by this many intervals before the time counts as lost. */
#define LATE_LOOKS 2
/* A process without a sign of life for this part of the time does not respond. */
#define QUIET_SHARE 2
/* From the report until ranks exit, so that the watchdogs of other machines write theirs. */
#define SETTLE_NS 500000000
/* After that, until the watchdog itself does what the ranks' threads should have done. */
#define GRACE_NS 2000000000
/* After that, until a signal ends what even MPI_Abort and NCCL could not, in seconds. */
#define LAST_SECONDS 10
/* More seconds than a clock in nanoseconds can count mean for ever. */
#define MAX_SECONDS 9e9

struct rt_watchdog {
	const struct rt_program *prog;
	const struct rt_world *world;
	const struct rt_board *board;
	double seconds;
	int64_t timeout, look;      /* ns */
	struct rt_seen *seen;       /* [board->n] */
	struct rt_watched *watched; /* [board->nown] */
	pthread_t thread;
	pthread_mutex_t lock; /* of all fields below, and of `watched` */
	pthread_cond_t changed;
	bool stop;
};

/* What a rank waits for; for a rank that waits for its device, what the device waits for. */
static enum rt_wait
wait_of(const struct rt_activity *p)
{
	const enum rt_wait wait = (enum rt_wait)RT_GET(p->wait);
	if (wait != RT_WAIT_DEVICE)
		return wait;
	return RT_GET(p->device) == RT_DEVICE_COMPUTES ? RT_WAIT_NONE : RT_WAIT_COLLECTIVE;
}

/* Updates a rank's entry; `passed` ns have passed since the last time. */
static void
look_at(struct rt_seen *s, const struct rt_activity *p, int64_t passed)
{
	struct rt_seen now = {.rank = RT_GET(p->rank),
		.collectives = RT_GET(p->collectives),
		.exchanges = RT_GET(p->exchanges),
		.waits = RT_GET(p->waits),
		.beats = RT_GET(p->beats),
		.step = RT_GET(p->step),
		.stage = RT_GET(p->stage),
		.coll = RT_GET(p->coll),
		.from = RT_GET(p->from),
		.wait = wait_of(p),
		.held = RT_GET(p->held)};
	const bool same = now.collectives == s->collectives && now.exchanges == s->exchanges &&
			  now.waits == s->waits && now.step == s->step && now.stage == s->stage &&
			  now.wait == s->wait && !now.held;
	now.age = same ? s->age + passed : 0;
	now.quiet = now.beats == s->beats ? s->quiet + passed : 0;
	*s = now;
}

/* Asks the devices of ranks that wait for theirs. */
static void
ask_devices(struct rt_watchdog *d)
{
	for (int i = 0; i < d->board->nown; i++) {
		struct rt_activity *p = &d->board->ranks[d->board->own + i];
		const struct rt_watched *w = &d->watched[i];
		if (w->look && RT_GET(p->wait) == RT_WAIT_DEVICE)
			RT_PUT(p->device, (int32_t)w->look(w->arg, p));
	}
}

/* Does a rank wait too long, and not because others are slow? If all ranks are on this board,
 * another rank must have made no progress for as long as the one that waits, without waiting for
 * others; or all of them wait. */
static bool
is_over(const struct rt_watchdog *d)
{
	const int n = d->board->n;
	int still = 0;
	bool waits = false, missing = false;
	for (int i = 0; i < n; i++) {
		const struct rt_seen *s = &d->seen[i];
		if (s->age < d->timeout)
			continue;
		still++;
		waits |= s->wait != RT_WAIT_NONE && !s->silent;
		missing |= s->wait == RT_WAIT_NONE || s->silent;
	}
	return waits && (missing || still == n || n < d->world->nranks);
}

static bool
look(struct rt_watchdog *d, int64_t passed)
{
	const struct rt_board *b = d->board;
	ask_devices(d);
	for (int i = 0; i < b->nown; i++) {
		struct rt_activity *own = &b->ranks[b->own + i];
		RT_PUT(own->beats, RT_GET(own->beats) + 1);
	}
	for (int i = 0; i < b->n; i++) {
		look_at(&d->seen[i], &b->ranks[i], passed);
		d->seen[i].silent = d->seen[i].quiet >= d->timeout / QUIET_SHARE;
	}
	return is_over(d);
}

/* Reports the reason, once per machine, and ends the job: see watchdog.h. */
static void
end_run(struct rt_watchdog *d)
{
	const struct rt_board *b = d->board;
	if (!atomic_exchange(&b->ranks[0].reported, true))
		rt_watchdog_report(d->prog, d->seen, b->n, d->world->nranks, d->seconds);
	if (b->nown == d->world->nranks)
		_Exit(RT_EXIT_RUN);
	signal(SIGALRM, SIG_DFL);
	alarm(LAST_SECONDS);
	rt_sleep_until_ns(rt_now_ns() + SETTLE_NS);
	for (int i = 0; i < b->nown; i++)
		RT_PUT(b->ranks[b->own + i].ended, true);
	pthread_mutex_lock(&d->lock);
	for (int i = 0; i < b->nown; i++)
		if (d->watched[i].end)
			d->watched[i].end(d->watched[i].arg);
	pthread_mutex_unlock(&d->lock);
	rt_sleep_until_ns(rt_now_ns() + GRACE_NS);
	rt_abort(d->world, RT_EXIT_RUN);
}

/* Sleeps until the next check; false: the watchdog must stop. The lock is held. */
static bool
sleep_until_look(struct rt_watchdog *d, int64_t at)
{
	const struct timespec t = rt_timespec(at);
	while (!d->stop && rt_now_ns() < at)
		pthread_cond_timedwait(&d->changed, &d->lock, &t);
	return !d->stop;
}

static void *
watch(void *arg)
{
	struct rt_watchdog *d = arg;
	int64_t last = rt_now_ns();
	bool over = false;
	pthread_mutex_lock(&d->lock);
	while (!over && sleep_until_look(d, last + d->look)) {
		const int64_t now = rt_now_ns(), passed = now - last;
		over = look(d, passed < LATE_LOOKS * d->look ? passed : LATE_LOOKS * d->look);
		last = now;
	}
	pthread_mutex_unlock(&d->lock);
	if (over)
		end_run(d);
	return NULL;
}

void
rt_watchdog_watch(struct rt_watchdog *d, int rank, struct rt_watched w)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	for (int i = 0; i < d->board->nown; i++)
		if (RT_GET(d->board->ranks[d->board->own + i].rank) == rank)
			d->watched[i] = w;
	pthread_mutex_unlock(&d->lock);
}

/* With all signals blocked: the computing threads handle them. */
static bool
start_thread(struct rt_watchdog *d)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool ok = !pthread_create(&d->thread, NULL, watch, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

static void
release(struct rt_watchdog *d)
{
	free(d->seen);
	free(d->watched);
	free(d);
}

static struct rt_watchdog *
new_watchdog(const struct rt_program *prog, const struct rt_world *w, double seconds)
{
	const struct rt_board *b = w->board;
	struct rt_watchdog *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->prog = prog;
	d->world = w;
	d->board = b;
	d->seconds = seconds;
	d->timeout = seconds < MAX_SECONDS ? (int64_t)(seconds * 1e9) : INT64_MAX;
	const int64_t look = d->timeout / LOOKS;
	d->look = look < MIN_LOOK_NS ? MIN_LOOK_NS : look > MAX_LOOK_NS ? MAX_LOOK_NS : look;
	d->seen = calloc((size_t)b->n, sizeof *d->seen);
	d->watched = calloc((size_t)b->nown, sizeof *d->watched);
	if (d->seen && d->watched)
		return d;
	release(d);
	return NULL;
}

struct rt_watchdog *
rt_watchdog_start(const struct rt_program *prog, const struct rt_world *w, double seconds,
	struct rt_status *st)
{
	if (!(seconds > 0) || w->nranks == 1)
		return NULL;
	struct rt_watchdog *d = new_watchdog(prog, w, seconds);
	if (!d) {
		rt_fail_memory(st, (size_t)w->board->n * sizeof *d->seen, "the watchdog");
		return NULL;
	}
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&d->changed, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&d->lock, NULL);
	if (start_thread(d))
		return d;
	release(d);
	rt_fail(st, RT_EXIT_RUN, "cannot start the watchdog's thread");
	return NULL;
}

void
rt_watchdog_stop(struct rt_watchdog *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->changed);
	pthread_mutex_destroy(&d->lock);
	release(d);
}
