/*
 * Pipeline text:
 *
 *     pipeline = [ entry { "," entry } ]
 *     entry    = name [ "{" [ option { "," option } ] "}" ]
 *     option   = name [ "=" value ]
 *     value    = word | "text in quotes" | "[" word { "," word } "]"
 *
 * with blanks and line ends anywhere between. A syntax error ends reading; a wrong name or value
 * does not: the rest is checked too.
 */
#include "passes/manager/pipeline_impl.h"

#include "ir/base/vec.h"
#include "ir/base/option_text.h"
#include "ir/base/suggest.h"

#include <string.h>
#include <talloc.h>

struct reader {
	struct option_text in;
	struct pass_pipeline *pipeline;
	struct pass_manager *manager;
	char *before; /* the previous option of the pass, if it has a value without quotes */
};

static bool
accept(struct reader *r, char c)
{
	option_text_skip_blanks(&r->in);
	if (*r->in.at != c)
		return false;
	r->in.at++;
	return true;
}

/* Bytes up to the next one with a meaning. */
static const char *
word_end(const char *s)
{
	return s + strcspn(s, " \t\r\n,{}[]=\"");
}

/* Reports what was found instead of `what`: one byte in quotes, or the end. */
static bool
fault_expected(struct reader *r, const char *what)
{
	if (!*r->in.at)
		return option_text_fault(&r->in, r->in.at, r->in.at + 1,
			"expected %s, found the end of the pipeline", what);
	return option_text_fault(
		&r->in, r->in.at, r->in.at + 1, "expected %s, found '%c'", what, *r->in.at);
}

/* The place of a value, which is word, "text" or [list]; *value gets its text without quotes. */
static bool
read_value(struct reader *r, struct ir_loc *loc, char **value)
{
	option_text_skip_blanks(&r->in);
	const char *begin = r->in.at, *end = word_end(begin);
	int cut = 0;

	if (*begin == '"' || *begin == '[') {
		cut = *begin == '"';
		end = strchr(begin + 1, cut ? '"' : ']');
		if (!end)
			return option_text_fault(&r->in, begin, begin + 1,
				"missing %s at the end of this %s", cut ? "'\"'" : "']'",
				cut ? "string" : "list");
		end++;
	} else if (end == begin) {
		return fault_expected(r, "a value");
	}
	r->in.at = end;
	*loc = option_text_loc(&r->in, begin, end);
	*value = option_text_slice(&r->in, begin + cut, end - cut);
	return true;
}

static int
option_find(const struct pass *p, const char *name)
{
	for (int i = 0; p->options && p->options[i].name; i++)
		if (!strcmp(p->options[i].name, name))
			return i;
	return -1;
}

static void
fault_unknown_option(struct reader *r, const struct pass *p, const char *begin, const char *end)
{
	struct suggestion near = suggestion_for(option_text_slice(&r->in, begin, end));
	char *known = text_copy(r->pipeline, "");

	for (const struct pass_option *o = p->options; o && o->name; o++) {
		suggestion_add(&near, o->name);
		known = text_append(known, o == p->options ? "%s" : ", %s", o->name);
	}
	option_text_fault(&r->in, begin, end, "pass '%s' has no option '%s'%s", p->name, near.wrong,
		suggestion_text(r->pipeline, &near));
	diag_note(r->manager->ctx->diag, LOC_NONE, "%s%s",
		*known ? "available options: " : "it has no options", known);
	if (r->before && r->in.at == end)
		diag_note(r->manager->ctx->diag, LOC_NONE,
			"a value with commas needs quotes: %s,%s\"", r->before, near.wrong);
}

/*
 * Reads one option of entry `e`; e->pass is NULL if the pass is unknown: its options are then read
 * but not checked.
 */
static bool
read_option(struct reader *r, struct pass_entry *e)
{
	option_text_skip_blanks(&r->in);
	const char *begin = r->in.at, *end = word_end(begin);
	struct ir_loc loc = option_text_loc(&r->in, begin, end);
	char *value = NULL;

	if (begin == end)
		return fault_expected(r, "an option");
	r->in.at = end;
	if (accept(r, '=') && !read_value(r, &loc, &value))
		return false;
	if (!e->pass)
		return true;
	int i = option_find(e->pass, option_text_slice(&r->in, begin, end));
	if (i < 0) {
		fault_unknown_option(r, e->pass, begin, end);
		return true;
	}
	const struct pass_option *o = &e->pass->options[i];
	r->before = value && !strchr("\"]", r->in.at[-1])
			    ? talloc_asprintf(r->pipeline, "%s=\"%s", o->name, value)
			    : NULL;
	struct pass_value *v = &e->value[i];
	if (v->given) {
		option_text_fault(&r->in, begin, end, "option '%s' is given twice", o->name);
		return true;
	}
	char *type = pass_option_type_text(r->pipeline, o);
	if (!value && o->type != PASS_BOOL) {
		option_text_fault(&r->in, begin, end, "option '%s' needs a value: %s=%s", o->name,
			o->name, type);
		return true;
	}
	char *why = pass_value_parse(r->pipeline, o, value ? value : "true", v);
	v->given = true;
	v->loc = loc;
	if (why) {
		diag_error(r->manager->ctx->diag, loc, "option '%s' of %s: %s", o->name,
			e->pass->name, why);
		r->in.ok = false;
	}
	return true;
}

