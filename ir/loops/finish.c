/*
 * Decisions after all segments are made: where tensors are stored, which products are consumed
 * block by block, and which neighbouring classes are one loop because they are one contiguous range
 * everywhere.
 */
#include "ir/loops/build.h"
#include "runtime/kernel/gemm.h"

/* Is t read in another segment than the one that makes it, or through a reshape? */
static bool
read_elsewhere(const struct scheme *s, int t)
{
	const int home = s->op[s->tensor[t].op].segment;
	for (int i = 0; i < s->ntensors; i++)
		if (i != t && s->tensor[i].alias >= 0 && scheme_root(s, i) == t)
			return true;
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		for (int j = 0; j < o->f.ninputs; j++)
			if (o->in[j] == t && o->segment >= 0 && o->segment != home &&
				scheme_reads(o) >> j & 1)
				return true;
	}
	return false;
}

static bool
read_in_other_stage(const struct scheme *s, int t)
{
	const struct scheme_op *maker = &s->op[s->tensor[t].op];
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		for (int j = 0; j < o->f.ninputs; j++)
			if (o->in[j] == t && !o->unused && o->stage != maker->stage &&
				scheme_reads(o) >> j & 1)
				return true;
	}
	return false;
}

static enum scheme_where
place(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];
	if (x->op < 0 || x->alias >= 0 || x->result >= 0)
		return SCHEME_MEMORY;
	const struct scheme_op *o = &s->op[x->op];
	if (o->segment < 0)
		return x->constant ? SCHEME_CONST : SCHEME_LOCAL;
	const struct scheme_segment *g = &s->segment[o->segment];
	const uint32_t outer = scheme_outer_set(g);
	if (g->kind == SCHEME_GEMM || scheme_is_alone(o) || o->red_set & outer ||
		read_elsewhere(s, t))
		return SCHEME_MEMORY;
	return o->out_set & ~outer && read_in_other_stage(s, t) ? SCHEME_ROW : SCHEME_LOCAL;
}

/* The dimension of T, the product, that m runs over. */
static int
row_dim(const struct scheme_op *product, int m_index)
{
	for (int d = 0; d < product->f.out.rank; d++)
		if (product->f.out.index[d] == m_index)
			return d;
	return -1;
}

/* Is the first loop of segment i the rows of the product in segment i - 1, in all reads of it? If
 * the rows are several indices, these have been merged into one class. */
static bool
walks_rows(const struct scheme *s, int i)
{
	const struct scheme_segment *product = &s->segment[i - 1], *g = &s->segment[i];
	const struct scheme_op *p = &s->op[product->op[0]];
	const int d = row_dim(p, product->gemm.m_index);
	if (g->kind != SCHEME_LOOPS || s->op[g->op[0]].scan.found || !g->nouter ||
		product->gemm.nloops || (d < 0 && g->size[g->order[0]] != product->gemm.m))
		return false;
	bool any = false;
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		for (int j = 0; j < o->f.ninputs; j++) {
			if (!(scheme_reads(o) >> j & 1) || scheme_root(s, o->in[j]) != p->out)
				continue;
			const int index = d < 0 ? -1 : o->f.in[j].index[d];
			const bool there = d < 0 || (index >= 0 && o->cls[index] == g->order[0]);
			if (o->in[j] != p->out || !there ||
				scheme_stride(s, o, j, g->order[0]) != product->gemm.ldc)
				return false;
			any = true;
		}
	}
	return any;
}

static void
choose_block(struct scheme *s, int i)
{
	const struct scheme_gemm *p = &s->segment[i - 1].gemm;
	const int64_t row =
		p->n * ir_dtype_bytes(s->tensor[s->op[s->segment[i - 1].op[0]].out].dtype);
	int64_t rows = SCHEME_BLOCK_BYTES / row;
	if (rows < SCHEME_BLOCK_ROWS)
		rows = SCHEME_BLOCK_ROWS;
	const int64_t blocks = (p->m + rows - 1) / rows;
	rows = ((p->m + blocks - 1) / blocks + 7) / 8 * 8; /* blocks of about one size */
	if (walks_rows(s, i) && rows < p->m)
		s->segment[i].block = rows;
}

static bool
uses_value(const struct scheme_op *o, int cls)
{
	for (int i = 0; i < o->f.nindices; i++) {
		if (o->cls[i] != cls)
			continue;
		if (expr_uses_index(o->f.body, i))
			return true;
		for (int k = 0; k < o->f.nindices; k++)
			if (o->f.at[k] && expr_uses_index(o->f.at[k], i))
				return true;
	}
	return false;
}

