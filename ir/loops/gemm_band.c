/*
 * The band of a product in terms of the library call. Of the known bands (band.h), only those of
 * two sides of the call can be used: the one that skips most is taken.
 */
#include "ir/loops/scheme.h"

#include <string.h>

/* The band of a matrix whose rows and columns are these indices of the op. */
static bool
fits(const struct band *b, int row, int col, struct rt_gemm_band *to)
{
	to->low = b->row == row ? b->low : -b->high;
	to->high = b->row == row ? b->high : -b->low;
	return (b->row == row && b->col == col) || (b->row == col && b->col == row);
}

static bool
matrix_band(const struct scheme_gemm *g, const struct band_product *x, struct rt_gemm_band *to)
{
	to->of = x->load < 0 ? RT_GEMM_C : x->load == g->first ? RT_GEMM_A : RT_GEMM_B;
	const int row = to->of == RT_GEMM_B ? g->k_index : g->m_index;
	const int col = to->of == RT_GEMM_A ? g->k_index : g->n_index;
	return row >= 0 && col >= 0 && fits(&x->band, row, col, to);
}

static double
points(const struct scheme_gemm *g, const struct rt_gemm_band *b)
{
	return b->of == RT_GEMM_NONE ? (double)g->m * (double)g->n * (double)g->k
				     : rt_gemm_band_points(b, g->m, g->n, g->k);
}

static void
find_bands(struct scheme *s, struct bands *bands)
{
	struct band_product found[3];

	for (int i = 0; i < s->nsegments; i++) {
		struct scheme_segment *seg = &s->segment[i];
		struct scheme_gemm *g = &seg->gemm;
		if (seg->kind != SCHEME_GEMM)
			continue;
		const int n = band_find(bands, s->op[seg->op[0]].op, found);
		for (int k = 0; k < n; k++) {
			struct rt_gemm_band b;
			/* Tests need whole operands, but slabs have only parts. */
			if (s->nslabs && found[k].ntests)
				continue;
			if (!matrix_band(g, &found[k], &b) || points(g, &b) >= points(g, &g->band))
				continue;
			g->band = b;
			g->ntests = found[k].ntests;
			memcpy(g->test, found[k].test, sizeof g->test);
		}
	}
}

struct scheme *
scheme_of_program(const void *owner, const struct ir_module *m, struct arena *a,
	const struct ir_op *kernel, struct bands *bands)
{
	struct scheme *s =
		bands ? scheme_of_host(owner, m, a, kernel) : scheme_create(owner, m, a, kernel);

	if (s && bands)
		find_bands(s, bands);
	return s;
}
