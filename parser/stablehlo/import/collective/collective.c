/*
 * all_reduce, reduce_scatter, collective_reduce (StableHLO specification, the ops of these names);
 * exchange.c has all_gather and all_to_all.
 *
 * If the groups are a set of axes, the op is expressed by the IR's parallelization ops on leading
 * dims:
 *
 *     all_reduce add      sum over leading dims, partial for free, and an allreduce
 *     all_reduce other    allgather of leading dims, reduced there
 *     all_gather          leading dims into the dim, and an allgather
 *     reduce_scatter      sum over leading dims, and a reducescatter into new leading dims
 *     all_to_all          an alltoall from the leading dim to a part of split_dimension
 *
 * For any other groups the values of all processes are gathered, computed with group by group, and
 * split over the processes again: always correct, and its cost is visible in the module.
 */
#include "parser/stablehlo/import/collective/collective.h"
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* --- reductions over a group ------------------------------------------------------------------ */

/* Does reducing a value with itself not change it? */
static bool
is_idempotent(enum import_monoid m, enum ir_dtype t)
{
	return m == MONOID_MAX || m == MONOID_MIN || m == MONOID_AND || m == MONOID_OR ||
	       m == MONOID_SECOND || (t == IR_bool && (m == MONOID_ADD || m == MONOID_MUL));
}

/* cross-replica-sum has no region. */
static enum import_monoid
monoid_of(const struct mlir_op *op)
{
	return op->nregions ? import_region_monoid(&op->region[0]) : MONOID_ADD;
}

/* n values, one after the other through the op's region. */
static struct ir_value *
fold(struct import *im, const struct mlir_op *op, struct ir_value **v, int64_t n)
{
	struct import_value acc = {.value = v[0]};
	const enum op_code code =
		v[0] ? import_monoid_op(monoid_of(op), (enum ir_dtype)v[0]->type->dtype)
		     : OP_NCODES;

	for (int64_t k = 1; acc.value && k < n; k++) {
		const struct import_value in[] = {acc, {.value = v[k]}};
		acc = (struct import_value){0};
		if (code != OP_NCODES)
			acc.value = v[k] ? ir_build2(&im->builder, code, in[0].value, v[k]) : NULL;
		else if (!v[k] || !import_region(im, op, 0, in, 2, &acc, 1))
			return NULL;
	}
	return acc.value;
}

static struct ir_value *
allreduce(struct import *im, struct ir_value *x, uint32_t axes)
{
	for (int a = 0; x && a < im->module->naxes; a++)
		if (axes >> a & 1) {
			const struct ir_attr attr = ir_make_axis(im->module->ctx, "axis", a);
			x = ir_build(&im->builder, OP_allreduce, &x, 1, &attr, 1);
		}
	return x;
}

static int
leading_dims(const struct import_value *v, uint32_t axes, int64_t dim[IR_MAX_AXES])
{
	int n = 0;

	for (int a = 0; a < IR_MAX_AXES; a++)
		if (v->varies & axes & (1u << a))
			dim[n++] = spmd_lead(v->varies, a);
	return n;
}

/* The sum over a group of axes: partial on those that the value varies over. */
static struct ir_value *
partial_sum(struct import *im, struct import_value v, uint32_t axes)
{
	int64_t dim[IR_MAX_AXES];
	const int n = leading_dims(&v, axes, dim);
	const int64_t times = collective_size(im, axes & ~v.varies);
	struct ir_value *x = n ? build_reduce(im, OP_sum, v.value, dim, n) : v.value;

	if (!x || times == 1)
		return x;
	struct ir_value *scale = import_scalar(im, (enum ir_dtype)x->type->dtype, (double)times);
	return scale ? ir_build2(&im->builder, OP_mul, x, scale) : NULL;
}

