/*
 * sort and top_k (StableHLO, "sort"; CHLO, "top_k").
 *
 * A comparator that is an order by keys (comparator.h) becomes `sort`, one for each key, the least
 * significant first; as the IR's sort is stable, the positions of the last one are the result. The
 * keys are computed by the comparator's ops on whole tensors. Any other comparator is evaluated for
 * all pairs of a row: the rank of an element is the number of elements before it.
 *
 * The dim that is sorted goes last, so that elements are taken by position with one gather.
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops/comparator.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>
#include <string.h>

enum {
	SORT_MAX_ASKED = 2048, /* elements of a row for comparing all pairs: 4 M comparisons */
};

struct sorting {
	struct import *im;
	const struct mlir_op *op;
	int n, rank; /* operands; dims of their values, the sorted one last */
	int64_t perm[IR_MAX_RANK], inverse[IR_MAX_RANK];
	uint32_t varies;
	struct ir_value **x; /* the operands, the sorted dim last */
};

/* Element i of the result is the element of v at position[i] of its row. */
static struct ir_value *
build_taken(const struct sorting *s, struct ir_value *v, struct ir_value *position)
{
	const int64_t last = s->rank - 1;

	if (!v || !position)
		return NULL;
	return build_gather(s->im, v, &position, 1, &last, s->rank - 1);
}

/* The positions of a key in order; *sorted, unless NULL, becomes the key in order. */
static struct ir_value *
build_order(
	const struct sorting *s, struct ir_value *key, bool descending, struct ir_value **sorted)
{
	const struct ir_attr attr[] = {ir_make_int(s->im->module->ctx, "dim", s->rank - 1),
		ir_make_bool(s->im->module->ctx, "descending", descending)};

	if (key && key->type->dtype == IR_bool)
		key = build_convert(s->im, key, IR_u8);
	struct ir_value *v = ir_build(&s->im->builder, OP_sort, &key, 1, attr, 2);
	if (sorted)
		*sorted = v;
	return v ? &v->op->result[1] : NULL;
}

/* 1 for +0, 0 for all others: distinguishes zeros in the total order. */
static struct ir_value *
build_zero_sign(const struct sorting *s, struct ir_value *key)
{
	struct ir_builder *b = &s->im->builder;
	const enum ir_dtype t = build_dtype(key);
	struct ir_value *zero = import_scalar(s->im, t, 0);
	struct ir_value *inverse = ir_build2(b, OP_div, import_scalar(s->im, t, 1), key);
	struct ir_value *positive = ir_build2(
		b, OP_and, ir_build2(b, OP_eq, key, zero), ir_build2(b, OP_gt, inverse, zero));

	return build_convert(s->im, positive, IR_u8);
}

/* A less significant key first: what is in order by it stays so among equals. */
static struct ir_value *
refine(const struct sorting *s, struct ir_value *position, struct ir_value *key, bool descending)
{
	struct ir_value *now = position ? build_taken(s, key, position) : key;
	struct ir_value *order = build_order(s, now, descending, NULL);

	return position ? build_taken(s, position, order) : order;
}

/* Runs the comparator on a = b = the operands, so that each expression of it is a tensor. */
static bool
run_comparator(const struct sorting *s, struct ir_value *const *a, struct ir_value *const *b,
	struct ir_value **result)
{
	const struct mlir_block *region = &s->op->region[0];
	struct import_value *in = ARENA_ARRAY(s->im->arena, struct import_value, 2 * s->n), out;

	for (int i = 0; i < s->n; i++) {
		in[2 * i] = (struct import_value){
			.value = a[i], .type = region->arg[2 * i].type, .varies = s->varies};
		in[2 * i + 1] = (struct import_value){
			.value = b[i], .type = region->arg[2 * i + 1].type, .varies = s->varies};
	}
	if (!import_region(s->im, s->op, 0, in, 2 * s->n, &out, 1))
		return false;
	*result = out.value;
	return out.value != NULL;
}

/* Which operand a key is, -1: an expression. */
static int
operand_of(const struct sorting *s, const struct mlir_value *v)
{
	return v->block == &s->op->region[0] ? (int)v->index / 2 : -1;
}

