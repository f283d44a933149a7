/* The step loop and the evaluation: see train.h. */
#include "runtime/train.h"
#include "runtime/trace/clock.h"
#include "runtime/control.h"
#include "runtime/data/params.h"
#include "runtime/data/value.h"
#include "runtime/layout.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Without a trace, one step in this many has its kernels timed, for the line on overhead. */
#define WATCH_EVERY 16
/* Number of durations that are kept for the median: the last ones. */
#define DURATIONS 65536

/* Times of a run, recorded on rank 0. */
struct times {
	double *durations; /* [DURATIONS], us, a ring */
	int64_t count;
	double watched_ns, busy_ns;
	bool terminal;        /* rank 0, and standard error is one */
	int64_t begin, shown; /* when the steps began, and the last line of progress was written */
};

/* Nanoseconds between two lines of progress: often enough to read, too seldom to cost time. */
#define PROGRESS_EVERY 500000000

/* On a terminal, rank 0 says where it is, in a line that what is printed next replaces. */
static void
show_progress(const struct rt_rank *r, struct times *t, int64_t step, int64_t end)
{
	const int64_t now = t->terminal ? rt_now_ns() : 0;

	if (!t->terminal || now - t->shown < PROGRESS_EVERY)
		return;
	t->shown = now;
	const int64_t done = step + 1 - r->start.step;
	const double seconds = (double)(now - t->begin) / 1e9, each = seconds / (double)done;
	const int64_t left = (int64_t)(each * (double)(end - step - 1) + 0.5);
	fprintf(stderr, "%sstep %" PRId64 " of %" PRId64 ", ", rt_line_start(), step + 1, end);
	const double rate = (double)r->prog->batch / each;
	if (r->prog->batch)
		fprintf(stderr, "%.*f examples/s, ", rate < 100, rate);
	fprintf(stderr, "%" PRId64 ":%02d:%02d left\r", left / 3600, (int)(left / 60 % 60),
		(int)(left % 60));
}

/* A scalar output, on rank 0. */
static double
scalar(struct rt_rank *r, const struct rt_tensor *t)
{
	uint64_t element = 0;
	rt_collect(r, t, &element);
	return rt_value_get(t->dtype, &element, 0);
}

static void
print_value(const char *name, double x)
{
	/* The sign of a NaN means nothing and differs between machines. */
	printf(isnan(x) ? " %s nan" : " %s %.9g", name, x);
}

/* Runs one step and waits for everything that it started. */
static void
run_step(struct rt_rank *r)
{
	r->prog->step(&r->ctx);
	rt_rank_drain(r);
}

/* Training continues without its lines, but reports that in the end. */
static void
flush_lines(struct rt_rank *r)
{
	if (fflush(stdout) && !r->print_error)
		r->print_error = errno;
}

/* Prints the scalar outputs; all ranks take part. */
static void
report(struct rt_rank *r, int64_t step)
{
	if (!r->world->rank) {
		fputs(rt_line_start(), stderr);
		printf("step %" PRId64, step + 1);
	}
	rt_metrics_step(&r->metrics, step + 1, r->prog->batch, r->allocated);
	for (int i = 0; i < r->prog->ntensors; i++) {
		const struct rt_tensor *t = &r->prog->tensors[i];
		if (!rt_is_scalar_output(r->prog, t))
			continue;
		const double x = scalar(r, t);
		if (!r->world->rank)
			print_value(t->name, x);
		rt_metrics_value(&r->metrics, t->name, x);
	}
	rt_metrics_end(&r->metrics);
	if (!r->world->rank) {
		putchar('\n');
		flush_lines(r);
	}
}

static int
by_size(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;
	return a < b ? -1 : a > b;
}

/* The smallest arena of a stage. */
static size_t
least_arena(const struct rt_program *p)
{
	size_t least = p->arena_bytes;

	for (int32_t i = 0; p->arena_of && i < p->axes[p->stage_axis].size; i++)
		least = p->arena_of[i] < least ? p->arena_of[i] : least;
	return least;
}

