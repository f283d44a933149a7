/*
 * dopt-reduce: a smaller module for which a command fails in the same way.
 *
 *     dopt-reduce 'dopt -pass=grad,opfuse -check' step.dir -o small.dir
 *
 * Sizes become smaller, calls are inlined, outputs and updates go, ops are replaced by one of their
 * operands or by an input, attributes go: all at once, then halves, quarters and single ones, until
 * no single change is left (delta debugging: Zeller, Hildebrandt, IEEE TSE 28(2), 2002). A change is
 * kept if the module is valid and the command ends as it did before.
 */
#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "ir/ir.h"
#include "lower/job.h"
#include "parser/dir/parse.h"
#include "passes/tools/command_line.h"
#include "passes/tools/input.h"
#include "passes/tools/output.h"
#include "passes/tools/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

enum {
	DEFAULT_SECONDS = 60,  /* one command: ten times what -check of a small model takes */
	POLL_NS = 1000 * 1000, /* between two looks at a command that runs: it takes 5 ms or more */
	LEAST_SIZE = 1,        /* of a let */
	OUTPUT_MOST = 16 << 20, /* of a command's output, searched for -message */
};

struct tool {
	struct ir_context *ctx;
	const char *output, *message;
	bool help;
	int64_t seconds;
	struct driver_list word;
	/* The current module, and what its command does. */
	struct driver_input in;
	struct ir_module *m;
	struct job *job;
	char *command, *path, *log;
	int status; /* as waitpid gives it */
	int64_t runs;
};

/* --- the command --- */

/* The command with the candidate's path in place of {}, or at the end. */
static char *
command_of(const void *owner, const char *text, const char *path)
{
	const char *at = strstr(text, "{}");
	char *made = at ? text_copy_n(owner, text, (size_t)(at - text)) : TEXT(owner, "%s ", text);

	while (at) {
		const char *next = strstr(at + 2, "{}");
		made = TEXT(owner, "%s'%s'%.*s", made, path,
			(int)(next ? next - at - 2 : (ptrdiff_t)strlen(at + 2)), at + 2);
		at = next;
	}
	return strstr(text, "{}") ? made : TEXT(owner, "%s'%s'", made, path);
}

static bool
log_has(const struct tool *t, const char *message)
{
	FILE *in = fopen(t->log, "re");
	const size_t most = OUTPUT_MOST;
	char *text = NEW_ARRAY(NULL, char, most + 1);
	const size_t n = in ? fread(text, 1, most, in) : 0;

	if (in)
		fclose(in);
	const bool found = memmem(text, n, message, strlen(message)) != NULL;
	talloc_free(text);
	return found;
}

/* Runs the command on the module; its status as waitpid gives it, -1: it took too long or could not
 * be run. */
static int
run(struct tool *t, const struct ir_module *m)
{
	FILE *out = fopen(t->path, "we");
	const struct timespec nap = {.tv_nsec = POLL_NS};
	struct timespec start, now;

	if (!out)
		return -1;
	ir_print(out, m);
	const int log =
		fclose(out) ? -1 : open(t->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (log < 0)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	const pid_t pid = job_start(t->job, t->command, log, log);
	close(log);
	if (pid < 0)
		return -1;
	t->runs++;
	for (;;) {
		siginfo_t info = {0};
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
			errno != EINTR)
			break;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (info.si_pid)
			break;
		if (now.tv_sec - start.tv_sec >= t->seconds) {
			job_wait(t->job, pid, true);
			return -1;
		}
		nanosleep(&nap, NULL);
	}
	return job_wait(t->job, pid, false);
}

static bool
write_result(struct tool *t)
{
	struct driver_output out;

	if (!driver_output_open(&out, t->output))
		return false;
	ir_print(out.file, t->m);
	return driver_output_close(&out);
}

