/* Samples of a profile. See data.h. */
#include "passes/analysis/estimate/data.h"

#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/estimate/internal.h"
#include "passes/analysis/profile/key_read.h"

#include <math.h>
#include <talloc.h>

const double estimate_share[ESTIMATE_SHARES] = {0.05, 0.10, 0.14, 0.20, 0.50};

/* A shorter kernel is limited by the precision of the clock, and does not matter for a step. */
static const double LEAST_SECONDS = 1e-6;

/*
 * A time that varies from run to run teaches little, and with squares it would distort the fit of
 * reliable ones: a spread of 10 %, about the error of an estimate, halves the weight.
 */
static double
weight_of(const struct profile_op *op)
{
	static const double HALF = 0.1;

	return 1 / (1 + op->spread * op->spread / (HALF * HALF));
}

static void
add_sample(struct estimate_data *s, const struct cost_model *model, struct ir_context *ctx,
	const struct profile_op *op)
{
	struct ir_op *fuse;
	struct ir_module *m = key_read(NULL, ctx, op->key, &fuse);

	if (!m) {
		s->unread++;
		return;
	}
	const struct device *d = model->cluster->kind[0];
	struct estimate_kernel *k = estimate_kernel_of(s, model, 0, m, fuse, true, NULL);
	const double analytic = estimate_analytic(k, d);
	estimate_features(k, analytic, d);
	s->graph[s->n] = &k->graph;
	s->seconds[s->n] = op->median;
	s->analytic[s->n] = analytic;
	s->weight[s->n] = weight_of(op);
	s->key[s->n++] = TEXT(s, "%s", op->key);
	talloc_free(m);
}

static void
make_room(struct estimate_data *s, uint32_t n)
{
	s->graph = RESIZE(s, s->graph, const struct network_graph *, n);
	s->seconds = RESIZE(s, s->seconds, double, n);
	s->analytic = RESIZE(s, s->analytic, double, n);
	s->weight = RESIZE(s, s->weight, double, n);
	s->key = RESIZE(s, s->key, const char *, n);
}

struct estimate_data *
estimate_data_load(const void *owner, struct diag *d, const char *profile)
{
	struct cost_model *model =
		cost_model_create(NULL, d, &(struct cost_options){.profile = profile});

	if (!model)
		return NULL;
	struct estimate_data *s = NEW(owner, struct estimate_data);
	struct ir_context *ctx = ir_context_create(model);
	const struct cost_kind_model *k = &model->kind[0];
	s->device = TEXT(s, "%s", cost_model_device(model)->name);
	make_room(s, (uint32_t)k->nops);
	for (int i = 0; i < k->nops; i++)
		if (profile_op_is_fuse(&k->op[i]) && k->op[i].median >= LEAST_SECONDS)
			add_sample(s, model, ctx, &k->op[i]);
	talloc_free(model);
	return s;
}

void
estimate_data_append(struct estimate_data *to, const struct estimate_data *from)
{
	make_room(to, to->n + from->n);
	for (uint32_t i = 0; i < from->n; i++, to->n++) {
		to->graph[to->n] = from->graph[i];
		to->seconds[to->n] = from->seconds[i];
		to->analytic[to->n] = from->analytic[i];
		to->weight[to->n] = from->weight[i];
		to->key[to->n] = from->key[i];
	}
	to->unread += from->unread;
	if (!to->device)
		to->device = TEXT(to, "%s", from->device);
}

void
estimate_data_targets(const struct estimate_data *data, double *target)
{
	for (uint32_t i = 0; i < data->n; i++)
		target[i] = log(data->seconds[i] / data->analytic[i]);
}

void
estimate_data_network(const struct estimate_data *data, struct network *w, double *seconds)
{
	for (uint32_t i = 0; i < data->n; i++) {
		network_evaluate(w, &data->graph[i], 1, &seconds[i]);
		seconds[i] = data->analytic[i] * exp(seconds[i]);
	}
}

struct estimate_errors
estimate_data_errors(const struct estimate_data *data, const double *seconds)
{
	struct estimate_errors e = {{0}, 0};
	double *error = NEW_ARRAY(NULL, double, data->n);

	for (uint32_t i = 0; i < data->n; i++) {
		error[i] = fabs(seconds[i] / data->seconds[i] - 1);
		for (int s = 0; s < ESTIMATE_SHARES; s++)
			e.within[s] += error[i] <= estimate_share[s] ? 1.0 / data->n : 0;
	}
	sort_double(error, data->n);
	if (data->n)
		e.median = error[data->n / 2];
	talloc_free(error);
	return e;
}