/* Are outer class p and inner class q one contiguous range in everything op o touches in memory? */
static bool
contiguous(const struct scheme *s, const struct scheme_segment *g, const struct scheme_op *o, int p,
	int q)
{
	const uint32_t both = 1u << p | 1u << q;
	const uint32_t out = o->out_set & both, red = o->red_set & both;
	if ((out && out != both) || (red && red != both) || uses_value(o, p) || uses_value(o, q) ||
		scheme_scan_class(o) == p || scheme_scan_class(o) == q)
		return false;
	for (int j = -1; j < o->f.ninputs; j++) {
		const struct scheme_tensor *t = &s->tensor[j < 0 ? o->out : o->in[j]];
		if (t->where != SCHEME_MEMORY || (j >= 0 && !(scheme_reads(o) >> j & 1)))
			continue;
		if (scheme_stride(s, o, j, p) != scheme_stride(s, o, j, q) * g->size[q])
			return false;
	}
	return true;
}

static bool
can_merge(const struct scheme *s, const struct scheme_segment *g, int at)
{
	if ((at < g->nouter) != (at + 1 < g->nouter) || (at == 0 && g->block))
		return false;
	for (int k = 0; k < g->nops; k++)
		if (!contiguous(s, g, &s->op[g->op[k]], g->order[at], g->order[at + 1]))
			return false;
	return true;
}

/* Makes classes order[at] and order[at + 1] one. */
static void
merge(struct scheme *s, struct scheme_segment *g, int at)
{
	const int p = g->order[at], q = g->order[at + 1];
	g->size[q] *= g->size[p];
	g->dropped |= 1u << p;
	for (int i = at; i + 1 < g->norder; i++)
		g->order[i] = g->order[i + 1];
	g->norder--;
	if (at < g->nouter)
		g->nouter--;
	for (int k = 0; k < g->nops; k++) {
		struct scheme_op *o = &s->op[g->op[k]];
		o->out_set &= ~(1u << p);
		o->red_set &= ~(1u << p);
		for (int i = 0; i < o->f.nindices; i++)
			if (o->cls[i] == p)
				o->cls[i] = -1;
	}
}

static void
merge_classes(struct scheme *s, struct scheme_segment *g)
{
	for (int at = g->norder - 2; at >= 0; at--)
		if (at + 1 < g->norder && can_merge(s, g, at))
			merge(s, g, at);
}

/* The class along which a read that is not contiguous in the innermost loop is contiguous; -1:
 * none. */
static int
crossing_class(const struct scheme *s, const struct scheme_segment *g, const struct scheme_op *o,
	int inner)
{
	for (int j = 0; j < o->f.ninputs; j++) {
		if (!(scheme_reads(o) >> j & 1) || s->tensor[o->in[j]].where != SCHEME_MEMORY ||
			scheme_stride(s, o, j, inner) <= 1)
			continue;
		for (int i = 0; i < g->norder; i++)
			if (scheme_stride(s, o, j, g->order[i]) == 1)
				return g->order[i];
	}
	return -1;
}

/* A transposed read in a plain nest of loops: two loops go in tiles. */
static void
choose_tile(const struct scheme *s, struct scheme_segment *g)
{
	if (g->norder < 2 || g->nouter < g->norder || g->block || scheme_is_alone(&s->op[g->op[0]]))
		return;
	const int inner = g->order[g->norder - 1];
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		const int c = crossing_class(s, g, o, inner);
		if (o->red_set)
			return;
		if (c >= 0 && c != inner && g->size[c] >= 2 * SCHEME_TILE &&
			g->size[inner] >= 2 * SCHEME_TILE)
			g->tile = c;
	}
}

/* Elements of tensor t in its storage: whole, or a row of its segment. */
static int64_t
elements_in_scratch(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];
	const struct scheme_op *o = &s->op[x->op];
	const struct scheme_segment *g = &s->segment[o->segment];
	int64_t n = 1;

	if (x->where != SCHEME_ROW)
		return scheme_room(x);
	for (int i = g->nouter; i < g->norder; i++)
		if (o->out_set >> g->order[i] & 1)
			n *= g->size[g->order[i]];
	return n;
}

int64_t
scheme_bytes_in_scratch(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];
	const struct scheme_op *o = &s->op[x->op];
	const struct scheme_segment *g = &s->segment[o->segment];
	const bool half = x->dtype == IR_f16 || x->dtype == IR_bf16;
	const int64_t size = half && x->where == SCHEME_ROW
				     ? 4
				     : ir_dtype_bytes(x->dtype); /* rows hold floats */
	if (x->where != SCHEME_ROW && scheme_is_block(s, t))
		return s->segment[o->segment + 1].block * g->gemm.ldc * size;
	return elements_in_scratch(s, t) * size;
}

bool
scheme_is_block(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];
	if (x->op < 0 || x->result >= 0 || x->alias >= 0)
		return false;
	const int next = s->op[x->op].segment + 1;
	if (next == 0 || next >= s->nsegments || !s->segment[next].block)
		return false;
	for (int i = 0; i < s->ntensors; i++)
		if (s->tensor[i].alias >= 0 && scheme_root(s, i) == t)
			return false;
	for (int i = 0; i < s->nops; i++)
		for (int j = 0; j < s->op[i].f.ninputs; j++)
			if (s->op[i].in[j] == t && s->op[i].segment != next &&
				s->op[i].segment >= 0)
				return false;
	return s->segment[next - 1].kind == SCHEME_GEMM;
}

