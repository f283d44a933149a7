/*
 * Sums with a condition: sum(v) i == v ? t[v,..] : 0 reads t at v = i and nowhere else. The loop
 * over v goes, and v becomes the value of i where that is in range. The other way round, when v is
 * an index of the result (scatter_add, put, one_hot), the result is zero but where v = i.
 */
#include "ir/scheme.h"

#include "ir/scheme_build.h"

/* Is e (x == index v) for an x that does not use index v? Returns x and v. */
static const struct expr *
condition(const struct expr *e, int *v)
{
	e = expr_skip_convert(e);
	if (e->kind != EXPR_CALL || e->id != FN_eq)
		return NULL;
	for (int i = 0; i < 2; i++) {
		const struct expr *index = expr_skip_convert(e->arg[i]), *x = e->arg[1 - i];
		if (index->kind == EXPR_INDEX && !expr_uses_index(x, index->id)) {
			*v = index->id;
			return x;
		}
	}
	return NULL;
}

/* Can index v be the value of x? A reduced one needs whole tensors to read from; one of the result
 * none. */
static bool
pick_fits(
	const struct scheme *s, const struct scheme_op *o, const struct expr *x, int v, bool alone)
{
	const bool scatter = !(o->f.reduced >> v & 1);
	uint32_t of_x = scheme_loads(x);
	for (int j = 0; j < o->f.ninputs; j++) {
		if (!form_access_has(&o->f.in[j], v))
			continue;
		if (scatter || of_x >> j & 1 || s->tensor[o->in[j]].op >= 0)
			return false;
	}
	return !scatter || alone;
}

/*
 * Finds the condition of o's body and takes it out. `alone`: o has a segment of its own, so that
 * its result may be filled in any order.
 */
void
scheme_find_pick(struct scheme *s, struct scheme_op *o, bool alone)
{
	o->pick.index = -1;
	const struct expr *body = o->f.body;
	if (o->f.reduce != REDUCE_NONE && o->f.reduce != REDUCE_SUM)
		return;
	int v = -1;
	const struct expr *x = condition(body, &v), *rest = NULL;
	if (x) {
		rest = expr_const(s->arena, (enum ir_dtype)body->dtype, 1);
	} else if (body->kind == EXPR_CALL && body->id == FN_select &&
		   expr_is_const(body->arg[2], 0)) {
		x = condition(body->arg[0], &v);
		rest = body->arg[1];
	}
	if (!x || expr_uses_index(rest, v) || !pick_fits(s, o, x, v, alone))
		return;
	o->pick = (struct scheme_pick){v, x, !(o->f.reduced >> v & 1)};
	o->f.body = rest;
}
