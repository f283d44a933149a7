/*
 * Kernels of several products (ir/loops/stream.h): a block of threads for each tile of rows of the
 * results, which goes over all tiles of columns:
 *
 *     attention       for tiles of columns    s = q k                              tile_wide
 *                         run_m = max(run_m, max(columns) s)                       level 0
 *                         e = exp(s - m),  run_l = c run_l + sum(columns) e        level 1
 *                         o = c o + (e / l) v                                      tile_narrow
 *                     o = o / run_l
 *
 * What reads a fold while it is still running reads a reference instead, `now`: of a maximum the
 * maximum so far, of a sum 1. When a reference changes, what was summed up with the old one is
 * multiplied by the ratio of new and old summands, c: for exp(s - m) that is exp(old m - new m).
 * It is read off the expressions (`scales`, `adds`), and is the same for all columns, or else the
 * sum is made in another pass over all columns, once the fold is complete.
 *
 * A fold is written before it is read within a tile: its level is above those of the maxima that it
 * reads. Elementwise values are computed by each level that needs them. The rows that a thread has,
 * and the values of a row, are in its registers; all lanes that share a row have the same ones.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"
#include "ir/loops/stream.h"

#include <inttypes.h>
#include <string.h>

enum { FINAL = -1 }; /* instead of a level: at the end of a pass */

/* What multiplies tiles (runtime/cuda/tile.h). */
struct unit {
	const char *name;
	int threads;
	bool cores;
	/* Blocks of 64 x 64 elements of operands of rows that can stay in shared memory: with one
	 * that is streamed they fit 48 KB, which need no opt-in. */
	int64_t kept;
};

static const struct unit by_fma = {"tile_fma", 256, false, 0},
			 by_halves = {"tile_tensor", 128, true, 4},
			 by_tf32 = {"tile_tf32", 128, true, 1};

/* What is decided of an op. */
struct plan {
	uint32_t of;     /* ends that its value depends on */
	int end;         /* number of an end; -1 */
	int pass, level; /* of an end */
};

struct stream {
	struct cuda_text *t;
	const struct scheme_stream *x;
	struct plan *plan; /* by op */
	const struct unit *unit;
	bool kept; /* the operands of rows stay in shared memory */
	int nends, npasses;
	int nlevels[STREAM_MAX_ENDS]; /* by pass */
};

static const struct scheme_op *
op_of(const struct stream *m, int i)
{
	return &m->t->s->op[i];
}

/* The op that makes what load j of op i reads; -1: an operand of the kernel. */
static int
maker_of(const struct stream *m, int i, int j)
{
	const struct scheme_op *o = op_of(m, i);

	return scheme_reads(o) >> j & 1 ? m->t->s->tensor[o->in[j]].op : -1;
}

static bool
is_end(const struct stream *m, int i)
{
	return m->x->op[i].kind == STREAM_FOLD || m->x->op[i].kind == STREAM_PRODUCT;
}

static bool
is_row_value(const struct stream *m, int i)
{
	return m->x->op[i].kind == STREAM_FOLD || m->x->op[i].kind == STREAM_NARROW;
}

/* The ends that a reader of op i depends on. */
static uint32_t
bits_of(const struct stream *m, int i)
{
	return m->plan[i].end >= 0 ? 1u << m->plan[i].end : m->plan[i].of;
}

static bool
is_running(const struct scheme_op *o)
{
	return o->f.reduce == REDUCE_MAX || o->f.reduce == REDUCE_MIN;
}

/* --- what changes with a reference ----------------------------------------------------------- */

/* Both: NULL: not of that form; "": no change. */
static char *adds(const struct stream *m, int i, const struct expr *e, uint32_t changing);
static char *scales(const struct stream *m, int i, const struct expr *e, uint32_t changing);

/* The change of load j: v<t> and o<t> are the new and the old reference. */
static char *
load_change(const struct stream *m, int i, int j, uint32_t changing, bool add)
{
	const int maker = maker_of(m, i, j), tensor = op_of(m, i)->in[j];

	if (maker < 0 || !(bits_of(m, maker) & changing))
		return cuda_printf(m->t, "%s", "");
	if (is_row_value(m, maker))
		return add ? cuda_printf(m->t, "tile_minus(v%d, o%d)", tensor, tensor)
			   : cuda_printf(m->t, "(v%d / o%d)", tensor, tensor);
	const struct expr *body = op_of(m, maker)->f.body;
	return add ? adds(m, maker, body, changing) : scales(m, maker, body, changing);
}

