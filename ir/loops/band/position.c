/*
 * Positions that are compared: sums of indices and constants of an integer type, through all ops
 * that make them.
 */
#include "ir/loops/band/internal.h"

static bool
is_position_type(int t)
{
	return t == IR_i32 || t == IR_i64;
}

static bool
add_load(const struct place *p, int j, int64_t factor, struct affine *sum)
{
	const struct fact *f = band_fact(p->w, ir_operand(p->op, j));
	const struct form_access *x = &p->f->in[j];

	if (!f->affine)
		return false;
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && f->coef[d]) /* one of size 1 is at 0 */
			sum->coef[x->index[d]] += factor * f->coef[d];
	sum->base += factor * f->base;
	return true;
}

bool
affine_add(const struct place *p, const struct expr *e, int64_t factor, struct affine *sum)
{
	if (!is_position_type(e->dtype))
		return false;
	switch ((enum expr_kind)e->kind) {
	case EXPR_CONST:
		sum->base += factor * (int64_t)e->value;
		return e->value >= -WALK_FAR && e->value <= WALK_FAR;
	case EXPR_INDEX: sum->coef[e->id] += factor; return true;
	case EXPR_LOAD: return add_load(p, e->id, factor, sum);
	case EXPR_CALL: break;
	}
	switch ((enum scalar_fn)e->id) {
	case FN_add:
		return affine_add(p, e->arg[0], factor, sum) &&
		       affine_add(p, e->arg[1], factor, sum);
	case FN_sub:
		return affine_add(p, e->arg[0], factor, sum) &&
		       affine_add(p, e->arg[1], -factor, sum);
	case FN_neg: return affine_add(p, e->arg[0], -factor, sum);
	case FN_convert:
	case FN_stop: return affine_add(p, e->arg[0], factor, sum);
	default: return false;
	}
}

/* Does the sum not overflow: has each position coefficient 1 or -1, and are all small? */
bool
affine_is_small(const struct place *p, const struct affine *sum)
{
	for (int i = 0; i < p->f->nindices; i++)
		if (sum->coef[i] < -1 || sum->coef[i] > 1 ||
			(sum->coef[i] && p->f->size[i] > WALK_FAR))
			return false;
	return sum->base >= -WALK_FAR && sum->base <= WALK_FAR;
}

static bool
is_comparison(const struct expr *e)
{
	if (e->kind != EXPR_CALL)
		return false;
	switch ((enum scalar_fn)e->id) {
	case FN_lt:
	case FN_le:
	case FN_gt:
	case FN_ge: return true;
	default: return false;
	}
}

/* The band in which a comparison of positions is true; they must be a difference of two indices. */
bool
band_compared(const struct place *p, const struct expr *e, struct band *b)
{
	struct affine x = {.base = 0}, y = {.base = 0};
	int plus = -1, minus = -1;

	if (!is_comparison(e) || !affine_add(p, e->arg[0], 1, &x) ||
		!affine_add(p, e->arg[1], 1, &y) || !affine_is_small(p, &x) ||
		!affine_is_small(p, &y))
		return false;
	for (int i = 0; i < p->f->nindices; i++) {
		const int64_t c = x.coef[i] - y.coef[i];
		if (c == 0)
			continue;
		if (c != 1 && c != -1)
			return false;
		int *one = c == 1 ? &plus : &minus;
		if (*one >= 0)
			return false;
		*one = i;
	}
	if (plus < 0 || minus < 0)
		return false;
	const int64_t at = y.base - x.base; /* plus - minus, compared with at */
	switch ((enum scalar_fn)e->id) {
	case FN_lt: *b = band_make(minus, plus, -BAND_FAR, at - 1); return true;
	case FN_le: *b = band_make(minus, plus, -BAND_FAR, at); return true;
	case FN_gt: *b = band_make(minus, plus, at + 1, BAND_FAR); return true;
	default: *b = band_make(minus, plus, at, BAND_FAR); return true;
	}
}
