/* The order of nodes, and the search between two of them. See apart.h. */
#include "passes/fuse/apart.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

#include <stdlib.h>

struct nodes VEC(uint32_t);

/* The nodes that one side has reached. */
struct side {
	struct apart *order;
	const struct side *other;
	struct nodes list;
	int64_t next;    /* index in the list from which to search on */
	size_t steps;    /* nodes passed to it, some of them several times */
	uint32_t *stamp; /* [n] == now: it is in the list */
};

struct apart {
	struct apart_graph graph;
	uint32_t n;
	uint64_t *label;          /* [n] ascending in the order */
	uint32_t *before, *after; /* [n + 1] in the order, a ring; node n is its end */
	uint32_t *waits;          /* [n] for the first sort: operands that are not in the order
				     yet */
	struct side ahead, behind;
	uint32_t now;
	uint64_t low, high; /* labels of the two nodes between which to search */
};

/* ---- the order ---- */

static void
put_after(struct apart *o, uint32_t at, uint32_t node)
{
	o->before[node] = at;
	o->after[node] = o->after[at];
	o->before[o->after[node]] = node;
	o->after[at] = node;
}

static void
take_out(struct apart *o, uint32_t node)
{
	o->after[o->before[node]] = o->after[node];
	o->before[o->after[node]] = o->before[node];
}

/* Spreads labels as far apart as possible. */
static void
label_all(struct apart *o)
{
	const uint64_t gap = UINT64_MAX / (o->n + 2u);
	uint64_t label = 0;

	for (uint32_t node = o->after[o->n]; node != o->n; node = o->after[node])
		o->label[node] = label += gap;
}

/* Inserts the node, which is not in the order, after `at`. */
static void
insert_after(struct apart *o, uint32_t at, uint32_t node)
{
	const uint32_t next = o->after[at];
	const uint64_t low = at == o->n ? 0 : o->label[at];
	const uint64_t high = next == o->n ? UINT64_MAX : o->label[next];

	put_after(o, at, node);
	if (high - low < 2)
		label_all(o);
	else
		o->label[node] = low + (high - low) / 2;
}

static bool
waits_for_one_more(void *to, uint32_t node)
{
	((struct apart *)to)->waits[node]++;
	return false;
}

static bool
waits_for_one_less(void *to, uint32_t node)
{
	struct apart *o = to;

	if (!--o->waits[node])
		put_after(o, o->before[o->n], node);
	return false;
}

/* Appends the nodes whose operands are all in the order already. */
static void
sort_nodes(struct apart *o)
{
	const struct apart_graph *g = &o->graph;

	o->waits = ARRAY_ZERO(o, uint32_t, o->n + 1u);
	o->before[o->n] = o->after[o->n] = o->n;
	for (uint32_t node = 0; node < o->n; node++)
		g->readers(g->data, node, waits_for_one_more, o);
	for (uint32_t node = 0; node < o->n; node++)
		if (!o->waits[node])
			put_after(o, o->before[o->n], node);
	for (uint32_t node = o->after[o->n]; node != o->n; node = o->after[node])
		g->readers(g->data, node, waits_for_one_less, o);
	array_free(o->waits);
	label_all(o);
}

struct apart *
apart_create(const void *owner, uint32_t n, const struct apart_graph *graph)
{
	struct apart *o = NEW(owner, struct apart);

	o->graph = *graph;
	o->n = n;
	o->label = ARRAY_ZERO(o, uint64_t, n + 1u);
	o->before = ARRAY_NEW(o, uint32_t, n + 1u);
	o->after = ARRAY_NEW(o, uint32_t, n + 1u);
	o->ahead = (struct side){.order = o, .other = &o->behind};
	o->behind = (struct side){.order = o, .other = &o->ahead};
	o->ahead.stamp = ARRAY_ZERO(o, uint32_t, n + 1u);
	o->behind.stamp = ARRAY_ZERO(o, uint32_t, n + 1u);
	sort_nodes(o);
	return o;
}

/* ---- the search ---- */

/* A side reaches a node, which counts if it is between the two. True if the other side has reached
 * it, or if the limit is exceeded. */
static bool
meet(void *to, uint32_t node)
{
	struct side *s = to;
	const struct apart *o = s->order;

	if (++s->steps > o->graph.most && o->graph.most)
		return true;
	if (o->label[node] <= o->low || o->label[node] >= o->high || s->stamp[node] == o->now)
		return false;
	s->stamp[node] = o->now;
	VEC_PUSH(o, &s->list, node);
	return s->other->stamp[node] == o->now;
}

static void
start(struct side *s)
{
	s->list.n = s->next = 0;
	s->steps = 0;
}

/* Does a path through others lead from a to b, which comes after it? */
static bool
has_path(struct apart *o, uint32_t a, uint32_t b)
{
	const struct apart_graph *g = &o->graph;
	struct side *ahead = &o->ahead, *behind = &o->behind;

	o->now++;
	o->low = o->label[a];
	o->high = o->label[b];
	start(ahead);
	start(behind);
	if (g->readers(g->data, a, meet, ahead) || g->operands(g->data, b, meet, behind))
		return true;
	while (ahead->next < ahead->list.n && behind->next < behind->list.n) {
		const bool first = ahead->steps <= behind->steps;
		if (first ? g->readers(g->data, ahead->list.at[ahead->next++], meet, ahead)
			  : g->operands(g->data, behind->list.at[behind->next++], meet, behind))
			return true;
	}
	return false;
}

/* ---- joining ---- */

static int
by_label(const void *a, const void *b, void *data)
{
	const struct apart *o = data;
	const uint64_t x = o->label[*(const uint32_t *)a], y = o->label[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

/* Moves the nodes of the list after `at`, in their previous order. */
static void
move_after(struct apart *o, const struct nodes *list, uint32_t at)
{
	if (list->n)
		qsort_r(list->at, (size_t)list->n, sizeof *list->at, by_label, o);
	for (int64_t i = 0; i < list->n; at = list->at[i++]) {
		take_out(o, list->at[i]);
		insert_after(o, at, list->at[i]);
	}
}

bool
apart_join(struct apart *o, uint32_t a, uint32_t b)
{
	const bool in_order = o->label[a] < o->label[b];
	const uint32_t x = in_order ? a : b, y = in_order ? b : a;

	if (has_path(o, x, y))
		return false;
	const bool to_end = o->ahead.next == o->ahead.list.n;
	if (to_end)
		move_after(o, &o->ahead.list, y);
	else
		move_after(o, &o->behind.list, o->before[x]);
	/* Node b takes the position of y or x. */
	const uint32_t at = to_end ? y : x;
	if (at != b) {
		take_out(o, b);
		insert_after(o, at, b);
	}
	take_out(o, a);
	return true;
}
