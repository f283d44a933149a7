/* Measured against predicted, op by op: dopt-trace compare. Times are seconds. */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_COMPARE_H
#define PASSES_ANALYSIS_TRACE_REPORT_COMPARE_H

#include "passes/analysis/cost/cost.h"
#include "passes/analysis/trace/report/measure.h"
#include "passes/analysis/trace/report/print.h"

struct trace_pair {
	double predicted,
		measured;  /* of one event: medians; NaN: it was not predicted, not measured */
	double low, high;  /* quartiles of what was measured */
	double count;      /* events a step: as measured, or else as predicted */
	double difference; /* a step: (measured - predicted) * count */
	double exposed_predicted, exposed_measured; /* a step, of communication */
	uint32_t op;
	const char *value, *name, *text; /* as of trace_op_time */
	bool communication;
	bool profiled; /* its prediction is a measured time of a profile */
};

struct trace_total {
	const char *name; /* as the fields of cost_report */
	double predicted;
	struct trace_middle measured;
};

enum { TRACE_TOTALS = 4 };

struct trace_comparison {
	struct trace_pair *pair; /* by the absolute difference, the largest first */
	uint32_t npairs, steps, ranks;
	uint32_t predicted[2], profiled[2];     /* pairs, of computation and of communication */
	struct trace_total total[TRACE_TOTALS]; /* iteration, compute, communication, exposed */
	double peak_bytes, arena_bytes;         /* predicted; what the program had */
	const char *program, *build, *device;
};

/* Is the trace of a program that was built from this module? False: reported. */
bool trace_check_build(struct diag *d, const struct trace *t, const struct ir_module *m);

/*
 * Compares the step of @main, replayed with `model`, with what was measured; owned by `owner`. NULL
 * after reporting that the traces are of another module, or what cost_evaluate reports.
 */
struct trace_comparison *trace_compare(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_measured *measured, const struct cost_model *model,
	const struct ir_module *m);

void trace_comparison_print(FILE *out, enum trace_format format, const struct trace_comparison *c);

#endif
