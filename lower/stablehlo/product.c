/*
 * Sums of products of operands: dot_general, one after the other if there are more than two.
 *
 *     sum(k) a[m,k] * b[k,n]     both have k, which is summed:  contracting
 *     [b,m,n] = sum(k) ...       both have b, which is kept:    batching
 *
 * A loop that is summed and occurs in one factor alone is summed after the last product.
 */
#include "lower/stablehlo/hlo.h"

#include <string.h>

struct factors {
	const struct expr *load[FORM_MAX_INPUTS];
	int n;
	double scale; /* the product of their constant factors */
};

static bool
find_factors(const struct expr *e, struct factors *f)
{
	if (e->kind == EXPR_CALL && e->id == FN_mul)
		return find_factors(e->arg[0], f) && find_factors(e->arg[1], f);
	if (e->kind == EXPR_CONST) {
		f->scale *= e->value;
		return true;
	}
	if (e->kind != EXPR_LOAD || f->n == FORM_MAX_INPUTS)
		return false;
	f->load[f->n++] = e;
	return true;
}

static int
dims_of(const struct hlo_nest *n, uint32_t set, const int8_t *order, int norder, int64_t *dims)
{
	int k = 0;

	for (int i = 0; i < norder; i++)
		if (set >> order[i] & 1)
			dims[k++] =
				(const int8_t *)memchr(n->index, order[i], n->v.rank) - n->index;
	return k;
}

/* Dims of the nest in none of the sets go to the result. */
static void
add_free(struct hlo_nest *r, const struct hlo_nest *n, uint32_t not )
{
	for (int d = 0; d < n->v.rank; d++) {
		if (not >> n->index[d] & 1)
			continue;
		r->index[r->v.rank] = n->index[d];
		r->v.dim[r->v.rank++] = n->v.dim[d];
	}
}

/* The product of two, summed over the loops in `sum` that both have. */
static struct hlo_nest
dot(struct hlo_nests *x, const struct hlo_nest *a, const struct hlo_nest *b, uint32_t sum,
	enum ir_dtype wide)
{
	const uint32_t both = hlo_loops(a) & hlo_loops(b), over = both & sum, batch = both & ~sum;
	int64_t dims[4][HLO_MAX_RANK];
	struct hlo *h = x->h;
	struct hlo_nest r = {.v = hlo_type(wide, 0, NULL)};

	const int nbatch = dims_of(a, batch, x->order, x->norder, dims[0]);
	dims_of(b, batch, x->order, x->norder, dims[1]);
	const int nover = dims_of(a, over, x->order, x->norder, dims[2]);
	dims_of(b, over, x->order, x->norder, dims[3]);
	for (int i = 0; i < nbatch; i++) {
		r.index[i] = a->index[dims[0][i]];
		r.v.dim[r.v.rank++] = a->v.dim[dims[0][i]];
	}
	add_free(&r, a, both);
	add_free(&r, b, both);
	const char *s = "";
	if (nbatch)
		s = hlo_text(h, "lhs_batching_dimensions = %s, rhs_batching_dimensions = %s, ",
			hlo_list(h, dims[0], nbatch), hlo_list(h, dims[1], nbatch));
	s = hlo_text(h,
		"dot_dimension_numbers = #stablehlo.dot<%slhs_contracting_dimensions = %s, "
		"rhs_contracting_dimensions = %s>, precision_config = [#stablehlo<precision "
		"DEFAULT>, #stablehlo<precision DEFAULT>]",
		s, hlo_list(h, dims[2], nover), hlo_list(h, dims[3], nover));
	r.v = hlo_make(h, "stablehlo.dot_general", (struct hlo_value[]){a->v, b->v}, 2, s, r.v);
	return r;
}

/* Loops that more than one of the nests walk. */
static uint32_t
shared_loops(const struct hlo_nest *n, int count)
{
	uint32_t seen = 0, shared = 0;

	for (int i = 0; i < count; i++) {
		shared |= seen & hlo_loops(&n[i]);
		seen |= hlo_loops(&n[i]);
	}
	return shared;
}

/* A sum over a loop that no factor depends on multiplies by its size. */
static double
repeats(const struct form *f, uint32_t walked)
{
	double times = 1;

	for (int i = 0; i < f->nindices; i++)
		if ((f->reduced & ~walked) >> i & 1)
			times *= (double)f->size[i];
	return times;
}

bool
hlo_product(struct hlo_nests *x, enum ir_dtype wide, struct hlo_nest *sum)
{
	struct factors f = {.scale = 1};
	struct hlo_nest n[FORM_MAX_INPUTS];
	uint32_t walked = 0;

	if (x->f.body->dtype != x->f.dtype || !find_factors(x->f.body, &f) || f.n < 2)
		return false;
	for (int i = 0; i < f.n; i++) {
		n[i] = hlo_eval(x, f.load[i]);
		walked |= hlo_loops(&n[i]);
		if (x->failed)
			return true;
	}
	if (!(shared_loops(n, f.n) & x->f.reduced))
		return false;
	struct hlo_nest r = n[0];
	for (int i = 1; i < f.n; i++) {
		uint32_t later = 0;
		for (int k = i + 1; k < f.n; k++)
			later |= hlo_loops(&n[k]);
		if (r.v.dtype != n[i].v.dtype)
			n[i].v = hlo_convert(x->h, (enum ir_dtype)r.v.dtype, n[i].v);
		r = dot(x, &r, &n[i], x->f.reduced & ~later, wide);
	}
	r = hlo_reduce_nest(x, &r, x->f.reduced, REDUCE_SUM);
	const double scale = f.scale * repeats(&x->f, walked);
	if (scale != 1)
		r.v = hlo_two(x->h, "stablehlo.multiply", r.v, hlo_number(x->h, r.v, scale));
	*sum = r;
	return true;
}