static bool
read_options(struct reader *r, struct pass_entry *e)
{
	const char *open = r->in.at;

	if (!accept(r, '{') || accept(r, '}'))
		return true;
	open += strspn(open, " \t\r\n");
	r->before = NULL;
	do {
		if (!read_option(r, e))
			return false;
	} while (accept(r, ','));
	if (accept(r, '}'))
		return true;
	fault_expected(r, "',' or '}'");
	diag_note(r->manager->ctx->diag, option_text_loc(&r->in, open, open + 1),
		"the options begin here");
	return false;
}

static const struct pass *
find_pass(struct reader *r, const char *begin, const char *end)
{
	struct suggestion near = suggestion_for(option_text_slice(&r->in, begin, end));
	const struct pass *p = pass_registry_find(r->manager->registry, near.wrong);
	const char *now = p ? NULL : pass_renamed(near.wrong);

	if (now) {
		p = pass_registry_find(r->manager->registry, now);
		diag_note(r->manager->ctx->diag, option_text_loc(&r->in, begin, end),
			"'%s' is now called '%s'", near.wrong, now);
	}
	if (p)
		return p;
	for (int i = 0; i < pass_registry_count(r->manager->registry); i++)
		suggestion_add(&near, pass_registry_get(r->manager->registry, i)->name);
	option_text_fault(&r->in, begin, end, "unknown pass '%s'%s", near.wrong,
		suggestion_text(r->pipeline, &near));
	return NULL;
}

/* The defaults of all options; the registry has checked that they can be parsed. */
static struct pass_value *
default_values(struct pass_pipeline *owner, const struct pass *p)
{
	int n = 0;

	while (p->options && p->options[n].name)
		n++;
	struct pass_value *v = ZERO_ARRAY(owner, struct pass_value, (size_t)n + 1);
	for (int i = 0; i < n; i++)
		if (p->options[i].fallback && *p->options[i].fallback)
			talloc_free(
				pass_value_parse(v, &p->options[i], p->options[i].fallback, &v[i]));
	return v;
}

struct pass_entry
pass_entry_default(struct pass_pipeline *p, const struct pass *pass, struct ir_loc loc)
{
	struct pass_entry e = {.pass = pass, .loc = loc, .text = pass->name};

	e.value = default_values(p, pass);
	return e;
}

void
pass_pipeline_insert(struct pass_pipeline *p, int at, const struct pass_entry *e)
{
	LIST_ROOM(p, p->entry, p->n + 1);
	memmove(p->entry + at + 1, p->entry + at, sizeof *p->entry * (size_t)(p->n - at));
	p->entry[at] = *e;
	p->n++;
}

static void
check_required(struct reader *r, const struct pass_entry *e)
{
	for (int i = 0; e->pass->options && e->pass->options[i].name; i++) {
		const struct pass_option *o = &e->pass->options[i];
		if (o->fallback || e->value[i].given)
			continue;
		char *type = pass_option_type_text(r->pipeline, o);
		diag_error(r->manager->ctx->diag, e->loc, "pass '%s' needs %s=%s: %s",
			e->pass->name, o->name, type, o->help);
		r->in.ok = false;
	}
}

static bool
read_entry(struct reader *r)
{
	option_text_skip_blanks(&r->in);
	const char *begin = r->in.at, *end = word_end(begin);

	if (begin == end)
		return fault_expected(r, "a pass");
	const struct pass *pass = find_pass(r, begin, end);
	struct pass_entry e = {.loc = option_text_loc(&r->in, begin, end)};
	if (pass)
		e = pass_entry_default(r->pipeline, pass, e.loc);
	r->in.at = end;
	option_text_skip_blanks(&r->in);
	if (!read_options(r, &e))
		return false;
	if (!pass)
		return true;
	for (end = r->in.at; strchr(" \t\r\n", end[-1]); end--)
		;
	e.text = option_text_slice(&r->in, begin, end);
	check_required(r, &e);
	pass_pipeline_insert(r->pipeline, r->pipeline->n, &e);
	return true;
}

struct pass_pipeline *
pass_pipeline_create(const void *owner)
{
	struct pass_pipeline *p = NEW(owner, struct pass_pipeline);

	return p;
}

bool
pass_pipeline_parse(
	struct pass_pipeline *p, struct pass_manager *manager, const char *source, const char *text)
{
	struct reader r = {.in = option_text_begin(p, manager->ctx->diag, source, text),
		.pipeline = p,
		.manager = manager};

	option_text_skip_blanks(&r.in);
	if (!*r.in.at)
		return true;
	do {
		if (!read_entry(&r))
			return false;
	} while (accept(&r, ','));
	if (*r.in.at)
		return fault_expected(&r, "',' and another pass");
	return r.in.ok;
}
