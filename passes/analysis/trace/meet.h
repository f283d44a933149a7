/* Collectives between clocks: the data of an alignment. */
#ifndef PASSES_ANALYSIS_TRACE_MEET_H
#define PASSES_ANALYSIS_TRACE_MEET_H

#include "passes/analysis/fit/polytope.h"
#include "passes/analysis/trace/align.h"

/* One clock's share in a meet; times in us after the base of the clock. */
struct meet_part {
	uint32_t clock;
	uint32_t ends;                     /* number of members that receive; 0: the clock only
					      sends */
	bool begins;                       /* some member sends */
	double begin;                      /* of the last member that sends */
	double scatter;                    /* of the ends: sum of the squares of end - mean */
	double end, earliest;              /* mean end of those that receive, and the first end */
	uint32_t begin_member, end_member; /* of the set, of `begin` and `earliest` */
};

/* A collective as clocks see it; of one receiver only if members receive different data. */
struct meet {
	uint32_t family;
	uint32_t first, n; /* parts, of different clocks, at least two */
};

struct meets {
	struct meet *meet;
	struct meet_part *part;
	uint32_t n, nparts, nfamilies;
};

/* Constraints as rows of a polytope, with the two events of each. */
struct meet_rows {
	struct polytope_row *row;
	uint32_t (*member)[2]; /* of the set: the one that begins, the one that ends */
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

/* How many us two events may appear to be out of order. */
static inline double
meet_tolerance(
	const struct trace_set *s, const struct trace_member *x, const struct trace_member *y)
{
	return (double)(s->trace[x->trace]->clock_error + s->trace[y->trace]->clock_error) / 1e3;
}

/*
 * The constraints on offsets and drifts. Variables: variable[c] is the offset of clock c in us, the
 * next one (with a->drift) its drift in ppm; -1: it is fixed. Rows that are implied by others for
 * drifts of up to `most_drift` are left out.
 */
struct meet_rows *meet_rows_create(const void *owner, const struct trace_set *s,
	const struct trace_alignment *a, const struct meets *m, const int32_t *variable,
	double most_drift);

/* Derivative of the shift of a clock by its drift, at a time of the clock: us per ppm. */
static inline double
meet_lever(const struct trace_alignment *a, double t)
{
	return (t - a->middle) * 1e-6;
}

#endif