/* a `sign` b, where an empty text is 0 or 1. */
static char *
joined(const struct stream *m, char *a, const char *sign, char *b)
{
	if (!a || !b || !*b)
		return a && b ? a : NULL;
	if (*sign == '+' || *sign == '*')
		return *a ? cuda_printf(m->t, "(%s %s %s)", a, sign, b) : b;
	return cuda_printf(m->t, "(%s %s %s)", *a ? a : *sign == '-' ? "0.0f" : "1.0f", sign, b);
}

static bool
is_unchanged(const char *text)
{
	return text && !*text;
}

static bool
converts_float(const struct expr *e)
{
	return ir_dtype_class((enum ir_dtype)e->dtype) == IR_FLOAT &&
	       ir_dtype_class((enum ir_dtype)e->arg[0]->dtype) == IR_FLOAT;
}

static char *
adds(const struct stream *m, int i, const struct expr *e, uint32_t changing)
{
	char *x[3] = {NULL, NULL, NULL};
	bool none = true;

	if (e->kind == EXPR_LOAD)
		return load_change(m, i, e->id, changing, true);
	for (int k = 0; k < e->nargs; k++) {
		x[k] = adds(m, i, e->arg[k], changing);
		none = none && is_unchanged(x[k]);
	}
	if (e->kind != EXPR_CALL || none)
		return cuda_printf(m->t, "%s", "");
	switch ((enum scalar_fn)e->id) {
	case FN_add: return joined(m, x[0], "+", x[1]);
	case FN_sub: return joined(m, x[0], "-", x[1]);
	case FN_neg: return joined(m, cuda_printf(m->t, "%s", ""), "-", x[0]);
	case FN_stop: return x[0];
	case FN_convert: return converts_float(e) ? x[0] : NULL;
	default: return NULL;
	}
}

static char *
scales(const struct stream *m, int i, const struct expr *e, uint32_t changing)
{
	char *x[3] = {NULL, NULL, NULL}, *sum;
	bool none = true;

	if (e->kind == EXPR_LOAD)
		return load_change(m, i, e->id, changing, false);
	for (int k = 0; k < e->nargs; k++) {
		x[k] = scales(m, i, e->arg[k], changing);
		none = none && is_unchanged(x[k]);
	}
	if (e->kind != EXPR_CALL || none)
		return cuda_printf(m->t, "%s", "");
	switch ((enum scalar_fn)e->id) {
	case FN_mul: return joined(m, x[0], "*", x[1]);
	case FN_div: return joined(m, x[0], "/", x[1]);
	case FN_neg:
	case FN_stop: return x[0];
	case FN_convert: return converts_float(e) ? x[0] : NULL;
	case FN_exp:
	case FN_exp2:
		sum = adds(m, i, e->arg[0], changing);
		return sum ? cuda_printf(m->t, "M_%s(%s)", fn_name((enum scalar_fn)e->id), sum)
			   : NULL;
	case FN_select: /* what is left out contributes 0 before and after */
		if (!is_unchanged(x[0]))
			return NULL;
		return expr_is_const(e->arg[2], 0)   ? x[1]
		       : expr_is_const(e->arg[1], 0) ? x[2]
						     : NULL;
	default: return NULL;
	}
}

/* Is it finite and not 0 where the sums that it depends on are 1? */
static bool
is_safe(const struct expr *e)
{
	if (e->kind == EXPR_CONST)
		return e->value != 0;
	if (e->kind == EXPR_LOAD)
		return true;
	if (e->kind != EXPR_CALL || (e->id != FN_mul && e->id != FN_div && e->id != FN_stop &&
					    e->id != FN_convert && e->id != FN_neg))
		return false;
	for (int k = 0; k < e->nargs; k++)
		if (!is_safe(e->arg[k]))
			return false;
	return true;
}

/* Can end i be summed up while the ends of the set are still running? */
static bool
can_follow(const struct stream *m, int i, uint32_t running)
{
	const struct scheme_op *o = op_of(m, i);

	if (o->f.reduce != REDUCE_SUM || !scales(m, i, o->f.body, running))
		return false;
	for (int k = 0; k < m->t->s->nops; k++)
		if (m->x->op[k].kind == STREAM_NARROW && m->plan[k].of & m->plan[i].of & running &&
			!is_safe(op_of(m, k)->f.body))
			return false;
	return true;
}

