/* The output of dopt-trace: docs/traces.md. */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_PRINT_H
#define PASSES_ANALYSIS_TRACE_REPORT_PRINT_H

#include "passes/analysis/trace/align.h"
#include "runtime/data/json.h"

#include <stdio.h>

enum trace_format { TRACE_TEXT, TRACE_JSON, TRACE_MARKDOWN };

/* The clocks: offsets with their bounds, drifts. */
void trace_print_alignment(FILE *out, enum trace_format format, const struct trace_set *s,
	const struct trace_alignment *a);

/* All events on one clock as one Chrome trace, with arrows from the last member of a collective to
 * begin to the others. */
void trace_print_merged(FILE *out, const struct trace_set *s, const struct trace_alignment *a);

/* The member "clocks" of an object. */
void trace_put_clocks(FILE *out, const struct trace_alignment *a);

#endif
