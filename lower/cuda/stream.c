/*
 * Kernels of several products (ir/loops/stream.h): a block of threads for each tile of rows of the
 * results, which goes over all tiles of columns:
 *
 *     attention       for tiles of columns    s = q k                              wide
 *                         run_m = max(run_m, max(columns) s)                       level 0
 *                         e = exp(s - m),  run_l = c run_l + sum(columns) e        level 1
 *                         o = c o + (e / l) v                                      narrow
 *                     o = o / run_l
 *
 * What reads a fold while it is still running reads a reference instead, `now`: of a maximum the
 * maximum so far, of a sum 1. When a reference changes, what was summed up with the old one is
 * multiplied by the ratio of new and old summands, c: for exp(s - m) that is exp(old m - new m).
 * It is read off the expressions (stream_plan.c), and is the same for all columns, or else the
 * sum is made in another pass over all columns, once the fold is complete.
 *
 * A fold is written before it is read within a tile: its level is above those of the maxima that it
 * reads. Elementwise values are computed by each level that needs them. The rows that a thread has,
 * and the values of a row, are in its registers; all lanes that share a row have the same ones.
 */
#include "lower/cuda/stream.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

static const struct stream_unit by_fma = {"tile_fma", 256, false, 0},
				by_halves = {"tile_tensor", 128, true, 4},
				by_tf32 = {"tile_tf32", 128, true, 1};

/* The loop over the rows of a thread: their index, that of the last row where there is none, and
 * the values of rows. */
static void
open_rows(const struct stream *m)
{
	struct cuda_text *t = m->t;
	const int64_t n = stream_size(m, m->x->rows);

	kernel_line(&t->w, "#pragma unroll");
	cuda_block(t, "for (int y = 0; y < tile::Y; y++)");
	kernel_line(&t->w, "const bool row_in = tile::row(y) < rows;");
	kernel_line(&t->w, "const int64_t i%d = row_in ? row0 + tile::row(y) : %" PRId64 ";",
		m->x->rows, n - 1);
}

static void
load_rows(const struct stream *m, const bool *need)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if (need[i] && stream_is_row(m, i))
			kernel_line(&m->t->w, "const %s v%d = now%d[y];",
				cuda_type(stream_at(m, i)), stream_at(m, i)->out,
				stream_at(m, i)->out);
}

/* The wide values of a row and a column that are needed. */
static void
write_values(const struct stream *m, const bool *need)
{
	struct cuda_text *t = m->t;

	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		if (!need[i])
			continue;
		if (m->x->op[i].kind == STREAM_TILE_OF) {
			kernel_line(&t->w, "float v%d = tile%d[y][x];", o->out, o->out);
			kernel_settle(&t->w, o);
		} else if (m->x->op[i].kind == STREAM_WIDE) {
			const char *value = kernel_value(&t->w, o);
			kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
		}
	}
}

/* The loops over the elements of a thread, with their values. Those of a column, which are in
 * memory, are used by all rows before those of the next one. */
void
stream_open_elements(const struct stream *m, const bool *need)
{
	struct cuda_text *t = m->t;
	const int columns = m->x->columns;

	kernel_line(&t->w, "#pragma unroll");
	cuda_block(t, "for (int x = 0; x < tile::X; x++)");
	kernel_line(&t->w, "const bool column_in = tile::column(x) < columns;");
	kernel_line(&t->w,
		"const int64_t i%d = column_in ? column0 + tile::column(x) : %" PRId64 ";", columns,
		stream_size(m, columns) - 1);
	open_rows(m);
	kernel_line(&t->w, "const bool in = row_in && column_in;");
	load_rows(m, need);
	write_values(m, need);
}

/* Parts of 64 columns of what a thread sums up for end i. */
static int64_t
parts_of(const struct stream *m, int i)
{
	return m->x->op[i].kind == STREAM_SUM ? 1 : stream_chunks(m, i);
}

