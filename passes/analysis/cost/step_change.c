/*
 * Changes of a step, and undoing them: every value is logged before it changes, and undoing puts
 * them back from the newest on. A change that turns out not to fit is undone the same way.
 */
#include "passes/analysis/cost/step.h"

#include "ir/base/vec.h"
#include "passes/analysis/cost/step_impl.h"

#include <assert.h>
#include <string.h>

/* --- one value at a time --- */

static uint32_t *
number_at(struct step *s, enum step_log_kind kind, uint32_t i)
{
#define CASE(name, where)                                                                          \
	case STEP_LOG_##name: return &s->where;
	switch (kind) {
		STEP_NUMBERS(CASE)
	default: return NULL;
	}
#undef CASE
}

static inline void
set(struct step *s, enum step_log_kind kind, uint32_t i, uint32_t number)
{
	uint32_t *at = number_at(s, kind, i);

	step_log_number(s, kind, i, *at, 0);
	*at = number;
}

static void
set_duration(struct step *s, uint32_t e, replay_time duration)
{
	step_log_time(s, STEP_LOG_DURATION, e, s->event[e].duration);
	s->event[e].duration = duration;
}

/* Positions low .. high are to be replayed. */
static void
set_dirty(struct step *s, uint32_t low, uint32_t high)
{
	step_log_number(s, STEP_LOG_DIRTY, 0, s->low, s->high);
	if (low < s->low)
		s->low = low;
	if (high > s->high)
		s->high = high;
}

static void
set_event_dirty(struct step *s, uint32_t e)
{
	if (e != STEP_NONE)
		set_dirty(s, s->place[e].position, s->place[e].position);
}

/* --- streams --- */

static void
stream_remove(struct step *s, uint32_t e)
{
	uint32_t prev = s->event[e].prev, next = s->place[e].next;
	set(s, STEP_LOG_NEXT, prev, next);
	if (next != STEP_NONE)
		set(s, STEP_LOG_PREV, next, prev);
	else
		set(s, STEP_LOG_LAST, s->place[e].stream, prev);
	set_event_dirty(s, next);
	set(s, STEP_LOG_PREV, e, STEP_NONE);
}

static void
stream_insert(struct step *s, uint32_t e, uint32_t prev)
{
	uint32_t next = s->place[prev].next;
	set(s, STEP_LOG_PREV, e, prev);
	set(s, STEP_LOG_NEXT, e, next);
	set(s, STEP_LOG_NEXT, prev, e);
	if (next != STEP_NONE)
		set(s, STEP_LOG_PREV, next, e);
	else
		set(s, STEP_LOG_LAST, s->place[e].stream, e);
	set_event_dirty(s, next);
	set_event_dirty(s, e);
}

/* The event of the stream behind which position p is; `near` runs on that stream, or is its head.
 */
static uint32_t
stream_before(const struct step *s, uint32_t near, uint32_t p)
{
	while (near < s->room && s->place[near].position >= p)
		near = s->event[near].prev;
	for (uint32_t next = s->place[near].next; next != STEP_NONE && s->place[next].position < p;
		next = s->place[near].next)
		near = next;
	return near;
}

/* --- the order --- */

/* Takes what is at position `from` to position `to`. */
static void
order_move(struct step *s, uint32_t from, uint32_t to)
{
	uint32_t e = s->order[from], *order = s->order;
	for (; from < to; from++) {
		order[from] = order[from + 1];
		s->place[order[from]].position = from;
	}
	for (; from > to; from--) {
		order[from] = order[from - 1];
		s->place[order[from]].position = from;
	}
	order[to] = e;
	s->place[e].position = to;
}

/* Makes room for n positions from p on. */
static void
order_insert(struct step *s, uint32_t p, uint32_t n)
{
	memmove(&s->order[p + n], &s->order[p], (s->norder - p) * sizeof *s->order);
	s->norder += n;
	for (uint32_t i = p + n; i < s->norder; i++)
		s->place[s->order[i]].position = i;
}

static void
order_remove(struct step *s, uint32_t p, uint32_t n)
{
	s->norder -= n;
	memmove(&s->order[p], &s->order[p + n], (s->norder - p) * sizeof *s->order);
	for (uint32_t i = p; i < s->norder; i++)
		s->place[s->order[i]].position = i;
}

/* What is dirty may stand so many positions before or behind where it did. */
static void
order_was_shifted(struct step *s, uint32_t before, uint32_t behind)
{
	if (s->low == STEP_NONE)
		return;
	uint32_t high = s->high + behind;
	set_dirty(
		s, s->low < before ? 0 : s->low - before, high < s->norder ? high : s->norder - 1);
}

