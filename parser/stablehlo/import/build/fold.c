/* Bodies with two halves of arguments applied to whole tensors. */
#include "parser/stablehlo/import/build/fold.h"

#include "parser/stablehlo/import/build/take.h"

#include <inttypes.h>
#include <string.h>

bool
fold_begin(struct fold *f, struct import *im, const struct mlir_op *op, int region, int n)
{
	const struct mlir_block *b = &op->region[region];

	*f = (struct fold){.im = im, .op = op, .region = region, .n = n};
	if (!import_check_region(im, op, (uint32_t)region, NULL, 2 * n, NULL, n))
		return false;
	for (int i = 0; i < 2 * n; i++)
		if (b->arg[i].type->dtype < 0)
			return import_unsupported_form(
				im, op, "a region on %s", b->arg[i].type->element);
	f->monoid = n == 1 ? import_region_monoid(b) : MONOID_OTHER;
	return true;
}

bool
fold_begin_reduction(struct fold *f, struct import *im, const struct mlir_op *op)
{
	if (op->noperands != 2 * op->nresults)
		return import_error(im, op,
			"%" PRIu32 " operands and %" PRIu32
			" results; a result has an operand and an initial value",
			op->noperands, op->nresults);
	return fold_begin(f, im, op, 0, (int)op->nresults);
}

bool
fold_take_inputs(const struct fold *f, const struct import_value *in)
{
	for (int i = 0; i < f->n; i++)
		if (!take_same_shape(f->im, f->op, in, i, 0) ||
			!take_scalar(f->im, f->op, in, f->n + i))
			return false;
	return true;
}

bool
fold_nothing(const struct fold *f, const struct import_value *in, const int64_t *dim, int rank,
	struct import_value *out)
{
	for (int i = 0; i < f->n; i++) {
		if (!import_check_shape(f->im, f->op, i, dim, rank))
			return false;
		const struct mlir_type *t = f->op->result[i].type;
		const struct import_value *init = &in[f->n + i];
		if (import_is_empty(t))
			continue;
		struct ir_value *v = import_build_broadcast(f->im, init, t->rank, t->dim, NULL);
		out[i] = import_result(
			f->op, i, build_convert(f->im, v, (enum ir_dtype)t->dtype), init->varies);
		if (!v)
			return false;
	}
	return true;
}

struct ir_value **
fold_array(const struct fold *f)
{
	return ARENA_ARRAY(f->im->arena, struct ir_value *, f->n);
}

/* The one of a and b with more dims or, if equal, more elements: the shape of body(a, b). */
static const struct ir_value *
larger(const struct ir_value *a, const struct ir_value *b)
{
	if (a->type->rank != b->type->rank)
		return a->type->rank > b->type->rank ? a : b;
	return ir_type_elements(a->type) >= ir_type_elements(b->type) ? a : b;
}

bool
fold_apply(const struct fold *f, struct ir_value *const *a, struct ir_value *const *b,
	struct ir_value **out)
{
	const struct mlir_block *block = &f->op->region[f->region];
	struct import_value *in = ARENA_ARRAY(f->im->arena, struct import_value, 3 * f->n);
	const struct ir_value *like = NULL;

	for (int i = 0; i < f->n; i++)
		if (!a[i] || !b[i])
			return false;
	like = larger(a[0], b[0]);
	if (f->monoid != MONOID_OTHER && f->monoid != MONOID_SECOND) {
		out[0] = build_combine(f->im, f->monoid, a[0], b[0]);
		return out[0] != NULL;
	}
	for (int i = 0; i < 2 * f->n; i++)
		in[i] = (struct import_value){.value = i < f->n ? a[i] : b[i - f->n],
			.type = block->arg[i].type,
			.varies = f->varies};
	for (int i = 0; i < 2 * f->n; i++)
		in[i].value = build_like(f->im, in[i].value, like);
	if (!import_region(f->im, f->op, f->region, in, 2 * f->n, in + 2 * f->n, f->n))
		return false;
	for (int i = 0; i < f->n; i++) {
		struct ir_value *v = build_convert(f->im, in[2 * f->n + i].value, fold_type(f, i));
		out[i] = build_like(f->im, v, like);
		if (!out[i])
			return false;
	}
	return true;
}

