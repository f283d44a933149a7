/*
 * Prefix sums. Their row is a sum over all k with a condition, so its loops are of order n^2:
 *
 *     y[..,i] = sum(k) (k + c <= i ? a[..,k] : 0)        c >= 0
 *     y[..,i] = sum(k) (k - c >= i ? a[..,k] : 0)        the same from the end
 *
 * From one i to the next at most one element is added, a[i - c] or a[i + c]. So the form becomes
 * one without a sum, and its result is then summed along i:
 *
 *     y[..,i] = a[..,{i - c}]                            then y[i] += y[i - 1]
 */
#include "ir/ops/form.h"

/* Matches `k`, `k + c` or `k - c`: k, and the number added to it; false: no match. */
static bool
read_sum(const struct expr *e, int *k, int64_t *shift)
{
	*shift = 0;
	if (e->kind == EXPR_CALL && (e->id == FN_add || e->id == FN_sub) &&
		e->arg[1]->kind == EXPR_CONST) {
		*shift = (int64_t)(e->id == FN_add ? e->arg[1]->value : -e->arg[1]->value);
		e = e->arg[0];
	}
	*k = e->id;
	return e->kind == EXPR_INDEX;
}

/* Is the body `k + shift <= i ? load 0 : 0`, or the same with >= ? */
static bool
read_body(const struct expr *body, int *k, int64_t *shift, struct form_scan *scan)
{
	if (body->kind != EXPR_CALL || body->id != FN_select)
		return false;
	const struct expr *test = body->arg[0];
	if (body->arg[1]->kind != EXPR_LOAD || !expr_is_const(body->arg[2], 0) ||
		test->kind != EXPR_CALL || (test->id != FN_le && test->id != FN_ge) ||
		test->arg[1]->kind != EXPR_INDEX)
		return false;
	scan->index = test->arg[1]->id;
	scan->reverse = test->id == FN_ge;
	return read_sum(test->arg[0], k, shift) && (scan->reverse ? *shift <= 0 : *shift >= 0);
}

/* Is k summed and read, i kept and not read, and are all k reached by the steps of i? */
static bool
walks_along(const struct form *f, const struct form_offset *offset, int k, int i)
{
	const int64_t all = offset[k].type ? offset[k].type->dim[offset[k].dim] : f->size[k];

	return f->reduced == 1u << k && form_access_has(&f->in[0], k) &&
	       form_access_has(&f->out, i) && !form_access_has(&f->in[0], i) && !offset[i].type &&
	       all <= f->size[i];
}

struct form_scan
form_take_scan(struct arena *a, struct form *f, const struct form_offset *offset)
{
	const struct form_scan none = {.found = false};
	struct form_scan scan = {.found = true};
	int k;
	int64_t shift;

	if (f->reduce != REDUCE_SUM || f->ninputs != 1 || form_has_computed(f) ||
		!read_body(f->body, &k, &shift, &scan) || !walks_along(f, offset, k, scan.index))
		return none;
	f->body = f->body->arg[1];
	f->reduce = REDUCE_NONE;
	f->reduced = 0;
	if (shift || offset[k].type) {
		f->at[k] = expr_call(a, FN_sub, expr_index(a, scan.index),
			expr_const(a, IR_i64, (double)shift), NULL);
	} else {
		f->in[0].index[form_access_dim(&f->in[0], k)] = (int8_t)scan.index;
		f->size[k] = 1; /* no loop any more */
	}
	return scan;
}