/* The pass and the level of end i. */
static void
place(struct stream *m, int i)
{
	struct plan *p = &m->plan[i];
	uint32_t running = 0;

	for (int k = 0; k < i; k++)
		if (is_end(m, k) && p->of >> m->plan[k].end & 1 && m->plan[k].pass > p->pass)
			p->pass = m->plan[k].pass;
	for (int k = 0; k < i; k++)
		if (is_end(m, k) && p->of >> m->plan[k].end & 1 && m->plan[k].pass == p->pass)
			running |= 1u << m->plan[k].end;
	if (running && !can_follow(m, i, running)) {
		p->pass++;
		running = 0;
	}
	for (int k = 0; k < i; k++)
		if (is_end(m, k) && running >> m->plan[k].end & 1 && is_running(op_of(m, k)) &&
			m->plan[k].level >= p->level)
			p->level = m->plan[k].level + 1;
	m->npasses = p->pass >= m->npasses ? p->pass + 1 : m->npasses;
	if (p->level >= m->nlevels[p->pass])
		m->nlevels[p->pass] = p->level + 1;
}

static void
make_plan(struct stream *m)
{
	const struct scheme *s = m->t->s;

	m->plan = ZERO_ARRAY(m->t->w.scratch, struct plan, (size_t)s->nops + 1);
	for (int i = 0; i < s->nops; i++) {
		struct plan *p = &m->plan[i];
		p->end = -1;
		for (int j = 0; j < s->op[i].f.ninputs; j++) {
			const int maker = maker_of(m, i, j);
			p->of |= maker >= 0 ? bits_of(m, maker) : 0;
		}
		if (!is_end(m, i))
			continue;
		place(m, i);
		p->end = m->nends++;
	}
}

static bool
in_pass(const struct stream *m, int i, int pass, int level)
{
	return is_end(m, i) && m->plan[i].pass == pass &&
	       (level == FINAL || m->plan[i].level == level);
}

/* --- what a mask leaves out ------------------------------------------------------------------ */

/* A condition; products whose value is read only where it is `keeps` are made only for tiles where
 * it is somewhere. */
struct mask {
	int op; /* -1: none */
	bool keeps;
};

/* The loads of an expression that are read also where the mask leaves out. */
static uint32_t
loads_outside(const struct stream *m, int i, const struct expr *e, struct mask mask)
{
	uint32_t set = e->kind == EXPR_LOAD ? 1u << e->id : 0;
	const bool chooses = e->kind == EXPR_CALL && e->id == FN_select &&
			     e->arg[0]->kind == EXPR_LOAD &&
			     maker_of(m, i, e->arg[0]->id) == mask.op && mask.op >= 0;

	if (chooses)
		return loads_outside(m, i, e->arg[mask.keeps ? 2 : 1], mask);
	for (int k = 0; k < e->nargs; k++)
		set |= loads_outside(m, i, e->arg[k], mask);
	return set;
}

/* Marks what op i needs where the mask leaves out; with mask.op -1, what it needs. */
static void
mark_outside(const struct stream *m, bool *need, int i, struct mask mask)
{
	const struct form *f = &op_of(m, i)->f;
	uint32_t loads = loads_outside(m, i, f->body, mask);

	for (int k = 0; k < f->nindices; k++)
		loads |= f->at[k] ? scheme_loads(f->at[k]) : 0;
	for (int j = 0; j < f->ninputs; j++) {
		const int maker = loads >> j & 1 ? maker_of(m, i, j) : -1;
		if (maker < 0 || need[maker])
			continue;
		need[maker] = true;
		if (m->x->op[maker].kind == STREAM_WIDE)
			mark_outside(m, need, maker, mask);
	}
}

static void
mark_pass(const struct stream *m, bool *need, int pass, int level, struct mask mask)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if (in_pass(m, i, pass, level))
			mark_outside(m, need, i, mask);
}

/* Is a condition made of positions and values in memory, without random numbers, which would cost
 * as much as what it saves? */
static bool
is_cheap(const struct stream *m, int i)
{
	if (m->x->op[i].kind == STREAM_NARROW)
		return m->plan[i].of == 0;
	if (m->x->op[i].kind != STREAM_WIDE || !expr_is_cheap(op_of(m, i)->f.body))
		return false;
	for (int j = 0; j < op_of(m, i)->f.ninputs; j++)
		if (maker_of(m, i, j) >= 0 && !is_cheap(m, maker_of(m, i, j)))
			return false;
	return true;
}