/* The members of a group of axes, each with the other leading dims: for any region. */
static struct ir_value *
fold_axes(struct import *im, const struct mlir_op *op, struct import_value v, uint32_t axes)
{
	const int64_t n = collective_size(im, axes);
	int64_t perm[IR_MAX_RANK], dim[IR_MAX_RANK + 1] = {n};
	int rank = 0;

	if (!spmd_vary(im, &v, axes))
		return NULL;
	struct ir_value *x = spmd_allgather(im, v.value, axes);
	if (!x)
		return NULL;
	for (int pass = 0; pass < 2; pass++) /* the dims of the group go first */
		for (int a = 0; a < im->module->naxes; a++)
			if ((v.varies >> a & 1) && ((axes >> a & 1) != 0) == (pass == 0))
				perm[rank++] = spmd_lead(v.varies, a);
	for (; rank < x->type->rank; rank++)
		perm[rank] = rank;
	x = build_transpose(im, x, perm);
	if (!x)
		return NULL;
	const int group = __builtin_popcount(axes);
	memcpy(dim + 1, x->type->dim + group, sizeof *dim * (size_t)(rank - group));
	x = build_reshape(im, x, dim, rank - group + 1);
	struct ir_value **row = NEW_ARRAY(im->spmd, struct ir_value *, n);
	for (int64_t k = 0; k < n; k++)
		row[k] = x ? spmd_row(im, x, k) : NULL;
	struct ir_value *r = row[0] ? fold(im, op, row, n) : NULL;
	talloc_free(row);
	return r;
}

/* One operand, groups that are axes: the result of all members varies over the other axes. */
static struct ir_value *
reduce_axes(struct import *im, const struct mlir_op *op, struct import_value v, uint32_t axes)
{
	const enum ir_dtype t = (enum ir_dtype)v.value->type->dtype;
	const enum import_monoid m = monoid_of(op);
	const enum op_code code = import_monoid_reduction(m, t);
	int64_t dim[IR_MAX_AXES];

	if (!axes || (is_idempotent(m, t) && !(v.varies & axes)))
		return v.value;
	if (code == OP_sum)
		return allreduce(im, partial_sum(im, v, axes), axes & v.varies);
	if (code == OP_NCODES || (!is_idempotent(m, t) && (axes & ~v.varies)))
		return fold_axes(im, op, v, axes);
	const int n = leading_dims(&v, axes, dim);
	return build_reduce(im, code, spmd_allgather(im, v.value, v.varies & axes), dim, n);
}

/* Any groups: row p is what process p gets. Processes that are in no group get NULL. */
static struct ir_value **
reduce_rows(struct import *im, const struct mlir_op *op, const struct spmd_groups *g,
	struct import_value v)
{
	const int64_t processes = spmd_processes(im);
	struct ir_value *whole = spmd_whole(im, v);
	struct ir_value **row = ZERO_ARRAY(im->spmd, struct ir_value *, processes),
			**in = NEW_ARRAY(row, struct ir_value *, g->size);

	for (int64_t k = 0; whole && k < g->n; k++) {
		const int64_t *m = g->member + k * g->size;
		int64_t n = 0;
		for (; n < g->size && m[n] >= 0; n++)
			in[n] = spmd_row(im, whole, m[n]);
		struct ir_value *r = n ? fold(im, op, in, n) : NULL;
		if (n && !r) {
			talloc_free(row);
			return NULL;
		}
		for (int64_t j = 0; j < n; j++)
			row[m[j]] = r;
	}
	if (whole)
		return row;
	talloc_free(row);
	return NULL;
}

/*
 * The region has two scalars of one element type, to which the operands are converted: it may be a
 * wider one.
 */
static bool
prepare(struct import *im, const struct mlir_op *op, uint32_t i, struct import_value *v)
{
	if (!op->nregions)
		return true;
	const struct mlir_block *b = &op->region[0];
	const int dtype = b->nargs ? b->arg[0].type->dtype : -1;
	if (dtype < 0)
		return import_error(im, op, "needs a region of two scalars");
	const struct mlir_type *t = import_local_type(im, (enum ir_dtype)dtype, 0, NULL);
	if (!i && !import_check_region(im, op, 0, (struct import_value[]){{.type = t}, {.type = t}},
			  2, &(struct import_value){.type = t}, 1))
		return false;
	v->value = import_build_convert(im, v->value, (enum ir_dtype)dtype);
	return v->value != NULL;
}

bool
import_all_reduce(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd_groups g;

	if (!collective_counts(im, op, in) || !spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (!prepare(im, op, i, &v))
			return false;
		if (g.regular) {
			if (!collective_give(im, op, i, reduce_axes(im, op, v, g.axes),
				    v.varies & ~g.axes, out))
				return false;
			continue;
		}
		struct ir_value **row = reduce_rows(im, op, &g, v);
		if (!collective_finish(im, op, i, row, out))
			return false;
	}
	return true;
}

