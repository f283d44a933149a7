/*
 * Products as contracts, which read their operands and write their result in any order of dims, and
 * the order of dims of transposes.
 */
#ifndef IR_PRODUCT_H
#define IR_PRODUCT_H

#include "ir/ops/form.h"

/* Dim i of a transpose's result is dim perm[i] of its operand; returns the number of dims. */
int transpose_order(const struct ir_op *op, int64_t perm[IR_MAX_RANK]);

/* A product with a letter for each dim of its operands and of the result. */
struct product {
	char in[FORM_MAX_INPUTS][IR_MAX_RANK], out[IR_MAX_RANK];
	int rank[FORM_MAX_INPUTS], out_rank, n;
	struct ir_value *v[FORM_MAX_INPUTS];
};

/* Reads a matmul or contract. False where an operand repeats a dim of size 1: contract does not. */
bool product_read(const struct ir_module *m, const struct ir_op *op, struct product *p);
/* Then the terms come in the order in which the spec names the indices. */
bool product_sums_over_several(const struct product *p);
/* A contract; NULL: it does not fit, which ir_build reports. */
struct ir_value *product_build(struct ir_builder *b, const struct product *p);

#endif
