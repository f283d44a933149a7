/*
 * Replay of what changed: in the order of issue from the first position that may be different, as
 * far as anything that is different is read. Who reads it is looked up only when the sweep would
 * end without that.
 */
#include "passes/analysis/cost/step.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/step_impl.h"

#include <string.h>

/* The latest of t and the ends that event e waits for; not those of other members. */
static inline replay_time
ready_at(const struct step *s, uint32_t e, replay_time t)
{
	const struct step_event *event = s->event;
	const uint32_t *source = &s->source[event[e].first];
	for (uint32_t k = 0; k < event[e].n; k++) {
		replay_time d = event[source[k]].end;
		t = d > t ? d : t;
	}
	return t;
}

static inline void
set_end(struct step *s, uint32_t e, replay_time end)
{
	step_log_time(s, STEP_LOG_END, e, s->event[e].end);
	s->event[e].end = end;
}

/*
 * The last position at which something reads the ends that were changed since log entry `from`: the
 * next event of the stream, or one that waits.
 */
static uint32_t
last_reader(const struct step *s, int64_t from, uint32_t last)
{
	for (int64_t i = from; i < s->log.n; i++) {
		const struct step_place *place = &s->place[s->log.at[i].index];
		if (place->next != STEP_NONE && s->place[place->next].position > last)
			last = s->place[place->next].position;
		for (uint32_t k = place->reader; k != STEP_NONE;) {
			const struct step_edge *edge = &s->edge[k];
			uint32_t p = s->place[s->place[edge->of].group].position;
			last = p > last ? p : last;
			k = edge->next_reader;
		}
	}
	return last;
}

/* An event that others run as a part of, which all end with it. */
static bool
replay_group(struct step *s, uint32_t e)
{
	replay_time t = s->event[s->event[e].prev].end;
	bool changed = false;
	for (uint32_t m = e; m != STEP_NONE; m = s->event[m].member)
		t = ready_at(s, m, t);
	t += s->event[e].duration;
	for (uint32_t m = e; m != STEP_NONE; m = s->event[m].member)
		if (s->event[m].end != t) {
			set_end(s, m, t);
			changed = true;
		}
	return changed;
}

/* Replays an event; true: its end, or that of a member, is another one now. */
static inline bool
replay_event(struct step *s, uint32_t e)
{
	const struct step_event *event = &s->event[e];
	if (event->member != STEP_NONE)
		return replay_group(s, e);
	replay_time t = ready_at(s, e, s->event[event->prev].end) + event->duration;
	if (t == event->end)
		return false;
	set_end(s, e, t);
	return true;
}

/* A change is followed so far before anybody looks who reads it: mostly the next events do. */
enum { FOLLOW = 16 };

/* From s->low to position `limit` at most. */
static void
sweep(struct step *s, uint32_t limit)
{
	uint32_t p = s->low, last = s->high, known;
	step_log_number(s, STEP_LOG_DIRTY, 0, s->low, s->high);
	known = s->log.n;
	for (; p < s->norder; p++) {
		if (p > last || p > limit) {
			last = last_reader(s, known, s->high);
			known = s->log.n;
			s->high = last;
			if (p > last || p > limit)
				break;
		}
		uint32_t e = s->order[p];
		if (s->event[e].prev != STEP_NONE && replay_event(s, e) && p + FOLLOW > last)
			last = p + FOLLOW;
	}
	bool done = p == s->norder || p > s->high;
	s->low = done ? STEP_NONE : p;
	s->high = done ? 0 : s->high;
}

static void
set_makespan(struct step *s)
{
	step_log_time(s, STEP_LOG_MAKESPAN, 0, s->makespan);
	s->makespan = 0;
	for (uint32_t k = 0; k < s->nstreams; k++) {
		replay_time end = s->event[s->last[k]].end;
		s->makespan = end > s->makespan ? end : s->makespan;
	}
}

replay_time
step_replay(struct step *s)
{
	if (s->low != STEP_NONE) {
		sweep(s, s->norder - 1);
		set_makespan(s);
	}
	return s->makespan;
}

replay_time
step_replay_to(struct step *s, uint32_t event)
{
	uint32_t position = s->place[s->place[event].group].position;
	if (s->low != STEP_NONE && s->low <= position) {
		sweep(s, position);
		if (s->low == STEP_NONE)
			set_makespan(s);
	}
	return s->event[event].end;
}

void
step_replay_set(
	struct step *s, const uint32_t *event, uint32_t n, replay_time *start, replay_time *end)
{
	uint32_t mark = step_mark(s);
	/* In the order of issue: the next one is the first behind position `at`. */
	for (uint32_t done = 0, at = STEP_NONE; done < n; done++) {
		uint32_t next = STEP_NONE;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t p = s->place[event[i]].position;
			bool behind = at == STEP_NONE || p > s->place[event[at]].position;
			if (behind && (next == STEP_NONE || p < s->place[event[next]].position))
				next = i;
		}
		at = next;
		if (at == STEP_NONE)
			break;
		replay_event(s, event[at]);
		replay_time t = s->event[event[at]].end;
		if (end)
			end[at] = t;
		if (start)
			start[at] = t - s->event[event[at]].duration;
	}
	step_undo(s, mark);
}

