/* Rules to be applied by a pass: read, proven, indexed. */
#ifndef PASSES_RULES_SET_H
#define PASSES_RULES_SET_H

#include "passes/pass.h"
#include "passes/rules/match.h"

struct rule_set {
	struct ir_rules *rules;
	struct rule_index *index;
	int n;
};

/*
 * The rules selected by the options below; owned by run->scratch. NULL: reported, for example if a
 * rule is not proven.
 */
struct rule_set *rule_set_create(struct pass_run *run);

/* The rules of canonicalize, read once for each context. The tests prove them. */
const struct rule_index *rule_set_canonical(struct ir_context *ctx);

/* clang-format off */
#define RULE_SET_OPTIONS                                                                            \
	{"rules", PASS_STRING, "", "file of rules; shipped or none: those of docs/rules.md", NULL, 0, 0}, \
	{"only", PASS_STRING, "", "names of the rules to be used, separated by commas", NULL, 0, 0},  \
	{"assume", PASS_BOOL, "false",                                                               \
		"also use rules whose proofs assume that elements are finite, divisors are not 0, and operands of log and sqrt are positive", NULL, 0, 0}, \
	{"trust", PASS_BOOL, "false", "use rules without asking for proofs", NULL, 0, 0}
/* clang-format on */

#endif
