/*
 * Measurements from traces: durations by op, and how each rank spent its steps. All times are
 * seconds.
 *
 *     a step of a rank   [ kernel ][ kernel ]....[ kernel ]
 *                             [   collective      ]
 *                             |      |      |
 *                  it begins -+      |      +- exposed from here on: no kernel runs
 *                                    +- the last member begins: until then, it only waits for it
 *
 * The first of several steps is left out: it reads files, touches memory and fills caches.
 */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_MEASURE_H
#define PASSES_ANALYSIS_TRACE_REPORT_MEASURE_H

#include "passes/analysis/trace/align.h"

/* A median with quartiles. */
struct trace_middle {
	double low, median, high;
};

/* An op with all its events of all ranks and steps. */
struct trace_op_time {
	uint32_t op;
	const char *value; /* its first result as printed in the module: "%h" */
	const char *name, *text;
	bool communication, copy, to_host;
	double bytes;
	uint32_t events;
	double count;             /* events per step, of a rank that runs it */
	struct trace_middle time; /* of one; of a collective: last begin to last end */
	double exposed; /* per step, mean over the ranks that run it: no kernel runs meanwhile */
	double waiting; /* of this: until its last member has begun */
};

/* One rank, medians over the steps. */
struct trace_rank_time {
	uint32_t rank;
	double iteration, compute, communication;
	double exposed; /* a collective runs, but no kernel */
	double waiting; /* of this: for the last member to begin */
	double idle;    /* neither runs */
	uint32_t meets; /* whole collectives that it took part in */
	uint32_t last;  /* of these: in which it began last */
	double late;    /* mean time in these from the second-to-last begin to its own */
};

struct trace_measured {
	uint32_t steps;
	/* Per step: of its longest rank, and the sums of the rank with the most, as in cost_report.
	 */
	struct trace_middle iteration, compute, communication, exposed;
	struct trace_op_time *op;   /* in the order of their numbers */
	struct trace_op_time *copy; /* copies between device and host, likewise */
	struct trace_rank_time *rank;
	uint32_t nops, ncopies, nranks;
};

/*
 * Owned by `owner`, texts by the set. NULL after reporting that there is no step that all ranks
 * recorded completely.
 */
struct trace_measured *trace_measure(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_alignment *a);

/*
 * The first result of an op as printed in `text`, such as "%h" of "%h = relu(%x)"; for an op
 * without results or text its number in @main, such as "#7". Owned by `owner`.
 */
char *trace_value_text(const void *owner, const char *text, uint32_t op);

/* Median and quartiles of n > 0 values, which it sorts. */
struct trace_middle trace_middle_of(double *value, size_t n);

#endif
