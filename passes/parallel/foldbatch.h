/* What foldbatch.c and foldbatch_sums.c share. */
#ifndef PASSES_FOLDBATCH_H
#define PASSES_FOLDBATCH_H

#include "passes/pass.h"

/*
 * Sums over a dim that is split down to one element a place, made in the op in front where that is
 * a sum as well: a contract, a sum. Transposes, and reshapes that put in or take out dims of size
 * 1, let them through.
 */
bool foldbatch_join_sums(struct pass_run *run, struct ir_module *m, struct ir_block *b);

/*
 * foldbatch_linear.c. The dim of replicas that a sum sums over, -1: it is no such sum. A sum over
 * it of what `inner` makes, as sums of its operands. An allreduce of such a sum of x + y or x - y,
 * of which one lacks the dim: *sum is the sum of the other. NULL where that does not fit.
 */
int foldbatch_replica_dim(const struct ir_module *m, const struct ir_op *op);
struct ir_value *foldbatch_sum_of_linear(struct pass_run *run, struct ir_builder *b,
	const struct ir_op *op, const struct ir_op *inner);
struct ir_value *foldbatch_sum_beside(
	struct ir_builder *b, const struct ir_op *op, const struct ir_op **sum);

/* Drops an op that nothing reads, and what only it read, along first operands. */
void foldbatch_drop(struct ir_op *op);

#endif
