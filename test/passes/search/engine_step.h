/*
 * Steps for tests of search engines, made from text, on a device with round numbers: 1 TFLOP/s, 100
 * GB/s, 1 us a kernel. A pointwise kernel of n floats takes 1 us and what its bytes take; an
 * allgather between 2 places takes alpha + half the whole tensor through the link.
 */
#ifndef TEST_PASSES_SEARCH_ENGINE_STEP_H
#define TEST_PASSES_SEARCH_ENGINE_STEP_H

#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"
#include "passes/search/search.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_LINKS "link_latency = 10us, link_bandwidth = 10GB/s"

struct engine_step {
	struct ir_context *ctx;
	struct cost_model *model;
	struct ir_module *m;
	struct plan *plan;
};

/* The step between devices with such links; talloc_free it. */
static inline struct engine_step *
engine_step(const char *links, const char *body)
{
	struct engine_step *s = talloc_zero(NULL, struct engine_step);

	s->ctx = ir_context_create(s);
	char *cluster =
		talloc_asprintf(s, "cluster @t {\n device test {launch = 1us, %s}\n}\n", links);
	struct cluster *c = cluster_parse(s, s->ctx, "t.cluster", cluster, strlen(cluster));
	assert_non_null(c);
	s->model = cost_model_create(s, s->ctx->diag, &(struct cost_options){.cluster = c});
	assert_non_null(s->model);
	char *text = talloc_asprintf(s, "module @m\nmesh [dp = 2]\nfunc @main() {\n%s}\n", body);
	s->m = parse_module(s, s->ctx, "step.dir", text, strlen(text), NULL);
	assert_non_null(s->m);
	s->plan = plan_create(s, s->model, s->m);
	assert_non_null(s->plan);
	return s;
}

/*
 * A backward pass in small: `layers` kernels one behind the other, each of n floats at one place,
 * and what each makes is gathered.
 */
static inline struct engine_step *
engine_layers(const char *links, int layers, int n)
{
	char *text = talloc_asprintf(NULL, "  %%x = input(\"x\") : f32[%d/dp]\n", 2 * n);

	for (int i = 0; i < layers; i++) {
		if (i)
			text = talloc_asprintf_append(text, "  %%g%d = neg(%%g%d)\n", i, i - 1);
		else
			text = talloc_asprintf_append(text, "  %%g0 = neg(%%x)\n");
		text = talloc_asprintf_append(text,
			"  %%r%d = allgather(%%g%d) {axis = dp}\n"
			"  output(\"r%d\", %%r%d)\n",
			i, i, i, i);
	}
	struct engine_step *s = engine_step(links, text);
	talloc_free(text);
	return s;
}

/* All that can be seen of a plan, as text. */
static inline char *
engine_plan_text(const void *owner, const struct plan *p)
{
	char *text = talloc_strdup(owner, "");

	for (uint32_t i = 0; i < plan_count(p); i++) {
		uint32_t node = plan_at(p, i);
		struct plan_node it = plan_node(p, node);
		text = talloc_asprintf_append(text,
			"%s %u x%u %lld:", it.kind == PLAN_KERNEL ? "kernel" : "message", node,
			it.parts, (long long)it.duration);
		for (uint32_t k = 0; k < it.nops; k++)
			text = talloc_asprintf_append(text, " %x", it.op[k]);
		text = talloc_asprintf_append(text, "\n");
	}
	return text;
}

/* Searches; the plan is at the result, which it takes as long as it says. */
static inline struct search_result
engine_search(struct plan *p, const struct search_options *o)
{
	struct search_result r;

	search_run(p, o, &r);
	assert_true(r.after <= r.before);
	assert_int_equal(plan_replay(p), r.after);
	return r;
}

/*
 * Six pointwise kernels of a million floats become one: 6 (1 us + 8 MB / 100 GB/s) before, as one 1
 * us + 80 us.
 */
static inline void
engine_joins_a_chain(const struct search_options *o)
{
	struct engine_step *s = engine_step(ENGINE_LINKS,
		"  %x = input(\"x\") : f32[2000000/dp]\n  %a = neg(%x)\n  %b = exp(%a)\n"
		"  %c = tanh(%b)\n  %d = neg(%c)\n  %e = exp(%d)\n  %f = neg(%e)\n"
		"  output(\"f\", %f)\n");
	struct search_result r = engine_search(s->plan, o);

	assert_int_equal(r.before, 6 * 81 * 1000000LL);
	assert_int_equal(r.after, 81 * 1000000LL);
	assert_int_equal(r.end, SEARCH_FINISHED);
	assert_int_equal(plan_count(s->plan), 1);
	talloc_free(s);
}

/* A search of that step that has more than `most` candidates ends when it is told to. */
static inline void
engine_stops_when_told(struct engine_step *s, struct search_options o, uint64_t most)
{
	volatile int interrupted = 1;

	for (o.evaluations = 1; o.evaluations < most; o.evaluations += most / 4) {
		struct plan *p = plan_clone(s, s->plan);
		struct search_result r = engine_search(p, &o);
		assert_int_equal(r.end, SEARCH_EVALUATIONS);
		assert_int_equal(r.evaluations, o.evaluations);
	}
	o.evaluations = 0;
	o.interrupted = &interrupted;
	struct search_result r = engine_search(s->plan, &o);
	assert_int_equal(r.end, SEARCH_INTERRUPTED);
	assert_int_equal(r.evaluations, 0);
	interrupted = 0;
	o.time_limit = 1e-9;
	r = engine_search(s->plan, &o);
	assert_int_equal(r.end, SEARCH_TIME);
	assert_int_equal(r.evaluations, 0);
	talloc_free(s);
}

static inline uint32_t
engine_count(const struct plan *p, enum plan_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan_count(p); i++)
		n += plan_node(p, plan_at(p, i)).kind == kind;
	return n;
}

#endif
