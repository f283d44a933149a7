/*
 * all_reduce, all_gather, reduce_scatter, all_to_all (StableHLO specification, the ops of these
 * names).
 *
 * Where the groups are a set of axes, the op is what our parallelization ops say about leading
 * dims:
 *
 *     all_reduce add      sum over leading dims, partial for free, and an allreduce
 *     all_reduce other    allgather of leading dims, reduced there
 *     all_gather          leading dims into the dim, and an allgather
 *     reduce_scatter      sum over leading dims, and a reducescatter into new leading dims
 *     all_to_all          an alltoall from the leading dim to a part of split_dimension
 *
 * For any other groups the values of all processes are gathered, computed with group by group, and
 * split over the processes again: always right, and what it costs is seen in the module.
 */
#include "parser/stablehlo/import_ops.h"
#include "parser/stablehlo/spmd.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

static bool
int_attr(struct import *im, const struct mlir_op *op, const char *name, int64_t *v)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	if (!a || a->kind != MLIR_INT)
		return import_error(im, op, "%s is missing", name);
	*v = a->i;
	return true;
}

/* A dim of the operands: their rank at one process. */
static bool
dim_attr(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const char *name, int *dim)
{
	const int rank = op->noperands ? in[0].type->rank : 0;
	int64_t d;

	if (!int_attr(im, op, name, &d))
		return false;
	if (d < 0 || d >= rank)
		return import_error(
			im, op, "%s is %" PRId64 ", the operand has %d dims", name, d, rank);
	for (uint32_t i = 1; i < op->noperands; i++)
		if (in[i].type->rank <= d)
			return import_error(im, op, "%s is %" PRId64 ", operand %u has %d dims",
				name, d, i + 1, in[i].type->rank);
	*dim = (int)d;
	return true;
}

/* Has every operand a value, and is there a result for each? */
static bool
check_counts(struct import *im, const struct mlir_op *op, const struct import_value *in)
{
	if (!op->noperands || op->nresults != op->noperands)
		return import_error(
			im, op, "%u results for %u operands", op->nresults, op->noperands);
	for (uint32_t i = 0; i < op->noperands; i++)
		if (!in[i].value)
			return false;
	return true;
}

static bool
give(struct import *im, const struct mlir_op *op, uint32_t i, struct ir_value *value,
	uint32_t varies, struct import_value *out)
{
	(void)im;
	out[i] = import_result(op, (int)i, value, varies);
	return value != NULL;
}

static bool
give_rows(struct import *im, const struct mlir_op *op, uint32_t i, struct ir_value **row,
	struct import_value *out)
{
	struct ir_value *whole = spmd_stack(im, row, spmd_processes(im));

	if (!whole)
		return false;
	out[i] = spmd_spread(im, op, whole);
	return out[i].value != NULL;
}

static int64_t
axes_size(const struct import *im, uint32_t axes)
{
	int64_t n = 1;

	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1)
			n *= im->module->axis[a].size;
	return n;
}

/* --- reductions over a group ------------------------------------------------------------------ */

/* The op of ours that reduces with the monoid, OP_NCODES: none. */
static enum op_code
reduction_of(enum import_monoid m, enum ir_dtype t)
{
	const bool logic = t == IR_bool;

	switch (m) {
	case MONOID_ADD: return logic ? OP_any : OP_sum;
	case MONOID_MUL: return logic ? OP_all : OP_prod;
	case MONOID_MAX: return logic ? OP_any : OP_max;
	case MONOID_MIN: return logic ? OP_all : OP_min;
	case MONOID_AND: return logic ? OP_all : OP_NCODES;
	case MONOID_OR: return logic ? OP_any : OP_NCODES;
	default: return OP_NCODES;
	}
}

/* Does a value reduced with itself stay what it is? */
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

/* The leading dims of `dims` (bits, by position) reduced by an op of ours. */
static struct ir_value *
reduce_dims(struct import *im, struct ir_value *x, enum op_code code, const int64_t *dim, int n)
{
	const struct ir_attr attr = ir_make_ints(im->module, "dims", dim, n);

	return x ? ir_build(&im->builder, code, &x, 1, &attr, 1) : NULL;
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
	const int64_t times = axes_size(im, axes & ~v.varies);
	struct ir_value *x = n ? reduce_dims(im, v.value, OP_sum, dim, n) : v.value;

	if (!x || times == 1)
		return x;
	struct ir_value *scale = import_scalar(im, (enum ir_dtype)x->type->dtype, (double)times);
	return scale ? ir_build2(&im->builder, OP_mul, x, scale) : NULL;
}

