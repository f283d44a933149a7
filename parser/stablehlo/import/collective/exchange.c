/* all_gather and all_to_all: see collective.c. */
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/collective/collective.h"
#include "parser/stablehlo/import/ops.h"

#include <inttypes.h>
#include <talloc.h>

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
	x = build_transpose(im, x, perm);
	if (!x)
		return NULL;
	n = 0;
	for (int d = 0; d < x->type->rank; d++) {
		size[n] = x->type->dim[d];
		for (; d >= at && d < at + group; d++)
			size[n] *= x->type->dim[d + 1];
		n++;
	}
	return build_reshape(im, x, size, n);
}

bool
import_all_gather(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const int64_t processes = spmd_processes(im);
	struct spmd_groups g;
	int dim;

	if (!collective_counts(im, op, in) || !collective_dim(im, op, in, "all_gather_dim", &dim) ||
		!spmd_groups_of(im, op, &g))
		return false;
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (g.regular && g.ordered) {
			if (!spmd_vary(im, &v, g.axes))
				return false;
			struct ir_value *x = lead_into_dim(im, v.value, v.varies, g.axes, dim);
			x = spmd_allgather(im, x, g.axes);
			if (!collective_give(im, op, i, x, v.varies & ~g.axes, out))
				return false;
			continue;
		}
		struct ir_value *whole = spmd_whole(im, v);
		struct ir_value **row = ZERO_ARRAY(im->spmd, struct ir_value *, processes),
				**part = NEW_ARRAY(row, struct ir_value *, g.size);
		for (int64_t k = 0; whole && k < g.n; k++) {
			const int64_t *m = g.member + k * g.size;
			int64_t n = 0;
			for (; n < g.size && m[n] >= 0; n++)
				part[n] = spmd_row(im, whole, m[n]);
			struct ir_value *x = n ? ir_build_concat(&im->builder, part, n, dim) : NULL;
			for (n = 0; n < g.size && m[n] >= 0; n++)
				row[m[n]] = x;
		}
		if (!collective_finish(im, op, i, whole ? row : NULL, out))
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
			"the exchange needs a tensor of rank %d; the largest rank is %d",
			lead + group + v.type->rank, IR_MAX_RANK);
		return NULL;
	}
	struct ir_value *x = collective_parts(im, v.value, lead + from, axes);
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
	/* Moves parts b to the places of a, and a after all leading dims. */
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
	x = build_transpose(im, x, perm);
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
	return build_reshape(im, x, size, n);
}

/* The result of process p of a group: part `place` of each member's value, concatenated. */
static struct ir_value *
collect_parts(struct import *im, struct ir_value *whole, const int64_t *m, int64_t n, int64_t place,
	int from, int to)
{
	struct ir_value **part = NEW_ARRAY(im->spmd, struct ir_value *, n);

	for (int64_t k = 0; k < n; k++) {
		struct ir_value *x = spmd_row(im, whole, m[k]);
		const int64_t size = x ? x->type->dim[from] / n : 0;
		part[k] = spmd_slice(im, x, from, place * size, (place + 1) * size);
	}
	struct ir_value *x = part[n - 1] ? ir_build_concat(&im->builder, part, n, to) : NULL;
	talloc_free(part);
	return x;
}

bool
import_all_to_all(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd_groups g;
	int from, to;
	int64_t count = 0;

	if (!collective_counts(im, op, in) ||
		!collective_dim(im, op, in, "split_dimension", &from) ||
		!collective_dim(im, op, in, "concat_dimension", &to) ||
		!collective_int(im, op, "split_count", &count) || !spmd_groups_of(im, op, &g))
		return false;
	if (count != g.size)
		return import_error(im, op,
			"split_count is %" PRId64 ", but a group has %" PRId64 " processes", count,
			g.size);
	for (uint32_t i = 0; i < op->noperands; i++) {
		struct import_value v = in[i];
		if (g.member[g.n * g.size - 1] < 0)
			return import_error(
				im, op, "a group has fewer than %" PRId64 " processes", count);
		if (in[i].type->dim[from] % count)
			return import_error(im, op,
				"dim %d of size %" PRId64 " is not divisible into %" PRId64
				" parts",
				from, in[i].type->dim[from], count);
		if (g.regular && g.ordered) {
			if (!spmd_vary(im, &v, g.axes) ||
				!collective_give(im, op, i, exchange(im, v, g.axes, from, to),
					v.varies, out))
				return false;
			continue;
		}
		struct ir_value *whole = spmd_whole(im, v);
		struct ir_value **row = ZERO_ARRAY(im->spmd, struct ir_value *, spmd_processes(im));
		for (int64_t k = 0; whole && k < g.n * g.size; k++)
			if (g.member[k] >= 0)
				row[g.member[k]] =
					collect_parts(im, whole, g.member + k / g.size * g.size,
						g.size, k % g.size, from, to);
		if (!collective_finish(im, op, i, whole ? row : NULL, out))
			return false;
	}
	return true;
}
