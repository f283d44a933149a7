/* Options of passes: types, units, ranges, defaults, and the getters that passes use. */
#include "passes/manager/options.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"
#include "ir/base/unit.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const struct {
	const char *name, *expected;
} type_table[] = {
	[PASS_INT] = {"int", "an integer"},
	[PASS_FLOAT] = {"float", "a number"},
	[PASS_SIZE] = {"size", "a size such as 25MB"},
	[PASS_TIME] = {"time", "a time such as 3us"},
	[PASS_BOOL] = {"bool", "true or false"},
	[PASS_STRING] = {"string", "a string"},
	[PASS_ENUM] = {"enum", "a choice"},
	[PASS_AXIS] = {"axis", "an axis"},
	[PASS_AXES] = {"axes", "an axis or [axis,axis]"},
};

char *
pass_option_type_text(const void *owner, const struct pass_option *o)
{
	char *text = text_copy(owner, o->type == PASS_ENUM ? o->choices : type_table[o->type].name);

	for (char *s = text; o->type == PASS_ENUM && *s; s++)
		if (*s == ',')
			*s = '|';
	return text;
}

static char *
fault_expected(const void *owner, const struct pass_option *o, const char *text)
{
	return TEXT(owner, "expected %s, found '%s'", type_table[o->type].expected, text);
}

static char *
fault_range(const void *owner, const struct pass_option *o, double number, const char *text)
{
	if ((o->min == 0 && o->max == 0) || (number >= o->min && number <= o->max))
		return NULL;
	if (o->max >= DBL_MAX)
		return TEXT(owner, "%s is less than %g", text, o->min);
	return TEXT(owner, "%s is not between %.9g and %.9g", text, o->min, o->max);
}

static char *
parse_int(const void *owner, const struct pass_option *o, const char *text, struct pass_value *v)
{
	char *end;

	errno = 0;
	v->i = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return fault_expected(owner, o, text);
	return fault_range(owner, o, (double)v->i, text);
}

static char *
parse_number(const void *owner, const struct pass_option *o, const char *text, struct pass_value *v)
{
	int kind = o->type == PASS_SIZE ? UNIT_BYTES : o->type == PASS_TIME ? UNIT_SECONDS : -1;

	if (ir_quantity_read(text, kind, &v->f))
		return fault_expected(owner, o, text);
	if (o->type == PASS_FLOAT)
		return fault_range(owner, o, v->f, text);
	/* 2^62: a sum of two sizes must not overflow either. */
	if (v->f < 0 || v->f > 0x1p62)
		return fault_expected(owner, o, text);
	v->i = (int64_t)llround(v->f);
	return fault_range(owner, o, v->f, text);
}

static char *
parse_bool(const void *owner, const struct pass_option *o, const char *text, struct pass_value *v)
{
	v->i = !strcmp(text, "true");
	return v->i || !strcmp(text, "false") ? NULL : fault_expected(owner, o, text);
}

static char *
parse_enum(const void *owner, const struct pass_option *o, const char *text, struct pass_value *v)
{
	char *list = text_copy(owner, o->choices), *rest = list, *word;
	struct suggestion near = suggestion_for(text);

	v->i = 0;
	while ((word = strsep(&rest, ",")) && strcmp(word, text)) {
		suggestion_add(&near, word);
		v->i++;
	}
	char *fault = word ? NULL
			   : TEXT(owner, "expected one of %s, found '%s'%s", o->choices, text,
				     suggestion_text(list, &near));
	talloc_free(list);
	return fault;
}

/* Names of axes are looked up when the pass runs: earlier passes may have made them. */
static char *
parse_axes(const void *owner, const struct pass_option *o, const char *text, struct pass_value *v)
{
	size_t n = strlen(text);
	bool list = n >= 2 && text[0] == '[' && text[n - 1] == ']';

	if (o->choices && !strcmp(text, o->choices))
		return NULL;
	v->text = list ? text_copy_n(owner, text + 1, n - 2) : text_copy(owner, text);
	if (strpbrk(v->text, o->type == PASS_AXIS ? "[],\"" : "[]\"") || (list && n == 2))
		return fault_expected(owner, o, text);
	return NULL;
}

char *
pass_value_parse(
	const void *owner, const struct pass_option *o, const char *text, struct pass_value *v)
{
	switch (o->type) {
	case PASS_INT: return parse_int(owner, o, text, v);
	case PASS_FLOAT:
	case PASS_SIZE:
	case PASS_TIME: return parse_number(owner, o, text, v);
	case PASS_BOOL: return parse_bool(owner, o, text, v);
	case PASS_ENUM: return parse_enum(owner, o, text, v);
	case PASS_AXIS:
	case PASS_AXES: return parse_axes(owner, o, text, v);
	case PASS_STRING: break;
	}
	v->text = text_copy(owner, text);
	return NULL;
}

