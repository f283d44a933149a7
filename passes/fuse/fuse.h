/*
 * Which ops one kernel can compute together, and how they become a `fuse` (op fusion: DisCo,
 * section 2.2). Policies of opfuse and searches decide what to fuse; this decides what is possible.
 *
 * A set of ops is a kernel when
 *   - they work on one iteration space: the largest shape among them; others have a prefix of it
 *     (what a row is reduced to) or are repeated along it;
 *   - the same devices compute them: on axes on which results are single, all are at one place;
 *   - none reads a reduction of the set that leaves the iteration space (over leading dims, or to a
 *     scalar): it is complete only when the kernel ends;
 *   - none reads a result of the set at computed positions, such as rows by number or a slice;
 *   - there is at most one product (of matrices, a convolution), which reads nothing of the set: it
 *     starts the kernel; what works on the space of its result, or on its rows, is its epilogue;
 *   - its ops, operands and sums do not exceed the limits below.
 * The order of the block is ignored: the caller ensures that no path leads from the set through
 * other ops back into it.
 */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "ir/ir.h"

struct alike;
struct fuse_table;
struct fuse_role;

enum fuse_limit {
	/* Kernels of several products (passes/fusion/online.h): summands of the first product, and
	 * of others of that shape. A tile of a value inside the kernel is made of rows that are held
	 * whole in registers, as all kernels for attention do. */
	FUSE_MAX_REDUCED = 256,
	FUSE_MAX_OPS = 64,      /* longer bodies gain nothing and compile slowly */
	FUSE_MAX_OPERANDS = 24, /* pointers that a kernel holds in registers, roughly */
	FUSE_MAX_SUMS = 8,      /* sums that a kernel adds to in turn, in first-level cache */
};

/*
 * The role of each op of a block in a kernel. The table identifies ops by their numbers in the
 * block (ir/numbering.h), and is valid as long as these do not change. `alike`: of the block,
 * needed for the call only. Owned by `owner`. May be used by any number of threads.
 */
struct fuse_table *fuse_table_create(const void *owner, const struct ir_module *m,
	const struct ir_block *b, const struct alike *alike);

enum fuse_verdict {
	FUSE_POSSIBLE,
	FUSE_NO_KERNEL, /* an op that never shares a kernel with others */
	FUSE_BARRIER,   /* a barrier stands between them: fusing would keep its operands alive */
	FUSE_PLACES,    /* other devices compute one of them */
	FUSE_SPACES,    /* incompatible iteration spaces */
	FUSE_AFTER_SUM, /* one reads a sum that is complete only when the kernel ends */
	FUSE_POSITIONS, /* one reads another at computed positions: rows by number, a slice */
	FUSE_PRODUCT,  /* two products, or one that does not come first, or too large an epilogue */
	FUSE_OPS,      /* more ops than a kernel may have */
	FUSE_OPERANDS, /* more operands */
	FUSE_SUMS,     /* more sums */
	FUSE_NVERDICTS
};

/* Half a sentence: "they work on different iteration spaces". */
const char *fuse_verdict_text(enum fuse_verdict v);

/* May the op share a kernel with others at all? */
bool fuse_may(const struct fuse_table *t, uint32_t op);

/* From now on it may not share a kernel. */
void fuse_table_exclude(struct fuse_table *t, uint32_t op);

/* The role of the op in a kernel: role.h. */
const struct fuse_role *fuse_table_role(const struct fuse_table *t, uint32_t op);

/*
 * Can these n >= 1 ops, all different and in ascending order, be one kernel? A single op always
 * can. `across`: barriers may stand between them. O(ops and their operands), no allocation.
 */
enum fuse_verdict fuse_check(
	const struct fuse_table *t, const uint32_t *op, uint32_t n, bool across);

/* Which of these n ops is a product, the first of several; n: none. */
uint32_t fuse_product(const struct fuse_table *t, const uint32_t *op, uint32_t n);

#define FUSE_LOOK UINT32_MAX

/*
 * A `fuse` of copies of the ops, in that order but with a product first. It is not in a block yet;
 * its operands are the values that the ops read from outside, except scalar constants, which it
 * copies; its results are those of the ops for which out[i] is set (at least one), in order, with
 * their names. `product`: which of the ops is the product, from fuse_product; FUSE_LOOK: it is
 * determined here. The ops are not changed: the caller puts the fuse into a block, replaces uses
 * and erases the ops.
 */
struct ir_op *fuse_make(struct ir_module *m, struct ir_op *const *op, uint32_t n, const bool *out,
	uint32_t product);

/*
 * Replaces a fuse by its ops, one by one, and erases it; returns the number of its ops.
 */
uint32_t fuse_undo(struct ir_module *m, struct ir_op *fuse);

#endif
