/*
 * lion: Chen et al., "Symbolic Discovery of Optimization Algorithms", program 1, as ordinary ops:
 *
 *     direction = sign(beta1 m + (1 - beta1) g) + weight_decay w
 *     m := beta2 m + (1 - beta2) g              w := w - lr direction
 *
 * Each param gets one state, lion.m.w, of its own type and layout. Requires the gradients of grad;
 * removes their outputs.
 */
#include "passes/train/optimizer.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double beta1 = pass_float(s->run, "beta1"), beta2 = pass_float(s->run, "beta2");
	struct ir_value *m = optimizer_state(s, "m");
	struct ir_value *mix = optimizer_mix(s, m, beta1, s->g);

	(void)data;
	optimizer_update(s, m, optimizer_mix(s, m, beta2, s->g));
	return optimizer_decay(s, ir_build1(&s->b, OP_sign, mix));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return optimizer_run(run, m, rule, NULL);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.0001"),
	{"beta1", PASS_FLOAT, "0.9", "weight of the momentum in the sign", NULL, 0, 1},
	{"beta2", PASS_FLOAT, "0.99", "decay rate of the momentum, the mean of gradients", NULL, 0,
		1},
	OPTIMIZER_DECAY("0"),
	{0},
};

const struct pass pass_lion = {
	.name = "lion",
	OPTIMIZER_FACTS,
	.summary = "Lion: the sign of a momentum, with half of Adam's states",
	.options = options,
	.run = run,
};
