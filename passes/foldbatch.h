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

/* Drops an op that nothing reads, and what only it read, along first operands. */
void foldbatch_drop(struct ir_op *op);

#endif
