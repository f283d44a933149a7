/*
 * Tries every small change of every message, and of one kernel of each colour; improvements are
 * kept, and tried on all kernels of that colour.
 */
#include "passes/search/dopt/change.h"

#include "ir/base/alloc.h"

#include <string.h>

enum sweep_limit {
	SWEEP_SHIFTS = 12, /* single ops of larger kernels are not moved to neighbours */
};

/* --- changes of one message, all of them --- */

static bool
better(struct dopt *d, enum change_kind kind, uint32_t node, uint32_t other, uint32_t at)
{
	struct change c = {kind, node, other, at};
	return change_try(d, &c, d->score - 1);
}

static bool
sweep_message(struct dopt *d, uint32_t node, uint32_t before)
{
	struct plan_node k = plan_node(d->p, node);

	if (before != PLAN_NONE && plan_packs(d->p, before, node)) {
		if (better(d, CHANGE_PACK, node, before, 0))
			return true;
		for (uint32_t i = 0; i < k.nops && k.nops > 1; i++)
			if (better(d, CHANGE_BORDER, node, before, i))
				return true;
		for (uint32_t i = 0, n = plan_node(d->p, before).nops; i < n && n > 1; i++)
			if (better(d, CHANGE_BORDER, before, node, i))
				return true;
	}
	for (uint32_t i = 1; i < k.nops; i++)
		if (better(d, CHANGE_UNPACK, node, 0, i))
			return true;
	return better(d, CHANGE_PART, node, 0, 2 * k.parts) ||
	       (k.parts > 1 && better(d, CHANGE_PART, node, 0, k.parts / 2));
}

static uint32_t
message_before(const struct dopt *d, uint32_t position)
{
	while (position-- > 0)
		if (plan_node(d->p, plan_at(d->p, position)).kind == PLAN_MESSAGE)
			return plan_at(d->p, position);
	return PLAN_NONE;
}

bool
dopt_sweep_messages(struct dopt *d)
{
	bool any = false;

	for (uint32_t i = 0; i < plan_count(d->p) && dopt_more(d); i++) {
		uint32_t node = plan_at(d->p, i);
		plan_forget(d->p);
		if (plan_node(d->p, node).kind == PLAN_MESSAGE)
			any |= sweep_message(d, node, message_before(d, i));
	}
	return any;
}

/* --- changes of one kernel, all of them --- */

static bool
better_for_all(struct dopt *d, struct change c)
{
	if (!change_allowed(d, c.kind))
		return false;
	struct change_colours colours = change_colours(d, &c);
	if (!change_try(d, &c, d->score - 1))
		return false;
	change_try_twins(d, &c, colours);
	return true;
}

static bool
sweep_cuts(struct dopt *d, uint32_t node)
{
	static const enum change_kind kind[] = {
		CHANGE_APART, CHANGE_LEAVE, CHANGE_CUT, CHANGE_SINGLE};
	uint32_t nops = plan_node(d->p, node).nops;

	for (uint32_t i = 0; i < nops && nops > 1; i++)
		for (uint32_t k = 0; k < sizeof kind / sizeof *kind; k++)
			if (better_for_all(d, (struct change){kind[k], node, 0, i}))
				return true;
	return false;
}

/* Changes of the kernel together with another one. */
static bool
sweep_pair(struct dopt *d, uint32_t node, uint32_t other, bool reads)
{
	uint32_t nops = plan_node(d->p, node).nops;

	if (better_for_all(d, (struct change){reads ? CHANGE_FUSE : CHANGE_NEAR, node, other, 0}))
		return true;
	if (reads && better_for_all(d, (struct change){CHANGE_COPY, node, other, 0}))
		return true;
	for (uint32_t i = 0; i < nops && nops > 1 && nops <= SWEEP_SHIFTS; i++)
		if (better_for_all(d, (struct change){CHANGE_SHIFT, node, other, i}))
			return true;
	return false;
}

static bool
sweep_preds(struct dopt *d, uint32_t node)
{
	for (uint32_t e = 0; e < plan_node(d->p, node).npreds; e++) {
		uint32_t pred = plan_node(d->p, node).pred[e];
		if (plan_node(d->p, pred).kind == PLAN_KERNEL && sweep_pair(d, node, pred, true))
			return true;
	}
	return false;
}

static bool
sweep_near(struct dopt *d, uint32_t node)
{
	uint32_t near[DOPT_NEAR], n = dopt_near(d, node, true, near);

	for (uint32_t i = 0; i < n; i++)
		if (sweep_pair(d, node, near[i], false))
			return true;
	return false;
}

static bool
sweep_kernel(struct dopt *d, uint32_t node)
{
	return sweep_cuts(d, node) ||
	       better_for_all(d, (struct change){CHANGE_INLINE, node, 0, 0}) ||
	       sweep_preds(d, node) || sweep_near(d, node);
}

MAP_SAME(same_colour, struct dopt_colours, uint32_t, list->at[i] == *key)

/* Adds a colour to d->seen; false: it was there already. */
static bool
see(struct dopt *d, uint32_t colour)
{
	const uint32_t i = map_add(d, &d->seen_map, colour, same_colour, &d->seen, &colour);

	if (i < d->seen.n)
		return false;
	VEC_PUSH(d, &d->seen, colour);
	return true;
}

void
dopt_sweep_anew(struct dopt *d)
{
	map_clear(&d->seen_map);
	d->seen.n = 0;
}

bool
dopt_sweep_kernels(struct dopt *d, bool critical)
{
	replay_time *slack = ARRAY_NEW(NULL, replay_time, d->room);
	bool any = false;

	dopt_refresh(d);
	plan_slack(d->p, slack);
	for (uint32_t i = 0; i < plan_count(d->p) && dopt_more(d); i++) {
		uint32_t node = plan_at(d->p, i);
		if (plan_node(d->p, node).kind != PLAN_KERNEL || (critical && slack[node] > 0) ||
			!see(d, change_colour(d, node)))
			continue;
		plan_forget(d->p);
		any |= sweep_kernel(d, node);
	}
	array_free(slack);
	return any;
}
