/* Results of the op profiler: medians, the stopping rule, and the lines. */
#include "runtime/measure/impl.h"
#include "runtime/trace/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

static int
by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The interval between the order statistics n/2 -+ 0.98 sqrt(n) contains the median of the
 * distribution with a probability of 95 %, whatever the distribution (a binomial argument). */
static bool
is_settled(const int64_t *sorted, int64_t n, double median)
{
	const int64_t low = (int64_t)floor((double)n / 2 - 0.98 * sqrt((double)n));
	if (low < 0)
		return false;
	const double width = (double)(sorted[n - 1 - low] - sorted[low]);
	return width / 2 <= MEASURE_PRECISION * median;
}

struct measure_result
measure_median(int64_t *v, int64_t n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	const double median = ((double)v[(n - 1) / 2] + (double)v[n / 2]) / 2;
	const double spread = (double)(v[n * 3 / 4] - v[n / 4]);
	return (struct measure_result){
		median, median > 0 ? spread / median : 0, n, is_settled(v, n, median)};
}

int64_t *
measure_gather(struct measurer *w, const int64_t *mine, int64_t n)
{
	w->world->ops->allgather(w->world, mine, w->all, (size_t)n * sizeof *mine);
	return w->all;
}

int64_t
measure_most(struct measurer *w, int64_t mine)
{
	const int64_t *all = measure_gather(w, &mine, 1);
	for (int r = 0; r < w->world->nranks; r++)
		mine = all[r] > mine ? all[r] : mine;
	return mine;
}

int64_t
measure_limit(const struct measurer *w, int64_t ns)
{
	const int64_t asked = w->s->m->limit_ns;
	return asked > 0 && asked < ns ? asked : ns;
}

const char *
measure_transport(const struct measurer *w)
{
	const struct measure_device *d = w->s->device;
	if (rt_mpi_started() && w->s->m->library && d->is_host)
		return "mpi-library";
	return rt_mpi_started() ? d->mpi : d->threads;
}

/* Ends a line with the time and flushes it; fails if it cannot be written, since the reader may
 * have exited. */
static void
end_line(struct measurer *w)
{
	FILE *f = w->s->out;
	fputc('\n', f);
	if (fflush(f) || ferror(f)) {
		if (errno != EPIPE)
			perror("measure: cannot write a result");
		rt_abort(w->world, RT_EXIT_RUN);
	}
}

static void
write_time(FILE *f)
{
	char text[32] = "";
	const time_t now = time(NULL);
	struct tm utc;
	if (gmtime_r(&now, &utc))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
	fprintf(f, " time=%s", text);
}

/* A kernel that is shorter than the clock's resolution has still taken some time. */
static double
seconds(double ns)
{
	return (ns > 1 ? ns : 1) * 1e-9;
}

void
measure_write_op(struct measurer *w, const struct rt_measure_kernel *k, int ranks,
	const struct measure_result *r)
{
	FILE *f = w->s->out;
	if (w->world->rank)
		return;
	fprintf(f,
		"op ranks=%d buffers=%s median=%.4g spread=%.3g runs=%lld flops=%.17g bytes=%.17g",
		ranks, w->s->m->rotate ? "rotate" : "step", seconds(r->median), r->spread,
		(long long)r->runs, k->flops, k->bytes);
	write_time(f);
	fprintf(f, " key=%s", k->key);
	end_line(w);
}

void
measure_write_coll(struct measurer *w, const struct rt_measure_coll *c, int places, int nodes,
	const struct measure_result *r)
{
	FILE *f = w->s->out;
	if (w->world->rank)
		return;
	fprintf(f,
		"collective transport=%s kind=%s places=%d nodes=%d "
		"bytes=%lld median=%.4g spread=%.3g runs=%lld",
		measure_transport(w), c->name, places, nodes, (long long)c->bytes,
		seconds(r->median), r->spread, (long long)r->runs);
	write_time(f);
	end_line(w);
}

void
measure_write_field(struct measurer *w, const char *transport, const char *name, double value)
{
	FILE *f = w->s->out;
	if (w->world->rank)
		return;
	fprintf(f, "field");
	if (transport)
		fprintf(f, " transport=%s", transport);
	fprintf(f, " name=%s value=%.4g", name, value);
	write_time(f);
	end_line(w);
}

void
measure_write_comment(struct measurer *w, const char *what)
{
	if (w->world->rank)
		return;
	fprintf(w->s->out, "# measuring %s", what);
	end_line(w);
}

static int64_t
processor_ns(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)
		       ? 0
		       : t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void
measure_begin_rounds(struct measurer *w)
{
	w->took_ns -= rt_now_ns();
	w->ran_ns -= processor_ns();
}

void
measure_end_rounds(struct measurer *w)
{
	w->took_ns += rt_now_ns();
	w->ran_ns += processor_ns();
}

void
measure_write_processor(struct measurer *w)
{
	const int64_t idle = measure_most(w, w->took_ns - w->ran_ns);
	const int64_t ran = w->took_ns > idle ? w->took_ns - idle : 0;
	/* The kernels of a device run without this thread. */
	if (w->world->rank || !w->s->device->is_host)
		return;
	fprintf(w->s->out, "# processor %.6f of %.6f s", 1e-9 * (double)ran,
		1e-9 * (double)w->took_ns);
	end_line(w);
}

void
measure_write_device(struct measurer *w)
{
	char name[256];
	if (w->world->rank)
		return;
	w->s->device->name(name, sizeof name);
	/* A different device in a profile: its products have other times and results. */
	fprintf(w->s->out, "dopt-profile 2\ndevice \"%s%s\" backend \"%s\"", name,
		w->ctx->rank->options->tf32 ? ", TF32" : "", w->s->m->backend);
	end_line(w);
}
