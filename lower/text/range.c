/*
 * Loops restricted to iterations that have an effect. If the computed positions of a sum leave
 * their tensor, the sum adds nothing; so the innermost loop that a position depends on runs only
 * over the part in which the position is inside, and needs no test there:
 *
 *     p = y * 2 + k - 1, 0 <= p < 8         for k from max(0, 1 - y * 2) to min(3, 9 - y * 2)
 *
 * A position that exists only if a division has no remainder becomes the loop itself:
 *
 *     p = exact(y + 1 - k, 2), 0 <= p < 4   for p from ceil((k - 1) / 2) ...: y = p * 2 - 1 + k
 *
 * The vectorized loop keeps its length and a test, which costs less than its remainders, except for
 * the second kind: three quarters of its iterations would be wasted.
 */
#include "lower/text/text.h"

#include "ir/base/alloc.h"
#include "ir/loops/build.h"

#include <inttypes.h>
#include <string.h>

/* sum of coef[i] * index i, and a number */
struct affine {
	int64_t coef[FORM_MAX_INDICES], number;
};

static bool
add_affine(const struct expr *e, int64_t factor, struct affine *sum)
{
	if (e->kind == EXPR_CONST) {
		sum->number += factor * (int64_t)e->value;
		return true;
	}
	if (e->kind == EXPR_INDEX) {
		sum->coef[e->id] += factor;
		return true;
	}
	if (e->kind != EXPR_CALL)
		return false;
	switch ((enum scalar_fn)e->id) {
	case FN_add:
		return add_affine(e->arg[0], factor, sum) && add_affine(e->arg[1], factor, sum);
	case FN_sub:
		return add_affine(e->arg[0], factor, sum) && add_affine(e->arg[1], -factor, sum);
	case FN_neg: return add_affine(e->arg[0], -factor, sum);
	case FN_mul:
		for (int i = 0; i < 2; i++)
			if (e->arg[i]->kind == EXPR_CONST)
				return add_affine(
					e->arg[!i], factor * (int64_t)e->arg[i]->value, sum);
		return false;
	default: return false;
	}
}

/* Does the reduction of op o ignore elements whose computed index i is outside? */
static bool
vanishes(const struct scheme_op *o, int i)
{
	for (int j = 0; j < o->f.ninputs; j++) {
		if (!form_access_has(&o->f.in[j], i))
			continue;
		if (o->f.reduce == REDUCE_SUM && o->f.fill[j] == 0 &&
			expr_linearity(o->f.body, 1u << j) == LINEAR_YES)
			return true;
		const double nothing = o->f.reduce == REDUCE_MAX   ? -__builtin_inf()
				       : o->f.reduce == REDUCE_MIN ? __builtin_inf()
								   : 1;
		if ((o->f.reduce == REDUCE_MAX || o->f.reduce == REDUCE_MIN ||
			    o->f.reduce == REDUCE_PROD) &&
			o->f.fill[j] == nothing && o->f.body->kind == EXPR_LOAD &&
			o->f.body->id == j)
			return true;
	}
	return false;
}

/* Position i of op o, times `*divisor`; false if it is not a sum of loops. */
static bool
find_affine(const struct scheme_op *o, int i, struct affine *sum, int64_t *divisor)
{
	const struct expr *e = o->f.at[i];

	*sum = (struct affine){.number = 0};
	*divisor = 1;
	if (e->kind == EXPR_CALL && e->id == FN_exact) {
		if (e->arg[1]->kind != EXPR_CONST || e->arg[1]->value < 1)
			return false;
		*divisor = (int64_t)e->arg[1]->value;
		e = e->arg[0];
	}
	if (!add_affine(e, 1, sum) || o->offset[i].type)
		return false;
	for (int k = 0; k < o->f.nindices; k++)
		if (sum->coef[k] && o->offset[k].type)
			return false;
	return true;
}

