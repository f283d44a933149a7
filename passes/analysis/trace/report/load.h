/* Times of a training run as entries of a profile: dopt-trace load. */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_LOAD_H
#define PASSES_ANALYSIS_TRACE_REPORT_LOAD_H

#include "passes/analysis/profile/profile.h"
#include "passes/analysis/trace/report/measure.h"

/* Numbers of stored entries. */
struct trace_loaded {
	uint32_t kernels, collectives;
};

/*
 * Stores the times of the kernels and collectives of @main, under the keys that the cost model
 * looks up, and the overhead of a step, in one transaction, for a device and the selected backend.
 * Ops with the same key become one entry, their mean. False: reported.
 */
bool trace_load(struct profile *p, const char *device, const char *transport,
	const struct trace_measured *measured, const struct ir_module *m,
	struct trace_loaded *loaded);

#endif
