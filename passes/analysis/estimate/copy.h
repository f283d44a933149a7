/*
 * Kernels that do not exist yet, made in a copy of the module to look up their keys in the profile
 * and to see their loops.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_COPY_H
#define PASSES_ANALYSIS_ESTIMATE_COPY_H

#include "ir/ir.h"

struct cost_model;
struct estimate_copy;

/* For the ops of a block, which must be numbered. Owned by `owner`. */
struct estimate_copy *estimate_copy_create(const void *owner, const struct cost_model *model,
	uint32_t kind, const struct ir_module *m, const struct ir_block *b);

/* Another copy for another thread. */
struct estimate_copy *estimate_copy_clone(const void *owner, const struct estimate_copy *x);

/* May the profile have the kernel of these ops? It has one with the same count of each. */
bool estimate_copy_may_know(const struct estimate_copy *x, const uint32_t *op, uint32_t n);

/* The copy; and the fuse of these ops in it (fuse_make), which lives until ir_op_erase. */
struct ir_module *estimate_copy_module(struct estimate_copy *x);
struct ir_op *estimate_copy_make(
	struct estimate_copy *x, const uint32_t *op, uint32_t n, const bool *out);

#endif
