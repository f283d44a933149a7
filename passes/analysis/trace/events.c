/* The events of a trace: "traceEvents". */
#include "ir/base/vec.h"
#include "ir/base/sort.h"
#include "passes/analysis/trace/impl.h"

#include <stdlib.h>
#include <string.h>

/* An event as it is in the file. */
struct raw {
	struct trace_span cat, ph;
	int64_t ts, dur, pid, tid;
	int64_t step, kernel, collective, transfer, group, sequence, posted;
	const char *where[TRACE_MAX_FIELDS], *args[TRACE_MAX_FIELDS];
};

#define AT(field) offsetof(struct raw, field)

enum {
	ARG_STEP,
	ARG_KERNEL,
	ARG_COLLECTIVE,
	ARG_TRANSFER,
	ARG_GROUP,
	ARG_SEQUENCE,
	ARG_POSTED,
	NARGS
};
enum { RAW_PH, RAW_CAT, RAW_TS, RAW_DUR, RAW_PID, RAW_TID, RAW_ARGS, NRAW };

static const struct trace_field arg_field[NARGS] = {
	[ARG_STEP] = {"step", FIELD_INT, AT(step), NULL, NULL},
	[ARG_KERNEL] = {"kernel", FIELD_INT, AT(kernel), NULL, NULL},
	[ARG_COLLECTIVE] = {"collective", FIELD_INT, AT(collective), NULL, NULL},
	[ARG_TRANSFER] = {"transfer", FIELD_INT, AT(transfer), NULL, NULL},
	[ARG_GROUP] = {"group", FIELD_INT, AT(group), NULL, NULL},
	[ARG_SEQUENCE] = {"sequence", FIELD_INT, AT(sequence), NULL, NULL},
	[ARG_POSTED] = {"posted", FIELD_TIME, AT(posted), NULL, NULL},
};
static const struct trace_fields arg_fields = {"an event", arg_field, NARGS, AT(args)};

static const struct trace_field raw_field[NRAW] = {
	[RAW_PH] = {"ph", FIELD_SPAN, AT(ph), NULL, NULL},
	[RAW_CAT] = {"cat", FIELD_SPAN, AT(cat), NULL, NULL},
	[RAW_TS] = {"ts", FIELD_TIME, AT(ts), NULL, NULL},
	[RAW_DUR] = {"dur", FIELD_TIME, AT(dur), NULL, NULL},
	[RAW_PID] = {"pid", FIELD_INT, AT(pid), NULL, NULL},
	[RAW_TID] = {"tid", FIELD_INT, AT(tid), NULL, NULL},
	[RAW_ARGS] = {"args", FIELD_OBJECT, 0, &arg_fields, NULL},
};
static const struct trace_fields raw_fields = {"an event", raw_field, NRAW, AT(where)};

/* The properties of a category. */
static const struct kind {
	const char *name;
	uint32_t needs;          /* set of arguments */
	int64_t tid;             /* the stream that it runs on; for copies, the one to the host */
	enum trace_list_of list; /* likewise */
	int index;               /* the argument that is an index; -1: none */
} kinds[TRACE_KINDS] = {
	[TRACE_KERNEL] = {"kernel", 1 << ARG_STEP | 1 << ARG_KERNEL, 0, TRACE_OF_COMPUTE,
		ARG_KERNEL},
	[TRACE_WAIT] = {"wait", 1 << ARG_STEP | 1 << ARG_COLLECTIVE, 0, TRACE_OF_COMPUTE,
		ARG_COLLECTIVE},
	[TRACE_COLLECTIVE] = {"collective",
		((1 << NARGS) - 1) & ~(1 << ARG_KERNEL) & ~(1 << ARG_TRANSFER), 1,
		TRACE_OF_COMMUNICATION, ARG_COLLECTIVE},
	[TRACE_STEP] = {"step", 1 << ARG_STEP, 0, TRACE_OF_STEPS, -1},
	[TRACE_COPY] = {"copy", 1 << ARG_STEP | 1 << ARG_TRANSFER | 1 << ARG_POSTED, 2,
		TRACE_OF_COPIES_TO_HOST, ARG_TRANSFER},
	[TRACE_COPY_WAIT] = {"copy-wait", 1 << ARG_STEP | 1 << ARG_TRANSFER, 0, TRACE_OF_COMPUTE,
		ARG_TRANSFER},
};

