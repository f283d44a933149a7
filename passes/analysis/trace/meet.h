/* Collectives between clocks: the data that an alignment is made from. */
#ifndef PASSES_ANALYSIS_TRACE_MEET_H
#define PASSES_ANALYSIS_TRACE_MEET_H

#include "passes/analysis/fit/polytope.h"
#include "passes/analysis/trace/align.h"

/* One clock's share in a meet; times in us behind the base of the clock. */
struct meet_part {
	uint32_t clock;
	uint32_t ends;                     /* members that get something; 0: it only gives */
	bool begins;                       /* some member gives something */
	double begin;                      /* of the last of those */
	double scatter;                    /* of the ends: sum of the squares of end - mean */
	double end, earliest;              /* mean end of those that get, and the first end */
	uint32_t begin_member, end_member; /* of the set, of `begin` and `earliest` */
};

/* A collective as clocks see it; of one receiver only where members get different things. */
struct meet {
	uint32_t family;
	uint32_t first, n; /* parts, of different clocks, at least two */
};

struct meets {
	struct meet *meet;
	struct meet_part *part;
	uint32_t n, nparts, nfamilies;
};

/* Constraints as rows of a polytope, and the events behind each. */
struct meet_rows {
	struct polytope_row *row;
	uint32_t (*member)[2]; /* of the set: that which begins, that which ends */
	uint32_t n;
};

/* Sets a->clock with names and links, bases and the middle. */
void meet_clocks(
	struct trace_alignment *a, const struct trace_set *s, const struct trace_align_options *o);

/*
 * All collectives between clocks. NULL after reporting two events of one clock that contradict each
 * other.
 */
struct meets *meet_create(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_alignment *a);

/* By how many us two events may seem to be in the wrong order. */
static inline double
meet_tolerance(
	const struct trace_set *s, const struct trace_member *x, const struct trace_member *y)
{
	return (double)(s->trace[x->trace]->clock_error + s->trace[y->trace]->clock_error) / 1e3;
}

/*
 * What they say of offsets and drifts. Variables: variable[c] is the offset of clock c in us, the
 * one behind it (with a->drift) its drift in ppm; -1: it is fixed. Rows that follow from others for
 * drifts of up to `most_drift` are left out.
 */
struct meet_rows *meet_rows_create(const void *owner, const struct trace_set *s,
	const struct trace_alignment *a, const struct meets *m, const int32_t *variable,
	double most_drift);

/* By how much the shift of a clock grows with its drift, at a time of it: us per ppm. */
static inline double
meet_lever(const struct trace_alignment *a, double t)
{
	return (t - a->middle) * 1e-6;
}

#endif
