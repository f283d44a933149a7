/*
 * adamw: Adam with decoupled weight decay, Loshchilov and Hutter, "Decoupled Weight Decay
 * Regularization", algorithm 2, as ordinary ops:
 *
 *     w := w - lr * (direction + weight_decay w)           (moments.h)
 *
 * The decay does not enter the moments. It is multiplied by the rate, as in common implementations,
 * and so falls with it. Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/moments.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	moments_update(s, data, s->g);
	moments_largest(s, data);
	return optimizer_decay(s, moments_direction(s, data));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return moments_run(run, m, rule);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	MOMENTS_OPTIONS("1e-8"),
	OPTIMIZER_DECAY("0.01"),
	MOMENTS_LARGEST,
	{0},
};

const struct pass pass_adamw = {
	.name = "adamw",
	OPTIMIZER_FACTS,
	.summary = "AdamW: Adam with decoupled weight decay",
	.options = options,
	.run = run,
};
