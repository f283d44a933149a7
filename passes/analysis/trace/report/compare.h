/* Measured and predicted times, op by op: dopt-trace compare. Times are seconds. */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_COMPARE_H
#define PASSES_ANALYSIS_TRACE_REPORT_COMPARE_H

#include "passes/analysis/cost/cost.h"
#include "passes/analysis/trace/report/measure.h"
#include "passes/analysis/trace/report/print.h"

struct trace_pair {
	double predicted, measured; /* of one event: medians; NaN: not predicted or not measured */
	double low, high;           /* quartiles of the measurements */
	double count;               /* events per step: as measured, or else as predicted */
	double difference;          /* per step: (measured - predicted) * count */
	double exposed_predicted, exposed_measured; /* per step, of communication */
	uint32_t op;
	const char *value, *name, *text; /* as in trace_op_time */
	bool communication;
	bool profiled; /* its prediction is a measured time from a profile */
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
	double peak_bytes, arena_bytes;         /* predicted; and that of the program */
	const char *program, *build, *device;
};

/* Was the program of the trace built from this module? False: reported. */
bool trace_check_build(struct diag *d, const struct trace *t, const struct ir_module *m);

/*
 * Compares the step of @main, replayed with `model`, with the measurements; owned by `owner`. NULL
 * after reporting that the traces are of another module, or an error of cost_evaluate.
 */
struct trace_comparison *trace_compare(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_measured *measured, const struct cost_model *model,
	const struct ir_module *m);

void trace_comparison_print(FILE *out, enum trace_format format, const struct trace_comparison *c);

#endif
