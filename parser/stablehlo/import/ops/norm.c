/* batch_norm_training, batch_norm_inference, batch_norm_grad (StableHLO, by these names), in f32 where elements have 16
 * bits. Vectors have an element for each index of the dim `feature_index`. */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/take.h"
#include "parser/stablehlo/import/ops.h"

#include <string.h>

enum { NORM_MAX_OPERANDS = 5 };

struct norm {
	struct import *im;
	enum ir_dtype type;                     /* of the operands */
	struct ir_value *in[NORM_MAX_OPERANDS]; /* wide; vectors as [..,1,C,1] */
	struct ir_value *epsilon, *count;       /* scalars */
	int64_t rest[IR_MAX_RANK]; /* all dims of x but the features' and leading ones */
	int nrest;
	uint32_t varies;
};

/* Operands that are `whole`, by bits, have the shape of the first; the others are vectors. */
static bool
norm_begin(struct norm *n, struct import *im, const struct mlir_op *op,
	const struct import_value *in, uint32_t whole)
{
	const struct mlir_attr *a = mlir_attr_find(op, "epsilon");
	const struct mlir_type *t = in[0].type;
	struct import_value v[NORM_MAX_OPERANDS];
	int64_t feature, rest = 1;

	if (!a || a->kind != MLIR_FLOAT)
		return import_error(im, op, "epsilon must be a float");
	if (!take_int(im, op, NULL, "feature_index", -1, &feature))
		return false;
	if (ir_dtype_class((enum ir_dtype)t->dtype) != IR_FLOAT || feature < 0 ||
		feature >= t->rank)
		return import_error(im, op,
			"operand 1 must be of floats with a dim feature_index, not %s", t->text);
	for (uint32_t i = 1; i < op->noperands; i++) {
		const bool fits = whole & 1u << i ? import_same_shape(in[i].type, t)
						  : in[i].type->rank == 1 &&
							    in[i].type->dim[0] == t->dim[feature];
		if (!fits || in[i].type->dtype != t->dtype)
			return import_error(im, op, "operand %u does not fit %s: it is %s", i + 1,
				t->text, in[i].type->text);
	}
	memcpy(v, in, op->noperands * sizeof *v);
	import_align(im, v, (int)op->noperands, true);
	*n = (struct norm){.im = im, .type = (enum ir_dtype)t->dtype, .varies = v[0].varies};
	const int lead = import_lead(&v[0]);
	const enum ir_dtype wide = build_wide(n->type);
	for (int d = 0; d < t->rank; d++)
		if (d != feature) {
			n->rest[n->nrest++] = lead + d;
			rest *= t->dim[d];
		}
	for (uint32_t i = 0; i < op->noperands; i++) {
		n->in[i] = build_convert(im, v[i].value, wide);
		for (int d = 0; d < t->rank && !(whole & 1u << i); d++)
			if (d != feature)
				n->in[i] = build_unsqueeze(im, n->in[i], lead + d);
		if (!n->in[i])
			return false;
	}
	n->epsilon = import_scalar(im, wide, a->f);
	n->count = import_scalar(im, wide, (double)rest);
	return n->epsilon && n->count;
}

static struct ir_value *
total(const struct norm *n, struct ir_value *v)
{
	v = build_reduce(n->im, OP_sum, v, n->rest, n->nrest);
	for (int d = 0; d < n->nrest; d++)
		v = build_unsqueeze(n->im, v, (int)n->rest[d]);
	return v;
}

static struct ir_value *
mean(const struct norm *n, struct ir_value *v)
{
	return build2(n->im, OP_div, total(n, v), n->count);
}

static struct ir_value *
deviation(const struct norm *n, struct ir_value *variance)
{
	return ir_build1(&n->im->builder, OP_sqrt, build2(n->im, OP_add, variance, n->epsilon));
}

static bool
give(const struct norm *n, const struct mlir_op *op, int i, struct ir_value *v, bool vector,
	struct import_value *out)
{
	for (int d = n->nrest - 1; d >= 0 && vector; d--)
		v = build_squeeze(n->im, v, (int)n->rest[d]);
	v = build_convert(n->im, v, n->type);
	return import_give(op, i, v, n->varies, out);
}

static struct ir_value *
normal(const struct norm *n, struct ir_value *average, struct ir_value *variance)
{
	struct import *im = n->im;
	struct ir_value *y = build2(im, OP_sub, n->in[0], average);

	y = build2(im, OP_div, y, deviation(n, variance));
	return build2(im, OP_add, build2(im, OP_mul, y, n->in[1]), n->in[2]);
}

bool
import_batch_norm_training(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	struct norm n;

	if (!norm_begin(&n, im, op, in, 1))
		return false;
	struct ir_value *average = mean(&n, n.in[0]);
	struct ir_value *off = build2(im, OP_sub, n.in[0], average);
	struct ir_value *variance = mean(&n, build2(im, OP_mul, off, off));
	return give(&n, op, 0, normal(&n, average, variance), false, out) &&
	       give(&n, op, 1, average, true, out) && give(&n, op, 2, variance, true, out);
}

bool
import_batch_norm_inference(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	struct norm n;

	return norm_begin(&n, im, op, in, 1) &&
	       give(&n, op, 0, normal(&n, n.in[3], n.in[4]), false, out);
}

/* From x, scale, mean, variance and the gradient of y: the gradients of x, scale and offset. */
bool
import_batch_norm_grad(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct norm n;

	if (!norm_begin(&n, im, op, in, 1 | 1 << 4))
		return false;
	struct ir_value *dy = n.in[4], *root = deviation(&n, n.in[3]);
	struct ir_value *off = build2(im, OP_sub, n.in[0], n.in[2]);
	struct ir_value *offset = total(&n, dy), *along = total(&n, build2(im, OP_mul, dy, off));
	struct ir_value *square = build2(im, OP_add, n.in[3], n.epsilon);
	struct ir_value *part = build2(im, OP_div, build2(im, OP_mul, along, off), square);
	struct ir_value *dx = build2(im, OP_sub, build2(im, OP_mul, dy, n.count), offset);
	struct ir_value *factor = build2(im, OP_div, build2(im, OP_div, n.in[1], root), n.count);
	dx = build2(im, OP_mul, build2(im, OP_sub, dx, part), factor);
	return give(&n, op, 0, dx, false, out) &&
	       give(&n, op, 1, build2(im, OP_div, along, root), true, out) &&
	       give(&n, op, 2, offset, true, out);
}