static bool
sort_by_keys(const struct sorting *s, const struct comparator_key *key, int nkeys)
{
	struct ir_value *position = NULL, *unused;
	bool computed = false;

	for (int k = 0; k < nkeys; k++)
		computed = computed || operand_of(s, key[k].value) < 0;
	if (computed && !run_comparator(s, s->x, s->x, &unused))
		return false;
	const int only = nkeys == 1 ? operand_of(s, key[0].value) : -1;
	const bool floats = only >= 0 && ir_dtype_class(build_dtype(s->x[only])) == IR_FLOAT;
	if (only >= 0 && !(floats && key[0].total) && build_dtype(s->x[only]) != IR_bool) {
		struct ir_value *sorted;
		position = build_order(s, s->x[only], key[0].descending, &sorted);
		for (int i = 0; i < s->n; i++)
			s->x[i] = i == only ? sorted : build_taken(s, s->x[i], position);
		return position != NULL;
	}
	for (int k = nkeys - 1; k >= 0; k--) {
		const int i = operand_of(s, key[k].value);
		struct ir_value *v = i >= 0 ? s->x[i] : import_get(key[k].value).value;
		v = build_like(s->im, v, s->x[0]);
		if (!v)
			return false;
		if (key[k].total && ir_dtype_class(build_dtype(v)) == IR_FLOAT)
			position = refine(s, position, build_zero_sign(s, v), key[k].descending);
		position = refine(s, position, v, key[k].descending);
		if (!position)
			return false;
	}
	for (int i = 0; i < s->n; i++)
		s->x[i] = build_taken(s, s->x[i], position);
	return true;
}

/* [.., n] -> [.., n, n]: element (i, j) is i's, or j's. */
static struct ir_value *
build_pairs(const struct sorting *s, struct ir_value *v, bool second)
{
	int64_t shape[IR_MAX_RANK], dims[IR_MAX_RANK];

	if (!v)
		return NULL;
	for (int d = 0; d < s->rank; d++) {
		shape[d] = v->type->dim[d];
		dims[d] = d;
	}
	shape[s->rank] = v->type->dim[s->rank - 1];
	dims[s->rank - 1] += second;
	return build_broadcast(s->im, v, shape, s->rank + 1, dims);
}

/*
 * An element comes after all smaller ones, and after equal ones that precede it in the operand.
 * before[i,j]: i comes before j; ranks are sums over i. Sorting the ranks gives the positions.
 */
static bool
sort_by_asking(const struct sorting *s)
{
	struct ir_builder *b = &s->im->builder;
	const int64_t n = s->x[0]->type->dim[s->rank - 1], sum = s->rank - 1;
	struct ir_value **first = ARENA_ARRAY(s->im->arena, struct ir_value *, s->n);
	struct ir_value **second = ARENA_ARRAY(s->im->arena, struct ir_value *, s->n);
	struct ir_value *before;

	if (n > SORT_MAX_ASKED)
		return import_unsupported_form(s->im, s->op,
			"a comparator that does not compare keys, on rows of more than %d elements",
			SORT_MAX_ASKED);
	if (s->rank + 1 > IR_MAX_RANK)
		return import_unsupported(s->im, s->op,
			"a comparator that does not compare keys, on tensors of rank 8");
	for (int i = 0; i < s->n; i++) {
		first[i] = build_pairs(s, s->x[i], false);
		second[i] = build_pairs(s, s->x[i], true);
		if (!first[i] || !second[i])
			return false;
	}
	if (!run_comparator(s, first, second, &before))
		return false;
	before = build_like(s->im, before, first[0]);
	struct ir_value *after = build_swap(s->im, before, s->rank - 1, s->rank);
	struct ir_value *lower = ir_build2(
		b, OP_lt, build_iota(s->im, IR_i32, 2, 0, n), build_iota(s->im, IR_i32, 2, 1, n));
	struct ir_value *equal =
		before && after ? ir_build1(b, OP_not, ir_build2(b, OP_or, before, after)) : NULL;
	struct ir_value *goes = ir_build2(b, OP_or, before, ir_build2(b, OP_and, equal, lower));
	struct ir_value *rank =
		build_reduce(s->im, OP_sum, build_convert(s->im, goes, IR_i32), &sum, 1);
	struct ir_value *position = build_order(s, rank, false, NULL);
	for (int i = 0; i < s->n; i++)
		s->x[i] = build_taken(s, s->x[i], position);
	return position != NULL;
}

static bool
check_sort(const struct sorting *s, const struct import_value *in, int64_t *dim)
{
	const int rank = in[0].type->rank;

	if (s->op->nresults != s->op->noperands)
		return import_error(s->im, s->op, "%" PRIu32 " operands, but %" PRIu32 " results",
			s->op->noperands, s->op->nresults);
	if (!take_int(s->im, s->op, NULL, "dimension", -1, dim))
		return false;
	if (*dim < -rank || *dim >= rank)
		return import_error(
			s->im, s->op, "dimension %" PRId64 " of a tensor of rank %d", *dim, rank);
	*dim += *dim < 0 ? rank : 0;
	for (int i = 1; i < s->n; i++)
		if (!take_same_shape(s->im, s->op, in, i, 0))
			return false;
	if (!import_check_region(s->im, s->op, 0, NULL, 2 * s->n, NULL, 1))
		return false;
	const struct mlir_type *t = s->op->region[0].last->operand[0]->type;
	return (t->kind == MLIR_TENSOR && t->rank == 0 && t->dtype == IR_bool) ||
	       import_error(s->im, s->op, "the comparator must return tensor<i1>");
}

