/*
 * Two ways to make a schedule of two streams from keys: see order.h. Insertion places urgent nodes
 * before the rest, so a long message never delays a short one that many nodes wait for; dispatching
 * never lets a stream wait while a node is ready.
 */
#include "passes/search/dopt/order.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* --- insertion --- */

/* The earliest time from `release` on at which a stream is free for long enough; reserves it. */
static replay_time
place(struct stream *s, replay_time release, replay_time duration)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (s->span[middle].end <= release)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->n && s->span[low].start < release + duration; low++)
		release = replay_later(release, s->span[low].end);
	if (duration == 0)
		return release;
	/* Adjacent spans are merged. */
	bool joins = low && s->span[low - 1].end == release;
	bool meets = low < s->n && s->span[low].start == release + duration;
	if (joins && meets) {
		s->span[low - 1].end = s->span[low].end;
		memmove(&s->span[low], &s->span[low + 1], (--s->n - low) * sizeof *s->span);
	} else if (joins) {
		s->span[low - 1].end = release + duration;
	} else if (meets) {
		s->span[low].start = release;
	} else {
		memmove(&s->span[low + 1], &s->span[low], (s->n++ - low) * sizeof *s->span);
		s->span[low] = (struct span){release, release + duration};
	}
	return release;
}

ORDER_BY(by_key, struct entry, UP(key), UP(rank))

/* Sorts all nodes by `key`, equal ones by position, or from the last one on. */
static void
sort_nodes(struct order *o, const replay_time *key, bool reverse)
{
	for (uint32_t i = 0; i < o->g.n; i++)
		o->entry[i] = (struct entry){key[i], reverse ? o->g.n - i : i, i};
	qsort(o->entry, o->g.n, sizeof *o->entry, by_key);
}

replay_time
order_insert(struct order *o, const struct order_way *w)
{
	const struct order_graph *g = &o->g;
	replay_time makespan = 0;

	sort_nodes(o, o->key, w->reverse);
	o->stream[0].n = o->stream[1].n = 0;
	for (uint32_t done = 0; done < g->n; done++) {
		uint32_t i = o->entry[done].node;
		replay_time release = 0;
		for (uint32_t e = w->first_pred[i]; e < w->first_pred[i + 1]; e++)
			release = replay_later(release, o->end[w->pred[e]]);
		o->start[i] = place(&o->stream[g->message[i]], release, g->duration[i]);
		o->end[i] = o->start[i] + g->duration[i];
		makespan = replay_later(makespan, o->end[i]);
	}
	return makespan;
}

/* --- dispatching --- */

/* The earliest time from t on at which a stream that is free could start a node; FINE_LAST_MOMENT:
 * there is none. */
static replay_time
next_start(const struct order *o, int s, replay_time t)
{
	if (o->ready[s].n)
		return t;
	if (!o->later[s].n)
		return FINE_LAST_MOMENT;
	replay_time release = o->later[s].entry[0].time;
	return release > t ? release : t;
}

/* Takes the node that stream s starts at time t. */
static uint32_t
take(struct order *o, int s, replay_time t)
{
	while (o->later[s].n && o->later[s].entry[0].time <= t) {
		uint32_t i = fine_heap_pop(&o->later[s]);
		fine_heap_set(&o->ready[s], i, o->key[i]);
	}
	return fine_heap_pop(&o->ready[s]);
}

static void
release(struct order *o, uint32_t i, replay_time t)
{
	if (t > o->release[i])
		o->release[i] = t;
	if (--o->waits[i] == 0)
		fine_heap_set(&o->later[o->g.message[i]], i, o->release[i]);
}

replay_time
order_dispatch(struct order *o, const struct order_way *w)
{
	const struct order_graph *g = &o->g;
	replay_time free_at[2] = {0, 0};

	for (uint32_t i = 0; i < g->n; i++) {
		o->release[i] = 0;
		o->waits[i] = w->first_pred[i + 1] - w->first_pred[i] + 1;
		release(o, i, 0);
	}
	for (uint32_t done = 0; done < g->n; done++) {
		replay_time at[2] = {next_start(o, 0, free_at[0]), next_start(o, 1, free_at[1])};
		int s = at[1] < at[0];
		uint32_t i = take(o, s, at[s]);
		o->entry[done].node = i;
		o->start[i] = at[s];
		o->end[i] = free_at[s] = at[s] + g->duration[i];
		for (uint32_t e = w->first_reader[i]; e < w->first_reader[i + 1]; e++)
			release(o, w->reader[e], o->end[i]);
	}
	return replay_later(free_at[0], free_at[1]);
}

/* --- the order of issue --- */

void
order_keep(struct order *o)
{
	/* If two start at the same time and one takes no time, the one that waits for the other
	 * comes later. */
	for (uint32_t k = 0; k < o->g.n; k++)
		o->rank[o->entry[k].node] = k;
	for (uint32_t i = 0; i < o->g.n; i++)
		o->entry[i] = (struct entry){o->start[i], o->rank[i], i};
	qsort(o->entry, o->g.n, sizeof *o->entry, by_key);
	for (uint32_t k = 0; k < o->g.n; k++)
		o->best[k] = o->entry[k].node;
}

/* --- room --- */

static void
heap_create(const void *owner, struct fine_heap *h, uint32_t n)
{
	h->entry = ARRAY_NEW(owner, struct fine_heap_entry, n);
	h->at = ARRAY_NEW(owner, uint32_t, n);
	h->n = 0;
	for (uint32_t i = 0; i < n; i++)
		h->at[i] = FINE_NOT_IN_HEAP;
}

void
order_set_up(struct order *o)
{
	uint32_t n = o->g.n;

	o->entry = ARRAY_NEW(o, struct entry, n);
	o->release = ARRAY_NEW(o, replay_time, n);
	o->waits = ARRAY_NEW(o, uint32_t, n);
	for (int k = 0; k < 2; k++) {
		o->stream[k].span = ARRAY_NEW(o, struct span, n);
		heap_create(o, &o->later[k], n);
		heap_create(o, &o->ready[k], n);
	}
}
