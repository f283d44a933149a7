/* What bounds a step, from its traces: dopt-trace report. */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_REPORT_H
#define PASSES_ANALYSIS_TRACE_REPORT_REPORT_H

#include "passes/analysis/trace/report/measure.h"
#include "passes/analysis/trace/report/print.h"

/* Where the time of a step goes; every moment of a rank belongs to one of them. */
enum trace_bound {
	TRACE_BOUND_COMPUTE,  /* a kernel runs */
	TRACE_BOUND_TRANSFER, /* a collective runs, all members have begun, and no kernel runs */
	TRACE_BOUND_WAITING,  /* a collective waits for its last member, and no kernel runs */
	TRACE_BOUND_IDLE,     /* nothing runs */
	TRACE_BOUNDS
};

struct trace_diagnosis {
	double share[TRACE_BOUNDS]; /* of the iteration, mean over the ranks */
	enum trace_bound bound;     /* the largest share */
	char *sentence;             /* names the bound and its largest contributor */
	char **fact;                /* [nfacts] other useful facts */
	int nfacts;
};

/* Owned by `owner`. */
struct trace_diagnosis *trace_diagnose(const void *owner, const struct trace_set *s,
	const struct trace_alignment *a, const struct trace_measured *m);

void trace_report_print(FILE *out, enum trace_format format, const struct trace_set *s,
	const struct trace_alignment *a, const struct trace_measured *m);

#endif
