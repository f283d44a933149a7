/* See stream.h. */
#include "ir/loops/stream.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/loops/build.h"

#include <string.h>
#include <talloc.h>

struct search {
	struct scheme *s;
	const bool *used;
	int *parent;    /* classes of indices */
	int8_t *number; /* by node */
	int nclasses;
	int64_t size[SCHEME_MAX_CLASSES];
	struct scheme_stream x;
	uint32_t wide, streamed; /* classes of wide values; those that ends reduce */
};

static bool
is_read(const struct scheme *s, const struct scheme_op *o, int j)
{
	return scheme_reads(o) >> j & 1 && !s->tensor[o->in[j]].constant;
}

static bool
is_float(const struct scheme_op *o)
{
	return o->f.dtype == IR_f32 || o->f.dtype == IR_f16 || o->f.dtype == IR_bf16;
}

/* Can each op that is used be computed by tiles, as far as it alone can tell? */
static bool
is_simple(const struct search *c)
{
	const struct scheme *s = c->s;

	if (s->kernel->code != OP_fuse)
		return false;
	for (int t = 0; t < s->ntensors; t++)
		if (s->tensor[t].alias >= 0 || (s->tensor[t].result >= 0 && s->tensor[t].op < 0))
			return false;
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		if (c->used[i] && (o->scatter || o->scan.found || o->absent || o->picks))
			return false;
	}
	return true;
}

/* Joins the indices with which a value of the kernel is written and read. */
static bool
join_classes(struct search *c)
{
	struct scheme *s = c->s;

	for (int i = 0; i < s->nops; i++)
		for (int j = 0; c->used[i] && j < s->op[i].f.ninputs; j++) {
			const struct scheme_op *o = &s->op[i];
			const int maker = s->tensor[o->in[j]].op;
			if (!is_read(s, o, j) || maker < 0)
				continue;
			const struct form_access *in = &o->f.in[j], *out = &s->op[maker].f.out;
			if (form_is_computed(&o->f, in))
				return false;
			scheme_join_access(s, c->parent, i, in, maker, out);
		}
	return true;
}

/* Numbers the classes; false: too many, or two indices of an op are one. */
static bool
number_classes(struct search *c)
{
	struct scheme *s = c->s;

	for (int i = 0; i < s->nops; i++) {
		struct scheme_op *o = &s->op[i];
		o->out_set = o->red_set = 0;
		memset(o->cls, -1, sizeof o->cls);
		for (int k = 0; c->used[i] && k < o->f.nindices; k++) {
			if (!scheme_is_loop(o, k))
				continue;
			const int root = scheme_class_of(c->parent, scheme_node(i, k));
			if (c->number[root] < 0) {
				if (c->nclasses == SCHEME_MAX_CLASSES)
					return false;
				c->size[c->nclasses] = o->f.size[k];
				c->number[root] = (int8_t)c->nclasses++;
			}
			const uint32_t bit = 1u << c->number[root];
			if ((o->out_set | o->red_set) & bit)
				return false;
			o->cls[k] = c->number[root];
			*(o->f.reduced >> k & 1 ? &o->red_set : &o->out_set) |= bit;
		}
	}
	return true;
}

/* The classes of what load j of op o reads. */
static uint32_t
classes_of(const struct scheme_op *o, int j)
{
	const struct form_access *x = &o->f.in[j];
	uint32_t set = 0;

	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && o->cls[x->index[d]] >= 0)
			set |= 1u << o->cls[x->index[d]];
	return set;
}

static bool
is_made(const struct search *c, const struct scheme_op *o, int j)
{
	return c->s->tensor[o->in[j]].op >= 0;
}

/* A sum of products of two loads of its own type, whose positions are loops. */
static bool
is_product(const struct search *c, const struct scheme_op *o)
{
	const struct expr *e = o->f.body;

	return o->f.reduce == REDUCE_SUM && is_float(o) && !o->computed && o->divisor == 0 &&
	       e->kind == EXPR_CALL && e->id == FN_mul && e->arg[0]->kind == EXPR_LOAD &&
	       e->arg[1]->kind == EXPR_LOAD && e->arg[0]->id != e->arg[1]->id &&
	       e->arg[0]->dtype == o->f.dtype && e->arg[1]->dtype == o->f.dtype &&
	       !c->s->tensor[o->in[e->arg[0]->id]].constant &&
	       !c->s->tensor[o->in[e->arg[1]->id]].constant;
}

static int
only_class(uint32_t set)
{
	return set && !(set & (set - 1)) ? __builtin_ctz(set) : -1;
}

