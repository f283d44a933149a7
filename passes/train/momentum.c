/*
 * momentum: gradient descent with a velocity, the heavy ball of Polyak, "Some methods of speeding
 * up the convergence of iteration methods", as ordinary ops.
 *
 *     g := g + weight_decay w    v := momentum v + (1 - dampening) g    w := w - lr v
 *
 * At the first step v is g, whatever the dampening, as in PyTorch.
 *
 * With nesterov the step is taken as if the velocity had been applied already (Sutskever et al.,
 * "On the importance of initialization and momentum in deep learning"): w := w - lr (g + momentum
 * v). Each param gets a state momentum.v.w of its own type and layout. Requires the gradients of
 * grad; removes their outputs.
 */
#include "passes/train/optimizer.h"

/* g at the first step, (1 - dampening) g at others. */
static struct ir_value *
dampened(struct optimizer_step *s, struct ir_value *g, struct ir_value **factor)
{
	const double dampening = pass_float(s->run, "dampening");
	const enum ir_dtype t = (enum ir_dtype)s->w->type->dtype;

	if (dampening == 0)
		return g;
	if (!*factor || (*factor)->type->dtype != t) {
		struct ir_value *count = optimizer_count(s);
		struct ir_value *one = optimizer_constant(s, (enum ir_dtype)count->type->dtype, 1);
		struct ir_value *first = ir_build2(&s->b, OP_eq, count, one);
		*factor = ir_build(&s->b, OP_select,
			(struct ir_value *[]){first, optimizer_constant(s, t, 1),
				optimizer_constant(s, t, 1 - dampening)},
			3, NULL, 0);
	}
	return ir_build2(&s->b, OP_mul, g, *factor);
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double momentum = pass_float(s->run, "momentum");
	struct ir_value *g = optimizer_decay(s, s->g);
	struct ir_value *old = optimizer_state(s, "v");
	struct ir_value *v =
		ir_build2(&s->b, OP_add, optimizer_scale(s, old, momentum), dampened(s, g, data));

	optimizer_update(s, old, v);
	if (!pass_bool(s->run, "nesterov"))
		return v;
	return ir_build2(&s->b, OP_add, g, optimizer_scale(s, v, momentum));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct ir_value *factor = NULL;

	if (pass_bool(run, "nesterov") && pass_float(run, "dampening") != 0) {
		diag_error(run->ctx->diag, pass_option_loc(run, "dampening"),
			"momentum: 'nesterov' needs dampening=0");
		return false;
	}
	return optimizer_run(run, m, rule, &factor);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.1"),
	{"momentum", PASS_FLOAT, "0.9", "momentum coefficient: decay rate of the velocity", NULL, 0,
		1},
	{"nesterov", PASS_BOOL, "false", "Nesterov momentum (look-ahead gradient)", NULL, 0, 0},
	{"dampening", PASS_FLOAT, "0", "part of the gradient that the velocity does not take up",
		NULL, 0, 1},
	OPTIMIZER_L2("0"),
	{0},
};

const struct pass pass_momentum = {
	.name = "momentum",
	OPTIMIZER_FACTS,
	.summary = "SGD with momentum",
	.options = options,
	.run = run,
};
