/*
 * t_sync(s, k), the time of a message of s bytes in k parts, and the k for which it is least, by
 * grid search (dPRO, sections 5.1 and 5.2). With partial replay (5.3) only that message is
 * replayed; without it the whole changed step, for every k.
 */
#include "passes/search/papers/dpro.h"

static replay_time
replay_all(struct dpro *d, uint32_t message, uint32_t parts)
{
	replay_time t = -1;
	uint32_t mark = plan_mark(d->plan);

	if (!dpro_more(d))
		return -1;
	if (plan_part(d->plan, message, parts)) {
		plan_replay_all(d->plan);
		struct plan_node node = plan_node(d->plan, message);
		t = node.end - node.start;
	}
	plan_undo(d->plan, mark);
	return t;
}

/* Tries the grid for the message alone, or packed with `with`. */
static struct dpro_sync
best_of_grid(struct dpro *d, uint32_t with, uint32_t message)
{
	struct dpro_sync best = {-1, 1};
	uint32_t most = d->o->moves & SEARCH_PART ? DPRO_MAX_PARTS : 1;

	for (uint32_t k = 1; k <= most && !d->stop; k *= 2) {
		replay_time t = !d->o->partial      ? replay_all(d, message, k)
				: with == PLAN_NONE ? plan_message_time(d->plan, message, k)
						    : plan_packed_time(d->plan, with, message, k);
		if (t >= 0 && (best.time < 0 || t < best.time))
			best = (struct dpro_sync){t, k};
	}
	return best;
}

struct dpro_sync
dpro_best_parts(struct dpro *d, uint32_t message)
{
	return best_of_grid(d, PLAN_NONE, message);
}

struct dpro_sync
dpro_best_parts_packed(struct dpro *d, uint32_t a, uint32_t b)
{
	uint32_t mark = plan_mark(d->plan);
	struct dpro_sync best = {-1, 1};

	if (d->o->partial)
		return best_of_grid(d, a, b);
	if (plan_pack(d->plan, a, b))
		best = best_of_grid(d, a, b);
	plan_undo(d->plan, mark);
	return best;
}
