/*
 * Several collectives become one. All passes that fuse collectives of a module use these functions,
 * which ensure correctness:
 *
 *     %a = reducescatter(%x)                     %a, %b = reducescatter(%x, %y)
 *     %p = f(%a)                                 %p = f(%a)
 *     %b = reducescatter(%y)          --->       %q = g(%p)
 *     %q = g(%p)
 *
 * The one op is in the place of the last member. Ops before that place which depend on a member,
 * directly or through other ops, are moved after it, in their order. A member that depends on
 * another one (were %y computed from %p) cannot be in the same op: each would wait for the other.
 * As the block is in order after each fusion, this holds for members that are fused later, too:
 * paths through earlier fused ops are paths of the module.
 *
 * Complexity: linear in the ops between the first and the last member, and their operands.
 */
#ifndef PASSES_COLLECTIVES_H
#define PASSES_COLLECTIVES_H

#include "ir/ir.h"

/* Have two collectives the same op, attributes (axis, dim ...) and element type? */
bool collectives_fusible(const struct ir_op *a, const struct ir_op *b);

/*
 * Fuses the n members, which must be fusible, in block order, and have at most IR_MAX_LIST operands
 * in all. A member that depends on one before it starts another op. *last: the op that the last
 * member is in (that member itself if nothing is fused with it). Returns how many members were
 * fused with another one.
 */
uint32_t collectives_fuse(
	struct ir_module *m, struct ir_op **member, uint32_t n, struct ir_op **last);

/* As above for collectives of several kinds, in block order: those of each kind are fused, up to
 * the operand limit of one op. Changes `op`. */
uint32_t collectives_fuse_kinds(struct ir_module *m, struct ir_op **op, uint32_t n);

#endif
