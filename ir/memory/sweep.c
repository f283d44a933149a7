/*
 * Offsets by a sweep over time, as an allocator would find them: a room that begins takes the
 * smallest gap that holds it, and a room that ends leaves one. A row is one block for as long as
 * one of its rooms is live. Takes a fraction of the time of the orders of place.c.
 *
 * A sweep from time 0 leaves gaps between long-lived rooms at the peak. So most sweeps begin at the
 * peak: rooms live then are placed without gaps, the longest-lived lowest, and two sweeps, one to
 * the end of the step and one back to its begin, place the rest where these are not live.
 *
 *       ^    ##
 *       |  ####    ##    core: live at time `from`
 *       |  ########## ##
 *       | ###############
 *       +------|---------->
 *             from
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/vec.h"
#include "ir/memory/place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct block {
	uint64_t bytes, offset;
	uint32_t first, last; /* of its rooms */
	uint32_t begin, end;  /* in the sweep: times relative to `from` */
	uint32_t room, n;
};

struct gap {
	uint64_t begin, end;
};

/* Gaps by place, to find the neighbours of bytes, and by size, to find the smallest that holds some. */
enum gap_order { BY_PLACE, BY_SIZE, GAP_ORDERS };

struct gaps VEC(struct gap);

/* Large values are placed lowest. */
struct key {
	double value;
	uint32_t block;
};

struct storage_sweep {
	const struct storage_room *room;
	struct block *block; /* [n] */
	uint32_t n, moments;
	/* Of the last sweep, in arrays that all sweeps reuse: */
	uint32_t from;
	struct key *core; /* [ncore] blocks that live at `from` */
	uint32_t ncore;
	uint32_t *side, *begin, *end; /* [n] blocks of one direction: unordered, by begin, by end */
	uint32_t *count;              /* [moments + 1] */
	uint64_t highest;             /* where a block ends */
	uint32_t highest_at;          /* the time at which it was placed */
	struct gaps gap[GAP_ORDERS];  /* never adjacent; the last one is unbounded */
};

/* Begin or end of a block. */
enum moment { BEGIN, END };

static uint32_t
moment_of(const struct block *b, enum moment which)
{
	return which == BEGIN ? b->begin : b->end;
}

/* Sorts the n blocks of `from` by begin or end, into `to`; stable. A counting sort, in linear time,
 * as there are about as many times as rooms. */
static void
order_by(const struct storage_sweep *s, const uint32_t *from, uint32_t n, enum moment which,
	bool late_first, uint32_t *to)
{
	uint32_t *begin = s->count;

	memset(begin, 0, ((size_t)s->moments + 1) * sizeof *begin);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = moment_of(&s->block[from[i]], which);
		begin[late_first ? s->moments - at : at + 1]++;
	}
	for (uint32_t t = 1; t <= s->moments; t++)
		begin[t] += begin[t - 1];
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = moment_of(&s->block[from[i]], which);
		to[begin[late_first ? s->moments - at - 1 : at]++] = from[i];
	}
}

static void
make_blocks(struct storage_sweep *s, uint32_t n)
{
	const struct storage_room *room = s->room;

	s->block = ARRAY_NEW(s, struct block, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct storage_room *r = &room[i];
		s->moments = r->last >= s->moments ? r->last + 1 : s->moments;
		struct block *b = i ? &s->block[s->n - 1] : NULL;
		if (!b || !r->row || r->row != room[i - 1].row) {
			s->block[s->n++] =
				(struct block){r->bytes, 0, r->first, r->last, 0, 0, i, 1};
			continue;
		}
		b->bytes += r->bytes;
		b->first = r->first < b->first ? r->first : b->first;
		b->last = r->last > b->last ? r->last : b->last;
		b->n++;
	}
}

static bool
is_before(struct gap a, struct gap b, enum gap_order order)
{
	const uint64_t size_a = a.end - a.begin, size_b = b.end - b.begin;

	return order == BY_SIZE && size_a != size_b ? size_a < size_b : a.begin < b.begin;
}

