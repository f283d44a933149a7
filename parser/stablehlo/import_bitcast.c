/*
 * bitcast_convert: the same bits as another element type. Where the widths differ, the last dim of
 * the narrower side counts the parts of a wider element, the lowest bits first.
 */
#include "parser/stablehlo/import_ops.h"
#include "parser/stablehlo/import_pending.h"

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
	if (OP_bitcast == OP_NCODES)
		return NULL;
	struct ir_attr attr = ir_make_dtype(im->module->ctx, "to", to);
	return ir_build(&im->builder, OP_bitcast, &v, 1, &attr, 1);
}

/* v without its last dim, of size n: part k shifted up by k widths. */
static struct ir_value *
join(struct import *im, struct ir_value *v, unsigned from, unsigned to)
{
	enum ir_dtype wide = unsigned_of(to);
	int last = v->type->rank - 1;
	int64_t n = to / from;

	v = import_build_convert(im, v, wide);
	struct ir_attr dim = ir_make_int(im->module->ctx, "dim", 0);
	struct ir_type t = {.dtype = (uint8_t)wide, .rank = 1, .dim = {n}};
	struct ir_value *k = ir_build_typed(
		&im->builder, OP_iota, NULL, NULL, 0, &dim, 1, ir_type_intern(im->module->ctx, &t));
	k = ir_build2(&im->builder, OP_mul, k, import_integer(im, wide, 8 * from));
	v = ir_build2(&im->builder, OP_shift_left, v, k);
	struct ir_attr dims = ir_make_ints(im->module, "dims", (int64_t[]){last}, 1);
	return v ? ir_build(&im->builder, OP_sum, &v, 1, &dims, 1) : NULL;
}

/* v with another last dim of size n: the parts. */
static struct ir_value *
part(struct import *im, struct ir_value *v, unsigned from, unsigned to)
{
	enum ir_dtype wide = unsigned_of(from), narrow = unsigned_of(to);
	int rank = v->type->rank;
	int64_t n = from / to, shape[IR_MAX_RANK + 1];

	for (int i = 0; i < rank; i++)
		shape[i] = v->type->dim[i];
	shape[rank] = 1;
	struct ir_attr to_shape = ir_make_ints(im->module, "shape", shape, rank + 1);
	v = ir_build(&im->builder, OP_reshape, &v, 1, &to_shape, 1);
	struct ir_attr dim = ir_make_int(im->module->ctx, "dim", 0);
	struct ir_type t = {.dtype = (uint8_t)wide, .rank = 1, .dim = {n}};
	struct ir_value *k = ir_build_typed(
		&im->builder, OP_iota, NULL, NULL, 0, &dim, 1, ir_type_intern(im->module->ctx, &t));
	k = ir_build2(&im->builder, OP_mul, k, import_integer(im, wide, 8 * to));
	v = ir_build2(&im->builder, OP_shift_right_logical, v, k);
	return import_build_convert(im, v, narrow);
}

bool
import_bitcast(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *a = in[0].type, *b = op->result[0].type;
	enum ir_dtype to = (enum ir_dtype)b->dtype;
	unsigned from_bytes = ir_dtype_bytes((enum ir_dtype)a->dtype),
		 to_bytes = ir_dtype_bytes(to);
	struct ir_value *v = in[0].value;

	if (a->dtype == b->dtype ||
		(from_bytes == to_bytes && a->dtype != IR_bool && to != IR_bool)) {
		v = same_width(im, v, to);
	} else if (a->dtype == IR_bool || to == IR_bool) {
		return import_unsupported(im, op, "of i1");
	} else if (im->pointwise) {
		return import_unsupported(im, op, "of another width, element by element");
	} else if (from_bytes < to_bytes) {
		if (!a->rank || a->dim[a->rank - 1] != to_bytes / from_bytes)
			return import_error(im, op,
				"the last dim of the operand, %s, must have "
				"size %u",
				a->text ? a->text : "", to_bytes / from_bytes);
		v = same_width(im, v, unsigned_of(from_bytes));
		v = same_width(im, v ? join(im, v, from_bytes, to_bytes) : NULL, to);
	} else {
		if (v->type->rank >= IR_MAX_RANK)
			return import_unsupported_form(
				im, op, "a tensor of %d dims", v->type->rank + 1);
		v = same_width(im, v, unsigned_of(from_bytes));
		v = same_width(im, v ? part(im, v, from_bytes, to_bytes) : NULL, to);
	}
	out[0] = import_result(op, 0, v, in[0].varies);
	return v != NULL;
}
