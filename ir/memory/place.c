/*
 * Rooms are placed one after another, each in the smallest gap that holds it among those that live
 * while it does, or behind them; a row of rooms in the smallest gap that holds it as a whole, each
 * of its rooms for the time that it lives. How good that is depends on the order; several are tried
 * and the best kept, until one needs no more than what lives at one moment. Then what ends highest
 * is moved forward in the order, a few times, where that costs little.
 */
#include "ir/memory/place.h"

#include "ir/base/arena.h"
#include "ir/base/sort.h"
#include "ir/base/vec.h"
#include "ir/memory/span_set.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum place_limit {
	PLACE_ROUNDS = 50,      /* of moving forward: later ones rarely gain */
	PLACE_EFFORT = 4000000, /* spans after which nothing more is tried: some 25 ms */
};

struct key {
	double value; /* large first */
	uint32_t index;
};

/* Rooms that are placed together. */
struct item {
	uint32_t first, n; /* of placer.room */
};

/* Starts that a row cannot have: those behind `free_to` and before `free_from`. */
struct bar {
	int64_t free_to, free_from;
};

struct placer {
	struct storage_room *room;
	uint32_t nrooms;
	struct item *item;
	uint32_t n; /* items */
	struct VEC(struct bar) bar;
	uint32_t *first, *last; /* moments, numbered among those at which a room begins */
	uint32_t moments;
	struct span_tree *taken;
	struct key *order;
	uint64_t *best; /* offsets */
	uint64_t best_end, bound;
};

static int
by_value(const void *x, const void *y)
{
	const struct key *a = x, *b = y;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return a->index < b->index ? -1 : 1;
}

/* The start of the smallest gap of at least `bytes`, the lowest of several; else the end. */
static uint64_t
best_fit(const struct span *taken, uint32_t n, uint64_t bytes)
{
	uint64_t end = 0, best = 0, best_gap = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t gap = taken[i].begin - end;
		if (gap >= bytes && gap < best_gap) {
			best_gap = gap;
			best = end;
		}
		end = taken[i].end;
	}
	return best_gap == UINT64_MAX ? end : best;
}

static void
add_bars(struct placer *p, const struct span *taken, uint32_t n, uint64_t at, uint64_t bytes)
{
	for (uint32_t i = 0; i < n; i++)
		if (taken[i].end > at)
			VEC_PUSH(p, &p->bar,
				(struct bar){(int64_t)taken[i].begin - (int64_t)(at + bytes),
					(int64_t)(taken[i].end - at)});
}

static int
by_start(const void *x, const void *y)
{
	const struct bar *a = x, *b = y;

	if (a->free_to != b->free_to)
		return a->free_to < b->free_to ? -1 : 1;
	return a->free_from < b->free_from ? -1 : a->free_from > b->free_from;
}

/* Where a row starts: in the smallest gap between bars, the lowest of several; else behind all. */
static uint64_t
fit_row(struct placer *p, const struct item *it)
{
	uint64_t at = 0;

	p->bar.n = 0;
	for (uint32_t k = it->first; k < it->first + it->n; k++) {
		uint32_t ntaken;
		const struct span *taken =
			span_tree_taken(p->taken, p->first[k], p->last[k], &ntaken);
		add_bars(p, taken, ntaken, at, p->room[k].bytes);
		at += p->room[k].bytes;
	}
	if (p->bar.n)
		qsort(p->bar.at, (size_t)p->bar.n, sizeof *p->bar.at, by_start);
	int64_t end = 0, best = -1, best_gap = INT64_MAX;
	for (int64_t i = 0; i < p->bar.n; i++) {
		const struct bar *bar = &p->bar.at[i];
		const int64_t gap = bar->free_to - end;
		if (gap >= 0 && gap < best_gap) {
			best_gap = gap;
			best = end;
		}
		end = bar->free_from > end ? bar->free_from : end;
	}
	return (uint64_t)(best < 0 ? end : best);
}

static uint64_t
fit(struct placer *p, const struct item *it)
{
	const uint32_t k = it->first;
	uint32_t ntaken;

	if (it->n > 1)
		return fit_row(p, it);
	const struct span *taken = span_tree_taken(p->taken, p->first[k], p->last[k], &ntaken);
	return best_fit(taken, ntaken, p->room[k].bytes);
}

/* Takes the bytes from `at` on; returns where they end. */
static uint64_t
take(struct placer *p, const struct item *it, uint64_t at)
{
	for (uint32_t k = it->first; k < it->first + it->n; k++) {
		p->room[k].offset = at;
		span_tree_take(p->taken, p->first[k], p->last[k], at, at + p->room[k].bytes);
		at += p->room[k].bytes;
	}
	return at;
}

/*
 * Places the items in that order, until one ends at `limit` or behind it, and keeps the offsets if
 * none does and they end lower than the best so far. Returns the one in the order that ends
 * highest, and where that is.
 */
static uint32_t
place_in_order(struct placer *p, uint64_t limit, uint64_t *highest_end)
{
	uint64_t end = 0;
	uint32_t highest = 0;

	span_tree_clear(p->taken);
	for (uint32_t i = 0; i < p->n && end < limit; i++) {
		const struct item *it = &p->item[p->order[i].index];
		const uint64_t item_end = take(p, it, fit(p, it));
		highest = item_end > end ? i : highest;
		end = item_end > end ? item_end : end;
	}
	if (end < limit && end < p->best_end) {
		p->best_end = end;
		for (uint32_t i = 0; i < p->nrooms; i++)
			p->best[i] = p->room[i].offset;
	}
	*highest_end = end;
	return highest;
}

static double
life(const struct placer *p, uint32_t i)
{
	return (double)(p->last[i] - p->first[i] + 1);
}

