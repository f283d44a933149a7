/*
 * The ops of a block by number, 0, 1, 2 ... in its order, in separate tables: the block is not
 * changed. Out of date once ops of the block are moved or erased; later ops have no number.
 */
#ifndef IR_NUMBERING_H
#define IR_NUMBERING_H

#include "ir/ir.h"

#define IR_NO_NUMBER UINT32_MAX

struct ir_numbering {
	uint32_t n;
	struct ir_op **op; /* [n] by number */
	uint32_t nids;
	uint32_t *number; /* [nids] by op->id; IR_NO_NUMBER: the op is not in the block */
};

/* Owned by `owner`. Never NULL. */
struct ir_numbering *ir_numbering_create(
	const void *owner, const struct ir_module *m, const struct ir_block *b);

/* The number of an op of the module, or IR_NO_NUMBER. */
static inline uint32_t
ir_number(const struct ir_numbering *n, const struct ir_op *op)
{
	return op->id < n->nids ? n->number[op->id] : IR_NO_NUMBER;
}

#endif