/* Is each module written that is found? Then the best is there whenever this is interrupted. */
static bool
is_kept(const struct tool *t)
{
	return t->output && strcmp(t->output, "-") != 0;
}

/* Keeps the candidate if the command fails on it as on the module that was given; else frees it. */
static bool
keep(struct tool *t, struct ir_module *m)
{
	if (run(t, m) != t->status || (t->message && !log_has(t, t->message))) {
		talloc_free(m);
		return false;
	}
	talloc_free(t->m);
	t->m = m;
	if (is_kept(t))
		write_result(t);
	return true;
}

/* --- sizes, calls --- */

/* The module with other lets, or with calls inlined; NULL: there is none. */
static struct ir_module *
read_module(struct tool *t, const struct parse_define *define, int n, bool inline_calls)
{
	const struct parse_options o = {
		.define = define, .ndefines = n, .inline_calls = inline_calls};
	struct diag_trial *trial = diag_trial_begin(t->ctx->diag);
	struct ir_module *m = parse_module(t, t->ctx, t->in.name, t->in.text, t->in.length, &o);

	diag_trial_end(t->ctx->diag, trial, t);
	return m;
}

/* Lowers the values of lets one by one: to the least, else by half as often as the command fails. */
static void
reduce_sizes(struct tool *t, struct parse_define *define, int n)
{
	for (bool again = true; again;) {
		again = false;
		for (int i = 0; i < n; i++)
			for (int64_t next = LEAST_SIZE; next < define[i].value;) {
				const int64_t had = define[i].value;
				define[i].value = next;
				struct ir_module *m = read_module(t, define, n, false);
				if (m && keep(t, m)) {
					again = true;
					break;
				}
				define[i].value = had;
				/* 1, then half of what it is, three quarters ... */
				next = next == LEAST_SIZE && had / 2 > LEAST_SIZE
					       ? had / 2
					       : next + (had - next + 1) / 2;
			}
	}
}

/* --- ops --- */

static struct ir_func *
main_of(const struct ir_module *m)
{
	return ir_func_find(m, ir_name(m->ctx, "main"));
}

/* What is done to an op; true: something was. */
typedef bool change(struct tool *t, struct ir_module *m, struct ir_op *op);

static bool
drop_effect(struct tool *t, struct ir_module *m, struct ir_op *op)
{
	(void)t;
	(void)m;
	if (!op_is(op, TRAIT_EFFECT) || op_is(op, TRAIT_TERMINATOR))
		return false;
	ir_op_erase(op);
	return true;
}

/* Uses the first or the last operand of the same type in place of a result. */
static bool
use_one(struct ir_op *op, bool last)
{
	bool done = op->nresults > 0;

	for (int r = 0; r < op->nresults && done; r++) {
		done = !op->result[r].uses;
		for (int i = 0; i < op->noperands && !done; i++) {
			/* Of a collective, the operand of the same number. */
			const int k = op->nresults > 1 ? r : last ? op->noperands - 1 - i : i;
			if (k >= op->noperands || op->result[r].type != ir_operand_type(op, k))
				continue;
			ir_replace_uses(&op->result[r], ir_operand(op, k));
			done = true;
		}
	}
	if (done)
		ir_op_erase(op);
	return done;
}

static bool
use_first_operand(struct tool *t, struct ir_module *m, struct ir_op *op)
{
	(void)t;
	(void)m;
	return use_one(op, false);
}

static bool
use_last_operand(struct tool *t, struct ir_module *m, struct ir_op *op)
{
	(void)t;
	(void)m;
	return use_one(op, true);
}

/* Outputs an operand of the op whose result is output now. */
static bool
output_operand(struct tool *t, struct ir_module *m, struct ir_op *op)
{
	(void)t;
	(void)m;
	const struct ir_op *from = op->code == OP_output ? ir_operand(op, 0)->op : NULL;

	if (!from || !from->noperands)
		return false;
	ir_set_operand(op, 0, ir_operand(from, 0));
	return true;
}

