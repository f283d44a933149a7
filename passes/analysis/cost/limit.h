/* Bytes that a step may take on a device, as all passes see it. */
#ifndef PASSES_COST_LIMIT_H
#define PASSES_COST_LIMIT_H

#include "ir/cluster/cluster.h"
#include "passes/analysis/cost/cost.h"

#include <stdint.h>

/*
 * `budget` (pass_budget, or a pass's own option), or, where it is 0, the memory of the device of the
 * model but for a share of it, `margin`. UINT64_MAX: neither is known. The model may be NULL.
 */
uint64_t cost_memory_limit(const struct cost_model *model, uint64_t budget, double margin);

/* The option `margin` of passes that ask for it. DeepCompile leaves a tenth free (section 5.2). */
#define COST_MARGIN_OPTION                                                                         \
	{                                                                                          \
		"margin", PASS_FLOAT, "0.1",                                                       \
			"without -budget: the share of the device's memory that is not used",      \
			NULL, 0, 1                                                                 \
	}

#endif
