/*
 * What traces measured: durations by op, and how each rank spent its steps. All times are seconds.
 *
 *     a step of a rank   [ kernel ][ kernel ]....[ kernel ]
 *                             [   collective      ]
 *                             |      |      |
 *                  it begins -+      |      +- exposed from here on: no kernel runs
 *                                    +- the last member begins: before, it only waits for that one
 *
 * Of a run of more than one step the first is left out: it reads files, touches memory and fills
 * caches.
 */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_MEASURE_H
#define PASSES_ANALYSIS_TRACE_REPORT_MEASURE_H

#include "passes/analysis/trace/align.h"

/* A median with quartiles. */
struct trace_middle {
	double low, median, high;
};

/* An op, all its events of all ranks and steps together. */
struct trace_op_time {
	uint32_t op;
	const char *value; /* its first result as printed in the module: "%h" */
	const char *name, *text;
	bool communication, copy, to_host;
	double bytes;
	uint32_t events;
	double count;             /* events a step, of a rank that runs it */
	struct trace_middle time; /* of one; of a collective: last begin to last end */
	double exposed; /* a step, mean over the ranks that run it: no kernel runs beside it */
	double waiting; /* of that: until its last member has begun */
};

/* One rank, medians over the steps. */
struct trace_rank_time {
	uint32_t rank;
	double iteration, compute, communication;
	double exposed; /* no kernel runs, but a collective */
	double waiting; /* of that: for the last member to begin */
	double idle;    /* neither runs */
	uint32_t meets; /* whole collectives that it took part in */
	uint32_t last;  /* of these: which it began last */
	double late;    /* mean time of these from the last begin but one to its own */
};

struct trace_measured {
	uint32_t steps;
	/* Of a step: its longest rank, and the sums of the rank with most, as cost_report has them.
	 */
	struct trace_middle iteration, compute, communication, exposed;
	struct trace_op_time *op;   /* in the order of their numbers */
	struct trace_op_time *copy; /* copies between device and host, likewise */
	struct trace_rank_time *rank;
	uint32_t nops, ncopies, nranks;
};

/*
 * Owned by `owner`, texts by the set. NULL after reporting that there is no step in which all ranks
 * are whole.
 */
struct trace_measured *trace_measure(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_alignment *a);

/*
 * The first result of an op printed as `text`, as in "%h" of "%h = relu(%x)"; of an op without results
 * or without a text its number in @main, as in "#7". Owned by `owner`.
 */
char *trace_value_text(const void *owner, const char *text, uint32_t op);

/* Median and quartiles of n > 0 values, which it sorts. */
struct trace_middle trace_middle_of(double *value, size_t n);

#endif
