/* Options that exclude or need each other: the rules of a table of options. */
#include "passes/tools/command_line.h"

#include "ir/base/alloc.h"

#include <assert.h>
#include <string.h>
#include <talloc.h>

/* An item of a rule's list. */
struct item {
	const struct flag *flag;
	const struct choice *choice; /* NULL: any value */
	const char *text;            /* "emit=program" */
};

/* The context of a rule, and the options to check. */
struct asking {
	const struct command_line *line;
	const void *options;
	void *scratch;
};

static bool
is_given(const struct asking *q, const struct flag *f)
{
	const void *field = (const char *)q->options + f->at;
	const char *text;

	switch (f->kind) {
	case FLAG_BOOL: return *(const bool *)field;
	case FLAG_TEXT: text = *(const char *const *)field; return text && strcmp(text, "-") != 0;
	case FLAG_MAYBE: return *(const char *const *)field;
	case FLAG_LIST: return ((const struct driver_list *)field)->n > 0;
	case FLAG_CHOICE:
	case FLAG_CHOICE_1: return *(const int *)field;
	case FLAG_INT:
	case FLAG_SHARE:
	case FLAG_GROUP: break;
	}
	return false;
}

static int
value_of(const struct asking *q, const struct flag *f)
{
	return *(const int *)((const char *)q->options + f->at);
}

/* The next item of a list; false: there is none. */
static bool
next_item(const struct asking *q, const char **list, struct item *it)
{
	const size_t n = strcspn(*list, ",");
	char *name = text_copy_n(q->scratch, *list, n), *choice;

	*it = (struct item){.text = text_copy(q->scratch, name)};
	*list += n + ((*list)[n] == ',');
	if ((choice = strchr(name, '=')))
		*choice++ = 0;
	it->flag = command_line_flag(q->line, name);
	assert(!n || it->flag);
	for (const struct choice *c = n && choice ? it->flag->choice : NULL; c && c->name; c++)
		if (!strcmp(c->name, choice))
			it->choice = c;
	assert(!choice || it->choice);
	return n > 0;
}

static bool
item_given(const struct asking *q, const struct item *it)
{
	return is_given(q, it->flag) && (!it->choice || value_of(q, it->flag) == it->choice->value);
}

/* "-run", "-emit=program", "-profile=FILE" */
static char *
item_label(const struct asking *q, const struct item *it)
{
	const bool open = !it->choice && flag_needs_argument(it->flag);

	return TEXT(q->scratch, "-%s%s%s", it->text,
		!open               ? ""
		: it->flag->name[1] ? "="
				    : " ",
		open ? flag_argument(q->scratch, it->flag) : "");
}

/* "-emit=program, -emit=measure or -measure" */
static char *
list_text(const struct asking *q, const char *list)
{
	char *text = NULL;
	struct item it;

	while (next_item(q, &list, &it))
		text = text ? text_append(text, "%s%s", *list ? ", " : " or ", item_label(q, &it))
			    : item_label(q, &it);
	return text;
}

/* `label`: the option that was given and has the rule. */
static bool
rule_holds(const struct asking *q, const char *label, const struct flag_rule *rule)
{
	const char *list = rule->excludes ? rule->excludes : "";
	struct item it;

	while (next_item(q, &list, &it))
		if (item_given(q, &it)) {
			driver_error("-%s and -%s cannot be combined", label, it.text);
			return false;
		}
	for (list = rule->needs ? rule->needs : ""; next_item(q, &list, &it);)
		if (item_given(q, &it))
			return true;
	if (rule->needs)
		driver_error("-%s requires %s%s%s", label, list_text(q, rule->needs),
			rule->why ? ": " : "", rule->why ? rule->why : "");
	return !rule->needs;
}

static bool
flag_agrees(const struct asking *q, const struct flag *f)
{
	if (!is_given(q, f))
		return true;
	for (const struct choice *c = f->choice; c && c->name; c++) {
		const char *label = TEXT(q->scratch, "%s=%s", f->name, c->name);
		if (value_of(q, f) == c->value && !rule_holds(q, label, &c->rule))
			return false;
	}
	return rule_holds(q, f->name, &f->rule);
}

bool
command_line_agrees(const struct command_line *l, const void *options)
{
	const struct asking q = {l, options, alloc_scratch(NULL)};
	bool agree = true;

	for (const struct flag *f = l->flag; f < l->flag + l->nflags && agree; f++)
		agree = f->kind == FLAG_GROUP || flag_agrees(&q, f);
	talloc_free(q.scratch);
	return agree;
}
