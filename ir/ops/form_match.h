/* Shared by the files that make a form: form.c matches shapes, form_term.c makes expressions. */
#ifndef IR_FORM_MATCH_H
#define IR_FORM_MATCH_H

#include "ir/ops/form.h"
#include "ir/ops/row.h"

/* A dim with a computed position, kept until sizes are known. */
struct computed {
	const struct pattern_item *item;
	int operand; /* -1: of the result */
	int dim;     /* of the operand or result */
	int here;    /* of a group: the result's index there; -1: of no group */
	int which;   /* of a group: the number of the dim in it */
};

struct matcher {
	const struct ir_module *m;
	const struct ir_op *op;
	const struct ir_row *row;
	const struct pattern *pattern; /* the row's, with or without channels_last */
	const struct ir_type *written;
	struct form *f;
	struct arena *a;                      /* of expressions */
	int dots_rank, star_rank, dots, star; /* ranks, and the first index of each group */
	int8_t letter[128];                   /* index of each letter, -1: none yet */
	int8_t fixed[FORM_MAX_INDICES];       /* sizes that are given: they are not broadcast */
	struct computed computed[FORM_MAX_INDICES];
	int ncomputed;
	bool failed; /* a term has been reported */
};

#define FAIL(mt, ...) (diag_error((mt)->m->ctx->diag, (mt)->op->loc, __VA_ARGS__), false)

/*
 * The expression of a term. `at` is the dim of a group to which it applies, NULL outside a group;
 * an `integral` term is on positions and sizes: its numbers are integers, an index of size 1 is 0.
 * If an attribute does not fit, reports, sets `failed`, and returns a constant.
 */
const struct expr *term_expr(
	struct matcher *mt, const struct term *t, const struct computed *at, bool integral);

/* The value of a term that has only sizes and attributes. */
int64_t term_size(struct matcher *mt, const struct term *t, const struct computed *at);

/* Summands of a result. */
double form_reduced_size(const struct form *f);

/* Do the row's conditions hold? Reports the first that does not. */
bool term_check(struct matcher *mt);

/* Turns the computed dims into positions, or into plain indices if the expression is just one. */
bool term_resolve(struct matcher *mt);

/*
 * A list of dims from an attribute: negative ones count from the end, no dim twice. Returns their
 * number, -1 if the attribute is absent, -2 after an error.
 */
int dims_attr(struct matcher *mt, const char *key, int rank, int64_t dims[IR_MAX_RANK]);

/* A new index of that size. */
int form_new_index(struct matcher *mt, int64_t size);

#endif
