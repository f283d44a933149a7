/*
 * Random small changes, most of them where time is lost. The search continues from a worse plan for
 * a while, so that it finds improvements that need two changes.
 */
#include "passes/search/dopt/change.h"

#include "ir/base/alloc.h"

#include <talloc.h>

enum walk_limit {
	WALK_REFRESH = 512, /* evaluations after which the critical nodes are listed again */
	WALK_FAR = 64,      /* most positions by which a node is moved */
	WALK_FORGET = 32,   /* steps after which undo information is dropped */
};

struct walk {
	struct dopt *d;
	replay_time *slack;
	uint32_t *critical, ncritical;
	uint64_t refresh; /* number of evaluations at which the critical nodes are listed again */
};

static uint32_t
below(struct walk *w, uint32_t n)
{
	return search_random_below(&w->d->random, n);
}

static void
list_critical(struct walk *w)
{
	struct dopt *d = w->d;

	dopt_refresh(d);
	plan_slack(d->p, w->slack);
	w->ncritical = 0;
	for (uint32_t i = 0; i < plan_count(d->p); i++)
		if (w->slack[plan_at(d->p, i)] <= 0)
			w->critical[w->ncritical++] = plan_at(d->p, i);
	w->refresh = dopt_evaluations(d) + WALK_REFRESH;
}

static uint32_t
random_node(struct walk *w)
{
	struct dopt *d = w->d;

	if (w->ncritical && below(w, 2)) {
		uint32_t node = w->critical[below(w, w->ncritical)];
		if (plan_exists(d->p, node))
			return node;
	}
	return plan_at(d->p, below(w, plan_count(d->p)));
}

/* A node of the same kind that this one reads; PLAN_NONE: none. */
static uint32_t
random_pred(struct walk *w, uint32_t node)
{
	struct plan_node k = plan_node(w->d->p, node);
	if (!k.npreds)
		return PLAN_NONE;
	uint32_t pred = k.pred[below(w, k.npreds)];
	return plan_node(w->d->p, pred).kind == k.kind ? pred : PLAN_NONE;
}

static uint32_t
random_reader(struct walk *w, uint32_t node, enum plan_kind kind)
{
	struct dopt *d = w->d;
	uint32_t n = plan_readers(d->p, node, d->reader);
	if (!n)
		return PLAN_NONE;
	uint32_t reader = d->reader[below(w, n)];
	return plan_node(d->p, reader).kind == kind ? reader : PLAN_NONE;
}

static uint32_t
random_near(struct walk *w, uint32_t node)
{
	uint32_t near[DOPT_NEAR], n = dopt_near(w->d, node, true, near);

	return n ? near[below(w, n)] : PLAN_NONE;
}

static uint32_t
random_partner(struct walk *w, uint32_t node)
{
	switch (below(w, 3)) {
	case 0: return random_pred(w, node);
	case 1: return random_reader(w, node, PLAN_KERNEL);
	default: return random_near(w, node);
	}
}

/* A message at most that many messages before or after. */
static uint32_t
random_neighbour(struct walk *w, uint32_t node)
{
	struct dopt *d = w->d;
	uint32_t at = plan_node(d->p, node).position, n = plan_count(d->p);
	bool back = below(w, 2);

	for (uint32_t left = 1 + below(w, 3); back ? at-- > 0 : ++at < n;)
		if (plan_node(d->p, plan_at(d->p, at)).kind == PLAN_MESSAGE && --left == 0)
			return plan_at(d->p, at);
	return PLAN_NONE;
}

/* A position to which a node may go. */
static uint32_t
random_position(struct walk *w, uint32_t node)
{
	struct dopt *d = w->d;
	struct plan_node k = plan_node(d->p, node);
	uint32_t low = 0, high = plan_count(d->p) - 1, n = plan_readers(d->p, node, d->reader);

	for (uint32_t i = 0; i < k.npreds; i++) {
		uint32_t at = plan_node(d->p, k.pred[i]).position;
		low = at + 1 > low ? at + 1 : low;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = plan_node(d->p, d->reader[i]).position;
		high = at - 1 < high ? at - 1 : high;
	}
	if (below(w, 4)) {
		low = k.position > low + WALK_FAR ? k.position - WALK_FAR : low;
		high = k.position + WALK_FAR < high ? k.position + WALK_FAR : high;
	}
	return low + below(w, high - low + 1);
}

