/*
 * scatter (StableHLO, "scatter"). An update whose window is not inside the operand writes nothing.
 * The body is
 *
 *     add, max, min, mul, and, or     scatter_nd of the updates, combined with the input
 *     the update itself               the number of the last update for each element (scatter_nd,
 *                                     max), by which the update is looked up
 *     anything else                   rounds: in round r every element is combined with its update
 *                                     that has the r-th smallest number (scatter_nd, min, of those
 *                                     above the last). The number of rounds is the most updates of
 *                                     one element: one if indices are unique, counted if they are
 *                                     constant, else the number of index vectors
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "parser/stablehlo/import/build/fold.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/index.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

enum {
	SCATTER_MAX_ROUNDS = 256, /* for other bodies: about fifteen ops each */
};

struct scatter {
	struct index x;
	struct fold f;
	struct dims window; /* of the updates */
	int n;              /* inputs */
	int rank;           /* of updates */
	bool unique;
	struct ir_value **input, **update; /* tables, packed slices */
	int64_t sizes[IR_MAX_RANK];        /* of the looked up dims */
	int64_t alone[IR_MAX_RANK];        /* their numbers in a table without whole dims */
};

static bool
take_attributes(struct scatter *s, const struct import_value *in)
{
	static const struct index_names names = {"scatter_dimension_numbers", "update_window_dims",
		"inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
		"scatter_dims_to_operand_dims"};
	struct index *x = &s->x;
	const int rank = x->table->rank;
	int64_t unique;

	if (!index_take(x, &names, s->rank, &s->window) ||
		!take_int(x->im, x->op, NULL, "unique_indices", 0, &unique))
		return false;
	s->unique = unique != 0;
	if (s->window.n != rank - x->collapsed.n - x->table_batch.n)
		return import_error(x->im, x->op, "%d update_window_dims, but windows keep %d dims",
			s->window.n, rank - x->collapsed.n - x->table_batch.n);
	for (int d = 0, i = 0; d < rank; d++)
		x->window[d] = index_is_kept(x, d) ? in[s->n + 1].type->dim[s->window.dim[i++]] : 1;
	return index_check(x);
}

/* All updates have the batch dims of the indices, apart from their window dims. */
static bool
check_updates(struct scatter *s, const struct import_value *in)
{
	struct index *x = &s->x;
	const struct mlir_type *t = in[s->n + 1].type;
	int batch = 0;

	if (s->rank != x->nbatch + s->window.n)
		return import_error(x->im, x->op, "updates have rank %d; expected %d", s->rank,
			x->nbatch + s->window.n);
	for (int d = 0; d < s->rank; d++)
		if (!dims_has(&s->window, d) && t->dim[d] != x->batch[batch++])
			return import_error(x->im, x->op,
				"dim %d of the updates has size %" PRId64
				", but that of the indices is %" PRId64,
				d, t->dim[d], x->batch[batch - 1]);
	for (int i = 1; i < s->n; i++)
		if (!take_same_shape(x->im, x->op, in, i, 0) ||
			!take_same_shape(x->im, x->op, in, s->n + 1 + i, s->n + 1))
			return false;
	return true;
}

/* The `how` of scatter_nd for a monoid on that element type; NULL: none. */
static const char *
way(enum import_monoid m, enum ir_dtype t)
{
	const bool logic = t == IR_bool;

	switch (m) {
	case MONOID_ADD: return logic ? "max" : "add";
	case MONOID_MUL: return logic ? "min" : "mul";
	case MONOID_MAX: return "max";
	case MONOID_MIN: return "min";
	case MONOID_AND: return logic ? "min" : NULL;
	case MONOID_OR: return logic ? "max" : NULL;
	default: return NULL;
	}
}

static struct ir_value *
scatter_packed(struct scatter *s, struct ir_value *v, const char *how)
{
	return build_scatter(
		s->x.im, v, s->x.number, s->x.nnumbers, s->x.dims, s->sizes, s->x.nshared, how);
}

/*
 * Combines all updates of each element at once. For bool, an element without updates is the lowest
 * or highest u8 and becomes false or true.
 */
static bool
by_monoid(struct scatter *s, const char *how)
{
	struct import *im = s->x.im;
	const enum ir_dtype t = build_dtype(s->input[0]), wide = build_wide(t);
	struct ir_value *all = scatter_packed(s, build_convert(im, s->update[0], wide), how);

	s->input[0] = build_combine(im, s->f.monoid, build_convert(im, s->input[0], wide), all);
	s->input[0] = build_convert(im, s->input[0], t);
	return s->input[0] != NULL;
}

/* The same of one number an update: a table without whole dims. */
static struct ir_value *
scatter_order(struct scatter *s, struct ir_value *v, const char *how)
{
	return build_scatter(
		s->x.im, v, s->x.number, s->x.nnumbers, s->alone, s->sizes, s->x.nshared, how);
}

/* 0, 1, 2 ... for every index vector and position, shaped as the numbers without shared dims: the
 * order of the updates. */
