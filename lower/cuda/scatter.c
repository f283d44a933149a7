/*
 * Scatters to positions given by data: the result is filled with the identity of the reduction,
 * then reduced in an order that depends only on sizes and on the order of the source.
 *
 *     no sum           every source element has its own target
 *     by number        source rows are sorted by the number of their target row, then summed in
 *                      chunks of equal length (runtime/cuda/scatter.h): equally parallel whether
 *                      all go to one row or each has its own (gradient of a gather). Other loops
 *                      that the target depends on, such as a batch, are part of the number
 *     short sums       one thread per kept element runs the whole sum, if the target
 *                      depends on kept elements and these fill the device or the sum is short
 *
 * Sums of 16-bit floats are kept in f32 until they are whole.
 */
#include "lower/cuda/text.h"

#include <inttypes.h>

enum {
	SORT_TILE = 1024, /* keys per block: 8 KB of shared memory */
	SORT_LEAST = 64,  /* at least: one warp of pairs */
	CHUNK_MOST = 64,  /* most entries that one thread adds */
	CHUNK_LEAST =
		16, /* at least: each launch has an eighth of the entries of the previous one */
	WALK_MOST = 256, /* elements of a sum that one thread runs, if there are few of them */
	KEY_BITS = 63,
};

/* Does the target depend on index i of the result? `loads`: computed indices come from loads. */
static bool
place_needs(const struct cuda_text *t, const struct scheme_op *o, uint32_t loads, int i)
{
	for (int k = 0; k < o->f.nindices; k++)
		if (o->f.at[k] && expr_uses_index(o->f.at[k], i))
			return true;
	for (int j = 0; j < o->f.ninputs; j++)
		if (loads >> j & 1 && scheme_stride(t->s, o, j, o->cls[i]))
			return true;
	return false;
}

/* The classes of the result on which the target depends. */
static uint32_t
place_classes(const struct cuda_text *t, const struct scheme_op *o)
{
	uint32_t loads = 0, set = 0;

	for (int i = 0; i < o->f.nindices; i++)
		if (o->f.at[i])
			loads |= scheme_loads(o->f.at[i]);
	for (int i = 0; i < o->f.nindices; i++)
		if (o->cls[i] >= 0 && o->out_set >> o->cls[i] & 1 && place_needs(t, o, loads, i))
			set |= 1u << o->cls[i];
	return set;
}

/* Opens a block that is executed if the target is inside. */
static void
open_inside(struct cuda_text *t, const struct scheme_op *o)
{
	const char *test = kernel_positions(&t->w, o, &o->f.out);

	cuda_block(t, "if (%s)", test ? test : "true");
}

/* The number of the target row: all computed indices as one number, row-major. */
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

