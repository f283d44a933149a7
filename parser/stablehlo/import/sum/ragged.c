/*
 * ragged_dot (CHLO, "ragged_dot"): a product in which one dim of lhs is divided into consecutive
 * groups of group_sizes elements. With member[i, g] = is element i in group g, it is a contract of
 * three operands. The ragged dim is
 *
 *     a dim of lhs alone    rhs has a matrix for each group:
 *                           out[i,j] = sum over g, k of lhs[i,k] rhs[g,k,j] member[i,g]
 *     summed over           the result has a matrix for each group:
 *                           out[g,i,j] = sum over k of lhs[i,k] rhs[k,j] member[k,g]
 *     a batch dim           the groups have no effect: dot_general
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>
#include <string.h>

struct ragged {
	struct import *im;
	const struct mlir_op *op;
	struct dims batch[2], sum[2], ragged, group;
	char letter[2][IR_MAX_RANK];
	char spec[8 * IR_MAX_RANK];
	int at;
};

static bool
take_ragged(struct ragged *r, const struct import_value *in)
{
	static const char *const names[2][2] = {
		{"lhs_batching_dimensions", "rhs_batching_dimensions"},
		{"lhs_contracting_dimensions", "rhs_contracting_dimensions"}};
	const struct mlir_attr *dict = mlir_attr_find(r->op, "ragged_dot_dimension_numbers");

	if (!dict || dict->kind != MLIR_DICT)
		return import_error(r->im, r->op, "has no ragged_dot_dimension_numbers");
	for (int side = 0; side < 2; side++) {
		const int rank = in[side].type->rank;
		if (!take_dims(r->im, r->op, dict, names[0][side], rank, &r->batch[side]) ||
			!take_dims(r->im, r->op, dict, names[1][side], rank, &r->sum[side]) ||
			!take_disjoint(r->im, r->op, &r->batch[side], &r->sum[side],
				"the batching and the contracting dims"))
			return false;
	}
	if (!take_dims(r->im, r->op, dict, "lhs_ragged_dimensions", in[0].type->rank, &r->ragged) ||
		!take_dims(r->im, r->op, dict, "rhs_group_dimensions", in[1].type->rank, &r->group))
		return false;
	if (r->ragged.n != 1 || r->group.n > 1)
		return import_error(
			r->im, r->op, "there must be one ragged dim and at most one group dim");
	if (r->batch[0].n != r->batch[1].n || r->sum[0].n != r->sum[1].n)
		return import_error(r->im, r->op,
			"lhs and rhs have different numbers of batching or contracting dims");
	if (in[2].type->rank != 1)
		return import_unsupported(r->im, r->op, "group sizes that differ within the batch");
	const bool own = !dims_has(&r->batch[0], r->ragged.dim[0]) &&
			 !dims_has(&r->sum[0], r->ragged.dim[0]);
	if (own != (r->group.n == 1))
		return import_error(r->im, r->op,
			"rhs must have a group dim if, and only if, the ragged dim is "
			"neither a batching nor a contracting dim");
	if (own && in[1].type->dim[r->group.dim[0]] != in[2].type->dim[0])
		return import_error(r->im, r->op,
			"rhs has %" PRId64 " groups, but group_sizes has %" PRId64,
			in[1].type->dim[r->group.dim[0]], in[2].type->dim[0]);
	return true;
}

/* member[i, g] for a dim of n elements: is i within the start and end of group g? */
static struct ir_value *
build_members(struct ragged *r, struct ir_value *sizes, int64_t n, enum ir_dtype t)
{
	struct ir_builder *b = &r->im->builder;
	const struct ir_attr dim = ir_make_int(r->im->module->ctx, "dim", 0);

	sizes = build_convert(r->im, sizes, IR_i64);
	struct ir_value *end = ir_build(b, OP_cumsum, &sizes, 1, &dim, 1);
	struct ir_value *start = ir_build2(b, OP_sub, end, sizes);
	struct ir_value *at = build_iota(r->im, IR_i64, 2, 0, n);
	struct ir_value *in =
		ir_build2(b, OP_and, ir_build2(b, OP_ge, at, start), ir_build2(b, OP_lt, at, end));
	return build_convert(r->im, in, t);
}

static void
put(struct ragged *r, char c)
{
	r->spec[r->at++] = c;
}

/* Letters: z for the group; from a on for lhs; rhs has the same letters for paired dims. */
static void
give_letters(struct ragged *r, const struct import_value *in)
{
	char next = 'a';

	for (int d = 0; d < in[0].type->rank; d++)
		r->letter[0][d] = next++;
	for (int i = 0; i < r->batch[0].n; i++)
		r->letter[1][r->batch[1].dim[i]] = r->letter[0][r->batch[0].dim[i]];
	for (int i = 0; i < r->sum[0].n; i++)
		r->letter[1][r->sum[1].dim[i]] = r->letter[0][r->sum[0].dim[i]];
	for (int i = 0; i < r->group.n; i++)
		r->letter[1][r->group.dim[i]] = 'z';
	for (int d = 0; d < in[1].type->rank; d++)
		if (!r->letter[1][d])
			r->letter[1][d] = next++;
}

static void
put_spec(struct ragged *r, const struct import_value *in, bool members, bool per_group)
{
	for (int side = 0; side < 2; side++) {
		for (int d = 0; d < in[side].type->rank; d++)
			put(r, r->letter[side][d]);
		if (!side)
			put(r, ',');
	}
	if (members) {
		put(r, ',');
		put(r, r->letter[0][r->ragged.dim[0]]);
		put(r, 'z');
	}
	put(r, '-');
	put(r, '>');
	if (per_group)
		put(r, 'z');
	for (int i = 0; i < r->batch[0].n; i++)
		put(r, r->letter[0][r->batch[0].dim[i]]);
	for (int side = 0; side < 2; side++)
		for (int d = 0; d < in[side].type->rank; d++)
			if (!dims_has(&r->batch[side], d) && !dims_has(&r->sum[side], d) &&
				(!side || !dims_has(&r->group, d)))
				put(r, r->letter[side][d]);
}

bool
import_ragged_dot(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct ragged r = {.im = im, .op = op};

	if (!take_ragged(&r, in))
		return false;
	if (in[0].varies | in[1].varies | in[2].varies)
		return import_unsupported(im, op, "operands that differ between processes");
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < (kind ? r.sum : r.batch)[0].n; i++) {
			const struct dims *d = kind ? r.sum : r.batch;
			if (in[0].type->dim[d[0].dim[i]] != in[1].type->dim[d[1].dim[i]])
				return import_error(im, op,
					"lhs and rhs have different sizes along dims %" PRId64
					" and %" PRId64,
					d[0].dim[i], d[1].dim[i]);
		}
	const bool in_batch = dims_has(&r.batch[0], r.ragged.dim[0]);
	const bool per_group = dims_has(&r.sum[0], r.ragged.dim[0]);
	const enum ir_dtype result = (enum ir_dtype)op->result[0].type->dtype;
	give_letters(&r, in);
	put_spec(&r, in, !in_batch, per_group);
	struct ir_value *x[3] = {build_convert(im, in[0].value, result),
		build_convert(im, in[1].value, result),
		in_batch
			? NULL
			: build_members(&r, in[2].value, in[0].type->dim[r.ragged.dim[0]], result)};
	const struct ir_attr attr = ir_make_string(im->module->ctx, "spec", r.spec);
	struct ir_value *v = ir_build(&im->builder, OP_contract, x, in_batch ? 2 : 3, &attr, 1);
	return import_give(op, 0, v, 0, out);
}
