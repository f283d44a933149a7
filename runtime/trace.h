/* What a rank did when: kernels, waits and collectives, in memory until the end and then a Chrome
 * trace file. Two tracks, each written by one thread at a time. When a track is full its oldest
 * events go. */
#ifndef RUNTIME_TRACE_H
#define RUNTIME_TRACE_H

#include "runtime/rt_program.h"
#include "runtime/status.h"

enum rt_track { RT_TRACK_COMPUTE, RT_TRACK_COMMUNICATION, RT_TRACKS };

/* What an event's index means: a row of the program's kernels or of its collectives. */
enum rt_event_kind { RT_EVENT_KERNEL, RT_EVENT_WAIT, RT_EVENT_COLLECTIVE, RT_EVENT_STEP };

struct rt_trace;

/* A trace for one rank with room for `events` events a track (48 bytes each); NULL without
 * memory. */
struct rt_trace *rt_trace_new(
	const struct rt_program *prog, int rank, const int64_t *coord, size_t events);
void rt_trace_free(struct rt_trace *t);

/* Adds an event: its times in ns of rt_now_ns, `detail` the step, or a collective's sequence
 * number; `posted` when a collective was posted. */
void rt_trace_add(struct rt_trace *t, enum rt_track track, enum rt_event_kind kind, int32_t index,
	int64_t begin, int64_t end, int64_t posted, int64_t detail);

/* Writes DIR/rank-N.json. */
bool rt_trace_write(const struct rt_trace *t, const char *dir, struct rt_status *st);

#endif