static bool
use_input(struct tool *t, struct ir_module *m, struct ir_op *op)
{
	struct ir_builder b = {.m = m, .block = op->block, .before = op, .loc = op->loc};

	if (op->code == OP_input || op->nresults != 1 || !op->result[0].uses ||
		op_is(op, TRAIT_PERSISTENT | TRAIT_WRITTEN))
		return false;
	const char *name = ir_name(t->ctx, TEXT(t, "reduced%u", op->id));
	struct ir_value *v =
		ir_build_typed(&b, OP_input, name, NULL, 0, NULL, 0, op->result[0].type);
	if (!v)
		return false;
	ir_replace_uses(&op->result[0], v);
	ir_op_erase(op);
	return true;
}

static bool
drop_attribute(struct tool *t, struct ir_module *m, struct ir_op *op)
{
	(void)t;
	(void)m;
	if (!op->nattrs)
		return false;
	ir_attr_remove(op, op->attr[op->nattrs - 1].key);
	return true;
}

/* All changes, in the order in which they are tried: what takes most out comes first. */
static change *const changes[] = {drop_effect, use_input, use_first_operand, use_last_operand,
	output_operand, drop_attribute};

/* Removes ops whose results have no uses, among them params and inputs. */
static void
sweep(struct ir_module *m)
{
	struct ir_op *before;

	for (struct ir_op *op = main_of(m)->body.last; op; op = before) {
		bool used = op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_CALLS);
		before = op->prev;
		for (int r = 0; r < op->nresults; r++)
			used = used || op->result[r].uses;
		if (!used)
			ir_op_erase(op);
	}
}

static int
count_ops(const struct ir_module *m)
{
	int n = 0;

	IR_FOR_OPS (op, &main_of(m)->body)
		n++;
	return n;
}

/* Tries a change of the ops first to first + n - 1 at once. */
static bool
try_change(struct tool *t, change *make, int first, int n)
{
	struct ir_module *m = ir_module_clone(t, t->m);
	struct VEC(struct ir_op *) ops = {0};
	int i = 0, made = 0;

	struct diag_trial *trial = diag_trial_begin(t->ctx->diag);

	IR_FOR_OPS (op, &main_of(m)->body) {
		if (i >= first && i < first + n)
			VEC_PUSH(m, &ops, op);
		i++;
	}
	for (int64_t k = ops.n; k-- > 0;) /* users come before what they use */
		made += make(t, m, ops.at[k]);
	if (made)
		sweep(m);
	const bool valid = made && ir_verify(m);
	diag_trial_end(t->ctx->diag, trial, m);
	if (valid)
		return keep(t, m);
	talloc_free(m);
	return false;
}

static bool
reduce_ops(struct tool *t, change *make)
{
	bool any = false;

	for (int chunk = count_ops(t->m); chunk > 0; chunk /= 2)
		for (int end = count_ops(t->m); end > 0;) {
			const int first = end > chunk ? end - chunk : 0;
			const bool done = try_change(t, make, first, end - first);
			const int n = count_ops(t->m);
			any = any || done;
			end = !done ? first : end < n ? end : n;
			if (done && n == 0)
				break;
		}
	return any;
}

