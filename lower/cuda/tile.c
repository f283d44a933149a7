/*
 * Segments without reductions in which some operands are walked across: along the innermost loop l
 * their elements are far apart, along another loop c they are adjacent. A block processes tiles of
 * 32 x 32 iterations of c and l: it reads those operands along c into shared memory, and after a
 * barrier computes and writes along l, so that neighbouring threads access neighbouring elements
 * both times.
 */
#include "lower/cuda/text.h"

#include <inttypes.h>
#include <string.h>

enum {
	TILE = 32, /* as wide as a warp */
	TILE_ROWS = CUDA_BLOCK / TILE,
	TILE_LEAST = 16,   /* shorter loops fill less than half of a tile */
	TILE_OPERANDS = 4, /* whose tiles fit shared memory with eight bytes per element */
};

struct tiles {
	int along, across; /* classes l and c */
	int n;
	char *element[TILE_OPERANDS]; /* text of the element in a tile */
	const char *type[TILE_OPERANDS];
};

/* Is load j of op o a load from memory whose address depends on loops alone? */
static bool
is_load(const struct cuda_text *t, const struct scheme_op *o, int j)
{
	return o->stage >= 0 && scheme_reads(o) >> j & 1 &&
	       !scheme_made_in(t->s, o->in[j], o->segment) &&
	       t->s->tensor[o->in[j]].where == SCHEME_MEMORY;
}

/* Is load j of op o walked across class `along` and contiguous in class `across`? */
static bool
is_across(const struct cuda_text *t, const struct scheme_op *o, int j, int along, int across)
{
	return is_load(t, o, j) && scheme_stride(t->s, o, j, along) > 1 &&
	       scheme_stride(t->s, o, j, across) == 1;
}

/* Does class `across` make every load that is walked across contiguous, and is there such a
 * load? */
static bool
fits(const struct cuda_text *t, int along, int across)
{
	int n = 0;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->computed || (cuda_is_stored(t, o) && o->out_set != t->space))
			return false;
		for (int j = 0; j < o->f.ninputs; j++) {
			if (!is_load(t, o, j) || scheme_stride(t->s, o, j, along) <= 1)
				continue;
			if (!is_across(t, o, j, along, across))
				return false;
			n++;
		}
	}
	return n > 0 && n <= TILE_OPERANDS;
}

static char *
tile_element(struct kernel_text *w, const struct scheme_op *o, int j)
{
	struct cuda_text *t = (struct cuda_text *)w;
	const struct tiles *x = w->data;

	if (j < 0 || !is_across(t, o, j, x->along, x->across))
		return NULL;
	w->element = NULL;
	const char *text = kernel_element(w, o, j);
	w->element = tile_element;
	for (int i = 0; i < x->n; i++)
		if (!strcmp(x->element[i], text))
			return cuda_printf(t, "tile%d[threadIdx.x %% %d][u]", i, TILE);
	return NULL;
}

/* Finds the operands that get a tile. */
static void
collect(struct cuda_text *t, struct tiles *x)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		for (int j = 0; j < o->f.ninputs; j++) {
			if (!is_across(t, o, j, x->along, x->across))
				continue;
			char *text = kernel_element(&t->w, o, j);
			bool known = false;
			for (int i = 0; i < x->n; i++)
				known |= !strcmp(x->element[i], text);
			if (known)
				continue;
			x->element[x->n] = text;
			x->type[x->n++] = kernel_ctype(t->s->tensor[o->in[j]].dtype);
		}
	}
}

/* The loop over the part of a tile that a warp processes: `rows` is the class of u, `lanes` that of
 * the lane. */
static void
open_tile(struct cuda_text *t, int rows, const char *rows_start, int lanes, const char *lanes_start)
{
	cuda_block(t, "for (int u = threadIdx.x / %d; u < %d; u += %d)", TILE, TILE, TILE_ROWS);
	kernel_line(&t->w, "const int64_t i%d = %s + u;", rows, rows_start);
	kernel_line(&t->w, "const int64_t i%d = %s + threadIdx.x %% %d;", lanes, lanes_start, TILE);
	cuda_block(t, "if (i%d < %" PRId64 " && i%d < %" PRId64 ")", rows, t->g->size[rows], lanes,
		t->g->size[lanes]);
}

static void
write_tile(struct cuda_text *t, struct tiles *x)
{
	const char *along = "along", *across = "across";

	open_tile(t, x->along, along, x->across, across);
	for (int i = 0; i < x->n; i++)
		kernel_line(&t->w, "tile%d[u][threadIdx.x %% %d] = %s;", i, TILE, x->element[i]);
	cuda_end(t);
	cuda_end(t);
	kernel_line(&t->w, "__syncthreads();");
	open_tile(t, x->across, across, x->along, along);
	t->w.data = x;
	t->w.element = tile_element;
	bool *need = cuda_need_none(t);
	for (int k = 0; k < t->g->nops; k++)
		need[t->g->op[k]] = true;
	cuda_pointwise(t, 0, need, true);
	t->w.element = NULL;
	cuda_end(t);
	cuda_end(t);
	kernel_line(&t->w, "__syncthreads();");
}

static void
write_kernel(struct cuda_text *t, struct tiles *x)
{
	const uint32_t both = 1u << x->along | 1u << x->across;
	const struct cuda_space rest = cuda_space_of(t->g, t->space & ~both);
	const int64_t wide = (t->g->size[x->along] + TILE - 1) / TILE;
	const int64_t high = (t->g->size[x->across] + TILE - 1) / TILE;
	const int64_t units = rest.size * wide * high;
	const char *type = cuda_index_type(units + CUDA_GRID);

	cuda_open(t);
	cuda_prologue(t);
	collect(t, x);
	for (int i = 0; i < x->n; i++) /* one more column avoids bank conflicts */
		kernel_line(&t->w, "__shared__ %s tile%d[%d][%d];", x->type[i], i, TILE, TILE + 1);
	cuda_block(t, "for (%s unit = blockIdx.x; unit < %" PRId64 "; unit += gridDim.x)", type,
		units);
	kernel_line(
		&t->w, "const int64_t along = (int64_t)(unit %% %" PRId64 ") * %d;", wide, TILE);
	kernel_line(&t->w,
		"const int64_t across = (int64_t)(unit / %" PRId64 " %% %" PRId64 ") * %d;", wide,
		high, TILE);
	if (rest.n)
		kernel_line(&t->w, "const %s rest = unit / %" PRId64 ";", type, wide * high);
	cuda_unflatten(t, &rest, "rest");
	write_tile(t, x);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, units);
}

bool
cuda_tile(struct cuda_text *t)
{
	const int along = t->g->order[t->g->norder - 1];

	if (t->g->norder < 2 || t->g->size[along] < TILE_LEAST)
		return false;
	for (int i = 0; i + 1 < t->g->norder; i++) {
		struct tiles x = {.along = along, .across = t->g->order[i]};
		if (t->g->size[x.across] < TILE_LEAST || !fits(t, along, x.across))
			continue;
		write_kernel(t, &x);
		return true;
	}
	return false;
}