/* The products of two operands: their results span the wide values. */
static bool
find_tiles(struct search *c)
{
	for (int i = 0; i < c->s->nops; i++) {
		const struct scheme_op *o = &c->s->op[i];
		struct stream_op *x = &c->x.op[i];
		if (!c->used[i] || !is_product(c, o))
			continue;
		x->of_rows = o->f.body->arg[0]->id;
		x->of_columns = o->f.body->arg[1]->id;
		if (is_made(c, o, x->of_rows) || is_made(c, o, x->of_columns))
			continue;
		x->kind = STREAM_TILE_OF;
		x->inner = only_class(o->red_set);
		if (x->inner < 0 || c->size[x->inner] > STREAM_MAX_WIDTH ||
			c->s->tensor[o->out].result >= 0)
			return false;
		c->wide |= o->out_set;
	}
	return c->wide != 0;
}

/* The reductions that are left: they reduce the same classes and have all others. */
static bool
find_ends(struct search *c)
{
	int n = 0, products = 0;

	for (int i = 0; i < c->s->nops; i++) {
		const struct scheme_op *o = &c->s->op[i];
		struct stream_op *x = &c->x.op[i];
		if (!c->used[i] || o->f.reduce == REDUCE_NONE || x->kind == STREAM_TILE_OF)
			continue;
		if (!is_float(o) || !o->red_set || o->red_set & ~c->wide ||
			(c->streamed && o->red_set != c->streamed) || ++n > STREAM_MAX_ENDS)
			return false;
		c->streamed = o->red_set;
		const uint32_t more = o->out_set ^ (c->wide & ~c->streamed);
		x->kind = more ? STREAM_PRODUCT : STREAM_FOLD;
		if (!more)
			continue;
		x->inner = only_class(more);
		products++;
		if (x->inner < 0 || c->wide >> x->inner & 1 || !is_product(c, o) ||
			c->size[x->inner] > STREAM_MAX_WIDTH)
			return false;
		const struct expr *const *arg = o->f.body->arg;
		const int first = is_made(c, o, arg[0]->id) ? 0 : 1;
		x->of_rows = arg[first]->id;
		x->of_columns = arg[1 - first]->id;
		if (!is_made(c, o, x->of_rows) || is_made(c, o, x->of_columns) ||
			classes_of(o, x->of_rows) >> x->inner & 1)
			return false;
	}
	c->x.sums = products == 0;
	return n > 0;
}

/* Ends that are no products have both rows and columns, and are summed up in one float. */
static bool
find_sums(struct search *c)
{
	int64_t n = 1;

	for (int k = 0; k < c->nclasses; k++)
		n *= c->streamed >> k & 1 ? c->size[k] : 1;
	if (c->x.sums && n > SCHEME_SUM_BLOCK)
		return false;
	for (int i = 0; i < c->s->nops && c->x.sums; i++) {
		if (c->x.op[i].kind != STREAM_FOLD)
			continue;
		if (c->s->op[i].f.reduce != REDUCE_SUM)
			return false;
		c->x.op[i].kind = STREAM_SUM;
	}
	return true;
}

static bool
reads_sum(const struct search *c, const struct scheme_op *o)
{
	for (int j = 0; j < o->f.ninputs; j++)
		if (is_read(c->s, o, j) && is_made(c, o, j) &&
			c->x.op[c->s->tensor[o->in[j]].op].kind == STREAM_SUM)
			return true;
	return false;
}

/* What is elementwise has classes of wide values only. A result has no streamed class, and every
 * element of it is written by one row. */
static bool
find_elementwise(struct search *c)
{
	const uint32_t wide = c->streamed | 1u << c->x.columns;

	for (int i = 0; i < c->s->nops; i++) {
		const struct scheme_op *o = &c->s->op[i];
		if (c->used[i] && reads_sum(c, o))
			return false;
		if (!c->used[i] || o->f.reduce != REDUCE_NONE)
			continue;
		if (o->out_set & ~c->wide ||
			(c->s->tensor[o->out].result >= 0 &&
				(o->out_set & wide || o->out_set != (c->wide & ~wide))))
			return false;
		c->x.op[i].kind = o->out_set & wide ? STREAM_WIDE : STREAM_NARROW;
	}
	return true;
}

/* Is class q in only one operand of each of these products? Then makes that the one of the
 * columns. */
static bool
is_one_sided(struct search *c, int cls)
{
	for (int i = 0; i < c->s->nops; i++) {
		struct stream_op *x = &c->x.op[i];
		if (x->kind != STREAM_TILE_OF)
			continue;
		const bool first = classes_of(&c->s->op[i], x->of_rows) >> cls & 1;
		const bool second = classes_of(&c->s->op[i], x->of_columns) >> cls & 1;
		if (first == second)
			return false;
		if (first) {
			const int swap = x->of_rows;
			x->of_rows = x->of_columns;
			x->of_columns = swap;
		}
	}
	return true;
}

