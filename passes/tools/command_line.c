/* Command lines: parsing by a table, and the text for -help. */
#include "passes/tools/command_line.h"

#include "ir/base/vec.h"
#include "ir/base/diag.h"
#include "ir/base/number.h"
#include "ir/base/suggest.h"
#include "passes/tools/output.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 100 };

void
driver_error(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	diag_write_level(DIAG_ERROR);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* The words of a text from HELP_COLUMN on, after the n columns that are written. */
static void
help_text(FILE *out, int n, const char *s)
{
	int at = HELP_COLUMN;

	if (n >= HELP_COLUMN)
		n = fprintf(out, "\n") - 1;
	fprintf(out, "%*s", HELP_COLUMN - n, "");
	for (; *s; s += n + (s[n] == ' ')) {
		n = (int)strcspn(s, " ");
		if (at > HELP_COLUMN && at + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		}
		at += fprintf(out, "%s%.*s", at > HELP_COLUMN ? " " : "", n, s);
	}
	fputc('\n', out);
}

bool
flag_needs_argument(const struct flag *f)
{
	return f->kind == FLAG_TEXT || f->kind == FLAG_LIST || f->kind == FLAG_INT ||
	       f->kind == FLAG_SHARE || f->kind == FLAG_CHOICE;
}

const char *
flag_argument(const void *owner, const struct flag *f)
{
	char *text = NULL;

	for (const struct choice *c = f->choice; c && c->name; c++) {
		text = text ? text_append(text, "|%s", c->name) : text_copy(owner, c->name);
	}
	return text ? text : f->argument;
}

static void
help_flag(FILE *out, const struct flag *f)
{
	int n = fprintf(out, "  -%s", f->name);
	void *scratch = alloc_scratch(NULL);
	const char *argument = flag_argument(scratch, f);

	if (argument && !flag_needs_argument(f))
		n += fprintf(out, "[=%s]", argument);
	else if (argument)
		n += fprintf(out, f->name[1] ? "=%s" : " %s", argument);
	help_text(out, n, f->help);
	talloc_free(scratch);
}

void
command_line_help(FILE *out, const struct command_line *l)
{
	fputs(l->head, out);
	if (l->ncommands)
		fputs("\nCommands:\n", out);
	for (const struct command *c = l->command; c < l->command + l->ncommands; c++)
		help_text(out, fprintf(out, "  %s %s", c->name, c->files), c->help);
	for (const struct flag *f = l->flag; f < l->flag + l->nflags; f++) {
		if (f->kind == FLAG_GROUP)
			fprintf(out, "\n%s:\n", f->name);
		else
			help_flag(out, f);
	}
	fprintf(out, "\n%s", l->tail);
}

const struct flag *
command_line_flag(const struct command_line *l, const char *name)
{
	for (const struct flag *f = l->flag; f < l->flag + l->nflags; f++)
		if (f->kind != FLAG_GROUP && !strcmp(f->name, name))
			return f;
	return NULL;
}

static const struct flag *
flag_find(const struct command_line *l, const char *name)
{
	const struct flag *found = command_line_flag(l, strcmp(name, "h") ? name : "help");
	struct suggestion near = suggestion_for(name);

	if (found)
		return found;
	for (const struct flag *f = l->flag; f < l->flag + l->nflags; f++)
		if (f->kind != FLAG_GROUP)
			suggestion_add(&near, f->name);
	if (near.best)
		driver_error("unknown option '-%s'; did you mean '-%s'?", name, near.best);
	else
		driver_error("unknown option '-%s'; -help lists the options", name);
	return NULL;
}

static bool
read_bool(const struct flag *f, bool *out, const char *value)
{
	*out = !value || !strcmp(value, "1") || !strcmp(value, "true");
	if (*out || !strcmp(value, "0") || !strcmp(value, "false"))
		return true;
	driver_error("option -%s: expected 0 or 1, found '%s'", f->name, value);
	return false;
}

static bool
read_int(const struct flag *f, int64_t *out, const char *value)
{
	char *end;

	errno = 0;
	*out = strtoll(value, &end, 10);
	if (*value && !*end && !errno && *out >= 0)
		return true;
	driver_error("option -%s: expected a non-negative integer, found '%s'", f->name, value);
	return false;
}

static bool
read_share(const struct flag *f, double *out, const char *value)
{
	char *end;

	*out = strtod(value, &end);
	if (end > value && !strcmp(end, "%")) {
		*out /= 100;
		end++;
	}
	if (end > value && !*end && *out >= 0 && *out < INFINITY)
		return true;
	driver_error("option -%s: expected a non-negative fraction "
		     "or percentage such as 0.05 or 5%%, found '%s'",
		f->name, value);
	return false;
}

static bool
read_choice(const void *owner, const struct flag *f, int *out, const char *value)
{
	struct suggestion near = suggestion_for(value);

	for (const struct choice *c = f->choice; c->name; c++) {
		*out = c->value;
		if (!strcmp(c->name, value))
			return true;
		suggestion_add(&near, c->name);
	}
	driver_error("option -%s: expected one of %s, found '%s'%s", f->name,
		flag_argument(owner, f), value, suggestion_text(owner, &near));
	return false;
}

static void
list_append(const void *owner, struct driver_list *list, const char *value)
{
	LIST_PUSH(owner, list->item, list->n, value);
}

/* Stores the value of a flag; `value` is NULL if none was given and none is needed. */
static bool
flag_store(const void *owner, const struct flag *f, void *options, const char *value)
{
	void *field = (char *)options + f->at;

	switch (f->kind) {
	case FLAG_BOOL: return read_bool(f, field, value);
	case FLAG_INT: return read_int(f, field, value);
	case FLAG_SHARE: return read_share(f, field, value);
	case FLAG_CHOICE: return read_choice(owner, f, field, value);
	case FLAG_LIST: list_append(owner, field, value); return true;
	case FLAG_TEXT: *(const char **)field = value; return true;
	case FLAG_MAYBE: *(const char **)field = value ? value : ""; return true;
	case FLAG_CHOICE_1:
		*(int *)field = f->choice->value;
		return !value || read_choice(owner, f, field, value);
	case FLAG_GROUP: break;
	}
	return false;
}

/* The one-letter list with which `name` begins, followed by its value: -DB=128. */
static const struct flag *
find_letter(const struct command_line *l, const char *name)
{
	if (!name[0] || !name[1] || name[1] == '=')
		return NULL;
	const struct flag *f = command_line_flag(l, (const char[]){name[0], 0});
	return f && f->kind == FLAG_LIST ? f : NULL;
}

/* Reads argv[*i], an option, and the argument after it if it takes one. */
static bool
read_flag(const void *owner, const struct command_line *l, void *options, int argc, char **argv,
	int *i)
{
	const char *name = argv[*i] + 1 + (argv[*i][1] == '-');
	const char *value = strchr(name, '=');
	const struct flag *f = find_letter(l, name);

	if (f)
		return flag_store(owner, f, options, name + 1);
	if (value)
		name = text_copy_n(owner, name, (size_t)(value++ - name));
	f = flag_find(l, name);
	if (!f)
		return false;
	if (!value && flag_needs_argument(f)) {
		if (*i + 1 >= argc) {
			driver_error("option -%s needs a value: -%s=%s", f->name, f->name,
				flag_argument(owner, f));
			return false;
		}
		value = argv[++*i];
	}
	return flag_store(owner, f, options, value);
}

bool
command_line_read(
	const void *owner, const struct command_line *l, void *options, int argc, char **argv)
{
	struct driver_list *words = (void *)((char *)options + l->words);

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			list_append(owner, words, argv[i]);
		else if (!read_flag(owner, l, options, argc, argv, &i))
			return false;
	}
	return true;
}

