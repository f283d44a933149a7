/*
 * reduce_window and select_and_scatter (StableHLO, both).
 *
 * reduce_window: the tensors padded with their initial values, then dim by dim, the last one first;
 * along a dim a window is composed of runs of 1, 2, 4 ... elements (fold_window), so that a window
 * of w costs log2(w) applications of any body.
 *
 * select_and_scatter: the offsets in a window one by one, in row-major order, keeping for every
 * window the element that `select` prefers and its offset; then back from each offset to the
 * elements, from the last offset to the first, so that an element is combined with its windows in
 * their order.
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/build/fold.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/build/take.h"
#include "parser/stablehlo/import/build/window.h"

#include <inttypes.h>

static bool
has_no_windows(const struct window *w)
{
	for (int d = 0; d < w->rank; d++)
		if (!w->count[d])
			return true;
	return false;
}

static bool
check_reduce_window(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct fold *f, struct window *w)
{
	return fold_begin_reduction(f, im, op) && window_take(w, im, op, in[0].type) &&
	       fold_take_inputs(f, in);
}

bool
import_reduce_window(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const int n = (int)op->noperands / 2;
	struct fold f;
	struct window w;

	if (!check_reduce_window(im, op, in, &f, &w))
		return false;
	if (import_is_empty(in[0].type) || has_no_windows(&w))
		return fold_nothing(&f, in, w.count, w.rank, out);
	const struct import_value *x = fold_align(&f, in);
	struct ir_value **v = fold_array(&f), **init = fold_array(&f);
	const int lead = import_lead(&x[0]);
	for (int i = 0; i < n; i++) {
		/* Sums of 16 bits are made in 32 and rounded once. */
		const enum ir_dtype t = f.monoid == MONOID_ADD || f.monoid == MONOID_MUL
						? build_wide(fold_type(&f, i))
						: fold_type(&f, i);
		init[i] = build_convert(im, x[n + i].value, t);
		v[i] = window_pad(&w, im, build_convert(im, x[i].value, t), init[i], lead);
		if (!v[i])
			return false;
	}
	for (int d = w.rank - 1; d >= 0; d--)
		if (!fold_window(
			    &f, v, lead + d, w.size[d], w.dilation[d], w.stride[d], w.count[d]))
			return false;
	return fold_finish(&f, init, v, out);
}

/* --- select_and_scatter --- */

struct selection {
	struct import *im;
	const struct mlir_op *op;
	struct window w;
	int lead;
	uint32_t varies;
	struct ir_value *padded; /* the operand */
	struct ir_value *best;   /* preferred element of each window so far, */
	struct ir_value *place;  /* its offset (i32, -1: none yet) */
};

/* select(best, x): is the best so far kept? */
static struct ir_value *
build_stays(struct selection *s, struct ir_value *x)
{
	struct import_value in[2] = {
		{.value = s->best, .varies = s->varies}, {.value = x, .varies = s->varies}};
	struct import_value stays;

	for (int i = 0; i < 2; i++)
		in[i].type = s->op->region[0].arg[i].type;
	if (!x || !import_region(s->im, s->op, 0, in, 2, &stays, 1))
		return NULL;
	return stays.value;
}

/* Is the offset inside the tensor in every window? Then there is nothing to mask. */
static bool
is_inside(const struct window *w, const int64_t *offset)
{
	for (int d = 0; d < w->rank; d++)
		if (offset[d] < w->low[d] ||
			offset[d] + (w->count[d] - 1) * w->stride[d] >= w->padded[d] - w->high[d])
			return false;
	return true;
}

/* Which windows have an element, not padding, at that offset: one dim after the other. */
static struct ir_value *
build_windows_inside(struct selection *s, const int64_t *offset)
{
	const struct window *w = &s->w;
	struct ir_builder *b = &s->im->builder;
	struct ir_value *all = NULL;

	for (int d = 0; d < w->rank; d++) {
		struct ir_value *at = build_iota(s->im, IR_i32, w->rank, d, w->count[d]);
		at = ir_build2(b, OP_mul, at, build_int(s->im, IR_i32, w->stride[d]));
		at = ir_build2(b, OP_add, at, build_int(s->im, IR_i32, offset[d] - w->low[d]));
		struct ir_value *in = ir_build2(b, OP_and,
			ir_build2(b, OP_ge, at, build_int(s->im, IR_i32, 0)),
			ir_build2(b, OP_lt, at,
				build_int(s->im, IR_i32, w->padded[d] - w->low[d] - w->high[d])));
		all = all ? ir_build2(b, OP_and, all, in) : in;
	}
	return all;
}

/* The element at offset k becomes the best unless the region prefers the one before. */
static bool
try_place(struct selection *s, int64_t k)
{
	struct ir_builder *b = &s->im->builder;
	int64_t offset[IR_MAX_RANK];

	window_offset(&s->w, k, offset);
	struct ir_value *x = window_at(&s->w, s->im, s->padded, offset, s->lead);
	const bool inside = is_inside(&s->w, offset);
	struct ir_value *taken = inside ? NULL : build_windows_inside(s, offset);
	struct ir_value *number = build_int(s->im, IR_i32, k);
	if (!s->best) {
		s->best = x;
		s->place = taken ? build_select(s->im, taken, number, build_int(s->im, IR_i32, -1))
				 : number;
		s->place = build_like(s->im, s->place, x);
		return s->place != NULL;
	}
	struct ir_value *wins = ir_build1(b, OP_not, build_stays(s, x));
	wins = ir_build2(
		b, OP_or, wins, ir_build2(b, OP_lt, s->place, build_int(s->im, IR_i32, 0)));
	if (taken)
		wins = ir_build2(b, OP_and, wins, taken);
	s->best = build_select(s->im, wins, x, s->best);
	s->place = build_select(s->im, wins, number, s->place);
	return s->best && s->place;
}