/* Is the class in the first operand of each tile, and not in what is streamed? */
static bool
is_of_rows(const struct search *c, int cls)
{
	for (int i = 0; i < c->s->nops; i++) {
		const struct scheme_op *o = &c->s->op[i];
		const struct stream_op *x = &c->x.op[i];
		if (x->kind != STREAM_TILE_OF && x->kind != STREAM_PRODUCT)
			continue;
		if (classes_of(o, x->of_columns) >> cls & 1 ||
			(x->kind == STREAM_TILE_OF && !(classes_of(o, x->of_rows) >> cls & 1)))
			return false;
	}
	return true;
}

/* The largest class of the set that fits, of equal ones the first for rows and the last for columns,
 * which are nearer in memory; -1: none does. */
static int
largest(struct search *c, uint32_t set, bool columns)
{
	int best = -1;

	for (int k = 0; k < c->nclasses; k++)
		if (set >> k & 1 && (best < 0 || c->size[k] >= c->size[best] + !columns) &&
			(columns ? is_one_sided(c, k) : is_of_rows(c, k)))
			best = k;
	return best;
}

static bool
choose_tiles(struct search *c)
{
	const uint32_t kept = c->wide & ~c->streamed;
	int64_t sums = 0;

	c->x.columns = largest(c, c->x.sums ? kept : c->streamed, true);
	if (c->x.columns < 0 || !is_one_sided(c, c->x.columns)) /* sides may be those of another */
		return false;
	c->x.rows = largest(c, kept, false);
	if (c->x.rows < 0)
		return false;
	for (int k = 0; k < c->nclasses; k++) {
		if (kept >> k & 1 && k != c->x.rows && k != c->x.columns)
			c->x.outer[c->x.nouter++] = (int8_t)k;
		if (c->streamed >> k & 1 && k != c->x.columns)
			c->x.over[c->x.nover++] = (int8_t)k;
	}
	for (int i = 0; i < c->s->nops; i++) {
		const struct stream_op *x = &c->x.op[i];
		if (x->kind == STREAM_TILE_OF || x->kind == STREAM_SUM)
			sums += STREAM_TILE;
		else if (x->kind == STREAM_PRODUCT)
			sums += c->size[x->inner];
	}
	return sums <= STREAM_MAX_SUMS;
}

static bool
is_stream(struct search *c)
{
	return is_simple(c) && join_classes(c) && number_classes(c) && find_tiles(c) &&
	       find_ends(c) && find_sums(c) && choose_tiles(c) && find_elementwise(c);
}

static void
commit(struct search *c)
{
	struct scheme *s = c->s;
	struct scheme_segment g = {.kind = SCHEME_STREAM, .tile = -1, .nclasses = c->nclasses};

	memcpy(g.size, c->size, sizeof g.size);
	g.stream = NEW(s, struct scheme_stream);
	*g.stream = c->x;
	talloc_steal(g.stream, c->x.op);
	LIST_PUSH(s, s->segment, s->nsegments, g);
	for (int i = 0; i < s->nops; i++) {
		s->op[i].segment = -1;
		s->op[i].stage = 0;
		if (c->x.op[i].kind != STREAM_UNUSED)
			scheme_append(s, &s->segment[0], i);
	}
	for (int t = 0; t < s->ntensors; t++) {
		struct scheme_tensor *x = &s->tensor[t];
		x->where = x->op < 0 || x->result >= 0               ? SCHEME_MEMORY
			   : x->constant && s->op[x->op].segment < 0 ? SCHEME_CONST
								     : SCHEME_LOCAL;
	}
}

bool
scheme_make_stream(struct scheme *s)
{
	const int nodes = s->nops * FORM_MAX_INDICES;
	void *scratch = alloc_scratch(s);
	struct search c = {.s = s,
		.parent = scheme_start_classes(
			s, NEW_ARRAY(scratch, int, (size_t)nodes + FORM_MAX_INDICES))};
	bool *needed = NEW_ARRAY(scratch, bool, (size_t)s->nops + 1);

	for (int i = 0; i < s->nops; i++) {
		const struct scheme_tensor *t = &s->tensor[s->op[i].out];
		needed[i] = !s->op[i].unused && !(t->constant && t->result < 0);
	}
	c.used = needed;
	c.number = NEW_ARRAY(scratch, int8_t, (size_t)nodes + 1);
	memset(c.number, -1, (size_t)nodes);
	c.x.op = ZERO_ARRAY(scratch, struct stream_op, (size_t)s->nops + 1);
	const bool found = is_stream(&c);
	if (found)
		commit(&c);
	talloc_free(scratch);
	return found;
}
