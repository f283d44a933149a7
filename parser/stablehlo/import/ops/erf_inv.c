/*
 * erf_inv (CHLO, "erf_inv"), used for normal random numbers: the polynomials of Giles,
 * "Approximating the erfinv function", GPU Computing Gems (2011), of w = -log((1 - x)(1 + x)), one
 * near 0 and one for the ends, accurate to 3 units in the last place of f32. f16 and bf16 are
 * computed in f32; for f64 two steps of Newton's method follow, on y with erf(y) - x = 0.
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"

#include <math.h>

static struct ir_value *
build_polynomial(struct import *im, struct ir_value *w, const double *c, int n)
{
	const enum ir_dtype t = build_dtype(w);
	struct ir_value *p = import_scalar(im, t, c[0]);

	for (int i = 1; i < n; i++)
		p = build2(im, OP_add, build2(im, OP_mul, p, w), import_scalar(im, t, c[i]));
	return p;
}

/* y - (erf(y) - x) / (2 / sqrt(pi) exp(-y^2)) */
static struct ir_value *
build_newton(struct import *im, struct ir_value *y, struct ir_value *x)
{
	struct ir_builder *b = &im->builder;
	const enum ir_dtype t = build_dtype(x);
	struct ir_value *miss = build2(im, OP_sub, ir_build1(b, OP_erf, y), x);
	struct ir_value *slope =
		ir_build1(b, OP_exp, ir_build1(b, OP_neg, ir_build1(b, OP_square, y)));

	slope = build2(im, OP_mul, slope, import_scalar(im, t, 2 / sqrt(acos(-1))));
	return build2(im, OP_sub, y, build2(im, OP_div, miss, slope));
}

bool
import_erf_inv(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	static const double near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
		-4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727,
		1.50140941},
			    far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
				    0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
				    2.83297682};
	enum { N = sizeof near / sizeof *near };
	struct ir_builder *b = &im->builder;
	const enum ir_dtype result = (enum ir_dtype)in[0].type->dtype, t = build_wide(result);
	struct ir_value *x = build_convert(im, in[0].value, t);

	if (ir_dtype_class(result) != IR_FLOAT)
		return import_error(im, op, "takes floats, not %s", in[0].type->element);
	/* log(1 - x^2), exact near 0 */
	struct ir_value *w = ir_build1(b, OP_neg,
		ir_build1(b, OP_log1p, ir_build1(b, OP_neg, ir_build1(b, OP_square, x))));
	struct ir_value *is_near = build2(im, OP_lt, w, import_scalar(im, t, 5));
	struct ir_value *small = build2(im, OP_sub, w, import_scalar(im, t, 2.5));
	struct ir_value *large =
		build2(im, OP_sub, ir_build1(b, OP_sqrt, w), import_scalar(im, t, 3));
	if (!small || !large)
		return false;
	struct ir_value *y = build_select(im, is_near, build_polynomial(im, small, near, N),
		build_polynomial(im, large, far, N));
	y = build2(im, OP_mul, y, x);
	for (int i = 0; i < 2 && t == IR_f64 && y; i++)
		y = build_newton(im, y, x);
	/* At the ends it is infinite. */
	struct ir_value *end = build2(im, OP_eq, ir_build1(b, OP_abs, x), import_scalar(im, t, 1));
	y = build_select(im, end, build2(im, OP_mul, x, import_scalar(im, t, INFINITY)), y);
	return import_give(op, 0, build_convert(im, y, result), in[0].varies, out);
}
