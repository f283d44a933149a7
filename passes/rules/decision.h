/*
 * A rule being decided: verify.c goes through its cases, cases.c divides a case where a question is
 * open, conditions.c finds conditions that exclude the cases that do not hold.
 */
#ifndef PASSES_RULES_DECISION_H
#define PASSES_RULES_DECISION_H

#include "passes/rules/meaning.h"

enum { WHERE_MOST = 8 }; /* conditions that are found for a rule */

/* How a case ended. */
struct outcome {
	bool holds, typed; /* typed: values differ; else the right side has no such type */
	struct literal trail[CASE_TRAIL];
	int ntrail;
};

struct decision {
	struct terms t;
	struct arena *arena, *scratch;
	const struct ir_rules *rules;
	const struct ir_rule *rule;
	struct VEC(struct rule_case *) todo;
	struct VEC(struct outcome) outcome;
	int cases, most;
	bool whole; /* the first case that does not hold is enough */
	int32_t index[IR_MAX_RANK];
	term_id root[CASE_VARS];
	const char *why;
	term_id form[2], cut; /* of a case that differs; what was not decided; 0: none */
};

/* A new variable, `root` in terms of the rule's names (0: none); -1: there are too many. */
int32_t decision_fresh(struct decision *d, enum var_kind kind, int64_t low, term_id root);
/* In the case, the variable is e from now on. */
void decision_put(struct decision *d, struct rule_case *c, int32_t v, term_id e);
/* Adds the cases that the question c->cut makes of `start` to d->todo; false: it cannot be answered so. */
bool decision_split(struct decision *d, const struct rule_case *start, const struct rule_case *c);
/*
 * Conditions under which only cases that hold are left, how many; -1: none of these decisions excludes
 * the others. *bounds: all are bounds of attributes; else the rule holds only where sizes are special.
 */
int decision_conditions(
	struct decision *d, struct arena *a, struct ir_rule_condition *where, bool *bounds);

#endif
