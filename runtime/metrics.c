/* Lines of JSON about a run: metrics.h. */
#include "runtime/metrics.h"
#include "runtime/data/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

bool
rt_metrics_open(struct rt_metrics *m, const char *path, struct rt_status *st)
{
	*m = (struct rt_metrics){.path = path};
	if (!path)
		return true;
	m->out = fopen(path, "a");
	return m->out ||
	       rt_fail(st, RT_EXIT_USAGE, "-metrics: cannot open %s: %s", path, strerror(errno));
}

static void
keep_error(struct rt_metrics *m)
{
	if (!m->error)
		m->error = errno ? errno : EIO;
}

bool
rt_metrics_close(struct rt_metrics *m, struct rt_status *st)
{
	if (m->out && fclose(m->out))
		keep_error(m);
	m->out = NULL;
	return !m->error || rt_fail(st, RT_EXIT_RUN, "-metrics: cannot write %s: %s", m->path,
				    strerror(m->error));
}

void
rt_metrics_time(struct rt_metrics *m, int64_t ns, int64_t waited_ns)
{
	m->steps++;
	m->ns += ns;
	m->timed += waited_ns >= 0;
	m->waited_ns += waited_ns >= 0 ? waited_ns : 0;
}

void
rt_metrics_step(struct rt_metrics *m, int64_t step, int64_t batch, size_t memory)
{
	if (!m->out)
		return;
	const double seconds = m->steps ? (double)m->ns / 1e9 / (double)m->steps : 0;
	fprintf(m->out, "{\"step\": %" PRId64 ", \"seconds\": %.6g, ", step, seconds);
	if (batch && seconds > 0)
		fprintf(m->out, "\"examples_per_second\": %.6g, ", (double)batch / seconds);
	if (m->timed)
		fprintf(m->out, "\"exposed_seconds\": %.6g, ",
			(double)m->waited_ns / 1e9 / (double)m->timed);
	fprintf(m->out, "\"memory_bytes\": %zu, \"outputs\": {", memory);
	m->steps = m->ns = m->timed = m->waited_ns = m->nvalues = 0;
}

void
rt_metrics_test(struct rt_metrics *m, int64_t step)
{
	if (m->out)
		fprintf(m->out, "{\"step\": %" PRId64 ", \"test\": {", step);
	m->nvalues = 0;
}

void
rt_metrics_value(struct rt_metrics *m, const char *name, double x)
{
	if (!m->out)
		return;
	if (m->nvalues++)
		fputs(", ", m->out);
	rt_json_put(m->out, name);
	if (isfinite(x))
		fprintf(m->out, ": %.9g", x);
	else
		fputs(": null", m->out);
}

void
rt_metrics_end(struct rt_metrics *m)
{
	if (!m->out)
		return;
	errno = 0;
	fputs("}}\n", m->out);
	if (fflush(m->out) || ferror(m->out))
		keep_error(m);
}
