/* Constants, and ops that move elements. */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/take.h"
#include "parser/stablehlo/import/ops/shape.h"

#include "ir/base/number.h"
#include "ir/ops/form.h"
#include "parser/stablehlo/import/ops.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* --- attributes --- */

bool
import_ints(struct import *im, const struct mlir_op *op, const char *name, int64_t *out, int n)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);
	int found = a ? mlir_attr_ints(a, out, IR_MAX_RANK) : -1;

	if (!a)
		return import_error(im, op, "the attribute %s is missing", name);
	if (found < 0)
		return import_error(
			im, op, "%s must be a list of at most %d integers", name, IR_MAX_RANK);
	if (found != n)
		return import_error(im, op, "expected %d number%s in %s, found %d", n,
			number_plural(n), name, found);
	return true;
}

/* An integer attribute in [0, rank). */
static bool
import_dim(struct import *im, const struct mlir_op *op, const char *name, int rank, int *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	if (!a || a->kind != MLIR_INT)
		return import_error(im, op, "%s must be an integer", name);
	if (a->i < 0 || a->i >= rank)
		return import_error(
			im, op, "%s %" PRId64 " is not one of the %d dims", name, a->i, rank);
	*out = (int)a->i;
	return true;
}

/* The sizes of the result: as written, else from the known value of operand `from`. */
static bool
result_shape(struct import *im, const struct mlir_op *op, const struct import_value *from,
	int64_t *dim, int *rank)
{
	const struct mlir_type *t = op->result[0].type;
	int n = from ? import_known_ints(im, from, dim, IR_MAX_RANK) : -1;

	*rank = t->rank;
	if (n >= 0 && n != t->rank)
		return import_error(
			im, op, "the shape has %d sizes, but the result has rank %d", n, t->rank);
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i] < 0 && n < 0)
			return import_unsupported(im, op, "a shape that is not constant");
		if (n >= 0 && t->dim[i] >= 0 && t->dim[i] != dim[i])
			return import_error(im, op,
				"size %d of the shape is %" PRId64
				", but that of the result is %" PRId64,
				i, dim[i], t->dim[i]);
		if (n < 0)
			dim[i] = t->dim[i];
		if (dim[i] < 1)
			return import_unsupported(im, op, "a result without elements");
	}
	return true;
}

/* --- sources --- */

bool
import_constant(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "value");

	(void)in;
	if (!a || a->kind != MLIR_DENSE)
		return import_error(im, op, "value must be a dense<...> of elements");
	if (!import_same_type(a->dense->type, op->result[0].type))
		return import_error(im, op, "the elements are %s, but the result is %s",
			a->dense->type->text, op->result[0].type->text);
	return import_give(op, 0, import_dense(im, op, a->dense), 0, out);
}

bool
import_iota(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = op->result[0].type;
	int64_t dim[IR_MAX_RANK];
	int rank, along;

	if (!import_dim(im, op, "iota_dimension", t->rank, &along))
		return false;
	if (t->dtype == IR_bool)
		return import_error(im, op, "iota of i1 is not defined");
	if (!result_shape(im, op, op->noperands ? &in[0] : NULL, dim, &rank))
		return false;
	const struct ir_type *type =
		import_type(im, op, import_local_type(im, (enum ir_dtype)t->dtype, rank, dim), 0);
	struct ir_attr attr = ir_make_int(im->module->ctx, "dim", along);
	return type && import_give(op, 0,
			       ir_build_typed(&im->builder, OP_iota, NULL, NULL, 0, &attr, 1, type),
			       0, out);
}

/* --- shapes --- */

bool
import_broadcast(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = in[0].type;
	int64_t dims[IR_MAX_RANK], shape[IR_MAX_RANK];
	int rank;

	if (!import_ints(im, op, "broadcast_dimensions", dims, t->rank) ||
		!take_distinct(
			im, op, "broadcast_dimensions", dims, t->rank, op->result[0].type->rank) ||
		!result_shape(im, op, op->noperands > 1 ? &in[1] : NULL, shape, &rank))
		return false;
	struct dims grows, stays;
	if (!take_dims(im, op, NULL, "known_expanding_dimensions", t->rank, &grows) ||
		!take_dims(im, op, NULL, "known_nonexpanding_dimensions", t->rank, &stays) ||
		!take_disjoint(
			im, op, &grows, &stays, "the known expanding and nonexpanding dimensions"))
		return false;
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] != 1 && t->dim[i] != shape[dims[i]])
			return import_error(im, op,
				"dim %d of the operand has size %" PRId64 ", but dim %" PRId64
				" of the result has %" PRId64 "; only size 1 can be broadcast",
				i, t->dim[i], dims[i], shape[dims[i]]);
	return import_give(
		op, 0, import_build_broadcast(im, &in[0], rank, shape, dims), in[0].varies, out);
}

