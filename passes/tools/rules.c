/*
 * dopt-rules: substitutions of graphs.
 *
 *     dopt-rules show FILE             the rules as they are read
 */
#include "ir/base/alloc.h"
#include "ir/rule.h"
#include "parser/dir/parse.h"
#include "passes/tools/command_line.h"
#include "passes/tools/input.h"
#include "passes/tools/output.h"
#include "passes/tools/tools.h"

#include <signal.h>
#include <talloc.h>

struct tool {
	struct ir_context *ctx;
	const char *output;
	bool help;
	struct driver_list file;
};

/* The rules of a file; NULL: said. */
static struct ir_rules *
read_rules(struct tool *t, const char *path)
{
	struct driver_input in;

	if (!driver_input_read(t, &in, path))
		return NULL;
	return parse_rules(t, t->ctx, in.name, in.text, in.length);
}

static enum driver_exit
show(struct tool *t)
{
	struct ir_rules *rules = read_rules(t, t->file.item[0]);
	struct driver_output out;
	const char *between = "";

	if (!rules || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	IR_FOR_RULES (r, rules) {
		fputs(between, out.file);
		ir_print_rule(out.file, rules->m, r);
		between = "\n";
	}
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

#define FIELD(field) offsetof(struct tool, field)
#define AT(field) .at = FIELD(field)

static const struct flag flags[] = {
	{"Options", .kind = FLAG_GROUP},
	{"o", "FILE",
		"write to FILE atomically (temporary file, then rename); -: standard output",
		FLAG_TEXT, AT(output)},
	{"help", NULL, "print this text", FLAG_BOOL, AT(help)},
};

static const struct command commands[] = {
	{"show", "FILE", "write the rules of a file as they are read", 1, 1, show},
};

static const struct command_line line = {
	.head = "usage: dopt-rules COMMAND [options] FILE\n"
		"Rules are substitutions of small graphs that hold for any sizes. FILE is a text of "
		"rules; -: standard input.\n",
	.tail = "Exit status: 0 success; 1 invalid rules, or a file cannot be read or written;\n"
		"2 invalid command line.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.command = commands,
	.ncommands = sizeof commands / sizeof *commands,
	.words = FIELD(file),
};

int
tool_rules(int argc, char **argv)
{
	struct tool *t = NEW(NULL, struct tool);
	enum driver_exit exit = DRIVER_USAGE;

	signal(SIGPIPE, SIG_IGN);
	t->ctx = ir_context_create(t);
	if (command_line_read(t, &line, t, argc, argv))
		exit = command_line_run(&line, t, t->help, &t->file);
	talloc_free(t);
	return exit;
}
