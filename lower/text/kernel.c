/*
 * A scheme as a C function: segments one after the other, each an outer nest with its stages
 * inside (stage.c).
 */
#include "lower/text/text.h"

#include "ir/base/alloc.h"
#include "ir/loops/build.h"
#include "lower/own.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* Does op o accumulate over the whole segment: over outer loops, or by number? */
static bool
accumulates_outside(const struct scheme_segment *g, const struct scheme_op *o)
{
	return o->red_set & scheme_outer_set(g) || o->scatter;
}

/* Initializes the accumulators of the whole segment; sums that are kept outside the results,
 * too. */
static void
fill_results(struct kernel_text *w, const struct scheme_segment *g)
{
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &w->s->op[g->op[k]];
		if (!accumulates_outside(g, o))
			continue;
		const bool beside = w->s->tensor[o->out].wide >= 0;
		const char *zero = kernel_identity(w, o), *name = kernel_memory(w, o->out);
		if (beside)
			name = TEXT(w->scratch, "f%d", o->out);
		else
			zero = kernel_stored(w, (enum ir_dtype)o->f.dtype, zero);
		kernel_line(w, "for (int64_t i = 0; i < %" PRId64 "; i++)",
			scheme_elements(&w->s->tensor[o->out]));
		kernel_line(w, "\t%s[i] = %s;", name, zero);
		if (w->s->tensor[o->out].deep >= 0)
			kernel_line(w, "memset(z%d, 0, %" PRId64 ");", o->out,
				scheme_elements(&w->s->tensor[o->out]) * (int64_t)sizeof(double));
	}
}

/* Completes the sums of the whole segment: divides means, and stores sums that were kept outside
 * the results. */
static void
settle_results(struct kernel_text *w, const struct scheme_segment *g)
{
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &w->s->op[g->op[k]];
		const bool beside = w->s->tensor[o->out].wide >= 0;
		if (!accumulates_outside(g, o) ||
			(!beside && o->divisor == 0 && w->s->tensor[o->out].deep < 0))
			continue;
		const char *to = kernel_memory(w, o->out);
		const char *sum =
			beside ? TEXT(w->scratch, "f%d[i]", o->out) : TEXT(w->scratch, "%s[i]", to);
		sum = kernel_sum(w, o, sum);
		if (o->divisor != 0)
			sum = kernel_divided(w, o, sum);
		if (beside)
			sum = kernel_stored(w, (enum ir_dtype)o->f.dtype, sum);
		kernel_line(w, "for (int64_t i = 0; i < %" PRId64 "; i++)",
			scheme_elements(&w->s->tensor[o->out]));
		kernel_line(w, "\t%s[i] = %s;", to, sum);
	}
}

/* The loop over tiles of a class, or within one. */
static void
open_tile(struct kernel_text *w, const struct scheme_segment *g, int c, bool within)
{
	const int64_t n = g->size[c];

	if (within)
		kernel_line(w,
			"for (int64_t i%d = o%d; i%d < (o%d + %d < %" PRId64
			" ? o%d + %d : %" PRId64 "); i%d++) {",
			c, c, c, c, SCHEME_TILE, n, c, SCHEME_TILE, n, c);
	else
		kernel_line(w, "for (int64_t o%d = 0; o%d < %" PRId64 "; o%d += %d) {", c, c, n, c,
			SCHEME_TILE);
	w->indent++;
}

/* All loops are outer ones: first the others, then tiles of two classes, then the loops inside a
 * tile. */
static void
open_tiled(struct kernel_text *w, const struct scheme_segment *g)
{
	const int inner = g->order[g->norder - 1];

	for (int i = 0; i < g->nouter - 1; i++)
		if (g->order[i] != g->tile)
			kernel_open_loop(w, g, g->order[i]);
	open_tile(w, g, g->tile, false);
	open_tile(w, g, inner, false);
	open_tile(w, g, g->tile, true);
	kernel_line(w, "#pragma omp simd");
	open_tile(w, g, inner, true);
}

static void
open_outer(struct kernel_text *w, const struct scheme_segment *g)
{
	const struct scheme_op *first = &w->s->op[g->op[0]];
	const bool scatter = first->scatter; /* it is the only op then */

	if (g->tile >= 0) {
		open_tiled(w, g);
		return;
	}
	for (int i = 0; i < g->nouter; i++) {
		const int c = g->order[i];
		if (i == g->nouter - 1 && g->nouter == g->norder && !scatter)
			kernel_line(w, "#pragma omp simd");
		const int64_t chunk = kernel_chunk(w, g, i, -1, 0);
		if (chunk) {
			kernel_open_chunks(w, g, c, chunk);
			kernel_line(w, "#pragma GCC unroll 4");
		}
		kernel_open_counted(w, g, c, chunk);
	}
}

