/* Passes and levels of the ends of a kernel of several products: stream.c says what they are. */
#include "lower/cuda/stream.h"

#include "ir/base/alloc.h"

/* Both: NULL: not of that form; "": no change. */
static char *adds(const struct stream *m, int i, const struct expr *e, uint32_t changing);
static char *scales(const struct stream *m, int i, const struct expr *e, uint32_t changing);

/* The change of load j: v<t> and o<t> are the new and the old reference. */
static char *
load_change(const struct stream *m, int i, int j, uint32_t changing, bool add)
{
	const int maker = stream_maker(m, i, j), tensor = stream_at(m, i)->in[j];

	if (maker < 0 || !(stream_bits(m, maker) & changing))
		return cuda_printf(m->t, "%s", "");
	if (stream_is_row(m, maker))
		return add ? cuda_printf(m->t, "tile_minus(v%d, o%d)", tensor, tensor)
			   : cuda_printf(m->t, "(v%d / o%d)", tensor, tensor);
	const struct expr *body = stream_at(m, maker)->f.body;
	return add ? adds(m, maker, body, changing) : scales(m, maker, body, changing);
}

/* a `sign` b, where an empty text is 0 or 1. */
static char *
joined(const struct stream *m, char *a, const char *sign, char *b)
{
	if (!a || !b || !*b)
		return a && b ? a : NULL;
	if (*sign == '+' || *sign == '*')
		return *a ? cuda_printf(m->t, "(%s %s %s)", a, sign, b) : b;
	return cuda_printf(m->t, "(%s %s %s)", *a ? a : *sign == '-' ? "0.0f" : "1.0f", sign, b);
}

static bool
is_unchanged(const char *text)
{
	return text && !*text;
}

static bool
converts_float(const struct expr *e)
{
	return ir_dtype_class((enum ir_dtype)e->dtype) == IR_FLOAT &&
	       ir_dtype_class((enum ir_dtype)e->arg[0]->dtype) == IR_FLOAT;
}

static char *
adds(const struct stream *m, int i, const struct expr *e, uint32_t changing)
{
	char *x[3] = {NULL, NULL, NULL};
	bool none = true;

	if (e->kind == EXPR_LOAD)
		return load_change(m, i, e->id, changing, true);
	for (int k = 0; k < e->nargs; k++) {
		x[k] = adds(m, i, e->arg[k], changing);
		none = none && is_unchanged(x[k]);
	}
	if (e->kind != EXPR_CALL || none)
		return cuda_printf(m->t, "%s", "");
	switch ((enum scalar_fn)e->id) {
	case FN_add: return joined(m, x[0], "+", x[1]);
	case FN_sub: return joined(m, x[0], "-", x[1]);
	case FN_neg: return joined(m, cuda_printf(m->t, "%s", ""), "-", x[0]);
	case FN_stop: return x[0];
	case FN_convert: return converts_float(e) ? x[0] : NULL;
	default: return NULL;
	}
}

static char *
scales(const struct stream *m, int i, const struct expr *e, uint32_t changing)
{
	char *x[3] = {NULL, NULL, NULL}, *sum;
	bool none = true;

	if (e->kind == EXPR_LOAD)
		return load_change(m, i, e->id, changing, false);
	for (int k = 0; k < e->nargs; k++) {
		x[k] = scales(m, i, e->arg[k], changing);
		none = none && is_unchanged(x[k]);
	}
	if (e->kind != EXPR_CALL || none)
		return cuda_printf(m->t, "%s", "");
	switch ((enum scalar_fn)e->id) {
	case FN_mul: return joined(m, x[0], "*", x[1]);
	case FN_div: return joined(m, x[0], "/", x[1]);
	case FN_neg:
	case FN_stop: return x[0];
	case FN_convert: return converts_float(e) ? x[0] : NULL;
	case FN_exp:
	case FN_exp2:
		sum = adds(m, i, e->arg[0], changing);
		return sum ? cuda_printf(m->t, "M_%s(%s)", fn_name((enum scalar_fn)e->id), sum)
			   : NULL;
	case FN_select: /* what is left out contributes 0 before and after */
		if (!is_unchanged(x[0]))
			return NULL;
		return expr_is_const(e->arg[2], 0)   ? x[1]
		       : expr_is_const(e->arg[1], 0) ? x[2]
						     : NULL;
	default: return NULL;
	}
}

char *
stream_scale(const struct stream *m, int i, uint32_t changing)
{
	return scales(m, i, stream_at(m, i)->f.body, changing);
}

/* Is it finite and not 0 where the sums that it depends on are 1? */
static bool
is_safe(const struct expr *e)
{
	if (e->kind == EXPR_CONST)
		return e->value != 0;
	if (e->kind == EXPR_LOAD)
		return true;
	if (e->kind != EXPR_CALL || (e->id != FN_mul && e->id != FN_div && e->id != FN_stop &&
					    e->id != FN_convert && e->id != FN_neg))
		return false;
	for (int k = 0; k < e->nargs; k++)
		if (!is_safe(e->arg[k]))
			return false;
	return true;
}

/* Can end i be summed up while the ends of the set are still running? */
static bool
can_follow(const struct stream *m, int i, uint32_t running)
{
	if (stream_at(m, i)->f.reduce != REDUCE_SUM || !stream_scale(m, i, running))
		return false;
	for (int k = 0; k < m->t->s->nops; k++)
		if (m->x->op[k].kind == STREAM_NARROW && m->plan[k].of & m->plan[i].of & running &&
			!is_safe(stream_at(m, k)->f.body))
			return false;
	return true;
}

/* The pass and the level of end i. */
static void
place(struct stream *m, int i)
{
	struct stream_plan *p = &m->plan[i];
	uint32_t running = 0;

	for (int k = 0; k < i; k++)
		if (stream_is_end(m, k) && p->of >> m->plan[k].end & 1 && m->plan[k].pass > p->pass)
			p->pass = m->plan[k].pass;
	for (int k = 0; k < i; k++)
		if (stream_is_end(m, k) && p->of >> m->plan[k].end & 1 &&
			m->plan[k].pass == p->pass)
			running |= 1u << m->plan[k].end;
	if (running && !can_follow(m, i, running)) {
		p->pass++;
		running = 0;
	}
	for (int k = 0; k < i; k++)
		if (stream_is_end(m, k) && running >> m->plan[k].end & 1 &&
			stream_is_running(stream_at(m, k)) && m->plan[k].level >= p->level)
			p->level = m->plan[k].level + 1;
	m->npasses = p->pass >= m->npasses ? p->pass + 1 : m->npasses;
	if (p->level >= m->nlevels[p->pass])
		m->nlevels[p->pass] = p->level + 1;
}

void
stream_make_plan(struct stream *m)
{
	const struct scheme *s = m->t->s;

	m->plan = ZERO_ARRAY(m->t->w.scratch, struct stream_plan, (size_t)s->nops + 1);
	for (int i = 0; i < s->nops; i++) {
		struct stream_plan *p = &m->plan[i];
		p->end = -1;
		for (int j = 0; j < s->op[i].f.ninputs; j++) {
			const int maker = stream_maker(m, i, j);
			p->of |= maker >= 0 ? stream_bits(m, maker) : 0;
		}
		if (!stream_is_end(m, i))
			continue;
		place(m, i);
		p->end = m->nends++;
	}
}
