/* Functions of CHLO that are not scalar functions of the IR: most are templates. */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/template.h"
#include "parser/stablehlo/import/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Floats of one type. */
static bool
check_floats(struct import *im, const struct mlir_op *op, const struct import_value *in)
{
	for (uint32_t i = 0; i < op->noperands; i++) {
		if (ir_dtype_class((enum ir_dtype)in[i].type->dtype) != IR_FLOAT)
			return import_error(im, op, "takes floats, not %s", in[i].type->element);
		if (!import_same_type(in[0].type, in[i].type))
			return import_error(im, op, "operands 1 and %u differ: %s and %s", i + 1,
				in[0].type->text, in[i].type->text);
	}
	return true;
}

bool
import_template(struct import *im, const struct import_row *row, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	struct import_value v[TEMPLATE_MAX_OPERANDS] = {0};
	struct ir_value *x[TEMPLATE_MAX_OPERANDS];

	if (!check_floats(im, op, in))
		return false;
	memcpy(v, in, op->noperands * sizeof *v);
	import_align(im, v, (int)op->noperands, true);
	for (uint32_t i = 0; i < op->noperands; i++)
		x[i] = v[i].value;
	struct ir_value *y[TEMPLATE_MAX_RESULTS];
	if (!template_pointwise(
		    im, row->template, row->table, x, (int)op->noperands, y, (int)op->nresults))
		return false;
	for (uint32_t i = 0; i < op->nresults; i++)
		out[i] = import_result(op, (int)i, y[i], v[0].varies);
	return true;
}

/* x == inf, or -inf. */
static bool
is_number(struct import *im, const struct mlir_op *op, const struct import_value *in, double number,
	struct import_value *out)
{
	if (!check_floats(im, op, in))
		return false;
	struct ir_value *to = import_scalar(im, (enum ir_dtype)in[0].type->dtype, number);
	struct ir_value *y = build2(im, OP_eq, in[0].value, to);
	return import_give(op, 0, y, in[0].varies, out);
}

bool
import_is_pos_inf(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return is_number(im, op, in, INFINITY, out);
}

bool
import_is_neg_inf(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	return is_number(im, op, in, -INFINITY, out);
}

static struct ir_value *
build_bitcast(struct import *im, struct ir_value *v, enum ir_dtype t)
{
	const struct ir_attr to = ir_make_dtype(im->module->ctx, "to", t);

	return v ? ir_build(&im->builder, OP_bitcast, &v, 1, &to, 1) : NULL;
}

/*
 * The number next to x towards y, as C's nextafter: numbers of one sign are ordered as their bits
 * are as integers; away from zero is one more, towards it one less, and next to zero is the
 * smallest number with the sign of y.
 */
bool
import_next_after(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	static const enum ir_dtype integer[] = {[2] = IR_i16, [4] = IR_i32, [8] = IR_i64};
	struct import_value v[2] = {in[0], in[1]};
	struct ir_builder *b = &im->builder;

	if (!check_floats(im, op, in))
		return false;
	import_align(im, v, 2, true);
	const enum ir_dtype t = (enum ir_dtype)in[0].type->dtype, i = integer[ir_dtype_bytes(t)];
	struct ir_value *x = v[0].value, *y = v[1].value, *zero = import_scalar(im, t, 0);
	struct ir_value *bits = build_bitcast(im, x, i), *none = import_integer(im, i, 0);
	struct ir_value *one = import_integer(im, i, 1), *less = import_integer(im, i, -1);
	/* Signs by bits: -0 has one. */
	struct ir_value *x_negative = build2(im, OP_lt, bits, none);
	struct ir_value *y_negative = build2(im, OP_lt, build_bitcast(im, y, i), none);
	struct ir_value *up = build2(im, OP_lt, x, y);
	struct ir_value *outwards = build2(im, OP_xor, up, x_negative);
	struct ir_value *next = build2(im, OP_add, bits, build_select(im, outwards, one, less));
	const int64_t sign_bit = (int64_t)((uint64_t)-1 << (8 * ir_dtype_bytes(t) - 1));
	struct ir_value *least = build_select(
		im, y_negative, import_integer(im, i, sign_bit + 1), import_integer(im, i, 1));
	struct ir_value *is_zero = build2(im, OP_eq, x, zero);
	next = build_bitcast(im, build_select(im, is_zero, least, next), t);
	next = build_select(im, build2(im, OP_eq, x, y), y, next);
	struct ir_value *nan =
		build2(im, OP_or, ir_build1(b, OP_is_nan, x), ir_build1(b, OP_is_nan, y));
	next = build_select(im, nan, build2(im, OP_add, x, y), next);
	return import_give(op, 0, next, v[0].varies, out);
}