/* Closes the loops of the outer nest; sums that are cut along one go to their doubles. */
static void
close_outer(struct kernel_text *w, const struct scheme_segment *g)
{
	for (int i = g->nouter; i-- > 0 && g->tile < 0;) {
		kernel_close(w);
		if (!kernel_chunk(w, g, i, -1, 0))
			continue;
		kernel_flush(w, g, i, -1);
		kernel_close(w);
	}
}

static void
write_loops(struct kernel_text *w, int number)
{
	const struct scheme_segment *g = &w->s->segment[number];
	const int before = w->indent;

	kernel_find_ranges(w, g);
	fill_results(w, g);
	kernel_prologue(w, g);
	if (g->block) {
		const int64_t rows = g[-1].gemm.m;
		kernel_line(w, "for (int64_t b0 = 0; b0 < %" PRId64 "; b0 += %" PRId64 ") {", rows,
			g->block);
		w->indent++;
		kernel_line(w,
			"const int64_t b1 = b0 + %" PRId64 " < %" PRId64 " ? b0 + %" PRId64
			" : %" PRId64 ";",
			g->block, rows, g->block, rows);
		kernel_gemm(w, &g[-1], true);
	}
	open_outer(w, g);
	for (int i = 0; i < g->nstages; i++)
		kernel_stage(w, g, i);
	close_outer(w, g);
	while (w->indent > before)
		kernel_close(w);
	settle_results(w, g);
}

/* Pointers into scratch; results that are another tensor's memory are copied at the end. */
static void
declare_scratch(struct kernel_text *w)
{
	for (int t = 0; t < w->s->ntensors; t++) {
		const struct scheme_tensor *x = &w->s->tensor[t];
		if (x->wide >= 0)
			kernel_line(w, "float *restrict f%d = (float *)(scratch + %" PRId64 ");", t,
				x->wide);
		if (x->deep >= 0)
			kernel_line(w, "double *restrict z%d = (double *)(scratch + %" PRId64 ");",
				t, x->deep);
		if (x->scratch < 0)
			continue;
		const bool row = x->where == SCHEME_ROW;
		const char *type = row ? kernel_compute_type(x->dtype) : kernel_ctype(x->dtype);
		kernel_line(w, "%s *restrict %c%d = (%s *)(scratch + %" PRId64 ");", type,
			row ? 'w' : 'm', t, type, x->scratch);
	}
}

static void
copy_results(struct kernel_text *w)
{
	for (int r = 0; r < w->s->kernel->nresults; r++) {
		const int t = kernel_result(w->s, r);
		const struct scheme_tensor *x = &w->s->tensor[t];
		const char *from = kernel_memory(w, t), *to = TEXT(w->scratch, "r%d", r);
		if (strcmp(from, to) != 0)
			kernel_line(w, "memcpy(%s, %s, %" PRId64 ");", to, from,
				scheme_elements(x) * (int64_t)ir_dtype_bytes(x->dtype));
	}
}

/* The slice alone: the rest is in place. */
static void
write_slice(struct kernel_text *w, const struct scheme_slice *x)
{
	const struct ir_op *k = w->s->kernel;
	const int64_t bytes =
		x->size * x->inner * (int64_t)ir_dtype_bytes(k->result[0].type->dtype);

	kernel_line(w,
		"const int64_t from = a2[0] < 0 ? 0 : a2[0] > %" PRId64 " ? %" PRId64
		" : (int64_t)a2[0];",
		x->n - x->size, x->n - x->size);
	if (x->outer > 1)
		kernel_line(w, "for (int64_t i = 0; i < %" PRId64 "; i++)", x->outer);
	else
		kernel_line(w, "const int64_t i = 0;");
	kernel_line(w,
		"%smemcpy(r0 + (i * %" PRId64 " + from) * %" PRId64 ", a1 + i * %" PRId64
		", %" PRId64 ");",
		x->outer > 1 ? "\t" : "", x->n, x->inner, x->size * x->inner, bytes);
}

