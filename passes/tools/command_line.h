/*
 * The command line of a tool: one table, from which it is read and -help is printed. Options may
 * begin with - or --. -h is -help.
 */
#ifndef PASSES_TOOLS_COMMAND_LINE_H
#define PASSES_TOOLS_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a tool ends with; -help lists them. */
enum driver_exit {
	DRIVER_OK = 0,
	DRIVER_INPUT = 1, /* the input is wrong, or a file cannot be read or written */
	DRIVER_USAGE = 2, /* the command line is */
	DRIVER_BUG = 3,   /* a pass or dopt is: it crashed, or broke the module or its meaning */
};

struct driver_list {
	const char **item;
	int n;
};

/* "dopt: error: ..." on stderr; it begins with the name of the program that runs. */
void driver_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum flag_kind {
	FLAG_GROUP, /* no flag: a heading of -help */
	FLAG_BOOL,  /* bool: -x, -x=0, -x=1 */
	FLAG_TEXT,  /* const char *: -x=TEXT or -x TEXT */
	FLAG_LIST,  /* struct driver_list: the same, any number of times; one letter: also -xTEXT */
	FLAG_MAYBE, /* const char *: -x or -x=TEXT: "" without */
	FLAG_INT,   /* int64_t: -x=N or -x N, not negative */
	FLAG_SHARE, /* double: -x=0.05 or -x=5%, not negative */
	FLAG_CHOICE,   /* int: -x=a, the value of one of `choice` */
	FLAG_CHOICE_1, /* the same, or -x: the first choice without */
};

/*
 * What else a command line must or must not have with an option or one of its choices. Lists are
 * separated by commas; an item is the name of an option, or `name=choice`. A file that is "-", the
 * standard output, is none.
 */
struct flag_rule {
	const char *excludes; /* options that must not be given */
	const char *needs;    /* options of which one must be */
	const char *why;      /* it needs them, a clause for the message */
};

struct choice {
	const char *name;
	int value;
	struct flag_rule rule;
};

/* From rows as passes/pass.h has them, an array that ends with {NULL}. A row may also set `rule`. */
#define CHOICE_ROW(code, ...) {.value = code, .name = __VA_ARGS__},
#define CHOICES(rows) ((const struct choice[]){rows(CHOICE_ROW){.name = NULL}})

struct flag {
	const char *name, *argument, *help; /* argument: NULL where there are choices */
	enum flag_kind kind;
	size_t at;                   /* in the tool's options */
	const struct choice *choice; /* ends with {NULL} */
	struct flag_rule rule;
};

/* What the options of a tool with commands are; each tool has its own. */
struct tool;

/* What a tool does with between `least` and `most` files. */
struct command {
	const char *name, *files, *help; /* files: "BEFORE AFTER" */
	int least, most;
	enum driver_exit (*run)(struct tool *t);
};

struct command_line {
	const char *head, *tail; /* of -help, before and behind the tables */
	const struct flag *flag;
	const struct command *command; /* with commands: the first word is one */
	size_t nflags, ncommands;
	size_t words; /* in the options, a struct driver_list: the arguments that are no options */
};

/*
 * Reads the arguments into `options`, which has the defaults; texts are owned by `owner` or argv.
 * Returns false after saying on stderr what is wrong.
 */
bool command_line_read(
	const void *owner, const struct command_line *l, void *options, int argc, char **argv);

/* The option of that name; NULL: there is none. */
const struct flag *command_line_flag(const struct command_line *l, const char *name);

/* What is written behind an option: "FILE", "a|b", owned by `owner` or the table; NULL: nothing. */
const char *flag_argument(const void *owner, const struct flag *f);

/* Must its argument be written? */
bool flag_needs_argument(const struct flag *f);

/* Do the options fit together, as the rules of the table say? Else false, with a message. */
bool command_line_agrees(const struct command_line *l, const void *options);

/* Usage, commands, options by group, exit status. */
void command_line_help(FILE *out, const struct command_line *l);

/*
 * Prints -help on stdout where `help` is set, or on stderr where nothing is asked for; else runs
 * the command that the words in *words begin with, without that word in front. DRIVER_USAGE where
 * there is no such command or its files are too few or too many, said on stderr.
 */
enum driver_exit command_line_run(
	const struct command_line *l, struct tool *t, bool help, struct driver_list *words);

#endif
