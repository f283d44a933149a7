/* Index vectors of gather and scatter as a number for each dim of the table. */
#include "parser/stablehlo/import/build/index.h"

#include <inttypes.h>
#include <string.h>

static bool
check_sizes(struct index *x)
{
	for (int d = 0; d < x->table->rank; d++) {
		if (x->window[d] < 0 || x->window[d] > x->table->dim[d])
			return import_error(x->im, x->op,
				"a slice has size %" PRId64
				" along dim %d, which has size %" PRId64,
				x->window[d], d, x->table->dim[d]);
		if (!index_is_kept(x, d) && x->window[d] > 1)
			return import_error(x->im, x->op,
				"dim %d is collapsed, but slices have size %" PRId64 " along it", d,
				x->window[d]);
	}
	return true;
}

static bool
check_batching(struct index *x)
{
	if (x->table_batch.n != x->index_batch.n)
		return import_error(x->im, x->op,
			"the operand has %d batching dims, but the indices have %d",
			x->table_batch.n, x->index_batch.n);
	for (int i = 0; i < x->table_batch.n; i++) {
		const int64_t a = x->table_batch.dim[i], b = x->index_batch.dim[i];
		if (b == x->vector_dim)
			return import_error(x->im, x->op,
				"dim %" PRId64
				" of the indices is both a batching dim and index_vector_dim",
				b);
		if (x->table->dim[a] != x->indices->dim[b])
			return import_error(x->im, x->op,
				"batching dim %" PRId64 " of the operand has size %" PRId64
				", but dim %" PRId64 " of the indices has %" PRId64,
				a, x->table->dim[a], b, x->indices->dim[b]);
	}
	return take_disjoint(x->im, x->op, &x->collapsed, &x->table_batch,
		       "the batching dims and the collapsed dims") &&
	       take_disjoint(x->im, x->op, &x->map, &x->table_batch,
		       "the batching dims and the indexed dims");
}

bool
index_take(struct index *x, const struct index_names *names, int limit, struct dims *window)
{
	const struct mlir_attr *dict = mlir_attr_find(x->op, names->attribute);
	const int rank = x->table->rank;

	if (!dict || dict->kind != MLIR_DICT)
		return import_error(x->im, x->op, "has no %s", names->attribute);
	return take_ascending(x->im, x->op, dict, names->window, limit, window) &&
	       take_ascending(x->im, x->op, dict, names->collapsed, rank, &x->collapsed) &&
	       take_ascending(x->im, x->op, dict, names->table_batch, rank, &x->table_batch) &&
	       take_dims(
		       x->im, x->op, dict, names->index_batch, x->indices->rank, &x->index_batch) &&
	       take_dims(x->im, x->op, dict, names->map, rank, &x->map) &&
	       take_int(x->im, x->op, dict, "index_vector_dim", 0, &x->vector_dim);
}

bool
index_check(struct index *x)
{
	const int rank = x->indices->rank;

	if (ir_dtype_class((enum ir_dtype)x->indices->dtype) == IR_FLOAT ||
		x->indices->dtype == IR_bool)
		return import_error(
			x->im, x->op, "indices must be integers, not %s", x->indices->element);
	if (x->vector_dim < 0 || x->vector_dim > rank)
		return import_error(x->im, x->op,
			"index_vector_dim is %" PRId64 ", but the indices have rank %d",
			x->vector_dim, rank);
	const int64_t entries = x->vector_dim == rank ? 1 : x->indices->dim[x->vector_dim];
	if (entries != x->map.n)
		return import_error(x->im, x->op,
			"the size of index vectors is %" PRId64
			", but the number of indexed dims is %d",
			entries, x->map.n);
	x->nbatch = 0;
	for (int d = 0; d < rank; d++)
		if (d != x->vector_dim)
			x->batch[x->nbatch++] = x->indices->dim[d];
	return check_batching(x) && check_sizes(x);
}

/* The place of a dim of the indices among their batch dims. */
static int
batch_place(const struct index *x, int64_t dim)
{
	return (int)(dim > x->vector_dim ? dim - 1 : dim);
}

