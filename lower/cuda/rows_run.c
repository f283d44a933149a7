/*
 * A maximum and sums that read it (running.c), in one pass over a long row: a lane goes over a few
 * elements for the maximum, multiplies its sums by the change, and goes over them again.
 */
#include "lower/cuda/rows.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

/* Is the stage one reduction, a maximum or minimum in f32 over all inner loops, and what it reads? */
static const struct scheme_op *
only_maximum(const struct cuda_text *t, const struct rows *x, int stage)
{
	const struct scheme_op *top = NULL;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage != stage)
			continue;
		if (o->red_set ? top || o->red_set & x->outer || o->out_set & ~x->outer
			       : cuda_is_stored(t, o))
			return NULL;
		top = o->red_set ? o : top;
	}
	return top && top->f.dtype == IR_f32 && !top->computed &&
			       (top->f.reduce == REDUCE_MAX || top->f.reduce == REDUCE_MIN)
		       ? top
		       : NULL;
}

/* Is each op of the stage a sum that can be made with the maximum, or elementwise and not stored? */
static bool
all_follow(struct cuda_text *t, const struct run *r, int stage)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage == stage &&
			(o->red_set ? o->f.dtype != IR_f32 || o->red_set != r->top->red_set ||
						o->picks || o->computed ||
						!cuda_change(t, o, r->changing)
				    : cuda_is_stored(t, o)))
			return false;
	}
	return true;
}

/* Are the values of the stage without inner loops? */
static bool
is_scalar(const struct cuda_text *t, const struct rows *x, int stage)
{
	uint32_t space = 0;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		space |= o->stage == stage ? (o->out_set & ~x->outer) | o->red_set : 0;
	}
	return !space;
}

/* Rows that are read again from the memory of the device: long ones. */
bool
rows_find_run(struct cuda_text *t, const struct rows *x, struct run *r)
{
	const int64_t most = t->src->target->rows;
	int last = 1;

	*r = (struct run){.top = only_maximum(t, x, 0),
		.changing = ZERO_ARRAY(t->w.scratch, bool, (size_t)t->s->nops + 1)};
	if (!r->top || !most)
		return false;
	r->changing[r->top - t->s->op] = true;
	while (last < t->g->nstages && is_scalar(t, x, last))
		last++;
	const struct cuda_space all = cuda_space_of(t->g, r->top->red_set);
	r->sums = rows_make_pass(t, last, all, r->top->red_set, false);
	return last < t->g->nstages && all.size > most / (int64_t)sizeof(float) &&
	       all.size / x->lanes <= SCHEME_SUM_BLOCK && all_follow(t, r, last);
}

/* A chunk of a lane: by vectors, one of them, which the maximum and the sums go over. */
static struct cuda_vectors
open_chunks(struct cuda_text *t, struct rows *x, const struct pass *tops, const struct pass *sums)
{
	bool *need = cuda_need_none(t);
	const bool *first = rows_needed(t, x, tops), *then = rows_needed(t, x, sums);

	for (int i = 0; i < t->s->nops; i++)
		need[i] = first[i] || then[i];
	struct cuda_vectors v = {.cls = sums->all.cls[0],
		.need = need,
		.width = x->width,
		.odd = x->odd,
		.tail = x->tail};
	if (x->width) {
		rows_open_vectors(t, x, &v);
		return v;
	}
	const char *type = rows_index_type(x, sums->over.size);
	cuda_block(t, "for (%s from = lane; from < %" PRId64 "; from += %d)", type, sums->over.size,
		CUDA_RUN * x->lanes);
	kernel_line(&t->w, "const %s rest = %" PRId64 " - from;", type, sums->over.size);
	kernel_line(&t->w, "const %s to = from + (rest < %d ? rest : %d);", type,
		CUDA_RUN * x->lanes, CUDA_RUN * x->lanes);
	return v;
}

/* The loop over the elements of a chunk. */
static void
open_chunk(struct cuda_text *t, const struct rows *x, struct cuda_vectors *v, const struct pass *p)
{
	if (x->width) {
		cuda_vectors_each(t, v);
	} else {
		kernel_line(&t->w, "#pragma unroll %d", CUDA_RUN);
		cuda_block(t, "for (%s at = from; at < to; at += %d)",
			rows_index_type(x, p->over.size), x->lanes);
		cuda_unflatten(t, &p->over, "at");
	}
	cuda_pointwise(t, p->stage, rows_needed(t, x, p), false);
}

/* The reference of the maximum becomes `now`, or stays while there is none, and the sums change. */
static void
write_reference(struct cuda_text *t, const struct rows *x, const struct run *r, bool final)
{
	const int m = r->top->out;

	kernel_line(&t->w, "const float o%d = v%d;", m, m);
	if (final)
		kernel_line(&t->w, "v%d = m%d;", m, m);
	else
		kernel_line(&t->w, "v%d = m%d == %s ? o%d : m%d;", m, m,
			kernel_identity(&t->w, r->top), m, m);
	FOR_PASS(t, &r->sums, x, o)
	{
		const char *by = cuda_change(t, o, r->changing);
		if (*by)
			kernel_line(&t->w, final ? "v%d = v%d * %s;" : "v%d = dev_scaled(v%d, %s);",
				o->out, o->out, by);
	}
}

/*
 * m<top> is the maximum so far, v<top> the last one that was finite or NaN, with which sums are
 * made. In the end 0 times infinity is NaN, as for a row of minus infinity.
 */
void
rows_write_run(struct cuda_text *t, struct rows *x, const struct run *r)
{
	const struct scheme_op *top = r->top;
	struct pass tops = r->sums;
	const int m = top->out;

	tops.stage = 0;
	t->w.all_local = true; /* what is in between follows the maximum, too */
	kernel_line(&t->w, "float m%d = %s, v%d = 0.0f;", m, kernel_identity(&t->w, top), m);
	FOR_PASS(t, &r->sums, x, o)
	kernel_line(&t->w, "float v%d = 0.0f;", o->out);
	struct cuda_vectors v = open_chunks(t, x, &tops, &r->sums);
	open_chunk(t, x, &v, &tops);
	cuda_accumulate(t, top, cuda_printf(t, "m%d", m), kernel_value(&t->w, top));
	cuda_vectors_each_end(t);
	write_reference(t, x, r, false);
	open_chunk(t, x, &v, &r->sums);
	rows_write_summands(t, x, &r->sums);
	cuda_vectors_each_end(t);
	cuda_end(t);
	t->w.all_local = false;
	cuda_reduce_lanes(t, top, 'm', x->lanes);
	cuda_block(t, "%s", "");
	write_reference(t, x, r, false);
	cuda_end(t);
	FOR_PASS(t, &r->sums, x, o)
	cuda_reduce_lanes(t, o, 'v', x->lanes);
	write_reference(t, x, r, true);
	FOR_PASS(t, &r->sums, x, o)
	kernel_settle(&t->w, o);
	cuda_block(t, "if (lane == 0)");
	if (cuda_is_stored(t, top))
		rows_put(t, x, top);
	FOR_PASS(t, &r->sums, x, o)
	if (cuda_is_stored(t, o))
		rows_put(t, x, o);
	cuda_end(t);
}
