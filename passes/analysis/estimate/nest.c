/* The loops of a kernel, counted. See nest.h. */
#include "passes/analysis/estimate/nest.h"

#include "ir/loops/scheme.h"
#include "ir/loops/build.h"
#include "ir/base/alloc.h"

#include <math.h>
#include <talloc.h>

/* --- arithmetic --- */

static enum nest_work
work_of(enum scalar_fn fn)
{
	switch (fn_work(fn)) {
	case WORK_DIVISION: return NEST_DIVISION;
	case WORK_CALL: return NEST_CALL;
	case WORK_RANDOM: return NEST_RANDOM;
	default: return NEST_CHEAP;
	}
}

/* Common subexpressions are computed once. Expressions beyond the capacity are not counted. */
struct seen {
	const struct expr *e[64];
	int n;
};

static bool
is_seen(struct seen *s, const struct expr *e)
{
	for (int i = 0; i < s->n; i++)
		if (s->e[i] == e)
			return true;
	if (s->n == (int)(sizeof s->e / sizeof *s->e))
		return true;
	s->e[s->n++] = e;
	return false;
}

static void
add_work(struct seen *s, const struct expr *e, double *work)
{
	if (e->kind != EXPR_CALL || is_seen(s, e))
		return;
	work[work_of((enum scalar_fn)e->id)]++;
	for (int i = 0; i < e->nargs; i++)
		add_work(s, e->arg[i], work);
}

/* --- one op --- */

static double
turns(const struct scheme_segment *g, uint32_t set)
{
	double n = 1;

	for (int i = 0; i < g->norder; i++)
		if (set >> g->order[i] & 1)
			n *= (double)g->size[g->order[i]];
	return n;
}

/* The classes over which the stage of an op iterates, outer loops included. */
static uint32_t
space_of(const struct scheme *s, const struct scheme_segment *g, const struct scheme_op *o)
{
	uint32_t space = o->stage < 0 ? 0 : scheme_outer_set(g);

	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *other = &s->op[g->op[k]];
		if (other->stage == o->stage)
			space |= other->out_set | other->red_set;
	}
	return space;
}

/* The innermost of the loops; -1: none. */
static int
innermost(const struct scheme_segment *g, uint32_t space)
{
	for (int i = g->norder; i-- > 0;)
		if (space >> g->order[i] & 1)
			return g->order[i];
	return -1;
}

/* Is the expression a multiple of the index of class `inner`, plus a term that is constant in that
 * loop? Then *coefficient is that multiple. */
static bool
is_affine(const struct scheme_op *o, const struct expr *e, int inner, int64_t *coefficient)
{
	int64_t a = 0, b = 0;

	*coefficient = 0;
	if (e->kind == EXPR_INDEX) {
		*coefficient = o->cls[e->id] == inner;
		return true;
	}
	if (e->kind == EXPR_LOAD) {
		for (int d = 0; d < o->f.in[e->id].rank; d++) {
			const int i = o->f.in[e->id].index[d];
			if (i >= 0 && o->cls[i] == inner)
				return false;
		}
		return true;
	}
	if (e->kind == EXPR_CONST)
		return true;
	if (e->id == FN_add || e->id == FN_sub) {
		const bool both =
			is_affine(o, e->arg[0], inner, &a) && is_affine(o, e->arg[1], inner, &b);
		*coefficient = e->id == FN_add ? a + b : a - b;
		return both;
	}
	for (int i = 0; e->id == FN_mul && i < 2; i++)
		if (e->arg[!i]->kind == EXPR_CONST) {
			const bool good = is_affine(o, e->arg[i], inner, &a);
			*coefficient = a * e->arg[!i]->whole;
			return good;
		}
	for (int i = 0; i < e->nargs; i++)
		if (!is_affine(o, e->arg[i], inner, &a) || a != 0)
			return false;
	return true;
}

