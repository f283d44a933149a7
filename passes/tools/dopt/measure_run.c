/* -measure: runs the measuring program and stores every line as it arrives. */
#include "passes/tools/dopt/measure_impl.h"

#include "ir/base/clock.h"
#include "ir/base/number.h"
#include "lower/build.h"
#include "ir/base/vec.h"
#include "passes/analysis/profile/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <talloc.h>
#include <unistd.h>

enum {
	/* A result comes every few seconds; the slowest kernels take seconds, five times. A program
	   that prints nothing for this long hangs. */
	SILENCE_SECONDS = 300,
	/* The end of its standard error, for the message. */
	TAIL_BYTES = 1000,
};

struct run {
	struct measure *s;
	pid_t pid;
	int results; /* its standard output */
	FILE *errors;
	char *line; /* the current line so far; talloc */
	size_t length;
	char in_hand[200]; /* what it measures, as it reports */
	bool late;         /* it was ended because its time was over */
};

/* Is the line a profile entry? The launcher of the ranks may print other lines. */
static bool
is_entry(const char *line)
{
	static const char *const words[] = {
		"op ", "collective ", "field ", "link ", "device ", "dopt-profile "};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(line, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* Merges an earlier measurement, weighted by its runs. */
static void
add_earlier(const struct measure *s, struct profile_op *op)
{
	const struct profile_op *old = profile_find_op(s->op, s->nops, op->key, op->ranks);

	if (old && old->ranks == op->ranks)
		*op = profile_op_mean(old, op);
}

/* Reads a comment of the program about its measurements. */
static void
read_comment(struct run *r)
{
	static const char in_hand[] = "# measuring ";

	if (strncmp(r->line, in_hand, strlen(in_hand)) == 0)
		snprintf(r->in_hand, sizeof r->in_hand, "%s", r->line + strlen(in_hand));
	sscanf(r->line, "# processor %lf of %lf s", &r->s->quality.ran, &r->s->quality.took);
}

static bool
store_line(struct run *r)
{
	struct measure *s = r->s;
	read_comment(r);
	if (!is_entry(r->line))
		return true;
	void *scratch = alloc_scratch(NULL);
	struct profile_line line =
		profile_text_line(scratch, s->diag, LOC_NONE, r->line, r->length);
	if (line.kind == PROFILE_DEVICE) {
		talloc_free(s->device);
		s->device = TEXT(s, "%s", line.device);
		profile_select(s->profile, line.backend, NULL);
	}
	if (s->o->again && line.kind == PROFILE_OP)
		add_earlier(s, &line.op);
	bool good =
		line.kind != PROFILE_WRONG &&
		(line.kind == PROFILE_DEVICE || profile_text_store(s->profile, s->device, &line));
	if (good && line.kind == PROFILE_OP) {
		s->kernels_stored++;
		s->quality.seconds += line.op.median;
		s->quality.wide_seconds += line.op.spread > MEASURE_WIDE ? line.op.median : 0;
	}
	s->messages_stored += good && line.kind == PROFILE_COLLECTIVE;
	diag_progress(s->diag, "measured: %d of %d kernels, %d of %d collectives",
		s->kernels_stored, s->nmissing, s->messages_stored, s->nmessages);
	talloc_free(scratch);
	return good;
}

/* Adds bytes, and stores the lines completed by them. */
static bool
take(struct run *r, const char *bytes, size_t n)
{
	bool good = true;
	LIST_ROOM(r->s, r->line, r->length + n + 1);
	for (size_t i = 0; i < n && good; i++) {
		r->line[r->length] = 0;
		if (bytes[i] != '\n') {
			r->line[r->length++] = bytes[i];
			continue;
		}
		good = store_line(r);
		r->length = 0;
	}
	return good;
}

static bool
start(struct run *r, const char *command)
{
	int ends[2];
	r->errors = tmpfile();
	if (!r->errors || pipe2(ends, O_CLOEXEC)) {
		diag_error(r->s->diag, LOC_NONE, "cannot start measuring: %s", strerror(errno));
		return false;
	}
	r->pid = job_start(r->s->job, command, ends[1], fileno(r->errors));
	close(ends[1]);
	r->results = ends[0];
	if (r->pid > 0)
		return true;
	diag_error(r->s->diag, LOC_NONE, "cannot start a process: %s", strerror(errno));
	close(ends[0]);
	return false;
}

/* Milliseconds that the next result may take; 0: the total time is over. */
static int
patience(const struct run *r)
{
	const double until = r->s->o->until, left = until > 0 ? until - clock_seconds() : INFINITY;

	return left <= 0 ? 0 : 1 + (int)(1000 * fmin(left, SILENCE_SECONDS));
}

/* Reads until the program ends; false: its time is over, it hangs or a line cannot be stored. */
static bool
read_results(struct run *r)
{
	struct pollfd wait = {r->results, POLLIN, 0};
	char bytes[4096];
	for (;;) {
		int ready = poll(&wait, 1, patience(r));
		if (ready < 0 && errno == EINTR)
			continue;
		r->late = !patience(r);
		if (r->late)
			return false;
		if (ready == 0)
			diag_error(r->s->diag, LOC_NONE,
				"the measuring program printed nothing for %d s and was stopped",
				SILENCE_SECONDS);
		if (ready <= 0)
			return false;
		ssize_t n = read(r->results, bytes, sizeof bytes);
		if (n <= 0)
			return n == 0;
		if (!take(r, bytes, (size_t)n))
			return false;
	}
}

/* Shows the last lines of its standard error, as notes. */
static void
show_errors(struct run *r)
{
	char text[TAIL_BYTES + 1];
	long end = fseek(r->errors, 0, SEEK_END) ? 0 : ftell(r->errors);
	fseek(r->errors, end > TAIL_BYTES ? end - TAIL_BYTES : 0, SEEK_SET);
	text[fread(text, 1, TAIL_BYTES, r->errors)] = 0;
	char *rest = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		diag_note(r->s->diag, LOC_NONE, "the measuring program printed: %s", line);
}

static bool
end(struct run *r, bool good)
{
	struct diag *d = r->s->diag;
	const int status = job_wait(r->s->job, r->pid, !good);
	close(r->results);
	if (r->late || (good && status == 0))
		return true;
	if (good) {
		bool signaled = WIFSIGNALED(status);
		diag_error(d, LOC_NONE, "the measuring program failed with %s %d%s%s",
			signaled ? "signal" : "status",
			signaled ? WTERMSIG(status) : WEXITSTATUS(status),
			*r->in_hand ? " while measuring " : "", r->in_hand);
		show_errors(r);
	}
	diag_note(d, LOC_NONE, "%s and %s are stored; run -measure again to measure the rest",
		number_count(r->s, r->s->kernels_stored, "kernel(s)"),
		number_count(r->s, r->s->messages_stored, "collective(s)"));
	return false;
}

bool
measure_run(struct measure *s)
{
	struct run r = {.s = s};
	char *command = TEXT(s, "exec %s %s %s", s->o->mpi ? s->o->mpi : "",
		lower_quote(s, TEXT(s, "%s/" LOWER_PROGRAM, s->folder)),
		s->o->arguments ? s->o->arguments : "");
	if (s->o->verbose)
		diag_report(s->diag, DIAG_REMARK, LOC_NONE, "%s", command);
	bool good = start(&r, command);
	if (good) {
		good = read_results(&r);
		diag_progress(s->diag, NULL);
		good = end(&r, good);
	}
	if (r.errors)
		fclose(r.errors);
	return good;
}
