/*
 * From the values of processes to whole tensors and back: the building blocks of collectives.
 *
 *     varies over dp = 2, tp = 3     f32[2/dp,3/tp,8]      leading dims split, one for each axis
 *     whole                          f32[6,8]              the same on all; row p is of process p
 */
#include "parser/stablehlo/spmd/spmd.h"

#include <string.h>

struct ir_value *
spmd_slice(struct import *im, struct ir_value *x, int dim, int64_t start, int64_t limit)
{
	const int64_t d = dim;

	if (!x)
		return NULL;
	if (start == 0 && limit == x->type->dim[dim])
		return x;
	const struct ir_attr attr[] = {ir_make_ints(im->module, "start", &start, 1),
		ir_make_ints(im->module, "limit", &limit, 1),
		ir_make_ints(im->module, "dims", &d, 1)};
	return ir_build(&im->builder, OP_slice, &x, 1, attr, 3);
}

struct ir_value *
spmd_partition(struct import *im, struct ir_value *x, int dim, int axis)
{
	struct ir_context *ctx = im->module->ctx;

	if (!x)
		return NULL;
	const struct ir_op *from = x->op;
	if (from && from->code == OP_allgather && from->noperands == 1 &&
		ir_attr_int(from, "axis", -1) == axis) {
		struct ir_type want = *x->type;
		want.axis[axis] = (struct ir_state){
			IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(x->type, dim)};
		if (ir_type_equal(&want, ir_operand_type(from, 0)))
			return ir_operand(from, 0);
	}
	const struct ir_attr attr[] = {
		ir_make_int(ctx, "dim", dim), ir_make_axis(ctx, "axis", axis)};
	return ir_build(&im->builder, OP_partition, &x, 1, attr, 2);
}

/* The axis whose split is removed next: the innermost of its dim. */
static int
innermost(const struct ir_type *t, uint32_t axes)
{
	for (int a = 0; a < IR_MAX_AXES; a++)
		if ((axes >> a & 1) && t->axis[a].kind == IR_SPLIT &&
			t->axis[a].order == ir_type_split_depth(t, t->axis[a].dim) - 1)
			return a;
	return -1;
}

struct ir_value *
spmd_allgather(struct import *im, struct ir_value *x, uint32_t axes)
{
	while (x) {
		const int a = innermost(x->type, axes);
		if (a < 0)
			return x;
		const struct ir_attr attr = ir_make_axis(im->module->ctx, "axis", a);
		x = ir_build(&im->builder, OP_allgather, &x, 1, &attr, 1);
	}
	return NULL;
}

struct ir_value *
spmd_split_as(struct import *im, struct ir_value *x, const struct ir_value *like)
{
	for (int d = 0; x && d < like->type->rank && d < x->type->rank; d++)
		for (int k = 0; x && k < im->module->naxes; k++) /* orders are dense */
			for (int a = 0; x && a < im->module->naxes; a++)
				if (like->type->axis[a].kind == IR_SPLIT &&
					like->type->axis[a].dim == d &&
					like->type->axis[a].order == k &&
					x->type->axis[a].kind == IR_COPIED)
					x = spmd_partition(im, x, d, a);
	return x;
}

bool
spmd_vary(struct import *im, struct import_value *v, uint32_t axes)
{
	const uint32_t more = axes & ~v->varies, all = axes | v->varies;
	struct ir_type t = *v->value->type;
	int64_t place[IR_MAX_RANK];
	int rank = 0;

	if (!more)
		return true;
	if (t.rank + __builtin_popcount(more) > IR_MAX_RANK) {
		diag_error(im->diag, im->builder.loc,
			"a value of rank %d that differs over %d axes of the "
			"mesh needs a rank of more than %d",
			t.rank - import_lead(v), __builtin_popcount(all), IR_MAX_RANK);
		return false;
	}
	memset(t.dim, 0, sizeof t.dim);
	for (int a = 0; a < im->module->naxes; a++)
		if (all >> a & 1) {
			if (!(more >> a & 1))
				place[spmd_lead(v->varies, a)] = rank;
			t.dim[rank++] = im->module->axis[a].size;
		}
	for (int d = import_lead(v); d < v->value->type->rank; d++) {
		place[d] = rank;
		t.dim[rank++] = v->value->type->dim[d];
	}
	t.rank = (uint8_t)rank;
	for (int a = 0; a < im->module->naxes; a++)
		if (t.axis[a].kind == IR_SPLIT)
			t.axis[a].dim = (uint8_t)place[t.axis[a].dim];
		else if (more >> a & 1)
			t.axis[a] = (struct ir_state){IR_SPLIT, (uint8_t)spmd_lead(all, a), 0};
	const struct ir_attr attr[] = {ir_make_ints(im->module, "shape", t.dim, rank),
		ir_make_ints(im->module, "dims", place, v->value->type->rank)};
	v->value = ir_build_typed(&im->builder, OP_broadcast, NULL, &v->value, 1, attr, 2,
		ir_type_intern(im->module->ctx, &t));
	v->varies = all;
	return v->value != NULL;
}