static void
declare(const struct stream *m)
{
	struct cuda_text *t = m->t;

	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		switch (m->x->op[i].kind) {
		case STREAM_FOLD:
			kernel_line(&t->w, "float run%d[tile::Y], now%d[tile::Y];", o->out, o->out);
			break;
		case STREAM_NARROW:
			kernel_line(&t->w, "%s now%d[tile::Y];", cuda_type(o), o->out);
			break;
		case STREAM_PRODUCT:
		case STREAM_SUM:
			kernel_line(&t->w, "float sum%d[%" PRId64 "][tile::Y][tile::X] = {};",
				o->out, parts_of(m, i));
			break;
		default: break;
		}
	}
}

static void
begin(const struct stream *m)
{
	struct cuda_text *t = m->t;

	declare(m);
	open_rows(m);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		if (m->x->op[i].kind == STREAM_FOLD) {
			kernel_line(&t->w, "run%d[y] = %s;", o->out, kernel_identity(&t->w, o));
			kernel_line(&t->w, "const float v%d = %s;", o->out,
				stream_is_running(o) ? "0.0f" : "1.0f");
			kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
		} else if (m->x->op[i].kind == STREAM_NARROW) {
			const char *value = kernel_value(&t->w, o);
			kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
			kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
		}
	}
	cuda_end(t);
}

static void
declare_part(const struct stream *m, const struct scheme_op *o)
{
	struct kernel_text *w = &m->t->w;

	kernel_line(w, "float part%d[tile::Y];", o->out);
	kernel_line(w, "#pragma unroll");
	kernel_line(w, "for (int y = 0; y < tile::Y; y++)");
	kernel_line(w, "\tpart%d[y] = %s;", o->out, kernel_identity(w, o));
}

/* Element by element: what the ends of a level sum up. */
static void
write_elements(const struct stream *m, int pass, int level)
{
	struct cuda_text *t = m->t;
	bool *need = cuda_need_none(t);

	stream_mark_pass(m, need, pass, level, (struct stream_mask){.op = -1});
	for (int i = 0; i < t->s->nops; i++) {
		if (!stream_in_pass(m, i, pass, level))
			continue;
		if (m->x->op[i].kind == STREAM_FOLD)
			declare_part(m, stream_at(m, i));
		else if (m->x->op[i].kind == STREAM_PRODUCT)
			kernel_line(&t->w, "float put%d[tile::Y][tile::X];", stream_at(m, i)->out);
	}
	stream_open_elements(m, need);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		if (!stream_in_pass(m, i, pass, level))
			continue;
		if (m->x->op[i].kind == STREAM_PRODUCT) {
			const char *value = kernel_load(&t->w, o, m->x->op[i].of_rows);
			kernel_line(&t->w, "put%d[y][x] = in ? %s : 0.0f;", o->out, value);
			continue;
		}
		const char *value = kernel_value(&t->w, o);
		const char *old = m->x->op[i].kind == STREAM_SUM
					  ? cuda_printf(t, "sum%d[0][y][x]", o->out)
					  : cuda_printf(t, "part%d[y]", o->out);
		kernel_line(&t->w, "%s = in ? %s : %s;", old,
			kernel_combined(&t->w, o, old, cuda_printf(t, "(%s)", value), false), old);
	}
	cuda_end(t);
	cuda_end(t);
}

/* Adds what a level has found in the current tile to its ends. */
static void
write_ends(const struct stream *m, int pass, int level, bool masked)
{
	static const char *const name[] = {
		[REDUCE_SUM] = "sum", [REDUCE_MAX] = "max", [REDUCE_MIN] = "min"};
	struct cuda_text *t = m->t;

	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		if (!stream_in_pass(m, i, pass, level))
			continue;
		if (m->x->op[i].kind == STREAM_FOLD) {
			const char *run = cuda_printf(t, "run%d[y]", o->out),
				   *all = cuda_printf(t, "tile_%s<tile::LANES>(part%d[y])",
					   name[o->f.reduce], o->out);
			kernel_line(&t->w, "#pragma unroll");
			kernel_line(&t->w, "for (int y = 0; y < tile::Y; y++)");
			kernel_line(&t->w, "\t%s = %s;", run,
				kernel_combined(&t->w, o, run, all, false));
		} else if (m->x->op[i].kind == STREAM_PRODUCT) {
			stream_write_product(m, i, masked);
		}
	}
}