/* A mask outside of which the ends of a pass need fewer products; `outside`: the ops that they need
 * there. */
static struct mask
find_mask(const struct stream *m, int pass, bool *outside)
{
	const int nops = m->t->s->nops;
	bool *all = cuda_need_none(m->t);
	struct mask mask = {.op = -1};

	mark_pass(m, all, pass, FINAL, mask);
	for (int i = 0; i < 2 * nops; i++) {
		const struct mask x = {i / 2, i % 2 == 0};
		bool leaves_out = false;
		if (op_of(m, x.op)->f.dtype != IR_bool || !all[x.op] ||
			m->x->op[x.op].kind != STREAM_WIDE || !is_cheap(m, x.op))
			continue;
		memset(outside, 0, (size_t)nops * sizeof *outside);
		mark_pass(m, outside, pass, FINAL, x);
		for (int k = 0; k < nops; k++)
			leaves_out |= m->x->op[k].kind == STREAM_TILE_OF && all[k] && !outside[k];
		if (leaves_out)
			return x;
	}
	memcpy(outside, all, (size_t)nops * sizeof *outside);
	return mask;
}

/* --- text ------------------------------------------------------------------------------------ */

static int64_t
size_of(const struct stream *m, int cls)
{
	return m->t->g->size[cls];
}

static int64_t
chunks_of(const struct stream *m, int i)
{
	return cuda_divide_up(size_of(m, m->x->op[i].inner), STREAM_TILE);
}

static const char *
reader_of(const struct scheme_op *o)
{
	return ir_dtype_name((enum ir_dtype)o->f.dtype);
}

/* Can 16 bytes of load j be read at a time along class `inner`? */
static bool
is_vector(const struct stream *m, const struct scheme_op *o, int j, int inner)
{
	const struct scheme_tensor *x = &m->t->s->tensor[o->in[j]];
	const int64_t group = CUDA_VECTOR / (int64_t)ir_dtype_bytes(x->dtype);
	bool whole = m->t->aligned && scheme_stride(m->t->s, o, j, inner) == 1 &&
		     size_of(m, inner) % group == 0;

	for (int d = 0; d < x->rank; d++) {
		const int index = o->f.in[j].index[d];
		if (index >= 0 && o->cls[index] >= 0 && o->cls[index] != inner)
			whole = whole && scheme_dim_stride(x, d) % group == 0;
	}
	return whole;
}

/* ", true": the argument of a template for load j; "" if there is none. */
static const char *
vector_text(const struct stream *m, const struct scheme_op *o, int j, int inner)
{
	return !m->unit->cores ? "" : is_vector(m, o, j, inner) ? ", true" : ", false";
}

/* Does what is streamed besides columns leave the operand of rows as it is? */
static bool
is_fixed(const struct stream *m, int i)
{
	for (int k = 0; k < m->x->nover; k++)
		if (scheme_stride(m->t->s, op_of(m, i), m->x->op[i].of_rows, m->x->over[k]))
			return false;
	return true;
}

/* Are all products of a type of that size? */
static bool
is_all(const struct stream *m, uint32_t bytes)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if ((m->x->op[i].kind == STREAM_TILE_OF || m->x->op[i].kind == STREAM_PRODUCT) &&
			ir_dtype_bytes((enum ir_dtype)op_of(m, i)->f.dtype) != bytes)
			return false;
	return true;
}

/* Can the operands of rows stay in shared memory? */
static bool
can_keep(const struct stream *m)
{
	int64_t kept = 0;

	for (int i = 0; i < m->t->s->nops; i++) {
		if (m->x->op[i].kind != STREAM_TILE_OF)
			continue;
		if (!is_fixed(m, i))
			return false;
		kept += chunks_of(m, i);
	}
	return kept <= m->unit->kept;
}

/* The loop over the rows of a thread: their index, that of the last row where there is none, and
 * the values of rows. */
static void
open_rows(const struct stream *m)
{
	struct cuda_text *t = m->t;
	const int64_t n = size_of(m, m->x->rows);

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
		if (need[i] && is_row_value(m, i))
			kernel_line(&m->t->w, "const %s v%d = now%d[y];", cuda_type(op_of(m, i)),
				op_of(m, i)->out, op_of(m, i)->out);
}

