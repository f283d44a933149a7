/*
 * The time of a kernel of several ops before it is built. One estimator answers both for a `fuse`
 * in the cost model and for a candidate of a search, so that the search sees exactly the cost that
 * the step has in the end.
 *
 *     measured   the profile has exactly this kernel
 *     network    a graph network, trained on measured kernels (DisCo, section 4.3)
 *     analytic   bytes and arithmetic of the loop nest, scaled by the measured times of its ops
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_H
#define PASSES_ANALYSIS_ESTIMATE_H

#include "ir/ir.h"

struct alike;
struct cost_model;
struct estimator;

/*
 * For kernels made of ops of a block, on one kind of device of the model (the first kind is 0). Ops
 * are identified by their numbers in the block (ir/numbering.h). `alike` of the
 * block is needed during the call only. Owned by `owner`; valid while the ops exist. Not thread-safe: it caches
 * answers.
 */
struct estimator *estimator_create(const void *owner, const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_block *b, const struct alike *alike);

/* A copy for another thread, with the same answers. */
struct estimator *estimator_clone(const void *owner, const struct estimator *e);

/*
 * Seconds of one run, at one place, of a kernel that does these n >= 1 ops (all different, in
 * ascending order) and writes the results of those for which out[i] is set; deterministic. A single
 * op takes the time that the cost model gives.
 */
double estimator_seconds(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out);

/* How many answers came from each source, for reports. */
struct estimator_counts {
	uint64_t measured, network, analytic;
};
struct estimator_counts estimator_counts(const struct estimator *e);

#endif