/* --- edges --- */

static void
edge_update(struct step *s, uint32_t k)
{
	const struct step_edge *edge = &s->edge[k];
	bool inside = s->place[edge->of].group == s->place[edge->on].group;
	uint32_t source = inside ? s->room : edge->on;
	if (s->source[k] != source)
		set(s, STEP_LOG_SOURCE, k, source);
}

/* The edges of the members from `first` to `last`, when their group is another one. */
static void
edges_update(struct step *s, uint32_t first, uint32_t last)
{
	for (uint32_t m = first;; m = s->event[m].member) {
		for (uint32_t k = s->event[m].first; k < s->event[m].first + s->event[m].n; k++)
			edge_update(s, k);
		for (uint32_t k = s->place[m].reader; k != STEP_NONE; k = s->edge[k].next_reader)
			edge_update(s, k);
		if (m == last)
			return;
	}
}

static uint32_t
position_of(const struct step *s, uint32_t e)
{
	return s->place[s->place[e].group].position;
}

/* Does e stand behind what it waits for, and before what waits for it? */
static bool
stands_right(const struct step *s, uint32_t e)
{
	uint32_t p = s->place[e].position;
	for (uint32_t m = e; m != STEP_NONE; m = s->event[m].member) {
		for (uint32_t k = s->event[m].first; k < s->event[m].first + s->event[m].n; k++)
			if (s->source[k] < s->room && position_of(s, s->source[k]) >= p)
				return false;
		for (uint32_t k = s->place[m].reader; k != STEP_NONE; k = s->edge[k].next_reader)
			if (s->source[k] < s->room && position_of(s, s->edge[k].of) <= p)
				return false;
	}
	return true;
}

/* --- changes --- */

static bool
runs(const struct step *s, uint32_t e)
{
	return e < s->n && s->event[e].prev != STEP_NONE;
}

void
step_set_duration(struct step *s, uint32_t event, replay_time duration)
{
	assert(runs(s, event) && duration >= 0);
	set_duration(s, event, duration);
	set_event_dirty(s, event);
}

static bool
keep_if(struct step *s, bool good, uint32_t mark)
{
	if (!good)
		step_undo(s, mark);
	return good;
}

bool
step_merge(struct step *s, uint32_t into, uint32_t from, replay_time duration)
{
	uint32_t mark = step_mark(s), tail = s->place[from].tail;
	assert(runs(s, into) && runs(s, from) && duration >= 0);
	if (into == from || s->place[into].stream != s->place[from].stream)
		return false;
	stream_remove(s, from);
	set(s, STEP_LOG_MEMBER, s->place[into].tail, from);
	set(s, STEP_LOG_TAIL, into, tail);
	set(s, STEP_LOG_INTO, from, into);
	for (uint32_t m = from; m != STEP_NONE; m = s->event[m].member)
		set(s, STEP_LOG_GROUP, m, into);
	edges_update(s, from, tail);
	set_duration(s, into, duration);
	set_event_dirty(s, into);
	return keep_if(s, stands_right(s, into), mark);
}

/* Takes the members from `from` to its tail out of the list that they are in. */
static void
members_cut(struct step *s, uint32_t from)
{
	uint32_t tail = s->place[from].tail, before = s->place[from].into;
	while (s->event[before].member != from)
		before = s->event[before].member;
	set(s, STEP_LOG_MEMBER, before, s->event[tail].member);
	set(s, STEP_LOG_MEMBER, tail, STEP_NONE);
	for (uint32_t e = s->place[from].into; e != STEP_NONE && s->place[e].tail == tail;
		e = s->place[e].into)
		set(s, STEP_LOG_TAIL, e, before);
}

bool
step_unmerge(struct step *s, uint32_t from, replay_time rest_duration, replay_time duration)
{
	uint32_t mark = step_mark(s), rest = s->place[from].group, tail = s->place[from].tail;
	assert(from < s->n && rest != from);
	members_cut(s, from);
	set(s, STEP_LOG_INTO, from, STEP_NONE);
	for (uint32_t m = from; m != STEP_NONE; m = s->event[m].member)
		set(s, STEP_LOG_GROUP, m, from);
	edges_update(s, from, tail);
	stream_insert(s, from, stream_before(s, rest, s->place[from].position));
	set_duration(s, rest, rest_duration);
	set_duration(s, from, duration);
	set_event_dirty(s, rest);
	return keep_if(s, stands_right(s, from) && stands_right(s, rest), mark);
}