/* Orders: shared dims first, of the table and of the batch dims of the indices. */
static void
order_dims(struct index *x)
{
	bool shared[IR_MAX_RANK] = {false};
	int n = 0, t = 0;

	x->nshared = x->lead + x->table_batch.n;
	for (int i = 0; i < x->index_batch.n; i++) {
		x->batch_order[n] = batch_place(x, x->index_batch.dim[i]);
		shared[x->batch_order[n++]] = true;
	}
	for (int d = 0; d < x->nbatch; d++)
		if (!shared[d])
			x->batch_order[n++] = d;
	for (int d = 0; d < x->lead; d++)
		x->table_perm[t++] = d;
	for (int i = 0; i < x->table_batch.n; i++)
		x->table_perm[t++] = x->lead + (int)x->table_batch.dim[i];
	for (int d = 0; d < x->table->rank; d++)
		if (!dims_has(&x->table_batch, d))
			x->table_perm[t++] = x->lead + d;
}

/* The entry of an index vector for that dim; -1: none, windows begin at 0. */
static int
entry_of(const struct index *x, int dim)
{
	for (int k = 0; k < x->map.n; k++)
		if (x->map.dim[k] == dim)
			return k;
	return -1;
}

/*
 * Looked up, whole or shared? A window of all of a dim is whole: it begins at 0 if it is clamped or
 * if vectors have no entry for it. At least one dim is looked up.
 */
static bool
sort_dims(struct index *x, bool clamp, bool *looked_up)
{
	int any = -1;

	for (int d = 0; d < x->table->rank; d++) {
		looked_up[d] = false;
		if (dims_has(&x->table_batch, d))
			continue;
		any = d;
		const bool all = x->window[d] == x->table->dim[d] && index_is_kept(x, d);
		looked_up[d] = !all || (!clamp && entry_of(x, d) >= 0);
		x->nnumbers += looked_up[d];
	}
	if (any < 0)
		return import_unsupported(x->im, x->op, "no dims that can be indexed");
	if (!x->nnumbers) {
		looked_up[any] = true;
		x->nnumbers = 1;
	}
	for (int d = 0; d < x->table->rank; d++) {
		if (dims_has(&x->table_batch, d))
			continue;
		if (!looked_up[d])
			x->whole_dim[x->nwhole++] = d;
		else if (x->window[d] > 1)
			x->position_dim[x->npositions++] = d;
	}
	if (x->lead + x->nbatch + x->npositions + x->nwhole > IR_MAX_RANK)
		return import_unsupported(x->im, x->op, "more than 8 dims of indices and slices");
	if (x->nnumbers > 7)
		return import_unsupported(x->im, x->op, "more than 7 indexed dims");
	return true;
}

/* Entry k of all vectors, [lead.., batch dims in order], i64. */
static struct ir_value *
build_entry(const struct index *x, struct ir_value *indices, int k)
{
	int64_t perm[IR_MAX_RANK];
	struct ir_value *v = indices;

	if (x->vector_dim < x->indices->rank)
		v = build_element(x->im, v, x->lead + (int)x->vector_dim, k);
	for (int d = 0; d < x->lead; d++)
		perm[d] = d;
	for (int d = 0; d < x->nbatch; d++)
		perm[x->lead + d] = x->lead + x->batch_order[d];
	return build_transpose(x->im, v, perm);
}

/* Clamps a number to 0 ... `high`; a u64 before it is converted to i64. */
static struct ir_value *
build_clamped(const struct index *x, struct ir_value *v, int64_t high)
{
	struct ir_builder *b = &x->im->builder;

	if (!v)
		return NULL;
	if (ir_dtype_class(build_dtype(v)) == IR_UINT && ir_dtype_bytes(build_dtype(v)) == 8)
		v = ir_build2(b, OP_minimum, v, build_int(x->im, build_dtype(v), high));
	v = build_convert(x->im, v, IR_i64);
	v = ir_build2(b, OP_maximum, v, build_int(x->im, IR_i64, 0));
	return ir_build2(b, OP_minimum, v, build_int(x->im, IR_i64, high));
}