static void
write_body(struct kernel_text *w, bool in_place)
{
	struct scheme_slice slice;
	w->indent = 1;
	if (in_place && scheme_slice(w->s, &slice)) {
		write_slice(w, &slice);
		return;
	}
	kernel_literals(w);
	declare_scratch(w);
	for (int i = 0; i < w->s->nsegments; i++) {
		const bool blocked = i + 1 < w->s->nsegments && w->s->segment[i + 1].block;
		if (w->s->segment[i].kind == SCHEME_OWN)
			own_host(w);
		else if (w->s->segment[i].library)
			kernel_conv(w, i);
		else if (w->s->segment[i].kind == SCHEME_LOOPS &&
			 w->s->op[w->s->segment[i].op[0]].scan.found)
			kernel_scan(w, i);
		else if (w->s->segment[i].kind == SCHEME_LOOPS)
			write_loops(w, i);
		else if (!blocked)
			kernel_gemm(w, &w->s->segment[i], false);
	}
	copy_results(w);
}

/* `slab`: writes the function for one slab. `local`: no other file calls the function. */
static void
write_head(FILE *out, const struct scheme *s, const char *name, bool in_place, int nargs, bool slab,
	bool local)
{
	const struct ir_op *k = s->kernel;
	const char *restricted = in_place ? "" : "restrict ";

	fprintf(out, "%svoid\n%s%s(", local ? "static " : "", name, slab ? "_slab" : "");
	for (int j = 0; j < k->noperands; j++)
		fprintf(out, "const %s *%sa%d, ",
			kernel_ctype((enum ir_dtype)ir_operand_type(k, j)->dtype), restricted, j);
	for (int r = 0; r < k->nresults; r++)
		fprintf(out, "%s *%sr%d, ", kernel_ctype((enum ir_dtype)k->result[r].type->dtype),
			restricted, r);
	fprintf(out, "unsigned char *restrict scratch");
	for (int i = 0; i < nargs; i++)
		fprintf(out, ", int64_t s%d", i);
	for (int i = 0; i < s->nslabs && slab; i++)
		fprintf(out, ", int64_t slab%d", i + 1);
	fputc(')', out);
}

static void
write_function(
	struct kernel_text *w, FILE *out, const char *name, bool in_place, bool slab, bool local)
{
	char *body = NULL;
	size_t size = 0;

	w->out = text_stream(&body, &size);
	if (slab || !w->s->nslabs)
		write_body(w, in_place);
	else
		kernel_slabs(w, name);
	fclose(w->out);
	write_head(out, w->s, name, in_place, w->args->n, slab, local);
	fputs("\n{\n", out);
	fwrite(body, 1, size, out);
	fputs("}\n", out);
	free(body);
}

void
kernel_write(FILE *out, FILE *prototype, const struct scheme *s, const char *name, bool in_place,
	struct kernel_args *args)
{
	struct kernel_text w = {.s = s,
		.before = out,
		.name = name,
		.args = args,
		.scratch = alloc_scratch(NULL),
		.reads_both = true,
		.wide_sums = true};

	*args = (struct kernel_args){0};
	if (s->nslabs) {
		write_function(&w, out, name, in_place, true, true);
		fputc('\n', out);
	}
	write_function(&w, out, name, in_place, false, !prototype);
	if (prototype) {
		write_head(prototype, s, name, in_place, args->n, false, false);
		fputs(";\n", prototype);
	}
	talloc_free(w.scratch);
}

char *
kernel_arg_text(const void *owner, const struct ir_module *m, const struct kernel_arg *arg,
	const char *coord)
{
	if (arg->kind == KERNEL_KEY)
		return TEXT(owner, "INT64_C(%" PRId64 ")", arg->key);
	if (arg->kind == KERNEL_START) {
		int axis[IR_MAX_AXES];
		const int n = ir_type_split_axes(arg->type, arg->dim, axis);
		char *text = text_copy(owner, "");
		for (int i = 0; i < n; i++)
			text = i == 0 ? text_append(text, "%s[%d]", coord, axis[i])
				      : TEXT(owner, "(%s * %d + %s[%d])", text,
						m->axis[axis[i]].size, coord, axis[i]);
		return TEXT(
			owner, "%s * %" PRId64, text, ir_type_local_dim(m, arg->type, arg->dim));
	}
	char *text = text_copy(owner, "");
	for (int a = 0; a < m->naxes; a++) {
		const struct ir_state x = arg->type->axis[a];
		if (x.kind == IR_SINGLE && arg->other->axis[a].kind != IR_SINGLE)
			text = text_append(text, "%s%s[%d] == %d", *text ? " && " : "", coord, a,
				ir_axis_place(&m->axis[a], x.order));
	}
	return text;
}
