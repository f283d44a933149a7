/*
 * The analysis of one segment.
 *
 * Classes: the indices with which a value is written and read are one class; so are the indices
 * with which two ops read one operand, as long as that makes no two indices of an op equal (x +
 * transpose(x)). Order: outermost the class with the longest stride, innermost the one that makes
 * most accesses contiguous. Outer nest: classes from the outside in, as long as every op has them
 * in its result, or reduces them into a result that no op of the segment reads.
 */
#include "ir/loops/build.h"

#include <string.h>

/* Kernels longer than passes make become several segments: each op is checked against all ops of
 * the segment. */
enum { SEGMENT_MAX_OPS = 200 };

int *
scheme_start_classes(const struct scheme *s, int *parent)
{
	for (int i = 0; i < (s->nops + 1) * FORM_MAX_INDICES; i++)
		parent[i] = i;
	return parent;
}

bool
scheme_is_loop(const struct scheme_op *o, int index)
{
	return index >= 0 && index < o->f.nindices && o->f.size[index] > 1 &&
	       form_is_loop(&o->f, index);
}

void
scheme_join_access(const struct scheme *s, int *parent, int op1, const struct form_access *x1,
	int op2, const struct form_access *x2)
{
	for (int d = 0; d < x1->rank && d < x2->rank; d++) {
		if (!scheme_is_loop(&s->op[op1], x1->index[d]) ||
			!scheme_is_loop(&s->op[op2], x2->index[d]))
			continue;
		const int p = scheme_class_of(parent, scheme_node(op1, x1->index[d])),
			  q = scheme_class_of(parent, scheme_node(op2, x2->index[d]));
		parent[p < q ? q : p] = p < q ? p : q;
	}
}

/* Would op `op` still have different classes for different indices? */
static bool
distinct(const struct scheme *s, const struct scheme_build *b, int op)
{
	const struct scheme_op *o = &s->op[op];
	for (int i = 0; i < o->f.nindices; i++)
		for (int j = 0; j < i; j++)
			if (scheme_is_loop(o, i) && scheme_is_loop(o, j) &&
				scheme_class_of(b->parent, scheme_node(op, i)) ==
					scheme_class_of(b->parent, scheme_node(op, j)))
				return false;
	return true;
}

static bool
all_distinct(const struct scheme *s, const struct scheme_build *b, const struct scheme_segment *g)
{
	for (int i = 0; i < g->nops; i++)
		if (!distinct(s, b, g->op[i]))
			return false;
	return true;
}

/* Unites with the first op that reads the same operand, if nothing gets in the way. */
static void
unite_reader(const struct scheme *s, struct scheme_build *b, const struct scheme_segment *g, int k,
	int j)
{
	const int op = g->op[k], tensor = s->op[op].in[j];
	for (int i = 0; i < k; i++) {
		const struct scheme_op *other = &s->op[g->op[i]];
		for (int l = 0; l < other->f.ninputs; l++) {
			if (other->in[l] != tensor || !(scheme_reads(other) >> l & 1))
				continue;
			const size_t n = (size_t)(s->nops + 1) * FORM_MAX_INDICES;
			memcpy(b->saved, b->parent, n * sizeof *b->saved);
			scheme_join_access(
				s, b->parent, g->op[i], &other->f.in[l], op, &s->op[op].f.in[j]);
			if (!all_distinct(s, b, g))
				memcpy(b->parent, b->saved, n * sizeof *b->saved);
			return;
		}
	}
}

