/*
 * Lives and offsets. A buffer lives from the first action that touches it to the last; a collective
 * touches its buffers until its WAIT. A buffer that a loop touches lives through the whole loop if
 * its contents must outlast an iteration: it is touched outside too, has slots, or accumulates.
 * passes/analysis/memory.c finds lives by the same rules; test/cost/memory_test.c compares them.
 *
 * Offsets: what lives from step to step first, then the others from large to small, each at the
 * lowest offset where it meets no living neighbour, in the smallest gap that holds it (best fit).
 */
#include "lower/plan_build.h"

#include <stdlib.h>
#include <talloc.h>

static uint64_t
room(const struct lower_buffer *b)
{
	return (b->bytes * (uint64_t)b->slots + LOWER_ALIGN - 1) / LOWER_ALIGN * LOWER_ALIGN;
}

static void
touch(struct lower_buffer *b, int action)
{
	if (b->first < 0 || action < b->first)
		b->first = action;
	if (action > b->last)
		b->last = action;
}

/* The action that waits for the post at `at`. */
static int
wait_of(const struct lower_plan *p, int at)
{
	for (int i = at + 1; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_WAIT && p->action[i].coll == p->action[at].coll)
			return i;
	return p->nactions - 1;
}

static void
touch_all(struct lower_plan *p)
{
	struct lower_access *list = talloc_array(p, struct lower_access, LOWER_MAX_ACCESSES);

	if (!list)
		out_of_memory();
	for (int i = 0; i < p->nactions; i++) {
		const int n = lower_accesses(p, &p->action[i], list);
		const int until = p->action[i].kind == LOWER_POST ? wait_of(p, i) : i;
		for (int k = 0; k < n; k++) {
			touch(&p->buffer[list[k].buffer], i);
			touch(&p->buffer[list[k].buffer], until);
		}
	}
	talloc_free(list);
}

/* Does the loop [begin, end] accumulate into the buffer, or put slices into it? */
static bool
accumulates(const struct lower_plan *p, int begin, int end, int buffer)
{
	for (int i = begin; i <= end; i++) {
		const struct lower_action *a = &p->action[i];
		const bool partly =
			a->kind == LOWER_ADD ||
			(a->kind == LOWER_COPY && a->copy.slice_axis >= 0 && !a->copy.slice_src);
		if (partly && p->value[a->dst].buffer == buffer)
			return true;
	}
	return false;
}

static void
stretch_over_loops(struct lower_plan *p)
{
	for (int begin = 0; begin < p->nactions; begin++) {
		if (p->action[begin].kind != LOWER_LOOP)
			continue;
		int end = begin;
		while (p->action[end].kind != LOWER_END)
			end++;
		for (int i = 0; i < p->nbuffers; i++) {
			struct lower_buffer *b = &p->buffer[i];
			if (b->first < 0 || b->last < begin || b->first > end)
				continue;
			const bool inside = b->first > begin && b->last < end;
			if (inside && b->slots == 1 && !accumulates(p, begin, end, i))
				continue;
			b->first = b->first < begin ? b->first : begin;
			b->last = b->last > end ? b->last : end;
		}
		begin = end;
	}
}

static void
find_lives(struct lower_plan *p)
{
	touch_all(p);
	stretch_over_loops(p);
	for (int i = 0; i < p->nbuffers; i++) {
		struct lower_buffer *b = &p->buffer[i];
		if (b->role == LOWER_OUTPUT && b->first >= 0)
			b->last = p->nactions;
		if (b->role == LOWER_INPUT || b->role == LOWER_PERSISTENT) {
			b->first = 0;
			b->last = p->nactions;
		}
	}
}

static bool
overlap(const struct lower_buffer *a, const struct lower_buffer *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The offset for b among the buffers of `placed`, which are sorted by offset. */
static uint64_t
best_fit(const struct lower_plan *p, const int *placed, int nplaced, const struct lower_buffer *b)
{
	uint64_t end = 0, best = 0, best_gap = UINT64_MAX;
	const uint64_t size = room(b);

	for (int i = 0; i < nplaced; i++) {
		const struct lower_buffer *other = &p->buffer[placed[i]];
		if (!overlap(other, b))
			continue;
		const uint64_t gap = other->offset > end ? other->offset - end : 0;
		if (gap >= size && gap < best_gap) {
			best_gap = gap;
			best = end;
		}
		if (other->offset + room(other) > end)
			end = other->offset + room(other);
	}
	return best_gap == UINT64_MAX ? end : best;
}

struct sort_key {
	int rank;
	uint64_t size;
	int index;
};

static int
compare(const void *x, const void *y)
{
	const struct sort_key *a = x, *b = y;

	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (a->size != b->size && a->rank)
		return a->size < b->size ? 1 : -1;
	return a->index - b->index;
}

void
plan_memory(struct lower_plan *p)
{
	struct sort_key *key = talloc_array(p, struct sort_key, (size_t)p->nbuffers + 1);
	int *placed = talloc_array(p, int, (size_t)p->nbuffers + 1), nplaced = 0;

	if (!key || !placed)
		out_of_memory();
	find_lives(p);
	for (int i = 0; i < p->nbuffers; i++) {
		const enum lower_role role = p->buffer[i].role;
		key[i] = (struct sort_key){role == LOWER_PERSISTENT || role == LOWER_INPUT ? 0 : 1,
			room(&p->buffer[i]), i};
	}
	qsort(key, (size_t)p->nbuffers, sizeof *key, compare);
	for (int k = 0; k < p->nbuffers; k++) {
		struct lower_buffer *b = &p->buffer[key[k].index];
		if (b->first < 0)
			continue;
		b->offset = best_fit(p, placed, nplaced, b);
		int at = nplaced++;
		for (; at > 0 && p->buffer[placed[at - 1]].offset > b->offset; at--)
			placed[at] = placed[at - 1];
		placed[at] = key[k].index;
		if (b->offset + room(b) > p->arena_bytes)
			p->arena_bytes = b->offset + room(b);
	}
	talloc_free(key);
	talloc_free(placed);
}
