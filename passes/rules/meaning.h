/*
 * The values of a rule's side in one case of the sizes: types over affine forms, elements as
 * polynomials. Positions and sizes are those of the ops' index notation (ir/ops/row.h).
 */
#ifndef PASSES_RULES_MEANING_H
#define PASSES_RULES_MEANING_H

#include "ir/rule.h"
#include "passes/rules/terms.h"

enum {
	CASE_VARS = 256,  /* most variables; a case has some twenty */
	CASE_TRAIL = 40,  /* most decisions that lead to a case */
	CASE_FORCED = 16, /* ranges whose sums are split in the same way on both sides */
	CASE_LETTERS = 8, /* most element type letters; a rule has one or two */
	CASE_FACTS = 8,   /* most facts on positions in or out of range */
	CASE_LONG = 4,    /* a sum of so many sizes has too many signs and orders to ask for all */
	CASE_SMALL = 8,   /* constant ranges up to this size can be expanded */
};

enum { ANY_RANK = -1 };

enum stop {
	STOP_NONE,
	STOP_CUT,     /* the case leaves a condition open: case->cut */
	STOP_ILL,     /* the side has no type here */
	STOP_UNKNOWN, /* unknown: case->why */
	STOP_RANK,    /* for this rank of `..`, a value has more dims than a tensor may have */
};

enum cut_kind {
	CUT_ORDER,   /* is affine form `e` zero, or positive? */
	CUT_SIGN,    /* the sign of variable `v`, an attribute */
	CUT_AT,      /* index `v` below `e`, or not */
	CUT_RADIX,   /* index `v` modulo `m` */
	CUT_PARITY,  /* size `v` modulo `m` */
	CUT_EACH,    /* index `v`, or a name of a dim, one by one, below `m` */
	CUT_DIVIDES, /* is size `v` a multiple of `e`? */
	CUT_TRUTH,   /* is factor `e`, 0 or 1, true? */
};

struct cut {
	enum cut_kind kind;
	term_id e;
	int32_t v;
	int64_t m;
	term_id whole; /* CUT_ORDER: the original form, e times a size */
};

/* A decision: the sign of an affine form of the rule's names in a case. */
struct literal {
	term_id e; /* 0: it is not a form of these names */
	int sign;  /* of e: -1, 0, 1, or the following */
};

enum { SIGN_NOT_NEGATIVE = 2, SIGN_NOT_POSITIVE = 3 };

struct forced {
	term_id range;
	struct cut cut;
};

struct value_type {
	int dtype;          /* -1: see letter */
	const char *letter; /* interned */
};

struct sym_op;

/* A value of a side. */
struct sym_value {
	int rank;
	bool grouped; /* dim 0 stands for the rule's `..`, or for the shape of `moved` */
	/* The op that moves elements as lists say that are names, `shape = s`: dim 0 stands for all
	 * dims that they give; NULL: none. */
	const struct sym_op *moved;
	term_id dim[IR_MAX_RANK];
	struct value_type type;
	int input; /* number of a parameter; -1 */
	const struct sym_op *op;
	int result;
};

struct rule_case {
	struct terms *t;
	struct arena *arena; /* memory of one evaluation */
	const struct ir_rules *rules;
	const struct ir_rule *rule;
	/* Equal for all cases of a rule: */
	int dots; /* rank of `..`; ANY_RANK: it stands for one dim */
	struct {
		const char *name;
		int32_t v;
	} name[64];
	int nnames;
	/* Of this case: values of variables, ranges of indices, decisions: */
	term_id by[CASE_VARS], high[CASE_VARS];
	struct literal trail[CASE_TRAIL];
	int ntrail;
	struct forced forced[CASE_FORCED];
	int nforced;
	struct {
		term_id factor;
		bool holds;
	} fact[CASE_FACTS];
	int nfacts;
	struct {
		int32_t v;
		term_id d, q; /* v = q d; q = 0: v is not a multiple of d */
	} quotient[CASE_FACTS];
	int nquotients;
	int64_t vars; /* number of variables of this case: later ones belong to other cases */
	/* Found during the evaluation: */
	struct forced met[CASE_FORCED];
	int nmet;
	enum stop stop;
	struct cut cut;
	const char *why;
	bool is_put_off; /* a requirement of the left side is open: */
	struct cut put_off;
	/* Forms that are at least 0, as the left side has no type otherwise. */
	term_id assumed[CASE_FACTS];
	int nassumed;
	bool expands;       /* constant ranges are expanded: sums, positions of the result */
	bool expandable;    /* one was found */
	bool data, outside; /* of the current position: depends on elements; is out of range */
	/* Classes of element types, 1 << enum ir_dclass, that the left side accepts. */
	struct {
		const char *name;
		unsigned classes;
	} letter[CASE_LETTERS];
	int nletters;
	/* Values of both sides, by id less `first`, and of the current one. */
	struct case_values {
		struct sym_value *value;
		uint32_t first;
	} typed[2];
	bool is_typed;              /* both are known */
	const struct ir_op *end[2]; /* this op of a side and those after it have no types here */
	int side;
	struct sym_value *value;
	uint32_t first;
};

