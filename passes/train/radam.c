/*
 * radam: Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", algorithm 2, as
 * ordinary ops, with m and v of moments.h and g + weight_decay w for g:
 *
 *     r_max = 2 / (1 - beta2) - 1              r = r_max - 2 t beta2^t / (1 - beta2^t)
 *     direction = m / (1 - beta1^t)                                                      if r <= 5
 *     direction = m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(v) + eps)
 *                   * sqrt((r - 4) (r - 2) r_max / ((r_max - 4) (r_max - 2) r))          if r > 5
 *
 * r, a difference of two large numbers, is computed in f64. Requires the gradients of grad; removes
 * their outputs.
 */
#include "passes/train/moments.h"
#include "passes/train/total.h"

#include <math.h>

static const double least = 5; /* of r: with less the variance of the step is not bounded */

struct radam {
	struct moments moments;
	struct ir_value *certain; /* bool[]: r > 5; NULL: not made */
	struct ir_value *factor;  /* the two roots, f64 */
};

static struct ir_value *
start(struct optimizer_step *s, struct radam *c)
{
	const double beta2 = pass_float(s->run, "beta2"), most = 2 / (1 - beta2) - 1;
	struct ir_builder *b = &s->b;
	struct ir_value *t = total_convert(b, optimizer_count(s), IR_f64);
	struct ir_value *fix = ir_build1(b, OP_expm1, optimizer_scale(s, t, log(beta2)));

	fix = optimizer_scale(s, fix, -1); /* 1 - beta2^t */
	struct ir_value *past = ir_build2(b, OP_div, t, fix);
	/* 2 t beta2^t / (1 - beta2^t) = 2 t / (1 - beta2^t) - 2 t */
	past = optimizer_scale(s, ir_build2(b, OP_sub, past, t), -2);
	struct ir_value *r = optimizer_shift(s, past, most);
	struct ir_value *bound = optimizer_constant(s, IR_f64, least);
	c->certain = ir_build2(b, OP_gt, r, bound);
	r = ir_build2(b, OP_maximum, r, bound); /* no root of a negative number */
	struct ir_value *square = ir_build2(b, OP_mul, optimizer_shift(s, r, -4),
		ir_build2(b, OP_div, optimizer_shift(s, r, -2), r));
	square = ir_build2(b, OP_mul, square, fix);
	return ir_build1(b, OP_sqrt, optimizer_scale(s, square, most / ((most - 4) * (most - 2))));
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	struct radam *c = data;
	struct ir_builder *b = &s->b;
	const bool decoupled = pass_bool(s->run, "decoupled");

	if (!c->certain)
		c->factor = start(s, c);
	moments_update(s, &c->moments, decoupled ? s->g : optimizer_decay(s, s->g));
	struct ir_value *mean = ir_build2(b, OP_div, c->moments.m, c->moments.fix1);
	struct ir_value *factor = total_convert(b, c->factor, (enum ir_dtype)s->w->type->dtype);
	struct ir_value *full = ir_build2(
		b, OP_div, ir_build2(b, OP_mul, mean, factor), optimizer_root(s, c->moments.v));
	struct ir_value *direction =
		ir_build(b, OP_select, (struct ir_value *[]){c->certain, full, mean}, 3, NULL, 0);
	return decoupled ? optimizer_decay(s, direction) : direction;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct radam c = {0};

	return optimizer_run(run, m, rule, &c);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	MOMENTS_OPTIONS("1e-8"),
	OPTIMIZER_DECOUPLED("0"),
	{0},
};

const struct pass pass_radam = {
	.name = "radam",
	OPTIMIZER_FACTS,
	.summary =
		"RAdam: Adam whose first steps are those of momentum, until the second moment is known",
	.options = options,
	.run = run,
};
