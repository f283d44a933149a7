/*
 * Numbers of the ops of a block by what they compute: two ops have one number if
 *   - their codes, attributes and the types of their operands and results are the same;
 *   - a constant that one reads the other reads too, as it becomes part of the code of its reader;
 *   - op for op, the same holds of their bodies, if they have bodies, and of who reads whom there.
 * Names, symbols and other values do not count, nor does what is around the ops, unless whoever asks
 * says so (alike_create_by). Layers repeat, so a step of thousands of ops has some
 * dozens of numbers, and what follows from an op's form or its loop nest is found out once for each:
 *
 *     const struct alike *a = alike_create(owner, m, block);
 *     struct op_work *work = ARRAY_NEW(owner, struct op_work, a->n);
 *     for (uint32_t i = 0; i < a->n; i++)
 *         work[i] = op_work(m, a->first[i]);
 *     IR_FOR_OPS (op, block)
 *         sum += work[alike_number(a, op)].flops;
 */
#ifndef IR_ALIKE_H
#define IR_ALIKE_H

#include "ir/ir.h"

struct alike {
	uint32_t *number;           /* by op->id, of the ops of the block and of bodies in it */
	const struct ir_op **first; /* [n] by number: the first op that has it */
	uint32_t n, nids;           /* numbers; ids of ops that there were */
};

/* Of a typed block of m; owned by `owner`. Out of date once the module changes. */
struct alike *alike_create(const void *owner, const struct ir_module *m, const struct ir_block *b);

/* The same where ops depend on what is around them, too: `word` says on what, a number for each op,
 * of bodies before that of their fuse. */
typedef uint64_t alike_word(void *data, const struct ir_op *op);
struct alike *alike_create_by(const void *owner, const struct ir_module *m,
	const struct ir_block *b, alike_word *word, void *data);

/*
 * The same for a module that has been changed since `like` was made, or for a changed copy of it: ops whose ids are
 * below like->nids have the numbers that they have there, and must be as they were but for where they are and which
 * values they read. Only others are looked at, and are like each other at most. `like` must live as long.
 */
struct alike *alike_create_like(const void *owner, const struct ir_module *m,
	const struct ir_block *b, const struct alike *like);

static inline uint32_t
alike_number(const struct alike *a, const struct ir_op *op)
{
	return a->number[op->id];
}

#endif
