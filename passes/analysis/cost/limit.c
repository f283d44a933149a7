/* The memory limit of all passes that trade memory for time. */
#include "passes/analysis/cost/limit.h"

uint64_t
cost_memory_limit(const struct cost_model *model, uint64_t budget, double margin)
{
	if (budget)
		return budget;
	if (!model || !cost_model_is_described(model))
		return UINT64_MAX;
	return (uint64_t)(cost_model_device(model)->memory * (1 - margin));
}