/* The computed indices of the target row with that number, once each. */
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
write_own(struct cuda_text *t, const struct scheme_op *o)
{
	const struct cuda_space all = cuda_space_of(t->g, cuda_all(t->g));

	cuda_open(t);
	cuda_open_threads(t, all.size);
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
	cuda_open_threads(t, kept.size);
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

/* Rows to be summed by number. */
struct by_number {
	const struct scheme_op *o;
	struct cuda_space batch, source, kept; /* on which the place depends; with what is summed;
						  columns: the rest of the result */
	int64_t targets;                       /* rows of the result for one index of the batch */
	int64_t rows;                          /* total; this row number means "dropped" */
	int position;                          /* bits of a key that hold the position */
	int chunk;                             /* entries that a thread adds */
	const char *key[2];                    /* names of the buffers of keys */
	const char *row, *sum; /* the beginning of the names of a launch's entries */
};

static int
bits(int64_t n)
{
	int b = 1;

	while (n >> b)
		b++;
	return b;
}

static struct by_number
by_number(struct cuda_text *t, const struct scheme_op *o, uint32_t batch)
{
	struct by_number b = {.o = o,
		.batch = cuda_space_of(t->g, batch),
		.source = cuda_space_of(t->g, batch | o->red_set),
		.kept = cuda_space_of(t->g, o->out_set & ~batch),
		.targets = 1,
		.chunk = CHUNK_MOST};

	for (int d = 0; d < o->f.out.rank; d++)
		if (o->f.out.index[d] >= 0 && o->f.at[o->f.out.index[d]])
			b.targets *= o->f.size[o->f.out.index[d]];
	b.rows = b.batch.size * b.targets;
	b.key[0] = cuda_printf(t, "key%d_0", o->out);
	b.key[1] = cuda_printf(t, "key%d_1", o->out);
	b.row = cuda_printf(t, "row%d_", o->out);
	b.sum = cuda_printf(t, "sum%d_", o->out);
	b.position = bits(b.source.size - 1);
	while (b.chunk > CHUNK_LEAST && b.source.size / b.chunk * b.kept.size < CUDA_THREADS)
		b.chunk /= 2;
	return b;
}

/* Writes a function of the position of a source row: the number of its target row. */
static void
declare_target(struct cuda_text *t, const struct by_number *b)
{
	const char *type = cuda_index_type(b->source.size);

	cuda_block(t, "const auto target = [&](%s source) -> uint64_t", type);
	cuda_unflatten(t, &b->source, "source");
	const char *test = kernel_positions(&t->w, b->o, &b->o->f.out);
	char *number = NULL;
	for (int i = 0; i < b->batch.n; i++)
		number = number ? cuda_printf(t, "(%s * %" PRId64 " + i%d)", number,
					  t->g->size[b->batch.cls[i]], b->batch.cls[i])
				: cuda_printf(t, "i%d", b->batch.cls[i]);
	const char *within = target_text(t, b->o);
	if (number)
		within = cuda_printf(t, "%s * %" PRId64 " + %s", number, b->targets, within);
	kernel_line(&t->w, "return (uint64_t)(%s ? %s : INT64_C(%" PRId64 "));",
		test ? test : "true", within, b->rows);
	t->w.indent--;
	kernel_line(&t->w, "};");
}

/* Sorts the keys of each tile. */
static void
write_keys(struct cuda_text *t, const struct by_number *b, int64_t tile)
{
	const int64_t n = b->source.size;
	const int threads = tile / 2 < CUDA_BLOCK ? (int)tile / 2 : CUDA_BLOCK;

	cuda_open(t);
	kernel_line(&t->w, "__shared__ uint64_t key[%" PRId64 "];", tile);
	declare_target(t, b);
	cuda_block(t,
		"for (int64_t from = (int64_t)blockIdx.x * %" PRId64 "; from < %" PRId64
		"; from += (int64_t)gridDim.x * %" PRId64 ")",
		tile, n, tile);
	cuda_block(t, "for (int64_t i = threadIdx.x; i < %" PRId64 "; i += %d)", tile, threads);
	kernel_line(&t->w,
		"key[i] = from + i < %" PRId64
		" ? target(from + i) << %d | (uint64_t)(from + i) : ~(uint64_t)0;",
		n, b->position);
	cuda_end(t);
	kernel_line(&t->w, "scatter_sort<%d, %" PRId64 ">(key);", threads, tile);
	cuda_block(t,
		"for (int64_t i = threadIdx.x; i < %" PRId64 " && from + i < %" PRId64 "; i += %d)",
		tile, n, threads);
	kernel_line(&t->w, "%s[from + i] = key[i];", b->key[0]);
	cuda_end(t);
	kernel_line(&t->w, "__syncthreads();");
	cuda_end(t);
	cuda_close(t, threads, blocks(n, (int)tile));
}

/* Sorts the keys of all source rows; returns the name of the buffer that has them. */
static const char *
write_sort(struct cuda_text *t, const struct by_number *b)
{
	const int64_t n = b->source.size;
	int64_t tile = SORT_LEAST;
	int buffer = 0;

	while (tile < n && tile < SORT_TILE)
		tile *= 2;
	cuda_scratch(t, "uint64_t", b->key[0], n * 8);
	if (tile < n)
		cuda_scratch(t, "uint64_t", b->key[1], n * 8);
	write_keys(t, b, tile);
	for (int64_t width = tile; width < n; width *= 2, buffer = !buffer) {
		cuda_open(t);
		kernel_line(&t->w, "scatter_merge<%d>(%s, %s, %" PRId64 ", %" PRId64 ");",
			CUDA_BLOCK, b->key[buffer], b->key[!buffer], n, width);
		cuda_close(t, CUDA_BLOCK, blocks(n, CUDA_BLOCK));
	}
	return b->key[buffer];
}

/* Functions of an entry of the first launch: its target row, and the value to add. */
static void
declare_sources(struct cuda_text *t, const struct by_number *b, const char *key)
{
	const char *type = cuda_index_type(b->source.size);

	kernel_line(&t->w,
		"const auto row = [&](int64_t e) -> int64_t { return (int64_t)(%s[e] >> %d); };",
		key, b->position);
	cuda_block(t, "const auto value = [&](int64_t e) -> %s", cuda_type(b->o));
	kernel_line(&t->w, "const %s source = (%s)(%s[e] & UINT64_C(%" PRIu64 "));", type, type,
		key, (UINT64_C(1) << b->position) - 1);
	cuda_unflatten(t, &b->source, "source");
	kernel_line(&t->w, "return %s;", kernel_value(&t->w, b->o));
	t->w.indent--;
	kernel_line(&t->w, "};");
}

/* The same for a later launch: its entries are the sums of the previous one. */
static void
declare_sums(struct cuda_text *t, const struct by_number *b, int level)
{
	kernel_line(&t->w, "const auto row = [&](int64_t e) -> int64_t { return %s%d[e]; };",
		b->row, level);
	kernel_line(&t->w,
		"const auto value = [&](int64_t e) -> %s { return %s%d[e * %" PRId64 " + q]; };",
		cuda_type(b->o), b->sum, level, b->kept.size);
}

/* How sums are added, and where they are stored: in the result, and in the entries of launch
 * `level` + 1. */
static void
declare_ends(struct cuda_text *t, const struct by_number *b, int level, bool last)
{
	const char *type = cuda_type(b->o);

	kernel_line(&t->w, "const auto add = [](%s a, %s b) -> %s { return %s; };", type, type,
		type, kernel_combined(&t->w, b->o, "a", "b", false));
	cuda_block(t, "const auto store = [&](int64_t to, %s sum)", type);
	cuda_block(t, "if (to < %" PRId64 ")", b->rows);
	cuda_unflatten(t, &b->batch, cuda_printf(t, "to / %" PRId64, b->targets));
	declare_indices(t, b->o, "to");
	kernel_line(&t->w, "%s = %s;", kernel_element(&t->w, b->o, -1),
		kernel_stored(&t->w, (enum ir_dtype)b->o->f.dtype, "sum"));
	cuda_end(t);
	t->w.indent--;
	kernel_line(&t->w, "};");
	cuda_block(t, "const auto keep = [&](int64_t slot, int64_t to, %s sum)", type);
	if (last) {
		kernel_line(&t->w, "(void)slot, (void)to, (void)sum;");
	} else {
		kernel_line(&t->w, "if (q == 0)");
		kernel_line(&t->w, "\t%s%d[slot] = to;", b->row, level + 1);
		kernel_line(&t->w, "%s%d[slot * %" PRId64 " + q] = sum;", b->sum, level + 1,
			b->kept.size);
	}
	t->w.indent--;
	kernel_line(&t->w, "};");
}

/* A launch over n entries: the sorted sources, or the sums of the previous launch. */
static void
write_sums(struct cuda_text *t, const struct by_number *b, int64_t n, int level, const char *key)
{
	const int64_t chunks = blocks(n, b->chunk), threads = chunks * b->kept.size;
	const bool last = chunks == 1;

	if (!last) {
		cuda_scratch(
			t, "int64_t", cuda_printf(t, "%s%d", b->row, level + 1), 2 * chunks * 8);
		cuda_scratch(t, cuda_type(b->o), cuda_printf(t, "%s%d", b->sum, level + 1),
			2 * chunks * b->kept.size *
				(ir_dtype_bytes((enum ir_dtype)b->o->f.dtype) > 4 ? 8 : 4));
	}
	cuda_open(t);
	cuda_open_threads(t, threads);
	kernel_line(&t->w, "const int64_t chunk = at / %" PRId64 ", q = at %% %" PRId64 ";",
		b->kept.size, b->kept.size);
	cuda_unflatten(t, &b->kept, "q");
	if (level)
		declare_sums(t, b, level);
	else
		declare_sources(t, b, key);
	declare_ends(t, b, level, last);
	kernel_line(&t->w,
		"scatter_chunk<%d, %s>(chunk, %" PRId64 ", (%s)%s, row, value, add, store, keep);",
		b->chunk, last ? "true" : "false", n, cuda_type(b->o),
		kernel_identity(&t->w, b->o));
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(threads, CUDA_BLOCK));
}