/* The members of a group of axes, each with the other leading dims: for any region. */
static struct ir_value *
fold_axes(struct import *im, const struct mlir_op *op, struct import_value v, uint32_t axes)
{
	const int64_t n = axes_size(im, axes);
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
	x = spmd_transpose(im, x, perm);
	if (!x)
		return NULL;
	const int group = __builtin_popcount(axes);
	memcpy(dim + 1, x->type->dim + group, sizeof *dim * (size_t)(rank - group));
	x = spmd_reshape(im, x, dim, rank - group + 1);
	struct ir_value **row = talloc_array(im->spmd, struct ir_value *, n);
	if (!row)
		out_of_memory();
	for (int64_t k = 0; k < n; k++)
		row[k] = x ? spmd_row(im, x, k) : NULL;
	struct ir_value *r = row[0] ? fold(im, op, row, n) : NULL;
	talloc_free(row);
	return r;
}

/* One operand, groups that are axes: what all members get, which varies over the other axes. */
static struct ir_value *
reduce_axes(struct import *im, const struct mlir_op *op, struct import_value v, uint32_t axes)
{
	const enum ir_dtype t = (enum ir_dtype)v.value->type->dtype;
	const enum import_monoid m = monoid_of(op);
	const enum op_code code = reduction_of(m, t);
	int64_t dim[IR_MAX_AXES];

	if (!axes || (is_idempotent(m, t) && !(v.varies & axes)))
		return v.value;
	if (code == OP_sum)
		return allreduce(im, partial_sum(im, v, axes), axes & v.varies);
	if (code == OP_NCODES || (!is_idempotent(m, t) && (axes & ~v.varies)))
		return fold_axes(im, op, v, axes);
	const int n = leading_dims(&v, axes, dim);
	return reduce_dims(im, spmd_allgather(im, v.value, v.varies & axes), code, dim, n);
}

/* Any groups: row p is what process p gets. Processes that are in no group get NULL. */
static struct ir_value **
reduce_rows(struct import *im, const struct mlir_op *op, const struct spmd_groups *g,
	struct import_value v)
{
	const int64_t processes = spmd_processes(im);
	struct ir_value *whole = spmd_whole(im, v);
	struct ir_value **row = talloc_zero_array(im->spmd, struct ir_value *, processes),
			**in = talloc_array(row, struct ir_value *, g->size);

