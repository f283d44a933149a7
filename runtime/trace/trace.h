/* A record of a rank's kernels, waits, collectives and steps, kept in memory until the end and then
 * written as a Chrome trace file; docs/traces.md has its fields. Each track is written by one
 * thread at a time. When a track is full, its oldest events are dropped. */
#ifndef RUNTIME_TRACE_H
#define RUNTIME_TRACE_H

#include "runtime/rt_program.h"
#include "runtime/status.h"

/* Raised whenever a field of the file changes its meaning: dopt-trace rejects other versions. */
#define RT_TRACE_VERSION 1

enum rt_track {
	RT_TRACK_COMPUTE,
	RT_TRACK_COMMUNICATION,
	RT_TRACK_TO_HOST, /* transfers; the last two exist only if the program has some */
	RT_TRACK_TO_DEVICE,
	RT_TRACKS
};

enum rt_event_kind {
	RT_EVENT_KERNEL,
	RT_EVENT_WAIT, /* for a collective */
	RT_EVENT_COLLECTIVE,
	RT_EVENT_STEP,
	RT_EVENT_TRANSFER,
	RT_EVENT_TRANSFER_WAIT,
	RT_EVENTS
};

/* One event; times in ns of rt_now_ns. */
struct rt_trace_event {
	int64_t begin, end;
	int64_t posted;    /* when a collective or a transfer was posted */
	int64_t step;      /* rt_trace_add fills it in */
	uint32_t sequence; /* of a collective: rt_trace_sequence */
	int32_t index;     /* a row of the program's kernels, collectives or transfers */
	enum rt_event_kind kind;
};

struct rt_trace;

/* A trace for one rank with room for `events` events a track (48 bytes each); NULL without
 * memory. */
struct rt_trace *rt_trace_new(
	const struct rt_program *prog, int rank, const int64_t *coord, size_t events);
void rt_trace_free(struct rt_trace *t);

/* The run number that this rank proposes, and the one that all have agreed on. */
int64_t rt_trace_run(const struct rt_trace *t);
void rt_trace_set_run(struct rt_trace *t, int64_t run);

/* Events from now on belong to that training step; events after its end are not recorded. `t` may
 * be NULL. */
void rt_trace_step(struct rt_trace *t, int64_t step);
void rt_trace_step_end(struct rt_trace *t, int64_t begin, int64_t end);

/* Is a step being recorded? False if `t` is NULL. */
bool rt_trace_active(const struct rt_trace *t);

/* The number of the next collective on the communicator (the axis) of this one. Called once for
 * each, in the order of their posts. */
uint32_t rt_trace_sequence(struct rt_trace *t, int32_t coll);

void rt_trace_add(struct rt_trace *t, enum rt_track track, const struct rt_trace_event *e);

/* Times of a device's own clock may be wrong by this much: the file contains the largest error. */
void rt_trace_clock_error(struct rt_trace *t, int64_t ns);

/* The processors that the ranks of this machine share. */
void rt_trace_processors(struct rt_trace *t, int n);

/* Writes DIR/rank-N.json, atomically (temporary file, then rename). */
bool rt_trace_write(const struct rt_trace *t, const char *dir, struct rt_status *st);

#endif
