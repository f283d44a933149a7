/*
 * A rule being decided: verify.c goes through its cases, cases.c splits a case by an open question,
 * conditions.c finds conditions that exclude the cases in which the rule does not hold.
 */
#ifndef PASSES_RULES_DECISION_H
#define PASSES_RULES_DECISION_H

#include "passes/rules/meaning.h"
#include "passes/rules/verify.h"

enum { WHERE_MOST = 8 }; /* most conditions found for a rule */

/* The result of a case. */
struct outcome {
	bool holds, typed; /* typed: the values differ; otherwise the right side has no such type */
	struct literal trail[CASE_TRAIL];
	int ntrail;
};

/* Which cases are decided: all, or up to the first that does not hold, for any reason or because
 * the values differ. */
enum until { UNTIL_ALL, UNTIL_FAILS, UNTIL_DIFFERS };

struct decision {
	struct terms t;
	struct arena *arena, *scratch; /* types; of the current case */
	struct arena *cases_arena;     /* cases, of which those in `free` are unused */
	struct VEC(struct rule_case *) free;
	const struct ir_rules *rules;
	const struct ir_rule *rule;
	struct VEC(struct rule_case *) todo;
	struct VEC(struct outcome) outcome;
	struct rule_samples samples; /* of cases that do not hold or are not decided */
	int cases, most;
	enum until until;
	int dots;                 /* as in struct rule_case */
	bool expands, expandable; /* as in struct rule_case */
	int32_t index[IR_MAX_RANK];
	term_id root[CASE_VARS];
	/* Values of both sides that have to be equal: the results, or what the last ops read if these are equal. */
	struct VEC(const struct ir_value *) same[2];
	const struct ir_op *end[2]; /* as in struct rule_case */
	const char *why;
	term_id form[2], cut; /* forms of a case that differs; the undecided form; 0: none */
};

/* A copy of a case, which decide() gives back. */
struct rule_case *decision_case(struct decision *d, const struct rule_case *from);
/* A new variable, equal to `root` in terms of the rule's names (0: no such form); -1: there are too
 * many. */
int32_t decision_fresh(struct decision *d, enum var_kind kind, int64_t low, term_id root);
/* Replaces variable v by e in the case. */
void decision_put(struct decision *d, struct rule_case *c, int32_t v, term_id e);
/* Splits `start` by the question c->cut and adds the cases to d->todo; false: it cannot be
 * split. */
bool decision_split(struct decision *d, const struct rule_case *start, const struct rule_case *c);
/* Adds sizes and attributes of the case to d->samples, if there is room. */
void decision_sample(struct decision *d, const struct rule_case *c);
/*
 * Writes to where[] conditions that leave only cases in which the rule holds; returns how many. -1:
 * no decisions exclude the other cases. *bounds: true if all are bounds of attributes; otherwise
 * the rule holds for special sizes only.
 */
int decision_conditions(
	struct decision *d, struct arena *a, struct ir_rule_condition *where, bool *bounds);

#endif
