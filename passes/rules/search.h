/*
 * Rules as moves of a search: best first, as Unity's (Unger et al., OSDI 2022, section 5.1, Algorithm
 * 1) and TASO's. A candidate is a list of applications, by which it is made of a clone of the step;
 * its cost is what the caller says, such as the replay of the step that further passes make of it.
 * Candidates of at most alpha times the best cost are gone on from, the cheapest first. So a rule may
 * be applied that does not pay by itself, and one that does not pay in the step is undone.
 *
 * What was not better than that from a candidate is not tried again from those that it leads to,
 * and of two applications that do not touch only one order is; after an application new matches are
 * looked for near what it changed alone.
 */
#ifndef PASSES_RULES_SEARCH_H
#define PASSES_RULES_SEARCH_H

#include "passes/rules/set.h"

struct rule_search {
	struct pass_run *run;
	const struct rule_set *set;
	/* What a changed clone of the step costs; it may be changed further, and is thrown away.
	 * Negative: it is no candidate. */
	double (*cost)(void *data, struct ir_module *m);
	void *data;
	uint64_t evaluations; /* of cost, at most */
	double alpha;
	/* What the step costs in the end, where `cost` is only near that: the best candidate that is
	 * not cheaper than the step as it was is undone. NULL: as `cost` says. */
	double (*final)(void *data, struct ir_module *m);
};

/* Makes the step what the best candidate is, with remarks and statistics. Ids are given anew before. */
void rule_search_run(const struct rule_search *s, struct ir_module *m);

#endif