/* Finds classes by walking the ops; false if a value forces two indices of one op together. */
static bool
unite(const struct scheme *s, struct scheme_build *b, const struct scheme_segment *g)
{
	scheme_start_classes(s, b->parent);
	for (int k = 0; k < g->nops; k++) {
		const int op = g->op[k];
		const struct scheme_op *o = &s->op[op];
		for (int j = 0; j < o->f.ninputs; j++) {
			const struct scheme_tensor *t = &s->tensor[o->in[j]];
			if (!(scheme_reads(o) >> j & 1) || !scheme_made_in(s, o->in[j], o->segment))
				continue;
			if (t->alias >= 0 || form_is_computed(&o->f, &o->f.in[j]))
				return false;
			scheme_join_access(
				s, b->parent, t->op, &s->op[t->op].f.out, op, &o->f.in[j]);
		}
	}
	if (!all_distinct(s, b, g))
		return false;
	for (int k = 0; k < g->nops; k++)
		for (int j = 0; j < s->op[g->op[k]].f.ninputs; j++)
			if (scheme_reads(&s->op[g->op[k]]) >> j & 1 &&
				!scheme_made_in(s, s->op[g->op[k]].in[j], s->op[g->op[k]].segment))
				unite_reader(s, b, g, k, j);
	return true;
}

/* Numbers the classes 0, 1, 2 ... and writes them into the ops. */
static bool
number_classes(struct scheme *s, const struct scheme_build *b, struct scheme_segment *g)
{
	int root[SCHEME_MAX_CLASSES];
	g->nclasses = 0;
	for (int k = 0; k < g->nops; k++) {
		struct scheme_op *o = &s->op[g->op[k]];
		o->out_set = o->red_set = 0;
		for (int i = 0; i < FORM_MAX_INDICES; i++) {
			o->cls[i] = -1;
			if (!scheme_is_loop(o, i))
				continue;
			const int r = scheme_class_of(b->parent, scheme_node(g->op[k], i));
			int c = 0;
			while (c < g->nclasses && root[c] != r)
				c++;
			if (c == SCHEME_MAX_CLASSES)
				return false;
			if (c == g->nclasses) {
				root[g->nclasses] = r;
				g->size[g->nclasses++] = o->f.size[i];
			}
			o->cls[i] = (int8_t)c;
			*(o->f.reduced >> i & 1 ? &o->red_set : &o->out_set) |= 1u << c;
		}
	}
	return true;
}

int64_t
scheme_stride(const struct scheme *s, const struct scheme_op *o, int j, int cls)
{
	const struct form_access *x = j < 0 ? &o->f.out : &o->f.in[j];
	const struct scheme_tensor *t = &s->tensor[j < 0 ? o->out : o->in[j]];
	int64_t stride = 0;
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && o->cls[x->index[d]] == cls)
			stride += scheme_dim_stride(t, d);
	return stride;
}

/* Sums of narrow floats are kept in wide accumulators: if one thread computes all results, their
 * loops must be the innermost. */
static uint32_t
narrow_sums(const struct scheme *s, const struct scheme_segment *g)
{
	uint32_t set = 0;

	for (int k = 0; k < g->nops && !s->threads; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		if (o->f.dtype == IR_f16 || o->f.dtype == IR_bf16)
			set |= o->scan.found ? 1u << scheme_scan_class(o) : o->red_set;
	}
	return set;
}

/* The cost of class c as the innermost loop: 2 for each read that is not contiguous, 4 for such a
 * write, 1 for a reduction. */
static int
inner_cost(const struct scheme *s, const struct scheme_segment *g, int c, int64_t *longest)
{
	int cost = g->size[c] < 8 ? 2 : 0;
	*longest = 0;
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		for (int j = -1; j < o->f.ninputs; j++) {
			const bool memory =
				j < 0 ? s->tensor[o->out].result >= 0
				      : scheme_reads(o) >> j & 1 &&
						!scheme_made_in(s, o->in[j], o->segment);
			const int64_t stride = scheme_stride(s, o, j, c);
			if (memory && stride > *longest)
				*longest = stride;
			if (memory && stride > 1)
				cost += j < 0 ? 4 : 2;
			if (j < 0 && o->red_set >> c & 1)
				cost += 1;
		}
	}
	return cost;
}

