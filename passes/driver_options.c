/* The command line: one table, from which it is read and -help is printed. */
#include "passes/driver.h"

#include "ir/suggest.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum flag_kind {
	FLAG_GROUP,    /* no flag: a heading of -help */
	FLAG_BOOL,     /* -x, -x=0, -x=1 */
	FLAG_TEXT,     /* -x=TEXT or -x TEXT */
	FLAG_LIST,     /* the same, any number of times */
	FLAG_MAYBE,    /* -x or -x=TEXT: "" without */
	FLAG_INT,      /* -x=N or -x N, not negative */
	FLAG_CHOICE,   /* -x=a */
	FLAG_CHOICE_1, /* -x or -x=b: the first choice without */
};

struct flag {
	const char *name, *argument, *help; /* argument: choices as "a|b" */
	enum flag_kind kind;
	size_t at; /* in struct driver_options */
};

#define AT(field) offsetof(struct driver_options, field)

static const struct flag flags[] = {
	{"Output", NULL, NULL, FLAG_GROUP, 0},
	{"o", "FILE", "write to FILE, under its name once it is whole; -: standard output",
		FLAG_TEXT, AT(output)},
	{"emit", "dir|program|none", "write the module (default), build a program, or neither",
		FLAG_CHOICE, AT(emit)},
	{"target", "host|cuda", "what -emit=program builds for (default: host)", FLAG_CHOICE,
		AT(target)},
	{"Input", NULL, NULL, FLAG_GROUP, 0},
	{"D", "NAME=N", "give `let NAME` of the module another value", FLAG_LIST, AT(define)},
	{"split-input-file", NULL, "treat the parts between lines `// -----` one by one", FLAG_BOOL,
		AT(split)},
	{"Passes", NULL, NULL, FLAG_GROUP, 0},
	{"pass", "TEXT", "run these passes: 'grad,adam{lr=3e-4}'; repeated: one after another",
		FLAG_LIST, AT(pass)},
	{"load", "FILE", "load a plugin with more passes", FLAG_LIST, AT(load)},
	{"keep", "all|better",
		"better: undo a pass that makes the step slower, or too big for the device, unless "
		"it provides what other passes need",
		FLAG_CHOICE, AT(keep)},
	{"seed", "N", "of everything random (default: 0)", FLAG_INT, AT(seed)},
	{"device", "FILE", "description of the device that times are estimated for", FLAG_TEXT,
		AT(device)},
	{"profile", "FILE", "measured times of ops, used before estimates", FLAG_TEXT, AT(profile)},
	{"measure", "missing|all",
		"time the ops that the profile lacks (or all) and put them into it; "
		"writes no module",
		FLAG_CHOICE_1, AT(measure)},
	{"What passes do", NULL, NULL, FLAG_GROUP, 0},
	{"stats", "table|json",
		"a row a pass: step time, communication, memory; on standard output with "
		"-emit=none, else on standard error",
		FLAG_CHOICE_1, AT(stats)},
	{"time", NULL, "what each pass took, on standard error", FLAG_BOOL, AT(time)},
	{"remarks", "FILE", "what passes did and did not do, and why; with FILE: there, as YAML",
		FLAG_MAYBE, AT(remarks)},
	{"print-before", "NAME,..|all", "print the module before these passes, on standard error",
		FLAG_TEXT, AT(print_before)},
	{"print-after", "NAME,..|all|changed",
		"and after them; changed: after passes that changed it", FLAG_TEXT,
		AT(print_after)},
	{"Checks", NULL, NULL, FLAG_GROUP, 0},
	{"verify-each", "0|1", "verify the module after every pass (default: 1)", FLAG_BOOL,
		AT(verify_each)},
	{"check", NULL, "compare results before and after every pass, and layouts with meanings",
		FLAG_BOOL, AT(check)},
	{"run", NULL, "run the result in the interpreter and print its outputs; writes no module",
		FLAG_BOOL, AT(run)},
	{"steps", "N", "training steps of -run and -check", FLAG_INT, AT(steps)},
	{"data", "FILE", "inputs of -run, -check from a safetensors file (default: random)",
		FLAG_TEXT, AT(data)},
	{"save", "FILE", "-run: write params and states at the end, as a program's -save does",
		FLAG_TEXT, AT(save)},
	{"f64", NULL, "-run: compute floats in double precision, as -check does", FLAG_BOOL,
		AT(f64)},
	{"layout", NULL, "-run: place by place, as the layouts say (default: by meaning)",
		FLAG_BOOL, AT(layout)},
	{"reproducer", "FILE",
		"if a pass fails or crashes, write its input there, with the command "
		"that runs it",
		FLAG_TEXT, AT(reproducer)},
	{"verify-diagnostics", NULL, "check messages against comments `expected-error@+1 {{text}}`",
		FLAG_BOOL, AT(verify_diagnostics)},
	{"Help", NULL, NULL, FLAG_GROUP, 0},
	{"help", "PASS|OP", "this text; with a name: about that pass or op", FLAG_MAYBE, AT(help)},
	{"list-passes", "text|md", "list the passes with their options", FLAG_CHOICE_1,
		AT(list_passes)},
	{"list-ops", "text|md", "list the operations", FLAG_CHOICE_1, AT(list_ops)},
	{"version", NULL, "print the version", FLAG_BOOL, AT(version)},
};

