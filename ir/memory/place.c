/*
 * Rooms are placed one after another, each in the smallest gap that holds it among the rooms that
 * are live at the same time, or after them; a row is placed in the smallest gap that holds it as a
 * whole, where each of its rooms counts only while it is live. The result depends on the order:
 * several are tried and the best is kept, until one reaches the peak of live bytes. Then, if cheap,
 * the highest item is moved forward in each order, a few times. Sweeps over time (sweep.c), which
 * take a twentieth of the time of an order, come first: orders must improve on the best sweep.
 *
 * The first order is by size, and among equal sizes by end, latest first. In a training step these
 * are the values kept for the backward pass, earlier layers around later ones: they are placed
 * without gaps between them, so the sets of taken bytes stay short however many layers there are. It
 * is the only order that is tried for very large steps, if sweeps leave large enough gaps.
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
	PLACE_ROUNDS = 50, /* of moving forward, in each order: later ones rarely gain */
	PLACE_TURN = 7,    /* of these, before the next order is tried */
	PLACE_SWEEPS = 3,  /* of each order: later ones rarely gain */
	PLACE_MANY =
		10000, /* items: above this only the first order is tried, so time stays linear */
	PLACE_EFFORT = 80000, /* items placed by all tries except the first: about 0.1 s.
				 Counted, not timed: offsets do not depend on how fast this is. */
	PLACE_GAP = 500,      /* PLACE_EFFORT is spent if the end exceeds the peak by 1 / PLACE_GAP
				 or more, proportionally less below that, and none for very large
				 steps: there is less to gain */
};

/* Sort keys of the orders: large values first. */
enum measure {
	BY_BYTES,
	BY_BYTES_AND_AREA, /* their product: large and long-lived */
	BY_AREA,           /* bytes times duration */
	BY_LIFE,           /* long-lived */
	BY_START,          /* early */
};

/* The orders that are tried; the best ones for large steps come first. */
static const struct {
	enum measure by;
	bool late; /* among equal items, the one that ends last comes first; else as given */
} orders[] = {
	{BY_BYTES, true},
	{BY_START, true},
	{BY_BYTES_AND_AREA, true},
	{BY_AREA, true},
	{BY_LIFE, false},
	{BY_BYTES, false},
};

enum { ORDERS = sizeof orders / sizeof *orders };

struct key {
	double value;         /* large first */
	uint32_t late, index; /* then as the order says */
};

/* An order being tried. */
struct attempt {
	struct key *key; /* [placer.n] */
	uint64_t end;
	uint32_t highest; /* index in key of the item that ended highest */
	int rounds;       /* of moving forward */
};

/* Rooms that are placed together. */
struct item {
	uint32_t first, n; /* of placer.room */
};

/* Starts that a row cannot have: those after `free_to` and before `free_from`. */
struct bar {
	int64_t free_to, free_from;
};

struct placer {
	struct storage_room *room;
	uint32_t nrooms;
	struct item *item;
	uint32_t n; /* items */
	struct VEC(struct bar) bar;
	uint32_t *first, *last; /* live ranges, by number of the times at which a room begins */
	uint32_t moments;
	struct span_tree **taken; /* [homes] */
	uint32_t homes;
	uint64_t *best;             /* offsets */
	uint64_t best_end, bound;   /* no end is smaller */
	uint32_t most_at;           /* the first time of the peak of live bytes, `bound` */
	uint64_t enough;            /* no smaller end is needed */
	uint64_t placed;            /* items, by all tries */
	struct attempt try[ORDERS]; /* lowest end first */
	uint32_t ntries;
};

ORDER_BY(by_value, struct key, DOWN(value), DOWN(late), UP(index))

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

ORDER_BY(by_start, struct bar, UP(free_to), UP(free_from))

/* The homes of an item: [*first, end). */
static uint32_t
homes_of(const struct placer *p, const struct item *it, uint32_t *first)
{
	const int32_t home = p->room[it->first].home;

	*first = home < 0 ? 0 : (uint32_t)home;
	return home < 0 ? p->homes : *first + 1;
}

