/*
 * Rules as moves of a search: best first, as Unity's (Unger et al., OSDI 2022, section 5.1,
 * Algorithm 1) and TASO's. A candidate is a list of applications, which are made on a clone of the
 * step; the caller computes its cost, for example by a replay of the step after further passes.
 * Candidates of at most alpha times the best cost are expanded, the cheapest first. So a rule may
 * be applied that does not pay by itself, and one that does not pay in the step is undone.
 *
 * A move that was not good enough from a candidate is not tried again from its descendants; nor is
 * one that neither makes the step faster nor another match possible. Of moves that are alike, as in
 * each layer of a model, the others are not tried after two that did not make the step faster than
 * all before, or, from any candidate, after two that left its time as it is. Of two independent
 * applications only one order is tried. After an application, new matches are
 * looked for only near the changed ops.
 */
#ifndef PASSES_RULES_SEARCH_H
#define PASSES_RULES_SEARCH_H

#include "passes/rules/set.h"

struct rule_search {
	struct pass_run *run;
	const struct rule_set *set;
	/* The cost of a changed clone of the step, which the function may change further, and which
	 * is freed afterwards. Negative: it is not a candidate. */
	double (*cost)(void *data, struct ir_module *m);
	void *data;
	uint64_t evaluations; /* most calls of cost */
	double alpha;
	/* The final cost of the step, if `cost` only approximates it: the best candidate is undone
	 * unless it is cheaper than the unchanged step. NULL: `cost` is final. */
	double (*final)(void *data, struct ir_module *m);
};

/* Applies the best candidate to the step, with remarks and statistics. Renumbers ids first. */
void rule_search_run(const struct rule_search *s, struct ir_module *m);

#endif
