/* -trial: one run of a program. */
#include "passes/tools/dopt/trial_impl.h"

#include "lower/build.h"
#include "ir/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>
#include <time.h>
#include <unistd.h>

enum {
	/* Output of a program about its steps and its memory; of a longer text the end is kept. */
	TEXT_BYTES = 1 << 16,
};

char *
trial_command(const void *owner, const char *how, const char *program, int64_t steps)
{
	char *quoted = lower_quote(owner, program);
	const char *at = how ? strstr(how, "{}") : NULL;
	char *all = !how ? TEXT(owner, "%s", quoted)
		    : at ? TEXT(owner, "%.*s%s%s", (int)(at - how), how, quoted, at + 2)
			 : TEXT(owner, "%s %s", how, quoted);
	return TEXT(owner, "%s -steps %" PRId64 " -report-every %" PRId64 " -no-eval", all, steps,
		steps);
}

double
trial_median(double *seconds, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && seconds[j] < seconds[j - 1]; j--) {
			const double t = seconds[j];
			seconds[j] = seconds[j - 1];
			seconds[j - 1] = t;
		}
	return (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
}

/* Starts the command; its output goes to a pipe. -1: errno. */
static pid_t
start(struct job *j, const char *command, int *output)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	const pid_t pid = job_start(j, command, ends[1], ends[1]);
	close(ends[1]);
	*output = ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

/* Reads the end of the output for `most` seconds at most; true: it ended by itself. */
static bool
read_all(int output, int most, char *text)
{
	const time_t end = time(NULL) + most;
	size_t n = 0;

	for (;;) {
		struct pollfd wait = {output, POLLIN, 0};
		const time_t left = end - time(NULL);
		const int ready = left > 0 ? poll(&wait, 1, (int)left * 1000) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return false;
		if (n == TEXT_BYTES) {
			memmove(text, text + TEXT_BYTES / 2, TEXT_BYTES / 2);
			n = TEXT_BYTES / 2;
		}
		const ssize_t got = read(output, text + n, TEXT_BYTES - n);
		if (got <= 0)
			return got == 0;
		n += (size_t)got;
		text[n] = 0;
	}
}

static bool
understand(const char *text, struct trial_run *run)
{
	double us = 0, predicted = 0;
	const char *line = strstr(text, "iteration: ");

	if (!line || sscanf(line, "iteration: %lf us median of %*d (predicted %lf us)", &us,
			     &predicted) < 1)
		return false;
	*run = (struct trial_run){us * 1e-6, predicted * 1e-6};
	return us > 0;
}

/* The last line of its output. */
static char *
last_line(const void *owner, char *text)
{
	size_t n = strlen(text);

	while (n && strchr("\n\r ", text[n - 1]))
		text[--n] = 0;
	const char *line = strrchr(text, '\n');
	return TEXT(owner, "%s", line ? line + 1 : text);
}

bool
trial_start(const void *owner, struct job *j, const char *command, int most, struct trial_run *run,
	char **why)
{
	char *text = NEW_ARRAY(NULL, char, TEXT_BYTES + 1);
	int output;
	bool good = false;
	const pid_t pid = start(j, command, &output);

	*text = 0;
	if (pid < 0) {
		*why = TEXT(owner, "cannot start a process: %s", strerror(errno));
		talloc_free(text);
		return false;
	}
	const bool ended = read_all(output, most, text);
	const int status = job_wait(j, pid, !ended);
	close(output);
	if (!ended)
		*why = TEXT(owner, "it did not finish within %d s", most);
	else if (status)
		*why = TEXT(owner, "it exited with %s %d: %s",
			WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			last_line(owner, text));
	else if (!understand(text, run))
		*why = TEXT(owner, "its output has no iteration time");
	else
		good = true;
	talloc_free(text);
	return good;
}
