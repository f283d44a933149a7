/*
 * window(%a) {dim, size, stride, low, high, dilation, base, how}: what `how` makes of the elements
 * that a window of `size` sees along a dim,
 *
 *     result[.., i, ..] = how over k of a[.., (i stride + k dilation - low) / base, ..]
 *
 * if the division is exact and its result is inside the dim: `base` spaces the elements, `low` and
 * `high` pad before and after, where negative values cut off. If a window has no element inside,
 * the result is 0, the lowest, the highest or 1, for `how` = add, max, min or mul. Windows over
 * several dims are a chain of these. Sizes are those of StableHLO's reduce_window.
 */
#include "ir/ops/form.h"
#include "ir/ops/reduce_how.h"

#include <inttypes.h>
#include <math.h>
#include <talloc.h>

#define FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, "window: " __VA_ARGS__), false)

/* Attributes, and sizes along the dim. */
struct window {
	int dim;
	int64_t size, stride, low, high, dilation, base;
	int64_t extent; /* of the operand */
	int64_t places; /* with padding before, between and after */
	int64_t reach;  /* of a window */
};

enum { WINDOW_MOST = 1 << 30 }; /* of an attribute: products of two and sums of some fit 64 bits */

static bool
read_numbers(const struct ir_module *m, const struct ir_op *op, struct window *w)
{
	const struct {
		const char *key;
		int64_t least, otherwise;
		int64_t *to;
	} number[] = {{"size", 1, 1, &w->size}, {"stride", 1, 1, &w->stride},
		{"dilation", 1, 1, &w->dilation}, {"base", 1, 1, &w->base},
		{"low", -WINDOW_MOST, 0, &w->low}, {"high", -WINDOW_MOST, 0, &w->high}};

	for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
		const int64_t v = ir_attr_int(op, number[i].key, number[i].otherwise);
		if (v < number[i].least || v > WINDOW_MOST)
			return FAIL(m, op, "%s must be %" PRId64 " to %d, not %" PRId64,
				number[i].key, number[i].least, WINDOW_MOST, v);
		*number[i].to = v;
	}
	return true;
}

static bool
read_window(const struct ir_module *m, const struct ir_op *op, struct window *w)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	const int64_t dim = ir_attr_int(op, "dim", 0);

	if (dim < -t->rank || dim >= t->rank)
		return FAIL(m, op, "dim %" PRId64 " is not one of the %d dims", dim, t->rank);
	w->dim = (int)(dim < 0 ? dim + t->rank : dim);
	if (!read_numbers(m, op, w))
		return false;
	w->extent = t->dim[w->dim];
	if (w->extent > WINDOW_MOST)
		return FAIL(m, op, "dim %d has size %" PRId64 ", more than %d", w->dim, w->extent,
			WINDOW_MOST);
	w->places = w->low + w->high + (w->extent ? (w->extent - 1) * w->base + 1 : 0);
	w->reach = (w->size - 1) * w->dilation + 1;
	if (w->places < w->reach)
		return FAIL(m, op,
			"a window spanning %" PRId64 " elements does not fit: dim %d has %" PRId64
			" with its padding",
			w->reach, w->dim, w->places);
	return true;
}

static double
identity_of(enum form_reduce reduce)
{
	switch (reduce) {
	case REDUCE_MAX: return -INFINITY;
	case REDUCE_MIN: return INFINITY;
	case REDUCE_PROD: return 1;
	default: return 0;
	}
}

/* (i stride + k dilation - low) / base, -1 if the division is not exact. */
static const struct expr *
position(struct arena *a, const struct window *w, int i, int k)
{
	const struct expr *at = expr_call(a, FN_mul, expr_index(a, i),
				  expr_const_int(a, IR_i64, w->stride), NULL),
			  *step = expr_call(a, FN_mul, expr_index(a, k),
				  expr_const_int(a, IR_i64, w->dilation), NULL);

	at = expr_call(a, FN_add, at, step, NULL);
	at = expr_call(a, FN_sub, at, expr_const_int(a, IR_i64, w->low), NULL);
	return expr_call(a, FN_exact, at, expr_const_int(a, IR_i64, w->base), NULL);
}

static bool
make(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a)
{
	const struct ir_type *t = ir_operand_type(op, 0);
	struct window w;

	if (!read_window(m, op, &w) || !reduce_how(m, op, f))
		return false;
	f->ninputs = 1;
	for (int d = 0; d < t->rank; d++) {
		f->size[d] = d == w.dim ? (w.places - w.reach) / w.stride + 1 : t->dim[d];
		f->out.index[d] = f->in[0].index[d] = (int8_t)d;
	}
	f->out.rank = f->in[0].rank = t->rank;
	const int k = t->rank, at = t->rank + 1;
	f->size[k] = w.size;
	f->reduced = 1u << k;
	f->size[at] = w.extent;
	f->at[at] = position(a, &w, w.dim, k);
	f->in[0].index[w.dim] = (int8_t)at;
	f->nindices = (uint8_t)(t->rank + 2);
	f->fill[0] = identity_of((enum form_reduce)f->reduce);
	f->body = expr_load(a, (enum ir_dtype)t->dtype, 0);
	return true;
}

/* Positions are expressions even if only the shape is needed. */
bool
form_window(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a)
{
	struct arena *mine = a ? NULL : arena_create(m->ctx);
	const bool ok = make(m, op, f, a ? a : mine);

	if (!a) {
		form_forget(f);
		talloc_free(mine);
	}
	return ok;
}
