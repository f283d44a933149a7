/*
 * Searches all plans of a small step, to measure how far engines are from the best one.
 *
 * Which plans: those reachable by moves from the current plan, without splitting nodes.
 *   - Kernels: all that any sequence of fusions makes, with copies and without (plan_fuse), each
 *     set of kernels once.
 *   - Messages: for each of these, all that any sequence of plan_pack makes.
 *   - Parts: each message in the number of parts, up to EXHAUST_PARTS, that is fastest for it
 *     alone. No other number can be better, since no event ends earlier when another takes longer.
 *   - Order: all orders of the kernels among themselves and of the messages among themselves. Of
 *     orders that differ only in where messages stand between kernels, only the one is tried in
 *     which each message is issued as early as its operands and the messages before it allow. If
 *     kernels are queued ahead, all of these take the same time; if one thread posts messages, they
 *     differ slightly. That is the only omission.
 *
 * How: sets of kernels and messages are listed and sorted by a bound; for each the orders are tried
 * by depth-first search, pruning what cannot be better than the best so far, until the bound shows
 * that no other set can be.
 */
#ifndef PASSES_SEARCH_SEARCH_EXHAUST_H
#define PASSES_SEARCH_SEARCH_EXHAUST_H

#include "passes/search/search.h"

enum search_exhaust_limit {
	EXHAUST_NODES = 32,      /* kernels and messages at first: sets of them are words */
	EXHAUST_PARTS = 64,      /* limit on parts, the same as of engine dopt */
	EXHAUST_PLANS = 1 << 20, /* limit on sets of kernels and messages: 1 GB */
	EXHAUST_SHARE = 64,      /* limit on them per allowed replay */
};

struct search_exhaust_counts {
	uint64_t kernels;  /* sets of kernels */
	uint64_t plans;    /* sets of kernels and messages */
	uint64_t searched; /* sets whose orders were tried */
	uint64_t orders;   /* partial orders that were visited */
	bool complete;     /* false: too many nodes or sets, or the search was ended */
};

/* As search_exhaust, and returns the counts. */
void search_exhaust_counted(struct search *s, struct search_exhaust_counts *c);

#endif
