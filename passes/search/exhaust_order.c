/*
 * All orders of a few kernels and messages, by depth-first search. A partial order is pruned when
 * it cannot end before the best so far: the rest of each stream follows it, and every node is
 * followed by its longest path to the end. The replay of the streams ignores all other times. That
 * is exact if kernels are queued ahead, and otherwise a bound, so the plan's own replay decides for
 * every complete order.
 */
#include "passes/search/exhaust.h"
#include "passes/search/exhaust_impl.h"

#include <assert.h>

struct orders {
	struct search *s;
	uint64_t *count;
	uint32_t n;
	uint32_t node[EXHAUST_NODES];
	bool message[EXHAUST_NODES];
	replay_time duration[EXHAUST_NODES];
	replay_time head[EXHAUST_NODES]; /* lower bound on the start */
	replay_time tail[EXHAUST_NODES]; /* lower bound from its end to the end of the step */
	uint32_t preds[EXHAUST_NODES];   /* set */
	replay_time first;               /* when the first kernel can start */
	/* The partial order: */
	uint32_t sequence[EXHAUST_NODES];
	replay_time end[EXHAUST_NODES];
	bool ended;
};

/* The start of a kernel that is first in an order, if it reads nothing; otherwise 0, a lower
 * bound. */
static replay_time
first_start(const struct plan *p)
{
	for (uint32_t i = 0; i < plan_count(p); i++) {
		struct plan_node k = plan_node(p, plan_at(p, i));
		if (k.kind == PLAN_KERNEL)
			return k.npreds ? 0 : k.start;
	}
	return 0;
}

static void
set_up(struct orders *o, const struct plan *p)
{
	o->n = plan_count(p);
	for (uint32_t i = 0; i < o->n; i++) {
		struct plan_node k = plan_node(p, o->node[i] = plan_at(p, i));
		o->message[i] = k.kind == PLAN_MESSAGE;
		o->duration[i] = k.duration;
		o->head[i] = o->message[i] ? 0 : o->first;
		o->tail[i] = 0;
		o->preds[i] = 0;
		for (uint32_t e = 0; e < k.npreds; e++) {
			uint32_t j = plan_node(p, k.pred[e]).position;
			o->preds[i] |= 1u << j;
			o->head[i] = replay_later(o->head[i], o->head[j] + o->duration[j]);
		}
	}
	for (uint32_t i = o->n; i-- > 0;)
		for (uint32_t j = 0; j < i; j++)
			if (o->preds[i] >> j & 1)
				o->tail[j] = replay_later(o->tail[j], o->duration[i] + o->tail[i]);
}

/*
 * A lower bound for the nodes of a stream that are not in `done`: the first of them starts no
 * earlier than any of them can, and the last is followed by its path to the end.
 */
static replay_time
stream_bound(const struct orders *o, uint32_t done, bool message, replay_time free_at)
{
	replay_time sum = 0, tail = INT64_MAX, head = INT64_MAX;

	for (uint32_t i = 0; i < o->n; i++) {
		if (o->message[i] != message || (done >> i & 1))
			continue;
		sum += o->duration[i];
		tail = o->tail[i] < tail ? o->tail[i] : tail;
		head = o->head[i] < head ? o->head[i] : head;
	}
	return sum ? replay_later(head, free_at) + sum + tail : free_at;
}

static replay_time
bound_of(const struct orders *o, uint32_t done, replay_time compute, replay_time message)
{
	replay_time t = replay_later(
		stream_bound(o, done, false, compute), stream_bound(o, done, true, message));

	for (uint32_t i = 0; i < o->n; i++) {
		replay_time end = o->end[i];
		if (!(done >> i & 1))
			end = replay_later(o->head[i], o->message[i] ? message : compute) +
			      o->duration[i];
		t = replay_later(t, end + o->tail[i]);
	}
	return t;
}

replay_time
exhaust_bound(const struct plan *p)
{
	struct orders o = {0};

	set_up(&o, p);
	return bound_of(&o, 0, 0, 0);
}

/* A complete order: sets and replays it in the plan. */
static void
try_order(struct orders *o)
{
	struct plan *p = o->s->plan;

	if (!search_more(o->s)) {
		o->ended = true;
		return;
	}
	uint32_t mark = plan_mark(p);
	for (uint32_t i = 0; i < o->n; i++)
		if (plan_at(p, i) != o->node[o->sequence[i]]) {
			bool moved = plan_move(p, o->node[o->sequence[i]], i);
			assert(moved);
			(void)moved;
		}
	search_found(o->s, plan_replay(p));
	plan_undo(p, mark);
}

/* A message that could have been issued before the preceding kernel is issued there. */
static bool
comes_late(const struct orders *o, uint32_t i, uint32_t depth)
{
	if (!o->message[i] || !depth)
		return false;
	uint32_t last = o->sequence[depth - 1];
	return !o->message[last] && !(o->preds[i] >> last & 1);
}

static void
extend(struct orders *o, uint32_t depth, uint32_t done, replay_time compute, replay_time message)
{
	++*o->count;
	if (bound_of(o, done, compute, message) >= o->s->r.after)
		return;
	if (depth == o->n) {
		try_order(o);
		return;
	}
	for (uint32_t i = 0; i < o->n && !o->ended; i++) {
		if ((done >> i & 1) || (o->preds[i] & ~done) || comes_late(o, i, depth))
			continue;
		replay_time start = o->message[i] ? message : replay_later(compute, o->first);
		for (uint32_t j = 0; j < o->n; j++)
			if (o->preds[i] >> j & 1)
				start = replay_later(start, o->end[j]);
		o->sequence[depth] = i;
		o->end[i] = start + o->duration[i];
		extend(o, depth + 1, done | 1u << i, o->message[i] ? compute : o->end[i],
			o->message[i] ? o->end[i] : message);
	}
}

bool
exhaust_orders(struct search *s, uint64_t *count)
{
	struct orders o = {.s = s, .count = count};

	if (!search_more(s))
		return false;
	search_found(s, plan_replay(s->plan));
	if (!(s->o->moves & SEARCH_ORDER))
		return true;
	o.first = first_start(s->plan);
	set_up(&o, s->plan);
	extend(&o, 0, 0, 0, 0);
	return !o.ended;
}