/* Is a window that begins there inside? */
static struct ir_value *
build_inside(const struct index *x, struct ir_value *v, int64_t high)
{
	struct ir_builder *b = &x->im->builder;

	return ir_build2(b, OP_and, ir_build2(b, OP_ge, v, build_int(x->im, IR_i64, 0)),
		ir_build2(b, OP_le, v, build_int(x->im, IR_i64, high)));
}

/* [lead.., batch..] -> [lead.., batch.., 1 for each dim of positions], plus where in its window. */
static struct ir_value *
build_positions(const struct index *x, struct ir_value *v, int dim)
{
	const int first = x->lead + x->nbatch, rank = first + x->npositions;
	int64_t shape[IR_MAX_RANK];

	if (!v)
		return NULL;
	for (int d = 0; d < rank; d++)
		shape[d] = d < first ? v->type->dim[d] : 1;
	v = build_reshape(x->im, v, shape, rank);
	for (int p = 0; p < x->npositions; p++)
		if (x->position_dim[p] == dim)
			v = ir_build2(&x->im->builder, OP_add, v,
				build_iota(x->im, IR_i64, rank, first + p, x->window[dim]));
	return v;
}

/* Zeros for dims that no entry is for, with the layout of the indices: [lead.., batch..]. */
static struct ir_value *
build_index_zeros(const struct index *x, struct ir_value *indices)
{
	struct ir_type t = {.dtype = IR_i64, .rank = (uint8_t)x->nbatch};

	if (x->map.n)
		return ir_build2(&x->im->builder, OP_mul,
			build_convert(x->im, build_entry(x, indices, 0), IR_i64),
			build_int(x->im, IR_i64, 0));
	for (int d = 0; d < x->nbatch; d++)
		t.dim[d] = x->batch[x->batch_order[d]];
	return build_zeros(x->im, ir_type_intern(x->im->module->ctx, &t));
}

/* Where windows begin along looked up dims, start[]; NULL for dims that no entry is for. */
static bool
build_starts(const struct index *x, struct ir_value *indices, bool clamp, const bool *looked_up,
	struct ir_value **start)
{
	struct ir_value *inside = NULL;
	struct ir_builder *b = &x->im->builder;

	for (int d = 0; d < x->table->rank; d++) {
		const int k = entry_of(x, d);
		const int64_t high = x->table->dim[d] - x->window[d];
		start[d] = NULL;
		if (k < 0 || !looked_up[d])
			continue;
		struct ir_value *v = build_entry(x, indices, k);
		if (clamp) {
			start[d] = build_clamped(x, v, high);
		} else {
			start[d] = build_convert(x->im, v, IR_i64);
			struct ir_value *in = build_inside(x, start[d], high);
			inside = inside ? ir_build2(b, OP_and, inside, in) : in;
		}
		if (!start[d])
			return false;
	}
	for (int d = 0; d < x->table->rank && inside; d++)
		if (start[d]) /* with positions added it is still negative */
			start[d] = build_select(
				x->im, inside, start[d], build_int(x->im, IR_i64, INT32_MIN));
	return true;
}