enum { NFLAGS = sizeof flags / sizeof *flags, HELP_COLUMN = 28, HELP_WIDTH = 100 };

void
driver_error(const char *format, ...)
{
	va_list args;

	fputs("dopt: error: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* The words of a text from HELP_COLUMN on, where the line is already. */
static void
help_text(FILE *out, const char *s)
{
	int at = HELP_COLUMN;

	for (int n; *s; s += n + (s[n] == ' ')) {
		n = (int)strcspn(s, " ");
		if (at > HELP_COLUMN && at + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		}
		at += fprintf(out, "%s%.*s", at > HELP_COLUMN ? " " : "", n, s);
	}
	fputc('\n', out);
}

static void
help_flag(FILE *out, const struct flag *f)
{
	bool separate = f->kind == FLAG_TEXT || f->kind == FLAG_LIST || f->kind == FLAG_INT;
	bool maybe = f->kind == FLAG_MAYBE || f->kind == FLAG_CHOICE_1 || f->kind == FLAG_BOOL;
	int n = fprintf(out, "  -%s", f->name);

	if (f->argument && maybe)
		n += fprintf(out, "[=%s]", f->argument);
	else if (f->argument)
		n += fprintf(out, separate && !f->name[1] ? " %s" : "=%s", f->argument);
	if (n >= HELP_COLUMN)
		n = fprintf(out, "\n") - 1;
	fprintf(out, "%*s", HELP_COLUMN - n, "");
	help_text(out, f->help);
}

void
driver_options_help(FILE *out)
{
	fputs("usage: dopt [options] FILE\n"
	      "Transforms, checks, costs and compiles a training step. FILE -: standard input.\n"
	      "Options may begin with - or --; -x=VALUE may be written -x VALUE where no [] "
	      "stand.\n",
		out);
	for (const struct flag *f = flags; f < flags + NFLAGS; f++) {
		if (f->kind == FLAG_GROUP)
			fprintf(out, "\n%s:\n", f->name);
		else
			help_flag(out, f);
	}
	fputs("\nExit status: 0 done; 1 the input is wrong, or a file cannot be read or written;\n"
	      "2 the command line is wrong; 3 a pass is: it crashed, broke the module or its "
	      "meaning.\n",
		out);
}

static bool
is_flag(const struct flag *f, const char *name, size_t n)
{
	return f->kind != FLAG_GROUP && strlen(f->name) == n && !memcmp(f->name, name, n);
}

static const struct flag *
flag_find(const void *owner, const char *name, size_t n)
{
	struct suggestion near = suggestion_for(talloc_strndup(owner, name, n));

	if (n == 1 && *name == 'h')
		return flag_find(owner, "help", strlen("help"));
	for (const struct flag *f = flags; f < flags + NFLAGS; f++)
		if (is_flag(f, name, n))
			return f;
	for (const struct flag *f = flags; f < flags + NFLAGS; f++)
		if (f->kind != FLAG_GROUP)
			suggestion_add(&near, f->name);
	if (near.best)
		driver_error("unknown option '-%s'; did you mean '-%s'?", near.wrong, near.best);
	else
		driver_error("unknown option '-%s'; -help lists them", near.wrong);
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
	driver_error("option -%s: expected a number from 0 on, found '%s'", f->name, value);
	return false;
}

static bool
read_choice(const void *owner, const struct flag *f, int *out, const char *value)
{
	char *list = talloc_strdup(owner, f->argument), *word;
	struct suggestion near = suggestion_for(value);

	*out = 0;
	while ((word = strsep(&list, "|"))) {
		++*out;
		if (!strcmp(word, value))
			return true;
		suggestion_add(&near, word);
	}
	driver_error("option -%s: '%s' is none of %s%s", f->name, value, f->argument,
		suggestion_text(owner, &near));
	return false;
}

static void
list_append(const void *owner, struct driver_list *list, const char *value)
{
	list->item = talloc_realloc(owner, list->item, const char *, (size_t)list->n + 1);
	if (!list->item)
		out_of_memory();
	list->item[list->n++] = value;
}

/* Stores the value of a flag; `value` is NULL where none was given and none is needed. */
static bool
flag_store(const void *owner, const struct flag *f, struct driver_options *o, const char *value)
{
	void *field = (char *)o + f->at;

	switch (f->kind) {
	case FLAG_BOOL: return read_bool(f, field, value);
	case FLAG_INT: return read_int(f, field, value);
	case FLAG_CHOICE: return read_choice(owner, f, field, value);
	case FLAG_LIST: list_append(owner, field, value); return true;
	case FLAG_TEXT: *(const char **)field = value; return true;
	case FLAG_MAYBE: *(const char **)field = value ? value : ""; return true;
	case FLAG_CHOICE_1: *(int *)field = 1; return !value || read_choice(owner, f, field, value);
	case FLAG_GROUP: break;
	}
	return false;
}

static bool
takes_next(const struct flag *f)
{
	return f->kind == FLAG_TEXT || f->kind == FLAG_LIST || f->kind == FLAG_INT ||
	       f->kind == FLAG_CHOICE;
}

/* Reads argv[*i], an option, and the argument behind it where it takes that. */
static bool
read_flag(const void *owner, struct driver_options *o, int argc, char **argv, int *i)
{
	const char *name = argv[*i] + 1 + (argv[*i][1] == '-');
	const char *value = strchr(name, '=');
	size_t n = value ? (size_t)(value++ - name) : strlen(name);

	if (*name == 'D' && name[1] && name[1] != '=') { /* -DB=128 */
		list_append(owner, &o->define, name + 1);
		return true;
	}
	const struct flag *f = flag_find(owner, name, n);
	if (!f)
		return false;
	if (!value && takes_next(f)) {
		if (*i + 1 >= argc) {
			driver_error(
				"option -%s needs a value: -%s=%s", f->name, f->name, f->argument);
			return false;
		}
		value = argv[++*i];
	}
	return flag_store(owner, f, o, value);
}

bool
driver_options_read(const void *owner, struct driver_options *o, int argc, char **argv)
{
	*o = (struct driver_options){.verify_each = true};
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1]) {
			if (!read_flag(owner, o, argc, argv, &i))
				return false;
		} else if (!o->input) {
			o->input = argv[i];
		} else {
			driver_error("more than one input file: '%s' and '%s'", o->input, argv[i]);
			return false;
		}
	}
	if (o->input || o->help || o->version || o->list_passes || o->list_ops)
		return true;
	driver_error("no input file; -help says how dopt is used");
	return false;
}