static const struct command *
find_command(const struct command_line *l, const char *name)
{
	struct suggestion near = suggestion_for(name);

	for (const struct command *c = l->command; c < l->command + l->ncommands; c++) {
		if (!strcmp(c->name, name))
			return c;
		suggestion_add(&near, c->name);
	}
	if (near.best)
		driver_error("unknown command '%s'; did you mean '%s'?", name, near.best);
	else
		driver_error("unknown command '%s'; -help lists the commands", name);
	return NULL;
}

/* -help or the command that the options ask for. */
static enum driver_exit
run(const struct command_line *l, struct tool *t)
{
	const bool *help = (void *)((char *)t + command_line_flag(l, "help")->at);
	struct driver_list *words = (void *)((char *)t + l->words);
	struct driver_output out;

	if (*help) {
		bool open = driver_output_open(&out, NULL);
		command_line_help(out.file, l);
		return open && driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
	}
	if (!words->n) {
		command_line_help(stderr, l);
		return DRIVER_USAGE;
	}
	const struct command *c = find_command(l, *words->item);
	if (!c)
		return DRIVER_USAGE;
	words->n--;
	memmove(words->item, words->item + 1, sizeof *words->item * (size_t)words->n);
	if (words->n >= c->least && words->n <= c->most) {
		const enum driver_exit exit = c->run(t);
		return driver_stdout_flush() || exit != DRIVER_OK ? exit : DRIVER_INPUT;
	}
	driver_error("%s: expected %s%d file%s (%s), found %d", c->name,
		c->most > c->least ? "at least " : "", c->least, number_plural(c->least), c->files,
		words->n);
	return DRIVER_USAGE;
}

enum driver_exit
command_line_main(const struct command_line *l, struct tool *t, int argc, char **argv)
{
	enum driver_exit exit = DRIVER_USAGE;

	/* If the reader of a pipe exits, writing fails with a message instead of a silent end. */
	signal(SIGPIPE, SIG_IGN);
	if (command_line_read(t, l, t, argc, argv))
		exit = run(l, t);
	talloc_free(t);
	return exit;
}
