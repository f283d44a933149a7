/* What a running pass asks of its manager and tells it. */
#include "passes/manager/pipeline.h"

#include "ir/base/alloc.h"

#include <limits.h>
#include <string.h>

bool
pass_bug(struct pass_run *run, const struct ir_op *op, const char *what)
{
	diag_error(run->ctx->diag, op->loc, "bug in pass '%s': %s", run->pass->name, what);
	run->bug = true;
	return false;
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

/* The text of a pass without an option. */
static char *
without(const void *owner, const char *text, const char *option)
{
	const char *at = text + strcspn(text, "{");
	const size_t n = strlen(option);

	while (*at && *at != '}') {
		const char *name = skip_blanks(at + 1), *end = name + strcspn(name, "=,} \t\r\n");
		const bool found = (size_t)(end - name) == n && !strncmp(name, option, n);
		end = skip_blanks(end);
		if (*end == '=')
			end = skip_blanks(value_end(skip_blanks(end + 1)));
		if (found && *at == '{' && *end == '}') /* the only one */
			return TEXT(owner, "%.*s", (int)(at - text), text);
		if (found) /* with one of the adjacent commas */
			return *at == '{'
				       ? TEXT(owner, "%.*s%s", (int)(at + 1 - text), text, end + 1)
				       : TEXT(owner, "%.*s%s", (int)(at - text), text, end);
		at = end;
	}
	return text_copy(owner, text);
}

char *
pass_without(const struct pass_run *run, const char *option)
{
	return without(run->scratch, run->pipeline->entry[run->at].text, option);
}

char *
pass_with(const struct pass_run *run, const char *less, const char *option, const char *value)
{
	const char *text = without(run->scratch, pass_without(run, less), option);
	const size_t length = strlen(text);
	const bool others = text[length - 1] == '}';

	return TEXT(run->scratch, "%.*s%s%s=%s}", (int)(length - others), text, others ? "," : "{",
		option, value);
}

char *
pass_rest(const struct pass_run *run, const char *instead, const char *last)
{
	char *text = text_copy(run->scratch, "");
	int *seen = run->manager->looked_ahead;

	for (int i = run->at + 1; i < run->pipeline->n; i++) {
		const struct pass_entry *e = &run->pipeline->entry[i];
		if (e->pass != run->pass)
			text = text_append(text, *text ? ",%s" : "%s",
				pass_entry_searches(e) ? instead : e->text);
		if (last && strcmp(e->pass->name, last) == 0) {
			if (seen)
				*seen = *seen > i + 1 ? *seen : i + 1;
			return text;
		}
	}
	if (seen)
		*seen = INT_MAX;
	if (last)
		return text_copy(run->scratch, "");
	if (run->pipeline->then)
		text = text_append(text, *text ? ",%s" : "%s", run->pipeline->then);
	return text;
}
