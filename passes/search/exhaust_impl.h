/* What exhaust.c and exhaust_order.c share. */
#ifndef PASSES_SEARCH_SEARCH_EXHAUST_IMPL_H
#define PASSES_SEARCH_SEARCH_EXHAUST_IMPL_H

#include "passes/search/search.h"

static inline bool
exhaust_has(const struct plan *p, uint32_t node, enum plan_kind kind)
{
	return plan_exists(p, node) && plan_node(p, node).kind == kind;
}

/* No order of these kernels and messages takes less. */
replay_time exhaust_bound(const struct plan *p);

/*
 * Tries all orders of the plan that may be better than the best so far, and tells search_found.
 * False: the search was ended. `count` goes up by the number of partial orders.
 */
bool exhaust_orders(struct search *s, uint64_t *count);

#endif
