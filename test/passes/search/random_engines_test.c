/*
 * Engines on random programs: what they leave a plan at is no slower than the program, takes what
 * they say, makes a module that means what the program means, and is the same for one seed.
 */
#include "ir/interp/interp.h"
#include "passes/search/search.h"
#include "test/passes/search/devices.h"
#include "test/unit.h"

#include <string.h>

enum {
	COUNT = 200, /* programs, each on every device by every engine */
	STEPS = 25,
	WHOLE_EVALUATIONS = 30, /* each puts a module together */
	DOPT_EVALUATIONS = 2000,
};

static struct search_options
options_of(const struct plan *p, enum search_engine engine, uint64_t seed)
{
	struct search_options o = search_defaults();

	o.engine = engine;
	o.seed = seed;
	o.unchanged = 50;
	o.coarsen = seed & 1;
	o.partial = seed & 2;
	o.symmetry = seed & 4;
	if (engine == SEARCH_DOPT)
		o.evaluations = DOPT_EVALUATIONS;
	if (plan_is_whole(p))
		o.evaluations = WHOLE_EVALUATIONS;
	return o;
}

static char *
text_of(const void *owner, const struct ir_module *m)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	ir_print(out, m);
	fclose(out);
	char *copy = talloc_strdup(owner, text);
	free(text);
	return copy;
}

/* The module that the engine makes of m; NULL: something is wrong with it. */
static struct ir_module *
search_module(struct trial *t, const struct ir_module *m, const struct cost_model *model,
	enum search_engine engine, uint64_t seed)
{
	struct plan *p = plan_create(t, model, ir_module_clone(t, m));
	const struct search_options o = options_of(p, engine, seed);
	struct search_result r;

	search_run(p, &o, &r);
	if (r.after > r.before || plan_replay(p) != r.after) {
		wrong(t, "the plan is slower than it was, or than it is said to be");
		return NULL;
	}
	struct ir_module *after = ir_module_clone(t, m);
	if (!plan_apply(p, after, NULL)) {
		wrong(t, "the plan does not put every op after its operands");
		return NULL;
	}
	const struct cost_step *step = cost_step_create(t, model, after);
	if (step && step->r.makespan == r.after)
		return after;
	wrong(t, "the module takes something else than the plan");
	return NULL;
}

static bool
check_engine(struct trial *t, const struct ir_module *m, const struct cost_model *model,
	enum search_engine engine, uint64_t seed)
{
	struct ir_module *a = search_module(t, m, model, engine, seed);
	struct ir_module *b = search_module(t, m, model, engine, seed);

	if (!a || !b)
		return false;
	if (strcmp(text_of(t, a), text_of(t, b)) != 0)
		return wrong(t, "two searches with one seed differ");
	if (!ir_verify(a) || !interp_check_modules(m, a, NULL))
		return wrong(t, "what the plan makes means something else");
	return true;
}

static bool
check_engines(
	struct trial *t, const struct ir_module *m, const struct cost_model *model, uint64_t seed)
{
	static const enum search_engine engine[] = {SEARCH_DISCO, SEARCH_DPRO, SEARCH_DOPT};

	for (size_t k = 0; k < sizeof engine / sizeof *engine; k++)
		if (!check_engine(t, m, model, engine[k], seed))
			return wrong(t, search_engine_name(engine[k]));
	return true;
}

static bool
check(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	return on_every_device(t, m, seed, check_engines);
}

static const struct trial_test test = {.count = COUNT,
	.steps = STEPS,
	.options = device_options,
	.check = check,
	.found = {2543212985}};

static void
engines_keep_the_meaning(void **state)
{
	(void)state;
	assert_int_equal(trial_run(&test), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(engines_keep_the_meaning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