static enum driver_exit
reduce(struct tool *t)
{
	char quoted[64];

	t->m = read_module(t, NULL, 0, false);
	if (!t->m) { /* again, for the messages */
		parse_module(t, t->ctx, t->in.name, t->in.text, t->in.length, NULL);
		return DRIVER_INPUT;
	}
	t->status = run(t, t->m);
	if (t->status == -1) {
		driver_error("the command did not end within %lld s: -time-limit",
			(long long)t->seconds);
		return DRIVER_INPUT;
	}
	if (t->message && !log_has(t, t->message)) {
		driver_error("the output of the command does not have '%s'", t->message);
		return DRIVER_INPUT;
	}
	if (t->status == 0 && !t->message) {
		driver_error(
			"the command succeeds: there is no failure to keep (-message=TEXT keeps a text "
			"of its output instead)");
		return DRIVER_INPUT;
	}
	snprintf(quoted, sizeof quoted, WIFEXITED(t->status) ? "exit status %d" : "signal %d",
		WIFEXITED(t->status) ? WEXITSTATUS(t->status) : WTERMSIG(t->status));
	if (is_kept(t) && !write_result(t)) /* before the work, not after it */
		return DRIVER_INPUT;
	const int n = t->m->nlets;
	struct parse_define *define = NEW_ARRAY(t, struct parse_define, n + 1);
	for (int i = 0; i < n; i++)
		define[i] = (struct parse_define){t->m->let[i].name, t->m->let[i].value};
	reduce_sizes(t, define, n);
	struct ir_module *flat = read_module(t, define, n, true);
	const int had = flat ? count_ops(flat) : count_ops(t->m);
	if (flat && keep(t, flat))
		for (bool again = true; again;) {
			again = false;
			for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
				again = reduce_ops(t, changes[i]) || again;
		}
	else
		fprintf(stderr,
			"dopt-reduce: the command does not fail with calls inlined: only sizes "
			"were reduced\n");
	fprintf(stderr, "dopt-reduce: %s, as before, with %d of %d ops, after %lld runs\n", quoted,
		count_ops(t->m), had, (long long)t->runs);
	return write_result(t) ? DRIVER_OK : DRIVER_INPUT;
}

#define FIELD(field) offsetof(struct tool, field)
#define AT(field) .at = FIELD(field)

static const struct flag flags[] = {
	{"o", "FILE",
		"write to FILE, each time a smaller module is found; -: standard output (default)",
		FLAG_TEXT, AT(output)},
	{"message", "TEXT",
		"keep what makes the command print TEXT, on either output, with the same exit status",
		FLAG_TEXT, AT(message)},
	{"time-limit", "SECONDS",
		"end a command that runs longer, which does not count as a failure (default: 60)",
		FLAG_INT, AT(seconds)},
	{"help", NULL, "print this text", FLAG_BOOL, AT(help)},
};

static const struct command_line line = {
	.head = "usage: dopt-reduce [options] COMMAND FILE\n"
		"Reduces a module while a command fails on it as it does now: with the same exit status or "
		"signal.\n"
		"COMMAND is run by the shell, with the path of a module in place of {}, or at its end.\n",
	.tail = "Exit status: 0 success; 1 the command does not fail, or a file cannot be read or written;\n"
		"2 invalid command line.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.words = FIELD(word),
};

int
tool_reduce(int argc, char **argv)
{
	struct tool *t = NEW(NULL, struct tool);
	enum driver_exit exit = DRIVER_USAGE;

	signal(SIGPIPE, SIG_IGN);
	t->ctx = ir_context_create(t);
	t->seconds = DEFAULT_SECONDS;
	if (!command_line_read(t, &line, t, argc, argv)) {
		talloc_free(t);
		return DRIVER_USAGE;
	}
	if (t->help || argc == 1) {
		command_line_help(t->help ? stdout : stderr, &line);
		exit = t->help ? DRIVER_OK : DRIVER_USAGE;
	} else if (t->word.n != 2) {
		driver_error("expected a command, as one word in quotes, and a file; found %d",
			t->word.n);
	} else if (!driver_input_read(t, &t->in, t->word.item[1]) ||
		   !(t->job = job_create_temporary(t, t->ctx->diag, "dopt-reduce"))) {
		exit = DRIVER_INPUT;
	} else {
		t->path = TEXT(t, "%s/module.dir", job_folder(t->job));
		t->log = TEXT(t, "%s/log", job_folder(t->job));
		t->command = command_of(t, t->word.item[0], t->path);
		exit = reduce(t);
	}
	talloc_free(t);
	return exit;
}