static void
declare(const struct stream *m)
{
	struct cuda_text *t = m->t;

	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		switch (m->x->op[i].kind) {
		case STREAM_FOLD:
			kernel_line(&t->w, "float run%d[tile::Y], now%d[tile::Y];", o->out, o->out);
			break;
		case STREAM_NARROW:
			kernel_line(&t->w, "%s now%d[tile::Y];", cuda_type(o), o->out);
			break;
		case STREAM_PRODUCT:
			kernel_line(&t->w, "float sum%d[%" PRId64 "][tile::Y][tile::X] = {};",
				o->out, chunks_of(m, i));
			break;
		default: break;
		}
	}
}

static void
declare_shared(const struct stream *m)
{
	struct cuda_text *t = m->t;

	kernel_line(&t->w, "alignas(16) __shared__ tile::shared room[%d * tile::ROOM];",
		m->kept ? 1 : 2);
	for (int i = 0; i < t->s->nops && m->kept; i++)
		if (m->x->op[i].kind == STREAM_TILE_OF)
			kernel_line(&t->w,
				"alignas(16) __shared__ tile::shared keep%d[%" PRId64
				" * tile::ROOM];",
				op_of(m, i)->out, chunks_of(m, i));
}

/* Reads the operands of rows that stay. */
static void
write_kept(const struct stream *m)
{
	struct cuda_text *t = m->t;

	kernel_line(&t->w, "__syncthreads();");
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		const struct stream_op *k = &m->x->op[i];
		if (k->kind != STREAM_TILE_OF)
			continue;
		cuda_block(t, "%s", "");
		kernel_line(&t->w, "const int64_t i%d = row0, i%d = 0;", m->x->rows, k->inner);
		kernel_line(&t->w,
			"tile::keep<%" PRId64 "%s>(keep%d, &%s, %" PRId64 ", %" PRId64 ", rows);",
			size_of(m, k->inner), vector_text(m, o, k->of_rows, k->inner), o->out,
			kernel_element(&t->w, o, k->of_rows),
			scheme_stride(t->s, o, k->of_rows, m->x->rows),
			scheme_stride(t->s, o, k->of_rows, k->inner));
		cuda_end(t);
	}
}

static void
begin(const struct stream *m)
{
	struct cuda_text *t = m->t;

	declare(m);
	open_rows(m);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		if (m->x->op[i].kind == STREAM_FOLD) {
			kernel_line(&t->w, "run%d[y] = %s;", o->out, kernel_identity(&t->w, o));
			kernel_line(&t->w, "const float v%d = %s;", o->out,
				is_running(o) ? "0.0f" : "1.0f");
			kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
		} else if (m->x->op[i].kind == STREAM_NARROW) {
			const char *value = kernel_value(&t->w, o);
			kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
			kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
		}
	}
	cuda_end(t);
}

