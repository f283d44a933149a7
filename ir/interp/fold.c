/*
 * One element of an op from one number of each operand: the op's body over single cells instead of
 * strips. Identical to the interpreter, so that an op on constants may be replaced by its value.
 */
#include "ir/interp/internal.h"

#include <talloc.h>

static union cell
settled(enum ir_dtype t, union cell c)
{
	if (ir_dtype_class(t) == IR_FLOAT)
		c.f = ir_dtype_round(t, c.f);
	else
		c.i = ir_dtype_wrap(t, c.i);
	return c;
}

static union cell
eval(const struct expr *e, const struct expr *body, const union cell *in)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;
	union cell arg[3] = {{.i = 0}, {.i = 0}, {.i = 0}}, r;

	if (e->kind == EXPR_LOAD)
		return in[e->id];
	if (e->kind == EXPR_CONST)
		return settled(expr_const_dtype(e, body), ir_dtype_class(t) == IR_FLOAT
								  ? (union cell){.f = e->value}
								  : (union cell){.i = e->whole});
	for (int i = 0; i < e->nargs; i++)
		arg[i] = eval(e->arg[i], body, in);
	const struct interp_options plain = {.f64 = false};
	scalar_run((enum scalar_fn)e->id, t, (enum ir_dtype)e->arg[0]->dtype, &plain, &r, &arg[0],
		&arg[1], &arg[2], 1);
	return r;
}

/* Does the body depend only on loads, not on positions or elements of a literal? */
static bool
is_of_loads(const struct expr *e)
{
	bool ok = e->kind != EXPR_INDEX && !(e->kind == EXPR_CALL && e->id == FN_element);

	for (int i = 0; ok && i < e->nargs; i++)
		ok = is_of_loads(e->arg[i]);
	return ok;
}

bool
interp_fold(struct ir_module *m, const struct ir_op *op, const union cell *in, union cell *out)
{
	struct arena *a = arena_create(m->ctx);
	struct form f;
	const bool ok = form_make(m, a, op, NULL, &f) && f.reduce == REDUCE_NONE &&
			!form_has_computed(&f) && is_of_loads(f.body);

	if (ok)
		*out = settled((enum ir_dtype)f.dtype, eval(f.body, f.body, in));
	talloc_free(a);
	return ok;
}
