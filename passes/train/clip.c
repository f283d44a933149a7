/*
 * Clipping: gradients with a large norm are scaled down by a common factor (Pascanu et al., "On the
 * difficulty of training recurrent neural networks", algorithm 1), as ordinary ops:
 *
 *     n = sqrt(sum of all elements of all gradients, squared)        g := g * clip / max(n, clip)
 *
 * The norm is over all of them together, in any layout: squares of slices are summed over the
 * devices, copied ones are counted once (total.h). Squares are summed in f32, in f64 if a gradient
 * is f64. If a gradient is not finite, neither are some of the scaled ones: mixed precision then
 * skips the step.
 */
#include "ir/base/alloc.h"
#include "passes/train/optimizer.h"
#include "passes/train/total.h"

struct ir_value *
clip_factor(struct optimizer_step *s, struct ir_value *const *gradient, int n)
{
	struct ir_builder *b = &s->b;
	enum ir_dtype wide = IR_f32;
	struct ir_value **square = ARRAY_NEW(s->run->scratch, struct ir_value *, (size_t)n);

	for (int i = 0; i < n; i++)
		if (gradient[i]->type->dtype == IR_f64)
			wide = IR_f64;
	for (int i = 0; i < n; i++) {
		struct ir_value *g = total_convert(b, gradient[i], wide);
		square[i] = ir_build2(b, OP_mul, g, g);
	}
	if (b->failed)
		return NULL;
	struct ir_value *most = optimizer_constant(s, wide, pass_float(s->run, "clip"));
	struct ir_value *norm = ir_build1(b, OP_sqrt, total_of_all(b, square, n));
	struct ir_value *longer = ir_build2(b, OP_maximum, norm, most);
	return ir_build2(b, OP_div, most, longer);
}
