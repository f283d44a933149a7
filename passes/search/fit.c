/*
 * When plans must fit into memory, an engine that visits plans that do not fit may never return to
 * one that does. So this search runs first: starting with the current plan, which fits, random
 * changes are kept if the step is faster and still fits. Plans that the engine finds afterwards
 * count only if they are better and fit, too.
 */
#include "passes/search/search.h"

enum {
	FIT_PATIENCE = 2000, /* changes in a row without improvement */
	FIT_COPIES = 4,      /* one in this many fusions is a copy */
};

/* The message before or after a node. */
static uint32_t
next_message(const struct plan *p, uint32_t node, bool behind)
{
	const uint32_t n = plan_count(p);

	for (uint32_t i = plan_node(p, node).position; behind ? i + 1 < n : i > 0;) {
		i = behind ? i + 1 : i - 1;
		if (plan_node(p, plan_at(p, i)).kind == PLAN_MESSAGE)
			return plan_at(p, i);
	}
	return PLAN_NONE;
}

static bool
pack(struct search *s, struct search_random *r, uint32_t b)
{
	const uint32_t a = next_message(s->plan, b, search_random_below(r, 2));

	return (s->o->moves & SEARCH_PACK) && a != PLAN_NONE && plan_pack(s->plan, a, b);
}

static bool
fuse(struct search *s, struct search_random *r, uint32_t b)
{
	const struct plan_node n = plan_node(s->plan, b);
	const bool copy = search_random_below(r, FIT_COPIES) == 0;

	if (!n.npreds || !(s->o->moves & (copy ? SEARCH_COPY : SEARCH_FUSE)))
		return false;
	const uint32_t a = n.pred[search_random_below(r, n.npreds)];
	return plan_node(s->plan, a).kind == PLAN_KERNEL &&
	       plan_fuse(s->plan, a, b, copy ? PLAN_FUSE_COPY : PLAN_FUSE);
}

void
search_fit(struct search *s)
{
	struct plan *p = s->plan;
	struct search_random r = {s->o->seed};

	for (uint32_t missed = 0; missed < FIT_PATIENCE && search_more(s); missed++) {
		const uint32_t b = plan_at(p, search_random_below(&r, plan_count(p)));
		const uint32_t mark = plan_mark(p);
		const bool message = plan_node(p, b).kind == PLAN_MESSAGE;
		if ((message ? pack(s, &r, b) : fuse(s, &r, b)) &&
			search_found(s, plan_replay(p))) {
			plan_forget(p);
			missed = 0;
		} else {
			plan_undo(p, mark);
		}
	}
}
