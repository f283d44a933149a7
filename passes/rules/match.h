/*
 * Where rules match, and what they put there.
 *
 *     rules -> rule_index: by the codes of the root and of its operands' ops
 *                 |  rule_match_next, at an op
 *           rule_match: ops, sizes, attributes that the names of the left side stand for
 *                 |  rule_build: the right side, before the roots, as yet unused
 *           rule_built -- rule_commit: its values take the place of the roots
 *                     \-- rule_undo: it goes again
 *
 * A value of the left side that has other uses stays: the rule holds all the same, and what is
 * saved is less. A rule of several results matches where all roots are found by uses of values that
 * they share; the roots are then replaced together.
 */
#ifndef PASSES_RULES_MATCH_H
#define PASSES_RULES_MATCH_H

#include "ir/rule.h"

enum rule_limit {
	RULE_MAX_VALUES = 64,  /* of a left side; published rules have at most 20 */
	RULE_MAX_NAMES = 32,   /* of sizes, attributes, axes and element types */
	RULE_MAX_RESULTS = 8,  /* roots; published rules have at most 3 */
	RULE_MAX_ITEMS = 64,   /* of lists that names stand for */
	RULE_MAX_LATER = 16,   /* sizes that wait for names in others */
	RULE_MAX_MOVED = 16,   /* ops that a param is computed by, moved before the first root */
	RULE_KEY_OPERANDS = 3, /* of a root, whose ops are part of the key */
	RULE_MAX_USES = 64, /* of a value, in which another root is looked for: more make matching
			       slower than linear where thousands of ops read one value */
};

/* A rule as the matcher reads it. */
struct rule_pattern {
	const struct ir_rule *rule;
	/* Of its proof, besides those of the rule. */
	const struct ir_rule_condition *where;
	int nwhere;
	unsigned assumes;    /* of elements, by its proof: set of enum rule_assumes */
	int number;          /* in the list that the index was made of */
	uint32_t value_base; /* ids of values of the left side start here */
	uint32_t right_base; /* and of the right side */
	uint32_t nvalues;
	int depth;      /* ops from a root to a parameter, at most */
	bool pointwise; /* all its ops are, on tensors of any equal dims, so operands may be repeated */
	/* Values of the right side that one of the left side is, too: 1 + its number, by the number
	 * of the one on the right. A rule of one result has it already where it matches. */
	uint8_t same[RULE_MAX_VALUES];
	uint16_t code;                      /* of the root */
	uint16_t key[RULE_KEY_OPERANDS];    /* of the ops of its operands; OP_NCODES: any */
	double constant[RULE_KEY_OPERANDS]; /* of those the numbers of constants; NaN: any */
	/* It never matches: "its right side has a name that the left side lacks"; NULL: it may. */
	const char *why_not;
};

struct rule_index;

/* What a name stands for. */
struct rule_name {
	const char *name;
	bool is_type;         /* a letter for an element type: a size may have the same name */
	struct ir_attr value; /* ATTR_INT, _FLOAT, _AXIS, _DTYPE, _LIST */
};

/* Kind of a list attribute that the op leaves out, so that its row's default counts. */
enum { RULE_ABSENT = UINT16_MAX };

struct rule_match {
	const struct rule_pattern *pattern;
	struct ir_op *at;                        /* of the first root */
	struct ir_value *value[RULE_MAX_VALUES]; /* of the left side, by id less value_base */
	struct rule_name name[RULE_MAX_NAMES];
	struct ir_attr item[RULE_MAX_ITEMS]; /* of lists in `name` */
	int64_t dots[IR_MAX_RANK];
	int nnames, nitems, ndots; /* ndots < 0: no `..` seen */
};

/* The index of rules, of which `rule`, `where` and `nwhere` are filled in. Owned by `owner`. */
struct rule_index *rule_index_create(const void *owner, const struct rule_pattern *rule, int n);
/* Rule number i. */
const struct rule_pattern *rule_index_pattern(const struct rule_index *index, int i);
/* Ops between a root and the parameter that is farthest from it, of the deepest rule. */
int rule_index_depth(const struct rule_index *index);

/* The rules to be tried at an op: all zero to start with. */
struct rule_next {
	int at;
};

/*
 * The next match with `root` as the op of the first root; a rule is matched at most once. Works on
 * ops of blocks of @main, typed, without calls. Says nothing. False: no more.
 */
bool rule_match_next(const struct rule_index *index, struct ir_module *m, struct ir_op *root,
	struct rule_next *next, struct rule_match *match);

/* The same for rule number i alone. */
bool rule_match_one(const struct rule_index *index, struct ir_module *m, struct ir_op *root, int i,
	struct rule_match *match);

/* What a value of the left side stands for. */
static inline struct ir_value *
rule_matched(const struct rule_match *match, const struct ir_value *left)
{
	return match->value[left->id - match->pattern->value_base];
}

/*
 * Concatenation is associative. So where a concat of the step has more operands than that of the rule,
 * whose last operand is a parameter, the parameter stands for the rest of them together, a value that
 * rule_build makes: here `op` and `index` are the concat and the first of these operands.
 */
enum { RULE_REST = UINT32_MAX }; /* its id */

/* A match is not copied by =: names stand for lists in it. */
void rule_match_copy(struct rule_match *to, const struct rule_match *from);

/* A number of an attribute or size of the rule; false: a name has none, or it does not fit. */
struct rule_number {
	bool fraction;
	int64_t i;
	double f; /* of integers, too */
};
bool rule_number(const struct rule_match *match, const struct ir_size *s, struct rule_number *n);

/*
 * Builds the ops of a side in front of an op, with sizes, attributes and parameters as a match has
 * them. A tensor that the rule's text gives a type is split as one of type `like` (NULL: not) if it
 * has its dims. False, silently: they do not fit; what was built so far stays.
 */
bool rule_instance(struct ir_module *m, const struct rule_match *match, int side,
	struct ir_op *before, const struct ir_type *like,
	struct ir_value *result[RULE_MAX_RESULTS]);

/* The right side of a match. */
struct rule_built {
	const struct rule_match *match;
	struct ir_op *before, *after; /* built ops are between them; NULL: the block's ends */
	struct ir_block *block;
	int n;
	struct ir_value *from[RULE_MAX_RESULTS], *to[RULE_MAX_RESULTS];
	/* Moved before the first root: operands of the right side. `next`: where they were. */
	struct {
		struct ir_op *op, *next;
	} moved[RULE_MAX_MOVED];
	int nmoved;
};

/*
 * Builds the right side. False, and nothing is left of it: it does not fit the attributes or the
 * layouts, its types are not those of the roots, or an operand depends on a root. An operand that
 * comes after the first of several roots is moved before it.
 */
bool rule_build(struct ir_module *m, const struct rule_match *match, struct rule_built *b);
/* Takes it back. */
void rule_undo(struct rule_built *b);
/*
 * Ops of the left side that nothing will use once the roots are replaced, roots first; at most
 * RULE_MAX_VALUES. Returns their number.
 */
int rule_dead(const struct rule_built *b, struct ir_op *dead[RULE_MAX_VALUES]);
/* The op that follows `op` once that is done. */
struct ir_op *rule_next_op(const struct rule_built *b, const struct ir_op *op);
/* Replaces the roots and erases what rule_dead lists. */
void rule_commit(struct rule_built *b);

#define RULE_FOR_BUILT(op, b)                                                                      \
	for (struct ir_op *op = (b)->before ? (b)->before->next : (b)->block->first;               \
		op != (b)->after; op = op->next)

#endif
