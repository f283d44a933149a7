/*
 * Decides by dPRO's theorems (section 5.1) for two neighbours on the critical path, and applies the
 * decisions. Start and end times are from the last replay, durations from the current plan.
 */
#include "passes/search/papers/dpro.h"

enum { CHANGES_KEPT = 64 };

/* --- moves --- */

static bool
may(const struct dpro *d, enum search_moves m)
{
	return d->o->moves & m;
}

/* Changes are never undone; the undo log is dropped before it fills the caches. */
static void
count_change(struct dpro *d)
{
	if (++d->changes % CHANGES_KEPT == 0)
		plan_forget(d->plan);
}

static bool
fuse_kernels(struct dpro *d, uint32_t a, uint32_t b)
{
	if (!may(d, SEARCH_FUSE) || a == PLAN_NONE || b == PLAN_NONE || a == b ||
		!plan_fuse(d->plan, a, b, PLAN_FUSE))
		return false;
	count_change(d);
	return true;
}

static bool
pack_messages(struct dpro *d, uint32_t a, uint32_t b)
{
	if (!may(d, SEARCH_PACK) || a == PLAN_NONE || b == PLAN_NONE || a == b ||
		!plan_packs(d->plan, a, b) || !plan_pack(d->plan, a, b))
		return false;
	count_change(d);
	return true;
}

void
dpro_part(struct dpro *d, uint32_t message)
{
	if (message == PLAN_NONE || !may(d, SEARCH_PART))
		return;
	uint64_t class = dpro_alike_class(d->alike, d->plan, message);
	uint32_t parts;
	if (!dpro_alike_find(d->alike, class, &parts)) {
		parts = dpro_best_parts(d, message).parts;
		if (!d->stop)
			dpro_alike_set(d->alike, class, parts);
	}
	if (parts != plan_node(d->plan, message).parts)
		d->changes += plan_part(d->plan, message, parts);
}

/* --- Theorem 1 --- */

/* Total time of all messages that carry results of a kernel. */
static replay_time
messages_time(struct dpro *d, uint32_t kernel)
{
	uint32_t n = plan_readers(d->plan, kernel, d->reader);
	replay_time t = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct plan_node reader = plan_node(d->plan, d->reader[i]);
		if (reader.kind == PLAN_MESSAGE)
			t += reader.duration;
	}
	return t;
}

static enum dpro_decision
decide_kernels(struct dpro *d, uint32_t a, uint32_t b)
{
	replay_time fused = plan_fused_time(d->plan, a, b);

	if (fused < 0)
		return DPRO_NULL;
	replay_time saved = plan_node(d->plan, a).duration + plan_node(d->plan, b).duration - fused;
	return messages_time(d, a) < saved ? DPRO_OPFS | DPRO_TSFS : DPRO_NULL;
}

void
dpro_kernels(struct dpro *d, uint32_t a, uint32_t b, bool known)
{
	uint32_t qa = dpro_message_of(d, a), qb = dpro_message_of(d, b), decision;
	const uint64_t class[] = {
		dpro_alike_class(d->alike, d->plan, a),
		dpro_alike_class(d->alike, d->plan, b),
		dpro_alike_class(d->alike, d->plan, qa),
		dpro_alike_class(d->alike, d->plan, qb),
	};
	uint64_t what = dpro_alike_mix(class, 4);

	if (!dpro_alike_find(d->alike, what, &decision)) {
		if (known)
			return;
		decision = decide_kernels(d, a, b);
		dpro_alike_set(d->alike, what, decision);
	}
	if ((decision & DPRO_OPFS) && fuse_kernels(d, a, b))
		pack_messages(d, qa, qb);
	dpro_part(d, qb != PLAN_NONE ? qb : decision ? qa : PLAN_NONE);
}

/* --- Theorem 2 --- */

/* When the operands of a message are ready, according to the last replay. */
static replay_time
ready(const struct dpro *d, uint32_t message)
{
	struct plan_node q = plan_node(d->plan, message);
	replay_time t = 0;

	for (uint32_t i = 0; i < q.npreds; i++) {
		replay_time end = d->end[q.pred[i]];
		t = end > t ? end : t;
	}
	return t;
}

static enum dpro_decision
decide_messages(struct dpro *d, uint32_t a, uint32_t b, replay_time end_of_a)
{
	if (!may(d, SEARCH_PACK) || !plan_packs(d->plan, a, b))
		return DPRO_NULL;
	struct dpro_sync both = dpro_best_parts_packed(d, a, b), alone = dpro_best_parts(d, b);
	if (d->stop || both.time < 0)
		return DPRO_NULL;
	return end_of_a > ready(d, b) + both.time - alone.time ? DPRO_OPFS | DPRO_TSFS : DPRO_NULL;
}

void
dpro_messages(struct dpro *d, uint32_t a, uint32_t b, replay_time start_of_a, replay_time *end)
{
	const uint64_t class[] = {
		dpro_alike_class(d->alike, d->plan, a),
		dpro_alike_class(d->alike, d->plan, b),
	};
	uint64_t what = dpro_alike_mix(class, 2);
	uint32_t decision, pa = dpro_kernel_of(d, a), pb = dpro_kernel_of(d, b);
	replay_time start = ready(d, b);

	if (!dpro_alike_find(d->alike, what, &decision)) {
		decision = decide_messages(d, a, b, *end);
		if (d->stop)
			return;
		dpro_alike_set(d->alike, what, decision);
	}
	bool packed = (decision & DPRO_TSFS) && pack_messages(d, a, b);
	if (packed)
		fuse_kernels(d, pa, pb);
	dpro_part(d, b);
	replay_time before = packed ? start_of_a : *end;
	*end = (before > start ? before : start) + plan_node(d->plan, b).duration;
}
