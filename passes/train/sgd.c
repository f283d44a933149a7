/*
 * sgd: plain stochastic gradient descent, w := w - lr * (g + weight_decay w), as ordinary ops and
 * an update. Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/optimizer.h"

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	(void)data;
	return optimizer_decay(s, s->g);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return optimizer_run(run, m, rule, NULL);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.1"),
	OPTIMIZER_L2("0"),
	{0},
};

const struct pass pass_sgd = {
	.name = "sgd",
	OPTIMIZER_FACTS,
	.summary = "SGD: update every param by its gradient times the learning rate",
	.options = options,
	.run = run,
};
