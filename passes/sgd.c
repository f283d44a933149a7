/*
 * sgd: plain stochastic gradient descent, w := w - lr * g, as ordinary ops and an update.
 * Requires the gradients that grad leaves; takes their outputs away.
 */
#include "passes/optimizer.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	const double *lr = data;

	return ir_build2(&s->b, OP_sub, s->w, optimizer_scale(s, s->g, *lr));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	double lr = pass_float(run, "lr");

	return optimizer_run(run, m, rule, &lr);
}

static const struct pass_option options[] = {
	{"lr", PASS_FLOAT, "0.1", "learning rate", NULL, 0, 1e9},
	{0},
};

const struct pass pass_sgd = {
	.name = "sgd",
	.family = "train",
	.summary = "update every param by its gradient times a learning rate",
	.options = options,
	.needs = "grad",
	.provides = "optimizer,!grad",
	.conflicts = "optimizer",
	.run = run,
};
