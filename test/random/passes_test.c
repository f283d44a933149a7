/*
 * Passes on random programs: a pass that is not a training pass keeps the meaning of every output
 * and update, bit for bit if it claims to keep bits; grad after a plan equals grad before it, and
 * if there is no gradient it names an op of the plan; the result of a pass is printed and parsed to
 * the same text and can be erased; and cse does not increase the bytes that are live at once.
 */
#include "ir/interp/interp.h"
#include "ir/memory/storage.h"
#include "passes/analysis/cost/memory.h"
#include "passes/registry.h"
#include "test/random/check.h"
#include "test/unit.h"

#include <string.h>

enum {
	COUNT = 1000, /* programs, each through every pass: half a minute under sanitizers */
	STEPS = 25,
	FEW_STEPS = 10,
	/* programs: each run of rewrite proves its rules, a second under sanitizers */
	RULES_EVERY = 8,
	SMALL_COUNT = 2000, /* some of them need another layout for their gradient */
};

/* --- passes that keep the meaning ---------------------------------------------------------------
 */

static const char *const combined[] = {"canonicalize,cse,dce",
	"canonicalize,tensorfuse,canonicalize", "opfuse{undo}", "canonicalize,cse,opfuse,dce",
	"opfuse{policy=xla}", "opfuse,opfuse{undo},opfuse", "parallelize{engine=random}",
	"rewrite{policy=all},rewrite", "rewrite{policy=search}"};
enum { COMBINED = sizeof combined / sizeof *combined, FOR_FUSED = 3 };

static bool
keeps_meaning(struct trial *t, const struct ir_module *m, const char *text)
{
	struct ir_module *after = ir_module_clone(t, m);
	if (!trial_run_passes(t, &after, text))
		return false;
	if (!after)
		return true;
	struct ir_module *plain = trial_erased(t, after);
	return trial_is_fixed_point(t, after) && trial_same(t, m, after) && ir_verify(plain);
}

/* The bytes of all scalars in bodies of loops, each of which has a place in the loop's arena: cse
 * lets them live longer. */
static uint64_t
scalars_in_loops(const struct ir_block *b)
{
	uint64_t bytes = 0;

	IR_FOR_OPS (op, b) {
		if (op->code == OP_while)
			bytes += scalars_in_loops(op->body);
		if (b->parent && op->nresults == 1 && ir_type_elements(op->result[0].type) == 1)
			bytes += STORAGE_ALIGN;
	}
	return bytes;
}

static bool
cse_takes_no_memory(struct trial *t, const struct ir_module *m)
{
	struct ir_module *before = ir_module_clone(t, m);
	struct ir_module *after = ir_module_clone(t, m);

	if (!trial_run_passes(t, &after, "cse"))
		return false;
	const uint64_t had = memory_live(before, ir_func_find(before, "main"), NULL, NULL),
		       has = memory_live(after, ir_func_find(after, "main"), NULL, NULL);
	const bool more = has > had + scalars_in_loops(&ir_func_find(m, "main")->body);
	if (more)
		t->text = talloc_asprintf_append(t->text,
			"cse: %llu bytes live at once, %llu before\n", (unsigned long long)has,
			(unsigned long long)had);
	return !more;
}

static bool
try_pipeline(struct trial *t, const struct ir_module *m, const char *text)
{
	if (keeps_meaning(t, m, text))
		return true;
	t->text = talloc_asprintf_append(t->text, "pipeline %s\n", text);
	return false;
}

/* Every pass of the table that is not a training pass, and some combinations. `fused`: m has fuses
 * already. */
static bool
all_keep_meaning(struct trial *t, const struct ir_module *m, bool fused, bool rules)
{
	const struct pass_registry *r = pass_registry_create(t);
	uint64_t none = 0;
	const int n = fused ? FOR_FUSED : COMBINED;
	for (int i = 0; i < pass_registry_count(r); i++) {
		const struct pass *p = pass_registry_get(r, i);
		const char *text = trial_pass_text(t, p, &none);
		if (!text || strcmp(p->family, "train") == 0 ||
			(!rules && strcmp(p->name, "rewrite") == 0) ||
			(fused && p->conflicts && strstr(p->conflicts, "fused")))
			continue;
		if (!try_pipeline(t, m, text))
			return false;
	}
	for (int i = 0; i < n; i++)
		if ((rules || strncmp(combined[i], "rewrite", 7) != 0) &&
			!try_pipeline(t, m, combined[i]))
			return false;
	return true;
}

/* every fourth without a layout: dp declares one */
static void
keeping_options(uint64_t seed, struct random_options *o)
{
	o->parallel = seed % 4 != 0;
	o->fuse = seed % 3 == 0;
}

static bool
check_keeping(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	struct random_options o;
	keeping_options(seed, &o);
	return cse_takes_no_memory(t, m) && all_keep_meaning(t, m, o.fuse, seed % RULES_EVERY == 0);
}

static void
passes_keep_the_meaning(void **state)
{
	(void)state;
	static const struct trial_test test = {.count = COUNT,
		.steps = STEPS,
		.options = keeping_options,
		.check = check_keeping,
		.found = {1095714253, 710000601400, 710000610884, 904938110798}};
	assert_int_equal(trial_run(&test), 0);
}

/* --- training -----------------------------------------------------------------------------------
 */

static const char *const training[] = {"grad", "grad,sgd{lr=0.01}", "grad,adam{lr=0.01}"};

static void
training_options(uint64_t seed, struct random_options *o)
{
	o->parallel = seed % 4 != 0;
	o->loss = true;
}

/* Is the message since `before` about an op of the program, and not about one that grad made? */
static bool
is_refusal(const struct trial *t, const char *before)
{
	static const char said[] = "error: grad: ";
	return strncmp(t->text + strlen(before), said, strlen(said)) == 0;
}

/* An op without a gradient has none in any layout; then grad names the op of the program. */
static bool
check_training(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	const char *text = training[seed % 3], *before = talloc_strdup(t, t->text);
	struct ir_module *plan = ir_module_clone(t, m), *plain = trial_erased(t, m);
	if (!trial_run_passes(t, &plan, text))
		return false;
	const bool refused = !plan && is_refusal(t, before);
	if (!trial_run_passes(t, &plain, text))
		return false;
	if (!plan || !plain)
		return refused && !plain;
	return cse_takes_no_memory(t, plan) && trial_is_fixed_point(t, plan) &&
	       interp_check_layout(plan, NULL) && interp_check_modules(plain, plan, NULL) &&
	       ir_verify(trial_erased(t, plan));
}

static void
grad_of_a_plan_is_the_grad_of_its_meaning(void **state)
{
	(void)state;
	static const struct trial_test test = {.count = COUNT,
		.steps = STEPS,
		.options = training_options,
		.check = check_training};
	assert_int_equal(trial_run(&test), 0);
}

/* Few ops each: layouts meet more often near the loss and the params. */
static void
grad_of_a_small_plan_is_the_grad_of_its_meaning(void **state)
{
	(void)state;
	static const struct trial_test test = {.count = SMALL_COUNT,
		.steps = FEW_STEPS,
		.options = training_options,
		.check = check_training};
	assert_int_equal(trial_run(&test), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(passes_keep_the_meaning),
		cmocka_unit_test(grad_of_a_plan_is_the_grad_of_its_meaning),
		cmocka_unit_test(grad_of_a_small_plan_is_the_grad_of_its_meaning)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
