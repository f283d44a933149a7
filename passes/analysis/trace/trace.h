/*
 * Traces of programs, described in docs/traces.md, in memory.
 *
 *     rank-0.json  --trace_read-->  struct trace  \
 *     rank-1.json  --trace_read-->  struct trace   > struct trace_set --trace_align.h--> one clock
 *                                                 /      |
 *                                        collectives, each with the events of all its members
 *
 * Times are nanoseconds of the clock of the rank that wrote them until they are aligned.
 */
#ifndef PASSES_ANALYSIS_TRACE_H
#define PASSES_ANALYSIS_TRACE_H

#include "ir/base/diag.h"
#include "passes/analysis/collective/collective.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_kind {
	TRACE_KERNEL,
	TRACE_WAIT, /* for a collective */
	TRACE_COLLECTIVE,
	TRACE_STEP,
	TRACE_COPY, /* between the device and host memory */
	TRACE_COPY_WAIT,
	TRACE_KINDS
};

struct trace_event {
	int64_t begin, end, posted; /* posted: of collectives and copies */
	uint32_t step;
	uint32_t index;           /* of the kernel, collective or copy in the tables of the trace */
	uint32_t group, sequence; /* of collectives */
	uint32_t at;              /* where its text begins in the file */
	uint8_t kind;             /* enum trace_kind */
};

struct trace_axis {
	const char *name;
	int64_t size, place; /* place: the rank's coordinate */
	bool time;
};

struct trace_kernel {
	const char *name, *text;
	uint32_t op; /* its number in @main */
	double flops, bytes;
};

struct trace_collective {
	const char *name, *text; /* text: NULL in older traces */
	uint32_t op;
	enum rt_coll_kind kind;
	int axis;
	double bytes;
	int64_t from, to; /* places, for kinds that have them */
};

struct trace_copy {
	const char *name, *text; /* text: NULL in older traces */
	uint32_t op;
	bool to_host;
	double bytes;
};

/* The trace of one rank. */
struct trace {
	const char *path;
	const char *program, *build; /* build: "" if the program does not know it */
	/* What it was built for, and the forms of its kernels that were switched off; NULL: older. */
	const char *target, *without;
	const char *host, *clock; /* clock: equal for ranks that read the same clock */
	int64_t run;              /* the same in all files of a run */
	int64_t anchor, wall;     /* the same moment by the clock, and as ns since 1970 */
	int64_t processors;       /* that the ranks with this clock share; 0: unknown */
	int64_t clock_error;      /* possible error of a time in ns, either way */
	uint32_t rank, ranks;
	double predicted; /* seconds per step, by the compiler; 0: unknown */
	double arena_bytes;
	uint64_t dropped; /* events dropped for lack of room: the oldest */
	struct trace_axis *axis;
	struct trace_kernel *kernel;
	struct trace_collective *collective;
	struct trace_copy *copy;
	uint32_t naxes, nkernels, ncollectives, ncopies;
	/* Steps, then events of the compute stream, then communication, then copies to the host and
	 * copies to the device; each in order of time. */
	struct trace_event *event;
	uint32_t nsteps, ncompute,
		n;     /* compute: [nsteps, ncompute); communication: [ncompute, n) */
	uint32_t nall; /* copies: [n, nall) */
	uint32_t at;   /* where its header is in the file */
};

/*
 * Reads one file; owned by `owner`. NULL after reporting the error at its place in the file: not
 * JSON, not the trace of a rank, another version, a broken event, or events of one stream that
 * overlap.
 */
struct trace *trace_read(const void *owner, struct diag *d, const char *path);

/* Reports at byte `at` of a file, which is read again to show the line. printf-like. */
void trace_report(struct diag *d, enum diag_level level, const char *path, uint32_t at,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The name of an event: of its kernel, collective or copy, or "step". */
const char *trace_event_name(const struct trace *t, const struct trace_event *e);

/* One collective, with the members that recorded it. */
struct trace_instance {
	uint32_t first, n; /* in trace_set.member, in the order of their ranks */
	bool whole;        /* all members of its group are present */
};

struct trace_member {
	uint32_t trace, event; /* trace_set.trace[trace]->event[event] */
};

struct trace_set {
	struct trace **trace; /* in the order of their ranks */
	uint32_t n;
	bool complete; /* all ranks of the run are present */
	struct trace_instance *instance;
	struct trace_member *member;
	uint32_t ninstances, nmembers;
	/* Steps [first_step, end_step) are complete in all traces. */
	uint32_t first_step, end_step;
};

/*
 * Reads traces of one run: all files rank-N.json of each folder in `path`, which must cover all
 * ranks; and single files, which need not. Owned by `owner`; NULL after reporting an error in a
 * file, or that the files do not belong together.
 */
struct trace_set *trace_set_read(
	const void *owner, struct diag *d, const char *const *path, int npaths);

/*
 * Must place `from` of a group have begun the collective before place `to` can end it? Places
 * outside the collective depend on nothing.
 */
bool trace_depends(const struct trace_collective *c, int64_t from, int64_t to);

/* Do all members receive the same from all, so that it takes as long for each of them? */
bool trace_symmetric(const struct trace_collective *c);

static inline const struct trace_event *
trace_member_event(const struct trace_set *s, const struct trace_member *m)
{
	return &s->trace[m->trace]->event[m->event];
}

#endif
