/* The objective of an alignment and its minimum along a line: see align.h. */
#ifndef PASSES_ANALYSIS_TRACE_FIT_H
#define PASSES_ANALYSIS_TRACE_FIT_H

#include "passes/analysis/trace/meet.h"

struct fit;

/* `variable` as for meet_rows_create; all arguments must outlive the fit. */
struct fit *fit_create(const void *owner, const struct trace_alignment *a, const struct meets *m,
	const int32_t *variable);

/* O1 at x, us^2. */
double fit_value(struct fit *f, const double *x);

/* The mean duration of each part's ends at x, us, in duration[nparts]; 0 for parts without ends. */
void fit_durations(struct fit *f, const double *x, double *duration);

/*
 * The s in [low, high] (finite) that minimizes O1 at x + s v; 0 if it is among the minima or the
 * gain may be only rounding. *value: O1 there.
 */
double fit_line(
	struct fit *f, const double *x, const double *v, double low, double high, double *value);

#endif