/* Combines the sources of windows whose best element is at offset k with the elements there. */
static bool
scatter_place(struct selection *s, const struct fold *f, struct ir_value *source, int64_t k,
	struct ir_value **result)
{
	struct ir_builder *b = &s->im->builder;
	int64_t offset[IR_MAX_RANK];

	window_offset(&s->w, k, offset);
	struct ir_value *here = ir_build2(b, OP_eq, s->place, build_int(s->im, IR_i32, k));
	if (f->monoid == MONOID_ADD && build_dtype(source) != IR_bool) {
		struct ir_value *zero = import_scalar(s->im, build_dtype(source), 0);
		struct ir_value *v = build_select(s->im, here, source, zero);
		v = window_back(&s->w, s->im, v, offset, s->lead);
		*result = *result ? ir_build2(b, OP_add, *result, v) : v;
		return *result != NULL;
	}
	struct ir_value *v = window_back(&s->w, s->im, source, offset, s->lead), *sum;
	here = window_back(&s->w, s->im, here, offset, s->lead);
	if (!here || !fold_apply(f, result, &v, &sum))
		return false;
	*result = build_select(s->im, here, sum, *result);
	return *result != NULL;
}

static bool
check_selection(struct selection *s, const struct import_value *in, struct fold *f)
{
	if (!import_check_region(s->im, s->op, 0, NULL, 2, NULL, 1) ||
		!fold_begin(f, s->im, s->op, 1, 1) ||
		!window_take(&s->w, s->im, s->op, in[0].type) || !take_scalar(s->im, s->op, in, 2))
		return false;
	if (in[1].type->rank != s->w.rank)
		return import_error(s->im, s->op,
			"the operand has rank %d, but the source has rank %d", s->w.rank,
			in[1].type->rank);
	for (int d = 0; d < s->w.rank; d++)
		if (in[1].type->dim[d] != s->w.count[d])
			return import_error(s->im, s->op,
				"there are %" PRId64
				" windows along dim %d, but the source has size %" PRId64,
				s->w.count[d], d, in[1].type->dim[d]);
	if (window_places(&s->w) > WINDOW_MAX_PLACES)
		return import_unsupported_form(
			s->im, s->op, "a window of more than %d elements", WINDOW_MAX_PLACES);
	return true;
}

/* Combines the sources of all windows with the initial value; without padding. */
static struct ir_value *
build_scattered(
	struct selection *s, const struct fold *f, struct ir_value *source, struct ir_value *init)
{
	int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
	const bool adds = f->monoid == MONOID_ADD && build_dtype(source) != IR_bool;
	struct ir_value *result =
		adds ? NULL
		     : build_like(
			       s->im, build_spread(s->im, init, s->padded->type->rank), s->padded);

	for (int64_t k = window_places(&s->w) - 1; k >= 0; k--)
		if (!scatter_place(s, f, source, k, &result))
			return NULL;
	if (adds && !fold_init(f, &init, &result))
		return NULL;
	for (int d = 0; d < result->type->rank; d++)
		limit[d] = result->type->dim[d];
	for (int d = 0; d < s->w.rank; d++) {
		start[s->lead + d] = s->w.low[d] > 0 ? s->w.low[d] : 0;
		limit[s->lead + d] = s->w.padded[d] - (s->w.high[d] > 0 ? s->w.high[d] : 0);
	}
	return build_slice(s->im, result, start, limit, NULL);
}

/* Negative padding: elements in no window keep the initial value. */
static struct ir_value *
build_uncut(struct selection *s, struct ir_value *v, struct ir_value *init)
{
	int64_t low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};

	for (int d = 0; d < s->w.rank; d++) {
		low[s->lead + d] = s->w.low[d] < 0 ? -s->w.low[d] : 0;
		high[s->lead + d] = s->w.high[d] < 0 ? -s->w.high[d] : 0;
	}
	return build_pad(s->im, v, init, low, high, NULL);
}

bool
import_select_and_scatter(struct import *im, const struct mlir_op *op,
	const struct import_value *in, struct import_value *out)
{
	struct selection s = {.im = im, .op = op};
	struct import_value x[3] = {in[0], in[1], in[2]};
	struct fold f;

	if (!check_selection(&s, in, &f))
		return false;
	if (import_is_empty(in[0].type) || import_is_empty(in[1].type))
		return import_is_empty(op->result[0].type) ||
		       ((out[0] = import_result(op, 0,
				 import_build_broadcast(
					 im, &in[2], in[0].type->rank, in[0].type->dim, NULL),
				 in[2].varies)),
			       out[0].value != NULL);
	import_align(im, x,
		x[2].varies & ~(x[0].varies | x[1].varies) || f.monoid != MONOID_ADD ? 3 : 2, true);
	s.varies = f.varies = x[0].varies;
	s.lead = import_lead(&x[0]);
	s.padded = window_pad(&s.w, im, x[0].value, NULL, s.lead);
	for (int64_t k = 0; k < window_places(&s.w); k++)
		if (!try_place(&s, k))
			return false;
	const enum ir_dtype t = fold_type(&f, 0), wide = f.monoid == MONOID_ADD ? build_wide(t) : t;
	struct ir_value *init = build_convert(im, x[2].value, wide);
	struct ir_value *v = build_scattered(&s, &f, build_convert(im, x[1].value, wide), init);
	v = v ? build_uncut(&s, v, init) : NULL;
	return import_give(op, 0, build_convert(im, v, (enum ir_dtype)op->result[0].type->dtype),
		s.varies, out);
}
