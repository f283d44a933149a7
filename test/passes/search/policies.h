/*
 * Is a search never slower than a policy? Shared by the tests over models and over random programs:
 * what passes make of a step, what that takes by the cost model, and profiles that have some of its
 * kernels and lack the others.
 */
#ifndef TEST_PASSES_SEARCH_POLICIES_H
#define TEST_PASSES_SEARCH_POLICIES_H

#include "passes/analysis/cost/internal.h"
#include "passes/analysis/profile/key.h"
#include "passes/manager/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

static const char *const policies_kernels[] = {"", "opfuse{policy=greedy}", "opfuse{policy=xla}"};

static const char *const policies_messages[] = {"", "tensorfuse{policy=size}",
	"tensorfuse{policy=ddp}", "tensorfuse{policy=horovod}", "tensorpart{policy=byteps}",
	"tensorpart{policy=replay}"};

/* What the passes make of a clone of m; NULL: one of them refuses it. Owned by `owner`. */
static inline struct ir_module *
policies_apply(
	const void *owner, const struct ir_module *m, struct cost_model *model, const char *text)
{
	struct ir_module *result = ir_module_clone(owner, m);
	struct pass_manager *manager = pass_manager_create(owner, m->ctx);
	struct pass_pipeline *p = pass_pipeline_create(owner);

	manager->verify_each = true;
	manager->cost = model;
	const bool good = pass_pipeline_parse(p, manager, "pipeline", text) &&
			  pass_pipeline_check(p, manager, result) &&
			  pass_pipeline_run(p, manager, &result, NULL) == PASS_DONE;
	return good ? result : NULL;
}

/* Seconds of a step; negative: the model cannot say. */
static inline double
policies_seconds(const struct cost_model *model, struct ir_module *m)
{
	struct cost_report report;

	return m && cost_evaluate(model, m, &report) ? report.iteration : -1;
}

/* Faster than `than` in more than the last digits? */
static inline bool
policies_beats(double seconds, double than)
{
	return seconds >= 0 && seconds < than * (1 - 1e-12);
}

/* On one device there is nothing to put into messages. */
static inline size_t
policies_of_messages(const struct ir_module *m)
{
	return ir_devices(m) > 1 ? sizeof policies_messages / sizeof *policies_messages : 1;
}

/*
 * The first policies that make a faster step of m than the search; NULL: none does. Also NULL where
 * the model cannot say what the step takes.
 */
static inline const char *
policies_faster(
	const void *owner, const struct ir_module *m, struct cost_model *model, const char *search)
{
	const double found = policies_seconds(model, policies_apply(owner, m, model, search));
	const size_t nk = sizeof policies_kernels / sizeof *policies_kernels;
	const size_t nm = policies_of_messages(m);

	if (policies_seconds(model, ir_module_clone(owner, m)) < 0)
		return NULL;
	if (found < 0)
		return "the search fails";
	for (size_t i = 0; i < nk * nm; i++) {
		const char *k = policies_kernels[i / nm], *p = policies_messages[i % nm];
		char *text = talloc_asprintf(owner, "%s%s%s", k, *k && *p ? "," : "", p);
		const double t = policies_seconds(model, policies_apply(owner, m, model, text));
		if (policies_beats(t, found))
			return talloc_asprintf(
				owner, "'%s' takes %.9g s, '%s' %.9g s", text, t, search, found);
	}
	return NULL;
}

static inline uint64_t
policies_hash(const char *text, uint64_t seed)
{
	for (seed += 14695981039346656037u; *text; text++)
		seed = (seed ^ (unsigned char)*text) * 1099511628211u;
	return seed ^ seed >> 29;
}

/* Lines for two of three kernels of the module, at 0.3 to 3 times what the model says; how many. */
static inline int
policies_measure(FILE *out, struct ir_module *m, const struct cost_model *model, uint64_t seed)
{
	int lines = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		bool measured;
		if (cost_op_kind(m, op) != COST_COMPUTE)
			continue;
		char *key = cost_op_key(NULL, m, op);
		if (!key) /* a loop, whose time depends on data */
			continue;
		const uint64_t h = policies_hash(key, seed);
		if (h % 3) {
			const double factor = 0.3 + 2.7 * (double)(h >> 8 & 1023) / 1023;
			fprintf(out,
				"op ranks=1 buffers=step median=%.9g spread=0.01 runs=9 flops=1 "
				"bytes=1 time=2026-11-22T00:00:00Z key=%s\n",
				cost_plain_seconds(model, 0, m, op, NULL, &measured) * factor, key);
			lines++;
		}
		talloc_free(key);
	}
	return lines;
}

/*
 * A model of the same machine with such a profile, of the kernels of the step and of both policies;
 * the model itself where that has no lines.
 */
static inline struct cost_model *
policies_profiled(const void *owner, const struct ir_module *m, struct cost_model *model,
	struct cluster *cluster, const char *device, uint64_t seed)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof path, "%s/policiesXXXXXX", tmp && *tmp ? tmp : "/tmp");
	FILE *out = fdopen(mkstemp(path), "w");
	if (!out)
		return NULL;
	int lines = 0;
	fprintf(out, "dopt-profile 2\ndevice \"%s\" backend \"test\"\n", device);
	for (size_t k = 0; k < sizeof policies_kernels / sizeof *policies_kernels; k++) {
		struct ir_module *made = policies_apply(owner, m, model, policies_kernels[k]);
		if (made)
			lines += policies_measure(out, made, model, seed);
	}
	fclose(out);
	if (lines)
		model = cost_model_create(owner, m->ctx->diag,
			&(struct cost_options){.cluster = cluster, .profile = path});
	unlink(path);
	return model;
}

#endif
