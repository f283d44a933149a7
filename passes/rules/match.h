/*
 * Matches of rules, and their replacements.
 *
 *     rules -> rule_index: by the codes of the root and of its operands' ops
 *                 |  rule_match_next, at an op
 *           rule_match: ops, sizes, attributes that the names of the left side stand for
 *                 |  rule_build: the right side, before the roots, as yet unused
 *           rule_built -- rule_commit: its values take the place of the roots
 *                     \-- rule_undo: it is erased
 *
 * A value of the left side that has other uses stays: the rule still holds, but saves less. A rule
 * of several results matches if all roots are found through uses of values that they share; the
 * roots are then replaced together.
 */
#ifndef PASSES_RULES_MATCH_H
#define PASSES_RULES_MATCH_H

#include "ir/rule.h"

enum rule_limit {
	RULE_MAX_VALUES = 64,  /* limit on values of a left side; published rules have at most 20 */
	RULE_MAX_NAMES = 32,   /* of sizes, attributes, axes and element types */
	RULE_MAX_RESULTS = 8,  /* limit on roots; published rules have at most 3 */
	RULE_MAX_ITEMS = 64,   /* items of lists that names stand for */
	RULE_MAX_LATER = 16,   /* sizes that wait for names in other sizes */
	RULE_MAX_MOVED = 16,   /* ops that compute a param, moved before the first root */
	RULE_KEY_OPERANDS = 3, /* operands of a root whose ops are part of the key */
	RULE_MAX_USES = 64,    /* of a value, to find another root; more would not be linear */
};

/* A rule prepared for the matcher. */
struct rule_pattern {
	const struct ir_rule *rule;
	/* Conditions of its proof, in addition to those of the rule. */
	const struct ir_rule_condition *where;
	int nwhere;
	unsigned assumes;    /* assumptions of its proof on elements: set of enum rule_assumes */
	int number;          /* in the list from which the index was made */
	uint32_t value_base; /* id of the first value of the left side */
	uint32_t right_base; /* id of the first value of the right side */
	uint32_t nvalues;
	int depth;      /* most ops from a root to a parameter */
	bool pointwise; /* all ops are pointwise, on equal dims: operands may be broadcast */
	/* Values of the right side that equal one of the left side: by number on the right, 1 + the
	 * number on the left. A rule of one result reuses them. */
	uint8_t same[RULE_MAX_VALUES];
	uint16_t code;                      /* of the root */
	uint16_t key[RULE_KEY_OPERANDS];    /* codes of the root's operands' ops; OP_NCODES: any */
	double constant[RULE_KEY_OPERANDS]; /* values of operands that are constants; NaN: any */
	/* Why it never matches, such as "its right side has a name that the left side lacks"; NULL:
	 * it may match. */
	const char *why_not;
};

struct rule_index;

/* What a name stands for. */
struct rule_name {
	const char *name;
	bool is_type;         /* a letter for an element type: a size may have the same name */
	struct ir_attr value; /* ATTR_INT, _FLOAT, _AXIS, _DTYPE, _LIST */
};

/* Kind of a list attribute that the op leaves out, so that the default of its row counts. */
enum { RULE_ABSENT = UINT16_MAX };

struct rule_match {
	const struct rule_pattern *pattern;
	struct ir_op *at;                        /* op of the first root */
	struct ir_value *value[RULE_MAX_VALUES]; /* of the left side, by id less value_base */
	struct rule_name name[RULE_MAX_NAMES];
	struct ir_attr item[RULE_MAX_ITEMS]; /* of lists in `name` */
	int64_t dots[IR_MAX_RANK];
	int nnames, nitems, ndots; /* ndots < 0: no `..` seen */
};