static struct ir_value *
build_order(struct scatter *s)
{
	const struct ir_type *t = s->x.number[0]->type;
	struct ir_value *order = build_int(s->x.im, IR_i64, 0);
	int64_t stride = 1;

	for (int d = t->rank - 1; d >= s->x.nshared; d--) {
		struct ir_value *at = build_iota(s->x.im, IR_i64, t->rank, d, t->dim[d]);
		order = ir_build2(&s->x.im->builder, OP_add, order,
			ir_build2(
				&s->x.im->builder, OP_mul, at, build_int(s->x.im, IR_i64, stride)));
		stride *= t->dim[d];
	}
	return build_like(s->x.im, order, s->x.number[0]);
}

/* Adds dims of size 1 for the whole dims of the table, so that a tensor over only looked up dims
 * matches the table. */
static struct ir_value *
with_whole_dims(struct scatter *s, struct ir_value *v)
{
	const struct ir_type *t = s->input[0]->type;
	int64_t shape[IR_MAX_RANK];

	for (int d = 0; d < t->rank; d++)
		shape[d] = t->dim[d];
	for (int w = 0; w < s->x.nwhole; w++)
		for (int d = 0; d < t->rank; d++)
			if (s->x.table_perm[d] == s->x.lead + s->x.whole_dim[w])
				shape[d] = 1;
	return build_reshape(s->x.im, v, shape, t->rank);
}

/* Update number `which` (an i64 for each place of the looked up dims) of all inputs, as tables. */
static bool
take_updates(struct scatter *s, struct ir_value *which, struct ir_value **out)
{
	struct import *im = s->x.im;
	const int numbers = s->x.number[0]->type->rank;
	const int64_t dim = s->x.nshared;
	int64_t perm[IR_MAX_RANK];

	for (int i = 0; i < s->n; i++) {
		struct ir_value *flat = build_flatten(im, s->update[i], s->x.nshared, numbers);
		struct ir_value *v = build_gather(im, flat, &which, 1, &dim, s->x.nshared);
		/* [shared.., looked up.., whole..] -> the table's order. */
		int looked_up = s->x.nshared, whole = s->x.nshared + s->x.nnumbers;
		for (int d = 0; d < s->input[i]->type->rank; d++) {
			bool is_whole = false;
			for (int w = 0; w < s->x.nwhole; w++)
				is_whole = is_whole ||
					   s->x.table_perm[d] == s->x.lead + s->x.whole_dim[w];
			perm[d] = d < s->x.nshared ? d : is_whole ? whole++ : looked_up++;
		}
		out[i] = build_transpose(im, v, perm);
		if (!out[i])
			return false;
	}
	return true;
}

static bool
by_last(struct scatter *s)
{
	struct import *im = s->x.im;
	struct ir_value **taken = fold_array(&s->f);
	struct ir_value *last = scatter_order(s, build_order(s), "max");

	if (!last)
		return false;
	struct ir_value *written = ir_build2(&im->builder, OP_ge, last, build_int(im, IR_i64, 0));
	if (!written || !take_updates(s, last, taken))
		return false;
	s->input[0] = build_select(im, with_whole_dims(s, written), taken[0], s->input[0]);
	return s->input[0] != NULL;
}

/* One round: for every element the first update above `last`, which becomes `last`. */
static bool
do_round(struct scatter *s, struct ir_value *order, struct ir_value **last)
{
	struct import *im = s->x.im;
	struct ir_builder *b = &im->builder;
	struct ir_value **taken = fold_array(&s->f), **made = fold_array(&s->f);
	struct ir_value *left = order;
	struct ir_value *none = build_int(im, IR_i64, INT64_MAX);

	if (*last) {
		struct ir_value *before =
			build_gather(im, *last, s->x.number, s->x.nnumbers, s->alone, s->x.nshared);
		left = build_select(im, ir_build2(b, OP_gt, order, before), order, none);
	}
	struct ir_value *first = left ? scatter_order(s, left, "min") : NULL;
	if (!first)
		return false;
	struct ir_value *written = ir_build2(b, OP_ne, first, none);
	struct ir_value *which = build_select(im, written, first, build_int(im, IR_i64, -1));
	if (!which || !take_updates(s, which, taken) || !fold_apply(&s->f, s->input, taken, made))
		return false;
	written = with_whole_dims(s, written);
	for (int i = 0; i < s->n; i++) {
		s->input[i] = build_select(im, written, made[i], s->input[i]);
		if (!s->input[i])
			return false;
	}
	*last = first;
	return true;
}

/* The most updates of one element; -1: more than the limit of rounds. Overlapping windows with
 * different begins count too, so only positions of single elements are examined. */
