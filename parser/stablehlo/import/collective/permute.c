/*
 * collective_permute, collective_broadcast: each process gets what one other has, or zeros; and the
 * numbers of processes, replica_id and partition_id.
 */
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/spmd/spmd.h"

#include <inttypes.h>
#include <talloc.h>

static bool
apart(struct import *im, const struct mlir_op *op)
{
	return spmd_of(im)->alone < 0 ||
	       import_unsupported(im, op, "among processes that run different functions");
}

/* Result i: process p gets row source[p] of the whole, zeros if that is -1. */
static bool
take_rows(struct import *im, const struct mlir_op *op, int i, struct import_value v,
	const int64_t *source, struct import_value *out)
{
	const int64_t n = spmd_processes(im);
	struct ir_value *whole = v.value ? spmd_whole(im, v) : NULL, *zeros = NULL;

	if (!whole)
		return false;
	struct ir_value **row = NEW_ARRAY(im->spmd, struct ir_value *, n);
	for (int64_t p = 0; p < n; p++) {
		if (source[p] < 0 && !zeros)
			zeros = spmd_zeros(im, spmd_row(im, whole, 0));
		row[p] = source[p] < 0 ? zeros : spmd_row(im, whole, source[p]);
	}
	whole = spmd_stack(im, row, n);
	talloc_free(row);
	out[i] = spmd_spread(im, op, whole);
	return out[i].value != NULL;
}

static int64_t *
no_sources(struct import *im)
{
	int64_t *source = NEW_ARRAY(im->spmd, int64_t, spmd_processes(im));

	for (int64_t p = 0; p < spmd_processes(im); p++)
		source[p] = -1;
	return source;
}

/* source_target_pairs are numbers of replicas in each partition, or the other way round. */
static bool
read_pairs(struct import *im, const struct mlir_op *op, int64_t *source)
{
	const struct spmd *s = spmd_of(im);
	const bool partitions = spmd_mode_of(op) == SPMD_PARTITION;
	const struct mlir_attr *a = mlir_attr_find(op, "source_target_pairs");
	const int64_t n = partitions ? s->partitions : s->replicas;
	bool *sends = ZERO_ARRAY(source, bool, n);

	if (!a || a->kind != MLIR_DENSE || a->dense->is_float || a->dense->type->rank != 2 ||
		(a->dense->type->dim[0] && a->dense->type->dim[1] != 2))
		return import_error(
			im, op, "source_target_pairs must be a tensor of pairs of numbers");
	for (int64_t k = 0; k < a->dense->type->dim[0]; k++) {
		const union mlir_number *pair = a->dense->number + (a->dense->splat ? 0 : 2 * k);
		const int64_t from = pair[0].i, to = pair[a->dense->splat ? 0 : 1].i;
		if (from < 0 || from >= n || to < 0 || to >= n)
			return import_error(im, op,
				"the pair %" PRId64 ", %" PRId64 " is out of range of the %" PRId64
				" %s",
				from, to, n, partitions ? "partitions" : "replicas");
		const int64_t first = partitions ? to : to * s->partitions;
		if (sends[from] || source[first] >= 0)
			return import_error(im, op, "%s appears twice in source_target_pairs",
				sends[from] ? "a source" : "a target");
		sends[from] = true;
		for (int64_t k2 = 0; k2 < (partitions ? s->replicas : s->partitions); k2++) {
			const int64_t here = partitions ? k2 * s->partitions : k2;
			source[partitions ? here + to : to * s->partitions + here] =
				partitions ? here + from : from * s->partitions + here;
		}
	}
	return true;
}

bool
import_collective_permute(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	int64_t *source = no_sources(im);
	bool ok = apart(im, op) && read_pairs(im, op, source);

	if (ok && op->noperands != op->nresults)
		ok = import_error(
			im, op, "%u results for %u operands", op->nresults, op->noperands);
	for (uint32_t i = 0; ok && i < op->noperands; i++)
		ok = take_rows(im, op, (int)i, in[i], source, out);
	talloc_free(source);
	return ok;
}

/* --- collective_broadcast --------------------------------------------------------------------- */

/* Groups that are axes: the value of the first member, which then does not vary over them. */
static bool
take_first(struct import *im, const struct mlir_op *op, int i, struct import_value v, uint32_t axes,
	struct import_value *out)
{
	struct ir_value *x = spmd_allgather(im, v.value, axes & v.varies);

	for (int a = im->module->naxes - 1; x && a >= 0; a--)
		if (v.varies & axes & (1u << a)) {
			const int d = spmd_lead(v.varies, a);
			int64_t dim[IR_MAX_RANK];
			int n = 0;
			x = spmd_slice(im, x, d, 0, 1);
			for (int k = 0; x && k < x->type->rank; k++)
				if (k != d)
					dim[n++] = x->type->dim[k];
			x = build_reshape(im, x, dim, n);
		}
	if (!x)
		return false;
	out[i] = import_result(op, i, x, v.varies & ~axes);
	return true;
}

/*
 * The root is a number that the program computes: process p takes row root of the rows of its
 * group. `root` has one for each operand that is broadcast.
 */
