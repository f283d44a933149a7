/*
 * How much longer kernels of a profile take than their analytic estimates. A search compares
 * measured kernels with others that do not exist yet, and takes the minimum: if estimates are lower
 * than measured times, or only scattered, it leaves good kernels for ones that turn out slower. So
 * estimates are raised by the factor that covers most measured kernels of their class.
 */
#include "passes/analysis/estimate/internal.h"

#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/profile/key_read.h"

#include <math.h>
#include <talloc.h>

enum {
	/* With fewer measured kernels of a class, nothing is concluded about others. */
	LEAST_KERNELS = 8,
	/* At most this many are read: reading a key takes about 50 us. */
	MOST_KERNELS = 1000,
	/* Kernels of more ops are in another class than those of fewer. */
	FEW_OPS = 4,
};

/* Three of four kernels took at most this many times their estimate. For a single kernel the median
 * would do; but the minimum of several guesses is nearer to the lower quartile of their errors. */
static const double QUANTILE = 0.75;

uint32_t
estimate_sort(uint32_t n, bool product)
{
	return 2 * product + (n > FEW_OPS);
}

uint32_t
estimate_sort_of(const struct estimate_kernel *k)
{
	bool product = false;

	for (uint32_t i = 0; i < k->n; i++)
		product |= k->op[i]->product;
	return estimate_sort(k->n, product);
}

/* Measured times of kernels over their estimates, by class. */
struct ratios {
	double *of[ESTIMATE_SORTS];
	uint32_t n[ESTIMATE_SORTS];
};

static void
add_ratio(struct ratios *r, const struct cost_model *model, uint32_t kind, struct ir_context *ctx,
	const struct profile_op *entry)
{
	struct ir_op *fuse;
	struct ir_module *m = key_read(NULL, ctx, entry->key, &fuse);

	if (!m)
		return;
	struct estimate_kernel *k = estimate_kernel_of(m, model, kind, m, fuse, false, NULL);
	const uint32_t sort = estimate_sort_of(k);
	const double estimate = estimate_analytic(k, model->cluster->kind[kind]);
	r->of[sort][r->n[sort]++] = profile_op_careful(entry) / estimate;
	talloc_free(m);
}

static void
load_kind(struct cost_model *model, uint32_t kind)
{
	struct cost_kind_model *k = &model->kind[kind];
	struct ratios r = {.n = {0}};
	int n = 0, at = 0;

	for (int i = 0; i < k->nops; i++)
		n += profile_op_is_fuse(&k->op[i]);
	if (n < LEAST_KERNELS)
		return;
	struct ir_context *ctx = ir_context_create(NULL);
	const int stride = 1 + n / MOST_KERNELS;
	for (int s = 0; s < ESTIMATE_SORTS; s++)
		r.of[s] = NEW_ARRAY(ctx, double, n);
	for (int i = 0; i < k->nops; i++)
		if (profile_op_is_fuse(&k->op[i]) && at++ % stride == 0)
			add_ratio(&r, model, kind, ctx, &k->op[i]);
	for (int s = 0; s < ESTIMATE_SORTS; s++) {
		if (r.n[s] < LEAST_KERNELS)
			continue;
		sort_double(r.of[s], r.n[s]);
		k->careful[s] = fmax(1, r.of[s][(uint32_t)(QUANTILE * r.n[s])]);
	}
	talloc_free(ctx);
}

void
estimate_careful_load(struct cost_model *model)
{
	for (uint32_t kind = 0; kind < model->cluster->nkinds; kind++) {
		for (int s = 0; s < ESTIMATE_SORTS; s++)
			model->kind[kind].careful[s] = 1;
		load_kind(model, kind);
	}
}