static void
edge_add(struct step *s, uint32_t of, uint32_t on)
{
	if (s->nedges == s->edges_room) {
		ARRAY_ROOM(s, s->edge, s->nedges + 1);
		s->edges_room = (uint32_t)(array_bytes(s->edge) / sizeof *s->edge);
		s->source = ARRAY_RESIZE(s, s->source, uint32_t, s->edges_room);
	}
	uint32_t k = s->nedges++;
	s->edge[k] = (struct step_edge){of, on, s->place[on].reader};
	s->source[k] = on;
	set(s, STEP_LOG_READER, on, k);
	s->event[of].n++;
}

/* A new event, which does not run yet. */
static uint32_t
event_add(struct step *s, uint16_t stream)
{
	uint32_t e = s->n++;
	s->event[e] =
		(struct step_event){.prev = STEP_NONE, .first = s->nedges, .member = STEP_NONE};
	s->place[e] = (struct step_place){.next = STEP_NONE,
		.group = e,
		.into = STEP_NONE,
		.tail = e,
		.reader = STEP_NONE,
		.stream = stream};
	return e;
}

/* Its edges are those of `event` and its members. */
static uint32_t
part_add(struct step *s, uint32_t event, uint32_t position, replay_time duration)
{
	uint32_t part = event_add(s, s->place[event].stream);
	for (uint32_t m = event; m != STEP_NONE; m = s->event[m].member) {
		uint32_t end = s->event[m].first + s->event[m].n;
		for (uint32_t k = s->event[m].first; k < end; k++)
			if (s->source[k] < s->room)
				edge_add(s, part, s->edge[k].on);
	}
	s->event[part].duration = duration;
	s->place[part].position = position;
	s->order[position] = part;
	stream_insert(s, part, s->event[event].prev);
	return part;
}

bool
step_split(struct step *s, uint32_t event, uint32_t n, const replay_time *duration, uint32_t *part)
{
	uint32_t position = s->place[event].position;
	assert(runs(s, event));
	if (n < 1 || n > s->room - s->n)
		return false;
	step_log_number(s, STEP_LOG_SIZE, 0, s->n, s->nedges);
	step_log_number(s, STEP_LOG_INSERT, position, n - 1, 0);
	order_insert(s, position, n - 1);
	order_was_shifted(s, 0, n - 1);
	for (uint32_t i = 0; i + 1 < n; i++)
		part[i] = part_add(s, event, position + i, duration[i]);
	/* A member that never ran by itself waits for the parts. */
	uint32_t wait = event_add(s, s->place[event].stream);
	for (uint32_t i = 0; i + 1 < n; i++)
		edge_add(s, wait, part[i]);
	s->place[wait].into = s->place[wait].group = event;
	set(s, STEP_LOG_MEMBER, s->place[event].tail, wait);
	set(s, STEP_LOG_TAIL, event, wait);
	set_duration(s, event, duration[n - 1]);
	set_event_dirty(s, event);
	return true;
}

bool
step_move(struct step *s, uint32_t event, uint32_t position)
{
	uint32_t mark = step_mark(s), from = s->place[event].position;
	assert(runs(s, event));
	if (position >= s->norder)
		return false;
	uint32_t near = s->event[event].prev;
	stream_remove(s, event);
	step_log_number(s, STEP_LOG_MOVE, position, from, 0);
	order_move(s, from, position);
	order_was_shifted(s, 1, 1);
	stream_insert(s, event, stream_before(s, near, position));
	return keep_if(s, stands_right(s, event), mark);
}

/* --- undo --- */

static void
undo(struct step *s, const struct step_log *l)
{
	const uint32_t i = l->index;

#define CASE(name, where)                                                                          \
	case STEP_LOG_##name: s->where = l->old.time; break;
	switch ((enum step_log_kind)l->kind) {
		STEP_TIMES(CASE)
	case STEP_LOG_MAKESPAN: s->makespan = l->old.time; break;
	case STEP_LOG_MOVE: order_move(s, i, l->old.number.a); break;
	case STEP_LOG_INSERT: order_remove(s, i, l->old.number.a); break;
	case STEP_LOG_DIRTY:
		s->low = l->old.number.a;
		s->high = l->old.number.b;
		break;
	case STEP_LOG_SIZE:
		s->n = l->old.number.a;
		s->nedges = l->old.number.b;
		break;
	default: *number_at(s, (enum step_log_kind)l->kind, i) = l->old.number.a; break;
	}
#undef CASE
}

void
step_undo(struct step *s, uint32_t mark)
{
	while (s->log.n > mark)
		undo(s, &VEC_POP(&s->log));
}