replay_time
step_end(const struct step *s, uint32_t event)
{
	return s->event[event].end;
}

uint32_t
step_mark(const struct step *s)
{
	return (uint32_t)s->log.n;
}

void
step_forget(struct step *s)
{
	s->log.n = 0;
}

uint32_t
step_events(const struct step *s)
{
	return s->n;
}

uint32_t
step_runs_as(const struct step *s, uint32_t event)
{
	return s->place[event].group;
}

uint32_t
step_position(const struct step *s, uint32_t event)
{
	return s->place[event].position;
}

static void
copy_events(struct step *s, const struct replay_graph *g)
{
	for (uint32_t i = 0; i < s->room + s->nstreams; i++) {
		s->event[i] = (struct step_event){.prev = STEP_NONE, .member = STEP_NONE};
		s->place[i] = (struct step_place){.next = STEP_NONE,
			.group = i,
			.into = STEP_NONE,
			.tail = i,
			.reader = STEP_NONE};
	}
	for (uint32_t k = 0; k < s->nstreams; k++)
		s->last[k] = s->room + k;
	for (uint32_t p = 0; p < g->n; p++) {
		uint32_t e = g->order ? g->order[p] : p, stream = g->stream[e];
		uint32_t prev = s->last[stream];
		s->order[p] = e;
		s->place[e].position = p;
		s->place[e].stream = (uint16_t)stream;
		s->event[e].duration = g->duration[e];
		s->event[e].prev = prev;
		s->event[e].first = g->dep_first[e];
		s->event[e].n = g->dep_first[e + 1] - g->dep_first[e];
		s->place[prev].next = e;
		s->last[stream] = e;
	}
}

static void
copy_edges(struct step *s, const struct replay_graph *g)
{
	for (uint32_t e = 0; e < g->n; e++)
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++) {
			uint32_t on = g->dep[k];
			s->source[k] = on;
			s->edge[k] = (struct step_edge){e, on, s->place[on].reader};
			s->place[on].reader = k;
		}
}

struct step *
step_create(const void *owner, const struct replay_graph *g, uint32_t extra)
{
	struct step *s = NEW(owner, struct step);
	s->n = s->norder = g->n;
	s->room = g->n + extra;
	s->nstreams = g->nstreams ? g->nstreams : 1;
	s->nedges = s->edges_room = g->n ? g->dep_first[g->n] : 0;
	s->event = ARRAY_NEW(s, struct step_event, s->room + s->nstreams);
	s->place = ARRAY_NEW(s, struct step_place, s->room + s->nstreams);
	s->edge = ARRAY_NEW(s, struct step_edge, s->nedges);
	s->source = ARRAY_NEW(s, uint32_t, s->nedges);
	s->order = ARRAY_NEW(s, uint32_t, s->room);
	s->last = NEW_ARRAY(s, uint32_t, s->nstreams);
	copy_events(s, g);
	copy_edges(s, g);
	s->low = g->n ? 0 : STEP_NONE;
	s->high = g->n ? g->n - 1 : 0;
	step_replay(s);
	step_forget(s);
	return s;
}

/* Appends what e waits for, by the new numbers. */
static void
snapshot_edges(const struct step *s, uint32_t e, const uint32_t *number, uint32_t *dep, uint32_t *n)
{
	for (uint32_t m = e; m != STEP_NONE; m = s->event[m].member)
		for (uint32_t k = s->event[m].first; k < s->event[m].first + s->event[m].n; k++)
			if (s->source[k] < s->room)
				dep[(*n)++] = number[s->place[s->source[k]].group];
}

struct step_snapshot *
step_snapshot(const void *owner, const struct step *s)
{
	struct step_snapshot *shot = NEW(owner, struct step_snapshot);
	uint32_t n = 0, ndeps = 0, *number = ARRAY_NEW(shot, uint32_t, s->room);
	uint16_t *stream = ARRAY_NEW(shot, uint16_t, s->norder);
	replay_time *duration = ARRAY_NEW(shot, replay_time, s->norder);
	uint32_t *dep_first = ARRAY_NEW(shot, uint32_t, s->norder + 1);
	uint32_t *dep = ARRAY_NEW(shot, uint32_t, s->nedges);
	shot->event = ARRAY_NEW(shot, uint32_t, s->norder);
	for (uint32_t p = 0; p < s->norder; p++) {
		uint32_t e = s->order[p];
		if (s->event[e].prev == STEP_NONE)
			continue;
		shot->event[n] = e;
		number[e] = n;
		stream[n] = s->place[e].stream;
		duration[n] = s->event[e].duration;
		dep_first[n++] = ndeps;
		snapshot_edges(s, e, number, dep, &ndeps);
	}
	dep_first[n] = ndeps;
	shot->graph = (struct replay_graph){n, s->nstreams, stream, duration, dep_first, dep, NULL};
	return shot;
}