struct ir_value *
spmd_whole(struct import *im, struct import_value v)
{
	const uint32_t all = spmd_of(im)->axes;
	int64_t dim[IR_MAX_RANK + 1] = {spmd_processes(im)};

	if (!v.value || !spmd_vary(im, &v, all))
		return NULL;
	struct ir_value *x = spmd_allgather(im, v.value, all);
	if (!x)
		return NULL;
	const int lead = import_lead(&v), rank = x->type->rank - lead;
	if (rank + 1 > IR_MAX_RANK) {
		diag_error(im->diag, im->builder.loc,
			"the values of all processes have rank %d; the largest rank is %d",
			rank + 1, IR_MAX_RANK);
		return NULL;
	}
	memcpy(dim + 1, x->type->dim + lead, sizeof *dim * (size_t)rank);
	return build_reshape(im, x, dim, rank + 1);
}

struct import_value
spmd_spread(struct import *im, const struct mlir_op *op, struct ir_value *whole)
{
	const uint32_t all = spmd_of(im)->axes;
	int64_t dim[2 * IR_MAX_RANK + IR_MAX_AXES];
	int rank = 0;

	if (!whole)
		return (struct import_value){0};
	for (int a = 0; a < im->module->naxes; a++)
		if (all >> a & 1)
			dim[rank++] = im->module->axis[a].size;
	for (int d = 1; d < whole->type->rank; d++)
		dim[rank++] = whole->type->dim[d];
	if (rank > IR_MAX_RANK) {
		import_error(im, op, "a value over the mesh has rank %d; the largest rank is %d",
			rank, IR_MAX_RANK);
		return (struct import_value){0};
	}
	struct ir_value *x = build_reshape(im, whole, dim, rank);
	for (int a = 0; a < im->module->naxes; a++)
		if (all >> a & 1)
			x = spmd_partition(im, x, spmd_lead(all, a), a);
	return (struct import_value){.value = x, .varies = all, .failed = !x};
}

struct ir_value *
spmd_row(struct import *im, struct ir_value *whole, int64_t p)
{
	struct ir_value *x = spmd_slice(im, whole, 0, p, p + 1);

	return x ? build_reshape(im, x, x->type->dim + 1, x->type->rank - 1) : NULL;
}

struct ir_value *
spmd_stack(struct import *im, struct ir_value **x, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t dim[IR_MAX_RANK + 1] = {1};
		if (!x[i])
			return NULL;
		if (x[i]->type->rank == IR_MAX_RANK) {
			diag_error(im->diag, im->builder.loc,
				"the values of all processes have a rank of more than %d",
				IR_MAX_RANK);
			return NULL;
		}
		memcpy(dim + 1, x[i]->type->dim, sizeof *dim * x[i]->type->rank);
		x[i] = build_reshape(im, x[i], dim, x[i]->type->rank + 1);
	}
	return ir_build_concat(&im->builder, x, n, 0);
}

struct ir_value *
spmd_zeros(struct import *im, const struct ir_value *x)
{
	if (!x)
		return NULL;
	const struct ir_attr value = ir_dtype_class((enum ir_dtype)x->type->dtype) == IR_FLOAT
					     ? ir_make_float(im->module->ctx, "value", 0)
					     : ir_make_int(im->module->ctx, "value", 0);

	return ir_build_typed(&im->builder, OP_constant, NULL, NULL, 0, &value, 1,
		ir_type_meaning(im->module->ctx, x->type));
}