static void
choose_order(const struct scheme *s, struct scheme_segment *g)
{
	int64_t longest[SCHEME_MAX_CLASSES];
	int cost[SCHEME_MAX_CLASSES];
	const uint32_t last = narrow_sums(s, g);
	g->norder = g->nclasses;
	for (int c = 0; c < g->nclasses; c++) {
		cost[c] = inner_cost(s, g, c, &longest[c]);
		if (last && !(last >> c & 1)) {
			longest[c] += INT64_MAX / 2;
			cost[c] += 1000;
		}
		int at = c;
		for (; at > 0 && longest[g->order[at - 1]] < longest[c]; at--)
			g->order[at] = g->order[at - 1];
		g->order[at] = (int8_t)c;
	}
	int best = g->norder - 1;
	for (int i = g->norder - 2; i >= 0; i--)
		if (cost[g->order[i]] < cost[g->order[best]])
			best = i;
	for (int i = best; i + 1 < g->norder; i++) {
		const int8_t swap = g->order[i];
		g->order[i] = g->order[i + 1];
		g->order[i + 1] = swap;
	}
}

/* Does an op of the segment other than `reader`, which may be NULL, read tensor t? */
static bool
is_read(const struct scheme *s, const struct scheme_segment *g, int t,
	const struct scheme_op *reader)
{
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		for (int j = 0; j < o->f.ninputs && o != reader; j++)
			if (o->in[j] == t && scheme_reads(o) >> j & 1)
				return true;
	}
	return false;
}

/* Ops without loops that depend on none with loops run before the outer nest. */
static bool
is_prologue(const struct scheme *s, const struct scheme_op *o)
{
	if (o->out_set | o->red_set || o->scatter)
		return false;
	for (int j = 0; j < o->f.ninputs; j++)
		if (scheme_reads(o) >> j & 1 && scheme_made_in(s, o->in[j], o->segment) &&
			s->op[s->tensor[o->in[j]].op].stage >= 0)
			return false;
	return true;
}

static bool
can_be_outer(const struct scheme *s, const struct scheme_segment *g, int at)
{
	const int c = g->order[at];
	if (narrow_sums(s, g) >> c & 1)
		return false;
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		if (o->stage < 0 || o->out_set >> c & 1)
			continue;
		if (!(o->red_set >> c & 1) || at == g->norder - 1 || is_read(s, g, o->out, NULL))
			return false;
	}
	return true;
}

/* The first stage op o can be in: after those of its operands, or in the same stage if it reads
 * only scalars of its own loops. */
static int
first_stage(const struct scheme *s, const struct scheme_op *o, uint32_t outer)
{
	int bound = 0;
	for (int j = 0; j < o->f.ninputs; j++) {
		if (!(scheme_reads(o) >> j & 1) || !scheme_made_in(s, o->in[j], o->segment))
			continue;
		const struct scheme_op *p = &s->op[s->tensor[o->in[j]].op];
		if (p->stage < 0)
			continue;
		const bool together = ((p->out_set | p->red_set) & ~outer) ==
					      ((o->out_set | o->red_set) & ~outer) &&
				      !(p->red_set & ~outer);
		const int stage = p->stage + (together ? 0 : 1);
		bound = stage > bound ? stage : bound;
	}
	return bound;
}

static void
assign_stages(struct scheme *s, struct scheme_segment *g)
{
	uint32_t space[SEGMENT_MAX_OPS]; /* of each stage; an op opens one at most */
	const uint32_t outer = scheme_outer_set(g);
	g->nstages = 0;
	for (int k = 0; k < g->nops; k++) {
		struct scheme_op *o = &s->op[g->op[k]];
		if (o->stage < 0)
			continue;
		const uint32_t mine = (o->out_set | o->red_set) & ~outer;
		int at = first_stage(s, o, outer);
		while (at < g->nstages && space[at] != mine)
			at++;
		if (at == g->nstages)
			space[g->nstages++] = mine;
		o->stage = at;
	}
}

