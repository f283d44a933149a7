/*
 * gather, dynamic_gather and torch_index_select: gather_nd with a number for each dim that is
 * looked up (index.h). Slices of whole dims, as embeddings take them, cost no numbers of their own.
 */
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/index.h"

#include <inttypes.h>
#include <string.h>

static bool
take_attributes(struct index *x, const struct import_value *in, struct dims *offset)
{
	static const struct index_names names = {"dimension_numbers", "offset_dims",
		"collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
		"start_index_map"};
	const int rank = x->table->rank;

	if (!index_take(x, &names, IR_MAX_RANK, offset))
		return false;
	if (x->op->noperands == 3) {
		if (!take_known(x->im, &in[2], rank, x->window))
			return import_unsupported(
				x->im, x->op, "slice sizes that are not constant");
	} else if (!mlir_attr_find(x->op, "slice_sizes") && rank) {
		return import_error(x->im, x->op, "has no slice_sizes");
	} else if (!take_list(x->im, x->op, "slice_sizes", rank, 0, 1, x->window)) {
		return false;
	}
	return index_check(x);
}

/* Are there as many offset dims as slices keep dims, all below the result's rank? */
static bool
check_offset(const struct index *x, const struct dims *offset)
{
	const int kept = x->table->rank - x->collapsed.n - x->table_batch.n;

	if (offset->n != kept)
		return import_error(
			x->im, x->op, "%d offset_dims, but slices keep %d dims", offset->n, kept);
	for (int i = 0; i < offset->n; i++)
		if (offset->dim[i] >= x->nbatch + kept)
			return import_error(x->im, x->op,
				"offset_dims names dim %" PRId64 " of a result of rank %d",
				offset->dim[i], x->nbatch + kept);
	return true;
}

/*
 * A table that is the same on all processes, with indices that vary: these have more batch dims,
 * which are leading dims of the result.
 */
static void
lead_as_batch(struct index *x, const struct import_value *indices, struct dims *offset)
{
	const struct ir_type *t = indices->value->type;
	const int lead = import_lead(indices);

	x->indices = import_local_type(x->im, (enum ir_dtype)t->dtype, t->rank, t->dim);
	x->vector_dim += lead;
	for (int i = 0; i < offset->n; i++)
		offset->dim[i] += lead;
	for (int d = x->nbatch - 1; d >= 0; d--)
		x->batch[d + lead] = x->batch[d];
	memcpy(x->batch, t->dim, (size_t)lead * sizeof *x->batch);
	x->nbatch += lead;
}

bool
import_gather(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct index x = {.im = im, .op = op, .table = in[0].type, .indices = in[1].type};
	struct import_value v[2] = {in[0], in[1]};
	struct dims offset;

	if (!take_attributes(&x, in, &offset) || !check_offset(&x, &offset))
		return false;
	const uint32_t varies = in[0].varies | in[1].varies;
	if (!in[1].value && varies)
		return import_unsupported(im, op, "indices without elements in a parallel program");
	if (!in[0].varies && in[1].varies && !x.index_batch.n &&
		import_lead(&in[1]) + x.indices->rank <= IR_MAX_RANK &&
		import_lead(&in[1]) + x.nbatch + offset.n <= IR_MAX_RANK) {
		lead_as_batch(&x, &in[1], &offset);
	} else {
		import_align(im, v, 2, true);
		x.lead = import_lead(&v[0]);
	}
	if (!index_numbers(&x, v[1].value, true))
		return false;
	struct ir_value *r = build_gather(
		im, index_table(&x, v[0].value), x.number, x.nnumbers, x.dims, x.nshared);
	return import_give(op, 0, index_unpack(&x, r, &offset, x.nbatch + offset.n), varies, out);
}

/* result[.., b.., i.., ..] = operand[.., index[b.., i..], ..]: along dim, batch_dims in front. */
bool
import_index_select(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct import_value v[2] = {in[0], in[1]};
	const int rank = in[0].type->rank, irank = in[1].type->rank;
	int64_t dim, batch;
	int64_t perm[IR_MAX_RANK];
	int n = 0;

	if (!take_int(im, op, NULL, "dim", 0, &dim) ||
		!take_int(im, op, NULL, "batch_dims", 0, &batch))
		return false;
	dim += dim < 0 ? rank : 0;
	batch += batch < 0 ? irank : 0;
	if (dim < 0 || dim >= rank || batch < 0 || batch > dim || batch > irank)
		return import_error(im, op,
			"dim %" PRId64 " and batch_dims %" PRId64 " do not fit %d and %d dims", dim,
			batch, rank, irank);
	if (ir_dtype_class((enum ir_dtype)in[1].type->dtype) == IR_FLOAT ||
		in[1].type->dtype == IR_bool)
		return import_error(im, op, "indices must be integers");
	for (int d = 0; d < batch; d++)
		if (in[0].type->dim[d] != in[1].type->dim[d])
			return import_error(im, op,
				"batch dim %d has size %" PRId64 " and, in the indices, %" PRId64,
				d, in[0].type->dim[d], in[1].type->dim[d]);
	import_align(im, v, 2, true);
	const int lead = import_lead(&v[0]), shared = lead + (int)batch,
		  others = irank - (int)batch;
	const int64_t at = lead + dim;
	if (!v[0].value || lead + rank + others - 1 > IR_MAX_RANK)
		return import_unsupported(im, op, "more than 8 dims of indices and slices");
	/* [shared.., others.., rest..]: moves the part of rest before dim to before others. */
	struct ir_value *r = build_gather(im, v[0].value, &v[1].value, 1, &at, shared);
	const int before = (int)at - shared;
	for (int d = 0; d < shared; d++)
		perm[n++] = d;
	for (int d = 0; d < before; d++)
		perm[n++] = shared + others + d;
	for (int d = 0; d < others; d++)
		perm[n++] = shared + d;
	for (int d = shared + others + before; n < lead + rank + others - 1; d++)
		perm[n++] = d;
	r = build_transpose(im, r, perm);
	return import_give(op, 0, r, v[0].varies, out);
}
