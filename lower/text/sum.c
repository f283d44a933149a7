/* Long sums in C, cut as ir/loops/sum.c describes: loops in chunks, and doubles to which the float
 * sums of each chunk are added. */
#include "lower/text/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* The first iteration of the loop over a class; blocks of rows start at b0. */
static bool
is_rows(const struct scheme_segment *g, int cls)
{
	return g->block && cls == g->order[0];
}

static const char *
end_text(struct kernel_text *w, const struct scheme_segment *g, int cls)
{
	const struct kernel_range *r = &w->range[cls];

	if (is_rows(g, cls))
		return "b1";
	return TEXT(w->scratch, "%" PRId64, r->inside && r->value ? r->most : g->size[cls]);
}

void
kernel_open_chunks(struct kernel_text *w, const struct scheme_segment *g, int cls, int64_t chunk)
{
	const char *end = end_text(w, g, cls);

	kernel_line(w, "for (int64_t c%d = %s; c%d < %s; c%d += %" PRId64 ") {", cls,
		is_rows(g, cls) ? "b0" : "0", cls, end, cls, chunk);
	w->indent++;
	kernel_line(w, "const int64_t e%d = c%d + %" PRId64 " < %s ? c%d + %" PRId64 " : %s;", cls,
		cls, chunk, end, cls, chunk, end);
}

void
kernel_open_counted(struct kernel_text *w, const struct scheme_segment *g, int cls, int64_t chunk)
{
	const struct kernel_range *r = &w->range[cls];
	const char *first = is_rows(g, cls) ? "b0" : "0", *end = end_text(w, g, cls);

	if (chunk) {
		first = TEXT(w->scratch, "c%d", cls);
		end = TEXT(w->scratch, "e%d", cls);
	}
	if (r->inside) {
		kernel_open_range(w, r, first, end);
		return;
	}
	if (r->backwards)
		kernel_line(w, "for (int64_t i%d = %s - 1; i%d >= %s; i%d--) {", cls, end, cls,
			first, cls);
	else
		kernel_line(
			w, "for (int64_t i%d = %s; i%d < %s; i%d++) {", cls, first, cls, end, cls);
	w->indent++;
}

/* Is op o, of that stage (-1: any), cut along loop `at`? */
static bool
is_cut_at(const struct scheme_op *o, int at, int stage)
{
	return o->cut.at == at && o->red_set && (stage < 0 || o->stage == stage);
}

int64_t
kernel_chunk(const struct kernel_text *w, const struct scheme_segment *g, int at, int stage,
	int64_t chunk)
{
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &w->s->op[g->op[k]];
		if (is_cut_at(o, at, stage) && (!chunk || o->cut.chunk < chunk))
			chunk = o->cut.chunk;
	}
	return chunk;
}

/* The double of an accumulator, which is an element of memory or of a row. */
static char *
deep_text(struct kernel_text *w, const struct scheme_op *o, const char *accumulator)
{
	return TEXT(w->scratch, "z%d%s", o->out, strchr(accumulator, '['));
}

char *
kernel_sum(struct kernel_text *w, const struct scheme_op *o, const char *accumulator)
{
	if (w->s->tensor[o->out].deep < 0)
		return text_copy(w->scratch, accumulator);
	return TEXT(w->scratch, "(%s)%s", kernel_compute_type((enum ir_dtype)o->f.dtype),
		deep_text(w, o, accumulator));
}

void
kernel_flush(struct kernel_text *w, const struct scheme_segment *g, int at, int stage)
{
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &w->s->op[g->op[k]];
		if (!is_cut_at(o, at, stage))
			continue;
		const int before = w->indent;
		for (int i = at + 1; i < g->norder; i++)
			if (o->out_set >> g->order[i] & 1)
				kernel_open_loop(w, g, g->order[i]);
		const char *f = kernel_accumulator(w, o);
		kernel_line(w, "%s += %s;", deep_text(w, o, f), f);
		kernel_line(w, "%s = 0;", f);
		while (w->indent > before)
			kernel_close(w);
	}
}
