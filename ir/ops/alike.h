/*
 * Numbers of the ops of a block by what they compute: two ops have one number if
 *   - their codes, attributes and the types of their operands and results are the same;
 *   - they read the same constants, which become part of the code of their readers;
 *   - op for op, the same holds for their bodies, if any, with the same operand links.
 * Names, symbols and other values do not count, nor does the context of the ops, unless the caller
 * asks for it (alike_create_by). Layers repeat, so a step of thousands of ops has some dozens of
 * numbers, and facts that follow from an op's form or loop nest are computed once for each number:
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

/* A number for the context of an op, by which ops that are else the same differ; 0: that of most. */
typedef uint64_t alike_context(const struct ir_module *m, const struct ir_op *op);

struct alike {
	uint32_t *number;           /* by op->id, of the ops of the block and of bodies in it */
	const struct ir_op **first; /* [n] by number: the first op that has it */
	uint32_t n, nids;           /* numbers; ids of ops that there were */
	struct alike_memo *memo;    /* NULL: none */
	uint32_t *common;           /* [n] by number: that in the memo */
	alike_context *context;     /* NULL: none */
};

/* Numbers the ops of a typed block of m; owned by `owner`. Out of date once the module changes. */
struct alike *alike_create(const void *owner, const struct ir_module *m, const struct ir_block *b);

/* The same if ops also depend on their context: `word` returns a number for it, called for ops of a
 * body before their fuse. */
typedef uint64_t alike_word(void *data, const struct ir_op *op);
struct alike *alike_create_by(const void *owner, const struct ir_module *m,
	const struct ir_block *b, alike_word *word, void *data);

/*
 * The same for a module that has been changed since `like` was made, or for a changed copy of it.
 * Ops with ids below like->nids keep their numbers from `like`, whatever their context, and must be
 * unchanged except for their positions and the values they read. Only other ops are looked at; these get new numbers.
 * `like` must live as long.
 */
struct alike *alike_create_like(const void *owner, const struct ir_module *m,
	const struct ir_block *b, const struct alike *like);

/*
 * Numbers that ops of several modules have in common: alike ops of modules of one context with equal
 * axes have the same, so that facts of kernels are kept from one step to the next of a search.
 */
struct alike_memo;

struct alike_memo *alike_memo_create(const void *owner);

/* Are ops of equal types alike on the two axes? Never on axes of stages, which have places of their
 * own, in lists that may go with their module. */
bool alike_axis(const struct ir_axis *a, const struct ir_axis *b);

/* As alike_create in a context, with a->common from the memo; so are numbers that are made like these.
 * Either may be NULL: none. */
struct alike *alike_create_common(const void *owner, const struct ir_module *m,
	const struct ir_block *b, alike_context *context, struct alike_memo *memo);

static inline uint32_t
alike_number(const struct alike *a, const struct ir_op *op)
{
	return a->number[op->id];
}

#endif
