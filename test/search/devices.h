/* Devices for random programs, and what their tests say. */
#ifndef TEST_SEARCH_DEVICES_H
#define TEST_SEARCH_DEVICES_H

#include "parser/cluster/cluster.h"
#include "passes/analysis/cost/cost.h"
#include "test/random/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <talloc.h>

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

static inline bool
wrong(struct trial *t, const char *what)
{
	t->text = talloc_asprintf_append(t->text, "%s\n", what);
	return false;
}

#endif
