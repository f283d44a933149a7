/*
 * -metrics FILE: what a run reports, as lines of JSON for other tools, appended by rank 0:
 *
 *     {"step": 100, "seconds": 0.0123, "examples_per_second": 5203, "exposed_seconds": 0.0011, "memory_bytes": 48211, "outputs": {"loss": 0.41}}
 *     {"step": 100, "test": {"accuracy": 0.93}}
 *
 * "seconds" is the mean time of the steps since the line before, without evaluations and saves; "exposed_seconds" the mean
 * time that the rank computed nothing and waited for collectives and copies, of those steps whose kernels are timed, and left
 * out if there was none; "memory_bytes" what the rank has allocated on its device. A number that is not finite is null.
 */
#ifndef RUNTIME_METRICS_H
#define RUNTIME_METRICS_H

#include "runtime/rt_program.h"
#include "runtime/status.h"

#include <stdio.h>

struct rt_metrics {
	FILE *out; /* NULL: none are written, and calls do nothing */
	const char *path;
	int64_t steps, ns; /* since the last line, and their time */
	int64_t timed,
		waited_ns; /* of these those whose kernels are timed, and the time they waited */
	int nvalues;       /* of the group at hand */
	int error;         /* errno of the first line that could not be written */
};

/* Opens the file; `path` may be NULL. */
bool rt_metrics_open(struct rt_metrics *m, const char *path, struct rt_status *st);
/* Fails where a line could not be written. */
bool rt_metrics_close(struct rt_metrics *m, struct rt_status *st);

/* A step took so long. Of one whose kernels are timed, `waited_ns` is how long it waited; of others it is negative. */
void rt_metrics_time(struct rt_metrics *m, int64_t ns, int64_t waited_ns);
/* A line after that many steps of all runs: its numbers, the values of its outputs, its end. `batch`: rows of a step, or 0. */
void rt_metrics_step(struct rt_metrics *m, int64_t step, int64_t batch, size_t memory);
void rt_metrics_test(struct rt_metrics *m, int64_t step);
void rt_metrics_value(struct rt_metrics *m, const char *name, double x);
void rt_metrics_end(struct rt_metrics *m);

#endif
