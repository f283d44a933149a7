/*
 * adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1, as ordinary ops:
 *
 *     w := w - lr * direction                    (passes/moments.h)
 *
 * Requires the gradients that grad leaves; takes their outputs away.
 */
#include "passes/moments.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	return moments_direction(s, data);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct moments moments = {0};

	return optimizer_run(run, m, rule, &moments);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	MOMENTS_OPTIONS("1e-8"),
	{0},
};

const struct pass pass_adam = {
	.name = "adam",
	.family = "train",
	.summary = "update every param by Adam, with its two moments as states",
	.options = options,
	.needs = "grad",
	.provides = "optimizer,!grad",
	.conflicts = "optimizer",
	.run = run,
};
