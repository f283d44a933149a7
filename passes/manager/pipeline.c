/* Running a pipeline: one pass after another, each verified, each with its options and scratch. */
#include "passes/manager/pipeline_impl.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/memory/issue.h"
#include "passes/manager/facts.h"

#include <string.h>
#include <talloc.h>

struct pass_manager *
pass_manager_create(const void *owner, struct ir_context *ctx)
{
	struct pass_manager *manager = NEW(owner, struct pass_manager);

	manager->ctx = ctx;
	manager->registry = pass_registry_create(manager);
	manager->verify_each = true;
	return manager;
}

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

bool
pass_bug(struct pass_run *run, const struct ir_op *op, const char *what)
{
	diag_error(run->ctx->diag, op->loc, "bug in pass '%s': %s", run->pass->name, what);
	run->bug = true;
	return false;
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

void
pass_reorders(struct pass_run *run)
{
	run->reordered = true;
}

void
pass_changes_rounding(struct pass_run *run)
{
	run->rounded = true;
}

void
pass_redefines(struct pass_run *run)
{
	run->redefined = true;
}

double
pass_time_limit(const struct pass_run *run)
{
	return run->manager->time_limit;
}

uint64_t
pass_evaluations(const struct pass_run *run)
{
	return run->manager->evaluations;
}

FILE *
pass_progress(const struct pass_run *run)
{
	return run->manager->progress;
}

const char *
pass_instead(const struct pass_run *run)
{
	return run->manager->instead;
}

const char *
pass_explain(const struct pass_run *run)
{
	if (run->manager->explained)
		*run->manager->explained = true;
	return run->manager->explain;
}

uint64_t
pass_budget(const struct pass_run *run)
{
	if (run->manager->asked_budget)
		*run->manager->asked_budget = true;
	return run->manager->budget;
}

/* A manager that does not record the statistics of inner passes under the name of the outer one. */
static struct pass_manager *
inner_manager(struct pass_run *run)
{
	struct pass_manager *inner = COPY_ARRAY(run->scratch, struct pass_manager, run->manager, 1);

	inner->counter = NULL;
	inner->ncounters = 0;
	return inner;
}

/* If an inner pass changes bits, so does the outer one. */
static bool
note_bits(void *data, const struct pass_run *inner, const struct pass_entry *e,
	struct ir_module *input, struct ir_module *m, double seconds, bool *drop)
{
	struct pass_run *outer = data;

	(void)e, (void)input, (void)m, (void)seconds, (void)drop;
	outer->redefined = outer->redefined || inner->redefined;
	outer->rounded = outer->rounded || inner->rounded;
	outer->reordered = outer->reordered || inner->reordered || !inner->pass->keeps_bits;
	return true;
}

static bool
apply(struct pass_run *run, struct pass_manager *inner, struct ir_module *m, const char *text,
	const char *then)
{
	const struct pass_hooks hooks = {.data = run, .after = note_bits};
	struct pass_pipeline *p = pass_pipeline_create(run->scratch);
	p->then = then;
	char *source = TEXT(p, "pipeline of %s", run->pass->name);
	struct ir_module *result = m;

	bool ok = pass_pipeline_parse(p, inner, source, text) && pass_pipeline_check(p, inner, m) &&
		  pass_pipeline_run(p, inner, &result, &hooks) == PASS_DONE;
	talloc_free(p);
	return ok;
}

bool
pass_apply_before(struct pass_run *run, struct ir_module *m, const char *text, const char *then)
{
	struct pass_manager *inner = inner_manager(run);
	bool ok = apply(run, inner, m, text, then);

	run->manager->remark = talloc_steal(run->manager, inner->remark);
	run->manager->nremarks = inner->nremarks;
	talloc_free(inner);
	return ok;
}

bool
pass_apply(struct pass_run *run, struct ir_module *m, const char *text)
{
	return pass_apply_before(run, m, text, NULL);
}

bool
pass_try(struct pass_run *run, struct ir_module *m, const char *text)
{
	struct pass_manager *inner = inner_manager(run);
	const bool muted = diag_mute(run->ctx->diag, true);

	inner->keep_remarks = inner->show_remarks = inner->verify_each = false;
	bool ok = apply(run, inner, m, text, NULL);
	diag_mute(run->ctx->diag, muted);
	talloc_free(inner);
	return ok;
}

char *
pass_pipeline_text(const void *owner, const struct pass_pipeline *p, int first)
{
	char *text = text_copy(owner, "");

	for (int i = first; i < p->n; i++)
		text = text_append(text, i > first ? ",%s" : "%s", p->entry[i].text);
	return text;
}

static const char *
skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* The end of a value in the text of a parsed pass: of a string, a list or a word. */
static const char *
value_end(const char *value)
{
	if (*value == '"' || *value == '[')
		return strchr(value + 1, *value == '"' ? '"' : ']') + 1;
	return value + strcspn(value, ",} \t\r\n");
}

char *
pass_without(const struct pass_run *run, const char *option)
{
	const char *text = run->pipeline->entry[run->at].text, *at = text + strcspn(text, "{");
	const size_t n = strlen(option);

	while (*at && *at != '}') {
		const char *name = skip_blanks(at + 1), *end = name + strcspn(name, "=,} \t\r\n");
		const bool found = (size_t)(end - name) == n && !strncmp(name, option, n);
		end = skip_blanks(end);
		if (*end == '=')
			end = skip_blanks(value_end(skip_blanks(end + 1)));
		if (found && *at == '{' && *end == '}') /* the only one */
			return TEXT(run->scratch, "%.*s", (int)(at - text), text);
		if (found) /* with one of the adjacent commas */
			return *at == '{'
				       ? TEXT(run->scratch, "%.*s%s", (int)(at + 1 - text), text,
						 end + 1)
				       : TEXT(run->scratch, "%.*s%s", (int)(at - text), text, end);
		at = end;
	}
	return text_copy(run->scratch, text);
}

char *
pass_rest(const struct pass_run *run, const char *instead)
{
	char *text = text_copy(run->scratch, "");

	if (run->manager->looked_ahead)
		*run->manager->looked_ahead = true;
	for (int i = run->at + 1; i < run->pipeline->n; i++) {
		const struct pass_entry *e = &run->pipeline->entry[i];
		if (e->pass != run->pass)
			text = text_append(text, *text ? ",%s" : "%s",
				pass_entry_searches(e) ? instead : e->text);
	}
	if (run->pipeline->then)
		text = text_append(text, *text ? ",%s" : "%s", run->pipeline->then);
	return text;
}