/* The wide values of a row and a column that are needed. */
static void
write_values(const struct stream *m, const bool *need)
{
	struct cuda_text *t = m->t;

	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
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
static void
open_elements(const struct stream *m, const bool *need)
{
	struct cuda_text *t = m->t;
	const int columns = m->x->columns;

	kernel_line(&t->w, "#pragma unroll");
	cuda_block(t, "for (int x = 0; x < tile::X; x++)");
	kernel_line(&t->w, "const bool column_in = tile::column(x) < columns;");
	kernel_line(&t->w,
		"const int64_t i%d = column_in ? column0 + tile::column(x) : %" PRId64 ";", columns,
		size_of(m, columns) - 1);
	open_rows(m);
	kernel_line(&t->w, "const bool in = row_in && column_in;");
	load_rows(m, need);
	write_values(m, need);
}

/* seen: is there an element in the current tile that the mask keeps? */
static void
write_seen(const struct stream *m, struct mask mask)
{
	struct cuda_text *t = m->t;
	bool *need = cuda_need_none(t);

	need[mask.op] = true;
	mark_outside(m, need, mask.op, (struct mask){.op = -1});
	kernel_line(&t->w, "bool any = false;");
	open_elements(m, need);
	kernel_line(&t->w, "any = any || (in && %sv%d);", mask.keeps ? "" : "!",
		op_of(m, mask.op)->out);
	cuda_end(t);
	cuda_end(t);
	kernel_line(&t->w, "const bool seen = __syncthreads_or(any);");
}

/* The products of operands that the ends of a pass need. Returns whether a mask leaves out some. */
static bool
write_tiles(const struct stream *m, int pass)
{
	struct cuda_text *t = m->t;
	const struct scheme_stream *x = m->x;
	bool *need = cuda_need_none(t), *outside = cuda_need_none(t);
	const struct mask mask = find_mask(m, pass, outside);

	if (mask.op >= 0)
		write_seen(m, mask);
	mark_pass(m, need, pass, FINAL, (struct mask){.op = -1});
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		const struct stream_op *k = &x->op[i];
		if (k->kind != STREAM_TILE_OF || !need[i])
			continue;
		kernel_line(&t->w, "float tile%d[tile::Y][tile::X]%s;", o->out,
			outside[i] ? "" : " = {}");
		cuda_block(t, "%s", outside[i] ? "" : "if (seen)");
		kernel_line(&t->w, "const int64_t i%d = row0, i%d = column0, i%d = 0;", x->rows,
			x->columns, k->inner);
		const char *kept = !m->unit->cores ? ""
				   : m->kept       ? cuda_printf(t, "keep%d, ", o->out)
						   : "nullptr, ";
		kernel_line(&t->w,
			"tile::wide<%" PRId64 ", tile_%s%s%s>(tile%d, room, %s&%s, %" PRId64
			", %" PRId64 ", rows, &%s, %" PRId64 ", %" PRId64 ", columns);",
			size_of(m, k->inner), reader_of(o), vector_text(m, o, k->of_rows, k->inner),
			vector_text(m, o, k->of_columns, k->inner), o->out, kept,
			kernel_element(&t->w, o, k->of_rows),
			scheme_stride(t->s, o, k->of_rows, x->rows),
			scheme_stride(t->s, o, k->of_rows, k->inner),
			kernel_element(&t->w, o, k->of_columns),
			scheme_stride(t->s, o, k->of_columns, x->columns),
			scheme_stride(t->s, o, k->of_columns, k->inner));
		cuda_end(t);
	}
	return mask.op >= 0;
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

	mark_pass(m, need, pass, level, (struct mask){.op = -1});
	for (int i = 0; i < t->s->nops; i++) {
		if (!in_pass(m, i, pass, level))
			continue;
		if (m->x->op[i].kind == STREAM_FOLD)
			declare_part(m, op_of(m, i));
		else
			kernel_line(&t->w, "float put%d[tile::Y][tile::X];", op_of(m, i)->out);
	}
	open_elements(m, need);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		if (!in_pass(m, i, pass, level))
			continue;
		if (m->x->op[i].kind == STREAM_PRODUCT) {
			const char *value = kernel_load(&t->w, o, m->x->op[i].of_rows);
			kernel_line(&t->w, "put%d[y][x] = in ? %s : 0.0f;", o->out, value);
			continue;
		}
		const char *value = kernel_value(&t->w, o),
			   *old = cuda_printf(t, "part%d[y]", o->out);
		kernel_line(&t->w, "%s = in ? %s : %s;", old,
			kernel_combined(&t->w, o, old, cuda_printf(t, "(%s)", value), false), old);
	}
	cuda_end(t);
	cuda_end(t);
}

/* The condition of a product of whose operand a mask may have left nothing but 0. As on hosts, what
 * it leaves out adds nothing, not even NaN. */
static void
write_nonzero(const struct stream *m, const struct scheme_op *o)
{
	struct kernel_text *w = &m->t->w;

	kernel_line(w, "bool any = false;");
	kernel_line(w, "#pragma unroll");
	kernel_line(w, "for (int at = 0; at < tile::Y * tile::X; at++)");
	kernel_line(w, "\tany = any || put%d[at / tile::X][at %% tile::X] != 0.0f;", o->out);
	kernel_line(w, "if (__syncthreads_or(any))");
}

