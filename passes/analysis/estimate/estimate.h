/*
 * What a kernel takes that does several ops together, before anybody has built it. One estimator
 * answers both for a `fuse` in the cost model and for a candidate of a search, so that a search
 * is told what the step costs in the end, to the bit.
 *
 *     measured   the profile has this very kernel
 *     network    a graph network, trained on measured kernels (DisCo, section 4.3)
 *     analytic   bytes and arithmetic of the loop nest, scaled by what its ops were measured at
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_H
#define PASSES_ANALYSIS_ESTIMATE_H

#include "ir/ir.h"

struct alike;
struct bands;
struct cost_model;
struct estimator;

/*
 * For kernels made of ops of a block, on one kind of device of the model (the first kind is 0). Ops
 * are named by their numbers in the block (ir/numbering.h). `bands` of the
 * module, which `alike` tells apart, and `alike` of the block are needed for the call only; bands
 * NULL: kernels leave nothing out. Owned by `owner`; holds as long as the ops stay. Not for several threads at once: it
 * remembers answers.
 */
struct estimator *estimator_create(const void *owner, const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_block *b, struct bands *bands,
	const struct alike *alike);

/* One more for another thread, with the same answers. */
struct estimator *estimator_clone(const void *owner, const struct estimator *e);

/*
 * Seconds of one run, at one place, of a kernel that does these n >= 1 ops (all different, in
 * ascending order) and writes the results of those for which out[i] is set; deterministic. One op
 * alone takes what the cost model says of it.
 */
double estimator_seconds(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out);

/* How many answers had which source, for reports. */
struct estimator_counts {
	uint64_t measured, network, analytic;
};
struct estimator_counts estimator_counts(const struct estimator *e);

#endif