char *
pass_option_fault(const void *owner, const struct pass_option *o)
{
	struct pass_value v = {0};

	if ((unsigned)o->type >= sizeof type_table / sizeof *type_table)
		return TEXT(owner, "its type is unknown");
	if (o->type == PASS_ENUM && !o->choices)
		return text_copy(owner, "it has no choices");
	if (!o->help)
		return text_copy(owner, "it has no help");
	if (!o->fallback || (!*o->fallback && o->type != PASS_ENUM && o->type != PASS_BOOL))
		return NULL;
	void *scratch = alloc_scratch(owner);
	char *fault = pass_value_parse(scratch, o, o->fallback, &v);
	if (fault)
		fault = TEXT(owner, "its default value: %s", fault);
	talloc_free(scratch);
	return fault;
}

static void
report_axis(const struct pass *p, const struct pass_option *o, const struct pass_value *v,
	const struct ir_module *m, const char *name)
{
	void *scratch = alloc_scratch(NULL);
	struct suggestion near = suggestion_for(name);
	char *known = text_copy(scratch, "");

	for (int i = 0; i < m->naxes; i++) {
		suggestion_add(&near, m->axis[i].name);
		known = text_append(known, i ? ", %s" : "%s", m->axis[i].name);
	}
	diag_error(m->ctx->diag, v->loc, "%s: option '%s': the module has no axis '%s'%s", p->name,
		o->name, name, suggestion_text(scratch, &near));
	diag_note(m->ctx->diag, LOC_NONE, "%s%s",
		m->naxes ? "the module's axes: "
			 : "the module has no axes; add some in it, as in mesh [dp = 2], or "
			   "with -mesh=dp=2",
		known);
	talloc_free(scratch);
}

static bool
resolve_axes(const struct pass *p, const struct pass_option *o, struct pass_value *v,
	const struct ir_module *m)
{
	char *list = text_copy(NULL, v->text), *rest = list, *word;
	bool ok = true;

	v->naxes = 0;
	while (*list && ok && (word = strsep(&rest, ","))) {
		word += strspn(word, " \t\n");
		word[strcspn(word, " \t\n")] = '\0';
		int axis = ir_axis_find(m, word);
		ok = axis >= 0 && v->naxes < IR_MAX_AXES;
		if (ok)
			v->axis[v->naxes++] = axis;
		else
			report_axis(p, o, v, m, word);
	}
	talloc_free(list);
	return ok;
}

bool
pass_values_resolve(const struct pass *p, struct pass_value *v, const struct ir_module *m)
{
	bool ok = true;

	for (const struct pass_option *o = p->options; o && o->name; o++, v++)
		if ((o->type == PASS_AXIS || o->type == PASS_AXES) && v->text)
			ok &= resolve_axes(p, o, v, m);
	return ok;
}

/* --- getters --------------------------------------------------------------------------------- */

/* The value of the option, which must have that type: else it is a bug of the pass. */
static const struct pass_value *
value_of(const struct pass_run *run, const char *option, int type)
{
	const struct pass_option *o = run->pass->options;

	for (int i = 0; o && o[i].name; i++)
		if (!strcmp(o[i].name, option) && (type < 0 || (int)o[i].type == type))
			return &run->value[i];
	fprintf(stderr, "dopt: bug: pass '%s' reads option '%s'%s%s, which it does not declare\n",
		run->pass->name, option, type < 0 ? "" : " of type ",
		type < 0 ? "" : type_table[type].name);
	abort();
}

int64_t
pass_int(const struct pass_run *run, const char *option)
{
	return value_of(run, option, PASS_INT)->i;
}

double
pass_float(const struct pass_run *run, const char *option)
{
	return value_of(run, option, PASS_FLOAT)->f;
}

int64_t
pass_size(const struct pass_run *run, const char *option)
{
	return value_of(run, option, PASS_SIZE)->i;
}

double
pass_time(const struct pass_run *run, const char *option)
{
	return value_of(run, option, PASS_TIME)->f;
}

bool
pass_bool(const struct pass_run *run, const char *option)
{
	return value_of(run, option, PASS_BOOL)->i != 0;
}

const char *
pass_string(const struct pass_run *run, const char *option)
{
	const struct pass_value *v = value_of(run, option, PASS_STRING);

	return v->text ? v->text : "";
}

int
pass_enum(const struct pass_run *run, const char *option)
{
	return (int)value_of(run, option, PASS_ENUM)->i;
}

int
pass_axis(const struct pass_run *run, const char *option)
{
	const struct pass_value *v = value_of(run, option, PASS_AXIS);

	return v->naxes ? v->axis[0] : -1;
}

int
pass_axes(const struct pass_run *run, const char *option, int axis[IR_MAX_AXES])
{
	const struct pass_value *v = value_of(run, option, PASS_AXES);

	memcpy(axis, v->axis, sizeof v->axis);
	return v->naxes;
}

bool
pass_given(const struct pass_run *run, const char *option)
{
	return value_of(run, option, -1)->given;
}

struct ir_loc
pass_option_loc(const struct pass_run *run, const char *option)
{
	const struct pass_value *v = value_of(run, option, -1);

	return v->given ? v->loc : run->loc;
}
