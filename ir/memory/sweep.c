/*
 * Offsets by a sweep over time, as an allocator would find them: what begins takes the smallest gap that holds it, and
 * what has ended leaves one. A row is one block for as long as one of its rooms lives. Takes a fraction of the time
 * of the orders of place.c, of which BY_START is the same but for rows, and is good enough where there is room.
 */
#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/memory/place.h"

#include <stdbool.h>
#include <string.h>
#include <talloc.h>

struct block {
	uint64_t bytes, offset;
	uint32_t first, last;
	uint32_t room, n;
};

struct gap {
	uint64_t begin, end;
};

struct sweep {
	struct block *block; /* [n] */
	uint32_t n, moments;
	struct VEC(struct gap)
		gap; /* from low to high, none next to another; the last one has no end */
};

/* When blocks begin and end. */
enum moment { FIRST, LAST };

static uint32_t
moment_of(const struct block *b, enum moment which)
{
	return which == FIRST ? b->first : b->last;
}

/* Puts blocks, in the order of `from`, in that of one of their moments; what has the same stays in order. In linear time:
 * there are about as many moments as rooms. */
static void
order_by(const struct sweep *s, const uint32_t *from, enum moment which, bool late_first,
	uint32_t *to)
{
	uint32_t *begin = ARRAY_ZERO(NULL, uint32_t, (size_t)s->moments + 1);

	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t at = moment_of(&s->block[from[i]], which);
		begin[late_first ? s->moments - at : at + 1]++;
	}
	for (uint32_t t = 1; t <= s->moments; t++)
		begin[t] += begin[t - 1];
	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t at = moment_of(&s->block[from[i]], which);
		to[begin[late_first ? s->moments - at - 1 : at]++] = from[i];
	}
	array_free(begin);
}

static void
make_blocks(struct sweep *s, const struct storage_room *room, uint32_t n)
{
	s->block = ARRAY_NEW(s, struct block, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct storage_room *r = &room[i];
		s->moments = r->last >= s->moments ? r->last + 1 : s->moments;
		struct block *b = i ? &s->block[s->n - 1] : NULL;
		if (!b || !r->row || r->row != room[i - 1].row) {
			s->block[s->n++] = (struct block){r->bytes, 0, r->first, r->last, i, 1};
			continue;
		}
		b->bytes += r->bytes;
		b->first = r->first < b->first ? r->first : b->first;
		b->last = r->last > b->last ? r->last : b->last;
		b->n++;
	}
}

/* The smallest gap of at least that size; of several, the lowest. */
static int64_t
find_gap(const struct sweep *s, uint64_t bytes)
{
	int64_t best = s->gap.n - 1;

	for (int64_t i = s->gap.n - 1; i-- > 0;) {
		const uint64_t size = s->gap.at[i].end - s->gap.at[i].begin;
		if (size >= bytes && size <= s->gap.at[best].end - s->gap.at[best].begin)
			best = i;
	}
	return best;
}

static uint64_t
take(struct sweep *s, uint64_t bytes)
{
	const int64_t i = find_gap(s, bytes);
	struct gap *g = &s->gap.at[i];
	const uint64_t at = g->begin;

	g->begin += bytes;
	if (g->begin == g->end) {
		memmove(g, g + 1, (size_t)(s->gap.n - i - 1) * sizeof *g);
		s->gap.n--;
	}
	return at;
}

static void
give_back(struct sweep *s, uint64_t begin, uint64_t end)
{
	int64_t low = 0, high = s->gap.n - 1;

	while (low < high) { /* the first gap above */
		const int64_t middle = low + (high - low) / 2;
		if (s->gap.at[middle].begin < end)
			low = middle + 1;
		else
			high = middle;
	}
	struct gap *above = &s->gap.at[low], *below = low ? above - 1 : NULL;
	const bool joins_below = below && below->end == begin, joins_above = above->begin == end;
	if (joins_below && joins_above) {
		below->end = above->end;
		memmove(above, above + 1, (size_t)(s->gap.n - low - 1) * sizeof *above);
		s->gap.n--;
	} else if (joins_below) {
		below->end = end;
	} else if (joins_above) {
		above->begin = begin;
	} else {
		VEC_ROOM(s, &s->gap, s->gap.n + 1);
		above = &s->gap.at[low];
		memmove(above + 1, above, (size_t)(s->gap.n - low) * sizeof *above);
		*above = (struct gap){begin, end};
		s->gap.n++;
	}
}

uint64_t
storage_sweep(const struct storage_room *room, uint32_t n, uint64_t *offset)
{
	struct sweep *s = NEW(NULL, struct sweep);
	uint64_t end = 0;
	uint32_t ended = 0;

	make_blocks(s, room, n);
	uint32_t *given = ARRAY_NEW(s, uint32_t, s->n + 1), *first = ARRAY_NEW(s, uint32_t, s->n + 1),
		 *last = ARRAY_NEW(s, uint32_t, s->n + 1);
	for (uint32_t i = 0; i < s->n; i++)
		given[i] = i;
	/* What lives until later first, as it stays between what ends and what begins next. */
	order_by(s, given, LAST, true, last);
	order_by(s, last, FIRST, false, first);
	order_by(s, given, LAST, false, last);
	VEC_PUSH(s, &s->gap, (struct gap){0, UINT64_MAX});
	for (uint32_t i = 0; i < s->n; i++) {
		struct block *b = &s->block[first[i]];
		for (; s->block[last[ended]].last < b->first; ended++) {
			const struct block *over = &s->block[last[ended]];
			if (over->bytes)
				give_back(s, over->offset, over->offset + over->bytes);
		}
		b->offset = b->bytes ? take(s, b->bytes) : 0;
		end = b->offset + b->bytes > end ? b->offset + b->bytes : end;
		uint64_t at = b->offset;
		for (uint32_t k = b->room; k < b->room + b->n; at += room[k++].bytes)
			offset[k] = at;
	}
	talloc_free(s);
	return end;
}
