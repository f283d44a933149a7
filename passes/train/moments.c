/* The direction of Adam. */
#include "passes/train/moments.h"

#include "passes/train/total.h"

#include <math.h>

struct ir_value *
moments_correction(struct optimizer_step *s, double beta)
{
	struct ir_value *power = optimizer_scale(s, optimizer_count(s), log(beta));
	struct ir_value *less = power ? ir_build1(&s->b, OP_expm1, power) : NULL;

	return less ? total_convert(&s->b, ir_build1(&s->b, OP_neg, less),
			      (enum ir_dtype)s->w->type->dtype)
		    : NULL;
}

void
moments_update(struct optimizer_step *s, struct moments *c, struct ir_value *g)
{
	const double beta1 = pass_float(s->run, "beta1"), beta2 = pass_float(s->run, "beta2");

	if (!c->fix1 || c->fix1->type->dtype != s->w->type->dtype) {
		c->fix1 = moments_correction(s, beta1);
		c->fix2 = moments_correction(s, beta2);
	}
	c->m = optimizer_average(s, "m", beta1, g);
	c->v = optimizer_average(s, "v", beta2, ir_build2(&s->b, OP_mul, g, g));
}

void
moments_largest(struct optimizer_step *s, struct moments *c)
{
	if (!pass_bool(s->run, "amsgrad"))
		return;
	struct ir_value *old = optimizer_state(s, "vmax");
	c->v = ir_build2(&s->b, OP_maximum, old, c->v);
	optimizer_update(s, old, c->v);
}

struct ir_value *
moments_divisor(struct optimizer_step *s, const struct moments *c)
{
	return optimizer_root(s, ir_build2(&s->b, OP_div, c->v, c->fix2));
}

struct ir_value *
moments_direction(struct optimizer_step *s, const struct moments *c)
{
	struct ir_value *divisor = moments_divisor(s, c);

	return ir_build2(&s->b, OP_div, ir_build2(&s->b, OP_div, c->m, c->fix1), divisor);
}

bool
moments_run(struct pass_run *run, struct ir_module *m, optimizer_rule *rule)
{
	struct moments moments = {0};

	return optimizer_run(run, m, rule, &moments);
}