	if (!row || !in)
		out_of_memory();
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

/* All processes must have a row where every one takes part. */
static bool
all_in_groups(struct import *im, const struct mlir_op *op, struct ir_value *const *row)
{
	for (int64_t p = 0; p < spmd_processes(im); p++)
		if (!row[p])
			return import_error(im, op, "process %" PRId64 " is in no group", p);
	return true;
}

/*
 * The region is one of two scalars of one element type, which the operands are converted to: it may
 * be a wider one.
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
	if (!i && !import_check_region(im, op, 0, (const struct mlir_type *[]){t, t}, 2, &t, 1))
		return false;
	v->value = import_build_convert(im, v->value, (enum ir_dtype)dtype);
	return v->value != NULL;
}

bool
import_all_reduce(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd_groups g;

	if (!check_counts(im, op, in) || !spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (!prepare(im, op, i, &v))
			return false;
		if (g.regular) {
			if (!give(im, op, i, reduce_axes(im, op, v, g.axes), v.varies & ~g.axes,
				    out))
				return false;
			continue;
		}
		struct ir_value **row = reduce_rows(im, op, &g, v);
		const bool ok = row && all_in_groups(im, op, row) && give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
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

	if (!check_counts(im, op, in) || !spmd_groups_of(im, op, &g))
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
		const bool ok = row && give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
			return false;
	}
	return true;
}

/* --- all_gather ------------------------------------------------------------------------------- */

/* Leading dims of `axes` go in front of dim `dim` (of one process) and into it. */
static struct ir_value *
lead_into_dim(struct import *im, struct ir_value *x, uint32_t varies, uint32_t axes, int dim)
{
	int64_t perm[IR_MAX_RANK], size[IR_MAX_RANK];
	const int lead = __builtin_popcount(varies), group = __builtin_popcount(axes & varies);
	int n = 0;

	if (!x)
		return NULL;
	for (int a = 0; a < im->module->naxes; a++)
		if (varies & ~axes & (1u << a))
			perm[n++] = spmd_lead(varies, a);
	for (int d = lead; d < lead + dim; d++)
		perm[n++] = d;
	const int at = n;
	for (int a = 0; a < im->module->naxes; a++)
		if (varies & axes & (1u << a))
			perm[n++] = spmd_lead(varies, a);
	for (int d = lead + dim; d < x->type->rank; d++)
		perm[n++] = d;
	x = spmd_transpose(im, x, perm);
	if (!x)
		return NULL;
	n = 0;
	for (int d = 0; d < x->type->rank; d++) {
		size[n] = x->type->dim[d];
		for (; d >= at && d < at + group; d++)
			size[n] *= x->type->dim[d + 1];
		n++;
	}
	return spmd_reshape(im, x, size, n);
}

bool
import_all_gather(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const int64_t processes = spmd_processes(im);
	struct spmd_groups g;
	int dim;

	if (!check_counts(im, op, in) || !dim_attr(im, op, in, "all_gather_dim", &dim) ||
		!spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (g.regular && g.ordered) {
			if (!spmd_vary(im, &v, g.axes))
				return false;
			struct ir_value *x = lead_into_dim(im, v.value, v.varies, g.axes, dim);
			x = spmd_allgather(im, x, g.axes);
			if (!give(im, op, i, x, v.varies & ~g.axes, out))
				return false;
			continue;
		}
		struct ir_value *whole = spmd_whole(im, v);
		struct ir_value **row = talloc_zero_array(im->spmd, struct ir_value *, processes),
				**part = talloc_array(row, struct ir_value *, g.size);
		if (!row || !part)
			out_of_memory();
		for (int64_t k = 0; whole && k < g.n; k++) {
			const int64_t *m = g.member + k * g.size;
			int64_t n = 0;
			for (; n < g.size && m[n] >= 0; n++)
				part[n] = spmd_row(im, whole, m[n]);
			struct ir_value *x = n ? spmd_concat(im, part, n, dim) : NULL;
			for (n = 0; n < g.size && m[n] >= 0; n++)
				row[m[n]] = x;
		}
		const bool ok =
			whole && all_in_groups(im, op, row) && give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
			return false;
	}
	return true;
}

/* --- reduce_scatter --------------------------------------------------------------------------- */

/* Dim `dim` of one process in as many parts as the axes have places, a dim an axis. */
static struct ir_value *
dim_into_parts(struct import *im, struct ir_value *x, int at, uint32_t axes)
{
	int64_t size[2 * IR_MAX_RANK + IR_MAX_AXES];
	int n = 0;

	if (!x)
		return NULL;
	for (int d = 0; d < at; d++)
		size[n++] = x->type->dim[d];
	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1)
			size[n++] = im->module->axis[a].size;
	size[n++] = x->type->dim[at] / axes_size(im, axes);
	for (int d = at + 1; d < x->type->rank; d++)
		size[n++] = x->type->dim[d];
	if (n <= IR_MAX_RANK)
		return spmd_reshape(im, x, size, n);
	diag_error(im->diag, im->builder.loc,
		"a value over the mesh has %d dims; at most %d are possible", n, IR_MAX_RANK);
	return NULL;
}

/* A dim for each of `axes` from `at` on becomes a leading dim beside those of `varies`. */
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
	return spmd_transpose(im, x, perm);
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
	const bool sum = reduction_of(m, (enum ir_dtype)v.value->type->dtype) == OP_sum;
	struct ir_value *x = sum ? partial_sum(im, v, axes) : reduce_axes(im, op, v, axes);

	x = dim_into_parts(im, x, at, axes);
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

	if (!check_counts(im, op, in) || !dim_attr(im, op, in, "scatter_dimension", &dim) ||
		!spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (!prepare(im, op, i, &v))
			return false;
		const int64_t size = in[i].type->dim[dim];
		if (size % g.size)
			return import_error(im, op,
				"dim %d of size %" PRId64 " does not fall into %" PRId64
				" parts, one a process of a group",
				dim, size, g.size);
		if (g.regular && g.ordered) {
			struct ir_value *x = reduce_scatter_axes(im, op, v, g.axes, dim);
			if (!give(im, op, i, x, v.varies | g.axes, out))
				return false;
			continue;
		}
		struct ir_value **row = reduce_rows(im, op, &g, v);
		bool ok = row && all_in_groups(im, op, row);
		for (int64_t p = 0; ok && p < spmd_processes(im); p++) {
			int64_t place = 0;
			spmd_group_find(&g, p, &place);
			row[p] = spmd_slice(im, row[p], dim, place * (size / g.size),
				(place + 1) * (size / g.size));
		}
		ok = ok && give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
			return false;
	}
	return true;
}

/* --- all_to_all ------------------------------------------------------------------------------- */

/*
 * x[a.., .., s, ..] with a in the group; parts b of the split dim: y[b.., .., (a.. c), ..]. The
 * split moves from a to b, then dims take their places.
 */
