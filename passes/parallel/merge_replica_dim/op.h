/* Shared by merge_replica_dim.c, operands.c and attrs.c. */
#ifndef PASSES_MERGE_REPLICA_DIM_OP_H
#define PASSES_MERGE_REPLICA_DIM_OP_H

#include "ir/base/vec.h"
#include "ir/build_try.h"
#include "ir/ops/form.h"
#include "passes/parallel/merge_replica_dim/merge_replica_dim.h"

/* A value that is `whole` with dim `at` unfolded into two; NULL: it is not one. */
struct folded {
	struct ir_value *whole;
	int at;
};

struct replica_merge {
	struct pass_run *run;
	struct ir_module *m;
	struct VEC(struct folded) folded; /* by value->id */
	struct ir_builder b;
};

/* The two indices of the current op that are merged. */
struct pair {
	int first, second;
	int64_t nfirst, nsecond;
	const struct ir_type *like; /* type of an operand that has the pair */
	int at;                     /* position of the pair in it */
};

/* The folded form of v; NULL: it has none. */
const struct folded *replica_folded(const struct replica_merge *p, const struct ir_value *v);

/* x reshaped to these dims; x itself if it has them. */
struct ir_value *replica_reshape(
	struct replica_merge *p, struct ir_value *x, const int64_t *dim, int rank);

/* The sizes of t with dims `at` and at + 1 merged; returns how many. */
int replica_merged(const struct ir_type *t, int at, int64_t dim[IR_MAX_RANK]);

/*
 * Operand k of the op with the pair merged into one dim; NULL if that is not possible. `at_out`:
 * position of the pair in the result, -1 if it is reduced.
 */
struct ir_value *replica_operand(struct replica_merge *p, struct ir_op *op, const struct form *f,
	int k, const struct pair *pair, int at_out);

/* Sets the attributes of the copy of an op that refer to dims; the pair is at `at` in the first
 * operand that has it. False if the op has no such form. */
bool replica_attrs(struct replica_merge *p, struct ir_op *copy, const struct ir_op *op,
	const struct form *f, const struct pair *pair, int at, int at_out);

#endif
