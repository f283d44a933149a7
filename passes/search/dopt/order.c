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
#include "passes/search/dopt/order.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

/* A pass takes 0.1 us a node; most orders stop getting better after three rounds. */
enum { ORDER_ROUNDS = 12, ORDER_PATIENCE = 3 };

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
	order_set_up(o);
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