/* The operands with that dim last. */
static bool
sorting_begin(struct sorting *s, const struct import_value *in, int64_t dim)
{
	struct import_value *v = ARENA_ARRAY(s->im->arena, struct import_value, s->n);

	memcpy(v, in, (size_t)s->n * sizeof *v);
	import_align(s->im, v, s->n, true);
	s->varies = v[0].varies;
	s->rank = import_lead(&v[0]) + in[0].type->rank;
	dim += import_lead(&v[0]);
	for (int d = 0; d < s->rank; d++)
		s->perm[d] = d < dim ? d : d + 1;
	s->perm[s->rank - 1] = (int)dim;
	for (int d = 0; d < s->rank; d++)
		s->inverse[s->perm[d]] = d;
	s->x = ARENA_ARRAY(s->im->arena, struct ir_value *, s->n);
	for (int i = 0; i < s->n; i++) {
		s->x[i] = build_transpose(s->im, v[i].value, s->perm);
		if (!s->x[i])
			return false;
	}
	return true;
}

bool
import_sort(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct sorting s = {.im = im, .op = op, .n = (int)op->noperands};
	struct comparator_key key[COMPARATOR_MAX_KEYS];
	int64_t dim;

	if (!check_sort(&s, in, &dim))
		return false;
	if (!sorting_begin(&s, in, dim))
		return false;
	const int nkeys = comparator_keys(&op->region[0], key);
	if (nkeys ? !sort_by_keys(&s, key, nkeys) : !sort_by_asking(&s))
		return false;
	for (int i = 0; i < s.n; i++)
		out[i] = import_result(op, i, build_transpose(im, s.x[i], s.inverse), s.varies);
	return true;
}

bool
import_top_k(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const int rank = in[0].type->rank;
	const enum ir_dtype t = (enum ir_dtype)in[0].type->dtype;
	int64_t k;

	if (!take_int(im, op, NULL, "k", -1, &k))
		return false;
	if (!rank)
		return import_error(im, op, "the operand must have a dim");
	if (k < 1 || k > in[0].type->dim[rank - 1])
		return import_error(im, op,
			"k is %" PRId64 ", but the last dim has %" PRId64 " elements", k,
			in[0].type->dim[rank - 1]);
	const struct ir_attr attr[] = {
		ir_make_int(im->module->ctx, "k", k), ir_make_int(im->module->ctx, "dim", -1)};
	struct ir_value *x = t == IR_bool ? build_convert(im, in[0].value, IR_u8) : in[0].value;
	struct ir_value *v = ir_build(&im->builder, OP_topk, &x, 1, attr, 2);
	if (!v)
		return false;
	struct ir_value *index =
		build_convert(im, &v->op->result[1], (enum ir_dtype)op->result[1].type->dtype);
	out[0] = import_result(op, 0, build_convert(im, v, t), in[0].varies);
	out[1] = import_result(op, 1, index, in[0].varies);
	return true;
}

/* ApproxTopK of the operand and its companions, with their initial values: computed exactly and in
 * order. `called_computations` is the comparator. */
bool
import_approx_top_k(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *config = mlir_attr_find(op, "mhlo.backend_config"),
			       *called = mlir_attr_find(op, "called_computations");
	struct comparator_key key[COMPARATOR_MAX_KEYS];
	int64_t k, dim, whole;

	if (!config || config->kind != MLIR_DICT || !take_int(im, op, config, "top_k", -1, &k) ||
		!take_int(im, op, config, "reduction_dim", -1, &dim) ||
		!take_int(im, op, config, "aggregate_to_topk", 0, &whole))
		return import_error(
			im, op, "mhlo.backend_config must give top_k and reduction_dim");
	if (!whole)
		return import_unsupported(im, op, "parts that are not put together");
	const struct mlir_op *func = called && called->kind == MLIR_LIST && called->n == 1 &&
						     called->item[0].kind == MLIR_SYMBOL
					     ? import_func(im, called->item[0].s)
					     : NULL;
	if (!func || comparator_keys(&func->region[0], key) != 1 ||
		key[0].value->block != &func->region[0] || key[0].value->index > 1)
		return import_unsupported(im, op, "a comparator that is not an order of operand 1");
	if (dim < 0 || dim >= in[0].type->rank || k < 1 || k > in[0].type->dim[dim] ||
		!import_same_shape(in[0].type, in[1].type))
		return import_error(im, op, "top_k and reduction_dim do not fit the operands");
	struct sorting s = {.im = im, .op = op, .n = 2};
	if (!sorting_begin(&s, in, dim))
		return false;
	struct ir_value *position = build_order(&s, s.x[0], key[0].descending, NULL);
	for (int i = 0; i < 2; i++) {
		struct ir_value *x = build_taken(&s, s.x[i], position);
		x = build_slice_dim(im, x, s.rank - 1, 0, k, 1);
		out[i] = import_result(op, i, build_transpose(im, x, s.inverse), s.varies);
	}
	return out[1].value != NULL;
}
