/*
 * One clock for the traces of many ranks: dPRO, section 4.2. Ranks that read one clock (those of
 * one host) share an offset; the clock of the first rank is the reference. A clock may also run
 * faster or slower: time by the reference = t + offset + drift (t - middle of the trace).
 *
 * Constraints. A member of a collective cannot end before all members that send to it have begun:
 *
 *     end of j + shift of j >= begin of i + shift of i      for all i that j depends on
 *
 * They bound each offset from both sides where messages go both ways; the bounds are exact
 * (polytope.h) and are reported. Among the allowed shifts, those are taken with which the durations
 * of the same collective vary least over the steps, where a duration counts from the begin of the
 * last sender (the paper's RECV clipped by SEND):
 *
 *     O1 = sum over families of the variance of (end of j - max over i of begin of i)
 *
 * A family is a collective of the program, in one group of ranks; if all members receive the same
 * amount from all (allreduce, allgather, reducescatter, alltoall), the events of all members form
 * one family, else those of each receiver do. The paper's second term, O2, makes the offsets of
 * ranks on one machine alike: they are one variable here, so that it is zero.
 */
#ifndef PASSES_ANALYSIS_TRACE_ALIGN_H
#define PASSES_ANALYSIS_TRACE_ALIGN_H

#include "passes/analysis/trace/trace.h"

struct trace_align_options {
	bool by_rank;  /* each rank has its own clock, regardless of the files */
	bool no_drift; /* all clocks run equally fast */
};

/* How the offset of a clock is known. */
enum trace_link {
	TRACE_LINK_REFERENCE, /* it is 0 */
	TRACE_LINK_MESSAGES,
	TRACE_LINK_WALL, /* no collective links it to the reference: by the hosts' wall clocks */
};

struct trace_clock {
	const char *name; /* of the host; with by_rank "rank 3" */
	uint32_t nranks;
	enum trace_link link;
	/* Added to its times, in the middle of the trace, to get the reference's: ns. */
	int64_t offset;
	double low, high;             /* ns that are added to the offset: bounds; infinite: none */
	double drift;                 /* parts per million, likewise added */
	double drift_low, drift_high; /* bounds of the drift */
	int64_t base;                 /* ns of the clock: near the beginning of the trace */
	double shift;                 /* us to be added to (t - base) / 1000 in the middle */
};

struct trace_alignment {
	struct trace_clock *clock;
	uint32_t nclocks;
	uint32_t *clock_of;     /* by the traces of the set */
	double middle;          /* of the trace, us after the bases */
	bool drift;             /* drifts were fitted */
	uint64_t nends;         /* durations that O1 is made from */
	uint32_t nrows, nmeets; /* constraints, and collectives between clocks, that were used */
	uint32_t noutliers;     /* of these, outliers, which O1 excludes */
	double spread_even;     /* us: as spread_after, had all clocks run equally fast */
	double spread_before, spread_after; /* us: root of O1 over the number of families; before:
					     * in the middle between the bounds */
};

/*
 * Aligns the traces of a set; owned by `owner`. NULL after reporting two events that contradict
 * each other, so that no clocks fit.
 */
struct trace_alignment *trace_align(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_align_options *o);

/* A time of trace number i of the set on the common clock: us after approximately its beginning. */
double trace_aligned(const struct trace_alignment *a, uint32_t i, int64_t t);

#endif
