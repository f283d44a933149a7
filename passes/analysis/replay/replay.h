/*
 * Replay: computes when every event of a step runs, given their durations, their dependencies and
 * the order in which they are issued. Plain arrays and integers: a search calls it a hundred
 * thousand times a second and gets the same bits every time.
 *
 *     issue order   a0  c1  a2  a3         a: compute (stream 0), c: communication (stream 1)
 *     waits         -   a0  a0  c1
 *
 *     stream 0      [a0][ a2 ]    [a3]     a stream runs one event after another in issue order
 *     stream 1          [   c1   ]         an event starts when its stream is free and all events
 *                                          that it waits for have ended
 *
 * Times are integers of picoseconds: sums are exact, so that neither the order of additions nor the
 * compiler can change a result, and the range is 106 days.
 */
#ifndef PASSES_ANALYSIS_REPLAY_H
#define PASSES_ANALYSIS_REPLAY_H

#include "ir/base/api.h"

#include <stdbool.h>
#include <stdint.h>

DOPT_API_BEGIN

typedef int64_t replay_time; /* picoseconds */

static inline replay_time
replay_later(replay_time a, replay_time b)
{
	return a > b ? a : b;
}

#define REPLAY_PS_PER_S 1e12

enum replay_limit {
	REPLAY_MAX_STREAMS = 1 << 16, /* numbers of 16 bits: 2 streams each of 32,768 devices */
};

/*
 * Events are numbered 0 .. n-1. Event i waits for the events dep[dep_first[i]] ..
 * dep[dep_first[i+1]-1]. They are issued in the order order[0], order[1] ...; NULL: 0, 1, 2 ... An
 * event must be issued after all events that it waits for, which replay_check checks.
 */
struct replay_graph {
	uint32_t n, nstreams;
	const uint16_t *stream;      /* [n] */
	const replay_time *duration; /* [n], none negative */
	const uint32_t *dep_first;   /* [n + 1] */
	const uint32_t *dep;         /* [dep_first[n]] */
	const uint32_t *order;       /* [n] a permutation, or NULL */
	/* streams, the last ones, of copies to hosts and back, and of axes with queues */
	uint32_t nothers;
};

/* Devices of a graph whose streams are those of events.h. */
static inline uint32_t
replay_devices(const struct replay_graph *g)
{
	return (g->nstreams - g->nothers + 1) / 2;
}

struct replay_result {
	replay_time makespan;     /* the latest end */
	replay_time *start, *end; /* [n], arrays of the caller; `start` may be NULL */
	replay_time *busy;        /* [nstreams], array of the caller: sum of durations; or NULL */
	replay_time *free_at;     /* [nstreams], array of the caller: end of the last event */
};

/*
 * Is the graph valid: numbers of streams and events in range, `order` a permutation, no negative
 * duration, no event issued before an event that it waits for?
 */
bool replay_check(const struct replay_graph *g);

/*
 * Fills the result. O(events + dependencies), no allocation. The graph must pass replay_check.
 * `busy` may be NULL.
 */
void replay_run(const struct replay_graph *g, struct replay_result *r);

/*
 * How long event e ran; if the result has no starts, its duration. In results of the fine replay
 * (fine.h) events may run longer than that.
 */
static inline replay_time
replay_ran(const struct replay_graph *g, const struct replay_result *r, uint32_t e)
{
	return r->start ? r->end[e] - r->start[e] : g->duration[e];
}

/*
 * Fills slack[n]: how much later each event could end without a longer makespan, with the same
 * order and durations of all others; 0 on every critical path.
 */
void replay_slack(const struct replay_graph *g, const struct replay_result *r, replay_time *slack);

/* How one device spends the makespan: compute + exposed + waiting + after = makespan. */
struct replay_device {
	replay_time compute;       /* computes */
	replay_time exposed;       /* communicates and computes nothing */
	replay_time waiting;       /* idle, with events still to come */
	replay_time after;         /* all its events are done */
	replay_time communication; /* communicates, overlapped or not */
};

/* Arrays of the caller; all are filled. */
struct replay_gaps {
	struct replay_device *device; /* [replay_devices] */
	replay_time *exposed; /* [n] how long the event communicates while its device computes
				 nothing */
	replay_time *waited;  /* [n] how long devices are idle because this event has not ended; of
				 an event that started later than all its dependencies allow, its
				 own delay */
};

/*
 * Attributes all time in which a device does not compute to events. Device d has the streams 2d and
 * 2d + 1; events on an odd stream communicate, and events on an even one compute, except those
 * marked in `communicates` (NULL: none). If both streams communicate, the odd one is charged.
 * Waiting for a copy to the host or back counts as for a kernel: it is charged to the copy in
 * `waited`. O(events + dependencies).
 */
void replay_gaps(const struct replay_graph *g, const bool *communicates,
	const struct replay_result *r, struct replay_gaps *gaps);

/*
 * The critical path: a chain of events, each starting when the one before it ends, from 0 to the
 * makespan. Written to path[n] in the order of time; returns its length. `r->start` must not be
 * NULL.
 */
uint32_t replay_critical_path(
	const struct replay_graph *g, const struct replay_result *r, uint32_t *path);

static inline double
replay_seconds(replay_time t)
{
	return (double)t / REPLAY_PS_PER_S;
}

/* Nearest picosecond; not negative. Times beyond the range are clamped. */
replay_time replay_from_seconds(double s);

DOPT_API_END

#endif
