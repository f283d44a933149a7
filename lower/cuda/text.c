/* The parts from which all shapes of CUDA kernels are made. */
#include "lower/cuda/text.h"

#include "ir/base/vec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *
cuda_printf(struct cuda_text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *text = text_vprint(t->w.scratch, format, ap);
	va_end(ap);
	return text;
}

void
cuda_open(struct cuda_text *t)
{
	t->w.out = text_stream(&t->text, &t->text_size);
	t->w.indent = 1;
	kernel_literals(&t->w);
}

void
cuda_close(struct cuda_text *t, int threads, int64_t grid)
{
	fclose(t->w.out);
	t->w.out = NULL;
	grid = grid < 1 ? 1 : grid < CUDA_GRID ? grid : CUDA_GRID;
	LIST_PUSH(
		t->w.scratch, t->waiting, t->nwaiting, (struct cuda_body){t->text, threads, grid});
	if (!t->waits)
		cuda_launch(t);
}

void
cuda_scratch(struct cuda_text *t, const char *type, const char *name, int64_t bytes)
{
	LIST_PUSH(t->w.scratch, t->pointer, t->npointers,
		(struct cuda_pointer){cuda_printf(t, "%s", name), type, t->scratch});
	t->scratch += (bytes + CUDA_SCRATCH_ALIGN - 1) / CUDA_SCRATCH_ALIGN * CUDA_SCRATCH_ALIGN;
}

struct cuda_space
cuda_space_of(const struct scheme_segment *g, uint32_t set)
{
	struct cuda_space space = {.size = 1};

	for (int i = 0; i < g->norder; i++) {
		if (!(set >> g->order[i] & 1))
			continue;
		space.cls[space.n++] = g->order[i];
		space.size *= g->size[g->order[i]];
	}
	return space;
}

uint32_t
cuda_all(const struct scheme_segment *g)
{
	uint32_t set = 0;

	for (int i = 0; i < g->norder; i++)
		set |= 1u << g->order[i];
	return set;
}

void
cuda_unflatten(struct cuda_text *t, const struct cuda_space *space, const char *flat)
{
	int64_t below = 1;

	for (int i = space->n - 1; i >= 0; i--) {
		const int c = space->cls[i];
		char *text = cuda_printf(t, "%s", flat);
		if (below > 1)
			text = cuda_printf(t, "%s / %" PRId64, text, below);
		if (i > 0)
			text = cuda_printf(t, "%s %% %" PRId64, text, t->g->size[c]);
		kernel_line(&t->w, "const int64_t i%d = %s;", c, text);
		below *= t->g->size[c];
	}
}

const char *
cuda_index_type(int64_t n)
{
	/* A step of the grid beyond the last element must not wrap around. */
	return n <= INT32_MAX ? "uint32_t" : "uint64_t";
}

void
cuda_block(struct cuda_text *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *head = text_vprint(t->w.scratch, format, ap);
	va_end(ap);
	kernel_line(&t->w, "%s {", head);
	t->w.indent++;
}

void
cuda_end(struct cuda_text *t)
{
	t->w.indent--;
	kernel_line(&t->w, "}");
}

void
cuda_open_threads(struct cuda_text *t, int64_t n)
{
	const char *type = cuda_index_type(n + (int64_t)CUDA_GRID * CUDA_BLOCK);

	cuda_block(t,
		"for (%s at = blockIdx.x * (%s)%d + threadIdx.x; at < %" PRId64
		"; at += gridDim.x * %d)",
		type, type, CUDA_BLOCK, n, CUDA_BLOCK);
}

const char *
cuda_open_wide(struct cuda_text *t, const struct scheme_op *o, int64_t parts)
{
	const char *at = cuda_printf(t, "scratch + %" PRId64, t->scratch);
	const bool is_double = o->f.dtype == IR_f64;

	cuda_scratch(t, is_double ? "double" : "float", cuda_printf(t, "f%d", o->out),
		parts * scheme_elements(&t->s->tensor[o->out]) *
			(int64_t)(is_double ? sizeof(double) : sizeof(float)));
	return at;
}

void
cuda_close_wide(struct cuda_text *t, const struct scheme_op *o, int64_t parts)
{
	const int64_t n = scheme_elements(&t->s->tensor[o->out]);

	cuda_open(t);
	cuda_open_threads(t, n);
	kernel_line(&t->w, "%s sum = f%d[at];", cuda_type(o), o->out);
	if (parts > 1) {
		kernel_line(&t->w, "#pragma unroll 8");
		kernel_line(&t->w, "for (int64_t part = 1; part < %" PRId64 "; part++)", parts);
		kernel_line(&t->w, "\tsum = sum + f%d[part * %" PRId64 " + at];", o->out, n);
	}
	kernel_line(&t->w, "%s[at] = %s;", kernel_memory(&t->w, o->out),
		kernel_stored(&t->w, (enum ir_dtype)o->f.dtype, "sum"));
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, (n + CUDA_BLOCK - 1) / CUDA_BLOCK);
}

bool
cuda_is_stored(const struct cuda_text *t, const struct scheme_op *o)
{
	const enum scheme_where where = t->s->tensor[o->out].where;

	return where == SCHEME_MEMORY || (where == SCHEME_ROW && !t->w.all_local);
}