static char *
scaled(const struct stream *m, const char *sum, const char *by, bool final)
{
	return cuda_printf(
		m->t, final ? "%s = %s * %s;" : "%s = dev_scaled(%s, %s);", sum, sum, by);
}

/*
 * Multiplies what end i has summed up by the change of its summands. In the end 0 times infinity is
 * NaN, as for a row of which a mask of -inf leaves nothing; before that an empty sum is 0.
 */
static void
write_scaled(const struct stream *m, int i, uint32_t changing, bool final)
{
	struct cuda_text *t = m->t;
	const int out = stream_at(m, i)->out;
	const char *by = stream_scale(m, i, changing);

	if (m->x->op[i].kind == STREAM_FOLD) {
		const char *sum = cuda_printf(t, "run%d[y]", out);
		kernel_line(&t->w, "%s", scaled(m, sum, cuda_printf(t, "(%s)", by), final));
		return;
	}
	cuda_block(t, "%s", "");
	kernel_line(&t->w, "const float by = %s;", by);
	kernel_line(&t->w, "#pragma unroll");
	kernel_line(&t->w, "for (int c = 0; c < %" PRId64 "; c++)", parts_of(m, i));
	kernel_line(&t->w, "#pragma unroll");
	kernel_line(&t->w, "\tfor (int x = 0; x < tile::X; x++)");
	kernel_line(&t->w, "\t\t%s", scaled(m, cuda_printf(t, "sum%d[c][y][x]", out), "by", final));
	cuda_end(t);
}

/* The reference of a fold: what it is so far, or what it is. */
static void
write_reference(const struct stream *m, int i, bool final)
{
	struct cuda_text *t = m->t;
	const struct scheme_op *o = stream_at(m, i);

	kernel_line(&t->w, "const float o%d = now%d[y];", o->out, o->out);
	if (final) {
		kernel_line(&t->w, "float v%d = run%d[y];", o->out, o->out);
		kernel_settle(&t->w, o);
	} else {
		kernel_line(&t->w, "const float v%d = run%d[y] == %s ? o%d : run%d[y];", o->out,
			o->out, kernel_identity(&t->w, o), o->out, o->out);
	}
	kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
}

/* The folds whose references change after a level of a pass. */
static uint32_t
changed_by(const struct stream *m, int pass, int level)
{
	uint32_t set = 0;

	for (int i = 0; i < m->t->s->nops; i++)
		if (stream_in_pass(m, i, pass, level) && m->x->op[i].kind == STREAM_FOLD &&
			(level == STREAM_FINAL || stream_is_running(stream_at(m, i))))
			set |= 1u << m->plan[i].end;
	return set;
}

/* Does an end of the pass depend on a fold of the same pass? */
static bool
is_followed(const struct stream *m, int pass, uint32_t folds)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if (stream_in_pass(m, i, pass, STREAM_FINAL) && m->plan[i].of & folds)
			return true;
	return false;
}

