/* Lines of a kernel: loops, accumulators, values and where they are stored; for both targets. */
#include "lower/text/text.h"

#include "ir/base/vec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <talloc.h>

void
kernel_line(struct kernel_text *w, const char *format, ...)
{
	va_list ap;

	for (int i = 0; i < w->indent; i++)
		fputc('\t', w->out);
	va_start(ap, format);
	vfprintf(w->out, format, ap);
	va_end(ap);
	fputc('\n', w->out);
}

bool
kernel_arg_equal(const struct kernel_arg *a, const struct kernel_arg *b)
{
	return a->kind == b->kind && a->type == b->type && a->dim == b->dim &&
	       a->other == b->other && a->key == b->key;
}

int
kernel_arg(struct kernel_text *w, const struct kernel_arg *arg)
{
	struct kernel_args *l = w->args;

	for (int i = 0; i < l->n; i++)
		if (kernel_arg_equal(&l->at[i], arg))
			return i;
	LIST_PUSH(w->s, l->at, l->n, *arg);
	return l->n - 1;
}

void
kernel_open(struct kernel_text *w, const char *head)
{
	kernel_line(w, "%s {", head);
	w->indent++;
}

void
kernel_close(struct kernel_text *w)
{
	w->indent--;
	kernel_line(w, "}");
}

void
kernel_open_loop(struct kernel_text *w, const struct scheme_segment *g, int cls)
{
	kernel_line(w, "for (int64_t i%d = 0; i%d < %" PRId64 "; i%d++) {", cls, cls, g->size[cls],
		cls);
	w->indent++;
}

/* The identity of a reduction. */
char *
kernel_identity(struct kernel_text *w, const struct scheme_op *o)
{
	const enum ir_dtype t = (enum ir_dtype)o->f.dtype;
	const bool max = o->f.reduce == REDUCE_MAX;

	if (o->picks && ir_dtype_class(t) == IR_FLOAT)
		return kernel_const(w, t, -0.0);
	if (o->f.reduce == REDUCE_SUM || o->f.reduce == REDUCE_NONE)
		return kernel_const(w, t, 0);
	if (o->f.reduce == REDUCE_PROD)
		return kernel_const(w, t, 1);
	if (ir_dtype_class(t) == IR_FLOAT)
		return kernel_const(w, t, max ? -__builtin_inf() : __builtin_inf());
	const int64_t low = ir_dtype_lowest(t);
	return kernel_const_expr(w,
		&(struct expr){.dtype = (uint8_t)t, .whole = max ? low : ir_dtype_wrap(t, ~low)});
}

/* `a` and `b` reduced. In an accumulator max and min are plain comparisons, which `omp simd` knows.
 */
char *
kernel_combined(struct kernel_text *w, const struct scheme_op *o, const char *a, const char *b,
	bool accumulator)
{
	if (o->f.reduce == REDUCE_SUM)
		return TEXT(w->scratch, "%s + %s", a, b);
	if (o->f.reduce == REDUCE_PROD)
		return TEXT(w->scratch, "%s * %s", a, b);
	if (accumulator)
		return TEXT(w->scratch, "%s %s %s ? %s : %s", a,
			o->f.reduce == REDUCE_MAX ? ">" : "<", b, a, b);
	return TEXT(w->scratch, "M_%s(%s, %s)", o->f.reduce == REDUCE_MAX ? "max" : "min", a, b);
}

/* Where op o accumulates: f32 in a separate buffer if its result has 16 bits. */
char *
kernel_accumulator(struct kernel_text *w, const struct scheme_op *o)
{
	char *element = kernel_element(w, o, -1), *index = strchr(element, '[');

	if (!w->wide_sums || w->s->tensor[o->out].wide < 0)
		return element;
	return TEXT(w->scratch, "f%d%s", o->out, index);
}

/* Does the accumulator have the result's own 16 bits? */
bool
kernel_is_narrow(const struct kernel_text *w, const struct scheme_op *o)
{
	const struct scheme_tensor *t = &w->s->tensor[o->out];

	return t->where == SCHEME_MEMORY && (t->dtype == IR_f16 || t->dtype == IR_bf16) &&
	       !(w->wide_sums && t->wide >= 0);
}

/* accumulator = reduce(accumulator, value) */
void
kernel_accumulate(struct kernel_text *w, const struct scheme_op *o, const char *value)
{
	const enum ir_dtype t = (enum ir_dtype)o->f.dtype;
	const char *to = kernel_accumulator(w, o);
	const bool narrow = kernel_is_narrow(w, o);
	const char *old = narrow ? TEXT(w->scratch, "rt_%s_to_f32(%s)", ir_dtype_name(t), to) : to;
	const char *sum = kernel_combined(w, o, old, value, false);

	kernel_line(w, "%s = %s;", to, narrow ? kernel_stored(w, t, sum) : sum);
}

/* Stores value `v<out>` if it is read outside its loop. */
void
kernel_store(struct kernel_text *w, const struct scheme_op *o)
{
	const struct scheme_tensor *t = &w->s->tensor[o->out];
	const char *v = TEXT(w->scratch, "v%d", o->out);

	if (t->where == SCHEME_MEMORY)
		kernel_line(w, "%s = %s;", kernel_element(w, o, -1), kernel_stored(w, t->dtype, v));
	else if (t->where == SCHEME_ROW)
		kernel_line(w, "%s = %s;", kernel_element(w, o, -1), v);
}

/* Does op o's reduction need an explicit +0, so that the result is never -0? This holds for a sum
 * without loops, which has no initial value, and for max and min, whose loops may take equal
 * elements in any order. */
static bool
needs_zero(const struct scheme_op *o)
{
	if (ir_dtype_class((enum ir_dtype)o->f.dtype) != IR_FLOAT)
		return false;
	return o->f.reduce == REDUCE_MAX || o->f.reduce == REDUCE_MIN ||
	       (o->f.reduce == REDUCE_SUM && !o->red_set && !o->picks);
}

/* Does op o reduce several values to one that is rounded when it is complete? */
static bool
accumulates(const struct scheme_op *o)
{
	return o->f.reduce != REDUCE_NONE && (o->red_set || o->scatter);
}

char *
kernel_value(struct kernel_text *w, const struct scheme_op *o)
{
	char *value = kernel_expr(w, o, o->f.body);

	if (!accumulates(o))
		value = kernel_rounded(w, o->f.body, value);
	if (!needs_zero(o))
		return value;
	return TEXT(w->scratch, "(%s + %s)", value, kernel_const(w, (enum ir_dtype)o->f.dtype, 0));
}

/* A mean that underflows to zero is +0, like its sum. */
char *
kernel_divided(struct kernel_text *w, const struct scheme_op *o, const char *sum)
{
	const enum ir_dtype t = o->f.dtype == IR_f64 ? IR_f64 : IR_f32; /* of the accumulator */

	return TEXT(w->scratch, "%s / %s + %s", sum, kernel_const(w, t, o->divisor),
		kernel_const(w, t, 0));
}

/* Number of the tensor that result r of the kernel is. */
int
kernel_result(const struct scheme *s, int r)
{
	const struct ir_op *k = s->kernel;
	const struct ir_value *v =
		k->code == OP_fuse ? ir_operand(k->body->last, r) : &k->result[r];

	for (int t = s->ntensors; t-- > 0;)
		if (s->tensor[t].value == v)
			return t;
	return -1;
}
