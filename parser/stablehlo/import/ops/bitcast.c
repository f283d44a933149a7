/*
 * bitcast_convert: the same bits as another element type. If the widths differ, the last dim of
 * the narrower side counts the parts of a wider element, the lowest bits first.
 */
#include "parser/stablehlo/import/ops.h"

static enum ir_dtype
unsigned_of(unsigned bytes)
{
	return bytes == 1 ? IR_u8 : bytes == 2 ? IR_u16 : bytes == 4 ? IR_u32 : IR_u64;
}

static struct ir_value *
same_width(struct import *im, struct ir_value *v, enum ir_dtype to)
{
	if (!v || v->type->dtype == to)
		return v;
	struct ir_attr attr = ir_make_dtype(im->module->ctx, "to", to);
	return ir_build(&im->builder, OP_bitcast, &v, 1, &attr, 1);
}

static unsigned
bits_of(enum ir_dtype t)
{
	return t == IR_bool ? 1 : 8 * ir_dtype_bytes(t);
}

/* 0, width, 2 width ...: by how much each of n parts is shifted. */
static struct ir_value *
shifts(struct import *im, enum ir_dtype t, int64_t n, unsigned width)
{
	struct ir_attr dim = ir_make_int(im->module->ctx, "dim", 0);
	struct ir_type type = {.dtype = (uint8_t)t, .rank = 1, .dim = {n}};
	struct ir_value *k = ir_build_typed(&im->builder, OP_iota, NULL, NULL, 0, &dim, 1,
		ir_type_intern(im->module->ctx, &type));

	return ir_build2(&im->builder, OP_mul, k, import_integer(im, t, width));
}

/* v, unsigned or bool, without its last dim: part k shifted up by k widths. */
static struct ir_value *
join(struct import *im, struct ir_value *v, enum ir_dtype wide)
{
	unsigned width = bits_of((enum ir_dtype)v->type->dtype);
	int last = v->type->rank - 1;
	int64_t n = v->type->dim[last];

	v = ir_build2(&im->builder, OP_shift_left, import_build_convert(im, v, wide),
		shifts(im, wide, n, width));
	struct ir_attr dims = ir_make_ints(im->module, "dims", (int64_t[]){last}, 1);
	return v ? ir_build(&im->builder, OP_sum, &v, 1, &dims, 1) : NULL;
}

/* v, unsigned, with another last dim: its parts of that type. */
static struct ir_value *
part(struct import *im, struct ir_value *v, enum ir_dtype narrow)
{
	enum ir_dtype wide = (enum ir_dtype)v->type->dtype;
	int rank = v->type->rank;
	int64_t n = bits_of(wide) / bits_of(narrow), shape[IR_MAX_RANK + 1];

	for (int i = 0; i < rank; i++)
		shape[i] = v->type->dim[i];
	shape[rank] = 1;
	struct ir_attr to_shape = ir_make_ints(im->module, "shape", shape, rank + 1);
	v = ir_build(&im->builder, OP_reshape, &v, 1, &to_shape, 1);
	v = ir_build2(
		&im->builder, OP_shift_right_logical, v, shifts(im, wide, n, bits_of(narrow)));
	if (narrow == IR_bool)
		v = ir_build2(&im->builder, OP_and, v, import_integer(im, wide, 1));
	return import_build_convert(im, v, narrow);
}

/* Unsigned of the same width; bool stays. */
static enum ir_dtype
plain(enum ir_dtype t)
{
	return t == IR_bool ? t : unsigned_of(ir_dtype_bytes(t));
}

bool
import_bitcast(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *a = in[0].type, *b = op->result[0].type;
	enum ir_dtype from = (enum ir_dtype)a->dtype, to = (enum ir_dtype)b->dtype;
	unsigned have = bits_of(from), want = bits_of(to);
	struct ir_value *v = in[0].value;

	if (have != want && im->pointwise)
		return import_unsupported(
			im, op, "to another width in a region that is applied to each element");
	if (have == want) {
		v = same_width(im, v, to);
	} else if (have < want) {
		if (!a->rank || a->dim[a->rank - 1] != want / have)
			return import_error(im, op,
				"the last dim of the operand, %s, must have size %u", a->text,
				want / have);
		v = same_width(im, v, plain(from));
		v = v ? same_width(im, join(im, v, plain(to)), to) : NULL;
	} else {
		if (v->type->rank >= IR_MAX_RANK)
			return import_unsupported_form(
				im, op, "a tensor of %d dims", v->type->rank + 1);
		v = same_width(im, v, plain(from));
		v = v ? same_width(im, part(im, v, plain(to)), to) : NULL;
	}
	return import_give(op, 0, v, in[0].varies, out);
}