/* Adds what a level has found in the current tile to its ends. */
static void
write_ends(const struct stream *m, int pass, int level, bool masked)
{
	static const char *const name[] = {
		[REDUCE_SUM] = "sum", [REDUCE_MAX] = "max", [REDUCE_MIN] = "min"};
	struct cuda_text *t = m->t;
	const struct scheme_stream *x = m->x;

	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		const struct stream_op *k = &x->op[i];
		if (!in_pass(m, i, pass, level))
			continue;
		if (k->kind == STREAM_FOLD) {
			const char *run = cuda_printf(t, "run%d[y]", o->out),
				   *all = cuda_printf(t, "tile_%s<tile::LANES>(part%d[y])",
					   name[o->f.reduce], o->out);
			kernel_line(&t->w, "#pragma unroll");
			kernel_line(&t->w, "for (int y = 0; y < tile::Y; y++)");
			kernel_line(&t->w, "\t%s = %s;", run,
				kernel_combined(&t->w, o, run, all, false));
			continue;
		}
		cuda_block(t, "%s", "");
		kernel_line(&t->w, "const int64_t i%d = column0, i%d = 0;", x->columns, k->inner);
		if (masked)
			write_nonzero(m, o);
		kernel_line(&t->w,
			"tile::narrow<%" PRId64 ", tile_%s%s>(sum%d, put%d, room, &%s, %" PRId64
			", %" PRId64 ", columns);",
			size_of(m, k->inner), reader_of(o),
			vector_text(m, o, k->of_columns, k->inner), o->out, o->out,
			kernel_element(&t->w, o, k->of_columns),
			scheme_stride(t->s, o, k->of_columns, x->columns),
			scheme_stride(t->s, o, k->of_columns, k->inner));
		cuda_end(t);
	}
}

/* Multiplies what end i has summed up by the change of its summands. */
static void
write_scaled(const struct stream *m, int i, uint32_t changing)
{
	struct cuda_text *t = m->t;
	const struct scheme_op *o = op_of(m, i);
	const char *by = scales(m, i, o->f.body, changing);

	if (m->x->op[i].kind == STREAM_FOLD) {
		kernel_line(&t->w, "run%d[y] = tile_scaled(run%d[y], %s);", o->out, o->out, by);
		return;
	}
	cuda_block(t, "%s", "");
	kernel_line(&t->w, "const float by = %s;", by);
	kernel_line(&t->w, "#pragma unroll");
	kernel_line(&t->w, "for (int c = 0; c < %" PRId64 "; c++)", chunks_of(m, i));
	kernel_line(&t->w, "#pragma unroll");
	kernel_line(&t->w, "\tfor (int x = 0; x < tile::X; x++)");
	kernel_line(&t->w, "\t\tsum%d[c][y][x] = tile_scaled(sum%d[c][y][x], by);", o->out, o->out);
	cuda_end(t);
}

/* The reference of a fold: what it is so far, or what it is. */
static void
write_reference(const struct stream *m, int i, bool final)
{
	struct cuda_text *t = m->t;
	const struct scheme_op *o = op_of(m, i);

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
		if (in_pass(m, i, pass, level) && m->x->op[i].kind == STREAM_FOLD &&
			(level == FINAL || is_running(op_of(m, i))))
			set |= 1u << m->plan[i].end;
	return set;
}

/* Does an end of the pass depend on a fold of the same pass? */
static bool
is_followed(const struct stream *m, int pass, uint32_t folds)
{
	for (int i = 0; i < m->t->s->nops; i++)
		if (in_pass(m, i, pass, FINAL) && m->plan[i].of & folds)
			return true;
	return false;
}

/* References change, and with them row values and sums. */
static void
write_change(const struct stream *m, int pass, int level)
{
	struct cuda_text *t = m->t;
	const uint32_t changing = changed_by(m, pass, level);

	if (!changing || (level != FINAL && !is_followed(m, pass, changing)))
		return;
	open_rows(m);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		const struct plan *p = &m->plan[i];
		if (in_pass(m, i, pass, FINAL) && p->of & changing)
			write_scaled(m, i, changing);
		if (m->x->op[i].kind == STREAM_FOLD) {
			if (changing >> p->end & 1)
				write_reference(m, i, level == FINAL);
			else
				kernel_line(&t->w, "const float v%d = now%d[y];", o->out, o->out);
		} else if (m->x->op[i].kind == STREAM_NARROW && !(p->of & changing)) {
			kernel_line(
				&t->w, "const %s v%d = now%d[y];", cuda_type(o), o->out, o->out);
		} else if (m->x->op[i].kind == STREAM_NARROW) {
			kernel_line(
				&t->w, "const %s o%d = now%d[y];", cuda_type(o), o->out, o->out);
			const char *value = kernel_value(&t->w, o);
			kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
			kernel_line(&t->w, "now%d[y] = v%d;", o->out, o->out);
		}
	}
	cuda_end(t);
}

