/*
 * The coarsened view (dPRO, section 5.3): nodes that Theorem 3 would fuse in any case are fused
 * before the search begins. A computation op that makes no tensor to be synchronized joins the
 * group of a nearby op that does, and messages with results of the same op are packed into one.
 *
 * The paper leaves the algorithm to its appendix. Here an op without a tensor joins the group of an
 * op that reads from it, the first of them in the order of issue, or else of one that it reads
 * from, the last of them. The last ops go first, so that groups grow from the ops with tensors up
 * through the ops that lead to them; then the first ops, for those that follow. As in Theorem 1,
 * where the message takes no time here, an op that would make the group slower stays separate, and
 * so does an op that cannot be in the kernel.
 */
#include "passes/search/papers/dpro.h"

#include "ir/base/alloc.h"

#include <talloc.h>

struct view {
	struct dpro *d;
	bool *tensor; /* [plan_room] does a message read from the kernel's group? */
	uint32_t *op; /* [n] of each kernel, one op */
	uint32_t n;
};

static bool
join(struct view *v, uint32_t kernel, uint32_t group)
{
	struct plan *p = v->d->plan;

	if (plan_node(p, group).kind != PLAN_KERNEL || !v->tensor[group])
		return false;
	replay_time fused = plan_fused_time(p, kernel, group);
	return fused >= 0 && fused < plan_node(p, kernel).duration + plan_node(p, group).duration &&
	       plan_fuse(p, kernel, group, PLAN_FUSE);
}

/* Joins the group of a kernel that reads from it. */
static bool
join_reader(struct view *v, uint32_t kernel)
{
	struct plan *p = v->d->plan;
	uint32_t n = plan_readers(p, kernel, v->d->reader), first = PLAN_NONE;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t reader = v->d->reader[i];
		if (plan_node(p, reader).kind == PLAN_KERNEL && v->tensor[reader] &&
			(first == PLAN_NONE ||
				plan_node(p, reader).position < plan_node(p, first).position))
			first = reader;
	}
	return first != PLAN_NONE && join(v, kernel, first);
}

/* Joins the group of a kernel that it reads from. */
static bool
join_read(struct view *v, uint32_t kernel)
{
	struct plan *p = v->d->plan;
	struct plan_node node = plan_node(p, kernel);
	uint32_t last = PLAN_NONE;

	for (uint32_t i = 0; i < node.npreds; i++) {
		struct plan_node from = plan_node(p, node.pred[i]);
		if (from.kind == PLAN_KERNEL && v->tensor[node.pred[i]] &&
			(last == PLAN_NONE || from.position > plan_node(p, last).position))
			last = node.pred[i];
	}
	return last != PLAN_NONE && join(v, kernel, last);
}

/* Packs the messages with results of one kernel into one. */
static void
join_messages(struct view *v, uint32_t kernel)
{
	struct plan *p = v->d->plan;
	uint32_t last = dpro_message_of(v->d, kernel);
	uint32_t n = plan_readers(p, kernel, v->d->reader);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t q = v->d->reader[i];
		if (q != last && plan_node(p, q).kind == PLAN_MESSAGE && plan_packs(p, q, last))
			plan_pack(p, q, last);
	}
}

static void
find_kernels(struct view *v)
{
	const struct plan *p = v->d->plan;

	for (uint32_t i = 0; i < plan_count(p); i++) {
		uint32_t node = plan_at(p, i);
		if (plan_node(p, node).kind != PLAN_KERNEL)
			continue;
		v->op[v->n++] = dpro_op_of(p, node);
		v->tensor[node] = dpro_message_of(v->d, node) != PLAN_NONE;
	}
}

static void
join_kernels(struct view *v)
{
	const struct plan *p = v->d->plan;

	for (uint32_t i = v->n; i-- > 0 && dpro_more(v->d);) {
		uint32_t node = plan_home(p, v->op[i]);
		if (node != PLAN_NONE && !v->tensor[node])
			join_reader(v, node);
	}
	for (uint32_t i = 0; i < v->n && dpro_more(v->d); i++) {
		uint32_t node = plan_home(p, v->op[i]);
		if (node != PLAN_NONE && !v->tensor[node])
			join_read(v, node);
	}
}

void
dpro_coarsen(struct dpro *d)
{
	struct view *v = NEW(d, struct view);

	*v = (struct view){.d = d};
	v->tensor = ARRAY_ZERO(v, bool, plan_room(d->plan));
	v->op = ARRAY_NEW(v, uint32_t, plan_room(d->plan));
	find_kernels(v);
	if (d->o->moves & SEARCH_FUSE)
		join_kernels(v);
	for (uint32_t i = 0; (d->o->moves & SEARCH_PACK) && i < v->n; i++) {
		uint32_t node = plan_home(d->plan, v->op[i]);
		if (node != PLAN_NONE && dpro_message_of(d, node) != PLAN_NONE)
			join_messages(v, node);
	}
	talloc_free(v);
}
