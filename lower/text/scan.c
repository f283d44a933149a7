/*
 * Running sums in C. If the dim is the innermost loop, the sum is a local, for floats a double;
 * else it is read back from the result, so that the loops inside it can be vectorized:
 *
 *     for r                                        for i
 *       v = 0                                        simd for c
 *       for i   v += a[r,i];  y[r,i] = v               y[i,c] = a[i,c] + (i == 0 ? 0 : y[i-1,c])
 *
 * Sums of 16-bit floats are always of the first kind, as the values in the result are rounded.
 */
#include "lower/text/text.h"

#include "ir/base/alloc.h"
#include "ir/loops/build.h"

#include <inttypes.h>
#include <string.h>

static void
open_loop(struct kernel_text *w, const struct scheme_op *o, int64_t n, int cls)
{
	if (cls == scheme_scan_class(o) && o->scan.reverse)
		kernel_line(w, "for (int64_t i%d = %" PRId64 "; i%d-- > 0;) {", cls, n, cls);
	else
		kernel_line(
			w, "for (int64_t i%d = 0; i%d < %" PRId64 "; i%d++) {", cls, cls, n, cls);
	w->indent++;
}

/* The sum before the current element, read from the result. */
static char *
sum_before(struct kernel_text *w, const struct scheme_op *o, int64_t n, int cls)
{
	const char *element = kernel_element(w, o, -1);

	return TEXT(w->scratch, "(i%d == %" PRId64 " ? 0 : %.*s %c %" PRId64 "])", cls,
		o->scan.reverse ? n - 1 : 0, (int)strlen(element) - 1, element,
		o->scan.reverse ? '+' : '-', scheme_stride(w->s, o, -1, cls));
}

void
kernel_scan(struct kernel_text *w, int number)
{
	const struct scheme_segment *g = &w->s->segment[number];
	const struct scheme_op *o = &w->s->op[g->op[0]];
	const int along = scheme_scan_class(o), before = w->indent, last = g->norder - 1;
	const char *type = kernel_compute_type((enum ir_dtype)o->f.dtype);
	const bool isfloat = ir_dtype_class((enum ir_dtype)o->f.dtype) == IR_FLOAT;
	const char *wide = isfloat ? "double" : type; /* a float is rounded once an element */
	const bool local = g->order[last] == along;

	kernel_find_ranges(w, g); /* it has none, but the segment before it may have */
	for (int i = 0; i <= last; i++) {
		if (i == last && local)
			kernel_line(w, "%s z%d = 0;", wide, o->out);
		else if (i == last)
			kernel_line(w, "#pragma omp simd");
		open_loop(w, o, g->size[g->order[i]], g->order[i]);
	}
	const char *value = kernel_value(w, o);
	if (local) {
		kernel_line(w, "z%d += %s;", o->out, value);
		kernel_line(w, "const %s v%d = (%s)z%d;", type, o->out, type, o->out);
	} else {
		kernel_line(w, "const %s v%d = %s + %s;", type, o->out,
			sum_before(w, o, g->size[along], along), value);
	}
	kernel_store(w, o);
	while (w->indent > before) {
		w->indent--;
		kernel_line(w, "}");
	}
}
