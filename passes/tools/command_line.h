/*
 * The command line of a tool: a table drives both parsing and -help. Options may begin with - or
 * --. -h is -help.
 */
#ifndef PASSES_TOOLS_COMMAND_LINE_H
#define PASSES_TOOLS_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses of a tool; -help lists them. */
enum driver_exit {
	DRIVER_OK = 0,
	DRIVER_INPUT = 1, /* the input is wrong, or a file cannot be read or written */
	DRIVER_USAGE = 2, /* the command line is wrong */
	DRIVER_BUG = 3,   /* a bug in a pass or in dopt: it crashed, or broke the module or its
			     meaning */
};

struct driver_list {
	const char **item;
	int n;
};

/* "dopt: error: ..." on stderr; the prefix is the name of the running program. */
void driver_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum flag_kind {
	FLAG_GROUP, /* not a flag: a heading of -help */
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
 * separated by commas; an item is the name of an option, or `name=choice`. The file "-", the
 * standard output, does not count as one.
 */
struct flag_rule {
	const char *excludes; /* options that must not be given */
	const char *needs;    /* options of which one is required */
	const char *why;      /* it needs them, a clause for the message */
};

struct choice {
	const char *name;
	int value;
	struct flag_rule rule;
};

/* Built from rows as in passes/pass.h, an array ended by {NULL}. A row may also set `rule`. */
#define CHOICE_ROW(code, ...) {.value = code, .name = __VA_ARGS__},
#define CHOICES(rows) ((const struct choice[]){rows(CHOICE_ROW){.name = NULL}})

struct flag {
	const char *name, *argument, *help; /* argument: NULL if there are choices */
	enum flag_kind kind;
	size_t at;                   /* offset in the tool's options */
	const struct choice *choice; /* ends with {NULL} */
	struct flag_rule rule;
};

/* The options of a tool with commands; each tool defines its own. */
struct tool;

/* A command of a tool, with between `least` and `most` files. */
struct command {
	const char *name, *files, *help; /* files: "BEFORE AFTER" */
	int least, most;
	enum driver_exit (*run)(struct tool *t);
};

struct command_line {
	const char *head, *tail; /* of -help, before and after the tables */
	const struct flag *flag;
	const struct command *command; /* with commands: the first word is one */
	size_t nflags, ncommands;
	size_t words; /* offset in the options of a struct driver_list: the arguments that are not
			 options */
};

/*
 * Reads the arguments into `options`, which holds the defaults; texts are owned by `owner` or argv.
 * Returns false after reporting an error on stderr.
 */
bool command_line_read(
	const void *owner, const struct command_line *l, void *options, int argc, char **argv);

/* The option of that name; NULL: there is none. */
const struct flag *command_line_flag(const struct command_line *l, const char *name);

/* The placeholder after an option: "FILE", "a|b", owned by `owner` or the table; NULL: none. */
const char *flag_argument(const void *owner, const struct flag *f);

/* Is its argument required? */
bool flag_needs_argument(const struct flag *f);

/* Do the options satisfy the rules of the table? Else false, with a message. */
bool command_line_agrees(const struct command_line *l, const void *options);

/* Usage, commands, options by group, exit status. */
void command_line_help(FILE *out, const struct command_line *l);

/*
 * The main of a tool with commands: reads the arguments into *t, which holds the defaults and is freed at the end. Prints
 * -help on stdout if the flag of that name is set, or on stderr if there are no arguments; else runs the command that
 * is the first word, with the others. DRIVER_USAGE, after a message on stderr, if there is no such command or it has too
 * few or too many files.
 */
enum driver_exit command_line_main(
	const struct command_line *l, struct tool *t, int argc, char **argv);

#endif
