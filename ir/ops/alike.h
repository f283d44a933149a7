/*
 * Numbers of ops by what they compute: ops of one code, with operands and a result of the same types
 * and the same attributes, have one number. Layers repeat, so a step of thousands of ops has some
 * dozens of numbers, and what follows from an op's form needs to be found out once for each.
 */
#ifndef IR_ALIKE_H
#define IR_ALIKE_H

#include "ir/ir.h"

struct alike;

#define ALIKE_NONE UINT32_MAX

/* Empty; owned by `owner`. */
struct alike *alike_create(const void *owner);

/*
 * The number of an op, 0, 1, 2 ... as they come; *fresh: it is the first one of its number.
 * ALIKE_NONE: it is like no other, as kernels, ops of several results and those with a long list of
 * attributes are. The values of its operands, its symbol and the elements of a literal do not count.
 */
uint32_t alike_number(struct alike *a, const struct ir_op *op, bool *fresh);

#endif
