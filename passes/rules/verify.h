/*
 * Decides whether a rule is true for all sizes. From the index notation of their ops, the sides are
 * written as sums of products over symbolic sizes and positions, and brought to a normal form; an
 * undecided comparison of sizes splits the proof into cases. A rule that does not hold is run by
 * the interpreter at small sizes to find a counterexample.
 */
#ifndef PASSES_RULES_VERIFY_H
#define PASSES_RULES_VERIFY_H

#include "ir/rule.h"

/* Enumerator, text. */
#define RULE_VERDICTS(V)                                                                           \
	V(RULE_PROVEN, "proven")   /* for all sizes */                                             \
	V(RULE_REFUTED, "refuted") /* by a counterexample */                                       \
	V(RULE_UNKNOWN, "unknown")                                                                 \
	V(RULE_UNUSABLE, "unusable") /* its left side has no type, or no layout was found */

#define RULE_VERDICT_CODE(code, name) code,
enum rule_verdict { RULE_VERDICTS(RULE_VERDICT_CODE) RULE_NVERDICTS };

struct rule_proof {
	enum rule_verdict verdict;
	bool bitwise;     /* the proof shows results equal bit by bit, not only within rounding */
	unsigned assumes; /* set of enum rule_assumes */
	const char *why;  /* refuted: a counterexample; unknown, unusable: the reason; else "" */
	/* Conditions in addition to those of the rule under which it is proven; nwhere = 0:
	 * none. */
	const struct ir_rule_condition *where;
	int nwhere;
	int branches; /* number of cases that were decided */
};

/* The memory of proofs, for any number of rules one after the other. */
struct rule_prover;

struct rule_prover *rule_prover_create(const void *owner);
/* Decides a rule; memory that the proof refers to is owned by `owner`. */
void rule_verify(const void *owner, struct rule_prover *prover, const struct ir_rules *rules,
	const struct ir_rule *r, struct rule_proof *proof);

enum {
	SAMPLES = 16,        /* of a rule: */
	SAMPLE_VARIANTS = 4, /* of a case */
	SAMPLE_NAMES = 32,   /* the longest published rules have some ten */
};

/* Sizes and attributes at which a counterexample is likely. */
struct rule_sample {
	struct {
		const char *name;
		int64_t number;
	} value[SAMPLE_NAMES];
	int n;
	int64_t dots[IR_MAX_RANK]; /* dims of `..` */
	int ndots;
};

struct rule_samples {
	struct rule_sample at[SAMPLES];
	int n;
};

/*
 * Looks for a counterexample: runs both sides in the interpreter at `tries` random small sizes,
 * with small integers as elements. The text gives sizes, element and both values; NULL: none found.
 * *typed counts the tries whose left side had a type, with layouts that fit on the right; it ends
 * after `enough` of them. The samples, if not NULL, are tried first, each with several elements.
 */
char *rule_refute(const void *owner, const struct ir_rules *rules, const struct ir_rule *r,
	const struct rule_samples *samples, int tries, int enough, uint64_t seed, int *typed);

/*
 * Runs a rule with parallelization ops once, with the first layouts of its operands with which both
 * sides have types that are alike. False: there are none, at a few sizes for which all were tried.
 * *text: as that of rule_refute.
 */
bool rule_refute_layouts(
	const void *owner, const struct ir_rules *rules, const struct ir_rule *r, char **text);

#endif
