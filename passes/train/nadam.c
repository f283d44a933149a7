/*
 * nadam: Dozat, "Incorporating Nesterov Momentum into Adam", with the momentum that rises over time
 * (algorithm 8) and as ordinary ops:
 *
 *     mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2)       p_t = mu_1 mu_2 ... mu_t
 *     m := beta1 m + (1 - beta1) g                         v := beta2 v + (1 - beta2) g^2
 *     direction = ((1 - mu_t) / (1 - p_t) g + mu_t+1 / (1 - p_t+1) m) / (sqrt(v / (1 - beta2^t)) + eps)
 *
 * with g + weight_decay w for g. The state nadam.rest is 1 - p_t, which begins as 0 and loses no
 * digits; m and v are those of moments.h. Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/moments.h"
#include "passes/train/total.h"

#include <math.h>

struct nadam {
	struct moments moments;
	struct ir_value *mu, *next; /* mu_t, mu_t+1; NULL: not made. f64 for an f64 first param */
	struct ir_value *rest;      /* 1 - p_t, in the same type */
};

/* mu at the step after `ahead` more. */
static struct ir_value *
momentum_at(struct optimizer_step *s, double ahead)
{
	const double fall = log(0.96) * pass_float(s->run, "momentum_decay");
	struct ir_value *t = optimizer_shift(s, optimizer_count(s), ahead);
	struct ir_value *power = ir_build1(&s->b, OP_exp, optimizer_scale(s, t, fall));
	const double beta1 = pass_float(s->run, "beta1");

	return optimizer_shift(s, optimizer_scale(s, power, -beta1 / 2), beta1);
}

/* 1 - mu. */
static struct ir_value *
less(struct optimizer_step *s, struct ir_value *mu)
{
	return optimizer_shift(s, optimizer_scale(s, mu, -1), 1);
}

/* 1 - p mu, of 1 - p: (1 - p) mu + (1 - mu). */
static struct ir_value *
rest_of(struct optimizer_step *s, struct ir_value *rest, struct ir_value *mu)
{
	return ir_build2(&s->b, OP_add, ir_build2(&s->b, OP_mul, rest, mu), less(s, mu));
}

static void
start(struct optimizer_step *s, struct nadam *c)
{
	struct ir_value *old = optimizer_shared_state(s, "rest");

	c->mu = momentum_at(s, 0);
	c->next = momentum_at(s, 1);
	c->rest = rest_of(s, old, c->mu);
	optimizer_update(s, old, c->rest);
}

/* x * numerator / denominator, which are scalars. */
static struct ir_value *
weighted(struct optimizer_step *s, struct ir_value *x, struct ir_value *numerator,
	struct ir_value *denominator)
{
	struct ir_value *factor = ir_build2(&s->b, OP_div, numerator, denominator);

	return ir_build2(
		&s->b, OP_mul, x, total_convert(&s->b, factor, (enum ir_dtype)s->w->type->dtype));
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	struct nadam *c = data;
	const bool decoupled = pass_bool(s->run, "decoupled");
	struct ir_value *g = decoupled ? s->g : optimizer_decay(s, s->g);

	if (!c->mu)
		start(s, c);
	moments_update(s, &c->moments, g);
	struct ir_value *now = weighted(s, g, less(s, c->mu), c->rest);
	struct ir_value *past = weighted(s, c->moments.m, c->next, rest_of(s, c->rest, c->next));
	struct ir_value *direction = ir_build2(&s->b, OP_div, ir_build2(&s->b, OP_add, now, past),
		moments_divisor(s, &c->moments));
	return decoupled ? optimizer_decay(s, direction) : direction;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct nadam c = {0};

	return optimizer_run(run, m, rule, &c);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.002"),
	MOMENTS_OPTIONS("1e-8"),
	{"momentum_decay", PASS_FLOAT, "0.004", "how fast the momentum rises to beta1", NULL, 0,
		1e9},
	OPTIMIZER_DECOUPLED("0"),
	{0},
};

const struct pass pass_nadam = {
	.name = "nadam",
	OPTIMIZER_FACTS,
	.summary = "NAdam: Adam with Nesterov momentum",
	.options = options,
	.run = run,
};
