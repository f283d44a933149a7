/* Shared by the files of the matcher: match.c, match_attrs.c, match_sizes.c. */
#ifndef PASSES_RULES_MATCHER_H
#define PASSES_RULES_MATCHER_H

#include "ir/ops/row.h"
#include "passes/rules/match.h"

enum { MATCHER_GOALS = 2 * RULE_MAX_VALUES }; /* operands of all ops of a left side */

/* A match in progress. All lists that grow are stacks, so that their lengths suffice to undo a
 * try. */
struct matcher {
	struct ir_module *m;
	struct rule_match *match;
	struct {
		const struct ir_value *want; /* value of the rule */
		struct ir_value *have;
	} goal[MATCHER_GOALS];
	uint8_t bound[RULE_MAX_VALUES]; /* numbers of the values that are bound */
	struct {
		const struct ir_size *size;
		struct rule_number value;
	} later[RULE_MAX_LATER]; /* sizes to be solved when their names are known */
	int ngoals, nbound, nlater;
};

/* Matches one rule whose first root is made by `root`. */
bool matcher_run(struct matcher *x, struct ir_module *m, const struct rule_pattern *p,
	struct ir_op *root, struct rule_match *match);

/* Binds a name or, if it is bound, checks that its value is equal. */
bool matcher_name(struct matcher *x, const char *name, bool is_type, struct ir_attr value);
/* Matches a size with a number: binds the only unknown name, or waits for others. */
bool matcher_size(struct matcher *x, const struct ir_size *s, struct rule_number value);
/* Solves the sizes that wait, and checks the conditions. */
bool matcher_finish_sizes(struct matcher *x);
bool matcher_type(struct matcher *x, const struct ir_type_text *want, const struct ir_type *have);
bool matcher_attrs(struct matcher *x, const struct ir_op *want, const struct ir_op *have);

static inline uint32_t
rule_value_number(const struct rule_pattern *p, const struct ir_value *v)
{
	return v->id - p->value_base;
}

/* What a name stands for, so far; NULL: not known. */
const struct rule_name *rule_name_find(
	const struct rule_match *match, const char *name, bool is_type);
/* The number of an attribute; false: it is not a number. */
bool rule_number_of(const struct ir_attr *a, struct rule_number *n);
bool rule_number_equal(struct rule_number a, struct rule_number b);

/* As rule_number, where dims are those of a side's values: value[], by id less the side's base; NULL:
 * not made yet. */
bool rule_number_of_side(const struct rule_match *match, int side, struct ir_value *const *value,
	const struct ir_size *s, struct rule_number *n);

#endif
