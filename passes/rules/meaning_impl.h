/*
 * Shared by the files that evaluate index notation: meaning_terms.c has attributes, positions and
 * sizes, meaning_types.c types, meaning.c elements.
 */
#ifndef PASSES_RULES_MEANING_IMPL_H
#define PASSES_RULES_MEANING_IMPL_H

#include "ir/ops/row.h"
#include "passes/rules/meaning.h"

enum {
	NO_INDEX = -1,
	COMPUTED = -2
}; /* in place of an index: the dim has size 1; the position is computed */

/* An op with its indices, like struct form. */
struct sym_op {
	const struct ir_op *op;
	const struct ir_row *row;
	const struct pattern *p;
	const struct sym_value *in[FORM_MAX_INPUTS];
	int nin;
	term_id size[FORM_MAX_INDICES];
	bool fixed[FORM_MAX_INDICES];
	int nindices, dots, dots_rank, star, star_rank;
	int8_t letter[128];
	int8_t access[FORM_MAX_INPUTS][IR_MAX_RANK], out[IR_MAX_RANK];
	const struct pattern_item *at[FORM_MAX_INPUTS][IR_MAX_RANK], *out_at[IR_MAX_RANK];
	int8_t which[FORM_MAX_INPUTS][IR_MAX_RANK];
	uint32_t reduced;
	enum form_reduce reduce;
	bool grouped;
	bool moves; /* see moved of struct sym_value */
	int dim;    /* for concat */
};

/* What a term refers to: a position of an evaluation, or a dim of a group. */
struct spot {
	const term_id *index; /* positions of the indices; NULL: sizes */
	int operand, dim, here, which;
};

/* Sets c->stop; returns 0: no term, or false. */
static inline int
unknown(struct rule_case *c, const char *why)
{
	case_stop(c, STOP_UNKNOWN, why);
	return 0;
}

static inline int
ill(struct rule_case *c, const char *why)
{
	case_stop(c, STOP_ILL, why);
	return 0;
}

/* The attribute, or the default of its row; NULL: there is neither. */
const struct ir_attr *sym_attr_or_default(const struct sym_op *s, const char *key);
/* An attribute as a size or position, and as a number; 0: none, with c->stop set. */
term_id sym_attr_affine(struct rule_case *c, const struct ir_attr *a);
term_id sym_attr_poly(struct rule_case *c, const struct ir_attr *a);
/* The dims that an attribute lists; returns how many, -1: absent, -2: c->stop is set. */
int sym_dims_of(struct rule_case *c, const struct sym_op *s, const char *key, int rank,
	int dims[IR_MAX_RANK]);
/* The dim that attribute `key` names; -1: c->stop is set. */
int sym_dim_of(struct rule_case *c, const struct sym_op *s, const char *key, int rank);
/* The attribute's value for the current dim; NULL: it has none, or c->stop is set. */
const struct ir_attr *sym_attr_entry(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);
/* The number of an operand by its name in the row; -1: there is none. */
int sym_operand_of(const struct sym_op *s, const char *name);
/* A comparison as a form: for <, <=, > and >= it is at least 0 where t holds, for == and != the
 * difference of both sides. 0: c->stop is set, or c->data: it reads elements. */
term_id sym_comparison(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);
/* 1 true, 0 false; -1: c->stop is set; 2: it depends on several positions, or on elements. */
int sym_truth_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);
/* A term of a row as a position or size; 0: c->stop is set, or c->data: it reads elements. */
term_id sym_linear_term(
	struct rule_case *c, const struct sym_op *s, const struct term *t, const struct spot *at);

#endif
