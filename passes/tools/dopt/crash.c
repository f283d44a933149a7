/* Work in a child process, and the report on its crashes. */
#include "passes/tools/dopt/crash.h"

#include "passes/tools/dopt/crash_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void
crash_doing(struct crash_note *n, const char *format, ...)
{
	va_list args;

	if (!n)
		return;
	va_start(args, format);
	vsnprintf(n->doing, sizeof n->doing, format, args);
	va_end(args);
}

void
crash_diag(struct crash_note *n, const struct diag *d)
{
	if (n)
		n->diag = d;
}

/* The first line of the reproducer names the pass: `... -pass=NAME ...`. */
static void
report_reproducer(const struct driver_options *o)
{
	if (!o->reproducer)
		fputs("dopt: note: -reproducer=FILE writes the input "
		      "of the pass and a command that runs it alone\n",
			stderr);
	else if (access(o->reproducer, F_OK) == 0)
		fprintf(stderr,
			"dopt: note: the command in the first line of %s runs this pass alone\n",
			o->reproducer);
}

static void
report_op(const struct crash_note *n)
{
	if (!*n->op)
		return;
	if (*n->file)
		fprintf(stderr, "%s:%u:%u: ", n->file, n->line, n->column);
	else
		fputs("dopt: ", stderr);
	fprintf(stderr, "note: the op being processed was %s%s%s\n", n->op,
		*n->value ? ", result %" : "", n->value);
}

static void
report_crash(const struct driver_options *o, const struct crash_note *n, int signal)
{
	driver_error("killed by signal %d (%s) %s", signal, strsignal(signal), n->doing);
	report_op(n);
	report_reproducer(o);
}

/* The child called exit, as on lack of memory, by a sanitizer, or by a plugin that must not. */
static enum driver_exit
report_exit(const struct crash_note *n, int status)
{
	driver_error("exited with status %d %s", status, n->doing);
	return status ? (enum driver_exit)status : DRIVER_BUG;
}

static bool
asks_for_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

static enum driver_exit
report_end(const struct driver_options *o, const struct crash_note *n, int status)
{
	if (WIFEXITED(status) && n->done)
		return (enum driver_exit)WEXITSTATUS(status);
	if (WIFEXITED(status))
		return report_exit(n, WEXITSTATUS(status));
	const int number = WTERMSIG(status);
	if (asks_for_end(number))
		raise(number);
	report_crash(o, n, number);
	return DRIVER_BUG;
}

static struct crash_note *
make_note(void)
{
	struct crash_note *n =
		mmap(NULL, sizeof *n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return n == MAP_FAILED ? NULL : n;
}

enum driver_exit
crash_guarded(const void *scratch, struct driver_options *o,
	enum driver_exit (*work)(const void *scratch, const struct driver_options *o))
{
	struct crash_note *n = make_note();
	const pid_t parent = getpid(), child = n ? fork() : -1;
	int status = 0;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(DRIVER_BUG);
		o->note = n;
		crash_doing(n, "before reading its input");
		crash_watch_ops(n);
		const enum driver_exit exit = work(scratch, o);
		n->done = true;
		return exit;
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			break;
	if (child < 0) {
		driver_error("cannot start a process: %s", strerror(errno));
		return DRIVER_INPUT;
	}
	return report_end(o, n, status);
}