static void
write_by_number(struct cuda_text *t, const struct by_number *b)
{
	const char *key = write_sort(t, b);
	int64_t n = b->source.size;

	for (int level = 0;; level++) {
		write_sums(t, b, n, level, key);
		if (n <= b->chunk)
			break;
		n = 2 * blocks(n, b->chunk);
	}
}

/* Are rows sorted? If not, each thread finds the sources of its elements. */
static bool
is_by_number(const struct by_number *b)
{
	const int64_t sum = b->source.size / b->batch.size;

	if (b->position + bits(b->rows) > KEY_BITS)
		return false;
	return b->batch.n == 0 || (sum > WALK_MOST && b->batch.size * b->kept.size < CUDA_THREADS);
}

/* Fills the whole result with the identity of the reduction. */
static void
write_fill(struct cuda_text *t, const struct scheme_op *o)
{
	const int64_t n = scheme_elements(&t->s->tensor[o->out]);

	cuda_open(t);
	cuda_open_threads(t, n);
	kernel_line(&t->w, "%s[at] = %s;", kernel_memory(&t->w, o->out),
		kernel_stored(&t->w, (enum ir_dtype)o->f.dtype, kernel_identity(&t->w, o)));
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, blocks(n, CUDA_BLOCK));
}

/* Fills the result. */
static void
write_start(struct cuda_text *t, const struct scheme_op *o)
{
	const struct scheme_tensor *result = &t->s->tensor[o->out];
	const int64_t bytes = scheme_elements(result) * (int64_t)ir_dtype_bytes(result->dtype);

	if (o->f.reduce == REDUCE_NONE || o->f.reduce == REDUCE_SUM)
		fprintf(t->host, "\trt_cuda_zero(ctx, %s, %" PRId64 ");\n",
			cuda_host_pointer(t, o->out), bytes);
	else
		write_fill(t, o);
}

void
cuda_scatter(struct cuda_text *t)
{
	const struct scheme_op *o = &t->s->op[t->g->op[0]];
	const struct by_number b = by_number(t, o, place_classes(t, o));
	const bool walks = o->red_set && !is_by_number(&b);
	const bool wide = walks && t->s->tensor[o->out].wide >= 0;

	if (wide) {
		fprintf(t->host, "\trt_cuda_zero(ctx, %s, %" PRId64 ");\n", cuda_open_wide(t, o, 1),
			scheme_elements(&t->s->tensor[o->out]) * (int64_t)sizeof(float));
		t->w.wide_sums = true;
	} else {
		write_start(t, o);
	}
	if (!o->red_set)
		write_own(t, o);
	else if (walks)
		write_walk(t, o);
	else
		write_by_number(t, &b);
	t->w.wide_sums = false;
	if (wide)
		cuda_close_wide(t, o, 1);
}
