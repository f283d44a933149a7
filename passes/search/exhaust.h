/*
 * Every plan of a small step, to know how far engines are from the best one.
 *
 * Which plans: those to which moves lead from the plan at hand, without taking anything apart.
 *   - Kernels: all that any sequence of fusions makes, with copies and without (plan_fuse), each
 *     set of kernels once.
 *   - Messages: for each of these, all that any sequence of plan_pack makes.
 *   - Parts: each message in the number of parts, up to EXHAUST_PARTS, that is fastest for it
 *     alone. No other number can be better, since no event ends earlier when another takes longer.
 *   - Order: all orders of the kernels among themselves and of the messages among themselves. Of
 *     orders that differ only in where messages stand between kernels, the one counts in which each
 *     message is issued as early as its operands and the messages before it allow. Where kernels
 *     are queued ahead all of these take the same time; where one thread posts messages they do not
 *     quite, and that is all that is left out.
 *
 * How: sets of kernels and messages are listed and sorted by a bound; for each the orders are tried
 * by depth-first search, cutting what cannot be better than the best so far, until the bound says
 * that no set can be.
 */
#ifndef PASSES_SEARCH_SEARCH_EXHAUST_H
#define PASSES_SEARCH_SEARCH_EXHAUST_H

#include "passes/search/search.h"

enum search_exhaust_limit {
	EXHAUST_NODES = 32,      /* kernels and messages at first: sets of them are words */
	EXHAUST_PARTS = 64,      /* as many as engine dopt tries */
	EXHAUST_PLANS = 1 << 20, /* sets of kernels and messages: 1 GB */
	EXHAUST_SHARE = 64,      /* of them, for each replay that there may be */
};

struct search_exhaust_counts {
	uint64_t kernels;  /* sets of kernels */
	uint64_t plans;    /* sets of kernels and messages */
	uint64_t searched; /* of these: whose orders were tried */
	uint64_t orders;   /* partial orders that were looked at */
	bool complete;     /* false: too many nodes or sets, or the search was ended */
};

/* As search_exhaust, and counts. */
void search_exhaust_counted(struct search *s, struct search_exhaust_counts *c);

#endif
