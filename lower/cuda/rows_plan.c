/*
 * How lanes go over rows: in vectors (vector.c), if all passes over inner loops are over one index of
 * the same size, and each over the same elements in each pass, so that they can keep them in
 * registers: rows, operands that are read again, results that a later stage reads.
 */
#include "lower/cuda/rows.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

#include <inttypes.h>
#include <string.h>

bool
rows_is_kept(const struct rows *x, int tensor)
{
	for (int i = 0; i < x->nkept; i++)
		if (x->kept[i].keep && x->kept[i].is.row && x->kept[i].is.tensor == tensor)
			return true;
	return false;
}

struct planner {
	struct cuda_text *t;
	struct rows *x;
	int npasses;
	int width; /* the largest of the passes, while it is being decided */
	bool fits, padded;
};

/* The next pass over inner loops: its width, or the elements that it accesses. */
static void
visit(struct planner *l, struct cuda_vectors v)
{
	struct rows *x = l->x;

	if (!x->width) {
		const int64_t *size = l->t->g->size;
		const int width = v.cls < 0 || (x->cls >= 0 && size[v.cls] != size[x->cls])
					  ? 0
					  : cuda_vectors_width(l->t, &v);
		l->fits &= width > 0;
		l->width = width > l->width ? width : l->width;
		x->cls = v.cls;
		return;
	}
	v.width = x->width;
	l->padded &= cuda_vectors_padded(l->t, &v) > 0;
	cuda_vectors_list(l->t, &v);
	for (int i = 0; i < v.n; i++) {
		int k = 0;
		while (k < x->nkept && strcmp(x->kept[k].is.element, v.at[i].element) != 0)
			k++;
		if (k == x->nkept)
			LIST_PUSH(l->t->w.scratch, x->kept, x->nkept,
				((struct kept){.is = v.at[i], .first = l->npasses}));
		x->kept[k].last = l->npasses;
		x->kept[k].count += v.at[i].when ? 0 : 1;
		if (!x->lead && !v.at[i].row) {
			x->lead = v.at[i].element;
			x->cls = v.cls;
		}
	}
	l->npasses++;
}

static void
visit_all(struct planner *l, const struct run *r)
{
	struct cuda_text *t = l->t;
	struct pass *pass = NEW_ARRAY(t->w.scratch, struct pass, (size_t)t->g->nops + 1);

	for (int stage = 0; stage < t->g->nstages; stage++) {
		if (r && (!stage || stage == r->sums.stage)) {
			struct pass p = r->sums;
			p.stage = stage;
			t->w.all_local = true;
			visit(l, (struct cuda_vectors){.cls = p.all.n == 1 ? p.all.cls[0] : -1,
					 .need = rows_needed(t, l->x, &p)});
			t->w.all_local = false;
			continue;
		}
		const int n = rows_list_passes(t, l->x, stage, pass);
		for (int i = 0; i < n; i++) {
			const struct pass *p = &pass[i];
			const int cls = p->all.n == 1 ? p->all.cls[0] : -1;
			if (!p->all.n)
				continue;
			l->fits &= p->set || rows_have_vectors(t, l->x, p, cls);
			visit(l, (struct cuda_vectors){.cls = cls,
					 .need = rows_needed(t, l->x, p),
					 .store = p->store});
		}
	}
}

/* The most 32-bit registers that what is kept takes in a pass. */
static int
registers(const struct planner *l)
{
	const struct rows *x = l->x;
	int most = 0;

	for (int pass = 0; pass < l->npasses; pass++) {
		int words = 0;
		for (int k = 0; k < x->nkept; k++)
			if (x->kept[k].keep && x->kept[k].first <= pass && pass <= x->kept[k].last)
				words += x->rounds * x->width *
					 (x->kept[k].is.row ? 4 : x->kept[k].is.bytes) / 4;
		most = words > most ? words : most;
	}
	return most;
}

/*
 * The most 32-bit registers for what a lane keeps. A multiprocessor has 65536, and a lane needs about
 * 40 for other values: 24 are left for each of 1024 lanes. Fewer lanes keep two or three rows of as
 * many elements as they go over (three: 15 warps are resident, enough to hide the latency of memory
 * with loads of 16 bytes), which is what norms, softmax and their gradients read twice.
 */
static int
most_kept(int lanes)
{
	return lanes > 512 ? 65536 / 1024 - 40 : lanes > 256 ? 2 * CUDA_KEPT : 3 * CUDA_KEPT;
}

/* Keeps row buffers, and what else several passes access, as long as lanes have the registers.
 * Returns whether row buffers are kept. */
static bool
keep(const struct planner *l)
{
	struct rows *x = l->x;
	const int most = most_kept(x->lanes);

	for (int k = 0; k < x->nkept; k++)
		x->kept[k].keep = x->kept[k].is.row;
	if (registers(l) > most)
		return false;
	for (int k = 0; k < x->nkept; k++) {
		x->kept[k].keep |= x->kept[k].count > 1;
		if (registers(l) > most)
			x->kept[k].keep = false;
	}
	return true;
}

/* Does an op read a row by number? */
static bool
reads_by_number(const struct cuda_text *t)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		for (int j = 0; o->computed && j < o->f.ninputs; j++)
			if (t->s->tensor[o->in[j]].where == SCHEME_ROW)
				return true;
	}
	return false;
}

/* Are there sums over outer loops, whose parts are not padded? */
static bool
sums_outer(const struct cuda_text *t, const struct rows *x)
{
	bool any = false;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		any |= o->red_set & x->outer && o->out_set & ~x->outer;
	}
	return any;
}

/*
 * Decides whether all passes go over rows in vectors of one width, and what lanes keep. Rows that
 * are not aligned and have fewer vectors than half of the lanes are handled element by element.
 */
void
rows_plan_lanes(struct cuda_text *t, struct rows *x, const struct run *r)
{
	struct planner l = {.t = t, .x = x, .fits = true, .padded = true};

	x->cls = -1;
	visit_all(&l, r);
	int width = r && l.width > 1 ? CUDA_VECTOR_ELEMENTS : l.width;
	const int64_t n = x->cls < 0 ? 0 : t->g->size[x->cls];
	if (!l.fits || !n || n / x->lanes > SCHEME_SUM_BLOCK || reads_by_number(t))
		return;
	if (n % width && 2 * n < (int64_t)width * x->lanes)
		width = 1;
	x->width = width;
	x->odd = n % width;
	visit_all(&l, r);
	x->tail = x->odd && l.padded && !sums_outer(t, x);
	x->odd &= !x->tail;
	const int64_t rounds =
		cuda_divide_up(n + (x->odd ? width - 1 : 0), (int64_t)width * x->lanes);
	x->rounds =
		!r && t->src->target->registers && rounds * width <= CUDA_KEPT ? (int)rounds : 0;
	if (!x->rounds || !keep(&l)) {
		x->rounds = 0;
		for (int k = 0; k < x->nkept; k++)
			x->kept[k].keep = false;
	}
	if ((width == 1 && !x->rounds) || (x->odd && !x->lead))
		*x = (struct rows){.outer = x->outer,
			.lanes = x->lanes,
			.per_block = x->per_block,
			.groups = x->groups,
			.space = x->space};
}