static bool
check_times(struct trace_reader *r, const struct raw *e)
{
	if (e->ts < 0 || e->ts > TRACE_MAX_TIME)
		return trace_fail(r, e->where[RAW_TS], "an event starts before 0 us");
	if (e->dur < 0)
		return trace_fail(r, e->where[RAW_DUR], "a negative duration");
	if (e->dur > TRACE_MAX_TIME)
		return trace_fail(r, e->where[RAW_DUR], "the duration is longer than 30 years");
	return true;
}

/* A number from 0 to `end` - 1. */
static bool
check_index(struct trace_reader *r, const char *at, const char *what, int64_t value, uint32_t end)
{
	if (value >= 0 && value < end)
		return true;
	return trace_fail(r, at, "%s %lld of %u (counted from 0)", what, (long long)value, end);
}

/* Is the index one of a row of its table? */
static bool
check_row(struct trace_reader *r, const struct trace_file *f, const struct raw *e, int index)
{
	const char *at = index < 0 ? NULL : e->args[index];

	switch (index) {
	case ARG_KERNEL: return check_index(r, at, "kernel", e->kernel, f->t.nkernels);
	case ARG_COLLECTIVE:
		return check_index(r, at, "collective", e->collective, f->t.ncollectives);
	case ARG_TRANSFER: return check_index(r, at, "transfer", e->transfer, f->t.ncopies);
	default: return true;
	}
}

/* Is it a copy to the device, which has its own thread and list? */
static bool
is_back(const struct trace_file *f, const struct raw *e, const struct kind *k)
{
	return k->list == TRACE_OF_COPIES_TO_HOST && !f->t.copy[e->transfer].to_host;
}

static bool
check_event(struct trace_reader *r, const struct trace_file *f, const struct raw *e,
	const struct kind *k, const char *at)
{
	if (!trace_need(r, &raw_fields, e, (1u << NRAW) - 1, at) ||
		!trace_need(r, &arg_fields, e, k->needs, at) || !check_times(r, e))
		return false;
	if (e->pid != f->t.rank)
		return trace_fail(r, e->where[RAW_PID], "process %lld in the trace of rank %u",
			(long long)e->pid, f->t.rank);
	if (!check_index(r, e->args[ARG_STEP], "step", e->step, UINT32_MAX) ||
		!check_row(r, f, e, k->index))
		return false;
	if (e->tid != k->tid + is_back(f, e, k))
		return trace_fail(
			r, e->where[RAW_TID], "a %s on thread %lld", k->name, (long long)e->tid);
	return true;
}

static bool
check_posted(struct trace_reader *r, const struct trace_file *f, const struct raw *e)
{
	if (e->posted >= 0 && e->posted <= e->ts + e->dur + 2 * f->t.clock_error)
		return true;
	return trace_fail(r, e->args[ARG_POSTED], "the event is posted after its end");
}

static bool
check_collective(struct trace_reader *r, const struct trace_file *f, const struct raw *e)
{
	return check_index(r, e->args[ARG_GROUP], "group", e->group, f->t.ranks) &&
	       check_index(r, e->args[ARG_SEQUENCE], "number", e->sequence, UINT32_MAX) &&
	       check_posted(r, f, e);
}

