/*
 * The order of issue, by forward-backward improvement, a method of scheduling with scarce resources
 * (Li and Willis, "An iterative scheduling technique for resource-constrained project scheduling",
 * 1992). There are two resources, one for computation and one for communication; each does one
 * thing at a time:
 *
 *     forward    in the order in which the last backward schedule started them, each node is placed
 *                where its stream is first free for long enough after all that it waits for
 *     backward   the same from the end, in the order in which the last forward schedule ended them
 *
 * Each pass learns from the other which nodes are urgent, including messages and the queue before
 * them. The first pass prefers nodes with the longest path to the end. Schedules are judged by the
 * streams alone; as posting and waiting may also take time, the replay decides.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/replay/fine_heap.h"
#include "passes/search/dopt/impl.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* A pass takes 0.1 us a node; most orders stop getting better after three rounds. */
enum { ORDER_ROUNDS = 12, ORDER_PATIENCE = 3 };

/* The current nodes, numbered 0 ... n - 1 by position. */
struct order_graph {
	uint32_t n;
	uint32_t *node;
	bool *message;
	replay_time *duration;
	uint32_t *first_pred, *pred, *first_reader, *reader;
};

/* When a stream is busy: spans that do not touch, in order. */
struct span {
	replay_time start, end;
};

struct stream {
	struct span *span;
	uint32_t n;
};

struct entry {
	replay_time key;
	uint32_t rank, node;
};

struct order {
	struct order_graph g;
	replay_time *key; /* smaller ones come first */
	replay_time *start, *end;
	struct entry *entry;
	uint32_t *best, *rank;
	struct stream stream[2];
	replay_time *release;
	uint32_t *waits;                     /* number of nodes that each node still waits for */
	struct fine_heap later[2], ready[2]; /* by stream: heaps by ready time, and by key */
};

/* For a direction of time: what a node waits for, and what waits for it. */
struct order_way {
	const uint32_t *first_pred, *pred, *first_reader, *reader;
	bool reverse; /* of equal keys the last one goes first */
};

/*
 * Two ways to make a schedule of two streams from keys. Insertion places urgent nodes before the
 * rest, so a long message never delays a short one that many nodes wait for; dispatching never lets
 * a stream wait while a node is ready. Both fill start[] and end[] in the time of that direction,
 * and entry[] in the order in which nodes were placed; they return the makespan.
 */

/* --- insertion: nodes by key, which must respect dependencies, each where its stream is first free
 * for long enough --- */

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

static replay_time
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

/* --- dispatching: a stream that is free takes the ready node with the smallest key --- */

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

static replay_time
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

/* Sorts best[] by the starts of the current schedule. */
static void
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

/* --- rounds --- */

static void
count_edges(const struct dopt *d, struct order_graph *g, uint32_t *number)
{
	for (uint32_t i = 0; i < g->n; i++)
		number[g->node[i] = plan_at(d->p, i)] = i;
	memset(g->first_reader, 0, (g->n + 1) * sizeof *g->first_reader);
	g->first_pred[0] = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		struct plan_node k = plan_node(d->p, g->node[i]);
		g->message[i] = k.kind == PLAN_MESSAGE;
		g->duration[i] = k.duration;
		g->first_pred[i + 1] = g->first_pred[i] + k.npreds;
		for (uint32_t e = 0; e < k.npreds; e++)
			g->first_reader[number[k.pred[e]] + 1]++;
	}
	for (uint32_t i = 0; i < g->n; i++)
		g->first_reader[i + 1] += g->first_reader[i];
}

static void
list_edges(const struct dopt *d, struct order_graph *g, const uint32_t *number, uint32_t *fill)
{
	memcpy(fill, g->first_reader, g->n * sizeof *fill);
	for (uint32_t i = 0; i < g->n; i++) {
		struct plan_node k = plan_node(d->p, g->node[i]);
		for (uint32_t e = 0; e < k.npreds; e++) {
			uint32_t from = number[k.pred[e]];
			g->pred[g->first_pred[i] + e] = from;
			g->reader[fill[from]++] = i;
		}
	}
}