/* References change, and with them row values and sums. */
static void
write_change(const struct stream *m, int pass, int level)
{
	struct cuda_text *t = m->t;
	const uint32_t changing = changed_by(m, pass, level);

	if (!changing || (level != STREAM_FINAL && !is_followed(m, pass, changing)))
		return;
	open_rows(m);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		const struct stream_plan *p = &m->plan[i];
		if (stream_in_pass(m, i, pass, STREAM_FINAL) && p->of & changing)
			write_scaled(m, i, changing, level == STREAM_FINAL);
		if (m->x->op[i].kind == STREAM_FOLD) {
			if (changing >> p->end & 1)
				write_reference(m, i, level == STREAM_FINAL);
			else
				kernel_line(&t->w, "const float v%d = now%d[y];", o->out, o->out);
		} else if (m->x->op[i].kind == STREAM_NARROW && !(p->of & changing)) {
			kernel_line(
				&t->w, "const %s v%d = now%d[y];", cuda_type(o), o->out, o->out);
		} else if (m->x->op[i].kind == STREAM_NARROW) {
			const char *value = kernel_value(&t->w, o);
			kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
			kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
		}
	}
	cuda_end(t);
}

/* How much of a tile there is of the class. */
static void
declare_extent(const struct stream *m, const char *name, const char *start, int cls)
{
	const int64_t n = stream_size(m, cls);

	kernel_line(&m->t->w,
		"const int %s = %s + %d < %" PRId64 " ? %d : (int)(%" PRId64 " - %s);", name, start,
		STREAM_TILE, n, STREAM_TILE, n, start);
}

/* Are all products of a type of that size? */
static bool
is_all(const struct stream *m, uint32_t bytes)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if ((m->x->op[i].kind == STREAM_TILE_OF || m->x->op[i].kind == STREAM_PRODUCT) &&
			ir_dtype_bytes((enum ir_dtype)stream_at(m, i)->f.dtype) != bytes)
			return false;
	return true;
}

/* The type of the first row or column of a tile. Tiles by multiplications keep values in almost all of
 * 128 registers: with 64 bits ptxas has 3 to 6 in memory, and with 32 bits 4 of tiles of tensor cores in
 * 16 bits, which have none with 64. The next tile may begin beyond the last. */
static const char *
start_type(const struct stream *m, int cls)
{
	const bool narrow = stream_size(m, cls) <= INT32_MAX - STREAM_TILE;

	return narrow && !is_all(m, sizeof(uint16_t)) ? "int" : "int64_t";
}

static void
write_pass(const struct stream *m, int pass)
{
	struct cuda_text *t = m->t;

	for (int k = 0; k < m->x->nover; k++)
		kernel_open_loop(&t->w, t->g, m->x->over[k]);
	if (!m->x->sums) {
		cuda_block(t, "for (%s column0 = 0; column0 < %" PRId64 "; column0 += %d)",
			start_type(m, m->x->columns), stream_size(m, m->x->columns), STREAM_TILE);
		declare_extent(m, "columns", "column0", m->x->columns);
	}
	const bool masked = stream_write_tiles(m, pass);
	for (int level = 0; level < m->nlevels[pass]; level++) {
		write_elements(m, pass, level);
		write_ends(m, pass, level, masked);
		write_change(m, pass, level);
	}
	for (int k = 0; k < m->x->nover + !m->x->sums; k++)
		cuda_end(t);
	write_change(m, pass, STREAM_FINAL);
}

static void
write_results(const struct stream *m)
{
	struct cuda_text *t = m->t;
	bool *need = cuda_need_none(t), any = false;

	for (int i = 0; i < t->s->nops; i++) {
		need[i] = stream_is_row(m, i) && t->s->tensor[stream_at(m, i)->out].result >= 0;
		any |= need[i];
	}
	open_rows(m);
	load_rows(m, need);
	if (any)
		cuda_block(t, "if (row_in && tile::column(0) == 0)");
	for (int i = 0; i < t->s->nops; i++)
		if (need[i])
			kernel_store(&t->w, stream_at(m, i));
	if (any)
		cuda_end(t);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		const bool sums = m->x->op[i].kind == STREAM_SUM;
		const int inner = sums ? m->x->columns : m->x->op[i].inner;
		if (!sums && m->x->op[i].kind != STREAM_PRODUCT)
			continue;
		kernel_line(&t->w, "#pragma unroll");
		cuda_block(t, "for (int at = 0; at < %" PRId64 " * tile::X; at++)", parts_of(m, i));
		kernel_line(&t->w,
			"const int64_t i%d = %sat / tile::X * %d + tile::column(at %% tile::X);",
			inner, sums ? "column0 + " : "", STREAM_TILE);
		kernel_line(&t->w, "float v%d = sum%d[at / tile::X][y][at %% tile::X];", o->out,
			o->out);
		kernel_settle(&t->w, o);
		cuda_block(t, "if (row_in && i%d < %" PRId64 ")", inner, stream_size(m, inner));
		kernel_store(&t->w, o);
		cuda_end(t);
		cuda_end(t);
	}
	cuda_end(t);
}