/* Must hold: each value is made before it is read. */
static void
assert_order(const struct scheme *s)
{
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		for (int j = 0; j < o->f.ninputs && o->segment >= 0; j++) {
			const int maker = s->tensor[o->in[j]].op;
			if (maker < 0 || !(scheme_reads(o) >> j & 1) ||
				s->tensor[o->in[j]].constant)
				continue;
			const struct scheme_op *p = &s->op[maker];
			assert(p->segment >= 0 && p->segment <= o->segment);
			assert(p->segment < o->segment || p->stage <= o->stage);
		}
	}
}

/* Bytes of workspace of a segment's library call: products of 16-bit floats are done in f32, by
 * blocks.
 */
static int64_t
library_bytes(const struct scheme *s, const struct scheme_segment *g)
{
	const enum ir_dtype t = (enum ir_dtype)s->op[g->op[0]].f.dtype;

	if (g->library)
		return scheme_conv_scratch(&g->conv, t);
	if (g->kind == SCHEME_GEMM && (t == IR_f16 || t == IR_bf16))
		return rt_gemm_half_room(g->gemm.m, g->gemm.n, g->gemm.k);
	return 0;
}

/* Are the loops that o reduces the innermost ones of its stage? Then its sum is a local. */
static bool
sums_innermost(const struct scheme *s, const struct scheme_op *o)
{
	const struct scheme_segment *g = &s->segment[o->segment];
	uint32_t space = 0;
	bool inner = true;

	if (o->scatter || o->red_set & scheme_outer_set(g))
		return false;
	for (int k = 0; k < g->nops; k++)
		if (s->op[g->op[k]].stage == o->stage)
			space |= s->op[g->op[k]].out_set | s->op[g->op[k]].red_set;
	for (int i = g->norder - 1; i >= g->nouter; i--) {
		if (!(space >> g->order[i] & 1))
			continue;
		inner = inner && o->red_set >> g->order[i] & 1;
		if (!inner && o->red_set >> g->order[i] & 1)
			return false;
	}
	return true;
}

/* Is t a sum of 16-bit floats that loops add to in memory? It must not be rounded each time: a bf16
 * of 256 takes no further 1. */
static bool
needs_wide(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];
	const struct scheme_op *o = &s->op[x->op < 0 ? 0 : x->op];

	return (x->dtype == IR_f16 || x->dtype == IR_bf16) && x->where == SCHEME_MEMORY &&
	       x->op >= 0 && x->alias < 0 && o->segment >= 0 && o->f.reduce == REDUCE_SUM &&
	       s->segment[o->segment].kind == SCHEME_LOOPS && !sums_innermost(s, o);
}

/* Is t a sum that loops make in memory, and that is cut? */
static bool
is_long(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];

	return x->op >= 0 && x->alias < 0 && s->op[x->op].out == t && s->op[x->op].cut.at >= 0;
}

void
scheme_finish(struct scheme *s)
{
	assert_order(s);
	for (int t = 0; t < s->ntensors; t++)
		s->tensor[t].where = place(s, t);
	for (int i = 1; i < s->nsegments; i++) {
		if (s->segment[i - 1].kind != SCHEME_GEMM)
			continue;
		if (s->segment[i].kind == SCHEME_LOOPS && s->segment[i - 1].gemm.m_index < 0)
			merge_classes(s, &s->segment[i]);
		choose_block(s, i);
	}
	for (int i = 0; i < s->nsegments; i++)
		if (s->segment[i].kind == SCHEME_LOOPS) {
			merge_classes(s, &s->segment[i]);
			choose_tile(s, &s->segment[i]);
		}
	for (int i = 0; i < s->nops; i++)
		if (s->op[i].segment >= 0)
			s->op[i].cut = scheme_cut_memory(s, &s->op[i]);
	for (int t = 0; t < s->ntensors; t++) {
		struct scheme_tensor *x = &s->tensor[t];
		const bool whole =
			x->where == SCHEME_MEMORY && x->op >= 0 && x->alias < 0 && x->result < 0;
		if (needs_wide(s, t))
			x->wide = scheme_take_scratch(s, scheme_elements(x) * 4);
		if (is_long(s, t))
			x->deep = scheme_take_scratch(
				s, elements_in_scratch(s, t) * (int64_t)sizeof(double));
		if (whole || x->where == SCHEME_ROW)
			x->scratch = scheme_take_scratch(s, scheme_bytes_in_scratch(s, t));
	}
	scheme_place_slabs(s);
	for (int i = 0; i < s->nsegments; i++)
		s->segment[i].library_at = scheme_take_scratch(s, library_bytes(s, &s->segment[i]));
}