/* One application for each pair of neighbours; an odd one at the end is unchanged. */
static bool
halve(const struct fold *f, struct ir_value **v, int dim)
{
	const int64_t n = v[0]->type->dim[dim], even = n - n % 2;
	struct ir_value **a = fold_array(f), **b = fold_array(f), **rest = fold_array(f);

	for (int i = 0; i < f->n; i++) {
		a[i] = build_slice_dim(f->im, v[i], dim, 0, even, 2);
		b[i] = build_slice_dim(f->im, v[i], dim, 1, even, 2);
		rest[i] = n % 2 ? build_slice_dim(f->im, v[i], dim, n - 1, n, 1) : NULL;
	}
	if (!fold_apply(f, a, b, v))
		return false;
	for (int i = 0; i < f->n && n % 2; i++) {
		v[i] = build_concat(f->im, (struct ir_value *[]){v[i], rest[i]}, 2, dim);
		if (!v[i])
			return false;
	}
	return true;
}

bool
fold_dim(const struct fold *f, struct ir_value **v, int dim)
{
	for (int i = 0; i < f->n; i++)
		if (!v[i])
			return false;
	while (v[0]->type->dim[dim] > 1)
		if (!halve(f, v, dim))
			return false;
	for (int i = 0; i < f->n; i++) {
		v[i] = build_squeeze(f->im, v[i], dim);
		if (!v[i])
			return false;
	}
	return true;
}

/*
 * By doubling: r[i] is the fold of 2^k elements from i on; a window is the sequence of those for
 * the bits set in its size.
 */
bool
fold_window(const struct fold *f, struct ir_value **v, int dim, int64_t size, int64_t dilation,
	int64_t stride, int64_t count)
{
	struct ir_value **r = fold_array(f), **part = fold_array(f);
	const int64_t last = (count - 1) * stride + 1;
	int64_t done = 0;

	memcpy(r, v, (size_t)f->n * sizeof *r);
	for (int64_t power = 1; power <= size; power *= 2) {
		if (size & power) {
			const int64_t from = done * dilation;
			for (int i = 0; i < f->n; i++)
				part[i] = build_slice_dim(
					f->im, r[i], dim, from, from + last, stride);
			if (!done)
				memcpy(v, part, (size_t)f->n * sizeof *v);
			else if (!fold_apply(f, v, part, v))
				return false;
			done += power;
		}
		if (2 * power > size || !r[0])
			break;
		const int64_t n = r[0]->type->dim[dim], shift = power * dilation;
		struct ir_value **a = fold_array(f), **b = fold_array(f);
		for (int i = 0; i < f->n; i++) {
			a[i] = build_slice_dim(f->im, r[i], dim, 0, n - shift, 1);
			b[i] = build_slice_dim(f->im, r[i], dim, shift, n, 1);
		}
		if (!fold_apply(f, a, b, r))
			return false;
	}
	return v[0] != NULL;
}

bool
fold_init(const struct fold *f, struct ir_value *const *init, struct ir_value **v)
{
	struct ir_value **start = fold_array(f);

	if (!v[0] || !init[0])
		return false;
	if (f->n == 1 && build_is_identity(init[0], f->monoid))
		return true;
	for (int i = 0; i < f->n; i++)
		start[i] = build_spread(f->im, init[i], v[i]->type->rank);
	return fold_apply(f, start, v, v);
}

const struct import_value *
fold_align(struct fold *f, const struct import_value *in)
{
	struct import_value *x = ARENA_ARRAY(f->im->arena, struct import_value, 2 * f->n);
	const bool all = f->monoid == MONOID_OTHER || in[f->n].varies & ~in[0].varies;

	memcpy(x, in, 2 * (size_t)f->n * sizeof *x);
	import_align(f->im, x, all ? 2 * f->n : f->n, true);
	f->varies = x[0].varies;
	return x;
}

bool
fold_finish(const struct fold *f, struct ir_value *const *init, struct ir_value **v,
	struct import_value *out)
{
	if (!fold_init(f, init, v))
		return false;
	for (int i = 0; i < f->n; i++)
		out[i] = import_result(f->op, i,
			build_convert(f->im, v[i], (enum ir_dtype)f->op->result[i].type->dtype),
			f->varies);
	return true;
}