static bool
random_kernel_change(struct walk *w, struct change *c)
{
	uint32_t nops = plan_node(w->d->p, c->node).nops;

	switch (c->kind) {
	case CHANGE_FUSE:
	case CHANGE_COPY: c->other = random_pred(w, c->node); break;
	case CHANGE_NEAR: c->other = random_near(w, c->node); break;
	case CHANGE_INLINE: return true;
	case CHANGE_APART:
	case CHANGE_CUT: c->at = nops > 1 ? 1 + below(w, nops - 1) : 0; return nops > 1;
	case CHANGE_LEAVE:
	case CHANGE_SINGLE: c->at = below(w, nops); return nops > 2;
	case CHANGE_SHIFT:
		c->at = below(w, nops);
		c->other = random_partner(w, c->node);
		return nops > 1 && c->other != PLAN_NONE;
	default: return false;
	}
	return c->other != PLAN_NONE;
}

static bool
random_message_change(struct walk *w, struct change *c)
{
	struct plan_node k = plan_node(w->d->p, c->node);

	switch (c->kind) {
	case CHANGE_PACK:
		c->other = random_neighbour(w, c->node);
		return c->other != PLAN_NONE && plan_packs(w->d->p, c->other, c->node);
	case CHANGE_UNPACK: c->at = k.nops > 1 ? 1 + below(w, k.nops - 1) : 0; return k.nops > 1;
	case CHANGE_BORDER:
		c->at = below(w, k.nops);
		c->other = random_neighbour(w, c->node);
		return k.nops > 1 && c->other != PLAN_NONE &&
		       plan_packs(w->d->p, c->other, c->node);
	case CHANGE_PART: c->at = below(w, 2) ? 2 * k.parts : k.parts / 2; return c->at > 0;
	default: return false;
	}
}

/* A kind of change for that kind of node: all with equal probability. */
static bool
random_change(struct walk *w, struct change *c)
{
	c->node = random_node(w);
	bool message = plan_node(w->d->p, c->node).kind == PLAN_MESSAGE;

	if (below(w, 4) == 0) {
		c->kind = CHANGE_MOVE;
		c->at = random_position(w, c->node);
		return c->at != plan_node(w->d->p, c->node).position;
	}
	c->kind = message ? CHANGE_PACK + (enum change_kind)below(w, CHANGE_MOVE - CHANGE_PACK)
			  : (enum change_kind)below(w, CHANGE_PACK);
	if (!change_allowed(w->d, c->kind))
		return false;
	return message ? random_message_change(w, c) : random_kernel_change(w, c);
}

static void
step(struct walk *w, replay_time heat)
{
	struct dopt *d = w->d;
	struct change c = {0};

	if (!random_change(w, &c))
		return;
	replay_time score = d->score, spare = 0;
	struct change_colours colours = change_colours(d, &c);
	if (heat > 1024)
		spare = heat / 1024 * below(w, 1024);
	if (!change_try(d, &c, d->score + spare))
		return;
	if (d->score < score)
		change_try_twins(d, &c, colours);
}

void
dopt_walk(struct dopt *d)
{
	struct walk *w = NEW(NULL, struct walk);
	uint64_t first = dopt_evaluations(d), steps = 0;

	w->d = d;
	w->slack = ARRAY_NEW(w, replay_time, d->room);
	w->critical = ARRAY_NEW(w, uint32_t, d->room);
	/* A step without a possible change costs no evaluation, so the steps are limited, too. */
	for (; dopt_more(d) && steps < 64 * (d->quota - first) + 1024; steps++) {
		if (steps % WALK_FORGET == 0)
			plan_forget(d->p);
		if (dopt_evaluations(d) >= w->refresh)
			list_critical(w);
		replay_time heat = d->now >> d->cold;
		uint64_t left = d->quota - dopt_evaluations(d), all = d->quota - first;
		step(w, (replay_time)((double)heat * (double)left / (double)all));
	}
	talloc_free(w);
}