static int64_t
product(const int64_t *dim, int n)
{
	int64_t p = 1;

	for (int i = 0; i < n; i++)
		p *= dim[i];
	return p;
}

bool
import_reshape(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int64_t shape[IR_MAX_RANK];
	int rank;

	if (!result_shape(im, op, op->noperands > 1 ? &in[1] : NULL, shape, &rank))
		return false;
	/* Sizes in a shape that is computed may be anything: the product must not overflow. */
	if (!import_type(im, op,
		    import_local_type(im, (enum ir_dtype)in[0].type->dtype, rank, shape), 0))
		return false;
	if (product(shape, rank) != product(in[0].type->dim, in[0].type->rank))
		return import_error(im, op,
			"the operand has %" PRId64 " elements, but the result has %" PRId64,
			product(in[0].type->dim, in[0].type->rank), product(shape, rank));
	return import_give(op, 0, import_build_reshape(im, &in[0], rank, shape), in[0].varies, out);
}

bool
import_transpose(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int64_t perm[IR_MAX_RANK];
	int rank = in[0].type->rank;

	return import_ints(im, op, "permutation", perm, rank) &&
	       take_distinct(im, op, "permutation", perm, rank, rank) &&
	       import_give(op, 0, import_build_transpose(im, &in[0], perm), in[0].varies, out);
}

bool
import_reverse(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "dimensions");
	int64_t dims[IR_MAX_RANK];
	int n = a ? mlir_attr_ints(a, dims, IR_MAX_RANK) : -1;

	if (n < 0)
		return import_error(im, op, "dimensions must be a list of dims");
	if (!take_distinct(im, op, "dimensions", dims, n, in[0].type->rank))
		return false;
	for (int i = 0; i < n; i++)
		dims[i] += import_lead(&in[0]);
	return import_give(op, 0, build_reverse(im, in[0].value, dims, n), in[0].varies, out);
}

/* --- parts --- */

struct ir_value *
import_build_slice(struct import *im, const struct import_value *v, const int64_t *start,
	const int64_t *limit, const int64_t *stride)
{
	int64_t from[IR_MAX_RANK] = {0}, to[IR_MAX_RANK], by[IR_MAX_RANK];
	const int lead = import_lead(v), rank = v->value->type->rank;

	for (int d = 0; d < rank; d++) {
		from[d] = d < lead ? 0 : start[d - lead];
		to[d] = d < lead ? v->value->type->dim[d] : limit[d - lead];
		by[d] = d < lead || !stride ? 1 : stride[d - lead];
	}
	return build_slice(im, v->value, from, to, by);
}

bool
import_slice(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = in[0].type;
	int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK];

	if (!import_ints(im, op, "start_indices", start, t->rank) ||
		!import_ints(im, op, "limit_indices", limit, t->rank) ||
		!import_ints(im, op, "strides", stride, t->rank))
		return false;
	for (int i = 0; i < t->rank; i++) {
		if (start[i] < 0 || limit[i] < start[i] || limit[i] > t->dim[i])
			return import_error(im, op,
				"dim %d has size %" PRId64 "; the range %" PRId64 " to %" PRId64
				" is outside of it",
				i, t->dim[i], start[i], limit[i]);
		if (stride[i] < 1)
			return import_error(im, op, "stride %" PRId64 " of dim %d must be positive",
				stride[i], i);
		if (start[i] == limit[i])
			return import_error(im, op,
				"dim %d of the result is empty, but its written type is %s", i,
				op->result[0].type->text);
	}
	return import_give(
		op, 0, import_build_slice(im, &in[0], start, limit, stride), in[0].varies, out);
}

/* A known scalar as a constant, so that it is an attribute of the pad; another value itself. */
static struct ir_value *
known_scalar(struct import *im, const struct import_value *v)
{
	struct tensor *t = import_known(NULL, im, v);
	struct ir_value *value = t ? import_tensor_value(im, t) : v->value;

	talloc_free(t);
	return value;
}

/* by[0] low, by[1] high, by[2] interior, of dims without leading ones. */
static bool
pad(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const int64_t (*by)[IR_MAX_RANK], struct import_value *out)
{
	struct import_value x[2] = {in[0], in[1]};
	int64_t all[3][IR_MAX_RANK] = {0};

	x[1].value = known_scalar(im, &x[1]);
	if (x[1].value != in[1].value)
		x[1].varies = 0;
	if (x[1].varies)
		import_align(im, x, 2, true);
	const int lead = import_lead(&x[0]);
	for (int k = 0; k < 3; k++)
		memcpy(all[k] + lead, by[k], (size_t)in[0].type->rank * sizeof *by[k]);
	return import_give(op, 0, build_pad(im, x[0].value, x[1].value, all[0], all[1], all[2]),
		x[0].varies, out);
}

