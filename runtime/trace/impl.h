/* The fields of a trace, for the files that record and write it. */
#ifndef RUNTIME_TRACE_IMPL_H
#define RUNTIME_TRACE_IMPL_H

#include "runtime/trace/trace.h"

struct track {
	struct rt_trace_event *events; /* [room], a ring */
	size_t next;                   /* index of the next one */
	uint64_t count;                /* all events ever added */
};

struct rt_trace {
	const struct rt_program *prog;
	int rank;
	bool active;
	int64_t coord[RT_MAX_AXES];
	int64_t run, step;
	int64_t anchor_ns, wall_ns; /* one moment: rt_now_ns, and ns since 1970 */
	int64_t clock_error_ns;
	int processors;                 /* shared by the ranks of this machine; 0: unknown */
	uint32_t sequence[RT_MAX_AXES]; /* collectives so far on each axis */
	size_t room;
	struct track tracks[RT_TRACKS];
};

/* The number of tracks of enum rt_track in a trace of the program. */
int rt_trace_tracks(const struct rt_program *p);

#endif
