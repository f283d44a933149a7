/* What the rewrites of canonicalize share: canonicalize.c, canonicalize_parallel.c,
 * canonicalize_products.c; and sink_transpose.c. */
#ifndef PASSES_CANONICALIZE_H
#define PASSES_CANONICALIZE_H

#include "ir/base/vec.h"
#include "passes/pass.h"

struct canon {
	struct pass_run *run;
	struct ir_module *m;
	const struct rule_index *rules;
	struct ir_builder b;              /* inserts before the current op */
	struct VEC(struct ir_op *) again; /* to be visited again; some are erased by then */
};

/*
 * A row: `apply` returns the value that replaces the result of an op of that code, or NULL if the
 * rewrite does not apply. A value of another type than the result counts as NULL.
 */
struct rewrite {
	enum op_code code;
	struct ir_value *(*apply)(struct canon *c, struct ir_op *op);
	const char *count; /* its line in the statistics */
};

/* Row for conversions: a value that is gathered and then only narrowed is narrowed first. */
struct ir_value *canon_convert_before_gather(struct canon *c, struct ir_op *op);

extern const char canon_joined[]; /* counts of parallelization ops */
/* The rows for parallelization ops, ended by one without a function. */
extern const struct rewrite canon_parallel[];

/* The rows for matrix products and transposes, ended likewise. */
extern const struct rewrite canon_products[];

/* The rows for slices and updates at known positions, ended likewise. */
extern const struct rewrite canon_updates[];

/* The op of that code, with one result and at most one operand, that makes operand i; else NULL. */
static inline struct ir_op *
canon_made_by(const struct ir_op *op, int i, enum op_code code)
{
	struct ir_op *from = ir_operand(op, i)->op;
	bool fits = from && from->code == code && from->nresults == 1 && from->noperands <= 1;

	return fits ? from : NULL;
}

/* The value of a transpose of a transpose, or of one that moves nothing; NULL: no rewrite. */
struct ir_value *canon_transpose_twice(struct canon *c, struct ir_op *op);

static inline struct ir_value *
canon_operand(const struct ir_op *op)
{
	return ir_operand(op, 0);
}

#endif