/* Where a row starts: in the smallest gap between bars, the lowest of several; else after all. */
static uint64_t
fit_row(struct placer *p, const struct item *it)
{
	uint64_t at = 0;
	uint32_t first, end_home = homes_of(p, it, &first);

	p->bar.n = 0;
	for (uint32_t k = it->first; k < it->first + it->n; k++) {
		for (uint32_t h = first; h < end_home; h++) {
			uint32_t ntaken;
			const struct span *taken =
				span_tree_taken(p->taken[h], p->first[k], p->last[k], &ntaken);
			add_bars(p, taken, ntaken, at, p->room[k].bytes);
		}
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
	uint32_t ntaken, home;

	if (homes_of(p, it, &home) - home > 1 || it->n > 1)
		return fit_row(p, it);
	const struct span *taken =
		span_tree_taken(p->taken[home], p->first[k], p->last[k], &ntaken);
	return best_fit(taken, ntaken, p->room[k].bytes);
}

/* Takes the bytes from `at` on; returns where they end. */
static uint64_t
take(struct placer *p, const struct item *it, uint64_t at)
{
	uint32_t first, end_home = homes_of(p, it, &first);

	for (uint32_t k = it->first; k < it->first + it->n; k++) {
		p->room[k].offset = at;
		for (uint32_t h = first; h < end_home; h++)
			span_tree_take(
				p->taken[h], p->first[k], p->last[k], at, at + p->room[k].bytes);
		at += p->room[k].bytes;
	}
	return at;
}

/*
 * Places the items in the order of `t`, until one ends at or above `limit`; keeps the offsets if
 * none does and they end lower than the best so far.
 */
static void
place_in_order(struct placer *p, struct attempt *t, uint64_t limit)
{
	t->end = 0;
	t->highest = 0;
	for (uint32_t h = 0; h < p->homes; h++)
		span_tree_clear(p->taken[h]);
	for (uint32_t i = 0; i < p->n && t->end < limit; i++) {
		const struct item *it = &p->item[t->key[i].index];
		const uint64_t end = take(p, it, fit(p, it));
		t->highest = end > t->end ? i : t->highest;
		t->end = end > t->end ? end : t->end;
		p->placed++;
	}
	if (t->end < limit && t->end < p->best_end) {
		p->best_end = t->end;
		for (uint32_t i = 0; i < p->nrooms; i++)
			p->best[i] = p->room[i].offset;
	}
}

static double
life(const struct placer *p, uint32_t i)
{
	return (double)(p->last[i] - p->first[i] + 1);
}

/* A row counts as large as all its rooms, and as long-lived as they are on average. */
static double
value_of(const struct placer *p, const struct item *it, enum measure by)
{
	double bytes = 0, area = 0, first = 0;

	for (uint32_t k = it->first; k < it->first + it->n; k++) {
		bytes += (double)p->room[k].bytes;
		area += (double)p->room[k].bytes * life(p, k);
		first = k > it->first && first < p->first[k] ? first : p->first[k];
	}
	switch (by) {
	case BY_BYTES: return bytes;
	case BY_BYTES_AND_AREA: return bytes * area;
	case BY_AREA: return area;
	case BY_LIFE: return bytes > 0 ? area / bytes : life(p, it->first);
	case BY_START: break;
	}
	return -first;
}

static uint32_t
last_of(const struct placer *p, const struct item *it)
{
	uint32_t last = 0;

	for (uint32_t k = it->first; k < it->first + it->n; k++)
		last = p->last[k] > last ? p->last[k] : last;
	return last;
}

static struct key *
sort_items(struct placer *p, int order)
{
	struct key *key = ARRAY_NEW(p, struct key, p->n);

	for (uint32_t i = 0; i < p->n; i++)
		key[i] = (struct key){value_of(p, &p->item[i], orders[order].by),
			orders[order].late ? last_of(p, &p->item[i]) : 0, i};
	qsort(key, p->n, sizeof *key, by_value);
	return key;
}

/* Is there nothing left to gain? */
static bool
is_done(const struct placer *p)
{
	return p->best_end <= p->bound || p->best_end <= p->enough;
}

/* Is there something to gain, and effort left? */
static bool
goes_on(const struct placer *p)
{
	const uint64_t over = p->best_end - p->bound, full = p->bound / PLACE_GAP + 1;
	const double share = over < full ? (double)over / (double)full : 1;

	if (is_done(p))
		return false;
	if (p->n > PLACE_MANY)
		return !p->placed && over >= full;
	return !p->placed || p->placed + p->n <= share * PLACE_EFFORT;
}

/* Each order once. Very large steps are not improved further, so there a worse order ends early. */
static void
try_orders(struct placer *p)
{
	for (int order = 0; order < ORDERS && goes_on(p); order++) {
		struct attempt t = {.key = sort_items(p, order)};
		place_in_order(p, &t, p->n > PLACE_MANY ? p->best_end : UINT64_MAX);
		uint32_t i = p->ntries++;
		for (; i > 0 && p->try[i - 1].end > t.end; i--)
			p->try[i] = p->try[i - 1];
		p->try[i] = t;
	}
}

/* Places again with the highest item first in the order; false: it is first, or effort is spent. */
static bool
improve(struct placer *p, struct attempt *t)
{
	if (!t->highest || t->rounds == PLACE_ROUNDS || !goes_on(p))
		return false;
	const struct key moved = t->key[t->highest];
	memmove(t->key + 1, t->key, sizeof moved * t->highest);
	t->key[0] = moved;
	t->rounds++;
	place_in_order(p, t, p->best_end);
	return true;
}

/* The orders alternately, the best first: which one leads to the smallest end is not known. */
static void
improve_all(struct placer *p)
{
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < p->ntries; i++)
			for (int n = 0; n < PLACE_TURN && improve(p, &p->try[i]); n++)
				again = true;
	}
}