/* A number in the shape of the operand. */
bool
import_constant_like(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "value");
	const struct mlir_type *t = op->result[0].type;

	if (!a || (a->kind != MLIR_FLOAT && a->kind != MLIR_INT))
		return import_error(im, op, "value must be a number");
	const enum ir_dtype type = (enum ir_dtype)t->dtype;
	struct import_value v = in[0];
	v.value = a->kind == MLIR_INT ? import_integer(im, type, a->i)
				      : import_scalar(im, type, a->f);
	v.varies = 0;
	v.type = import_local_type(im, type, 0, NULL);
	v.value = v.value ? import_build_broadcast(im, &v, in[0].type->rank, in[0].type->dim, NULL)
			  : NULL;
	return import_give(op, 0, v.value, 0, out);
}

/* The imaginary part of a real tensor. */
bool
import_imag(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct ir_value *zero = import_scalar(im, (enum ir_dtype)in[0].type->dtype, 0);
	const struct import_value v = {.value = zero};

	if (!zero || !import_same_type(in[0].type, op->result[0].type))
		return import_error(im, op, "the operand is %s, but the result is %s",
			in[0].type->text, op->result[0].type->text);
	zero = import_build_broadcast(im, &v, in[0].type->rank, in[0].type->dim, NULL);
	return import_give(op, 0, zero, 0, out);
}

/* The shape to which both broadcast: by the last dims, as in numpy, or as the attribute says for
 * the operand of fewer dims. */
bool
import_broadcasting(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	static const char *const dialects[] = {"stablehlo", "chlo"};
	const char *name = strstr(op->name, ".broadcast_") + strlen(".broadcast_");
	const struct import_row *row = NULL;
	const struct mlir_attr *a = mlir_attr_find(op, "broadcast_dimensions");
	const bool second = in[1].type->rank > in[0].type->rank;
	const struct import_value *large = &in[second], *small = &in[!second];
	int64_t dim[IR_MAX_RANK], given[IR_MAX_RANK], to[IR_MAX_RANK];
	struct import_value v[2];

	for (size_t i = 0; i < sizeof dialects / sizeof *dialects && !row; i++) {
		char full[64];
		snprintf(full, sizeof full, "%s.%s", dialects[i], name);
		row = import_find(im, ir_name(im->module->ctx, full));
	}
	const int n = a ? mlir_attr_ints(a, given, IR_MAX_RANK) : small->type->rank,
		  rank = large->type->rank;
	if (n != small->type->rank || rank > IR_MAX_RANK)
		return import_error(im, op,
			"broadcast_dimensions must name a dim for each of the %d of the smaller "
			"operand",
			(int)small->type->rank);
	memcpy(dim, large->type->dim, (size_t)rank * sizeof *dim);
	for (int d = 0; d < n; d++) {
		to[d] = a ? given[d] : rank - n + d;
		if (to[d] < 0 || to[d] >= rank || (d && to[d] <= to[d - 1]))
			return import_error(
				im, op, "broadcast_dimensions must ascend below %d", rank);
		const int64_t size = small->type->dim[d];
		if (dim[to[d]] == 1)
			dim[to[d]] = size;
		else if (size != 1 && size != dim[to[d]])
			return import_error(im, op, "%s and %s do not broadcast", in[0].type->text,
				in[1].type->text);
	}
	for (int i = 0; i < 2; i++) {
		v[i] = in[i];
		v[i].value = import_build_broadcast(
			im, &in[i], rank, dim, &in[i] == small && small != large ? to : NULL);
		v[i].type = import_local_type(im, (enum ir_dtype)in[i].type->dtype, rank, dim);
		if (!v[i].value)
			return false;
	}
	return import_by_row(im, row, op, v, out);
}
