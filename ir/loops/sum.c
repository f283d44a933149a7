/*
 * How long sums of floats are cut, so that their error does not grow with their length: an
 * accumulator of the element type takes at most scheme_sum_block summands, in memory a
 * SCHEME_SUM_LANES-th of them, and is then added to a double. Two kinds of accumulators are cut,
 * each along one of its loops, chosen so that the loops inside it stay below one block:
 *
 *     a local, over the innermost loops          an element in memory, over loops further out
 *
 *     double z = 0                               f[..] = 0, z[..] = 0
 *     for chunks of a loop                       for chunks of a loop
 *       float v = 0                                for the chunk, for ..   f[..] += ..
 *       for the chunk, for ..   v += ..            for ..   z[..] += f[..], f[..] = 0
 *       z += v
 *
 * Where a sum has both, the locals are the summands of the elements. The sizes alone decide.
 */
#include "ir/loops/build.h"

bool
scheme_is_cut(const struct scheme_op *o)
{
	return o->f.reduce == REDUCE_SUM && ir_dtype_class((enum ir_dtype)o->f.dtype) == IR_FLOAT &&
	       !scheme_is_alone(o) && !o->picks;
}

int64_t
scheme_sum_block(const struct scheme_op *o)
{
	return o->f.dtype == IR_f16 || o->f.dtype == IR_bf16 ? SCHEME_SUM_BLOCK_HALF
							     : SCHEME_SUM_BLOCK;
}

struct scheme_cut
scheme_cut_loops(const struct scheme_segment *g, const int8_t *loop, int n, int64_t most)
{
	const struct scheme_cut none = {.at = -1};
	int64_t block = 1;

	for (int at = n - 1; at >= 0; at--) {
		const int64_t size = g->size[loop[at]];
		if (size > most / block)
			return (struct scheme_cut){at, most / block};
		block *= size;
	}
	return none;
}

/* The inner classes of the stage that op o is in. */
static uint32_t
stage_space(const struct scheme *s, const struct scheme_segment *g, int stage)
{
	uint32_t space = 0;

	for (int k = 0; k < g->nops; k++)
		if (s->op[g->op[k]].stage == stage)
			space |= s->op[g->op[k]].out_set | s->op[g->op[k]].red_set;
	return space & ~scheme_outer_set(g);
}

/* The classes that op o sums in memory: all except innermost ones, which are summed in a local. */
static uint32_t
summed_in_memory(const struct scheme *s, const struct scheme_op *o)
{
	const struct scheme_segment *g = &s->segment[o->segment];
	const uint32_t space = stage_space(s, g, o->stage);
	uint32_t rest = o->red_set;

	for (int i = g->norder - 1; i >= g->nouter; i--) {
		if (!(space >> g->order[i] & 1))
			continue;
		if (!(o->red_set >> g->order[i] & 1))
			break;
		rest &= ~(1u << g->order[i]);
	}
	return rest & ~scheme_outer_set(g) ? o->red_set : rest;
}

struct scheme_cut
scheme_cut_memory(const struct scheme *s, const struct scheme_op *o)
{
	const struct scheme_segment *g = &s->segment[o->segment];
	struct scheme_cut cut = {.at = -1};
	int8_t loop[SCHEME_MAX_CLASSES];
	int n = 0;

	if (!scheme_is_cut(o) || g->kind != SCHEME_LOOPS || g->library)
		return cut;
	const uint32_t set = summed_in_memory(s, o);
	for (int i = 0; i < g->norder; i++)
		if (set >> g->order[i] & 1)
			loop[n++] = g->order[i];
	cut = scheme_cut_loops(g, loop, n, scheme_sum_block(o) / SCHEME_SUM_LANES);
	for (int i = 0; cut.at >= 0 && i < g->norder; i++)
		if (g->order[i] == loop[cut.at])
			return (struct scheme_cut){i, cut.chunk};
	return cut;
}
