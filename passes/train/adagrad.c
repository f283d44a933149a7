/*
 * adagrad: Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic
 * Optimization", diagonal form, as ordinary ops:
 *
 *     g := g + weight_decay w        v := v + g^2        w := w - lr g / (sqrt(v) + eps)
 *
 * Each param gets a state adagrad.v.w of its own type and layout. Requires the gradients of grad;
 * removes their outputs.
 */
#include "passes/train/optimizer.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	struct ir_builder *b = &s->b;
	struct ir_value *g = optimizer_decay(s, s->g), *old = optimizer_state(s, "v");
	struct ir_value *v = ir_build2(b, OP_add, old, ir_build2(b, OP_mul, g, g));

	(void)data;
	optimizer_update(s, old, v);
	return ir_build2(b, OP_div, g, optimizer_root(s, v));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return optimizer_run(run, m, rule, NULL);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.01"),
	{"eps", PASS_FLOAT, "1e-10", "added to the denominator, against division by zero", NULL, 0,
		1},
	OPTIMIZER_L2("0"),
	{0},
};

const struct pass pass_adagrad = {
	.name = "adagrad",
	OPTIMIZER_FACTS,
	.summary = "Adagrad: gradients divided by the root of the sum of their squares",
	.options = options,
	.run = run,
};