bool *
cuda_need_none(struct cuda_text *t)
{
	bool *need = ZERO_ARRAY(t->w.scratch, bool, (size_t)t->s->nops + 1);

	return need;
}

void
cuda_need(const struct cuda_text *t, bool *need, int i)
{
	const struct scheme_op *o = &t->s->op[i];

	need[i] = true;
	for (int j = 0; j < o->f.ninputs; j++) {
		const int maker = t->s->tensor[o->in[j]].op;
		if (!(scheme_reads(o) >> j & 1) || maker < 0 || need[maker])
			continue;
		const struct scheme_op *p = &t->s->op[maker];
		const bool together = t->w.all_local || p->stage == o->stage;
		if (p->segment == o->segment && p->stage >= 0 && together && !p->red_set)
			cuda_need(t, need, maker);
	}
}

/* Does cuda_pointwise write op i? */
static bool
is_pointwise(const struct cuda_text *t, int stage, const bool *need, int i)
{
	const struct scheme_op *o = &t->s->op[i];

	return need[i] && !o->red_set && (o->stage == stage || (t->w.all_local && o->stage >= 0));
}

char *
cuda_first_iteration(struct cuda_text *t, const struct scheme_op *o)
{
	const struct cuda_space rest =
		cuda_space_of(t->g, t->w.all_local ? t->space & ~o->out_set : 0);
	char *first = NULL;

	for (int d = 0; d < rest.n; d++)
		first = cuda_printf(
			t, "%s%si%d == 0", first ? first : "", first ? " && " : "", rest.cls[d]);
	return first;
}

static void
store_pointwise(struct cuda_text *t, const struct scheme_op *o)
{
	const char *first = cuda_first_iteration(t, o);

	if (first && t->in_place)
		return; /* other threads still read what it would overwrite: see flat.c */
	if (first)
		cuda_block(t, "if (%s)", first);
	kernel_store(&t->w, o);
	if (first)
		cuda_end(t);
}

void
cuda_pointwise(struct cuda_text *t, int stage, const bool *need, bool store)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!is_pointwise(t, stage, need, t->g->op[k]))
			continue;
		const char *value = kernel_value(&t->w, o);
		kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
		if (store && cuda_is_stored(t, o))
			store_pointwise(t, o);
	}
}

void
cuda_store_pointwise(struct cuda_text *t, int stage, const bool *need)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (is_pointwise(t, stage, need, t->g->op[k]) && cuda_is_stored(t, o))
			store_pointwise(t, o);
	}
}

static bool
has_stored_prologue(const struct cuda_text *t)
{
	bool any = false;

	for (int k = 0; k < t->g->nops; k++)
		any |= t->s->op[t->g->op[k]].stage == -1 &&
		       cuda_is_stored(t, &t->s->op[t->g->op[k]]);
	return any;
}

/* Writes the ops without loops, or their stores. */
static void
write_prologue(struct cuda_text *t, bool store)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage != -1)
			continue;
		if (store && cuda_is_stored(t, o))
			kernel_store(&t->w, o);
		else if (!store)
			kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out,
				kernel_value(&t->w, o));
	}
}

void
cuda_prologue(struct cuda_text *t)
{
	write_prologue(t, false);
	if (t->in_place || t->prologue_stored || !has_stored_prologue(t))
		return;
	cuda_block(t, "if (blockIdx.x == 0 && threadIdx.x == 0)");
	write_prologue(t, true);
	cuda_end(t);
	t->prologue_stored = true;
}

void
cuda_prologue_results(struct cuda_text *t)
{
	const bool stored = t->prologue_stored;

	t->prologue_stored = false;
	if (stored || !has_stored_prologue(t))
		return;
	cuda_open(t);
	cuda_block(t, "if (threadIdx.x == 0)");
	write_prologue(t, false);
	write_prologue(t, true);
	cuda_end(t);
	cuda_close(t, CUDA_LANES, 1);
}

void
cuda_accumulate(struct cuda_text *t, const struct scheme_op *o, const char *to, const char *value)
{
	kernel_line(&t->w, "%s = %s;", to, kernel_combined(&t->w, o, to, value, false));
}

void
cuda_open_lanes(struct cuda_text *t)
{
	kernel_line(&t->w, "alignas(8) __shared__ unsigned char room[2][DEV_ROOM];");
	kernel_line(&t->w, "unsigned half = 0;");
}

void
cuda_reduce_lanes(struct cuda_text *t, const struct scheme_op *o, char kind, int lanes)
{
	static const char *const name[] = {[REDUCE_SUM] = "sum",
		[REDUCE_MAX] = "max",
		[REDUCE_MIN] = "min",
		[REDUCE_PROD] = "prod"};
	const char *v = cuda_printf(t, "%c%d", kind, o->out);

	if (lanes == CUDA_LANES)
		kernel_line(&t->w, "%s = warp_%s(%s);", v, name[o->f.reduce], v);
	else
		kernel_line(&t->w, "%s = block_%s<%d>(%s, room, half, (%s)%s);", v,
			name[o->f.reduce], lanes, v, cuda_type(o), kernel_identity(&t->w, o));
}

const char *
cuda_type(const struct scheme_op *o)
{
	return kernel_compute_type((enum ir_dtype)o->f.dtype);
}
