/*
 * One stage of a segment: a loop nest whose values are scalars. A reduction over its innermost
 * loops uses an accumulator declared where those begin, so that the innermost loop is `omp simd
 * reduction`; a reduction over outer loops accumulates in memory, which is initialized first.
 */
#include "lower/text/text.h"

#include "ir/base/alloc.h"
#include "ir/loops/build.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void
write_scatter(struct kernel_text *w, const struct scheme_op *o)
{
	const char *test = kernel_positions(w, o, &o->f.out);

	kernel_open(w, test ? TEXT(w->scratch, "if (%s)", test) : "");
	const char *value = kernel_value(w, o);
	if (o->f.reduce == REDUCE_NONE)
		kernel_line(w, "%s = %s;", kernel_element(w, o, -1),
			kernel_stored(w, (enum ir_dtype)o->f.dtype, value));
	else
		kernel_accumulate(w, o, value);
	kernel_close(w);
}

struct stage {
	const struct scheme_segment *g;
	int number, nloops;
	struct scheme_cut cut;           /* of the accumulators of sums */
	int8_t loop[SCHEME_MAX_CLASSES]; /* inner classes, outermost first */
	uint32_t outer;
};

/* Where the loops that op o reduces begin, if they are the innermost ones; -1 if not. */
static int
suffix_depth(const struct stage *st, const struct scheme_op *o)
{
	int depth = st->nloops;

	while (depth > 0 && o->red_set >> st->loop[depth - 1] & 1)
		depth--;
	for (int i = 0; i < depth; i++)
		if (o->red_set >> st->loop[i] & 1)
			return -1;
	return depth;
}

static bool
reduces_inside(const struct stage *st, const struct scheme_op *o)
{
	return (o->red_set & ~st->outer) != 0 && !o->scatter;
}

/* Is the accumulator of op o a sum that is cut? If so it is added to z<out> after each chunk. */
static bool
is_cut(const struct stage *st, const struct scheme_op *o)
{
	const int depth = suffix_depth(st, o);

	return scheme_is_cut(o) && reduces_inside(st, o) && depth >= 0 && depth <= st->cut.at;
}

/* Calls `for every op of the stage`. */
#define FOR_STAGE(w, st, o)                                                                        \
	for (int k_ = 0; k_ < (st)->g->nops; k_++)                                                 \
		for (const struct scheme_op *o = &(w)->s->op[(st)->g->op[k_]]; o; o = NULL)        \
			if (o->stage == (st)->number)

/* Max and min of floats in an accumulator: plain comparisons drop a NaN, so u<out> records whether
 * one occurred. */
static bool
marks_nan(const struct scheme_op *o)
{
	return (o->f.reduce == REDUCE_MAX || o->f.reduce == REDUCE_MIN) &&
	       ir_dtype_class((enum ir_dtype)o->f.dtype) == IR_FLOAT;
}

/* The op at the innermost indices. */
static void
write_op(struct kernel_text *w, const struct stage *st, const struct scheme_op *o)
{
	if (o->scatter) {
		write_scatter(w, o);
		return;
	}
	const char *value = kernel_value(w, o);
	if (reduces_inside(st, o) && suffix_depth(st, o) >= 0) {
		const char *v = TEXT(w->scratch, "v%d", o->out);
		if (o->f.reduce == REDUCE_SUM || o->f.reduce == REDUCE_PROD) {
			kernel_line(
				w, "%s %c= %s;", v, o->f.reduce == REDUCE_SUM ? '+' : '*', value);
			return;
		}
		const char *x = TEXT(w->scratch, "x%d", o->out);
		kernel_line(w, "const %s %s = %s;", kernel_compute_type((enum ir_dtype)o->f.dtype),
			x, value);
		kernel_line(w, "%s = %s;", v, kernel_combined(w, o, v, x, true));
		if (marks_nan(o))
			kernel_line(w, "u%d |= %s != %s;", o->out, x, x);
	} else if (o->red_set) {
		kernel_accumulate(w, o, value);
	} else {
		kernel_line(w, "const %s v%d = %s;", kernel_compute_type((enum ir_dtype)o->f.dtype),
			o->out, value);
		kernel_store(w, o);
	}
}

/* Calls `for every op of the stage that accumulates in memory or a row inside of it`, in loops over
 * what it adds to. */
static void
write_rows(struct kernel_text *w, const struct stage *st,
	void (*write)(struct kernel_text *w, const struct scheme_op *o))
{
	FOR_STAGE(w, st, o)
	{
		if (!reduces_inside(st, o) || suffix_depth(st, o) >= 0 || o->red_set & st->outer)
			continue;
		const int before = w->indent;
		for (int i = 0; i < st->nloops; i++)
			if (o->out_set >> st->loop[i] & 1)
				kernel_open_loop(w, st->g, st->loop[i]);
		write(w, o);
		while (w->indent > before)
			kernel_close(w);
	}
}