static void
write_pass(const struct stream *m, int pass)
{
	struct cuda_text *t = m->t;
	const int64_t n = size_of(m, m->x->columns);

	for (int k = 0; k < m->x->nover; k++)
		kernel_open_loop(&t->w, t->g, m->x->over[k]);
	cuda_block(t, "for (int64_t column0 = 0; column0 < %" PRId64 "; column0 += %d)", n,
		STREAM_TILE);
	kernel_line(&t->w,
		"const int columns = column0 + %d < %" PRId64 " ? %d : (int)(%" PRId64
		" - column0);",
		STREAM_TILE, n, STREAM_TILE, n);
	const bool masked = write_tiles(m, pass);
	for (int level = 0; level < m->nlevels[pass]; level++) {
		write_elements(m, pass, level);
		write_ends(m, pass, level, masked);
		write_change(m, pass, level);
	}
	for (int k = 0; k <= m->x->nover; k++)
		cuda_end(t);
	write_change(m, pass, FINAL);
}

static void
write_results(const struct stream *m)
{
	struct cuda_text *t = m->t;
	bool *need = cuda_need_none(t);

	for (int i = 0; i < t->s->nops; i++)
		need[i] = is_row_value(m, i) && t->s->tensor[op_of(m, i)->out].result >= 0;
	open_rows(m);
	load_rows(m, need);
	cuda_block(t, "if (row_in && tile::column(0) == 0)");
	for (int i = 0; i < t->s->nops; i++)
		if (need[i])
			kernel_store(&t->w, op_of(m, i));
	cuda_end(t);
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = op_of(m, i);
		const int inner = m->x->op[i].inner;
		if (m->x->op[i].kind != STREAM_PRODUCT)
			continue;
		kernel_line(&t->w, "#pragma unroll");
		cuda_block(
			t, "for (int at = 0; at < %" PRId64 " * tile::X; at++)", chunks_of(m, i));
		kernel_line(&t->w,
			"const int64_t i%d = at / tile::X * %d + tile::column(at %% "
			"tile::X);",
			inner, STREAM_TILE);
		kernel_line(&t->w, "float v%d = sum%d[at / tile::X][y][at %% tile::X];", o->out,
			o->out);
		kernel_settle(&t->w, o);
		cuda_block(t, "if (row_in && i%d < %" PRId64 ")", inner, size_of(m, inner));
		kernel_store(&t->w, o);
		cuda_end(t);
		cuda_end(t);
	}
	cuda_end(t);
}

/* The indices of the results that a block computes. */
static void
unflatten(const struct stream *m, int64_t tiles)
{
	struct cuda_text *t = m->t;
	int64_t below = tiles;

	kernel_line(&t->w, "const int64_t row0 = unit %% %" PRId64 " * %d;", tiles, STREAM_TILE);
	kernel_line(&t->w,
		"const int rows = row0 + %d < %" PRId64 " ? %d : (int)(%" PRId64 " - row0);",
		STREAM_TILE, size_of(m, m->x->rows), STREAM_TILE, size_of(m, m->x->rows));
	for (int k = m->x->nouter - 1; k >= 0; k--) {
		const int cls = m->x->outer[k];
		kernel_line(&t->w, "const int64_t i%d = unit / %" PRId64 " %% %" PRId64 ";", cls,
			below, size_of(m, cls));
		below *= size_of(m, cls);
	}
}

static void
write_kernel(struct stream *m, const struct unit *unit)
{
	struct cuda_text *t = m->t;
	const int64_t tiles = cuda_divide_up(size_of(m, m->x->rows), STREAM_TILE);
	int64_t units = tiles;

	m->unit = unit;
	m->kept = can_keep(m);
	for (int k = 0; k < m->x->nouter; k++)
		units *= size_of(m, m->x->outer[k]);
	cuda_open(t);
	kernel_line(&t->w, "typedef %s tile;", unit->name);
	declare_shared(m);
	cuda_block(t, "for (%s unit = blockIdx.x; unit < %" PRId64 "; unit += gridDim.x)",
		cuda_index_type(units + CUDA_GRID), units);
	unflatten(m, tiles);
	if (m->kept)
		write_kept(m);
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

	make_plan(&m);
	if (!is_all(&m, sizeof(float))) {
		write_kernel(&m, is_all(&m, sizeof(uint16_t)) ? &by_halves : &by_fma);
		return;
	}
	fprintf(t->host, "\tif (rt_cuda_tf32(ctx))\n\t");
	write_kernel(&m, &by_tf32);
	fprintf(t->host, "\telse\n\t");
	write_kernel(&m, &by_fma);
}
