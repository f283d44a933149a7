/*
 * A segment tree over times. A live range is cut into O(log n) nodes. Each node has the spans of
 * ranges of which it is a piece (`whole`: taken at all of its times), and the union of all spans of
 * ranges with a piece at or below it (`some`: taken at one of its times). The spans that overlap a
 * range are `some` of its own nodes and `whole` of the nodes above them.
 */
#include "ir/memory/span_set.h"

#include "ir/base/vec.h"

#include <stdbool.h>
#include <string.h>

struct span_set VEC(struct span);

struct node {
	struct span_set whole, some;
};

struct span_tree {
	struct node *node; /* 1 is the root, the children of k are 2k and 2k + 1 */
	uint32_t leaves;
	struct VEC(const struct span_set *) met; /* by the current query */
	struct span_set out, other;              /* their union so far, and the next one */
};

struct span_tree *
span_tree_create(const void *owner, uint32_t moments)
{
	struct span_tree *t = NEW(owner, struct span_tree);

	for (t->leaves = 1; t->leaves < moments; t->leaves *= 2)
		;
	t->node = ARRAY_ZERO(t, struct node, 2 * (size_t)t->leaves);
	return t;
}

void
span_tree_clear(struct span_tree *t)
{
	for (uint32_t i = 0; i < 2 * t->leaves; i++)
		t->node[i].whole.n = t->node[i].some.n = 0;
}

/* The first span that ends at or after `at`. */
static uint32_t
find_end(const struct span_set *s, uint64_t at)
{
	uint32_t low = 0, high = (uint32_t)s->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (s->at[middle].end < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds a span, as one with those that it meets or touches. */
static void
set_add(struct span_tree *t, struct span_set *s, struct span x)
{
	const uint32_t first = find_end(s, x.begin);
	uint32_t end = first;

	for (; end < s->n && s->at[end].begin <= x.end; end++) {
		x.begin = s->at[end].begin < x.begin ? s->at[end].begin : x.begin;
		x.end = s->at[end].end > x.end ? s->at[end].end : x.end;
	}
	VEC_ROOM(t, s, s->n + 1);
	memmove(s->at + first + 1, s->at + end, sizeof x * (size_t)(s->n - end));
	s->at[first] = x;
	s->n = s->n - (end - first) + 1;
}

/* Arguments of a walk over the nodes of a live range. */
struct walk {
	struct span_tree *t;
	uint32_t first, last;
	struct span x;
};

static void
take(const struct walk *w, uint32_t node, uint32_t low, uint32_t high)
{
	struct node *k = &w->t->node[node];
	const uint32_t middle = low + (high - low) / 2;

	set_add(w->t, &k->some, w->x);
	if (w->first <= low && high <= w->last) {
		set_add(w->t, &k->whole, w->x);
		return;
	}
	if (w->first <= middle)
		take(w, 2 * node, low, middle);
	if (w->last > middle)
		take(w, 2 * node + 1, middle + 1, high);
}

void
span_tree_take(struct span_tree *t, uint32_t first, uint32_t last, uint64_t begin, uint64_t end)
{
	const struct walk w = {t, first, last, {begin, end}};

	if (begin < end)
		take(&w, 1, 0, t->leaves - 1);
}

static void
meet(struct span_tree *t, const struct span_set *s)
{
	if (s->n)
		VEC_PUSH(t, &t->met, s);
}

static void
ask(const struct walk *w, uint32_t node, uint32_t low, uint32_t high)
{
	const struct node *k = &w->t->node[node];
	const uint32_t middle = low + (high - low) / 2;

	if (!k->some.n)
		return;
	if (w->first <= low && high <= w->last) {
		meet(w->t, &k->some);
		return;
	}
	meet(w->t, &k->whole);
	if (w->first <= middle)
		ask(w, 2 * node, low, middle);
	if (w->last > middle)
		ask(w, 2 * node + 1, middle + 1, high);
}

/* The first of n spans, from `at` on, that ends after `end`: an exponential search. */
static uint32_t
skip(const struct span *s, uint32_t n, uint32_t at, uint64_t end)
{
	uint32_t step = 1;

	if (at >= n || s[at].end > end)
		return at;
	while (at + step < n && s[at + step].end <= end) {
		at += step;
		step *= 2;
	}
	uint32_t high = at + step < n ? at + step : n;
	while (at + 1 < high) {
		const uint32_t middle = at + (high - at) / 2;
		*(s[middle].end <= end ? &at : &high) = middle;
	}
	return high;
}

/* The union of two sets into a third, which has room for it. */
static void
unite(const struct span_set *x_set, const struct span_set *y_set, struct span_set *to)
{
	const struct span *a = x_set->at, *b = y_set->at;
	const uint32_t na = (uint32_t)x_set->n, nb = (uint32_t)y_set->n;
	uint32_t n = 0, i = 0, k = 0;

	while (i < na || k < nb) {
		const bool from_a = k == nb || (i < na && a[i].begin <= b[k].begin);
		struct span x = from_a ? a[i++] : b[k++];
		/* Merging a span may extend x so that it meets more. */
		for (uint64_t end = 0; end < x.end;) {
			end = x.end;
			i = skip(a, na, i, end);
			k = skip(b, nb, k, end);
			if (i < na && a[i].begin <= x.end)
				x.end = a[i++].end;
			if (k < nb && b[k].begin <= x.end)
				x.end = b[k].end > x.end ? b[k].end : x.end;
		}
		to->at[n++] = x;
	}
	to->n = n;
}

/* Sorts by number of spans, fewest first. There are some dozens at most. */
static void
sort_by_count(const struct span_set **set, int64_t n)
{
	for (int64_t i = 1; i < n; i++) {
		const struct span_set *x = set[i];
		int64_t at = i;
		for (; at > 0 && set[at - 1]->n > x->n; at--)
			set[at] = set[at - 1];
		set[at] = x;
	}
}

const struct span *
span_tree_taken(struct span_tree *t, uint32_t first, uint32_t last, uint32_t *n)
{
	const struct walk w = {t, first, last, {0, 0}};
	uint32_t all = 0;

	t->met.n = t->out.n = 0;
	ask(&w, 1, 0, t->leaves - 1);
	/* Sets with few, long spans first: these contain many spans of the others. */
	sort_by_count(t->met.at, t->met.n);
	for (int64_t i = 0; i < t->met.n; i++)
		all += (uint32_t)t->met.at[i]->n;
	VEC_ROOM(t, &t->out, all);
	VEC_ROOM(t, &t->other, all);
	for (int64_t i = 0; i < t->met.n; i++) {
		const struct span_set swap = t->out;
		unite(&t->out, t->met.at[i], &t->other);
		t->out = t->other;
		t->other = swap;
	}
	*n = (uint32_t)t->out.n;
	return t->out.at;
}
