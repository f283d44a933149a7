/*
 * Random programs, compiled: what they report and save is what the interpreter computes, whatever
 * the layout. All go into one library, because compilers take long to start.
 */
#include "passes/pipeline.h"
#include "test/lower/program.h"
#include "test/random/generate.h"

enum {
	COUNT = 24, /* their compilation takes seconds */
	STEPS = 22,
};

/* What is done to every second program before it is compiled; a pass may refuse it. */
static struct ir_module *
transformed(struct batch *b, struct ir_module *m, const char *text)
{
	struct pass_manager *manager = pass_manager_create(b, b->ctx);
	struct pass_pipeline *p = pass_pipeline_create(b);
	struct ir_module *r = ir_module_clone(b, m);
	if (!pass_pipeline_parse(p, manager, "pipeline", text) ||
		!pass_pipeline_check(p, manager, r) ||
		pass_pipeline_run(p, manager, &r, NULL) != PASS_DONE)
		return m;
	return r;
}

static void
programs_compute_what_they_mean(void **state)
{
	(void)state;
	struct batch *b = batch_create();
	const char *text = getenv("DOPT_RANDOM_SEED");
	const char *many = getenv("DOPT_RANDOM_COUNT");
	const int first = text ? atoi(text) : 0, count = many ? atoi(many) : COUNT;
	for (int seed = first; seed < first + count; seed++) {
		const bool train = seed % 4 == 3;
		const struct random_options o = {.steps = STEPS,
			.parallel = seed % 8 != 0,
			.wide = true,
			.fuse = seed % 4 == 0,
			.loss = train};
		struct ir_module *m = random_module(b, b->ctx, (uint64_t)seed, &o);
		if (train)
			m = transformed(b, m, "grad,sgd{lr=0.01},tensorfuse,opfuse");
		else if (seed % 2)
			m = transformed(b, m, "canonicalize,cse,dce,opfuse");
		batch_add_module(b, talloc_asprintf(b, "seed %d", seed), m);
	}
	batch_check(b, "-O1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(programs_compute_what_they_mean)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
