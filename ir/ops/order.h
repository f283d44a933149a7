/*
 * Sorting along a dim: the ops sort and topk. Both put the rows along `dim` in order and keep the
 * first k of each, with their former positions:
 *
 *     ascending     smaller elements first, NaN last
 *     descending    larger elements first, NaN first
 *     equal         the lower position first, in both
 *
 * That is a total order, so the interpreter and all targets give the same positions.
 */
#ifndef IR_ORDER_H
#define IR_ORDER_H

#include "ir/ir.h"

/*
 * Local rows: element (o, i, j) is
 *     of the operand    at (o * n + i) * inner + j
 *     of the results    at (o * k + i) * inner + j
 */
struct order {
	int dim;
	int64_t outer, n, inner, k;
	bool descending;
};

/* Sizes for a typed sort or topk on a tensor of these dims; on the local operand of a place. */
struct order order_of(const struct ir_op *op, const int64_t *dims);
struct order order_local(const struct ir_module *m, const struct ir_op *op);

/* Type of the values; the positions have the same type, but of i32. Reports failures. */
bool order_infer(const struct ir_module *m, const struct ir_op *op, struct ir_type *result);

/* Comparisons; bytes of scratch that the host needs. */
double order_flops(const struct ir_module *m, const struct ir_op *op);
int64_t order_scratch(const struct ir_module *m, const struct ir_op *op);

/* In the interpreter: ir/interp/order.c. */
struct tensor;
void order_run(const struct ir_op *op, struct tensor *const *in, struct tensor *const *out);

#endif
