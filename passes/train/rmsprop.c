/*
 * rmsprop: Tieleman and Hinton, "Lecture 6.5 - RMSProp", as ordinary ops; centered as in Graves,
 * "Generating Sequences With Recurrent Neural Networks", equations 38 to 45:
 *
 *     g := g + weight_decay w                    v := alpha v + (1 - alpha) g^2
 *     direction = g / (sqrt(v) + eps)            v - m^2 in place of v, m := alpha m + (1 - alpha) g
 *     u := momentum u + direction                w := w - lr u
 *
 * Each param gets a state rmsprop.v.w of its own type and layout, one rmsprop.m.w with `centered`,
 * and one rmsprop.u.w with momentum. Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/optimizer.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double alpha = pass_float(s->run, "alpha"), momentum = pass_float(s->run, "momentum");
	struct ir_builder *b = &s->b;
	struct ir_value *g = optimizer_decay(s, s->g);
	struct ir_value *v = optimizer_average(s, "v", alpha, ir_build2(b, OP_mul, g, g));

	(void)data;
	if (pass_bool(s->run, "centered")) {
		struct ir_value *m = optimizer_average(s, "m", alpha, g);
		v = ir_build2(b, OP_sub, v, ir_build2(b, OP_mul, m, m));
		/* rounding can make the difference negative */
		v = ir_build2(b, OP_maximum, v,
			optimizer_constant(s, (enum ir_dtype)s->w->type->dtype, 0));
	}
	struct ir_value *direction = ir_build2(b, OP_div, g, optimizer_root(s, v));
	if (momentum == 0)
		return direction;
	struct ir_value *old = optimizer_state(s, "u");
	struct ir_value *u = ir_build2(b, OP_add, optimizer_scale(s, old, momentum), direction);
	optimizer_update(s, old, u);
	return u;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return optimizer_run(run, m, rule, NULL);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.01"),
	{"alpha", PASS_FLOAT, "0.99", "decay rate of the mean of squared gradients", NULL, 0, 1},
	{"eps", PASS_FLOAT, "1e-8", "added to the denominator, against division by zero", NULL, 0,
		1},
	{"momentum", PASS_FLOAT, "0", "momentum coefficient: decay rate of the velocity", NULL, 0,
		1},
	{"centered", PASS_BOOL, "false", "divide by the standard deviation of gradients", NULL, 0,
		0},
	OPTIMIZER_L2("0"),
	{0},
};

const struct pass pass_rmsprop = {
	.name = "rmsprop",
	OPTIMIZER_FACTS,
	.summary = "RMSProp: gradients divided by the root of a mean of their squares",
	.options = options,
	.run = run,
};
