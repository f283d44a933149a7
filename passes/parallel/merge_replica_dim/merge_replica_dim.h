/* Shared by merge_replica_dim.c, sums.c and linear.c. */
#ifndef PASSES_MERGE_REPLICA_DIM_H
#define PASSES_MERGE_REPLICA_DIM_H

#include "passes/pass.h"

/*
 * Moves sums over a dim that is split down to one element per device into the preceding op if that
 * is a sum as well: a contract or a sum. They move past transposes, and past reshapes that insert
 * or remove dims of size 1. Returns true.
 */
bool replica_join_sums(struct pass_run *run, struct ir_module *m, struct ir_block *b);

/*
 * linear.c. replica_sum_of_linear: the sum op of the result of `inner`, as `inner` of sums of
 * its operands. replica_sum_beside: an allreduce of such a sum of x + y or x - y, one of which
 * lacks the dim; *sum is the sum of the other one. Both return NULL if the op has another form.
 */
struct ir_value *replica_sum_of_linear(struct pass_run *run, struct ir_builder *b,
	const struct ir_op *op, const struct ir_op *inner);
struct ir_value *replica_sum_beside(
	struct ir_builder *b, const struct ir_op *op, const struct ir_op **sum);

#endif
