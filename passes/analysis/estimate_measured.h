/* Kernels of several ops that the profile has. */
#ifndef PASSES_ANALYSIS_ESTIMATE_MEASURED_H
#define PASSES_ANALYSIS_ESTIMATE_MEASURED_H

#include "ir/ir.h"

struct cost_model;
struct estimate_measured;

/* For the ops of a block, which is numbered. Owned by `owner`. NULL: the profile has none. */
struct estimate_measured *estimate_measured_create(const void *owner,
	const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_block *b);

/* One more for another thread. */
struct estimate_measured *estimate_measured_clone(
	const void *owner, const struct estimate_measured *x);

/* Does the profile have the kernel of these ops? Its seconds then. */
bool estimate_measured_seconds(struct estimate_measured *x, const uint32_t *op, uint32_t n,
	const bool *out, double *seconds);

#endif
