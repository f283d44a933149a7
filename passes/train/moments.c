/* The direction of Adam. */
#include "passes/train/moments.h"

#include "passes/train/total.h"

#include <math.h>

/* 1 - beta^t = -expm1(t log beta), which loses no digits at the first steps, as a scalar of the
 * param's element type, computed at least in f32. */
static struct ir_value *
correction(struct optimizer_step *s, double beta)
{
	struct ir_value *power = optimizer_scale(s, optimizer_count(s), log(beta));
	struct ir_value *less = power ? ir_build1(&s->b, OP_expm1, power) : NULL;

	return less ? total_convert(&s->b, ir_build1(&s->b, OP_neg, less),
			      (enum ir_dtype)s->w->type->dtype)
		    : NULL;
}

/* beta x + (1 - beta) y, and the update of the state x. */
static struct ir_value *
moving_average(struct optimizer_step *s, const char *what, double beta, struct ir_value *y)
{
	struct ir_value *x = optimizer_state(s, what);
	struct ir_value *old = optimizer_scale(s, x, beta),
			*fresh = optimizer_scale(s, y, 1 - beta);
	struct ir_value *new = ir_build2(&s->b, OP_add, old, fresh);

	optimizer_update(s, x, new);
	return new;
}

struct ir_value *
moments_direction(struct optimizer_step *s, struct moments *c)
{
	const double beta1 = pass_float(s->run, "beta1"), beta2 = pass_float(s->run, "beta2");
	struct ir_builder *b = &s->b;

	if (!c->fix1 || c->fix1->type->dtype != s->w->type->dtype) {
		c->fix1 = correction(s, beta1);
		c->fix2 = correction(s, beta2);
	}
	struct ir_value *m = moving_average(s, "m", beta1, s->g);
	struct ir_value *v = moving_average(s, "v", beta2, ir_build2(b, OP_mul, s->g, s->g));
	struct ir_value *root = ir_build1(b, OP_sqrt, ir_build2(b, OP_div, v, c->fix2));
	struct ir_value *divisor = optimizer_shift(s, root, pass_float(s->run, "eps"));
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
