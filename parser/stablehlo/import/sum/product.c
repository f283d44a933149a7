/*
 * dot and dot_general: a contract, whose letters are the mesh axes that an operand varies over, the
 * batch dims, the contracted dims, and the free dims of each operand (StableHLO, "dot_general").
 *
 *     lhs    axes of lhs, lhs dims        rhs    axes of rhs, rhs dims
 *     result axes of both, batch, free dims of lhs, free dims of rhs
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>
#include <string.h>

struct letters {
	char spec[4 * IR_MAX_RANK + 8 * IR_MAX_AXES];
	int at;
	char axis[IR_MAX_AXES], lhs[IR_MAX_RANK], rhs[IR_MAX_RANK];
	char next;
};

static void
put(struct letters *l, char c)
{
	l->spec[l->at++] = c;
}

static void
put_axes(struct letters *l, uint32_t varies)
{
	for (int a = 0; a < IR_MAX_AXES; a++)
		if (varies >> a & 1)
			put(l, l->axis[a]);
}

/* The type in which products are added up: the wider of the operands' and the result's. Of bool
 * i32, which counts what is true. */
static enum ir_dtype
product_type(enum ir_dtype a, enum ir_dtype b, enum ir_dtype result)
{
	enum ir_dtype t = ir_dtype_bytes(b) > ir_dtype_bytes(a) ? b : a;

	if (ir_dtype_class(result) == IR_FLOAT ? ir_dtype_class(t) != IR_FLOAT ||
							 ir_dtype_bytes(result) >= ir_dtype_bytes(t)
					       : ir_dtype_class(t) != IR_FLOAT)
		t = result;
	return t == IR_bool ? IR_i32 : t;
}

struct product {
	struct dims batch[2], sum[2];
};

static bool
check_product(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const struct product *p)
{
	const struct mlir_type *a = in[0].type, *b = in[1].type;

	if (p->batch[0].n != p->batch[1].n)
		return import_error(im, op, "lhs has %d batching dims, but rhs has %d",
			p->batch[0].n, p->batch[1].n);
	if (p->sum[0].n != p->sum[1].n)
		return import_error(im, op, "lhs has %d contracting dims, but rhs has %d",
			p->sum[0].n, p->sum[1].n);
	for (int side = 0; side < 2; side++)
		if (!take_disjoint(im, op, &p->batch[side], &p->sum[side],
			    "the batching and the contracting dims"))
			return false;
	for (int kind = 0; kind < 2; kind++) {
		const struct dims *d = kind ? p->sum : p->batch;
		for (int i = 0; i < d[0].n; i++) {
			const int64_t x = a->dim[d[0].dim[i]], y = b->dim[d[1].dim[i]];
			if (x != y)
				return import_error(im, op,
					"%s dim %" PRId64 " of lhs has size %" PRId64
					", but dim %" PRId64 " of rhs has %" PRId64,
					kind ? "contracting" : "batching", d[0].dim[i], x,
					d[1].dim[i], y);
		}
	}
	return true;
}

/* Letters of the result, after the axes. */
static void
put_result(const struct import_value *in, const struct product *p, struct letters *l)
{
	for (int i = 0; i < p->batch[0].n; i++)
		put(l, l->lhs[p->batch[0].dim[i]]);
	for (int s = 0; s < 2; s++)
		for (int d = 0; d < in[s].type->rank; d++)
			if (!dims_has(&p->batch[s], d) && !dims_has(&p->sum[s], d))
				put(l, (s ? l->rhs : l->lhs)[d]);
}

static bool
build_product(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const struct product *p, struct import_value *out)
{
	const uint32_t varies = in[0].varies | in[1].varies;
	const struct mlir_type *a = in[0].type, *b = in[1].type;
	const enum ir_dtype result = (enum ir_dtype)op->result[0].type->dtype,
			    t = product_type(
				    (enum ir_dtype)a->dtype, (enum ir_dtype)b->dtype, result);
	struct letters l = {.next = 'a'};
	const int rank = a->rank + b->rank - p->batch[0].n - 2 * p->sum[0].n;

	int64_t dim[2 * IR_MAX_RANK];
	int n = 0;
	for (int side = 0; side < 2; side++)
		for (int d = 0; d < in[side].type->rank; d++)
			if (!dims_has(&p->sum[side], d) && (!side || !dims_has(&p->batch[1], d)))
				dim[n++] = in[side].type->dim[d];
	if (import_is_empty(a) || import_is_empty(b)) {
		if (!import_check_shape(im, op, 0, dim, n))
			return false;
		out[0] = import_result(
			op, 0, build_zeros(im, import_type(im, op, op->result[0].type, 0)), 0);
		return out[0].value != NULL;
	}
	if (!build_fits(im, dim, n))
		return false;
	if (rank + __builtin_popcount(varies) > IR_MAX_RANK)
		return import_unsupported(im, op, "a result of more than 8 dims");
	if (__builtin_popcount(varies) + a->rank + b->rank > 24)
		return import_unsupported(im, op, "more dims than a product can have");
	for (int x = 0; x < IR_MAX_AXES; x++)
		if (varies >> x & 1)
			l.axis[x] = l.next++;
	for (int d = 0; d < a->rank; d++)
		l.lhs[d] = l.next++;
	for (int d = 0; d < b->rank; d++)
		l.rhs[d] = 0;
	for (int i = 0; i < p->batch[0].n; i++)
		l.rhs[p->batch[1].dim[i]] = l.lhs[p->batch[0].dim[i]];
	for (int i = 0; i < p->sum[0].n; i++)
		l.rhs[p->sum[1].dim[i]] = l.lhs[p->sum[0].dim[i]];
	for (int d = 0; d < b->rank; d++)
		if (!l.rhs[d])
			l.rhs[d] = l.next++;
	put_axes(&l, in[0].varies);
	for (int d = 0; d < a->rank; d++)
		put(&l, l.lhs[d]);
	put(&l, ',');
	put_axes(&l, in[1].varies);
	for (int d = 0; d < b->rank; d++)
		put(&l, l.rhs[d]);
	put(&l, '-');
	put(&l, '>');
	put_axes(&l, varies);
	put_result(in, p, &l);
	struct ir_value *v = build_contract(
		im, l.spec, build_convert(im, in[0].value, t), build_convert(im, in[1].value, t));
	return import_give(op, 0, build_convert(im, v, result), varies, out);
}

bool
import_dot_general(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	static const char *const batching[] = {"lhs_batching_dimensions",
		"rhs_batching_dimensions"},
				 *const contracting[] = {"lhs_contracting_dimensions",
					 "rhs_contracting_dimensions"};
	const struct mlir_attr *dict = mlir_attr_find(op, "dot_dimension_numbers");
	struct product p;

	if (!dict || dict->kind != MLIR_DICT)
		return import_error(im, op, "has no dot_dimension_numbers");
	for (int side = 0; side < 2; side++) {
		const int rank = in[side].type->rank;
		if (!take_dims(im, op, dict, batching[side], rank, &p.batch[side]) ||
			!take_dims(im, op, dict, contracting[side], rank, &p.sum[side]))
			return false;
	}
	return check_product(im, op, in, &p) && build_product(im, op, in, &p, out);
}

bool
import_dot(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct product p = {.sum = {{.n = 1}, {.n = 1}}};

	for (int side = 0; side < 2; side++)
		if (in[side].type->rank < 1 || in[side].type->rank > 2)
			return import_error(
				im, op, "operand %d must be a vector or a matrix", side + 1);
	p.sum[0].dim[0] = in[0].type->rank - 1;
	return check_product(im, op, in, &p) && build_product(im, op, in, &p, out);
}
