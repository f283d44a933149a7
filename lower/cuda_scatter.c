/*
 * Results at places that data give: filled with what the reduction starts with, then added to in
 * the order of the source.
 *
 *     no sum           every source element has a place of its own
 *     rows by number   the first source row of each target row has a warp that finds the others: no
 *                      two warps write one row, rows are added in order (gradient of a gather)
 *     anything else    a thread an element of what is not summed walks all of the sum
 *
 * Sums of 16-bit floats are kept in f32 beside the result, which they go to in the end.
 */
#include "lower/cuda_text.h"

#include <inttypes.h>

/* Does the place depend on loops of the result? */
static bool
place_varies(const struct cuda_text *t, const struct scheme_op *o)
{
	uint32_t loads = 0;

	for (int i = 0; i < o->f.nindices; i++)
		if (o->f.at[i])
			loads |= scheme_loads(o->f.at[i]);
	for (int i = 0; i < o->f.nindices; i++) {
		if (o->cls[i] < 0 || !(o->out_set >> o->cls[i] & 1))
			continue;
		for (int k = 0; k < o->f.nindices; k++)
			if (o->f.at[k] && expr_uses_index(o->f.at[k], i))
				return true;
		for (int j = 0; j < o->f.ninputs; j++)
			if (loads >> j & 1 && scheme_stride(t->s, o, j, o->cls[i]))
				return true;
	}
	return false;
}

/* Opens a block that runs where the place is inside. */
static void
open_inside(struct cuda_text *t, const struct scheme_op *o)
{
	const char *test = kernel_positions(&t->w, o, &o->f.out);

	cuda_block(t, "if (%s)", test ? test : "true");
}

/* The number of the target row: all computed indices as one, row-major. */
static char *
target_text(struct cuda_text *t, const struct scheme_op *o)
{
	char *text = NULL;

	for (int d = 0; d < o->f.out.rank; d++) {
		const int i = o->f.out.index[d];
		if (i < 0 || !o->f.at[i])
			continue;
		const char *name = kernel_position_name(&t->w, o, i);
		text = text ? cuda_printf(t, "(%s * %" PRId64 " + %s)", text, o->f.size[i], name)
			    : cuda_printf(t, "%s", name);
	}
	return text;
}

/* The computed indices of the target row with that number, once for each. */
static void
declare_indices(struct cuda_text *t, const struct scheme_op *o, const char *number)
{
	int64_t behind = 1;

	for (int d = o->f.out.rank; d-- > 0;) {
		const int i = o->f.out.index[d];
		if (i < 0 || !o->f.at[i])
			continue;
		kernel_line(&t->w, "const int64_t %s = %s / %" PRId64 " %% %" PRId64 ";",
			kernel_position_name(&t->w, o, i), number, behind, o->f.size[i]);
		behind *= o->f.size[i];
	}
}

static int64_t
blocks(int64_t units, int per_block)
{
	return (units + per_block - 1) / per_block;
}

static void
open_threads(struct cuda_text *t, int64_t n)
{
	const char *type = cuda_index_type(n + (int64_t)CUDA_GRID * CUDA_BLOCK);

	cuda_block(t,
		"for (%s at = blockIdx.x * (%s)%d + threadIdx.x; at < %" PRId64
		"; at += gridDim.x * %d)",
		type, type, CUDA_BLOCK, n, CUDA_BLOCK);
}

static void
write_own(struct cuda_text *t, const struct scheme_op *o)
{
	const struct cuda_space all = cuda_space_of(t->g, cuda_all(t->g));

	cuda_open(t);
	open_threads(t, all.size);
	cuda_unflatten(t, &all, "at");
	open_inside(t, o);
	const char *value = kernel_value(&t->w, o);
	kernel_line(&t->w, "%s = %s;", kernel_element(&t->w, o, -1),
		kernel_stored(&t->w, (enum ir_dtype)o->f.dtype, value));
	cuda_end(t);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(all.size, CUDA_BLOCK));
}

static void
write_walk(struct cuda_text *t, const struct scheme_op *o)
{
	const struct cuda_space kept = cuda_space_of(t->g, o->out_set),
				over = cuda_space_of(t->g, o->red_set);

	cuda_open(t);
	open_threads(t, kept.size);
	cuda_unflatten(t, &kept, "at");
	cuda_block(
		t, "for (%s q = 0; q < %" PRId64 "; q++)", cuda_index_type(over.size), over.size);
	cuda_unflatten(t, &over, "q");
	open_inside(t, o);
	kernel_accumulate(&t->w, o, kernel_value(&t->w, o));
	cuda_end(t);
	cuda_end(t);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(kept.size, CUDA_BLOCK));
}

