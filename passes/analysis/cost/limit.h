/* The bytes that a step may use on a device, the same for all passes. */
#ifndef PASSES_COST_LIMIT_H
#define PASSES_COST_LIMIT_H

#include "ir/cluster/cluster.h"
#include "passes/analysis/cost/cost.h"

#include <stdint.h>

/*
 * `budget` (pass_budget, or a pass's own option); where it is 0, the memory of the model's device
 * minus the fraction `margin`. UINT64_MAX if neither is known. The model may be NULL.
 */
uint64_t cost_memory_limit(const struct cost_model *model, uint64_t budget, double margin);

/* The option `margin` of passes that offer it. DeepCompile leaves a tenth free (section 5.2). */
#define COST_MARGIN_OPTION                                                                         \
	{                                                                                          \
		"margin", PASS_FLOAT, "0.1",                                                       \
			"without -budget: the share of the device's memory that is not used",      \
			NULL, 0, 1                                                                 \
	}

#endif
