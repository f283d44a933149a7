/* What a mask leaves out of a kernel of several products: products whose value is read only through
 * a select are made only for tiles where its condition is true of an element. */
#include "lower/cuda/stream.h"

#include <string.h>

/* The loads of an expression that are read also where the mask leaves out. */
static uint32_t
loads_outside(const struct stream *m, int i, const struct expr *e, struct stream_mask mask)
{
	uint32_t set = e->kind == EXPR_LOAD ? 1u << e->id : 0;
	const bool chooses = e->kind == EXPR_CALL && e->id == FN_select &&
			     e->arg[0]->kind == EXPR_LOAD &&
			     stream_maker(m, i, e->arg[0]->id) == mask.op && mask.op >= 0;

	if (chooses)
		return loads_outside(m, i, e->arg[mask.keeps ? 2 : 1], mask);
	for (int k = 0; k < e->nargs; k++)
		set |= loads_outside(m, i, e->arg[k], mask);
	return set;
}

/* Marks what op i needs where the mask leaves out; with mask.op -1, what it needs. */
void
stream_mark(const struct stream *m, bool *need, int i, struct stream_mask mask)
{
	const struct form *f = &stream_at(m, i)->f;
	uint32_t loads = loads_outside(m, i, f->body, mask);

	for (int k = 0; k < f->nindices; k++)
		loads |= f->at[k] ? scheme_loads(f->at[k]) : 0;
	for (int j = 0; j < f->ninputs; j++) {
		const int maker = loads >> j & 1 ? stream_maker(m, i, j) : -1;
		if (maker < 0 || need[maker])
			continue;
		need[maker] = true;
		if (m->x->op[maker].kind == STREAM_WIDE)
			stream_mark(m, need, maker, mask);
	}
}

void
stream_mark_pass(const struct stream *m, bool *need, int pass, int level, struct stream_mask mask)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if (stream_in_pass(m, i, pass, level))
			stream_mark(m, need, i, mask);
}

/* Is a condition made of positions and values in memory, without random numbers, which would cost
 * as much as what it saves? */
static bool
is_cheap(const struct stream *m, int i)
{
	if (m->x->op[i].kind == STREAM_NARROW)
		return m->plan[i].of == 0;
	if (m->x->op[i].kind != STREAM_WIDE || !expr_is_cheap(stream_at(m, i)->f.body))
		return false;
	for (int j = 0; j < stream_at(m, i)->f.ninputs; j++)
		if (stream_maker(m, i, j) >= 0 && !is_cheap(m, stream_maker(m, i, j)))
			return false;
	return true;
}

/* A mask outside of which the ends of a pass need fewer products; `outside`: the ops that they need
 * there. */
struct stream_mask
stream_find_mask(const struct stream *m, int pass, bool *outside)
{
	const int nops = m->t->s->nops;
	bool *all = cuda_need_none(m->t);
	struct stream_mask mask = {.op = -1};

	stream_mark_pass(m, all, pass, STREAM_FINAL, mask);
	for (int i = 0; i < 2 * nops; i++) {
		const struct stream_mask x = {i / 2, i % 2 == 0};
		bool leaves_out = false;
		if (stream_at(m, x.op)->f.dtype != IR_bool || !all[x.op] ||
			m->x->op[x.op].kind != STREAM_WIDE || !is_cheap(m, x.op))
			continue;
		memset(outside, 0, (size_t)nops * sizeof *outside);
		stream_mark_pass(m, outside, pass, STREAM_FINAL, x);
		for (int k = 0; k < nops; k++)
			leaves_out |= m->x->op[k].kind == STREAM_TILE_OF && all[k] && !outside[k];
		if (leaves_out)
			return x;
	}
	memcpy(outside, all, (size_t)nops * sizeof *outside);
	return mask;
}
