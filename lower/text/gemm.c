/* Calls of the matrix product library. */
#include "lower/text/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* "a0 + g0 * 1024 + g1 * 4": the start of a matrix inside the loops g0, g1 ... */
static char *
start_text(struct kernel_text *w, const char *name, const struct scheme_gemm *g, int nloops,
	char which)
{
	char *text = text_copy(w->scratch, name);

	for (int i = 0; i < nloops; i++) {
		const struct scheme_gemm_loop *l = &g->loop[i];
		const int64_t stride = which == 'a' ? l->a : which == 'b' ? l->b : l->c;
		if (stride)
			text = text_append(text, " + g%d * %" PRId64, i, stride);
	}
	return text;
}

static bool
is_half(const struct scheme_op *o)
{
	return o->f.dtype == IR_f16 || o->f.dtype == IR_bf16;
}

/* The loops outside of a call. The library handles the last of them as its batch, if none is a sum;
 * for 16-bit floats it handles all sums, which are rounded when they are complete. */
static int
loops_outside(const struct scheme_op *o, const struct scheme_gemm *g)
{
	if (is_half(o))
		return g->nloops - g->nsum;
	return g->nloops - (g->nloops > 0 && g->nsum == 0);
}

static void
write_half(struct kernel_text *w, const struct scheme_op *o, const struct scheme_segment *s,
	const char *a, const char *b, const char *c, const char *rows)
{
	const struct scheme_gemm *g = &s->gemm;
	char *sums = text_copy(w->scratch, g->nsum ? "(const struct rt_gemm_sum[]){" : "NULL");

	for (int i = g->nloops - g->nsum; i < g->nloops; i++)
		sums = text_append(sums, "{%" PRId64 ", %" PRId64 ", %" PRId64 "}, ",
			g->loop[i].size, g->loop[i].a, g->loop[i].b);
	kernel_line(w, "rt_gemm_%s(%s, %s, %s, %" PRId64 ", %" PRId64 ", %s, %" PRId64 ",",
		ir_dtype_name((enum ir_dtype)o->f.dtype), g->trans_a ? "true" : "false",
		g->trans_b ? "true" : "false", rows, g->n, g->k, a, g->lda);
	kernel_line(w, "\t%s, %" PRId64 ", %s, %" PRId64 ", %d, %s%s, scratch + %" PRId64 ");", b,
		g->ldb, c, g->ldc, g->nsum, sums, g->nsum ? "}" : "", s->library_at);
}

/* One call; the last loop outside the sums is the library's batch. */
static void
write_call(struct kernel_text *w, const struct scheme_op *o, const struct scheme_segment *s,
	bool block)
{
	const struct scheme_gemm *g = &s->gemm;
	const bool half = is_half(o), batch = !half && g->nloops > 0 && g->nsum == 0;
	const int nloops = loops_outside(o, g);
	const char *type = o->f.dtype == IR_f64 ? "f64" : "f32";
	char *a = start_text(w, kernel_memory(w, o->in[g->first]), g, nloops, 'a');
	char *b = start_text(w, kernel_memory(w, o->in[g->second]), g, nloops, 'b');
	char *c = start_text(w, kernel_memory(w, o->out), g, nloops, 'c');
	char *rows = TEXT(w->scratch, "%" PRId64, g->m), *beta = text_copy(w->scratch, "0");

	if (block) {
		rows = text_copy(w->scratch, "b1 - b0");
		a = TEXT(w->scratch, "%s + b0 * %" PRId64, a, g->trans_a ? INT64_C(1) : g->lda);
		if (!scheme_is_block(w->s, o->out))
			c = TEXT(w->scratch, "%s + b0 * %" PRId64, c, g->ldc);
	}
	if (half) {
		write_half(w, o, s, a, b, c, rows);
		return;
	}
	if (g->nsum) {
		beta = text_copy(w->scratch, "");
		for (int i = g->nloops - g->nsum; i < g->nloops; i++)
			beta = text_append(beta, "%sg%d", *beta ? " | " : "", i);
		beta = TEXT(w->scratch, "(%s) != 0", beta);
	}
	const struct scheme_gemm_loop *l = batch ? &g->loop[g->nloops - 1] : NULL;
	const char *comma = batch ? TEXT(w->scratch, ", %" PRId64, l->a) : "";
	kernel_line(w, "rt_gemm_%s%s(%s, %s, %s, %" PRId64 ", %" PRId64 ", 1, %s, %" PRId64 "%s,",
		batch ? "batch_" : "", type, g->trans_a ? "true" : "false",
		g->trans_b ? "true" : "false", rows, g->n, g->k, a, g->lda, comma);
	if (batch)
		kernel_line(w,
			"\t%s, %" PRId64 ", %" PRId64 ", %s, %s, %" PRId64 ", %" PRId64 ", %" PRId64
			");",
			b, g->ldb, l->b, beta, c, g->ldc, l->c, l->size);
	else
		kernel_line(
			w, "\t%s, %" PRId64 ", %s, %s, %" PRId64 ");", b, g->ldb, beta, c, g->ldc);
}

void
kernel_gemm(struct kernel_text *w, const struct scheme_segment *s, bool block)
{
	const struct scheme_op *o = &w->s->op[s->op[0]];
	const struct scheme_gemm *g = &s->gemm;
	/* sums of f32 and f64 are loops, too, around calls that add */
	const int nloops = loops_outside(o, g);

	for (int i = 0; i < nloops; i++) {
		kernel_line(w, "for (int64_t g%d = 0; g%d < %" PRId64 "; g%d++) {", i, i,
			g->loop[i].size, i);
		w->indent++;
	}
	write_call(w, o, s, block);
	for (int i = 0; i < nloops; i++) {
		w->indent--;
		kernel_line(w, "}");
	}
}
