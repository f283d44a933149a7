/* Events in memory: see trace.h. */
#include "runtime/trace/impl.h"

#include "runtime/trace/clock.h"

#include <stdlib.h>
#include <time.h>

/* Readings of both clocks; the shortest is used, as the thread was preempted during longer ones. */
#define ANCHOR_LOOKS 16

/* Reads the monotonic clock and the wall clock at one moment. */
static void
anchor(struct rt_trace *t)
{
	int64_t best = INT64_MAX;
	for (int i = 0; i < ANCHOR_LOOKS; i++) {
		struct timespec wall;
		const int64_t before = rt_now_ns();
		clock_gettime(CLOCK_REALTIME, &wall);
		const int64_t after = rt_now_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		t->anchor_ns = before + best / 2;
		t->wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
	}
}

int
rt_trace_tracks(const struct rt_program *p)
{
	return p->ntransfers ? RT_TRACKS : RT_TRACK_TO_HOST;
}

struct rt_trace *
rt_trace_new(const struct rt_program *prog, int rank, const int64_t *coord, size_t events)
{
	struct rt_trace *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	*t = (struct rt_trace){.prog = prog, .rank = rank, .room = events};
	memcpy(t->coord, coord, sizeof t->coord);
	anchor(t);
	t->run = t->wall_ns;
	for (int i = 0; i < rt_trace_tracks(prog); i++) {
		const size_t bytes = events * sizeof(struct rt_trace_event);
		t->tracks[i].events = malloc(bytes);
		if (!t->tracks[i].events) {
			rt_trace_free(t);
			return NULL;
		}
		/* Touch the pages now, so that the first step has no page faults. */
		memset(t->tracks[i].events, 0, bytes);
	}
	return t;
}

void
rt_trace_free(struct rt_trace *t)
{
	if (!t)
		return;
	for (int i = 0; i < RT_TRACKS; i++)
		free(t->tracks[i].events);
	free(t);
}

int64_t
rt_trace_run(const struct rt_trace *t)
{
	return t->run;
}

void
rt_trace_set_run(struct rt_trace *t, int64_t run)
{
	t->run = run;
}

void
rt_trace_step(struct rt_trace *t, int64_t step)
{
	if (!t)
		return;
	t->step = step;
	t->active = true;
}

void
rt_trace_step_end(struct rt_trace *t, int64_t begin, int64_t end)
{
	if (!t)
		return;
	rt_trace_add(t, RT_TRACK_COMPUTE,
		&(struct rt_trace_event){.begin = begin, .end = end, .kind = RT_EVENT_STEP});
	t->active = false;
}

bool
rt_trace_active(const struct rt_trace *t)
{
	return t && t->active;
}

uint32_t
rt_trace_sequence(struct rt_trace *t, int32_t coll)
{
	return t->sequence[t->prog->colls[coll].axis]++;
}

void
rt_trace_add(struct rt_trace *t, enum rt_track track, const struct rt_trace_event *e)
{
	struct track *to = &t->tracks[track];
	struct rt_trace_event *at = &to->events[to->next];
	*at = *e;
	at->step = t->step;
	to->count++;
	if (++to->next == t->room)
		to->next = 0;
}

void
rt_trace_clock_error(struct rt_trace *t, int64_t ns)
{
	if (ns > t->clock_error_ns)
		t->clock_error_ns = ns;
}

void
rt_trace_processors(struct rt_trace *t, int n)
{
	t->processors = n;
}
