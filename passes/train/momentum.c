/*
 * momentum: gradient descent with a velocity, the heavy ball of Polyak, "Some methods of speeding
 * up the convergence of iteration methods", as ordinary ops.
 *
 *     g := g + weight_decay w        v := momentum v + g        w := w - lr v
 *
 * With nesterov the step is taken as if the velocity had been applied already (Sutskever et al.,
 * "On the importance of initialization and momentum in deep learning"): w := w - lr (g + momentum
 * v). Each param gets a state momentum.v.w of its own type and layout. Requires the gradients of
 * grad; removes their outputs.
 */
#include "passes/train/optimizer.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double momentum = pass_float(s->run, "momentum");
	struct ir_value *g = optimizer_decay(s, s->g);
	struct ir_value *old = optimizer_state(s, "v");
	struct ir_value *v = ir_build2(&s->b, OP_add, optimizer_scale(s, old, momentum), g);

	(void)data;
	optimizer_update(s, old, v);
	if (!pass_bool(s->run, "nesterov"))
		return v;
	return ir_build2(&s->b, OP_add, g, optimizer_scale(s, v, momentum));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return optimizer_run(run, m, rule, NULL);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.1"),
	{"momentum", PASS_FLOAT, "0.9", "momentum coefficient: decay rate of the velocity", NULL, 0,
		1},
	{"nesterov", PASS_BOOL, "false", "Nesterov momentum (look-ahead gradient)", NULL, 0, 0},
	OPTIMIZER_DECAY("0"),
	{0},
};

const struct pass pass_momentum = {
	.name = "momentum",
	OPTIMIZER_FACTS,
	.summary = "SGD with momentum",
	.options = options,
	.run = run,
};
