/*
 * Attempts that go on from what was kept find what those from the beginning do; edits of pipelines put passes where
 * docs/passes.md says that they belong.
 */
#include "ir/base/alloc.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/cost.h"
#include "passes/attempt/attempt.h"
#include "passes/attempt/edit.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const char step[] =
	"module @step\nmesh [dp = 4]\nfunc @main() {\n"
	"%x = input(\"x\") : f32[256,64]\n"
	"%h = call @layer(%x) {as = \"a\", repeat = 4}\n"
	"%l = sum(%h)\noutput(\"loss\", %l)\n}\n"
	"func @layer(%x) {\n"
	"%w = param(\"w\") {init = \"he\"} : f32[64,256]\n"
	"%v = param(\"v\") {init = \"he\"} : f32[256,64]\n"
	"%h = matmul(%x, %w)\n%g = tanh(%h)\n%z = matmul(%g, %v)\nreturn(%z)\n}\n";

/* Common beginnings, passes that look ahead, and one that is refused. */
static const char *const pipelines[] = {
	"inline,dp{axis=dp},grad,adam",
	"inline,dp{axis=dp},grad,adam,opfuse",
	"inline,dp{axis=dp},grad,recompute,shard{axis=dp},adam,opfuse,prefetch",
	"inline,dp{axis=dp},grad,recompute,shard{axis=dp},adam,opfuse,prefetch,overlap,unshard",
	"inline,dp{axis=dp},grad,recompute,shard{axis=dp},adam,opfuse,unshard",
	"inline,grad,adam,parallelize,opfuse",
	"inline,grad,adam,parallelize,opfuse,tensorfuse",
	"inline,grad,adam,parallelize{finish=opfuse},opfuse,tensorfuse",
	"inline,grad,adam,parallelize{finish=opfuse},opfuse",
	"inline,grad,adam,opfuse,grad",
	"inline,dp{axis=dp},grad,adam,opfuse,tensorfuse",
	/* It looks ahead to opfuse alone. */
	"inline,dp{axis=dp},grad,recompute{policy=budget,budget=200KB},shard{axis=dp},adam,opfuse",
	"inline,dp{axis=dp},grad,recompute{policy=budget,budget=200KB},shard{axis=dp},adam,opfuse,prefetch",
	"inline,dp{axis=dp},grad,recompute{policy=budget,budget=200KB},shard{axis=dp},sgd,opfuse",
	"inline,dp{axis=dp},grad,recompute{policy=budget,budget=200KB},shard{axis=dp},adam",
};

enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

static void
kept_steps_do_not_matter(void **state)
{
	void *owner = talloc_new(NULL);
	struct ir_context *ctx = ir_context_create(owner);
	struct pass_manager *manager = pass_manager_create(owner, ctx);
	const struct cost_options generic = {0};
	struct ir_module *m = parse_module(owner, ctx, "step.dir", step, strlen(step), NULL);

	(void)state;
	assert_non_null(m);
	manager->cost = cost_model_create(owner, ctx->diag, &generic);
	struct attempts *kept = attempts_create(owner, manager, m);
	for (int i = 0; i < PIPELINES; i++) {
		struct attempt_result found, fresh, on, again;
		struct attempts *first = attempts_create(owner, manager, m);
		struct ir_module *copy = ir_module_clone(owner, m);
		attempts_run(kept, pipelines[i], &found);
		attempts_run(first, pipelines[i], &fresh);
		attempt_on(manager, manager->cost, copy, pipelines[i], &on);
		attempts_run(kept, pipelines[i], &again);
		assert_true(found.seconds == fresh.seconds && found.seconds == on.seconds);
		assert_true(found.seconds == again.seconds && found.effort == again.effort);
		assert_true(found.peak == fresh.peak && found.host == fresh.host);
		assert_true(found.effort == fresh.effort);
		assert_int_equal(isfinite(found.seconds),
			strcmp(pipelines[i], "inline,grad,adam,opfuse,grad") != 0);
	}
	talloc_free(owner);
}