bool
index_numbers(struct index *x, struct ir_value *indices, bool clamp)
{
	static const int64_t same[IR_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
	bool looked_up[IR_MAX_RANK];
	struct ir_value *start[IR_MAX_RANK], *zeros = NULL;
	int64_t shape[IR_MAX_RANK];
	int n = 0, rank = 0;

	order_dims(x);
	if (!sort_dims(x, clamp, looked_up) || !build_starts(x, indices, clamp, looked_up, start))
		return false;
	for (int d = 0; d < x->lead; d++)
		shape[rank++] = indices->type->dim[d];
	for (int d = 0; d < x->nbatch; d++)
		shape[rank++] = x->batch[x->batch_order[d]];
	for (int p = 0; p < x->npositions; p++)
		shape[rank++] = x->window[x->position_dim[p]];
	for (int w = 0; w < x->nwhole && rank + w < IR_MAX_RANK; w++)
		shape[rank + w] = x->table->dim[x->whole_dim[w]];
	if (!build_fits(x->im, shape, rank + x->nwhole)) /* a slice for each vector */
		return false;
	for (int t = x->nshared; t < x->lead + x->table->rank; t++) {
		const int d = x->table_perm[t] - x->lead;
		if (!looked_up[d])
			continue;
		if (!start[d] && !zeros)
			zeros = build_index_zeros(x, indices);
		struct ir_value *v = build_positions(x, start[d] ? start[d] : zeros, d);
		x->dims[n] = t;
		x->number[n] = build_broadcast(x->im, v, shape, rank, same);
		if (!x->number[n++])
			return false;
	}
	return true;
}

/*
 * Positions of the dims of slices in packed order, [batch dims, shared first; positions; whole]:
 * place[r] for dim r, without leading dims; -1: a looked up dim of size 1, which does not exist.
 */
static void
slice_places(const struct index *x, const struct dims *window_dims, int rank, int *place)
{
	int batch = 0, kept = 0;

	for (int r = 0; r < rank; r++) {
		place[r] = -1;
		if (!dims_has(window_dims, r)) {
			for (int i = 0; i < x->nbatch; i++)
				if (x->batch_order[i] == batch)
					place[r] = i;
			batch++;
			continue;
		}
		while (!index_is_kept(x, kept))
			kept++;
		for (int p = 0; p < x->npositions; p++)
			if (x->position_dim[p] == kept)
				place[r] = x->nbatch + p;
		for (int w = 0; w < x->nwhole; w++)
			if (x->whole_dim[w] == kept)
				place[r] = x->nbatch + x->npositions + w;
		kept++;
	}
}

struct ir_value *
index_unpack(const struct index *x, struct ir_value *v, const struct dims *window_dims, int rank)
{
	int64_t perm[IR_MAX_RANK];
	int place[IR_MAX_RANK], n = 0;
	int64_t shape[IR_MAX_RANK];

	if (!v)
		return NULL;
	slice_places(x, window_dims, rank, place);
	for (int d = 0; d < x->lead; d++)
		perm[n++] = d;
	for (int r = 0; r < rank; r++)
		if (place[r] >= 0)
			perm[n++] = x->lead + place[r];
	v = build_transpose(x->im, v, perm);
	if (!v)
		return NULL;
	n = 0;
	for (int d = 0; d < x->lead; d++, n++)
		shape[d] = v->type->dim[n];
	for (int r = 0; r < rank; r++)
		shape[x->lead + r] = place[r] >= 0 ? v->type->dim[n++] : 1;
	return build_reshape(x->im, v, shape, x->lead + rank);
}

struct ir_value *
index_pack(const struct index *x, struct ir_value *v, const struct dims *window_dims, int rank)
{
	int64_t perm[IR_MAX_RANK];
	int place[IR_MAX_RANK], n = x->lead;
	int64_t shape[IR_MAX_RANK];

	if (!v)
		return NULL;
	slice_places(x, window_dims, rank, place);
	for (int d = 0; d < x->lead; d++) {
		perm[d] = d;
		shape[d] = v->type->dim[d];
	}
	for (int r = 0; r < rank; r++)
		if (place[r] >= 0) {
			perm[x->lead + place[r]] = n;
			shape[n++] = v->type->dim[x->lead + r];
		}
	return build_transpose(x->im, build_reshape(x->im, v, shape, n), perm);
}

struct ir_value *
index_table(const struct index *x, struct ir_value *v)
{
	return build_transpose(x->im, v, x->table_perm);
}

struct ir_value *
index_untable(const struct index *x, struct ir_value *v)
{
	int64_t inverse[IR_MAX_RANK];

	for (int t = 0; t < x->lead + x->table->rank; t++)
		inverse[x->table_perm[t]] = t;
	return build_transpose(x->im, v, inverse);
}