/* A function of the number of a source row: its place, -1 where that is out of range. */
static void
declare_target(struct cuda_text *t, const struct scheme_op *o, const struct cuda_space *over)
{
	cuda_block(t, "const auto target = [&](uint32_t source) -> int64_t");
	cuda_unflatten(t, over, "source");
	const char *test = kernel_positions(&t->w, o, &o->f.out);
	kernel_line(&t->w, "return %s ? %s : -1;", test ? test : "true", target_text(t, o));
	t->w.indent--;
	kernel_line(&t->w, "};");
}

static void
write_rows(struct cuda_text *t, const struct scheme_op *o)
{
	const struct cuda_space kept = cuda_space_of(t->g, o->out_set),
				over = cuda_space_of(t->g, o->red_set);
	const int warps = CUDA_BLOCK / CUDA_LANES;
	const int64_t n = over.size;

	cuda_open(t);
	kernel_line(&t->w, "const uint32_t lane = threadIdx.x %% 32;");
	declare_target(t, o, &over);
	cuda_block(t,
		"for (uint32_t unit = blockIdx.x * %d + threadIdx.x / 32; unit < %" PRId64
		"; unit += gridDim.x * %d)",
		warps, n, warps);
	kernel_line(&t->w, "const int64_t row = target(unit);");
	kernel_line(&t->w, "bool first = row >= 0;");
	kernel_line(&t->w, "for (uint32_t from = 0; first && from < unit; from += 32)");
	kernel_line(&t->w,
		"\tfirst = !__any_sync(0xFFFFFFFFu, from + lane < unit && target(from + lane) == "
		"row);");
	cuda_block(t,
		"for (uint32_t from = unit / 32 * 32; first && from < %" PRId64 "; from += 32)", n);
	kernel_line(&t->w, "const uint32_t here = from + lane;");
	kernel_line(&t->w,
		"uint32_t same = __ballot_sync(0xFFFFFFFFu, here >= unit && here < %" PRId64
		" && target(here) == row);",
		n);
	cuda_block(t, "for (; same; same &= same - 1)");
	kernel_line(&t->w, "const uint32_t source = from + __ffs((int)same) - 1;");
	cuda_unflatten(t, &over, "source");
	declare_indices(t, o, "row");
	cuda_block(t, "for (uint32_t q = lane; q < %" PRId64 "; q += 32)", kept.size);
	cuda_unflatten(t, &kept, "q");
	kernel_accumulate(&t->w, o, kernel_value(&t->w, o));
	cuda_end(t);
	cuda_end(t);
	cuda_end(t);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(n, warps));
}

/* The whole result as what the reduction starts with. */
static void
write_fill(struct cuda_text *t, const struct scheme_op *o)
{
	const int64_t n = scheme_elements(&t->s->tensor[o->out]);

	cuda_open(t);
	open_threads(t, n);
	kernel_line(&t->w, "%s[at] = %s;", kernel_memory(&t->w, o->out),
		kernel_stored(&t->w, (enum ir_dtype)o->f.dtype, kernel_identity(&t->w, o)));
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(n, CUDA_BLOCK));
}

/* Sums beside the result: zeros. */
static void
open_wide(struct cuda_text *t, const struct scheme_op *o)
{
	const int64_t bytes =
		scheme_elements(&t->s->tensor[o->out]) * (int64_t)ir_dtype_bytes(IR_f32);

	fprintf(t->host, "\trt_cuda_zero(ctx, scratch + %" PRId64 ", %" PRId64 ");\n", t->scratch,
		bytes);
	cuda_scratch(t, "float", cuda_printf(t, "f%d", o->out), bytes);
	t->w.wide_sums = true;
}

static void
close_wide(struct cuda_text *t, const struct scheme_op *o)
{
	const int64_t n = scheme_elements(&t->s->tensor[o->out]);

	t->w.wide_sums = false;
	cuda_open(t);
	open_threads(t, n);
	kernel_line(&t->w, "%s[at] = %s;", kernel_memory(&t->w, o->out),
		kernel_stored(&t->w, (enum ir_dtype)o->f.dtype, cuda_printf(t, "f%d[at]", o->out)));
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(n, CUDA_BLOCK));
}

void
cuda_scatter(struct cuda_text *t)
{
	const struct scheme_op *o = &t->s->op[t->g->op[0]];
	const struct scheme_tensor *result = &t->s->tensor[o->out];
	const int64_t bytes = scheme_elements(result) * (int64_t)ir_dtype_bytes(result->dtype);
	const bool wide = result->wide >= 0 && o->red_set;

	if (wide)
		open_wide(t, o);
	else if (o->f.reduce == REDUCE_NONE || o->f.reduce == REDUCE_SUM)
		fprintf(t->host, "\trt_cuda_zero(ctx, %s, %" PRId64 ");\n",
			cuda_host_pointer(t, o->out), bytes);
	else
		write_fill(t, o);
	if (!o->red_set)
		write_own(t, o);
	else if (place_varies(t, o))
		write_walk(t, o);
	else
		write_rows(t, o);
	if (wide)
		close_wide(t, o);
}
