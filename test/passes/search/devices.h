/* Devices for random programs, and what their tests say. */
#ifndef TEST_PASSES_SEARCH_DEVICES_H
#define TEST_PASSES_SEARCH_DEVICES_H

#include "parser/cluster/cluster.h"
#include "passes/analysis/cost/internal.h"
#include "test/random/check.h"
#include "test/unit.h"

#include <string.h>

/* Kernels queued ahead; one thread that posts and waits; one without overlap. */
static const char *const devices[] = {
	"async = 1, overlap = 1, launch = 2us, link_latency = 3us, link_bandwidth = 1GB/s",
	"async = 0, overlap = 1, post = 1us, wait = 2us, step = 3us, launch = 2us, link_latency = "
	"3us, "
	"link_bandwidth = 1GB/s",
	"async = 0, overlap = 0, post = 1us, wait = 2us, step = 3us, launch = 2us, link_latency = "
	"3us, "
	"link_bandwidth = 1GB/s",
};

static inline const struct cost_model *
model_of(struct trial *t, const char *attributes)
{
	char *text = talloc_asprintf(t, "cluster @t {\n device test {%s}\n}\n", attributes);
	struct cluster *c = cluster_parse(t, t->ctx, "t.cluster", text, strlen(text));
	assert_non_null(c);
	return cost_model_create(t, t->ctx->diag, &(struct cost_options){.cluster = c});
}

/* Programs with layouts, mostly, and with kernels of several ops, at times. */
static inline void
device_options(uint64_t seed, struct random_options *o)
{
	o->parallel = seed % 4 != 0;
	o->fuse = seed % 5 == 0;
	o->wide = true;
}

static inline bool
wrong(struct trial *t, const char *what)
{
	t->text = talloc_asprintf_append(t->text, "%s\n", what);
	return false;
}

/* A device on which the step cannot be replayed, having too many that differ, is left out. */
static inline bool
on_every_device(struct trial *t, const struct ir_module *m, uint64_t seed,
	bool (*check)(
		struct trial *, const struct ir_module *, const struct cost_model *, uint64_t))
{
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		const struct cost_model *model = model_of(t, devices[i]);
		if (!cost_step_create(t, model, ir_module_clone(t, m)))
			continue;
		if (!check(t, m, model, seed))
			return wrong(t, devices[i]);
	}
	return true;
}

#endif