/* The number of times in the sorted list `moment` that are at most `at`. */
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

/* Two live ranges overlap if and only if they do where one begins: only these times are needed. */
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

static void
place_in_orders(struct placer *p)
{
	make_items(p);
	if (!goes_on(p))
		return;
	number_moments(p);
	p->taken = ARRAY_NEW(p, struct span_tree *, p->homes);
	for (uint32_t h = 0; h < p->homes; h++)
		p->taken[h] = span_tree_create(p, p->moments);
	try_orders(p);
	improve_all(p);
}

/* Finds the peak of live bytes in any one home. */
static void
find_bound(struct placer *p)
{
	struct storage_room *here = ARRAY_NEW(NULL, struct storage_room, p->nrooms);

	for (uint32_t h = 0; h < p->homes; h++) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < p->nrooms; i++)
			if (p->room[i].home < 0 || p->room[i].home == (int32_t)h)
				here[n++] = p->room[i];
		uint32_t at;
		const uint64_t live = storage_live(here, n, &at);
		if (h && live <= p->bound)
			continue;
		p->bound = live;
		p->most_at = at;
	}
	array_free(here);
}

/* Sweeps from time `from`, then from where the highest room was placed, at most `turns` times and
 * once from each time. */
static void
sweep_from(struct placer *p, struct storage_sweep *s, enum storage_sweep_order order, uint32_t from,
	int turns)
{
	uint32_t tried[PLACE_SWEEPS];

	for (int i = 0; i < turns && !is_done(p); i++) {
		tried[i] = from;
		const uint64_t end = storage_sweep_run(s, order, &from);
		if (end < p->best_end) {
			p->best_end = end;
			storage_sweep_offsets(s, p->best);
		}
		for (int k = 0; k <= i; k++)
			if (from == tried[k])
				return;
	}
}

/* All sweeps, or those of the first order. */
static void
sweep(struct placer *p, bool all)
{
	struct storage_sweep *s = storage_sweep_create(NULL, p->room, p->nrooms);

	for (int order = 0; order < (all ? SWEEPS : 1); order++)
		sweep_from(p, s, (enum storage_sweep_order)order, p->most_at, PLACE_SWEEPS);
	if (all)
		sweep_from(p, s, SWEEP_LATE, 0, 1);
	talloc_free(s);
}

static uint64_t
place(struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough, bool all)
{
	if (!n)
		return 0;
	struct placer *p = NEW(NULL, struct placer);
	p->room = room;
	p->nrooms = n;
	p->homes = homes;
	p->enough = enough;
	p->best = ARRAY_NEW(p, uint64_t, n);
	p->best_end = UINT64_MAX;
	find_bound(p);
	sweep(p, all);
	if (all && !is_done(p))
		place_in_orders(p);
	for (uint32_t i = 0; i < n; i++)
		room[i].offset = p->best[i];
	const uint64_t end = p->best_end;
	talloc_free(p);
	return end;
}

uint64_t
storage_place(struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough)
{
	return place(room, n, homes, enough, true);
}

uint64_t
storage_place_swept(struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough)
{
	return place(room, n, homes, enough, false);
}

uint64_t
storage_live(const struct storage_room *room, uint32_t n, uint32_t *at)
{
	uint32_t moments = 1, when = 0;

	for (uint32_t i = 0; i < n; i++)
		moments = room[i].last >= moments ? room[i].last + 1 : moments;
	/* At first the bytes that begin at a time minus those that ended just before it. */
	uint64_t *live = ARRAY_ZERO(NULL, uint64_t, (size_t)moments + 1);
	for (uint32_t i = 0; i < n; i++) {
		live[room[i].first] += room[i].bytes;
		live[room[i].last + 1] -= room[i].bytes;
	}
	for (uint32_t t = 1; t < moments; t++) {
		live[t] += live[t - 1];
		when = live[t] > live[when] ? t : when;
	}
	const uint64_t most = live[when];
	array_free(live);
	if (at)
		*at = when;
	return most;
}
