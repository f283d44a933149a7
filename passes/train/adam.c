/*
 * adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1, as ordinary ops:
 *
 *     w := w - lr * direction                    (moments.h)
 *
 * Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/moments.h"

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return moments_run(run, m, NULL);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	MOMENTS_OPTIONS("1e-8"),
	{0},
};

const struct pass pass_adam = {
	.name = "adam",
	OPTIMIZER_FACTS,
	.summary = "Adam, with the two moments of each gradient as states",
	.options = options,
	.run = run,
};