static int64_t
count_rounds(struct scatter *s, const struct import_value *indices)
{
	struct index *x = &s->x;
	int64_t vectors = 1, positions = 1, most = 1, run = 1;

	if (s->unique)
		return 1;
	for (int d = x->index_batch.n; d < x->nbatch; d++)
		vectors *= x->batch[x->batch_order[d]];
	for (int p = 0; p < x->npositions; p++)
		positions *= x->window[x->position_dim[p]];
	if (vectors <= SCATTER_MAX_ROUNDS)
		return vectors;
	if (positions > 1 || x->table_batch.n || vectors > IMPORT_MAX_KNOWN)
		return -1;
	/* The entries of a vector as one number of the table. */
	void *scratch = alloc_scratch(NULL);
	const struct tensor *t = import_known(scratch, x->im, indices);
	int64_t *place = t ? NEW_ARRAY(scratch, int64_t, (size_t)vectors) : NULL, inner = 1;
	if (!place) {
		talloc_free(scratch);
		return -1;
	}
	for (int64_t d = x->vector_dim + 1; d < x->indices->rank; d++)
		inner *= x->indices->dim[d];
	for (int64_t v = 0; v < vectors; v++) {
		place[v] = 0;
		for (int k = 0; k < x->map.n; k++)
			place[v] = place[v] * x->table->dim[x->map.dim[k]] +
				   t->data[(v / inner * x->map.n + k) * inner + v % inner].i;
	}
	sort_int64(place, (size_t)vectors);
	for (int64_t v = 1; v < vectors; v++) {
		run = place[v] == place[v - 1] ? run + 1 : 1;
		most = run > most ? run : most;
	}
	talloc_free(scratch);
	return most <= SCATTER_MAX_ROUNDS ? most : -1;
}

static bool
by_rounds(struct scatter *s, const struct import_value *indices)
{
	const int64_t rounds = count_rounds(s, indices);
	struct ir_value *last = NULL;

	if (rounds < 0)
		return import_unsupported_form(s->x.im, s->x.op,
			"a body that is not add, multiply, maximum, minimum or the update "
			"itself, with more than %d updates that may go to one element",
			SCATTER_MAX_ROUNDS);
	struct ir_value *order = build_order(s);
	for (int64_t r = 0; r < rounds; r++)
		if (!order || !do_round(s, order, &last))
			return false;
	return true;
}

/* Inputs as tables, updates packed, all over the same axes. */
static bool
prepare(struct scatter *s, const struct import_value *in, struct import_value *v)
{
	struct import *im = s->x.im;
	const int all = 2 * s->n + 1;

	for (int i = 0; i < all; i++)
		v[i] = in[i];
	import_align(im, v, all, true);
	s->x.lead = import_lead(&v[0]);
	s->f.varies = v[0].varies;
	if (!index_numbers(&s->x, v[s->n].value, false))
		return false;
	for (int i = 0; i < s->n; i++) {
		const enum ir_dtype t = fold_type(&s->f, i);
		s->input[i] = index_table(&s->x, build_convert(im, v[i].value, t));
		s->update[i] = index_pack(
			&s->x, build_convert(im, v[s->n + 1 + i].value, t), &s->window, s->rank);
		if (!s->input[i] || !s->update[i])
			return false;
	}
	for (int k = 0; k < s->x.nnumbers; k++) {
		s->alone[k] = s->x.nshared + k;
		s->sizes[k] = s->input[0]->type->dim[s->x.dims[k]];
	}
	return true;
}

bool
import_scatter(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct scatter s = {.x = {.im = im, .op = op}, .n = (int)op->noperands / 2};

	if (op->noperands % 2 == 0 || op->nresults != (uint32_t)s.n || !s.n)
		return import_error(im, op,
			"%" PRIu32 " operands and %" PRIu32
			" results; expected inputs, indices, and as many "
			"updates and results as inputs",
			op->noperands, op->nresults);
	s.x.table = in[0].type;
	s.x.indices = in[s.n].type;
	s.rank = in[s.n + 1].type->rank;
	if (!fold_begin(&s.f, im, op, 0, s.n) || !take_attributes(&s, in) || !check_updates(&s, in))
		return false;
	if (import_is_empty(in[0].type) || import_is_empty(in[s.n + 1].type)) {
		memcpy(out, in, (size_t)s.n * sizeof *out); /* nothing is written */
		return true;
	}
	if (!in[s.n].value && import_lead(&in[0]))
		return import_unsupported(im, op, "indices without elements in a parallel program");
	struct import_value *v = ARENA_ARRAY(im->arena, struct import_value, 2 * s.n + 1);
	s.input = fold_array(&s.f);
	s.update = fold_array(&s.f);
	if (!prepare(&s, in, v))
		return false;
	const char *how = way(s.f.monoid, build_dtype(s.input[0]));
	const bool ok = how                           ? by_monoid(&s, how)
			: s.f.monoid == MONOID_SECOND ? by_last(&s)
						      : by_rounds(&s, &in[s.n]);
	for (int i = 0; i < s.n && ok; i++)
		out[i] = import_result(op, i,
			build_convert(im, index_untable(&s.x, s.input[i]),
				(enum ir_dtype)op->result[i].type->dtype),
			s.f.varies);
	return ok;
}
