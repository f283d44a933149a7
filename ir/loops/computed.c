/*
 * Computed positions in a kernel. An op that reads at computed positions needs the whole tensor in
 * memory; one that writes at them has its own segment.
 */
#include "ir/loops/build.h"

static int
count_computed(const struct form *f, int *index)
{
	int n = 0;

	for (int i = 0; i < f->nindices; i++)
		if (f->at[i]) {
			*index = i;
			n++;
		}
	return n;
}

/* Does the op read, at the computed position, a value made in the kernel? */
static bool
reads_made(const struct scheme *s, const struct scheme_op *o, int index)
{
	for (int j = 0; j < o->f.ninputs; j++)
		if (form_access_has(&o->f.in[j], index) && s->tensor[o->in[j]].op >= 0 &&
			!s->tensor[o->in[j]].constant)
			return o->f.fill[j] == 0;
	return false;
}

static bool
becomes_loop(const struct scheme *s, const struct scheme_op *o, int index)
{
	if (s->kernel->code != OP_fuse || !scheme_loads(o->f.at[index]))
		return false;
	if (form_is_scatter(&o->f))
		return o->f.reduce == REDUCE_NONE;
	return (o->f.reduce == REDUCE_NONE || o->f.reduce == REDUCE_SUM) && reads_made(s, o, index);
}

void
scheme_classify(struct scheme *s, struct scheme_op *o)
{
	int index = -1;

	if (count_computed(&o->f, &index) == 1 && becomes_loop(s, o, index)) {
		o->picks = !form_is_scatter(&o->f) && o->f.reduce == REDUCE_NONE;
		form_open(s->arena, &o->f, index);
	}
	o->computed = form_has_computed(&o->f);
	o->scatter = form_is_scatter(&o->f);
}

struct range {
	int64_t low, high;
	bool known;
};

static struct range expr_range(const struct scheme_op *o, const struct expr *e);

static struct range
call_range(const struct scheme_op *o, const struct expr *e)
{
	const struct range x = expr_range(o, e->arg[0]),
			   y = e->nargs > 1 ? expr_range(o, e->arg[1]) : x;
	struct range r = {.known = x.known && y.known};

	if (e->id == FN_select) {
		const struct range z = expr_range(o, e->arg[2]);
		return (struct range){y.low < z.low ? y.low : z.low,
			y.high > z.high ? y.high : z.high, y.known && z.known};
	}
	switch ((enum scalar_fn)e->id) {
	case FN_add: r.low = x.low + y.low, r.high = x.high + y.high; return r;
	case FN_sub: r.low = x.low - y.high, r.high = x.high - y.low; return r;
	case FN_convert: return x;
	case FN_div:
		r.known = r.known && x.low >= 0 && y.low == y.high && y.low > 0;
		if (r.known)
			r.low = x.low / y.low, r.high = x.high / y.low;
		return r;
	case FN_mul: {
		const int64_t at[] = {
			x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high};
		r.low = r.high = at[0];
		for (int i = 1; i < 4; i++) {
			r.low = at[i] < r.low ? at[i] : r.low;
			r.high = at[i] > r.high ? at[i] : r.high;
		}
		return r;
	}
	default: return (struct range){0};
	}
}

/* Bounds of an integer expression over all loops and places. */
static struct range
expr_range(const struct scheme_op *o, const struct expr *e)
{
	if (ir_dtype_class((enum ir_dtype)e->dtype) == IR_FLOAT)
		return (struct range){0};
	if (e->kind == EXPR_CONST)
		return (struct range){(int64_t)e->value, (int64_t)e->value, true};
	if (e->kind == EXPR_INDEX) {
		const struct form_offset *at = &o->offset[e->id];
		const int64_t whole = at->type ? at->type->dim[at->dim] : o->f.size[e->id];
		return (struct range){0, whole - 1, true};
	}
	return e->kind == EXPR_CALL ? call_range(o, e) : (struct range){0};
}

bool
scheme_is_inside(const struct scheme_op *o, int i)
{
	const struct range r = expr_range(o, o->f.at[i]);

	return r.known && !o->offset[i].type && r.low >= 0 && r.high < o->f.size[i];
}