static struct order *
order_create(const struct dopt *d)
{
	struct order *o = NEW(NULL, struct order);
	struct order_graph *g = &o->g;
	uint32_t n = g->n = plan_count(d->p);

	g->node = ARRAY_NEW(o, uint32_t, n);
	g->message = ARRAY_NEW(o, bool, n);
	g->duration = ARRAY_NEW(o, replay_time, n);
	g->first_pred = ARRAY_NEW(o, uint32_t, n + 1);
	g->first_reader = ARRAY_NEW(o, uint32_t, n + 1);
	count_edges(d, g, d->list);
	g->pred = ARRAY_NEW(o, uint32_t, g->first_pred[n]);
	g->reader = ARRAY_NEW(o, uint32_t, g->first_pred[n]);
	list_edges(d, g, d->list, d->reader);
	o->key = ARRAY_NEW(o, replay_time, n);
	o->start = ARRAY_NEW(o, replay_time, n);
	o->end = ARRAY_NEW(o, replay_time, n);
	o->best = ARRAY_NEW(o, uint32_t, n);
	o->rank = ARRAY_NEW(o, uint32_t, n);
	o->entry = ARRAY_NEW(o, struct entry, n);
	o->release = ARRAY_NEW(o, replay_time, n);
	o->waits = ARRAY_NEW(o, uint32_t, n);
	for (int k = 0; k < 2; k++) {
		o->stream[k].span = ARRAY_NEW(o, struct span, n);
		heap_create(o, &o->later[k], n);
		heap_create(o, &o->ready[k], n);
	}
	return o;
}

static replay_time
forward(struct order *o, replay_time (*schedule)(struct order *, const struct order_way *))
{
	const struct order_way w = {
		o->g.first_pred, o->g.pred, o->g.first_reader, o->g.reader, false};
	return schedule(o, &w);
}

static replay_time
backward(struct order *o, replay_time (*schedule)(struct order *, const struct order_way *))
{
	const struct order_way w = {
		o->g.first_reader, o->g.reader, o->g.first_pred, o->g.pred, true};
	return schedule(o, &w);
}

/* Sets the keys for the next schedule, in the other direction: the node that ended last starts
 * first. */
static void
keys_from_ends(struct order *o)
{
	for (uint32_t i = 0; i < o->g.n; i++)
		o->key[i] = -o->end[i];
}

/* The key is the longest path to the end: nodes far from it go first. */
static void
keys_from_tails(struct order *o)
{
	const struct order_graph *g = &o->g;

	for (uint32_t i = g->n; i-- > 0;) {
		replay_time tail = 0;
		for (uint32_t e = g->first_reader[i]; e < g->first_reader[i + 1]; e++)
			tail = -o->key[g->reader[e]] > tail ? -o->key[g->reader[e]] : tail;
		o->key[i] = -(tail + g->duration[i]);
	}
}

/* Keys that reproduce the current order. */
static void
keys_from_times(struct order *o, const struct dopt *d)
{
	for (uint32_t i = 0; i < o->g.n; i++)
		o->key[i] = -plan_node(d->p, o->g.node[i]).end;
}

/* Alternates directions until that no longer helps; the best order of the streams goes to
 * o->best. */
static replay_time
improve(struct order *o, replay_time (*schedule)(struct order *, const struct order_way *),
	replay_time best)
{
	for (int round = 0, patience = 0; round < ORDER_ROUNDS && patience < ORDER_PATIENCE;
		round++) {
		replay_time t = forward(o, schedule);
		patience++;
		if (t < best) {
			best = t;
			patience = 0;
			order_keep(o);
		}
		keys_from_ends(o);
		backward(o, schedule);
		keys_from_ends(o);
	}
	return best;
}

static void
apply(const struct dopt *d, const struct order *o)
{
	for (uint32_t i = 0; i < o->g.n; i++)
		if (plan_at(d->p, i) != o->g.node[o->best[i]])
			plan_move(d->p, o->g.node[o->best[i]], i);
}

bool
dopt_order_all(struct dopt *d, unsigned ways)
{
	if (!dopt_may(d, SEARCH_ORDER) || !dopt_more(d))
		return false;
	dopt_refresh(d);
	struct order *o = order_create(d);
	replay_time best = INT64_MAX;
	for (unsigned k = 0; k < 2; k++) {
		if (!(ways >> k & 1))
			continue;
		replay_time (*schedule)(struct order *, const struct order_way *) =
			k ? order_dispatch : order_insert;
		keys_from_tails(o);
		best = improve(o, schedule, best);
		keys_from_times(o, d);
		backward(o, schedule);
		keys_from_ends(o);
		best = improve(o, schedule, best);
	}
	uint32_t mark = plan_mark(d->p);
	apply(d, o);
	talloc_free(o);
	return dopt_keep(d, mark, d->score - 1);
}
