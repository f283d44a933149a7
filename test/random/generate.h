/*
 * Random programs: typed modules on mesh [dp = 2, tp = 2 or 3], steps [mb = 2] with sources in
 * random layouts, ops of the table on previous values, and parallelization ops where they fit.
 * ir_infer decides what fits: everything that it accepts must be correct.
 *
 * Values are bounded, and compared values are free of rounding, so that results by layout and by
 * meaning differ only by rounding, and any other difference is a bug.
 */
#ifndef TEST_RANDOM_GENERATE_H
#define TEST_RANDOM_GENERATE_H

#include "ir/ir.h"
#include "ir/ops/row.h"

#include <stdint.h>

struct gen_table;

struct random_options {
	const struct gen_table *table; /* of gen_table_create */
	int steps;                     /* attempts: an op, a source or a parallelization op each */
	int devices;   /* on axis dp; 0: two. If 1, axis tp sometimes has one device, too */
	bool parallel; /* layouts and parallelization ops; else everything is copied */
	bool fuse;     /* puts some ops into fuses */
	bool wide;     /* only floats of 32 and 64 bits */
	bool program;  /* small numbers, no jumps of computed values: roundings differ */
	bool padded;   /* contains gen_padded */
	bool loss;     /* output("loss"): a sum of means of some values; no updates */
};

/*
 * Properties of the pointwise ops of the table, found by running each: computed once for all
 * programs, because it takes long. Owned by `owner`.
 */
const struct gen_table *gen_table_create(const void *owner);

/*
 * The program of that seed, owned by `owner`. The same seed with fewer steps gives a prefix of the
 * same program, which is used to reduce a failure. Messages of refused attempts go to ctx->diag.
 */
struct ir_module *random_module(
	const void *owner, struct ir_context *ctx, uint64_t seed, const struct random_options *o);

/* --- between the files of the generator ---------------------------------------------------------
 */

/* A value that can be an operand. */
struct pooled {
	struct ir_value *v;
	double bound; /* no element is larger in magnitude */
	double low;   /* where positive, no element is smaller */
	bool exact;   /* the same bits in every layout: no float was summed */
};

/* Ranges of operands in which an op is defined and not steep. */
enum gen_range {
	GEN_ANY,      /* any bounded number */
	GEN_UNIT,     /* tanh x */
	GEN_HALF,     /* tanh x / 2 */
	GEN_POSITIVE, /* exp(tanh x) */
	GEN_ABOVE,    /* exp(tanh x) + 1.5 */
};

/* A pointwise op on floats. */
struct gen_domain {
	bool defined; /* in some range */
	bool steps;   /* it has jumps: a rounding may change the result by much */
	bool bends;   /* its derivative has jumps */
	bool steep;   /* its derivative is unbounded, within the range or at its ends */
	enum gen_range range[3];
};

struct gen_table {
	struct gen_domain domain[OP_NCODES];
};

struct gen {
	struct ir_context *ctx;
	const struct gen_table *table;
	struct ir_module *m;
	struct ir_builder b;
	uint64_t state;         /* of the random numbers */
	enum op_code favourite; /* tried often: every op has some programs with this preference */
	bool parallel;
	bool wide, program;
	bool smooth; /* where derivatives jump, values must be exact */
	bool fuse;
	struct ir_op *body; /* the loop whose body is being made, or NULL */
	int depth;          /* of loops */
	struct pooled *pool;
	int npool, nnames;
};

enum { GEN_MAX_ELEMENTS = 600 /* of a tensor: thousands of programs a minute */ };

/* 0 .. n-1 */
int gen_below(struct gen *g, int n);
/* True with a probability of `percent`. */
bool gen_chance(struct gen *g, int percent);
/* A shape with at most GEN_MAX_ELEMENTS elements; returns its rank. */
int gen_shape(struct gen *g, int64_t *dim);
/* A new input, param, state or computed source of that shape, in a random layout. */
struct pooled gen_source(struct gen *g, enum ir_dtype t, int rank, const int64_t *dim);
/*
 * A source for an op that has an operand `with` already: of[d] is the dim of that operand with the
 * same index as dim d of this one, -1: none. Mostly split like the other, so that the op fits.
 */
struct pooled gen_matching(
	struct gen *g, int rank, const int64_t *dim, const struct ir_type *with, const int *of);
/* A constant of that type, copied, to be folded with others. */
struct pooled gen_constant(struct gen *g, enum ir_dtype t, int rank, const int64_t *dim);
/* An integer input for indices of a dim of `range`, some of them out of range. */
struct pooled gen_indices(struct gen *g, int rank, const int64_t *dim, int range);
/* A float mapped into the range. v is NULL if inference does not accept it. */
struct pooled gen_in_range(struct gen *g, struct pooled p, enum gen_range range);
/* A pooled value whose type fits the letter of a row (N, F, I, b, T); a new source if none fits. */
struct pooled gen_operand(struct gen *g, char letter);
/* A product whose rows are of 256 bytes or more and no multiple of 16, ops on them and a product that reads
 * them, all in between without a name outside: rows that ir/loops/pitch.h pads. */
void gen_padded(struct gen *g);
bool gen_is_partial(const struct gen *g, const struct ir_value *v);
/* Appends an op and returns it; NULL if inference refuses it. */
struct ir_value *gen_build(struct gen *g, enum op_code code, int n, struct ir_value *const *v,
	int nattrs, const struct ir_attr *attr);
void gen_add(struct gen *g, struct pooled p);

/*
 * The largest element of an op's results, for operands with these bounds; infinity if one is NaN or
 * not finite. Found by running it.
 */
double gen_measure(struct ir_context *ctx, const struct ir_op *op, const struct pooled *in);
/* Does its derivative jump where elements of operands are equal? Found by running it. */
bool gen_has_kink(struct ir_context *ctx, const struct ir_op *op);
/* The properties of a pointwise op with those attributes. */
struct gen_domain gen_probe(
	struct ir_context *ctx, enum op_code code, const struct ir_attr *attr, int nattrs);

/* shared_rows.c: ops of the table, according to their rows. */
/* Do all operands and the result have one, arbitrary shape? */
bool gen_is_pointwise(const struct ir_row *row);
void gen_pointwise(struct gen *g, enum op_code code);
/* Any other op: operands and attributes of shapes that may fit. */
void gen_row(struct gen *g, enum op_code code);
/*
 * Attributes for an op whose first operand has that type; -1 if one cannot be made up. Optional
 * attributes are sometimes omitted.
 */
int gen_attrs(struct gen *g, const struct ir_row *row, const struct ir_type *t,
	struct ir_attr attr[ROW_MAX_ATTRS]);
/*
 * Adds the results to the pool, unless they are too large, or compare inexact values; then the op
 * is removed. `r` may be NULL.
 */
void gen_finish(struct gen *g, struct ir_value *r, const struct pooled *in);

/* shared_ops.c: tries one op of the table; shared_plan.c: tries one parallelization op;
 * shared_loop.c: tries a while. */
void gen_op(struct gen *g);
void gen_parallel(struct gen *g);
void gen_loop(struct gen *g);
/* shared_fuse.c: puts some runs of neighbouring ops into fuses. */
void gen_fuse(struct gen *g);
/* The value in a layout that outputs accept: not partial, not split over time. */
struct ir_value *gen_settle(struct gen *g, struct ir_value *v);
/* The value in another layout without single axes; NULL if there is none. */
struct ir_value *gen_relayout(struct gen *g, struct ir_value *v, const struct ir_type *to);

#endif