static void
fill_row(struct kernel_text *w, const struct scheme_op *o)
{
	const char *zero = kernel_identity(w, o);

	const char *to = kernel_accumulator(w, o);

	kernel_line(w, "%s = %s;", to,
		kernel_is_narrow(w, o) ? kernel_stored(w, (enum ir_dtype)o->f.dtype, zero) : zero);
	if (w->s->tensor[o->out].deep >= 0)
		kernel_line(w, "z%d%s = 0;", o->out, strchr(to, '['));
}

/* Divides the whole sum of a mean; one of 16-bit floats is rounded, and stored if it was outside
 * its result. */
static void
settle_row(struct kernel_text *w, const struct scheme_op *o)
{
	const char *name = ir_dtype_name((enum ir_dtype)o->f.dtype);
	const char *from = kernel_accumulator(w, o), *sum = kernel_sum(w, o, from);

	if (o->divisor != 0)
		sum = kernel_divided(w, o, sum);
	if (strcmp(sum, from) != 0)
		kernel_line(w, "%s = %s;", from, sum);
	if (o->f.dtype != IR_f16 && o->f.dtype != IR_bf16)
		return;
	if (w->s->tensor[o->out].where == SCHEME_ROW)
		kernel_line(w, "%s = m_round_%s(%s);", from, name, from);
	else if (!kernel_is_narrow(w, o))
		kernel_line(w, "%s = rt_f32_to_%s(%s);", kernel_element(w, o, -1), name, from);
}

static void
declare_accumulators(struct kernel_text *w, const struct stage *st, int depth)
{
	FOR_STAGE(w, st, o)
	{
		if (!reduces_inside(st, o) || suffix_depth(st, o) != depth)
			continue;
		if (is_cut(st, o)) {
			kernel_line(w, "double z%d = 0;", o->out);
			continue;
		}
		kernel_line(w, "%s v%d = %s;", kernel_compute_type((enum ir_dtype)o->f.dtype),
			o->out, kernel_identity(w, o));
		if (marks_nan(o))
			kernel_line(w, "int u%d = 0;", o->out);
	}
}

/* Converts a sum in single precision to its element type; a mean is divided. */
void
kernel_settle(struct kernel_text *w, const struct scheme_op *o)
{
	const char *v = TEXT(w->scratch, "v%d", o->out);

	if (o->divisor != 0)
		kernel_line(w, "%s = %s;", v, kernel_divided(w, o, v));
	if (o->f.dtype == IR_f16 || o->f.dtype == IR_bf16)
		kernel_line(w, "v%d = m_round_%s(v%d);", o->out,
			ir_dtype_name((enum ir_dtype)o->f.dtype), o->out);
}

static void
finish_accumulators(struct kernel_text *w, const struct stage *st, int depth)
{
	FOR_STAGE(w, st, o)
	{
		if (!reduces_inside(st, o) || suffix_depth(st, o) != depth)
			continue;
		if (is_cut(st, o))
			kernel_line(w, "%s v%d = (%s)z%d;",
				kernel_compute_type((enum ir_dtype)o->f.dtype), o->out,
				kernel_compute_type((enum ir_dtype)o->f.dtype), o->out);
		if (marks_nan(o))
			kernel_line(w, "v%d = u%d ? %s : v%d;", o->out, o->out,
				kernel_const(w, (enum ir_dtype)o->f.dtype, NAN), o->out);
		if (o->red_set & st->outer) {
			kernel_accumulate(w, o, TEXT(w->scratch, "v%d", o->out));
			continue;
		}
		kernel_settle(w, o);
		kernel_store(w, o);
	}
}

/* Do no two iterations of the innermost loop write the same element, except accumulators? */
static bool
is_vector_loop(const struct kernel_text *w, const struct stage *st)
{
	const uint32_t last = 1u << st->loop[st->nloops - 1];

	FOR_STAGE(w, st, o)
	if (o->scatter || (o->red_set & last && suffix_depth(st, o) < 0))
		return false;
	return true;
}

/* The operator that reduces the lanes of op o's accumulator. OpenMP's own sum starts lanes at +0,
 * which is not neutral for -0. */