static bool
take_dynamic(struct import *im, const struct mlir_op *op, int i, struct import_value v,
	const struct spmd_groups *g, struct ir_value *roots, struct import_value *out)
{
	const int64_t n = spmd_processes(im);
	struct ir_value *whole = v.value && roots ? spmd_whole(im, v) : NULL;
	struct ir_value **row = ZERO_ARRAY(im->spmd, struct ir_value *, n),
			**in = NEW_ARRAY(row, struct ir_value *, g->size);
	const struct ir_attr one[] = {
		ir_make_int(im->module->ctx, "size", 1), ir_make_int(im->module->ctx, "dim", 0)};

	for (int64_t p = 0; whole && p < n; p++) {
		int64_t place, k = spmd_group_find(g, p, &place), members = 0;
		if (k < 0) {
			row[p] = spmd_zeros(im, spmd_row(im, whole, 0));
			continue;
		}
		for (const int64_t *m = g->member + k * g->size;
			members < g->size && m[members] >= 0; members++)
			in[members] = spmd_row(im, whole, m[members]);
		struct ir_value *rows = spmd_stack(im, in, members), *mine = spmd_row(im, roots, p);
		struct ir_value *root = spmd_slice(im, mine, 0, i, i + 1);
		root = build_reshape(im, root, NULL, 0);
		row[p] = rows && root ? ir_build(&im->builder, OP_dynamic_slice,
						(struct ir_value *[]){rows, root}, 2, one, 2)
				      : NULL;
		if (row[p])
			row[p] = build_reshape(
				im, row[p], row[p]->type->dim + 1, row[p]->type->rank - 1);
	}
	whole = whole ? spmd_stack(im, row, n) : NULL;
	talloc_free(row);
	out[i] = spmd_spread(im, op, whole);
	return out[i].value != NULL;
}

static bool
broadcast_dynamic(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const struct spmd_groups *g, struct import_value *out)
{
	if (op->noperands != op->nresults + 1)
		return import_error(im, op, "has_dynamic_root needs the roots as last operand");
	const struct import_value root = in[op->nresults];
	if (!root.value)
		return false;
	if (root.type->rank != 1 || root.type->dim[0] != (int64_t)op->nresults ||
		ir_dtype_class((enum ir_dtype)root.value->type->dtype) == IR_FLOAT)
		return import_error(im, op, "the roots must be one integer for each result");
	struct ir_value *roots = spmd_whole(im, root);
	for (uint32_t i = 0; i < op->nresults; i++)
		if (!take_dynamic(im, op, (int)i, in[i], g, roots, out))
			return false;
	return true;
}

bool
import_collective_broadcast(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	const struct mlir_attr *dynamic = mlir_attr_find(op, "has_dynamic_root");
	struct spmd_groups g;
	bool ok = true;

	if (!spmd_groups_of(im, op, &g))
		return false;
	for (int64_t k = 0; k < g.n * g.size; k++)
		if (g.member[k] < 0)
			return import_error(
				im, op, "replica_groups has a negative number; each group is full");
	if (dynamic && (dynamic->kind != MLIR_BOOL || dynamic->i))
		return apart(im, op) && broadcast_dynamic(im, op, in, &g, out);
	if (op->noperands != op->nresults)
		return import_error(
			im, op, "%u results for %u operands", op->nresults, op->noperands);
	if (g.regular && g.ordered) {
		for (uint32_t i = 0; ok && i < op->noperands; i++)
			ok = in[i].value && take_first(im, op, (int)i, in[i], g.axes, out);
		return ok;
	}
	if (!apart(im, op))
		return false;
	int64_t *source = no_sources(im);
	for (int64_t k = 0; k < g.n * g.size; k++)
		if (g.member[k] >= 0)
			source[g.member[k]] = g.member[k / g.size * g.size];
	for (uint32_t i = 0; ok && i < op->noperands; i++)
		ok = take_rows(im, op, (int)i, in[i], source, out);
	talloc_free(source);
	return ok;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* The digits of the process number from stride low up to high, as a number that varies over their
 * axes. */
static bool
give_number(struct import *im, const struct mlir_op *op, int64_t low, int64_t high,
	struct import_value *out)
{
	struct ir_context *ctx = im->module->ctx;
	const enum ir_dtype dtype = (enum ir_dtype)op->result[0].type->dtype;
	const int64_t alone = spmd_of(im)->alone;
	struct ir_value *sum = NULL;
	struct ir_type t = {.dtype = (uint8_t)dtype};
	uint32_t axes;

	if (alone >= 0 || low == high) {
		out[0] = import_result(op, 0,
			import_scalar(im, dtype, (double)(alone < 0 ? 0 : alone % high / low)), 0);
		return out[0].value != NULL;
	}
	if (!spmd_digits(im, low, high, &axes))
		return import_unsupported(
			im, op, "on a mesh whose axes mix replicas and partitions");
	for (int a = 0; a < im->module->naxes; a++)
		if (axes >> a & 1) {
			t.axis[a] = (struct ir_state){IR_SPLIT, t.rank, 0};
			t.dim[t.rank++] = im->module->axis[a].size;
		}
	const struct ir_type *type = ir_type_intern(ctx, &t);
	for (int a = 0; a < im->module->naxes; a++) {
		if (!(axes >> a & 1))
			continue;
		const struct ir_attr dim = ir_make_int(ctx, "dim", spmd_lead(axes, a));
		struct ir_value *x =
			ir_build_typed(&im->builder, OP_iota, NULL, NULL, 0, &dim, 1, type);
		const double stride = (double)(spmd_of(im)->stride[a] / low);
		if (x && stride != 1)
			x = ir_build2(&im->builder, OP_mul, x, import_scalar(im, dtype, stride));
		sum = sum && x ? ir_build2(&im->builder, OP_add, sum, x) : x;
	}
	if (!sum)
		return false;
	out[0] = import_result(op, 0, sum, axes);
	return true;
}

bool
import_replica_id(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	return give_number(im, op, spmd_of(im)->partitions, spmd_processes(im), out);
}

bool
import_partition_id(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	return give_number(im, op, 1, spmd_of(im)->partitions, out);
}
