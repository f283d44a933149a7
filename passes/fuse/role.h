/*
 * What one op is to a kernel that does several: fuse.h puts sets together from it.
 */
#ifndef PASSES_FUSE_ROLE_H
#define PASSES_FUSE_ROLE_H

#include "ir/ir.h"

struct arena;

enum fuse_kind {
	FUSE_NONE,   /* never in a kernel with others */
	FUSE_MAP,    /* result as large as the iteration space of the op */
	FUSE_ROW,    /* a reduction over trailing dims */
	FUSE_LAST,   /* a reduction over others: nothing of its kernel reads it */
	FUSE_STARTS, /* a product of matrices, a convolution: comes first in its kernel */
};

struct fuse_role {
	uint8_t kind; /* enum fuse_kind */
	uint8_t rank; /* of the iteration space; the last dim is not 1 */
	bool heavy;   /* computes what is no cheap function of what it reads: not to be repeated */
	/* Operands that are read at positions of their own (rows by number, slices): they lie in
	 * memory, so the kernel does not make them itself. Bit j: operand j. */
	uint16_t apart;
	/* The iteration space: the dims of its result, then what it reduces; local sizes. */
	int64_t space[IR_MAX_RANK];
};

/* `a` is for scratch of the call. */
struct fuse_role fuse_role(const struct ir_module *m, struct arena *a, const struct ir_op *op);

/* A constant of no dims, of which every kernel has its own. */
static inline bool
fuse_is_scalar(const struct ir_op *op)
{
	return op && op->code == OP_constant && op->result[0].type->rank == 0;
}

#endif
