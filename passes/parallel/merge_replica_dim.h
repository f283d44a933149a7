/* What merge_replica_dim.c and merge_replica_dim_sums.c share. */
#ifndef PASSES_MERGE_REPLICA_DIM_H
#define PASSES_MERGE_REPLICA_DIM_H

#include "passes/pass.h"

/*
 * Sums over a dim that is split down to one element a place, made in the op in front where that is
 * a sum as well: a contract, a sum. Transposes, and reshapes that put in or take out dims of size
 * 1, let them through.
 */
bool replica_join_sums(struct pass_run *run, struct ir_module *m, struct ir_block *b);

/*
 * merge_replica_dim_linear.c. The dim of replicas that a sum sums over, -1: it is no such sum. A sum over
 * it of what `inner` makes, as sums of its operands. An allreduce of such a sum of x + y or x - y,
 * of which one lacks the dim: *sum is the sum of the other. NULL where that does not fit.
 */
int replica_dim_of(const struct ir_module *m, const struct ir_op *op);
struct ir_value *replica_sum_of_linear(struct pass_run *run, struct ir_builder *b,
	const struct ir_op *op, const struct ir_op *inner);
struct ir_value *replica_sum_beside(
	struct ir_builder *b, const struct ir_op *op, const struct ir_op **sum);

/* Drops an op that nothing reads, and what only it read, along first operands. */
void replica_drop(struct ir_op *op);

#endif
