/*
 * dopt-schedule: schedules of pipelines.
 *
 *     dopt-schedule verify FILE                        complete, and free of deadlocks?
 *     dopt-schedule cost FILE -times=1:1:1             time, bubbles, memory
 *     dopt-schedule make -schedule=1f1b -ranks=4 -steps=8
 *     dopt-schedule search -times=2:3:1 -memory=4 -ranks=4 -steps=8
 *     dopt-schedule lower FILE                         with sends and receives
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "passes/pipeline/schedule.h"
#include "passes/tools/command_line.h"
#include "passes/tools/input.h"
#include "passes/tools/output.h"
#include "passes/tools/tools.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks, stages of a rank, micro-batches: below SCHEDULE_MOST, so that products fit in an int64. */
enum { MOST = SCHEDULE_MOST - 1 };

struct tool {
	struct diag *diag;
	const char *output, *svg, *times, *live, *message, *limit;
	int64_t ranks, per_rank, steps;
	int schedule, waits; /* enum schedule_name, enum schedule_waits */
	double kept, memory;
	bool help, join;
	struct driver_list file;
	int npieces; /* number of pieces of the model in -times, in order */
	struct schedule_stage *piece;
};

/* --- times of stages --- */

/* Reads a number of at least 0 at *at and moves *at after it; false: there is none. */
static bool
read_number(const char **at, double *number)
{
	char *end;

	*number = strtod(*at, &end);
	if (end == *at || !(*number >= 0 && *number < INFINITY))
		return false;
	*at = end;
	return true;
}

/* F:I:W,F:I:W... */
static bool
read_times(struct tool *t)
{
	const char *at = t->times;

	for (;;) {
		struct schedule_stage p = {0};
		if (!read_number(&at, &p.forward) || *at++ != ':' || !read_number(&at, &p.input) ||
			*at++ != ':' || !read_number(&at, &p.weight) || (*at && *at != ',')) {
			driver_error(
				"option -times: expected times such as 1:1:1 (F:I:W), or one for "
				"each piece of the model, 2:3:1,2:3:2, found '%s'",
				t->times);
			return false;
		}
		LIST_PUSH(t, t->piece, t->npieces, p);
		if (!*at++)
			return true;
	}
}

/* The memory that each piece keeps: one number for all, or one for each. */
static bool
read_live(struct tool *t)
{
	const char *at = t->live;
	bool good = true;
	int n = 0;

	if (!at)
		return true;
	for (; good && (!n || *at == ','); n++) {
		at += n > 0;
		good = n < t->npieces && read_number(&at, &t->piece[n].live);
	}
	for (int i = 1; i < t->npieces && n == 1; i++)
		t->piece[i].live = t->piece[0].live;
	if (good && !*at && (n == 1 || n == t->npieces))
		return true;
	driver_error(
		"option -live: expected one number, or one for each of %d piece%s of -times, found "
		"'%s'",
		t->npieces, number_plural(t->npieces), t->live);
	return false;
}

/* The pieces of the model; a single one represents `nranks` equal ones. */
static bool
read_pieces(struct tool *t, int nranks)
{
	const char *message = t->message;
	double time = 0;

	t->npieces = 0;
	if (!read_times(t))
		return false;
	if (!read_number(&message, &time) || *message) {
		driver_error("option -message: expected a number, found '%s'", t->message);
		return false;
	}
	if (t->kept > 1) {
		driver_error("option -kept: expected a share of at most 1, found %g", t->kept);
		return false;
	}
	for (int i = 0; i < t->npieces; i++) {
		t->piece[i].live = t->npieces == 1 ? 1 : (double)nranks / t->npieces;
		t->piece[i].message = time;
		t->piece[i].kept = t->kept;
	}
	if (!read_live(t))
		return false;
	if (t->npieces > 1)
		return true;
	const struct schedule_stage one = t->piece[0];
	t->npieces = 0;
	for (int r = 0; r < nranks; r++)
		LIST_PUSH(t, t->piece, t->npieces, one);
	return true;
}