/* The index of the first gap that is not before x. */
static int64_t
find_gap(const struct gaps *g, enum gap_order order, struct gap x)
{
	int64_t low = 0, high = g->n;

	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (is_before(g->at[middle], x, order))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts a gap in the place of another one; either may be empty, which is none. */
static void
change_gap(struct storage_sweep *s, struct gap from, struct gap to)
{
	const bool adds = from.begin == from.end, drops = to.begin == to.end;

	for (int order = 0; order < GAP_ORDERS; order++) {
		struct gaps *g = &s->gap[order];
		const int64_t old = adds ? g->n : find_gap(g, order, from);
		const int64_t new = drops ? g->n : find_gap(g, order, to);
		VEC_ROOM(s, g, g->n + 1);
		if (old < new)
			memmove(g->at + old, g->at + old + 1, (size_t)(new - 1 - old) * sizeof to);
		else
			memmove(g->at + new + 1, g->at + new, (size_t)(old - new) * sizeof to);
		g->at[old < new ? new - 1 : new] = to;
		g->n += adds - drops;
	}
}

/* The begin of the smallest gap of at least `bytes`; of several, the lowest. */
static uint64_t
take(struct storage_sweep *s, uint64_t bytes)
{
	const struct gaps *by_size = &s->gap[BY_SIZE];
	const struct gap g = by_size->at[find_gap(by_size, BY_SIZE, (struct gap){0, bytes})];

	change_gap(s, g, (struct gap){g.begin + bytes, g.end});
	return g.begin;
}

static void
give_back(struct storage_sweep *s, uint64_t begin, uint64_t end)
{
	const struct gaps *g = &s->gap[BY_PLACE];
	const int64_t i = find_gap(g, BY_PLACE, (struct gap){end, end});
	const struct gap none = {0}, above = g->at[i], below = i ? g->at[i - 1] : none;
	const bool joins_below = i && below.end == begin, joins_above = above.begin == end;

	if (joins_below && joins_above)
		change_gap(s, below, none);
	change_gap(s,
		joins_above   ? above
		: joins_below ? below
			      : none,
		(struct gap){joins_below ? below.begin : begin, joins_above ? above.end : end});
}

ORDER_BY(by_value, struct key, DOWN(value), UP(block))

static double
value_of(const struct storage_sweep *s, const struct block *b, enum storage_sweep_order order)
{
	const double before = s->from - b->first, after = b->last - s->from;

	switch (order) {
	case SWEEP_LIFE: return before + after;
	case SWEEP_BOTH: return (before + 1) * (after + 1);
	case SWEEP_LATE:
	case SWEEPS: break;
	}
	return after;
}

/* Places the blocks that are live at `from`; returns where the last ends. */
static uint64_t
place_core(struct storage_sweep *s, enum storage_sweep_order order)
{
	struct key *key = s->core;
	uint64_t at = 0;

	s->ncore = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct block *b = &s->block[i];
		if (b->first <= s->from && b->last >= s->from)
			key[s->ncore++] = (struct key){value_of(s, b, order), i};
	}
	qsort(key, s->ncore, sizeof *key, by_value);
	for (uint32_t i = 0; i < s->ncore; i++) {
		s->block[key[i].block].offset = at;
		at += s->block[key[i].block].bytes;
	}
	return at;
}

/* The blocks of the sweep, the core first; returns their number. */
static uint32_t
take_side(struct storage_sweep *s, bool back)
{
	uint32_t n = 0;

	for (; n < s->ncore; n++)
		s->side[n] = s->core[n].block;
	for (uint32_t i = 0; i < s->n; i++)
		if (back ? s->block[i].last < s->from : s->block[i].first > s->from)
			s->side[n++] = i;
	for (uint32_t i = 0; i < n; i++) {
		struct block *b = &s->block[s->side[i]];
		const uint32_t begin = back ? s->from - b->last : b->first - s->from;
		b->begin = i < s->ncore ? 0 : begin;
		b->end = back ? s->from - b->first : b->last - s->from;
	}
	return n;
}

/* Sweeps from the core on in one direction. */
static void
sweep_side(struct storage_sweep *s, bool back, uint64_t core_end)
{
	const uint32_t n = take_side(s, back), *begin = s->begin, *end = s->end;
	uint32_t ended = 0;

	/* Of blocks with the same begin, the one that ends last comes first: it stays longest. */
	order_by(s, s->side + s->ncore, n - s->ncore, END, true, s->end);
	order_by(s, s->end, n - s->ncore, BEGIN, false, s->begin);
	order_by(s, s->side, n, END, false, s->end);
	s->gap[BY_PLACE].n = s->gap[BY_SIZE].n = 0;
	change_gap(s, (struct gap){0}, (struct gap){core_end, UINT64_MAX});
	for (uint32_t i = 0; i < n - s->ncore; i++) {
		struct block *b = &s->block[begin[i]];
		for (; s->block[end[ended]].end < b->begin; ended++) {
			const struct block *over = &s->block[end[ended]];
			if (over->bytes)
				give_back(s, over->offset, over->offset + over->bytes);
		}
		b->offset = b->bytes ? take(s, b->bytes) : 0;
		if (b->offset + b->bytes > s->highest) {
			s->highest = b->offset + b->bytes;
			s->highest_at = back ? b->last : b->first;
		}
	}
}

struct storage_sweep *
storage_sweep_create(const void *owner, const struct storage_room *room, uint32_t n)
{
	struct storage_sweep *s = NEW(owner, struct storage_sweep);

	s->room = room;
	make_blocks(s, n);
	s->core = ARRAY_NEW(s, struct key, s->n + 1);
	s->side = ARRAY_NEW(s, uint32_t, s->n + 1);
	s->begin = ARRAY_NEW(s, uint32_t, s->n + 1);
	s->end = ARRAY_NEW(s, uint32_t, s->n + 1);
	s->count = ARRAY_NEW(s, uint32_t, (size_t)s->moments + 1);
	return s;
}

uint64_t
storage_sweep_run(struct storage_sweep *s, enum storage_sweep_order order, uint32_t *from)
{
	s->from = s->highest_at = *from;
	const uint64_t core_end = s->highest = place_core(s, order);
	sweep_side(s, false, core_end);
	sweep_side(s, true, core_end);
	*from = s->highest_at;
	return s->highest;
}

void
storage_sweep_offsets(const struct storage_sweep *s, uint64_t *offset)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct block *b = &s->block[i];
		uint64_t at = b->offset;
		for (uint32_t k = b->room; k < b->room + b->n; at += s->room[k++].bytes)
			offset[k] = at;
	}
}