static struct ir_value *
exchange(struct import *im, struct import_value v, uint32_t axes, int from, int to)
{
	const int lead = import_lead(&v), group = __builtin_popcount(axes);
	int64_t perm[IR_MAX_RANK];
	int n = 0;

	if (lead + group + v.type->rank > IR_MAX_RANK) {
		diag_error(im->diag, im->builder.loc,
			"what is exchanged has %d dims on the way; at most %d are possible",
			lead + group + v.type->rank, IR_MAX_RANK);
		return NULL;
	}
	struct ir_value *x = dim_into_parts(im, v.value, lead + from, axes);
	for (int a = 0; x && a < im->module->naxes; a++) {
		if (!(axes >> a & 1))
			continue;
		const struct ir_attr attr[] = {
			ir_make_int(im->module->ctx, "from", spmd_lead(v.varies, a)),
			ir_make_int(im->module->ctx, "to", lead + from + spmd_lead(axes, a)),
			ir_make_axis(im->module->ctx, "axis", a)};
		x = ir_build(&im->builder, OP_alltoall, &x, 1, attr, 3);
	}
	if (!x)
		return NULL;
	/* Parts b to the places of a, and a behind all leading dims. */
	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1)
			perm[n++] = lead + from + spmd_lead(axes, a);
		else if (v.varies >> a & 1)
			perm[n++] = spmd_lead(v.varies, a);
	for (int d = 0; d < v.type->rank; d++) {
		if (d == to)
			for (int a = 0; a < im->module->naxes; a++)
				if (axes >> a & 1)
					perm[n++] = spmd_lead(v.varies, a);
		perm[n++] = lead + d + (d >= from ? group : 0);
	}
	x = spmd_transpose(im, x, perm);
	if (!x)
		return NULL;
	int64_t size[IR_MAX_RANK];
	n = 0;
	for (int d = 0; d < x->type->rank; d++) {
		size[n] = x->type->dim[d];
		for (; d >= lead + to && d < lead + to + group; d++)
			size[n] *= x->type->dim[d + 1];
		n++;
	}
	return spmd_reshape(im, x, size, n);
}

/* What process p of a group gets: part `place` of every member's, one behind the other. */
static struct ir_value *
collect_parts(struct import *im, struct ir_value *whole, const int64_t *m, int64_t n, int64_t place,
	int from, int to)
{
	struct ir_value **part = talloc_array(im->spmd, struct ir_value *, n);

	if (!part)
		out_of_memory();
	for (int64_t k = 0; k < n; k++) {
		struct ir_value *x = spmd_row(im, whole, m[k]);
		const int64_t size = x ? x->type->dim[from] / n : 0;
		part[k] = spmd_slice(im, x, from, place * size, (place + 1) * size);
	}
	struct ir_value *x = part[n - 1] ? spmd_concat(im, part, n, to) : NULL;
	talloc_free(part);
	return x;
}

bool
import_all_to_all(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd_groups g;
	int from, to;
	int64_t count;

	if (!check_counts(im, op, in) || !dim_attr(im, op, in, "split_dimension", &from) ||
		!dim_attr(im, op, in, "concat_dimension", &to) ||
		!int_attr(im, op, "split_count", &count) || !spmd_groups_of(im, op, &g))
		return false;
	if (count != g.size)
		return import_error(im, op,
			"split_count is %" PRId64 ", a group has %" PRId64 " processes", count,
			g.size);
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (g.member[g.n * g.size - 1] < 0)
			return import_error(
				im, op, "a group has fewer than %" PRId64 " processes", count);
		if (in[i].type->dim[from] % count)
			return import_error(im, op,
				"dim %d of size %" PRId64 " does not fall into %" PRId64 " parts",
				from, in[i].type->dim[from], count);
		if (g.regular && g.ordered) {
			if (!spmd_vary(im, &v, g.axes) ||
				!give(im, op, i, exchange(im, v, g.axes, from, to), v.varies, out))
				return false;
			continue;
		}
		struct ir_value *whole = spmd_whole(im, v);
		struct ir_value **row =
			talloc_zero_array(im->spmd, struct ir_value *, spmd_processes(im));
		if (!row)
			out_of_memory();
		for (int64_t k = 0; whole && k < g.n * g.size; k++)
			if (g.member[k] >= 0)
				row[g.member[k]] =
					collect_parts(im, whole, g.member + k / g.size * g.size,
						g.size, k % g.size, from, to);
		const bool ok =
			whole && all_in_groups(im, op, row) && give_rows(im, op, i, row, out);
		talloc_free(row);
		if (!ok)
			return false;
	}
	return true;
}