static int64_t
tiles_of(const struct stream *m, int cls)
{
	return cuda_divide_up(stream_size(m, cls), STREAM_TILE);
}

/* The blocks of the kernel. */
static int64_t
units_of(const struct stream *m)
{
	int64_t units = tiles_of(m, m->x->rows) * (m->x->sums ? tiles_of(m, m->x->columns) : 1);

	for (int k = 0; k < m->x->nouter; k++)
		units *= stream_size(m, m->x->outer[k]);
	return units;
}

/* The indices of the results that a block computes. */
static void
unflatten(const struct stream *m)
{
	struct cuda_text *t = m->t;
	int64_t below = tiles_of(m, m->x->rows);

	const char *type = start_type(m, m->x->rows);
	kernel_line(&t->w, "const %s row0 = (%s)(unit %% %" PRId64 ") * %d;", type, type, below,
		STREAM_TILE);
	declare_extent(m, "rows", "row0", m->x->rows);
	if (m->x->sums) {
		const int64_t n = tiles_of(m, m->x->columns);
		type = start_type(m, m->x->columns);
		kernel_line(&t->w,
			"const %s column0 = (%s)(unit / %" PRId64 " %% %" PRId64 ") * %d;", type,
			type, below, n, STREAM_TILE);
		declare_extent(m, "columns", "column0", m->x->columns);
		below *= n;
	}
	for (int k = m->x->nouter - 1; k >= 0; k--) {
		const int cls = m->x->outer[k];
		kernel_line(&t->w, "const int64_t i%d = unit / %" PRId64 " %% %" PRId64 ";", cls,
			below, stream_size(m, cls));
		below *= stream_size(m, cls);
	}
}

static void
write_kernel(struct stream *m, const struct stream_unit *unit)
{
	struct cuda_text *t = m->t;
	const int64_t units = units_of(m);

	m->unit = unit;
	m->kept = stream_can_keep(m);
	cuda_open(t);
	kernel_line(&t->w, "typedef %s tile;", unit->name);
	stream_declare_shared(m);
	cuda_block(t, "for (%s unit = blockIdx.x; unit < %" PRId64 "; unit += gridDim.x)",
		cuda_index_type(units + CUDA_GRID), units);
	unflatten(m);
	if (m->kept)
		stream_write_kept(m);
	begin(m);
	for (int pass = 0; pass < m->npasses; pass++)
		write_pass(m, pass);
	write_results(m);
	cuda_end(t);
	cuda_close(t, unit->threads, units);
}

/* Products of f32 are TF32 if the user of the program says so: there are two kernels, of which one
 * is launched. */
void
cuda_stream(struct cuda_text *t)
{
	struct stream m = {.t = t, .x = t->g->stream};

	stream_make_plan(&m);
	if (!is_all(&m, sizeof(float))) {
		write_kernel(&m, is_all(&m, sizeof(uint16_t)) ? &by_halves : &by_fma);
		return;
	}
	fprintf(t->host, "\tif (rt_cuda_tf32(ctx))\n\t");
	write_kernel(&m, &by_tf32);
	fprintf(t->host, "\telse\n\t");
	write_kernel(&m, &by_fma);
}