/* The index of rules, whose `rule`, `where` and `nwhere` are filled in. Owned by `owner`. */
struct rule_index *rule_index_create(const void *owner, const struct rule_pattern *rule, int n);
/* Rule number i. */
const struct rule_pattern *rule_index_pattern(const struct rule_index *index, int i);
/* The largest number of ops between a root and a parameter, over all rules. */
int rule_index_depth(const struct rule_index *index);

/* Position among the rules to be tried at an op: initially all zero. */
struct rule_next {
	int at;
};

/*
 * The next match with `root` as the op of the first root; a rule is matched at most once. Works on
 * ops of blocks of @main, typed, without calls. Reports nothing. False: there are no more matches.
 */
bool rule_match_next(const struct rule_index *index, struct ir_module *m, struct ir_op *root,
	struct rule_next *next, struct rule_match *match);

/* As rule_match_next, for rule number i alone. */
bool rule_match_one(const struct rule_index *index, struct ir_module *m, struct ir_op *root, int i,
	struct rule_match *match);

/* What a value of the left side stands for. */
static inline struct ir_value *
rule_matched(const struct rule_match *match, const struct ir_value *left)
{
	return match->value[left->id - match->pattern->value_base];
}

/*
 * Concatenation is associative. So if a concat of the step has more operands than that of the rule,
 * whose last operand is a parameter, the parameter stands for the remaining operands together, as a
 * value that rule_build makes. Before that, `op` and `index` of the value are the concat and the
 * first of these operands.
 */
enum { RULE_REST = UINT32_MAX }; /* its id */

/* Copies a match, which cannot be assigned by =: names refer to lists inside it. */
void rule_match_copy(struct rule_match *to, const struct rule_match *from);

/* The value of an attribute or size of the rule; false: a name is not bound, or the value does not
 * fit. */
struct rule_number {
	bool fraction;
	int64_t i;
	double f; /* of integers, too */
};
bool rule_number(const struct rule_match *match, const struct ir_size *s, struct rule_number *n);

/*
 * Builds the ops of a side in front of an op, with sizes, attributes and parameters as a match has
 * them. A tensor whose type is given in the rule's text is split as type `like` if the dims are
 * equal (NULL: not split). False, silently: sizes or attributes do not fit; ops built so far stay.
 */
bool rule_instance(struct ir_module *m, const struct rule_match *match, int side,
	struct ir_op *before, const struct ir_type *like,
	struct ir_value *result[RULE_MAX_RESULTS]);

/* The right side of a match. */
struct rule_built {
	const struct rule_match *match;
	struct ir_op *before, *after; /* built ops are between these; NULL: the ends of the block */
	struct ir_block *block;
	int n;
	struct ir_value *from[RULE_MAX_RESULTS], *to[RULE_MAX_RESULTS];
	/* Operands of the right side that were moved before the first root. `next`: their old
	 * positions. */
	struct {
		struct ir_op *op, *next;
	} moved[RULE_MAX_MOVED];
	int nmoved;
};

/*
 * Builds the right side. False, with all of it erased: it does not fit the attributes or the
 * layouts, its types are not those of the roots, or an operand depends on a root. An operand that
 * comes after the first of several roots is moved before it.
 */
bool rule_build(struct ir_module *m, const struct rule_match *match, struct rule_built *b);
/* Erases the built ops and moves operands back. */
void rule_undo(struct rule_built *b);
/*
 * Ops of the left side that will be unused once the roots are replaced, roots first; at most
 * RULE_MAX_VALUES. Returns their number.
 */
int rule_dead(const struct rule_built *b, struct ir_op *dead[RULE_MAX_VALUES]);
/* The op that will follow `op` after rule_commit. */
struct ir_op *rule_next_op(const struct rule_built *b, const struct ir_op *op);
/* Replaces the roots and erases the ops that rule_dead lists. */
void rule_commit(struct rule_built *b);

#define RULE_FOR_BUILT(op, b)                                                                      \
	for (struct ir_op *op = (b)->before ? (b)->before->next : (b)->block->first;               \
		op != (b)->after; op = op->next)

#endif