/* The memory that the program has allocated, next to dopt's prediction: the maximum over ranks with
 * different stages. */
static void
print_memory(const struct rt_rank *r)
{
	const size_t most = r->allocated - rt_arena_bytes(r->prog, r->ctx.coord) +
			    r->prog->arena_bytes,
		     less = r->prog->arena_bytes - least_arena(r->prog);

	if (!r->prog->predicted_bytes)
		return;
	printf("memory: %zu bytes per rank (predicted %zu)", most, r->prog->predicted_bytes);
	if (less)
		printf(", %zu on the smallest stage", most - less);
	if (r->allocated_host)
		printf(", %zu bytes of host memory (predicted %zu)", r->allocated_host,
			r->prog->predicted_host_bytes);
	if (r->transport && r->transport->bytes)
		printf(", %zu for communication", r->transport->bytes);
	putchar('\n');
}

/* Times that depend on the machine, not on the program. */
static void
note_crowd(const struct rt_rank *r)
{
	const struct rt_haste *haste = r->transport ? &r->transport->haste : NULL;
	if (haste && haste->crowded)
		fprintf(stderr,
			"%s: note: %d ranks took turns on %d processor%s: steps take longer than on "
			"a machine with a processor for each rank\n",
			r->prog->name, r->world->nlocal, haste->processors,
			haste->processors == 1 ? "" : "s");
}

static void
print_times(const struct rt_program *p, struct times *t)
{
	const int64_t n = t->count < DURATIONS ? t->count : DURATIONS;
	qsort(t->durations, (size_t)n, sizeof *t->durations, by_size);
	const double median = (t->durations[(n - 1) / 2] + t->durations[n / 2]) / 2;
	printf("iteration: %.1f us median of %" PRId64, median, n);
	if (p->predicted > 0)
		printf(" (predicted %.1f us%s)", p->predicted * 1e6,
			p->predicted_generic ? " on a generic device" : "");
	putchar('\n');
	if (t->watched_ns > 0 && p->nkernels)
		printf("overhead: %.1f %% outside kernels and communication\n",
			100 * (1 - t->busy_ns / t->watched_ns));
}

/* Is every kernel of this step timed? The first step is not typical. */
static bool
watched(const struct rt_rank *r, int64_t step)
{
	return r->trace || r->steps == 1 || (step - r->start.step) % WATCH_EVERY == 1;
}

static void
timed_step(struct rt_rank *r, const struct rt_data *d, struct times *t, int64_t step)
{
	r->ctx.step = step;
	r->ctx.probe = watched(r, step) ? &r->probe : NULL;
	r->probe.busy_ns = r->probe.waited_ns = 0;
	rt_trace_step(r->trace, step);
	const int64_t begin = rt_now_ns();
	rt_activity_step(r->world->activity, RT_STAGE_BATCH, step);
	rt_data_train(d, r, step);
	rt_activity_stage(r->world->activity, RT_STAGE_STEP);
	run_step(r);
	const int64_t end = rt_now_ns();
	rt_trace_step_end(r->trace, begin, end);
	t->durations[t->count++ % DURATIONS] = (double)(end - begin) / 1e3;
	rt_metrics_time(&r->metrics, end - begin, r->ctx.probe ? r->probe.waited_ns : -1);
	if (r->ctx.probe) {
		t->watched_ns += (double)(end - begin);
		t->busy_ns += (double)r->probe.busy_ns;
	}
	r->ctx.probe = NULL;
}

/* Runs the steps of this run, numbered after those of previous runs. */
static bool
run_steps(struct rt_rank *r, const struct rt_data *d, struct times *t, struct rt_control *c)
{
	const int64_t tenth = r->steps < 10 ? 1 : r->steps / 10;
	const int64_t every = r->options->report_every ? r->options->report_every : tenth;
	const int64_t end = r->start.step + r->steps, evaluates = r->options->eval_every;
	for (int64_t step = r->start.step; step < end; step++) {
		rt_control_before(c, r);
		timed_step(r, d, t, step);
		show_progress(r, t, step, end);
		if ((step + 1) % every == 0 || step + 1 == end)
			report(r, step);
		if (evaluates && (step + 1) % evaluates == 0 && step + 1 < end &&
			!rt_evaluate(r, d, step + 1))
			return false;
		if (!rt_control_after(c, r, step + 1))
			return false;
	}
	return true;
}

