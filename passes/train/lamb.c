/*
 * lamb: You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes",
 * algorithm 2, as ordinary ops:
 *
 *     u := direction + weight_decay w                      (moments.h)
 *     w := w - lr * |w| / |u| * u
 *
 * The norms are those of the whole tensors, whatever their layouts (total.h); if one of them is 0,
 * as for a new bias, the ratio is 1. Requires the gradients of grad; removes their outputs.
 */
#include "passes/train/moments.h"
#include "passes/train/total.h"

static struct ir_value *
norm(struct optimizer_step *s, struct ir_value *x)
{
	struct ir_value *squares = total_of_squares(&s->b, x);

	return squares ? ir_build1(&s->b, OP_sqrt, squares) : NULL;
}

/* |w| / |u| in w's element type. */
static struct ir_value *
trust_ratio(struct optimizer_step *s, struct ir_value *u)
{
	struct ir_builder *b = &s->b;
	struct ir_value *w = norm(s, s->w), *n = norm(s, u);

	if (!w || !n)
		return NULL;
	enum ir_dtype wide = (enum ir_dtype)w->type->dtype;
	struct ir_value *zero = optimizer_constant(s, wide, 0),
			*one = optimizer_constant(s, wide, 1);
	struct ir_value *some_w = ir_build2(b, OP_gt, w, zero),
			*some_u = ir_build2(b, OP_gt, n, zero);
	struct ir_value *known = ir_build2(b, OP_and, some_w, some_u);
	struct ir_value *ratio = ir_build2(b, OP_div, w, n);
	ratio = ir_build(b, OP_select, (struct ir_value *[]){known, ratio, one}, 3, NULL, 0);
	return total_convert(b, ratio, (enum ir_dtype)s->w->type->dtype);
}

static struct ir_value *
rule(struct optimizer_step *s, void *data)
{
	moments_update(s, data, s->g);
	struct ir_value *u = optimizer_decay(s, moments_direction(s, data));
	struct ir_value *ratio = u ? trust_ratio(s, u) : NULL;

	return ratio ? ir_build2(&s->b, OP_mul, u, ratio) : NULL;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return moments_run(run, m, rule);
}

static const struct pass_option options[] = {
	OPTIMIZER_OPTIONS("0.001"),
	MOMENTS_OPTIONS("1e-6"),
	OPTIMIZER_DECAY("0.01"),
	{0},
};

const struct pass pass_lamb = {
	.name = "lamb",
	OPTIMIZER_FACTS,
	.summary = "LAMB: Adam with a per-parameter trust ratio",
	.options = options,
	.run = run,
};