/* How load j (-1: the write) accesses its tensor along class `inner`. */
static enum nest_walk
walk_of(const struct scheme *s, const struct scheme_op *o, int j, int inner)
{
	const struct form_access *x = j < 0 ? &o->f.out : &o->f.in[j];
	const struct scheme_tensor *t = &s->tensor[j < 0 ? o->out : o->in[j]];
	int64_t stride = inner < 0 ? 0 : scheme_stride(s, o, j, inner), each;

	for (int d = 0; inner >= 0 && d < x->rank; d++) {
		const int i = x->index[d];
		if (i < 0 || !o->f.at[i])
			continue;
		if (!is_affine(o, o->f.at[i], inner, &each))
			return NEST_COMPUTED;
		stride += each * scheme_dim_stride(t, d);
	}
	return stride == 0 ? NEST_STAYS : stride == 1 ? NEST_NEXT : NEST_STRIDES;
}

static void
add_reads(struct nest_op *x, const struct scheme *s, const struct scheme_op *o, int inner)
{
	const uint32_t reads = scheme_reads(o);

	for (int j = 0; j < o->f.ninputs; j++) {
		if (!(reads >> j & 1))
			continue;
		switch (s->tensor[o->in[j]].where) {
		case SCHEME_MEMORY: x->memory[walk_of(s, o, j, inner)]++; break;
		case SCHEME_ROW: x->rows++; break;
		case SCHEME_LOCAL: x->locals++; break;
		case SCHEME_CONST: break;
		}
	}
}

/* Are the loops that o reduces the innermost ones of its stage? */
static bool
sums_innermost(const struct scheme_segment *g, const struct scheme_op *o, uint32_t space)
{
	uint32_t rest = o->red_set;

	for (int i = g->norder; i-- > 0 && rest;) {
		if (!(space >> g->order[i] & 1))
			continue;
		if (!(rest >> g->order[i] & 1))
			return false;
		rest &= ~(1u << g->order[i]);
	}
	return true;
}

/* Are the iterations of the innermost loop independent, or a sum of their own, with contiguous
 * memory accesses? */
static bool
is_simd(const struct nest_op *x, const struct scheme_op *o, int inner)
{
	if (inner < 0 || o->scatter || (x->adds && o->red_set >> inner & 1))
		return false;
	return !x->memory[NEST_STRIDES] && !x->memory[NEST_COMPUTED] &&
	       (!x->stores || x->store <= NEST_NEXT);
}

static void
add_loops(struct nest_op *x, const struct scheme *s, const struct scheme_segment *g,
	const struct scheme_op *o)
{
	const uint32_t space = space_of(s, g, o);
	const int inner = innermost(g, space);
	const struct scheme_tensor *t = &s->tensor[o->out];
	struct seen seen = {.n = 0};

	x->place = scheme_is_alone(o) ? NEST_ALONE : NEST_LOOPS;
	x->stage = o->stage;
	x->points = turns(g, space);
	x->inner = inner < 0 ? 1 : (double)g->size[inner];
	x->entries = x->points / x->inner;
	x->tiled = g->tile >= 0;
	add_reads(x, s, o, inner);
	x->sums = o->red_set && sums_innermost(g, o, space);
	x->adds = (o->red_set && !x->sums) || o->scatter;
	x->stores = t->where == SCHEME_MEMORY;
	x->keeps = t->where == SCHEME_ROW;
	x->store = walk_of(s, o, -1, inner);
	x->simd = is_simd(x, o, inner);
	add_work(&seen, o->f.body, x->work);
	for (int i = 0; i < o->f.nindices; i++)
		if (o->f.at[i]) {
			add_work(&seen, o->f.at[i], x->work);
			x->tests += !scheme_is_inside(o, i);
		}
}

