/* Running a pipeline: one pass after another, each verified, each with its options and scratch. */
#include "passes/manager/pipeline_impl.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/memory/issue.h"
#include "passes/manager/facts.h"

#include <string.h>
#include <talloc.h>

/* Does the module have the fact that the pass claims to provide, as far as it can be read off? */
static bool
check_provided(const struct pass_entry *e, struct pass_manager *manager, const struct ir_module *m)
{
	const char *at = e->pass->provides, *word;
	size_t length;
	const unsigned shown = at ? pass_facts_shown(m) : 0;

	while (pass_fact_next(&at, &word, &length)) {
		const bool negated = *word == '!', absent = negated != pass_entry_undoes(e);
		const struct pass_fact *fact = pass_fact_find(word + negated, length - negated);
		if (!fact || (!absent && !fact->sure) || pass_fact_holds(fact, shown) != absent)
			continue;
		diag_error(manager->ctx->diag, e->loc,
			"bug in pass '%s': it provides '%.*s', which does not hold after it",
			e->pass->name, (int)length, word);
		return false;
	}
	return true;
}

/*
 * Has the module none of the facts that the pass conflicts with? pass_pipeline_check() knows what
 * passes declare; some, like `plan`, declare less than they may leave.
 */
static bool
check_input(const struct pass_entry *e, struct pass_manager *manager, const struct ir_module *m)
{
	const char *at = pass_entry_undoes(e) ? NULL : e->pass->conflicts, *word;
	size_t length;
	const unsigned shown = at ? pass_facts_shown(m) : 0;
	bool ok = true;

	while (pass_fact_next(&at, &word, &length)) {
		const struct pass_fact *fact = pass_fact_find(word, length);
		if (!fact || !pass_fact_holds(fact, shown))
			continue;
		pass_entry_conflicts(e, manager->ctx->diag, word, length);
		ok = false;
	}
	return ok;
}

static enum pass_status
check_output(const struct pass_entry *e, struct pass_manager *manager, struct ir_module *m)
{
	if (!manager->verify_each)
		return PASS_DONE;
	if (!ir_verify(m)) {
		diag_error(manager->ctx->diag, e->loc,
			"bug in pass '%s': it produced an invalid module", e->pass->name);
		return PASS_BUG;
	}
	if (!check_provided(e, manager, m))
		return PASS_BUG;
	if (issue_check(m))
		return PASS_DONE;
	diag_note(manager->ctx->diag, e->loc, "in pass '%s'", e->pass->name);
	return PASS_FAILED;
}

static enum pass_status
run_pass(struct pass_run *run, const struct pass_entry *e, struct ir_module *m)
{
	struct diag *d = run->ctx->diag;
	unsigned errors = diag_errors(d);

	if (!check_input(e, run->manager, m) || !pass_values_resolve(run->pass, run->value, m))
		return PASS_FAILED;
	if (run->pass->run(run, m)) {
		ir_module_renumber_if_sparse(m);
		return PASS_DONE;
	}
	if (run->bug)
		return PASS_BUG;
	if (diag_errors(d) == errors) {
		diag_error(d, e->loc, "bug in pass '%s': it failed without reporting an error",
			e->pass->name);
		return PASS_BUG;
	}
	diag_note(d, e->loc, "in pass '%s'", e->pass->name);
	return PASS_FAILED;
}

/* Runs entry e on *m and calls the hooks; *m becomes the input again if they drop the output. */
static enum pass_status
run_entry(struct pass_run *run, const struct pass_entry *e, struct ir_module **m,
	const struct pass_hooks *hooks)
{
	struct ir_module *input = NULL;
	bool drop = false;

	if (hooks->before && !hooks->before(hooks->data, e, *m))
		return PASS_FAILED;
	if (hooks->keep_input)
		input = ir_module_clone(talloc_parent(*m), *m);
	double start = clock_seconds();
	enum pass_status status = run_pass(run, e, *m);
	double seconds = clock_seconds() - start;
	if (status == PASS_DONE)
		status = check_output(e, run->manager, *m);
	if (status == PASS_DONE && hooks->after &&
		!hooks->after(hooks->data, run, e, input, *m, seconds, &drop))
		status = PASS_FAILED;
	if (drop && input) {
		talloc_free(*m);
		*m = input;
	} else {
		talloc_free(input);
	}
	return status;
}

enum pass_status
pass_pipeline_run_part(const struct pass_pipeline *p, int first, int end,
	struct pass_manager *manager, struct ir_module **m, const struct pass_hooks *hooks)
{
	static const struct pass_hooks none = {0};
	enum pass_status status = PASS_DONE;

	for (int i = first; i < end && status == PASS_DONE; i++) {
		const struct pass_entry *e = &p->entry[i];
		struct pass_run run = {.pass = e->pass,
			.ctx = manager->ctx,
			.loc = e->loc,
			.cost = manager->cost,
			.seed = manager->seed,
			.scratch = alloc_scratch(p),
			.value = e->value,
			.manager = manager,
			.pipeline = p,
			.at = i};
		manager->ncounters = 0;
		TALLOC_FREE(manager->counter);
		status = run_entry(&run, e, m, hooks ? hooks : &none);
		talloc_free(run.scratch);
	}
	return status;
}

enum pass_status
pass_pipeline_run(const struct pass_pipeline *p, struct pass_manager *manager, struct ir_module **m,
	const struct pass_hooks *hooks)
{
	return pass_pipeline_run_part(p, 0, p->n, manager, m, hooks);
}

char *
pass_pipeline_text(const void *owner, const struct pass_pipeline *p, int first)
{
	char *text = text_copy(owner, "");

	for (int i = first; i < p->n; i++)
		text = text_append(text, i > first ? ",%s" : "%s", p->entry[i].text);
	return text;
}