/* Which passes are kept for which limit: as much as with a manager of that limit. Under sanitizers two limits do. */
static void
limits_are_kept_apart(void **state)
{
	static const uint64_t limits[] = {0, 200000, 1000000, 200000, 0};
	struct attempt_result fresh[3][PIPELINES]; /* of the limits that differ, which come first */
	void *owner = talloc_new(NULL);
	struct ir_context *ctx = ir_context_create(owner);
	struct pass_manager *manager = pass_manager_create(owner, ctx);
	const struct cost_options generic = {0};
	struct ir_module *m = parse_module(owner, ctx, "step.dir", step, strlen(step), NULL);

	(void)state;
	assert_non_null(m);
	manager->cost = cost_model_create(owner, ctx->diag, &generic);
	struct attempts *kept = attempts_create(owner, manager, m);
	for (size_t k = 0; k < (SANITIZED ? 2 : sizeof limits / sizeof *limits); k++)
		for (int i = 0; i < PIPELINES; i++) {
			struct attempt_result found, *expected = &fresh[k < 3 ? k : 4 - k][i];
			manager->budget = limits[k];
			if (k < 3)
				attempts_run(
					attempts_create(owner, manager, m), pipelines[i], expected);
			attempts_limit(kept, limits[k]);
			attempts_run(kept, pipelines[i], &found);
			assert_true(
				found.seconds == expected->seconds && found.peak == expected->peak);
		}
	talloc_free(owner);
}

static const char *
text_of(const void *owner, const struct ir_module *m)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	ir_print(out, m);
	assert_int_equal(fclose(out), 0);
	const char *copy = text_copy(owner, text);
	free(text);
	return copy;
}

/* A step that is taken is the one that the passes make of the module itself. */
static void
steps_can_be_taken(void **state)
{
	void *owner = talloc_new(NULL);
	struct ir_context *ctx = ir_context_create(owner);
	struct pass_manager *manager = pass_manager_create(owner, ctx);
	struct ir_module *m = parse_module(owner, ctx, "step.dir", step, strlen(step), NULL),
			 *copy = ir_module_clone(owner, m);
	struct attempts *a = attempts_create(owner, manager, m);
	struct attempt_result r;

	(void)state;
	assert_null(attempts_step(a, owner, pipelines[9]));
	struct ir_module *made = attempts_step(a, owner, pipelines[1]);
	assert_non_null(made);
	struct ir_module *taker = ir_module_clone(owner, m);
	ir_module_take(taker, made);
	attempt_on(manager, NULL, copy, pipelines[1], &r);
	assert_true(r.seconds == 0);
	assert_true(ir_verify(taker));
	assert_string_equal(text_of(owner, taker), text_of(owner, copy));
	talloc_free(owner);
}

/* A pipeline, what is put in, and what becomes of it. */
static const char *const edits[][3] = {
	{"grad,adam", "recompute", "grad,recompute,adam"},
	{"grad,sgd", "accumulate{steps=4}", "accumulate{steps=4},grad,sgd"},
	{"inline,amp,dp{axis=a},grad,adam", "dp{axis=b}",
		"inline,amp,dp{axis=b},dp{axis=a},grad,adam"},
	{"dp{axis=a},grad,recompute,adam", "shard{axis=a}",
		"dp{axis=a},grad,recompute,shard{axis=a},adam"},
	{"grad,shard{axis=a,stage=1},adam", "shard{axis=b}", "grad,shard{axis=b},adam"},
	{"grad,lamb,opfuse", "offload", "grad,lamb,offload,opfuse"},
	{"parallelize{finish=\"opfuse,prefetch{policy=fsdp}\"},opfuse", "opfuse{policy=xla}",
		"parallelize{finish=\"opfuse,prefetch{policy=fsdp}\"},opfuse{policy=xla}"},
	{"grad,adam,opfuse,prefetch,unshard", "overlap",
		"grad,adam,opfuse,prefetch,overlap,unshard"},
};

static void
passes_are_put_where_they_belong(void **state)
{
	void *owner = talloc_new(NULL);
	const struct pass_registry *registry = pass_registry_create(owner);

	(void)state;
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		const struct pass_list list = pass_list_read(owner, edits[i][0]),
				       put = pass_list_put(owner, &list, registry, edits[i][1]);
		assert_string_equal(pass_list_text(owner, &list), edits[i][0]);
		assert_string_equal(pass_list_text(owner, &put), edits[i][2]);
	}
	const struct pass_list list = pass_list_read(owner, "a,b{c=1},d"),
			       less = pass_list_without(owner, &list, 1),
			       other = pass_list_swapped(owner, &list, 1);
	assert_string_equal(pass_list_text(owner, &less), "a,d");
	assert_string_equal(pass_list_text(owner, &other), "a,d,b{c=1}");
	assert_int_equal(pass_list_find(&list, "b"), 1);
	assert_int_equal(pass_list_find(&list, "c"), -1);
	talloc_free(owner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kept_steps_do_not_matter),
		cmocka_unit_test(limits_are_kept_apart), cmocka_unit_test(steps_can_be_taken),
		cmocka_unit_test(passes_are_put_where_they_belong)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
