/* The report of a watchdog that ends a run: first the ranks that others wait for, then those that
 * wait. One write, so that the reports of several machines do not mix. */
#include "runtime/layout.h"
#include "runtime/watch/ranks_text.h"
#include "runtime/watch/watchdog.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Ranks of each sort that are described individually. */
#define MOST 8

struct report {
	FILE *out;
	const struct rt_program *prog;
	const struct rt_seen *seen;
	int n, nranks;
	double seconds;
	const struct rt_seen **of; /* [nranks]: NULL for a rank on another machine */
	bool *in;                  /* [nranks]: scratch for a set to write */
};

/* The position of a rank; a step has the number that the program prints. */
static const struct {
	const char *text;
	bool has_step;
} stages[RT_STAGES] = {
	[RT_STAGE_START] = {"at the start", false},
	[RT_STAGE_OPEN] = {"opening its device", false},
	[RT_STAGE_VALUES] = {"reading the data set and initial values", false},
	[RT_STAGE_BATCH] = {"reading the rows of step", true},
	[RT_STAGE_STEP] = {"in step", true},
	[RT_STAGE_EVALUATE] = {"in the evaluation", false},
	[RT_STAGE_WRITE] = {"writing files", false},
	[RT_STAGE_END] = {"at the end", false},
};

static void
put_stage(const struct report *r, const struct rt_seen *s)
{
	const int stage = s->stage >= 0 && s->stage < RT_STAGES ? s->stage : RT_STAGE_START;
	fputs(stages[stage].text, r->out);
	if (stages[stage].has_step)
		fprintf(r->out, " %" PRId64, s->step + 1);
}

/* `collective 25 (allreduce "loss" on axis dp)`, the last one that a rank began. */
static void
put_collective(const struct report *r, const struct rt_seen *s)
{
	const struct rt_coll *c = &r->prog->colls[s->coll];
	fprintf(r->out, "collective %" PRIu32 " (%s \"%s\" on axis %s)", s->collectives,
		rt_coll_name(c->kind), c->name ? c->name : "", r->prog->axes[c->axis].name);
}

static bool
has_collective(const struct report *r, const struct rt_seen *s)
{
	return s->collectives && s->coll >= 0 && s->coll < r->prog->ncolls;
}

/* Has this rank not begun the operation that s waits for? */
static bool
is_behind(const struct rt_seen *other, const struct rt_seen *s)
{
	const uint32_t lead = s->wait == RT_WAIT_ALL ? s->exchanges - other->exchanges
						     : s->collectives - other->collectives;
	return (int32_t)lead > 0;
}

/* Do these two take part in the operation that s waits for? */
static bool
is_partner(const struct report *r, const struct rt_seen *s, int rank)
{
	if (s->wait != RT_WAIT_COLLECTIVE || !has_collective(r, s))
		return rank != s->rank;
	const int axis = r->prog->colls[s->coll].axis;
	const int64_t places = r->prog->axes[axis].size, stride = rt_axis_stride(r->prog, axis);
	const int64_t mine = s->rank / stride % places, its = rank / stride % places;
	return rank != s->rank && rank - its * stride == s->rank - mine * stride;
}

/* Ranks that s may wait for, the best explanation first. */
enum pick {
	BEHIND,    /* they have not begun the operation of s */
	STANDING,  /* they are in it, and do not respond, or do not wait */
	NOTED,     /* the rank whose part has not arrived */
	ELSEWHERE, /* their state is not known here */
	ANY
};

/* Selects them into r->in; returns their number. */

static int
pick(const struct report *r, const struct rt_seen *s, enum pick what)
{
	int count = 0;
	for (int q = 0; q < r->nranks; q++) {
		const struct rt_seen *other = r->of[q];
		bool in = is_partner(r, s, q);
		if (what == BEHIND)
			in = in && other && is_behind(other, s);
		else if (what == STANDING)
			in = in && other && (other->silent || other->wait == RT_WAIT_NONE);
		else if (what == NOTED)
			in = q == s->from - 1;
		else if (what == ELSEWHERE)
			in = in && !other;
		r->in[q] = in;
		count += in;
	}
	return count;
}

/* The ranks that a rank waits for, as exactly as they are known. */
static void
put_missing(const struct report *r, const struct rt_seen *s)
{
	char text[RT_RANKS_TEXT];
	enum pick what = s->wait == RT_WAIT_ONE ? NOTED : BEHIND;
	while (what < ANY && !pick(r, s, what))
		what++;
	pick(r, s, what);
	rt_ranks_text(text, r->in, r->nranks);
	fprintf(r->out, "%s%s", text, what == ELSEWHERE ? " on other machines" : "");
}

static void
put_waiting(const struct report *r, const struct rt_seen *s)
{
	fprintf(r->out, "  rank %d waits for ", s->rank);
	put_missing(r, s);
	if (s->wait == RT_WAIT_COLLECTIVE && has_collective(r, s)) {
		fputs(" in ", r->out);
		put_collective(r, s);
	}
	fputs(", ", r->out);
	put_stage(r, s);
	fprintf(r->out, ", for %.3g s\n", (double)s->age / 1e9);
}

static void
put_standing(const struct report *r, const struct rt_seen *s)
{
	if (s->silent)
		fprintf(r->out,
			"  rank %d does not respond (its process is stopped, or its "
			"machine is down); it was last seen ",
			s->rank);
	else
		fprintf(r->out, "  rank %d does not wait for another rank; for %.3g s it has been ",
			s->rank, (double)s->age / 1e9);
	put_stage(r, s);
	if (has_collective(r, s)) {
		fputs("; the last one it started is ", r->out);
		put_collective(r, s);
	}
	fputc('\n', r->out);
}

/* All ranks of one sort, the first of them individually. */
static void
put_sort(const struct report *r, bool waiting)
{
	int count = 0;
	for (int i = 0; i < r->n; i++) {
		const struct rt_seen *s = &r->seen[i];
		const bool waits = s->wait != RT_WAIT_NONE && !s->silent;
		const bool still = s->silent || (double)s->age >= r->seconds * 1e9;
		if (waits != waiting || (!waiting && !still) || ++count > MOST)
			continue;
		if (waiting)
			put_waiting(r, s);
		else
			put_standing(r, s);
	}
	if (count > MOST)
		fprintf(r->out, "  and %d more %s\n", count - MOST,
			waiting ? "wait" : "do not respond or do not wait");
}

void
rt_watchdog_report(const struct rt_program *prog, const struct rt_seen *seen, int n, int nranks,
	double seconds)
{
	char *text = NULL;
	size_t size = 0;
	struct report r = {
		open_memstream(&text, &size), prog, seen, n, nranks, seconds, NULL, NULL};
	r.of = calloc((size_t)nranks, sizeof *r.of);
	r.in = calloc((size_t)nranks, sizeof *r.in);
	if (r.out && r.of && r.in) {
		for (int i = 0; i < n; i++)
			r.of[seen[i].rank] = &seen[i];
		fprintf(r.out, "%s: error: ranks have waited for %.9g s (-timeout): the run ends\n",
			prog->name, seconds);
		put_sort(&r, false);
		put_sort(&r, true);
		if (n < nranks)
			fputs("  the state of ranks on other machines is not known here\n", r.out);
		fclose(r.out);
		fputs(rt_line_start(), stderr);
		fwrite(text, 1, size, stderr);
	} else
		fprintf(stderr, "%s: error: ranks have waited for %.9g s (-timeout)\n", prog->name,
			seconds);
	free(text);
	free(r.of);
	free(r.in);
}
