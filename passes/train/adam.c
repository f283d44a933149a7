/*
 * adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1, as ordinary ops:
 *
 *     g := g + weight_decay w        w := w - lr * direction                    (moments.h)
 *
 * Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/moments.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	moments_update(s, data, optimizer_decay(s, s->g));
	moments_largest(s, data);
	return moments_direction(s, data);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return moments_run(run, m, rule);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	MOMENTS_OPTIONS("1e-8"),
	OPTIMIZER_L2("0"),
	MOMENTS_LARGEST,
	{0},
};

const struct pass pass_adam = {
	.name = "adam",
	OPTIMIZER_FACTS,
	.summary = "Adam, with the two moments of each gradient as states",
	.options = options,
	.run = run,
};
