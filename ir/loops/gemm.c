/*
 * Which sums of products are matrix products? Every index of  out = sum(k) a * b  is in one of four
 * groups, by the tensors that have it: batch (a, b, out), m (a, out), n (b, out), k (a, b). Indices
 * of a group that are adjacent everywhere are joined; one of each group becomes a side of the
 * matrices, so that in each matrix one of its two sides is contiguous; the others become loops
 * around the call.
 */
#include "ir/loops/scheme.h"

#include <string.h>

enum group { BATCH, M, N, K };

/* An index of the product with its strides in a, b and out. */
struct side {
	enum group group;
	int index; /* of the op; -1: several joined */
	int64_t size, a, b, c;
};

struct sides {
	int n;
	struct side at[FORM_MAX_INDICES];
};

static int64_t
index_stride(const struct scheme *s, const struct form_access *x, int tensor, int index)
{
	int64_t stride = 0;
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] == index)
			stride += scheme_dim_stride(&s->tensor[tensor], d);
	return stride;
}

/* The sides of the product; false: an index fits in none of the four groups. */
static bool
find_sides(
	const struct scheme *s, const struct scheme_op *o, int first, int second, struct sides *out)
{
	out->n = 0;
	for (int i = 0; i < o->f.nindices; i++) {
		if (o->f.size[i] == 1)
			continue;
		struct side x = {.index = i, .size = o->f.size[i]};
		x.a = index_stride(s, &o->f.in[first], o->in[first], i);
		x.b = index_stride(s, &o->f.in[second], o->in[second], i);
		x.c = index_stride(s, &o->f.out, o->out, i);
		const bool reduced = o->f.reduced >> i & 1;
		if (reduced ? !x.a || !x.b || x.c : !x.c || !(x.a || x.b))
			return false;
		x.group = reduced ? K : x.a && x.b ? BATCH : x.a ? M : N;
		out->at[out->n++] = x;
	}
	return true;
}

static bool
adjacent(int64_t outer, const struct side *inner, int64_t stride)
{
	return outer == stride * inner->size;
}

/* Joins sides of a group that are one contiguous range in all three tensors. */
static void
join_sides(struct sides *x)
{
	for (int i = 0; i < x->n; i++) {
		for (int j = 0; j < x->n; j++) {
			struct side *p = &x->at[i], *q = &x->at[j];
			if (i == j || p->group != q->group || !adjacent(p->a, q, q->a) ||
				!adjacent(p->b, q, q->b) || !adjacent(p->c, q, q->c))
				continue;
			q->size *= p->size;
			q->index = -1;
			memmove(p, p + 1, (size_t)(x->n - i - 1) * sizeof *p);
			x->n--;
			i = -1;
			break;
		}
	}
}

/* A matrix of `rows` x `cols` with these strides as (transposed, leading dimension); false if
 * neither side is contiguous. */
static bool
matrix(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride, bool *trans, int64_t *ld)
{
	if (cols == 1 || col_stride == 1) {
		*trans = false;
		*ld = rows == 1 ? cols : row_stride;
		return *ld >= cols;
	}
	if (rows == 1 || row_stride == 1) {
		*trans = true;
		*ld = col_stride;
		return *ld >= rows;
	}
	return false;
}

/* Tries the sides m, n, k (NULL: size 1) for the call. */
static bool
fits(const struct side *m, const struct side *n, const struct side *k, struct scheme_gemm *g)
{
	static const struct side one = {BATCH, -1, 1, 0, 0, 0};
	m = m ? m : &one;
	n = n ? n : &one;
	k = k ? k : &one;
	bool trans_c;
	g->m = m->size;
	g->n = n->size;
	g->k = k->size;
	g->m_index = m->index;
	return matrix(g->m, g->k, m->a, k->a, &g->trans_a, &g->lda) &&
	       matrix(g->k, g->n, k->b, n->b, &g->trans_b, &g->ldb) &&
	       matrix(g->m, g->n, m->c, n->c, &trans_c, &g->ldc) && !trans_c;
}

static bool
add_loops(const struct sides *x, const struct side *m, const struct side *n, const struct side *k,
	struct scheme_gemm *g)
{
	g->nloops = g->nsum = 0;
	for (int sum = 0; sum < 2; sum++) {
		for (int i = 0; i < x->n; i++) {
			const struct side *p = &x->at[i];
			if (p == m || p == n || p == k || (p->group == K) != (sum == 1))
				continue;
			g->loop[g->nloops++] = (struct scheme_gemm_loop){p->size, p->a, p->b, p->c};
			g->nsum += sum;
		}
	}
	return true;
}

/* Side i of a group (from 0), NULL after the last; `*none` if the group is empty. */
static const struct side *
side_of(const struct sides *x, enum group group, int i)
{
	for (int j = 0; j < x->n; j++)
		if (x->at[j].group == group && i-- == 0)
			return &x->at[j];
	return NULL;
}

/* The largest call over all choices of sides. */
static bool
choose(const struct sides *x, struct scheme_gemm *best)
{
	double most = 0;
	for (int i = 0; i == 0 || side_of(x, M, i); i++) {
		for (int j = 0; j == 0 || side_of(x, N, j); j++) {
			for (int l = 0; l == 0 || side_of(x, K, l); l++) {
				const struct side *m = side_of(x, M, i), *n = side_of(x, N, j);
				const struct side *k = side_of(x, K, l);
				struct scheme_gemm g = *best;
				if (!fits(m, n, k, &g) ||
					(double)g.m * (double)g.n * (double)g.k <= most)
					continue;
				most = (double)g.m * (double)g.n * (double)g.k;
				add_loops(x, m, n, k, &g);
				*best = g;
			}
		}
	}
	return most > 0;
}

/*
 * Is o a matrix product of two of its operands, of floating-point type? Both may be one tensor. A
 * product without a sum, or without m and n, is not worth a library call.
 */
bool
scheme_find_gemm(const struct scheme *s, const struct scheme_op *o, struct scheme_gemm *g)
{
	const struct expr *e = o->f.body;
	if (o->f.reduce != REDUCE_SUM || o->absent || o->computed ||
		ir_dtype_class((enum ir_dtype)o->f.dtype) != IR_FLOAT)
		return false;
	if (e->kind != EXPR_CALL || e->id != FN_mul || e->arg[0]->kind != EXPR_LOAD ||
		e->arg[1]->kind != EXPR_LOAD || e->arg[0]->id == e->arg[1]->id)
		return false;
	for (int swap = 0; swap < 2; swap++) {
		const int first = e->arg[swap]->id, second = e->arg[!swap]->id;
		struct sides x;
		if (e->arg[0]->dtype != o->f.dtype || e->arg[1]->dtype != o->f.dtype ||
			!find_sides(s, o, first, second, &x))
			return false;
		join_sides(&x);
		*g = (struct scheme_gemm){.first = first, .second = second};
		const bool works = side_of(&x, K, 0) && (side_of(&x, M, 0) || side_of(&x, N, 0));
		if (works && choose(&x, g))
			return true;
	}
	return false;
}