static void
add_product(struct nest_op *x, const struct scheme_segment *g, const struct scheme_segment *next)
{
	const struct scheme_gemm *p = &g->gemm;

	x->place = NEST_PRODUCT;
	x->entries = next && next->block ? ceil((double)p->m / (double)next->block) : 1;
	x->points = (double)p->m * (double)p->n * (double)p->k;
	for (int i = 0; i < p->nloops; i++) {
		x->entries *= (double)p->loop[i].size;
		x->points *= (double)p->loop[i].size;
	}
	x->inner = (double)p->k;
	x->stores = true;
	x->memory[p->trans_a ? NEST_STRIDES : NEST_NEXT]++;
	x->memory[p->trans_b ? NEST_STRIDES : NEST_NEXT]++;
}

static void
add_op(struct nest_op *x, const struct scheme *s, const struct scheme_op *o)
{
	if (o->segment < 0)
		return;
	const struct scheme_segment *g = &s->segment[o->segment];
	const bool last = o->segment + 1 == s->nsegments;

	if (g->kind == SCHEME_GEMM)
		add_product(x, g, last ? NULL : g + 1);
	else
		add_loops(x, s, g, o);
	if (g->library)
		x->place = NEST_LIBRARY;
}

/* --- the kernel --- */

/* Bytes of the tensors in memory that a segment reads or writes, each once. */
static double
touched_by(const struct scheme *s, int segment, bool *seen)
{
	const struct scheme_segment *g = &s->segment[segment];
	double bytes = 0;

	for (int t = 0; t < s->ntensors; t++)
		seen[t] = false;
	for (int k = 0; k < g->nops; k++) {
		const struct scheme_op *o = &s->op[g->op[k]];
		const uint32_t reads = scheme_reads(o);
		for (int j = -1; j < o->f.ninputs; j++) {
			const int t = scheme_root(s, j < 0 ? o->out : o->in[j]);
			const struct scheme_tensor *x = &s->tensor[t];
			if (seen[t] || x->where != SCHEME_MEMORY || (j >= 0 && !(reads >> j & 1)))
				continue;
			seen[t] = true;
			bytes += (double)scheme_elements(x) * ir_dtype_bytes(x->dtype);
		}
	}
	return bytes;
}

static void
add_segments(struct nest *n, const struct scheme *s)
{
	bool *seen = NEW_ARRAY(n, bool, s->ntensors);

	n->segments = (uint32_t)s->nsegments;
	n->scratch = (double)s->scratch_bytes;
	for (int i = 0; i < s->nsegments; i++) {
		const double bytes = touched_by(s, i, seen);
		n->stages +=
			s->segment[i].kind == SCHEME_LOOPS ? (uint32_t)s->segment[i].nstages : 1;
		n->touched += bytes;
		n->widest = fmax(n->widest, bytes);
	}
	talloc_free(seen);
}

static void
own(struct nest *n)
{
	for (uint32_t i = 0; i < n->n; i++)
		n->op[i] =
			(struct nest_op){.place = NEST_OWN, .points = 1, .inner = 1, .entries = 1};
}

/*
 * An op that became two (the place of the largest) has the loops of the last and the work of both.
 */
static void
add_ops(struct nest *n, const struct scheme *s, const struct ir_op *kernel)
{
	uint32_t i = 0;

	if (kernel->code != OP_fuse) {
		for (int k = 0; k < s->nops; k++)
			add_op(&n->op[0], s, &s->op[k]);
		return;
	}
	IR_FOR_OPS (op, kernel->body) {
		for (int k = 0; k < s->nops; k++)
			if (s->op[k].op == op)
				add_op(&n->op[i], s, &s->op[k]);
		i++;
	}
}

struct nest *
nest_create(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel)
{
	struct nest *n = NEW(owner, struct nest);
	struct scheme *s = scheme_create(n, m, a, kernel);

	n->n = 1;
	if (kernel->code == OP_fuse) {
		n->n = 0;
		IR_FOR_OPS (op, kernel->body)
			n->n++;
	}
	n->op = ZERO_ARRAY(n, struct nest_op, n->n);
	if (!s || (s->nsegments && s->segment[0].kind == SCHEME_OWN)) {
		own(n);
	} else {
		add_segments(n, s);
		add_ops(n, s, kernel);
	}
	talloc_free(s);
	arena_reset(a);
	return n;
}