static const char *
lanes_operator(struct kernel_text *w, const struct scheme_op *o)
{
	static const char *const sign[] = {[REDUCE_SUM] = "+",
		[REDUCE_MAX] = "max",
		[REDUCE_MIN] = "min",
		[REDUCE_PROD] = "*"};

	if (!o->picks || ir_dtype_class((enum ir_dtype)o->f.dtype) != IR_FLOAT)
		return sign[o->f.reduce];
	const char *name = TEXT(w->scratch, "pick%d", o->out);
	kernel_line(w,
		"#pragma omp declare reduction(%s : %s : omp_out += "
		"omp_in) initializer(omp_priv = %s)",
		name, kernel_compute_type((enum ir_dtype)o->f.dtype), kernel_identity(w, o));
	return name;
}

static void
write_pragma(struct kernel_text *w, const struct stage *st)
{
	char *text = text_copy(w->scratch, "#pragma omp simd");

	if (!is_vector_loop(w, st))
		return;
	FOR_STAGE(w, st, o)
	{
		if (!reduces_inside(st, o) || suffix_depth(st, o) < 0 ||
			suffix_depth(st, o) == st->nloops)
			continue;
		text = text_append(text, " reduction(%s:v%d)", lanes_operator(w, o), o->out);
		if (marks_nan(o))
			text = text_append(text, " reduction(|:u%d)", o->out);
	}
	kernel_line(w, "%s", text);
}

/* The depth at which accumulators are cut, if any: that of the shortest blocks. */
static struct scheme_cut
cut_of(const struct kernel_text *w, const struct stage *st)
{
	struct scheme_cut first = {.at = -1};

	FOR_STAGE(w, st, o)
	{
		struct stage with = *st;
		with.cut = scheme_cut_loops(st->g, st->loop, st->nloops, scheme_sum_block(o));
		if (is_cut(&with, o) &&
			(with.cut.at > first.at ||
				(with.cut.at == first.at && with.cut.chunk < first.chunk)))
			first = with.cut;
	}
	return first;
}

/* Position of the loop of a depth among those of the segment. */
static int
position(const struct stage *st, int depth)
{
	int at = 0;

	while (st->g->order[at] != st->loop[depth])
		at++;
	return at;
}

/* Iterations per chunk of the loop of a depth, because of accumulators or of sums in memory; 0:
 * all. */
static int64_t
chunk_of(const struct kernel_text *w, const struct stage *st, int depth)
{
	return kernel_chunk(
		w, st->g, position(st, depth), st->number, depth == st->cut.at ? st->cut.chunk : 0);
}

static void
open_depth(struct kernel_text *w, const struct stage *st, int depth)
{
	const int64_t chunk = chunk_of(w, st, depth);

	declare_accumulators(w, st, depth);
	if (chunk)
		kernel_open_chunks(w, st->g, st->loop[depth], chunk);
	FOR_STAGE(w, st, o)
	if (depth == st->cut.at && is_cut(st, o))
		kernel_line(
			w, "%s v%d = 0;", kernel_compute_type((enum ir_dtype)o->f.dtype), o->out);
	if (depth == st->nloops - 1)
		write_pragma(w, st);
	kernel_open_counted(w, st->g, st->loop[depth], chunk);
}

static void
close_depth(struct kernel_text *w, const struct stage *st, int depth)
{
	kernel_close(w);
	if (chunk_of(w, st, depth)) {
		FOR_STAGE(w, st, o)
		if (depth == st->cut.at && is_cut(st, o))
			kernel_line(w, "z%d += v%d;", o->out, o->out);
		kernel_flush(w, st->g, position(st, depth), st->number);
		kernel_close(w);
	}
	finish_accumulators(w, st, depth);
}

void
kernel_stage(struct kernel_text *w, const struct scheme_segment *g, int number)
{
	struct stage st = {
		.g = g, .number = number, .cut = {.at = -1}, .outer = scheme_outer_set(g)};
	uint32_t space = 0;

	FOR_STAGE(w, &st, o)
	space |= (o->out_set | o->red_set) & ~st.outer;
	for (int i = g->nouter; i < g->norder; i++)
		if (space >> g->order[i] & 1)
			st.loop[st.nloops++] = g->order[i];
	st.cut = cut_of(w, &st);
	write_rows(w, &st, fill_row);
	for (int depth = 0; depth < st.nloops; depth++)
		open_depth(w, &st, depth);
	FOR_STAGE(w, &st, o)
	write_op(w, &st, o);
	for (int depth = st.nloops - 1; depth >= 0; depth--)
		close_depth(w, &st, depth);
	write_rows(w, &st, settle_row);
}

void
kernel_prologue(struct kernel_text *w, const struct scheme_segment *g)
{
	const struct stage prologue = {.g = g, .number = -1, .cut = {.at = -1}};

	FOR_STAGE(w, &prologue, o)
	write_op(w, &prologue, o);
}