/* Is load j of op o of another tensor than those before it? */
static bool
is_first_load(const struct scheme_op *o, int j)
{
	for (int i = 0; i < j; i++)
		if (o->in[i] == o->in[j])
			return false;
	return true;
}

/* Are all operands of op o from the segment without inner loops, or made only for o from such
 * values, so that moving both needs no row buffer? */
static bool
reads_scalars(const struct scheme *s, const struct scheme_segment *g, const struct scheme_op *o,
	uint32_t outer)
{
	for (int j = 0; j < o->f.ninputs; j++) {
		if (!(scheme_reads(o) >> j & 1) || !scheme_made_in(s, o->in[j], o->segment) ||
			!is_first_load(o, j))
			continue;
		const struct scheme_op *p = &s->op[s->tensor[o->in[j]].op];
		if (p->out_set & ~outer &&
			(p->red_set || (p->out_set ^ o->out_set) & ~outer ||
				is_read(s, g, o->in[j], o) || !reads_scalars(s, g, p, outer)))
			return false;
	}
	return true;
}

/* The first stage that reads op o's value; -1: none. */
static int
first_reader(const struct scheme *s, const struct scheme_segment *g, const struct scheme_op *o,
	uint32_t *space)
{
	int stage = -1;

	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *reader = &s->op[g->op[k]];
		for (int j = 0; j < reader->f.ninputs; j++) {
			if (reader->in[j] != o->out || !(scheme_reads(reader) >> j & 1) ||
				(stage >= 0 && reader->stage >= stage))
				continue;
			stage = reader->stage;
			*space = reader->out_set | reader->red_set;
		}
	}
	return stage;
}

/* Moves values into the stage that reads them first, if that saves a row buffer. */
static void
sink_stages(struct scheme *s, struct scheme_segment *g)
{
	const uint32_t outer = scheme_outer_set(g);

	for (int k = g->nops; k-- > 0;) {
		struct scheme_op *o = &s->op[g->op[k]];
		uint32_t space = 0;
		if (o->stage < 0 || o->red_set || !reads_scalars(s, g, o, outer))
			continue;
		const int stage = first_reader(s, g, o, &space);
		if (stage > o->stage && (space & ~outer) == (o->out_set & ~outer))
			o->stage = stage;
	}
}

/* Bytes of the row buffers: values that a later stage reads and that are not scalars there. */
static int64_t
row_bytes(const struct scheme *s, const struct scheme_segment *g)
{
	const uint32_t outer = scheme_outer_set(g);
	int64_t sum = 0;
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		if (!(o->out_set & ~outer) || !is_read(s, g, o->out, NULL))
			continue;
		int64_t bytes = 8;
		for (int c = 0; c < g->nclasses; c++)
			if (o->out_set & ~outer & 1u << c)
				bytes *= g->size[c];
		bool crosses = false;
		for (int i = 0; i < g->nops; i++)
			for (int j = 0; j < s->op[g->op[i]].f.ninputs; j++)
				crosses |= s->op[g->op[i]].in[j] == o->out &&
					   s->op[g->op[i]].stage != o->stage;
		sum += crosses ? bytes : 0;
	}
	return sum;
}

bool
scheme_analyse(struct scheme *s, struct scheme_build *b, struct scheme_segment *g)
{
	if (g->nops > SEGMENT_MAX_OPS || !unite(s, b, g) || !number_classes(s, b, g))
		return false;
	choose_order(s, g);
	for (int k = 0; k < g->nops; k++) {
		struct scheme_op *o = &s->op[g->op[k]];
		o->stage = is_prologue(s, o) ? -1 : 0;
	}
	g->nouter = 0;
	while (g->nouter < g->norder && can_be_outer(s, g, g->nouter))
		g->nouter++;
	assign_stages(s, g);
	sink_stages(s, g);
	return g->nops == 1 || row_bytes(s, g) <= SCHEME_ROW_BYTES;
}
