/*
 * Computed positions in a kernel. An op that reads at computed positions needs the whole tensor in
 * memory; one that writes at them has its own segment. One that reads one element of a row that the
 * kernel makes element by element from what is in memory computes that element alone:
 *
 *     p[r] = (z[r,y[r]] - top[r]) - log_total[r]        and no loop over c with (c == y[r])
 */
#include "ir/loops/build.h"

#include <string.h>

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

/* Is t in memory before the loops of other ops begin: an operand, or a product? */
static bool
is_in_memory(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];
	struct scheme_gemm gemm;

	return x->op < 0 || (x->alias < 0 && scheme_find_gemm(s, &s->op[x->op], &gemm));
}

/* Is t an elementwise function that depends on no position? */
static bool
is_elementwise(const struct scheme *s, int t)
{
	const struct scheme_op *p = &s->op[s->tensor[t].op];
	bool plain = s->tensor[t].alias < 0 && p->out == t && p->f.reduce == REDUCE_NONE &&
		     !p->computed && !p->absent && !scheme_is_alone(p) && p->divisor == 0;

	for (int i = 0; i < p->f.nindices && plain; i++)
		plain = !expr_uses_index(p->f.body, i);
	return plain;
}

/* The access of load j of op p, where p's result is read with `out`. */
static struct form_access
access_through(const struct scheme_op *p, int j, const struct form_access *out)
{
	struct form_access x = p->f.in[j];

	for (int d = 0; d < x.rank; d++) {
		const int at = x.index[d] < 0 ? -1 : form_access_dim(&p->f.out, x.index[d]);
		x.index[d] = at < 0 ? -1 : out->index[at];
	}
	return x;
}

/* What op p computes, rounded to its type: 16-bit floats are computed in f32. */
static const struct expr *
rounded(struct arena *a, const struct scheme_op *p)
{
	const enum ir_dtype t = (enum ir_dtype)p->f.dtype;

	return t == IR_f16 || t == IR_bf16 ? expr_convert(a, t, expr_convert(a, IR_f32, p->f.body))
					   : p->f.body;
}

/* How often an expression has load j. */
static int
loads_of(const struct expr *e, int j)
{
	int n = e->kind == EXPR_LOAD && e->id == j;

	for (int i = 0; i < e->nargs; i++)
		n += loads_of(e->arg[i], j);
	return n;
}

/* Replaces load j of op o, an elementwise value, by its function. False: too many loads, or one is there
 * twice, as in a * erfc(a): code declares the position of each, and such functions of functions grow. */
static bool
compute_load(struct scheme *s, struct scheme_op *o, int j)
{
	const struct scheme_op *p = &s->op[s->tensor[o->in[j]].op];
	const struct form_access out = o->f.in[j];
	const struct expr *with[FORM_MAX_INPUTS] = {0};
	int same[FORM_MAX_INDICES], free = j;

	for (int i = 0; i < FORM_MAX_INDICES; i++)
		same[i] = i;
	for (int l = 0; l < p->f.ninputs; l++) {
		if (!(scheme_reads(p) >> l & 1))
			continue;
		const int to = free >= 0 ? free : o->f.ninputs;
		if (to == FORM_MAX_INPUTS)
			return false;
		if (free < 0)
			o->f.ninputs++;
		free = -1;
		o->in[to] = p->in[l];
		o->f.in[to] = access_through(p, l, &out);
		o->f.fill[to] = 0;
		with[l] = expr_load(s->arena, s->tensor[p->in[l]].dtype, to);
	}
	const struct expr *value = expr_substitute(s->arena, rounded(s->arena, p), with, same);
	memset(with, 0, sizeof with);
	with[j] = value;
	o->f.body = expr_substitute(s->arena, o->f.body, with, same);
	for (int l = 0; l < o->f.ninputs; l++)
		if (loads_of(o->f.body, l) > 1)
			return false;
	return true;
}

/* Gives each load but the first that has computed index `index` one of its own: code declares the
 * position once for each load. False: too many. */
static bool
split_index(struct scheme_op *o, int index)
{
	bool first = true;

	for (int j = 0; j < o->f.ninputs; j++) {
		const int d = form_access_dim(&o->f.in[j], index);
		if (!(scheme_loads(o->f.body) >> j & 1) || d < 0)
			continue;
		if (!first && o->f.nindices == FORM_MAX_INDICES)
			return false;
		if (!first) {
			o->f.size[o->f.nindices] = o->f.size[index];
			o->f.at[o->f.nindices] = o->f.at[index];
			o->f.in[j].index[d] = (int8_t)o->f.nindices++;
		}
		first = false;
	}
	return true;
}

/* Lets op o compute the element at the computed position. False: its row is not made element by
 * element from memory, and o is as before. */
static bool
computes_element(struct scheme *s, struct scheme_op *o, int index)
{
	const struct scheme_op before = *o;
	struct arena *a = s->arena;
	bool again = true;

	if (o->f.reduce != REDUCE_NONE || form_is_scatter(&o->f) || o->absent ||
		o->offset[index].type)
		return false;
	while (again) {
		again = false;
		for (int j = 0; j < o->f.ninputs; j++) {
			const int t = o->in[j];
			if (!(scheme_loads(o->f.body) >> j & 1) ||
				!form_access_has(&o->f.in[j], index) || is_in_memory(s, t))
				continue;
			if (!is_elementwise(s, t) || !compute_load(s, o, j)) {
				*o = before;
				return false;
			}
			again = true;
		}
	}
	if (!split_index(o, index)) {
		*o = before;
		return false;
	}
	const struct expr *at = o->f.at[index],
			  *end = expr_const(a, IR_i64, (double)o->f.size[index]);
	const struct expr *low = expr_call(a, FN_ge, at, expr_const(a, IR_i64, 0), NULL),
			  *high = expr_call(a, FN_lt, at, end, NULL);
	o->f.body = expr_call(a, FN_select, expr_call(a, FN_and, low, high, NULL), o->f.body,
		expr_const(a, (enum ir_dtype)o->f.body->dtype, 0));
	return true;
}

void
scheme_classify(struct scheme *s, struct scheme_op *o)
{
	int index = -1;

	if (count_computed(&o->f, &index) == 1 && becomes_loop(s, o, index) &&
		!computes_element(s, o, index)) {
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
