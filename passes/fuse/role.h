/*
 * The role of one op in a kernel of several: fuse.h forms sets from it.
 */
#ifndef PASSES_FUSE_ROLE_H
#define PASSES_FUSE_ROLE_H

#include "ir/ir.h"

struct arena;

enum fuse_kind {
	FUSE_NONE,   /* never shares a kernel */
	FUSE_MAP,    /* result as large as the iteration space of the op */
	FUSE_ROW,    /* a reduction over trailing dims */
	FUSE_LAST,   /* a reduction over others: nothing of its kernel reads it */
	FUSE_STARTS, /* a product of matrices, a convolution: comes first in its kernel */
};

struct fuse_role {
	uint8_t kind; /* enum fuse_kind */
	uint8_t rank; /* of the iteration space; the last dim is not 1 */
	bool heavy;   /* not a cheap function of its operands: must not be repeated */
	/* Operands that are read at computed positions (rows by number, slices): they are in
	 * memory, so the kernel cannot compute them itself. Bit j: operand j. */
	uint16_t apart;
	/* The iteration space: the dims of its result, then what it reduces; local sizes. */
	int64_t space[IR_MAX_RANK];
};

/* `a` is scratch space for the call. */
struct fuse_role fuse_role(const struct ir_module *m, struct arena *a, const struct ir_op *op);

/* A constant of no dims, which every kernel copies. */
static inline bool
fuse_is_scalar(const struct ir_op *op)
{
	return op && op->code == OP_constant && op->result[0].type->rank == 0;
}

#endif