bool
trace_event_read(struct trace_reader *r, struct trace_file *f)
{
	struct raw e;
	int kind = 0;

	rt_json_next(&r->json, '{');
	const char *at = r->json.at;
	memset(e.args, 0, sizeof e.args);
	if (!trace_read_fields(r, &raw_fields, &e))
		return false;
	if (!trace_need(r, &raw_fields, &e, 1 << RAW_PH, at))
		return false;
	if (!trace_span_is(&e.ph, "X")) /* names, and events added by other tools */
		return true;
	if (!trace_need(r, &raw_fields, &e, 1 << RAW_CAT, at))
		return false;
	while (kind < TRACE_KINDS && !trace_span_is(&e.cat, kinds[kind].name))
		kind++;
	if (kind == TRACE_KINDS)
		return trace_fail(r, e.where[RAW_CAT],
			"expected a kernel, wait, collective, copy, copy-wait or step");
	if (!check_event(r, f, &e, &kinds[kind], at))
		return false;
	struct trace_event x = {.begin = e.ts,
		.end = e.ts + e.dur,
		.step = (uint32_t)e.step,
		.at = (uint32_t)(at - r->json.begin),
		.kind = (uint8_t)kind};
	if (kind == TRACE_COPY && !check_posted(r, f, &e))
		return false;
	if (kind == TRACE_COLLECTIVE || kind == TRACE_COPY)
		x.posted = e.posted;
	if (kind == TRACE_COLLECTIVE) {
		if (!check_collective(r, f, &e))
			return false;
		x.group = (uint32_t)e.group;
		x.sequence = (uint32_t)e.sequence;
	}
	if (kind != TRACE_STEP)
		x.index = (uint32_t)(kinds[kind].index == ARG_KERNEL     ? e.kernel
				     : kinds[kind].index == ARG_TRANSFER ? e.transfer
									 : e.collective);
	VEC_PUSH(f->trace, &f->list[kinds[kind].list + is_back(f, &e, &kinds[kind])], x);
	return true;
}

ORDER_BY(by_begin, struct trace_event, UP(begin), UP(end), UP(at))

/* For two adjacent events of a list: does the second begin after the first? */
static bool
check_order(struct trace_reader *r, const struct trace_file *f, int list,
	const struct trace_event *a, const struct trace_event *b)
{
	static const char *const streams[TRACE_LISTS] = {"one rank", "the compute stream",
		"the communication stream", "the stream of copies to the host",
		"the stream of copies to the device"};

	/* Two clocks meet once a step: see clock_error. */
	if (b->begin < a->end - 2 * f->t.clock_error)
		trace_fail(r, r->json.begin + b->at,
			"the event starts before the previous event of %s ends", streams[list]);
	else if (b->step < a->step || (list == 0 && b->step != a->step + 1))
		trace_fail(r, r->json.begin + b->at, "step %u after step %u", b->step, a->step);
	else
		return true;
	trace_report(r->diag, DIAG_NOTE, r->path, a->at, "the previous event");
	return false;
}

static bool
check_list(struct trace_reader *r, struct trace_file *f, int list)
{
	struct trace_list *l = &f->list[list];
	bool sorted = true;

	for (int64_t i = 1; i < l->n && sorted; i++)
		sorted = l->at[i - 1].begin <= l->at[i].begin;
	if (!sorted)
		qsort(l->at, (size_t)l->n, sizeof *l->at, by_begin);
	for (int64_t i = 1; i < l->n; i++)
		if (!check_order(r, f, list, &l->at[i - 1], &l->at[i]))
			return false;
	return true;
}

bool
trace_events_finish(struct trace_reader *r, struct trace_file *f)
{
	struct trace *t = &f->t;

	for (int i = 0; i < TRACE_LISTS; i++)
		if (!check_list(r, f, i))
			return false;
	t->nsteps = (uint32_t)f->list[0].n;
	t->ncompute = t->nsteps + (uint32_t)f->list[1].n;
	t->n = t->ncompute + (uint32_t)f->list[2].n;
	t->nall = t->n + (uint32_t)(f->list[3].n + f->list[4].n);
	t->event = ARRAY_RESIZE(f->trace, f->list[0].at, struct trace_event, t->nall);
	uint32_t at = t->nsteps;
	for (int i = 1; i < TRACE_LISTS; i++) {
		const struct trace_list *l = &f->list[i];
		if (l->n)
			memcpy(t->event + at, l->at, (size_t)l->n * sizeof *l->at);
		at += (uint32_t)l->n;
		array_free(l->at);
	}
	return true;
}