/* The index of op o that loop `cls` is; -1: none. */
static int
index_of(const struct scheme_op *o, int cls)
{
	for (int i = 0; i < o->f.nindices; i++)
		if (o->cls[i] == cls)
			return i;
	return -1;
}

/* The affine sum without index `without`, as C. */
static char *
rest_text(struct kernel_text *w, const struct scheme_op *o, const struct affine *sum, int without)
{
	char *text = TEXT(w->scratch, "(%" PRId64, sum->number);

	for (int k = 0; k < o->f.nindices; k++) {
		const int64_t c = sum->coef[k];
		if (k == without || !c || o->cls[k] < 0)
			continue;
		text = text_append(text, c < 0 ? " - i%d" : " + i%d", o->cls[k]);
		if (c != 1 && c != -1)
			text = text_append(text, " * %" PRId64, c < 0 ? -c : c);
	}
	return text_append(text, ")");
}

static bool
same_sum(const struct affine *a, const struct affine *b)
{
	for (int i = 0; i < FORM_MAX_INDICES; i++)
		if (a->coef[i] != b->coef[i])
			return false;
	return a->number == b->number;
}

/* The innermost of the loops that the sum depends on; -1: none of them. */
static int
deepest(const struct scheme_op *o, const struct affine *sum, const int8_t *loop, int nloops)
{
	for (int depth = nloops - 1; depth >= 0; depth--) {
		const int index = index_of(o, loop[depth]);
		if (index >= 0 && sum->coef[index])
			return depth;
	}
	return -1;
}

/* Bounds of v in [0, n) in which 0 <= a * v + rest < size. */
static void
bound_loop(struct kernel_text *w, struct kernel_range *r, int64_t a, int64_t size, const char *rest)
{
	r->most = r->size;
	if (a > 0) {
		r->low = TEXT(w->scratch, "-m_floor(%s, %" PRId64 ")", rest, a);
		r->high =
			TEXT(w->scratch, "-m_floor(%s - %" PRId64 ", %" PRId64 ")", rest, size, a);
	} else {
		r->low = TEXT(
			w->scratch, "-m_floor(%" PRId64 " - %s, %" PRId64 ")", size - 1, rest, -a);
		r->high = TEXT(w->scratch, "m_floor(%s, %" PRId64 ") + 1", rest, -a);
	}
}

/* Bounds of the position p in [0, size) for which v = p * s - rest, or rest - p * s, is in [0, n).
 */
static void
bound_position(struct kernel_text *w, struct kernel_range *r, int64_t a, int64_t s, int64_t size,
	const char *rest)
{
	const int64_t last = r->size - 1;

	r->most = size;
	if (a > 0) {
		r->low = TEXT(w->scratch, "-m_floor(-%s, %" PRId64 ")", rest, s);
		r->high = TEXT(
			w->scratch, "m_floor(%s + %" PRId64 ", %" PRId64 ") + 1", rest, last, s);
		r->value = TEXT(w->scratch, "q%d * %" PRId64 " - %s", r->cls, s, rest);
	} else {
		r->low = TEXT(w->scratch, "-m_floor(%" PRId64 " - %s, %" PRId64 ")", last, rest, s);
		r->high = TEXT(w->scratch, "m_floor(%s, %" PRId64 ") + 1", rest, s);
		r->value = TEXT(w->scratch, "%s - q%d * %" PRId64, rest, r->cls, s);
	}
}

/* All positions of op o that are the same sum as that of index i. */
static uint32_t
same_positions(const struct scheme_op *o, int i)
{
	struct affine sum, other;
	int64_t divisor, by;
	uint32_t set = 0;

	if (!find_affine(o, i, &sum, &divisor))
		return 0;
	for (int k = 0; k < o->f.nindices; k++)
		if (o->f.at[k] && o->f.size[k] == o->f.size[i] && find_affine(o, k, &other, &by) &&
			by == divisor && same_sum(&sum, &other))
			set |= 1u << k;
	return set;
}

