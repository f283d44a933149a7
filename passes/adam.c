/*
 * adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1, as ordinary ops.
 *
 *     t := t + 1
 *     m := beta1 m + (1 - beta1) g          v := beta2 v + (1 - beta2) g^2
 *     w := w - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * Each param gets states adam.m.w and adam.v.w of its own type and layout; the step count (a
 * state that the first param carries) and the two corrections are made once. Requires the gradients
 * that grad leaves; takes their outputs away.
 */
#include "passes/optimizer.h"

struct adam {
	double lr, beta1, beta2, eps;
	struct ir_value *fix1,
		*fix2; /* 1 - beta^t, in the element type of the params made so far */
};

/* 1 - beta^t as a scalar of the param's element type. */
static struct ir_value *
correction(struct optimizer_step *s, struct ir_value *t, double beta)
{
	struct ir_builder *b = &s->b;
	enum ir_dtype dtype = (enum ir_dtype)s->w->type->dtype;
	struct ir_value *power = ir_build2(b, OP_pow, ir_build_scalar(b, dtype, beta), t);

	return ir_build2(b, OP_sub, ir_build_scalar(b, dtype, 1), power);
}

/* The count of steps belongs to all params of one element type; the first of them carries it. */
static void
start(struct optimizer_step *s, struct adam *a)
{
	struct ir_value *t = optimizer_state(s, "t", true), *next = optimizer_shift(s, t, 1);

	ir_build(&s->b, OP_update, (struct ir_value *[]){t, next}, 2, NULL, 0);
	a->fix1 = correction(s, next, a->beta1);
	a->fix2 = correction(s, next, a->beta2);
}

/* beta x + (1 - beta) y, and the update of the state x. */
static struct ir_value *
moving_average(struct optimizer_step *s, const char *what, double beta, struct ir_value *y)
{
	struct ir_value *x = optimizer_state(s, what, false);
	struct ir_value *old = optimizer_scale(s, x, beta),
			*fresh = optimizer_scale(s, y, 1 - beta);
	struct ir_value *new = ir_build2(&s->b, OP_add, old, fresh);

	ir_build(&s->b, OP_update, (struct ir_value *[]){x, new}, 2, NULL, 0);
	return new;
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	struct adam *a = data;
	struct ir_builder *b = &s->b;

	if (!a->fix1 || a->fix1->type->dtype != s->w->type->dtype)
		start(s, a);
	struct ir_value *m = moving_average(s, "m", a->beta1, s->g);
	struct ir_value *v = moving_average(s, "v", a->beta2, ir_build2(b, OP_mul, s->g, s->g));
	struct ir_value *root = ir_build1(b, OP_sqrt, ir_build2(b, OP_div, v, a->fix2));
	struct ir_value *divisor = optimizer_shift(s, root, a->eps),
			*mean = ir_build2(b, OP_div, m, a->fix1);
	struct ir_value *step = ir_build2(b, OP_div, mean, divisor);
	return ir_build2(b, OP_sub, s->w, optimizer_scale(s, step, a->lr));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct adam a = {.lr = pass_float(run, "lr"),
		.beta1 = pass_float(run, "beta1"),
		.beta2 = pass_float(run, "beta2"),
		.eps = pass_float(run, "eps")};

	return optimizer_run(run, m, rule, &a);
}

/* Defaults: the paper's. */
static const struct pass_option options[] = {
	{"lr", PASS_FLOAT, "0.001", "learning rate", NULL, 0, 1e9},
	{"beta1", PASS_FLOAT, "0.9", "decay of the mean of gradients", NULL, 0, 1},
	{"beta2", PASS_FLOAT, "0.999", "decay of the mean of squared gradients", NULL, 0, 1},
	{"eps", PASS_FLOAT, "1e-8", "added to the root, against division by zero", NULL, 0, 1},
	{0},
};

const struct pass pass_adam = {
	.name = "adam",
	.family = "train",
	.summary = "update every param by Adam, with its two moments as states",
	.options = options,
	.needs = "grad",
	.provides = "optimizer,!grad",
	.conflicts = "optimizer",
	.run = run,
};