/* What is large and lives long first; what is large; what takes bytes for long; what lives long;
 * what comes first. A row is as large as all its rooms, and lives as long as they do on average. */
static double
value_of(const struct placer *p, uint32_t item, int order)
{
	double bytes = 0, area = 0, first = 0;

	for (uint32_t i = 0; i < p->item[item].n; i++) {
		const uint32_t k = p->item[item].first + i;
		bytes += (double)p->room[k].bytes;
		area += (double)p->room[k].bytes * life(p, k);
		first = i && first < p->first[k] ? first : p->first[k];
	}
	switch (order) {
	case 0: return bytes * area;
	case 1: return bytes;
	case 2: return area;
	case 3: return bytes > 0 ? area / bytes : life(p, p->item[item].first);
	default: return -first;
	}
}

enum { ORDERS = 5 };

static void
sort_order(struct placer *p, int order)
{
	for (uint32_t i = 0; i < p->n; i++)
		p->order[i] = (struct key){value_of(p, i, order), i};
	qsort(p->order, p->n, sizeof *p->order, by_value);
}

/* Is there something to gain, and not much spent? */
static bool
goes_on(const struct placer *p)
{
	return p->best_end > p->bound && span_tree_work(p->taken) < PLACE_EFFORT;
}

/* Places again with the room that ended highest earlier in the order. */
static void
improve(struct placer *p, uint32_t highest)
{
	for (int round = 0; round < PLACE_ROUNDS && highest && goes_on(p); round++) {
		const struct key moved = p->order[highest];
		memmove(p->order + 1, p->order, sizeof moved * highest);
		p->order[0] = moved;
		uint64_t end;
		highest = place_in_order(p, p->best_end, &end);
	}
}

/* Each order once, then more of those that are best. */
static void
try_orders(struct placer *p)
{
	uint64_t end[ORDERS];
	uint32_t highest[ORDERS];
	int tried = 0;

	for (; tried < ORDERS && goes_on(p); tried++) {
		sort_order(p, tried);
		highest[tried] = place_in_order(p, UINT64_MAX, &end[tried]);
	}
	while (goes_on(p)) {
		int best = 0;
		for (int order = 1; order < tried; order++)
			best = end[order] < end[best] ? order : best;
		if (end[best] == UINT64_MAX)
			break;
		end[best] = UINT64_MAX;
		sort_order(p, best);
		improve(p, highest[best]);
	}
}

/* The number of moments of the sorted list that are not behind `at`. */
static uint32_t
count_until(const uint32_t *moment, uint32_t n, uint32_t at)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (moment[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Two lives meet if and only if they do at a moment at which one begins: no other is needed. */
static void
number_moments(struct placer *p)
{
	uint32_t *moment = ARRAY_NEW(p, uint32_t, p->nrooms);

	p->first = ARRAY_NEW(p, uint32_t, p->nrooms);
	p->last = ARRAY_NEW(p, uint32_t, p->nrooms);
	for (uint32_t i = 0; i < p->nrooms; i++)
		moment[i] = p->room[i].first;
	sort_uint32(moment, p->nrooms);
	for (uint32_t i = 0; i < p->nrooms; i++)
		if (!i || moment[i] != moment[p->moments - 1])
			moment[p->moments++] = moment[i];
	for (uint32_t i = 0; i < p->nrooms; i++) {
		p->first[i] = count_until(moment, p->moments, p->room[i].first) - 1;
		p->last[i] = count_until(moment, p->moments, p->room[i].last) - 1;
	}
	array_free(moment);
}

static void
make_items(struct placer *p)
{
	p->item = ARRAY_NEW(p, struct item, p->nrooms);
	for (uint32_t i = 0; i < p->nrooms; i++)
		if (i && p->room[i].row && p->room[i].row == p->room[i - 1].row)
			p->item[p->n - 1].n++;
		else
			p->item[p->n++] = (struct item){i, 1};
}

uint64_t
storage_place(struct storage_room *room, uint32_t n)
{
	if (!n)
		return 0;
	struct placer *p = NEW(NULL, struct placer);
	p->room = room;
	p->nrooms = n;
	make_items(p);
	p->bound = storage_live(room, n, NULL);
	p->best_end = UINT64_MAX;
	number_moments(p);
	p->taken = span_tree_create(p, p->moments);
	p->order = ARRAY_NEW(p, struct key, p->n);
	p->best = ARRAY_ZERO(p, uint64_t, n);
	try_orders(p);
	for (uint32_t i = 0; i < n; i++)
		room[i].offset = p->best[i];
	const uint64_t end = p->best_end;
	talloc_free(p);
	return end;
}

struct change {
	uint64_t at; /* moment, twice: the end of a life comes before the start of one */
	uint64_t bytes;
};

static int
by_time(const void *x, const void *y)
{
	const struct change *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

uint64_t
storage_live(const struct storage_room *room, uint32_t n, uint32_t *at)
{
	struct change *change = ARRAY_NEW(NULL, struct change, 2 * (size_t)n + 1);
	uint64_t now = 0, most = 0, when = 0;

	for (uint32_t i = 0; i < n; i++) {
		change[2 * i] = (struct change){2 * (uint64_t)room[i].first + 1, room[i].bytes};
		change[2 * i + 1] =
			(struct change){2 * ((uint64_t)room[i].last + 1), room[i].bytes};
	}
	qsort(change, 2 * (size_t)n, sizeof *change, by_time);
	for (uint32_t i = 0; i < 2 * n; i++) {
		now += change[i].at % 2 ? change[i].bytes : -change[i].bytes;
		if (now > most) {
			most = now;
			when = change[i].at / 2;
		}
	}
	array_free(change);
	if (at)
		*at = (uint32_t)when;
	return most;
}