/* The first of a group gets the reduction, all others zeros. */
bool
import_collective_reduce(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd_groups g;
	int64_t place;

	if (!collective_counts(im, op, in) || !spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (!prepare(im, op, i, &v))
			return false;
		struct ir_value **row = reduce_rows(im, op, &g, v), *zeros = NULL;
		for (int64_t p = 0; row && p < spmd_processes(im); p++) {
			if (row[p] && spmd_group_find(&g, p, &place) >= 0 && place == 0)
				continue;
			zeros = zeros ? zeros : spmd_zeros(im, row[g.member[0]]);
			row[p] = zeros;
		}
		const bool ok = row && collective_give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
			return false;
	}
	return true;
}

/* --- reduce_scatter --------------------------------------------------------------------------- */

/* Makes the dims from `at` on, one for each of `axes`, leading dims in addition to `varies`. */
static struct ir_value *
parts_to_lead(struct import *im, struct ir_value *x, uint32_t varies, uint32_t axes, int at)
{
	int64_t perm[IR_MAX_RANK];
	const int group = __builtin_popcount(axes);
	int n = 0;

	if (!x)
		return NULL;
	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1)
			perm[n++] = at + spmd_lead(axes, a);
		else if (varies >> a & 1)
			perm[n++] = spmd_lead(varies, a);
	for (int d = __builtin_popcount(varies); d < x->type->rank; d++)
		if (d < at || d >= at + group)
			perm[n++] = d;
	return build_transpose(im, x, perm);
}

static struct ir_value *
scatter(struct import *im, struct ir_value *x, int dim, int axis, bool partial)
{
	const struct ir_attr attr[] = {ir_make_int(im->module->ctx, "dim", dim),
		ir_make_axis(im->module->ctx, "axis", axis)};

	if (!x || !partial)
		return spmd_partition(im, x, dim, axis);
	return ir_build(&im->builder, OP_reducescatter, &x, 1, attr, 2);
}

static struct ir_value *
reduce_scatter_axes(
	struct import *im, const struct mlir_op *op, struct import_value v, uint32_t axes, int dim)
{
	const uint32_t rest = v.varies & ~axes;
	const int at = __builtin_popcount(rest) + dim;
	const enum import_monoid m = monoid_of(op);
	const bool sum = import_monoid_reduction(m, (enum ir_dtype)v.value->type->dtype) == OP_sum;
	struct ir_value *x = sum ? partial_sum(im, v, axes) : reduce_axes(im, op, v, axes);

	x = collective_parts(im, x, at, axes);
	for (int a = 0; x && a < im->module->naxes; a++)
		if (axes >> a & 1)
			x = scatter(im, x, at + spmd_lead(axes, a), a,
				x->type->axis[a].kind == IR_PARTIAL);
	return parts_to_lead(im, x, rest, axes, at);
}

bool
import_reduce_scatter(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd_groups g;
	int dim;

	if (!collective_counts(im, op, in) ||
		!collective_dim(im, op, in, "scatter_dimension", &dim) ||
		!spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (!prepare(im, op, i, &v))
			return false;
		const int64_t size = in[i].type->dim[dim];
		if (size % g.size)
			return import_error(im, op,
				"dim %d of size %" PRId64 " is not divisible into %" PRId64
				" parts, one for each process of a group",
				dim, size, g.size);
		if (g.regular && g.ordered) {
			struct ir_value *x = reduce_scatter_axes(im, op, v, g.axes, dim);
			if (!collective_give(im, op, i, x, v.varies | g.axes, out))
				return false;
			continue;
		}
		struct ir_value **row = reduce_rows(im, op, &g, v);
		bool ok = row && collective_complete(im, op, row);
		for (int64_t p = 0; ok && p < spmd_processes(im); p++) {
			int64_t place = 0;
			spmd_group_find(&g, p, &place);
			row[p] = spmd_slice(im, row[p], dim, place * (size / g.size),
				(place + 1) * (size / g.size));
		}
		ok = ok && collective_give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
			return false;
	}
	return true;
}
