/*
 * Rules: substitutions of small graphs, for any sizes. Both sides are templates over the same
 * parameters:
 *
 *     rule @sum_of_products(%x : N[m,k], %a : N[k,n], %b : N[k,n]) {
 *       %p = matmul(%x, %a)
 *       %q = matmul(%x, %b)
 *       %y = add(%p, %q)
 *       return(%y)
 *     } => {
 *       %c = add(%a, %b)
 *       %y = matmul(%x, %c)
 *       return(%y)
 *     }
 *
 * A name in the size of a parameter is any size; one that is only in attributes is any integer that
 * the op takes, `low = l`, any list, `perm = p`, or any axis. Equal names mean equal numbers. A
 * letter in place of an element type is any type of its class (ops.def), the same wherever it
 * appears: T any, N a number, F a float, Z an integer, L an integer or bool. `..` in front of the
 * sizes is any number of dims, the same ones in all parameters that have them; so dims are counted
 * from the end. `@param` marks a tensor that is computed from params and constants alone.
 *
 * A rule may assume that elements are finite, positive or nonzero, `where finite`.
 *
 * A rule means that both sides return equal values for all sizes that the left side accepts and for
 * which the conditions hold. passes/rules/verify.h proves it.
 */
#ifndef IR_RULE_H
#define IR_RULE_H

#include "ir/ir.h"
#include "ir/template.h"

enum ir_rule_compare { RULE_EQ, RULE_NE, RULE_LT, RULE_LE, RULE_GT, RULE_GE };

struct ir_rule_condition {
	enum ir_rule_compare compare;
	const struct ir_size *arg[2];
	struct ir_loc loc;
};

/* Assumptions about elements, in addition to real arithmetic. */
enum rule_assumes {
	RULE_FINITE = 1 << 0,   /* no element is infinite or NaN: x - x = 0, 0 x = 0 */
	RULE_POSITIVE = 1 << 1, /* of logarithms and roots */
	RULE_NONZERO = 1 << 2,  /* divisors */
	RULE_NASSUMES = 3,
};
/* "finite", "positive", "nonzero" */
extern const char *const ir_rule_assumption[RULE_NASSUMES];

enum { RULE_LEFT, RULE_RIGHT };

struct ir_rule {
	const char *name;
	struct ir_rule *next;
	struct ir_loc loc;
	/* Not functions of the module; both end in return, with the same number of operands. */
	struct ir_func *side[2];
	const struct ir_type_text **param; /* of each argument of a side */
	const struct ir_rule_condition *where;
	int nwhere;
	unsigned assumes; /* set of enum rule_assumes */
	bool any_op;      /* a letter of its text stands for all ops of a kind, not for a list */
};

/* The rules of a text, in its order. The module owns them. */
struct ir_rules {
	struct ir_module *m;
	struct ir_rule *first, **last;
	int n;
};

static inline struct ir_op *
ir_rule_return(const struct ir_rule *r, int side)
{
	return r->side[side]->body.last;
}

#define IR_FOR_RULES(r, rules) for (struct ir_rule *r = (rules)->first; r; r = r->next)

/* " where k >= 2, a == b"; nothing if there are no conditions. */
void ir_print_conditions(
	FILE *out, const struct ir_module *m, const struct ir_rule_condition *where, int n);
/* Prints rules; the text parses to equal rules. */
void ir_print_rule(FILE *out, const struct ir_module *m, const struct ir_rule *r);

#endif
