/* What merge_replica_dim.c, merge_replica_dim_operands.c and replica_attrs.c share. */
#ifndef PASSES_MERGE_REPLICA_DIM_OP_H
#define PASSES_MERGE_REPLICA_DIM_OP_H

#include "ir/base/vec.h"
#include "ir/build_try.h"
#include "ir/ops/form.h"
#include "passes/parallel/merge_replica_dim.h"

/* A value that is `whole` with dim `at` taken apart in two; NULL: it is not. */
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

/* The two indices of the op at work that become one. */
struct pair {
	int first, second;
	int64_t nfirst, nsecond;
	const struct ir_type *like; /* of an operand that has the pair */
	int at;                     /* and where */
};

/* What v is folded to; NULL: it is not. */
const struct folded *replica_folded(const struct replica_merge *p, const struct ir_value *v);

/* x of that shape; x itself where it has it. */
struct ir_value *replica_reshape(
	struct replica_merge *p, struct ir_value *x, const int64_t *dim, int rank);

/* The sizes of t with dims `at` and the next as one; returns how many. */
int replica_merged(const struct ir_type *t, int at, int64_t dim[IR_MAX_RANK]);

/*
 * Operand k of the op with the pair as one dim; NULL where it cannot be had. `at_out`: where the
 * pair stands in the result, -1 where it is reduced.
 */
struct ir_value *replica_operand(struct replica_merge *p, struct ir_op *op, const struct form *f,
	int k, const struct pair *pair, int at_out);

/* Attributes of the copy of an op that speak of dims; the pair is at `at` in the first operand that
 * has it. False where the op has no such form. */
bool replica_attrs(struct replica_merge *p, struct ir_op *copy, const struct ir_op *op,
	const struct form *f, const struct pair *pair, int at, int at_out);

#endif
