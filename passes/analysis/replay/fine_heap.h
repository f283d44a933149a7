/*
 * Queue of the next events: a heap with four children per node, of numbers 0 .. room-1 with at most
 * one time each. Arrays only: setting a time again moves the number in place.
 */
#ifndef PASSES_ANALYSIS_FINE_HEAP_H
#define PASSES_ANALYSIS_FINE_HEAP_H

#include "passes/analysis/replay/fine_plan.h"

struct fine_heap {
	struct fine_heap_entry {
		replay_time time;
		uint32_t number;
	} * entry;
	uint32_t *at; /* by number: its position in `entry`, if it is in the heap */
	uint32_t n;
};

#define FINE_NOT_IN_HEAP UINT32_MAX

/* The end of time: later times are clamped to it. */
#define FINE_LAST_MOMENT INT64_MAX

static inline replay_time
fine_later(replay_time now, fine_amount time)
{
	return time < (fine_amount)(FINE_LAST_MOMENT - now) ? now + (replay_time)time
							    : FINE_LAST_MOMENT;
}

static inline void
fine_heap_put(struct fine_heap *h, uint32_t i, struct fine_heap_entry e)
{
	h->entry[i] = e;
	h->at[e.number] = i;
}

/* Puts e where entry i was, or above. */
static inline void
fine_heap_up(struct fine_heap *h, uint32_t i, struct fine_heap_entry e)
{
	while (i && h->entry[(i - 1) / 4].time > e.time) {
		fine_heap_put(h, i, h->entry[(i - 1) / 4]);
		i = (i - 1) / 4;
	}
	fine_heap_put(h, i, e);
}

/* Puts e where entry i was, or below. */
static inline void
fine_heap_down(struct fine_heap *h, uint32_t i, struct fine_heap_entry e)
{
	for (uint32_t child = 4 * i + 1; child < h->n; child = 4 * i + 1) {
		uint32_t end = child + 4 < h->n ? child + 4 : h->n, least = child;
		for (uint32_t k = child + 1; k < end; k++)
			least = h->entry[k].time < h->entry[least].time ? k : least;
		if (h->entry[least].time >= e.time)
			break;
		fine_heap_put(h, i, h->entry[least]);
		i = least;
	}
	fine_heap_put(h, i, e);
}

/* Sets the time of a number, whether or not it had one. */
static inline void
fine_heap_set(struct fine_heap *h, uint32_t number, replay_time time)
{
	uint32_t i = h->at[number];
	struct fine_heap_entry e = {time, number};
	if (i == FINE_NOT_IN_HEAP)
		fine_heap_up(h, h->n++, e);
	else if (time < h->entry[i].time)
		fine_heap_up(h, i, e);
	else
		fine_heap_down(h, i, e);
}

/* Removes the earliest entry; the heap must not be empty. */
static inline uint32_t
fine_heap_pop(struct fine_heap *h)
{
	uint32_t number = h->entry[0].number;
	h->at[number] = FINE_NOT_IN_HEAP;
	if (--h->n)
		fine_heap_down(h, 0, h->entry[h->n]);
	return number;
}

/* Removes a number that is in the heap. */
static inline void
fine_heap_remove(struct fine_heap *h, uint32_t number)
{
	uint32_t i = h->at[number];
	h->at[number] = FINE_NOT_IN_HEAP;
	if (i == --h->n)
		return;
	struct fine_heap_entry last = h->entry[h->n];
	if (i && h->entry[(i - 1) / 4].time > last.time)
		fine_heap_up(h, i, last);
	else
		fine_heap_down(h, i, last);
}

#endif
