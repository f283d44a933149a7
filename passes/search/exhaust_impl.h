/* Shared by exhaust.c and exhaust_order.c. */
#ifndef PASSES_SEARCH_SEARCH_EXHAUST_IMPL_H
#define PASSES_SEARCH_SEARCH_EXHAUST_IMPL_H

#include "passes/search/search.h"

static inline bool
exhaust_has(const struct plan *p, uint32_t node, enum plan_kind kind)
{
	return plan_exists(p, node) && plan_node(p, node).kind == kind;
}

/* A lower bound on all orders of the plan's kernels and messages. */
replay_time exhaust_bound(const struct plan *p);

/*
 * Tries all orders of the plan that may be better than the best so far, and passes them to
 * search_found. Adds the number of partial orders to *count. False: the search was ended.
 */
bool exhaust_orders(struct search *s, uint64_t *count);

#endif