static bool
check_pad(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const int64_t (*by)[IR_MAX_RANK], struct import_value *out)
{
	const struct mlir_type *t = in[0].type, *r = op->result[0].type;

	if (in[1].type->rank || in[1].type->dtype != t->dtype)
		return import_error(im, op, "the padding value is %s; it must be a scalar of %s",
			in[1].type->text ? in[1].type->text : "not a scalar", t->element);
	if (r->rank != t->rank)
		return import_error(im, op, "the result has rank %d, but the operand has rank %d",
			r->rank, t->rank);
	for (int i = 0; i < t->rank; i++) {
		if (by[2][i] < 0)
			return import_error(im, op,
				"the interior padding %" PRId64 " of dim %d is negative", by[2][i],
				i);
		__int128 size = (__int128)by[0][i] + by[1][i] + t->dim[i] +
				(t->dim[i] ? (__int128)(t->dim[i] - 1) * by[2][i] : 0);
		if (r->dim[i] >= 0 && size != r->dim[i])
			return import_error(im, op,
				"dim %d becomes %" PRId64
				", but the written type of the result is %s",
				i, (int64_t)size, r->text);
		if (size < 1 || size > (__int128)1 << IR_MAX_ELEMENTS_LOG2)
			return import_error(
				im, op, "dim %d would have size %" PRId64, i, (int64_t)size);
	}
	if (!import_is_empty(t))
		return pad(im, op, in, by, out);
	int64_t shape[IR_MAX_RANK];
	for (int i = 0; i < t->rank; i++)
		shape[i] = by[0][i] + by[1][i] + t->dim[i] +
			   (t->dim[i] ? (t->dim[i] - 1) * by[2][i] : 0);
	return import_give(
		op, 0, import_build_broadcast(im, &in[1], t->rank, shape, NULL), in[1].varies, out);
}

bool
import_pad(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int64_t by[3][IR_MAX_RANK] = {0};
	int rank = in[0].type->rank;

	return import_ints(im, op, "edge_padding_low", by[0], rank) &&
	       import_ints(im, op, "edge_padding_high", by[1], rank) &&
	       import_ints(im, op, "interior_padding", by[2], rank) &&
	       check_pad(im, op, in, (const int64_t(*)[IR_MAX_RANK])by, out);
}

bool
import_dynamic_pad(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int64_t by[3][IR_MAX_RANK] = {0};

	for (int i = 0; i < 3; i++) {
		int n = import_known_ints(im, &in[2 + i], by[i], IR_MAX_RANK);
		if (n < 0)
			return import_unsupported(im, op, "padding that is not constant");
		if (n != in[0].type->rank)
			return import_error(im, op, "expected %d number%s in operand %d, found %d",
				in[0].type->rank, number_plural(in[0].type->rank), 3 + i, n);
	}
	return check_pad(im, op, in, (const int64_t(*)[IR_MAX_RANK])by, out);
}

/* --- concatenate, sizes --- */

bool
import_concat(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_type *t = in[0].type;
	uint32_t n = 0;
	int dim;

	if (!import_dim(im, op, "dimension", t->rank, &dim))
		return false;
	struct import_value *v = ARENA_ARRAY(im->arena, struct import_value, op->noperands);
	struct ir_value **x = ARENA_ARRAY(im->arena, struct ir_value *, op->noperands);
	for (uint32_t i = 0; i < op->noperands; i++) {
		const struct mlir_type *u = in[i].type;
		bool fits = u->rank == t->rank && u->dtype == t->dtype;
		for (int d = 0; fits && d < t->rank; d++)
			fits = d == dim || u->dim[d] == t->dim[d];
		if (!fits)
			return import_error(im, op,
				"operands 1 and %u may only differ in dim %d: %s and %s", i + 1,
				dim, t->text, u->text);
		if (!import_is_empty(u))
			v[n++] = in[i];
	}
	import_align(im, v, (int)n, true);
	for (uint32_t i = 0; i < n; i++)
		if (!(x[i] = v[i].value))
			return false;
	return import_give(op, 0, ir_build_concat(&im->builder, x, n, dim + import_lead(&v[0])),
		v[0].varies, out);
}

bool
import_size(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	int dim;

	return import_dim(im, op, "dimension", in[0].type->rank, &dim) &&
	       import_give(op, 0, import_integer(im, IR_i32, in[0].type->dim[dim]), 0, out);
}
