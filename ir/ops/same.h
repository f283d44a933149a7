/*
 * Ops that compute the same: code, symbol, operands, attributes and result types are equal. The
 * types hold the layouts, so the same tensor laid out in two ways is two values. Operands of ops
 * that commute are compared in either order.
 *
 * `as` has for each value, by its id, the one that it is compared as; NULL: each as itself.
 */
#ifndef IR_SAME_H
#define IR_SAME_H

#include "ir/ir.h"

/* Equal for ops that compute the same. */
uint64_t same_hash(const struct ir_op *op, struct ir_value *const *as);

bool same_ops(const struct ir_op *a, const struct ir_op *b, struct ir_value *const *as);

#endif