bool
rt_train(struct rt_rank *r, const struct rt_data *d)
{
	struct rt_control control;
	struct times t = {.durations = malloc(DURATIONS * sizeof *t.durations),
		.terminal = !r->world->rank && isatty(STDERR_FILENO),
		.begin = rt_now_ns()};
	t.shown = t.begin;
	if (!t.durations)
		rt_fail_memory(r->status, DURATIONS * sizeof *t.durations, "times");
	const bool ok = rt_control_open(&control, r) && run_steps(r, d, &t, &control);
	if (ok && r->steps && !r->world->rank) {
		print_times(r->prog, &t);
		print_memory(r);
		flush_lines(r);
		note_crowd(r);
	}
	rt_control_close(&control);
	free(t.durations);
	return ok;
}

/* Sets states that have another value during evaluation. */
static void
put_test_values(struct rt_rank *r)
{
	const struct rt_program *p = r->prog;
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		if (!t->has_test || !rt_tensor_here(p, t, r->ctx.coord))
			continue;
		const size_t n = rt_slice_bytes(p, t) / rt_dtype_bytes(t->dtype);
		void *room = rt_rank_room(r, t, 0);
		for (size_t k = 0; k < n; k++)
			rt_value_set(t->dtype, room, (int64_t)k, t->test);
		rt_rank_put(r, t, 0);
	}
}

/* Adds the outputs of all batches, each times the rows of a batch: padded rows count as 0. */
static void
run_tests(struct rt_rank *r, const struct rt_data *d, char *kept, double *sums)
{
	const struct rt_program *p = r->prog;
	const int64_t batches = (d->rows[RT_TEST] + p->batch - 1) / p->batch;
	for (int64_t batch = 0; batch < batches; batch++) {
		rt_data_test(d, r, batch);
		put_test_values(r);
		run_step(r);
		for (int i = 0; i < p->ntensors; i++)
			if (rt_is_scalar_output(p, &p->tensors[i]))
				sums[i] += scalar(r, &p->tensors[i]) * (double)p->batch;
		/* The step has overwritten them. */
		rt_kept_copy(r, kept, false);
	}
}

bool
rt_evaluate(struct rt_rank *r, const struct rt_data *d, int64_t step)
{
	const struct rt_program *p = r->prog;
	if (!d->rows[RT_TEST] || !p->batch)
		return true;
	const size_t bytes = rt_kept_bytes(p);
	rt_activity_stage(r->world->activity, RT_STAGE_EVALUATE);
	char *kept = malloc(bytes);
	double *sums = calloc((size_t)p->ntensors + 1, sizeof *sums);
	if (!kept || !sums)
		rt_fail_memory(r->status, bytes, "the parameters during the evaluation");
	const bool ok = rt_agree(r->world, r->status);
	if (ok) {
		rt_kept_copy(r, kept, true);
		run_tests(r, d, kept, sums);
	}
	rt_metrics_test(&r->metrics, step);
	if (!r->world->rank)
		fputs(rt_line_start(), stderr);
	for (int i = 0; i < p->ntensors && ok && !r->world->rank; i++)
		if (rt_is_scalar_output(p, &p->tensors[i])) {
			const double mean = sums[i] / (double)d->rows[RT_TEST];
			fputs("test", stdout);
			print_value(p->tensors[i].name, mean);
			if (step < r->start.step + r->steps)
				printf(" after step %" PRId64, step);
			putchar('\n');
			rt_metrics_value(&r->metrics, p->tensors[i].name, mean);
		}
	rt_metrics_end(&r->metrics);
	flush_lines(r);
	free(kept);
	free(sums);
	return ok;
}
