/* The objective of an alignment and its least value along a line: see align.h. */
#ifndef PASSES_ANALYSIS_TRACE_FIT_H
#define PASSES_ANALYSIS_TRACE_FIT_H

#include "passes/analysis/trace/meet.h"

struct fit;

/* `variable` as for meet_rows_create; it and the others must outlive the fit. */
struct fit *fit_create(const void *owner, const struct trace_alignment *a, const struct meets *m,
	const int32_t *variable);

/* O1 at x, us^2. */
double fit_value(struct fit *f, const double *x);

/* The mean duration of each part's ends at x, us, into duration[nparts]; 0 where it has none. */
void fit_durations(struct fit *f, const double *x, double *duration);

/*
 * The s in [low, high] (finite) for which O1 at x + s v is least; of equal ones, and where rounding
 * could be all there is to gain, 0. *value: O1 there.
 */
double fit_line(
	struct fit *f, const double *x, const double *v, double low, double high, double *value);

#endif