/* The times of each stage; NULL: reported. */
static struct schedule_stage *
read_stages(struct tool *t, const struct schedule *s)
{
	if (!read_pieces(t, s->nranks))
		return NULL;
	if (s->nstages % t->npieces && t->npieces % s->nstages) {
		driver_error(
			"option -times: %d pieces cannot be divided evenly into the schedule's %d "
			"stages",
			t->npieces, s->nstages);
		return NULL;
	}
	return schedule_divide(t, t->piece, t->npieces, s->nstages);
}

/* --- commands --- */

static struct schedule *
read_file(struct tool *t)
{
	struct driver_input in;

	if (!driver_input_read(t, &in, t->file.item[0]))
		return NULL;
	return schedule_read(t, t->diag, in.name, in.text, in.length);
}

static void
print_shape(const struct tool *t, const struct schedule *s)
{
	printf("%s, %s, %d micro-batch%s", number_count(t, s->nranks, "rank(s)"),
		number_count(t, s->nstages, "stage(s)"), s->nsteps, s->nsteps == 1 ? "" : "es");
}

static enum driver_exit
verify(struct tool *t)
{
	const struct schedule *s = read_file(t);

	if (!s || !schedule_verify(s, t->diag, (enum schedule_waits)t->waits))
		return DRIVER_INPUT;
	print_shape(t, s);
	printf(": complete and free of deadlocks%s\n",
		schedule_has_messages(s) ? "" : " (without sends and receives)");
	return DRIVER_OK;
}

static void
print_cost(const struct tool *t, const struct schedule *s, const struct schedule_cost *c)
{
	print_shape(t, s);
	printf("\nmakespan %.6g, largest bubble %.6g, largest peak %.6g\n", c->makespan, c->bubble,
		c->peak);
	printf("%4s %10s %10s %10s %10s %7s %10s\n", "rank", "begin", "end", "busy", "bubble",
		"idle", "peak");
	for (int r = 0; r < s->nranks; r++) {
		const struct schedule_use *u = &c->rank[r];
		printf("%4d %10.6g %10.6g %10.6g %10.6g %6.1f%% %10.6g\n", r, u->begin, u->end,
			u->busy, u->bubble,
			c->makespan > 0 ? 100 * (1 - u->busy / c->makespan) : 0., u->peak);
	}
}

