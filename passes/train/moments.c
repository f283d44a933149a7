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

struct ir_value *
moments_direction(struct optimizer_step *s, struct moments *c)
{
	const double beta1 = pass_float(s->run, "beta1"), beta2 = pass_float(s->run, "beta2");
	struct ir_builder *b = &s->b;

	if (!c->fix1 || c->fix1->type->dtype != s->w->type->dtype) {
		c->fix1 = moments_correction(s, beta1);
		c->fix2 = moments_correction(s, beta2);
	}
	struct ir_value *m = optimizer_average(s, "m", beta1, s->g);
	struct ir_value *v = optimizer_average(s, "v", beta2, ir_build2(b, OP_mul, s->g, s->g));
	struct ir_value *divisor = optimizer_root(s, ir_build2(b, OP_div, v, c->fix2));
	return ir_build2(b, OP_div, ir_build2(b, OP_div, m, c->fix1), divisor);
}

static struct ir_value *
plain_rule(struct optimizer_step *s, void *data)
{
	return moments_direction(s, data);
}

bool
moments_run(struct pass_run *run, struct ir_module *m, optimizer_rule *rule)
{
	struct moments moments = {0};

	return optimizer_run(run, m, rule ? rule : plain_rule, &moments);
}
