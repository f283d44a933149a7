/*
 * The critical path of a plan, found from its end back: the predecessor of a node is the one that
 * ended last among the nodes that it reads from and the previous node on its stream. (Posting and
 * waiting belong to no node, so there may be gaps between nodes.)
 */
#include "passes/search/papers/dpro.h"

/* The last node of the same kind before position `at`; PLAN_NONE: there is none. */
static uint32_t
before_on_stream(const struct plan *p, uint32_t at, enum plan_kind kind)
{
	while (at-- > 0) {
		uint32_t node = plan_at(p, at);
		if (plan_node(p, node).kind == kind)
			return node;
	}
	return PLAN_NONE;
}

static uint32_t
last_to_end(const struct plan *p)
{
	uint32_t last = PLAN_NONE;

	for (uint32_t i = 0; i < plan_count(p); i++) {
		uint32_t node = plan_at(p, i);
		if (last == PLAN_NONE || plan_node(p, node).end >= plan_node(p, last).end)
			last = node;
	}
	return last;
}

uint32_t
dpro_critical_path(const struct plan *p, uint32_t *node)
{
	uint32_t n = 0;

	for (uint32_t at = last_to_end(p); at != PLAN_NONE;) {
		struct plan_node here = plan_node(p, at);
		uint32_t before = before_on_stream(p, here.position, here.kind);
		node[n++] = at;
		for (uint32_t i = 0; i < here.npreds; i++)
			if (before == PLAN_NONE ||
				plan_node(p, here.pred[i]).end > plan_node(p, before).end)
				before = here.pred[i];
		at = before;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t last = node[n - 1 - i];
		node[n - 1 - i] = node[i];
		node[i] = last;
	}
	return n;
}

uint32_t
dpro_message_of(struct dpro *d, uint32_t kernel)
{
	uint32_t n = plan_readers(d->plan, kernel, d->reader), last = PLAN_NONE;

	for (uint32_t i = 0; i < n; i++) {
		struct plan_node reader = plan_node(d->plan, d->reader[i]);
		if (reader.kind == PLAN_MESSAGE &&
			(last == PLAN_NONE || reader.position > plan_node(d->plan, last).position))
			last = d->reader[i];
	}
	return last;
}

uint32_t
dpro_kernel_of(const struct dpro *d, uint32_t message)
{
	struct plan_node q = plan_node(d->plan, message);
	uint32_t last = PLAN_NONE;

	for (uint32_t i = 0; i < q.npreds; i++) {
		struct plan_node from = plan_node(d->plan, q.pred[i]);
		if (from.kind == PLAN_KERNEL &&
			(last == PLAN_NONE || from.position > plan_node(d->plan, last).position))
			last = q.pred[i];
	}
	return last;
}

uint32_t
dpro_op_of(const struct plan *p, uint32_t node)
{
	struct plan_node it = plan_node(p, node);
	uint32_t op = PLAN_NONE;

	for (uint32_t k = 0; k < it.nops; k++) {
		if (plan_home(p, PLAN_OP_OF(it.op[k])) != node)
			continue;
		op = PLAN_OP_OF(it.op[k]);
		if (it.op[k] & PLAN_OUT)
			break;
	}
	return op;
}
