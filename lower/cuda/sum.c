/* Sums of one thread on CUDA. A long sum of floats is cut as on the host: the partial sum in a
 * float is added to a double after each SCHEME_SUM_BLOCK elements, whatever the element type. */
#include "lower/cuda/text.h"

#include <inttypes.h>

static bool
is_cut(const struct cuda_sum *x, const struct scheme_op *o)
{
	return x->count > SCHEME_SUM_BLOCK && scheme_is_cut(o);
}

static bool
any_cut(const struct cuda_sum *x)
{
	bool any = false;

	for (int i = 0; i < x->nops; i++)
		any |= is_cut(x, x->op[i]);
	return any;
}

static void
declare(struct cuda_text *t, const struct cuda_sum *x, const struct scheme_op *o)
{
	if (x->width > 1) {
		kernel_line(&t->w, "%s w%d[%d];", cuda_type(o), o->out, x->width);
		kernel_line(&t->w, "#pragma unroll");
		kernel_line(&t->w, "for (int u = 0; u < %d; u++)", x->width);
		kernel_line(&t->w, "\tw%d[u] = %s;", o->out, kernel_identity(&t->w, o));
	} else {
		kernel_line(&t->w, "%s v%d = %s;", cuda_type(o), o->out, kernel_identity(&t->w, o));
	}
}

void
cuda_open_sum(struct cuda_text *t, const struct cuda_sum *x)
{
	const int64_t chunk = (int64_t)SCHEME_SUM_BLOCK * x->step;
	const bool cut = any_cut(x);

	for (int i = 0; i < x->nops; i++)
		if (is_cut(x, x->op[i]))
			kernel_line(&t->w, "double z%d = 0;", x->op[i]->out);
		else
			declare(t, x, x->op[i]);
	if (cut) {
		cuda_block(t, "for (%s from = %s; from < %s; from += %" PRId64 ")", x->type,
			x->first, x->end, chunk);
		kernel_line(&t->w,
			"const %s to = %s - from > %" PRId64 " ? from + %" PRId64 " : %s;", x->type,
			x->end, chunk, chunk, x->end);
	}
	for (int i = 0; i < x->nops; i++)
		if (is_cut(x, x->op[i]))
			declare(t, x, x->op[i]);
	if (x->unroll)
		kernel_line(&t->w, "#pragma unroll %d", x->unroll);
	cuda_block(t, "for (%s at = %s; at < %s; at += %d)", x->type, cut ? "from" : x->first,
		cut ? "to" : x->end, x->step);
}

void
cuda_close_sum(struct cuda_text *t, const struct cuda_sum *x)
{
	cuda_end(t);
	if (!any_cut(x))
		return;
	for (int i = 0; i < x->nops; i++)
		if (is_cut(x, x->op[i]))
			kernel_line(&t->w, "z%d += v%d;", x->op[i]->out, x->op[i]->out);
	cuda_end(t);
	for (int i = 0; i < x->nops; i++)
		if (is_cut(x, x->op[i]))
			kernel_line(&t->w, "%s v%d = (%s)z%d;", cuda_type(x->op[i]), x->op[i]->out,
				cuda_type(x->op[i]), x->op[i]->out);
}