/* The name of the size that stands for a rule's `..`, and those of its dims if it has a known rank.
 * Names are compared as pointers. */
extern const char case_dots[];
extern const char case_dots_dim[IR_MAX_RANK][4];

/* Substitutes the decided variables of the case. */
term_id case_affine(struct rule_case *c, term_id e);
/* Is e at least 0? 1 yes, 0 no, -1 undecided, with c->stop set; 2: it depends on several
 * positions. */
int case_at_least(struct rule_case *c, term_id e);
/* Has the form variables that need not be integers? */
bool case_is_real(const struct rule_case *c, term_id e);
/* Is e certainly at least `low`? Opens no question. */
bool case_is_at_least(struct rule_case *c, term_id e, int64_t low);
/* Are a and b equal? 1 yes, 0 no, -1 undecided, with c->stop set; 2: it depends on positions. */
int case_equal(struct rule_case *c, term_id a, term_id b);
/* The same for e = 0, where an index of which e consists is split into 0 and the others. */
int case_is_zero(struct rule_case *c, term_id e);
/* Is e a multiple of d by its form? */
bool case_has_factor(struct rule_case *c, term_id e, term_id d);
/* Is size e a multiple of size d? 1 yes, 0 no, -1 undecided, with c->stop set; 2: not known. */
int case_divides(struct rule_case *c, term_id e, term_id d);
/* The value of a size; 0: none, with the reason in c->stop. */
term_id case_size(struct rule_case *c, const struct ir_size *s);
/* Does the condition hold? 1 yes, 0 no, -1 undecided, with c->stop set. */
int case_condition(struct rule_case *c, const struct ir_rule_condition *w);
/* e / d, exact or rounded down; 0: none, with c->stop set. */
term_id case_quotient(struct rule_case *c, term_id e, term_id d, bool exact);
int case_stop(struct rule_case *c, enum stop stop, const char *why);
/* Stops where a dim of a tensor is not a constant: if it is a name, each dim is a case of its own, counted
 * from the front, as the matcher does. rank: -1: not known, as some dims are `..`. */
int case_each_dim(struct rule_case *c, term_id dim, int rank);
/*
 * Goes on as if the question c->cut, whether the left side has a type, were answered by yes. If it
 * is whether e, which has products of sizes or many sizes, is at least 0, that is assumed from here
 * on, as cases of such a question have no end, or very many. Any other is kept to be asked at last, as a later requirement may
 * exclude the case: the first one, in c->put_off. False: c->stop is not STOP_CUT.
 */
bool case_put_off(struct rule_case *c, term_id e);

/* Should a constant range of n positions be expanded? One position always is. */
bool case_expands(struct rule_case *c, int64_t n);

/* Computes the types of all values of a side. False: c->stop is set. */
bool case_types(struct rule_case *c, int side);
/* Makes a side, whose types have been computed, the current one. */
void case_side(struct rule_case *c, int side);
const struct sym_value *case_value(const struct rule_case *c, const struct ir_value *v);
/* Have results of both ops, or of ops that read them element by element, the same shape? NULL: of
 * none that moves elements by names. */
bool sym_same_moved(const struct sym_op *a, const struct sym_op *b);
/* The element of a value at a position; 0: none, with c->stop set. */
term_id case_element(struct rule_case *c, const struct sym_value *v, const term_id *position);

#endif
