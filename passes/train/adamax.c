/*
 * adamax: Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 2, as ordinary ops:
 *
 *     g := g + weight_decay w
 *     m := beta1 m + (1 - beta1) g              u := max(beta2 u, |g| + eps)
 *     w := w - lr (m / (1 - beta1^t)) / u
 *
 * Each param gets states adamax.m.w and adamax.u.w of its own type and layout. Requires the
 * gradients of grad; removes their outputs.
 */
#include "passes/train/moments.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double beta1 = pass_float(s->run, "beta1"), beta2 = pass_float(s->run, "beta2");
	struct ir_builder *b = &s->b;
	struct moments *c = data;

	if (!c->fix1 || c->fix1->type->dtype != s->w->type->dtype)
		c->fix1 = moments_correction(s, beta1);
	struct ir_value *g = optimizer_decay(s, s->g);
	struct ir_value *m = optimizer_average(s, "m", beta1, g), *old = optimizer_state(s, "u");
	struct ir_value *size =
		optimizer_shift(s, ir_build1(b, OP_abs, g), pass_float(s->run, "eps"));
	struct ir_value *u = ir_build2(b, OP_maximum, optimizer_scale(s, old, beta2), size);

	optimizer_update(s, old, u);
	return ir_build2(b, OP_div, ir_build2(b, OP_div, m, c->fix1), u);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return moments_run(run, m, rule);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.002"),
	MOMENTS_OPTIONS("1e-8"),
	OPTIMIZER_L2("0"),
	{0},
};

const struct pass pass_adamax = {
	.name = "adamax",
	OPTIMIZER_FACTS,
	.summary = "AdaMax: Adam with the largest of decayed gradients as the divisor",
	.options = options,
	.run = run,
};