/* Costs and, with -svg, draws a schedule. */
static enum driver_exit
show(struct tool *t, const struct schedule *s, bool print)
{
	struct schedule_stage *stage = read_stages(t, s);
	struct driver_output out;

	if (!stage)
		return DRIVER_USAGE;
	const struct schedule_cost *c =
		schedule_cost(t, s, t->diag, (enum schedule_waits)t->waits, stage);
	if (!c)
		return DRIVER_INPUT;
	if (print)
		print_cost(t, s, c);
	if (!t->svg)
		return DRIVER_OK;
	if (!driver_output_open(&out, t->svg))
		return DRIVER_INPUT;
	schedule_draw(out.file, s, c);
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
cost(struct tool *t)
{
	const struct schedule *s = read_file(t);

	return s ? show(t, s, true) : DRIVER_INPUT;
}

/* Writes a schedule to -o, and draws it. */
static enum driver_exit
write_schedule(struct tool *t, const struct schedule *s)
{
	struct driver_output out;

	if (!s || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	schedule_write(out.file, s);
	if (!driver_output_close(&out))
		return DRIVER_INPUT;
	return t->svg ? show(t, s, false) : DRIVER_OK;
}

/* Checks a required number, at least `least`. */
static bool
in_range(const char *name, int64_t n, int64_t least)
{
	if (n >= least && n <= MOST)
		return true;
	if (n < 0)
		driver_error("expected -%s=N", name);
	else
		driver_error("option -%s: expected a number from %" PRId64 " to %d, found %" PRId64,
			name, least, MOST, n);
	return false;
}

static bool
has_shape(const struct tool *t)
{
	return in_range("ranks", t->ranks, 1) && in_range("steps", t->steps, 1) &&
	       in_range("per-rank", t->per_rank, 0);
}

static enum driver_exit
make(struct tool *t)
{
	if (t->schedule == SCHEDULE_NNAMES) {
		driver_error("make: expected a schedule, -schedule=NAME; -help lists them");
		return DRIVER_USAGE;
	}
	if (!has_shape(t))
		return DRIVER_USAGE;
	return write_schedule(t, schedule_make(t, t->diag, (enum schedule_name)t->schedule,
					 (int)t->ranks, (int)t->per_rank, (int)t->steps));
}

static enum driver_exit
search(struct tool *t)
{
	const char *limit = t->limit;

	if (!has_shape(t) || !read_pieces(t, (int)t->ranks))
		return DRIVER_USAGE;
	if (limit && (!read_number(&limit, &t->memory) || *limit)) {
		driver_error("option -memory: expected a number, found '%s'", t->limit);
		return DRIVER_USAGE;
	}
	const struct schedule_request request = {
		(int)t->ranks, (int)t->steps, (int)t->per_rank, t->piece, t->npieces, t->memory};
	struct schedule_found *f = schedule_search(t, t->diag, &request);
	if (!f)
		return DRIVER_INPUT;
	const enum driver_exit exit = write_schedule(t, f->schedule);
	if (exit != DRIVER_OK)
		return exit;
	FILE *out = t->output && strcmp(t->output, "-") ? stdout : stderr;
	fprintf(out, "makespan %.6g, bound %.6g\n", f->makespan, f->bound);
	if (f->named != SCHEDULE_NNAMES)
		fprintf(out, "best named schedule that fits: %s, %.6g\n",
			schedule_name_text(f->named), f->named_makespan);
	return DRIVER_OK;
}

static enum driver_exit
convert(struct tool *t)
{
	const struct schedule *s = read_file(t);

	return s ? write_schedule(t, s) : DRIVER_INPUT;
}

static enum driver_exit
align(struct tool *t)
{
	const struct schedule *s = read_file(t);

	return s ? write_schedule(t, schedule_align(t, s, t->diag)) : DRIVER_INPUT;
}

static enum driver_exit
lower(struct tool *t)
{
	const struct schedule *s = read_file(t);

	return s ? write_schedule(t, schedule_lower(t, s, t->diag, t->join)) : DRIVER_INPUT;
}

#define FIELD(field) offsetof(struct tool, field)
#define AT(field) .at = FIELD(field)

static const struct choice waits[] = {
	CHOICE_ROW(SCHEDULE_QUEUED, "queued") CHOICE_ROW(SCHEDULE_TAGGED, "tagged")
		CHOICE_ROW(SCHEDULE_BLOCKING, "blocking")
			CHOICE_ROW(SCHEDULE_LOCKSTEP, "lockstep"){.name = NULL},
};

static const struct flag flags[] = {
	{"Options", .kind = FLAG_GROUP},
	{"o", "FILE",
		"make, search, convert, align, lower: write to FILE atomically (temporary file, then rename); -: standard "
		"output",
		FLAG_TEXT, AT(output)},
	{"svg", "FILE", "cost, make, search, convert, align, lower: draw the schedule to FILE",
		FLAG_TEXT, AT(svg)},
	{"waits", NULL,
		"verify, cost: how sends and receives wait. queued: messages between two ranks, in both "
		"directions, form one queue (an NCCL communicator for each pair; default); "
		"tagged: each message finds its receive (MPI_Isend, MPI_Irecv); blocking: a rank waits "
		"in each send and receive (MPI_Ssend, MPI_Recv); lockstep: ranks run their k-th cells at "
		"the same time (PipelineScheduleMulti of PyTorch)",
		FLAG_CHOICE, AT(waits), .choice = waits},
	{"Schedules", .kind = FLAG_GROUP},
	{"schedule", NULL, "make: the schedule", FLAG_CHOICE, AT(schedule),
		.choice = CHOICES(SCHEDULE_NAMES)},
	{"ranks", "N", "make, search: number of ranks", FLAG_INT, AT(ranks)},
	{"steps", "N", "make, search: number of micro-batches", FLAG_INT, AT(steps)},
	{"per-rank", "N",
		"make, search: stages of each rank (default: make: 2 for interleaved, others have 1 or 2; "
		"search: what is shortest, 1 or 2)",
		FLAG_INT, AT(per_rank)},
	{"join", "0|1",
		"lower: an I directly before its W becomes a B, as in PyTorch; the stage before then "
		"waits for both (default: 1)",
		FLAG_BOOL, AT(join)},
	{"Times, in any unit", .kind = FLAG_GROUP},
	{"times", "F:I:W,...",
		"times of forward, gradients of inputs and gradients of weights for a micro-batch: of a "
		"rank's share of the model, or of each piece of the model in order (default: 1:1:1)",
		FLAG_TEXT, AT(times)},
	{"message", "T", "time of a message between stages of two ranks (default: 0)", FLAG_TEXT,
		AT(message)},
	{"live", "X,...",
		"memory that a forward keeps until its backward, for a micro-batch: of a "
		"rank's share of the model, or of each piece of -times (default: 1 for a "
		"rank's share)",
		FLAG_TEXT, AT(live)},
	{"kept", "SHARE",
		"share of that memory that is kept from I to W, as a fraction or in percent (default: 100%)",
		FLAG_SHARE, AT(kept)},
	{"memory", "X",
		"search: the most that a rank may keep, in units of -live (default: no limit)",
		FLAG_TEXT, AT(limit)},
	{"help", NULL, "print this text", FLAG_BOOL, AT(help)},
};

static const struct command commands[] = {
	{"verify", "FILE",
		"check that a schedule is complete and in an order that cannot deadlock; the message "
		"names rank and cell, and for a deadlock each action of the cycle",
		1, 1, verify},
	{"cost", "FILE", "simulate a schedule: time, bubbles and memory of each rank", 1, 1, cost},
	{"make", "", "write a schedule: -schedule, -ranks and -steps say which", 0, 0, make},
	{"search", "",
		"search for a short schedule for -times on -ranks, within -memory: never "
		"slower than those of make that fit",
		0, 0, search},
	{"convert", "FILE",
		"write the schedule as it is read, without spaces and with one kind of line end", 1,
		1, convert},
	{"align", "FILE", "write the schedule with idle cells, so that it runs in lockstep", 1, 1,
		align},
	{"lower", "FILE", "write the schedule with sends and receives", 1, 1, lower},
};

static const struct command_line line = {
	.head = "usage: dopt-schedule COMMAND [options] [FILE]\n"
		"Verifies, simulates, searches and writes schedules of pipelines. FILE is the CSV of "
		"torch.distributed.pipelining,\n"
		"a line for each rank; -: standard input.\n",
	.tail = "Exit status: 0 success; 1 invalid schedule, or a file cannot be read or written;\n"
		"2 invalid command line.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.command = commands,
	.ncommands = sizeof commands / sizeof *commands,
	.words = FIELD(file),
};

int
tool_schedule(int argc, char **argv)
{
	struct tool *t = NEW(NULL, struct tool);

	t->diag = diag_create(t);
	t->ranks = t->steps = -1;
	t->schedule = SCHEDULE_NNAMES;
	t->times = "1:1:1";
	t->message = "0";
	t->kept = 1;
	t->join = true;
	t->memory = INFINITY;
	return command_line_main(&line, t, argc, argv);
}