/*
 * Sums run backwards over an index that is subtracted in the position of the vector loop: gcc 12
 * unrolls that loop into single elements if its start decreases, at a tenth of the speed.
 */
static void
turn_back(struct kernel_text *w, const struct scheme_op *o, const struct affine *sum)
{
	for (int i = 0; i < o->f.nindices; i++)
		if (sum->coef[i] < 0 && o->cls[i] >= 0 && o->f.reduced >> i & 1)
			w->range[o->cls[i]].backwards = true;
}

static void
limit(struct kernel_text *w, const struct scheme_segment *g, const struct scheme_op *o, int i,
	bool in_memory)
{
	const int nloops = g->norder;
	struct affine sum;
	int64_t s;

	if (!vanishes(o, i) || !find_affine(o, i, &sum, &s) || (s == 1 && scheme_is_inside(o, i)))
		return;
	const int depth = deepest(o, &sum, g->order, nloops);
	if (depth < 0 || w->range[g->order[depth]].inside)
		return;
	const int cls = g->order[depth], index = index_of(o, cls);
	const int64_t a = sum.coef[index];
	/* If an accumulator is made and stored inside of the loop, each of its iterations is
	 * costly. */
	if (!(o->f.reduced >> index & 1) && !in_memory)
		return;
	if (s == 1 && depth == nloops - 1 && nloops > 1) {
		turn_back(w, o, &sum);
		return;
	}
	if (s > 1 && a != 1 && a != -1)
		return;
	struct kernel_range *r = &w->range[cls];
	const char *rest = rest_text(w, o, &sum, index);
	*r = (struct kernel_range){
		.cls = cls, .size = g->size[cls], .inside = same_positions(o, i)};
	if (s == 1)
		bound_loop(w, r, a, o->f.size[i], rest);
	else
		bound_position(w, r, a, s, o->f.size[i], rest);
}

void
kernel_find_ranges(struct kernel_text *w, const struct scheme_segment *g)
{
	const struct scheme_op *o = &w->s->op[g->op[0]];
	uint32_t reduced = o->red_set;

	memset(w->range, 0, sizeof w->range);
	if (g->nops != 1 || g->block || !o->computed || o->scatter ||
		(o->f.reduce != REDUCE_SUM && o->f.reduce != REDUCE_MAX))
		return;
	for (int i = g->norder - 1; i >= 0 && reduced >> g->order[i] & 1; i--)
		reduced &= ~(1u << g->order[i]);
	/* An accumulator that ends in the innermost loops and is not added to memory is stored
	 * once. */
	const bool in_memory = reduced || o->red_set & scheme_outer_set(g);
	for (int i = 0; i < o->f.nindices; i++)
		if (o->f.at[i] && !scheme_loads(o->f.at[i]))
			limit(w, g, o, i, in_memory);
}

void
kernel_open_range(
	struct kernel_text *w, const struct kernel_range *r, const char *first, const char *end)
{
	const char v = r->value ? 'q' : 'i';

	kernel_line(w, "for (int64_t %c%d = m_larger(%s, %s); %c%d < m_smaller(%s, %s); %c%d++) {",
		v, r->cls, r->low, first, v, r->cls, r->high, end, v, r->cls);
	w->indent++;
	if (r->value)
		kernel_line(w, "const int64_t i%d = %s;", r->cls, r->value);
}

bool
kernel_is_ranged(const struct kernel_text *w, int index, char **value)
{
	for (int c = 0; c < SCHEME_MAX_CLASSES; c++) {
		const struct kernel_range *r = &w->range[c];
		if (!(r->inside >> index & 1))
			continue;
		*value = r->value ? TEXT(w->scratch, "q%d", r->cls) : NULL;
		return true;
	}
	return false;
}

bool
kernel_goes_by_position(const struct kernel_text *w)
{
	for (int c = 0; c < SCHEME_MAX_CLASSES; c++)
		if (w->range[c].value)
			return true;
	return false;
}
