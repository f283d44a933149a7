/*
 * Rules by enumeration, as TASO (Jia et al., SOSP 2019) and Unity (Unger et al., OSDI 2022) make
 * them: all terms up to a size over a set of ops, on small tensors over a prime field. Terms with
 * the same fingerprint (values, type and layout) are candidates for a rule, which rule_verify
 * proves for all sizes.
 *
 *     ops.c      what ops do to small tensors, their types and layouts
 *     terms.c    terms by size; the first of a fingerprint represents it, later ones are candidates
 *     derive.c   is a candidate an instance of known rules?
 *     text.c     the text of a rule       generate.c    all of it
 */
#ifndef PASSES_RULES_GENERATE_H
#define PASSES_RULES_GENERATE_H

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/rule.h"

enum {
	GEN_MAX_RANK = 4,    /* rank of images */
	GEN_MAX_SIZE = 6,    /* most ops of a term; 5 give 10^9 terms of the usual ops */
	GEN_MAX_AXES = 2,    /* of the mesh: two tell a split of two dims from two splits of one */
	GEN_MAX_INPUTS = 24, /* inputs of all layouts together: a set has 32 bits */
	GEN_MAX_UNITS = 4,   /* most units of a dim, which are sizes of inputs, after concats */
	GEN_MAX_ELEMENTS = 1024, /* 4 x 4 x 4 x 4 units of 2, or two dims of them at 3 x 3 */
};

enum gen_kind {
	GEN_UNARY,
	GEN_BINARY,
	GEN_MATMUL,
	GEN_LINEAR, /* contract of rmk,rnk->rmn */
	GEN_CONV,
	GEN_CONCAT,
	GEN_SLICE, /* takes apart what a concat joined */
	GEN_TRANSPOSE,
	GEN_ON_AXIS,   /* a parallelization op */
	GEN_SPLITTING, /* one that has a dim, too */
};

/* An element in the field of integers modulo GEN_P. */
#define GEN_P UINT64_C(2147483647)

struct gen_row {
	const char *name;
	enum gen_kind kind;
	bool commutes;
	int rank; /* 0: any */
	uint64_t (*element)(uint64_t x, uint64_t y);
};

/* An op with its attributes. Ops of a `family` differ only in axis and cut. */
struct gen_op {
	const struct gen_row *row;
	int family, dim, part, cut, axis;
};

/* Sizes; the set of units at which concats joined a dim; the number of a layout. */
struct gen_type {
	uint8_t dim[GEN_MAX_RANK], joined[GEN_MAX_RANK];
	int32_t layout;
};

struct gen_term {
	int32_t op;     /* -1: an input, and arg[0] says which one */
	int32_t arg[2]; /* operands of an op: terms, -1: none */
	int32_t type, rep;
	int32_t users;              /* terms that have it as an operand: gen_user, -1: none */
	int32_t part[GEN_MAX_SIZE]; /* ops that it consists of, including itself, in order */
	int32_t size;               /* how many */
	uint32_t inputs;            /* set */
	bool derived;               /* is it equal to rep according to the rules? */
	int64_t values;             /* position in gen->value; -1: not kept */
};

struct gen_user {
	int32_t term, next;
};

struct gen_rule {
	int32_t side[2];
	int32_t pair;          /* for two results: the first part of the merged term; else -1 */
	bool dropped;          /* it is an instance of a later rule */
	struct ir_rules *text; /* NULL: not proven */
};

struct gen_layout {
	struct ir_state axis[GEN_MAX_AXES];
};

struct gen_layout_fact {
	int32_t op, x, y, result; /* -1: none */
};

enum gen_outcome {
	GEN_PROVEN,
	GEN_REFUTED,
	GEN_UNKNOWN,
	GEN_FREE,     /* the right side has an input that the left side lacks */
	GEN_INSTANCE, /* it is an instance of a rule, or follows from several */
	GEN_AGAIN,    /* it is an instance of an unproven candidate */
	GEN_OUTCOMES
};

/* Counts of candidates that are neither proven nor refuted, by reason. */
struct gen_reason {
	const char *why;
	int64_t n;
};

struct gen_options {
	const char *ops; /* names, separated by commas; NULL: the usual ops */
	int64_t size, inputs, axes;
};

struct gen {
	struct ir_context *ctx;
	struct rule_prover *prover;
	const struct gen_options *o;
	int rank, naxes, max_size;
	struct VEC(struct gen_op) op;
	struct VEC(struct gen_type) type;
	struct VEC(struct gen_term) term;
	struct VEC(struct gen_user) user;
	struct VEC(int32_t) level[GEN_MAX_SIZE + 1]; /* representatives, by size */
	struct VEC(uint32_t) value;
	struct VEC(uint64_t) fingerprint; /* hash table of classes, */
	struct VEC(int32_t) rep;          /* and their representatives */
	struct VEC(struct gen_rule) rule;
	struct VEC(int32_t) by_family[256]; /* rules, by the root of the left side */
	struct VEC(struct gen_layout) layout;
	struct VEC(struct gen_layout_fact) fact;
	struct map type_map, term_map, class_map, fact_map;
	int64_t terms, outcome[GEN_OUTCOMES];
	struct VEC(struct gen_reason) reason;
	double verifying; /* seconds */
	uint32_t scratch[GEN_MAX_ELEMENTS];
};

/* --- ops.c --- */
/* Fills in the ops. NULL, or an error message that names the wrong one. */
const char *gen_ops_read(struct gen *g);
/* Makes inputs of every layout. */
void gen_inputs(struct gen *g);
/* The type of a result; -1: there is none. */
int32_t gen_type_of(struct gen *g, const struct gen_op *op, int32_t x, int32_t y);
int gen_elements(const struct gen *g, int32_t type);
/* The elements of a result, in g->scratch. */
void gen_evaluate(struct gen *g, const struct gen_op *op, int32_t type, const int32_t arg[2]);
int gen_unit(const struct gen *g, int dim);
int gen_operands(const struct gen_op *op);

/* --- terms.c --- */
int32_t gen_term_add(struct gen *g, const struct gen_term *t);
/* The term of an op on representatives; -1: it does not exist yet. */
int32_t gen_term_find(const struct gen *g, int32_t op, int32_t x, int32_t y);
/* The representative of the values in g->scratch and their type: `term` if it is the first. */
int32_t gen_class_of(struct gen *g, int32_t type, int32_t term);
void gen_enumerate(struct gen *g, int size);

/* --- derive.c --- */
/* The rule, or an unproven candidate, from which it follows that the term is equal to its
 * representative; NULL: there is none. */
const struct gen_rule *gen_derive(const struct gen *g, int32_t term);
/* Is the term an instance of the pattern? */
bool gen_matches(const struct gen *g, int32_t pattern, int32_t term);
/* Drops rules that are instances of others. */
void gen_drop_instances(struct gen *g);

/* --- text.c --- */
struct gen_sides {
	int32_t result[2][2]; /* terms: the results of both sides */
	int nresults;
};
void gen_write(struct gen *g, FILE *out, const char *name, const struct gen_sides *s);

/* --- generate.c --- */
/* Proves that a term is equal to its representative, and records a rule if it is proven. */
void gen_candidate(struct gen *g, int32_t term);

/* Writes the proven rules, and counts as remarks. NULL, or an error in the options, owned by
 * `owner`. */
const char *rules_generate(
	const void *owner, struct ir_context *ctx, const struct gen_options *o, FILE *out);

#endif
