/*
 * Element types that dopt has not: floats of 8 bits are kept in f32, integers of 2 and 4 bits in i8
 * and u8. What an op computes is rounded, or wrapped, to the type that is written.
 */
#include "parser/stablehlo/import/build/template.h"
#include "parser/stablehlo/mlir/number.h"

#include <math.h>
#include <string.h>

bool
import_is_narrow(const struct mlir_type *t)
{
	if (t->kind != MLIR_TENSOR || t->dtype < 0)
		return false;
	const struct mlir_element e = mlir_element_of(t->element);
	return e.bits < 8 * (unsigned)ir_dtype_bytes((enum ir_dtype)t->dtype) &&
	       (e.kind == ELEMENT_FLOAT || e.kind == ELEMENT_INT || e.kind == ELEMENT_UINT);
}

static struct ir_value *
round_float(struct import *im, struct ir_value *v, const struct mlir_element *e)
{
	const double last = ldexp(1, 1 - e->bias - (int)e->mantissa); /* of the smallest numbers */
	const struct template_number number[] = {{"P", e->mantissa}, {"L", last},
		{"F", ldexp(1, 1 - e->bias)}, {"H", mlir_float_largest(e)},
		{"I", e->special == SPECIAL_IEEE}};
	const struct template_call call = {.function = "narrow",
		.type = IR_f32,
		.operand = &v,
		.noperands = 1,
		.nresults = 1,
		.number = number,
		.nnumbers = sizeof number / sizeof *number};

	if (!template_build(im, &call, &v))
		return NULL;
	if (e->special != SPECIAL_FNUZ)
		return v;
	/* -0 + 0 is 0 */
	return ir_build2(&im->builder, OP_add, v, ir_build_scalar(&im->builder, IR_f32, 0));
}

/* The lowest bits, filled up with the sign or with zeros. */
static struct ir_value *
wrap_integer(struct import *im, struct ir_value *v, const struct mlir_element *e)
{
	struct ir_value *by = import_integer(im, (enum ir_dtype)v->type->dtype, 8 - e->bits);

	v = by ? ir_build2(&im->builder, OP_shift_left, v, by) : NULL;
	return v ? ir_build2(&im->builder,
			   e->kind == ELEMENT_UINT ? OP_shift_right_logical : OP_shift_right, v, by)
		 : NULL;
}

struct ir_value *
import_narrow(struct import *im, struct ir_value *v, const struct mlir_type *t)
{
	const struct mlir_element e = mlir_element_of(t->element);

	return e.kind == ELEMENT_FLOAT ? round_float(im, v, &e) : wrap_integer(im, v, &e);
}
