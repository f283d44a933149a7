/* Times of work on the device: events around it, read once the streams are idle. The first event of
 * a step is waited for, to relate the device's clock to the host's: it lies between two readings of
 * the host's clock, which bound the error of a time. */
#include "runtime/cuda/cuda.h"

#include "runtime/trace/clock.h"
#include "runtime/rank.h"

#include <stdlib.h>

/* cudaEventElapsedTime is documented to resolve half a microsecond; two of them make a time. */
#define EVENT_ERROR_NS 1000

static void
start_step(struct rt_cuda *d)
{
	if (!d->base)
		rt_cuda_check(d, cudaEventCreate(&d->base), "an event");
	const int64_t before = rt_now_ns();
	rt_cuda_check(d, cudaEventRecord(d->base, d->compute), "an event");
	rt_cuda_check(d, cudaEventSynchronize(d->base), "an event");
	const int64_t after = rt_now_ns();
	d->base_ns = before + (after - before) / 2;
	if (d->trace)
		rt_trace_clock_error(d->trace, (after - before) / 2 + EVENT_ERROR_NS);
}

/* A span with events, new or reused; -1 without memory: then it is not timed. */
static int
new_span(struct rt_cuda *d)
{
	if (d->nspans == d->room) {
		const int room = d->room ? 2 * d->room : 256;
		struct rt_cuda_span *spans = realloc(d->spans, (size_t)room * sizeof *spans);
		if (!spans)
			return -1;
		for (int i = d->room; i < room; i++)
			spans[i] = (struct rt_cuda_span){0};
		d->spans = spans;
		d->room = room;
	}
	struct rt_cuda_span *s = &d->spans[d->nspans];
	if (!s->begin) {
		rt_cuda_check(d, cudaEventCreate(&s->begin), "an event");
		rt_cuda_check(d, cudaEventCreate(&s->end), "an event");
	}
	return d->nspans++;
}

int
rt_cuda_span_begin(struct rt_cuda *d, cudaStream_t stream, const struct rt_cuda_span *what)
{
	if (!d->probe)
		return -1;
	if (!d->nspans)
		start_step(d);
	const int i = new_span(d);
	if (i < 0)
		return -1;
	struct rt_cuda_span *s = &d->spans[i];
	const cudaEvent_t begin = s->begin, end = s->end;
	*s = *what;
	s->begin = begin;
	s->end = end;
	rt_cuda_check(d, cudaEventRecord(begin, stream), "an event");
	return i;
}

void
rt_cuda_span_end(struct rt_cuda *d, cudaStream_t stream, int span)
{
	if (span >= 0)
		rt_cuda_check(d, cudaEventRecord(d->spans[span].end, stream), "an event");
}

/* The host's clock at an event of this step. */
static int64_t
time_of(const struct rt_cuda *d, cudaEvent_t event)
{
	float ms = 0;
	rt_cuda_check(d, cudaEventElapsedTime(&ms, d->base, event), "the time of an event");
	return d->base_ns + (int64_t)((double)ms * 1e6);
}

void
rt_cuda_resolve_spans(struct rt_cuda *d)
{
	for (int i = 0; i < d->nspans; i++) {
		const struct rt_cuda_span *s = &d->spans[i];
		const int64_t begin = time_of(d, s->begin), end = time_of(d, s->end);
		if (s->track == RT_TRACK_COMPUTE) /* kernels and waits */
			d->probe->busy_ns += end - begin;
		if (s->track == RT_TRACK_COMPUTE && s->kind != RT_EVENT_KERNEL)
			d->probe->waited_ns += end - begin;
		if (d->trace)
			rt_trace_add(d->trace, s->track,
				&(struct rt_trace_event){.begin = begin,
					.end = end,
					.posted = s->posted,
					.sequence = s->sequence,
					.index = s->index,
					.kind = s->kind});
	}
	d->nspans = 0;
}

void
rt_cuda_free_spans(struct rt_cuda *d)
{
	for (int i = 0; i < d->room; i++) {
		if (!d->spans[i].begin)
			continue;
		cudaEventDestroy(d->spans[i].begin);
		cudaEventDestroy(d->spans[i].end);
	}
	if (d->base)
		cudaEventDestroy(d->base);
	free(d->spans);
	d->spans = NULL;
	d->base = NULL;
	d->nspans = d->room = 0;
}

void
rt_cuda_wait_event(struct rt_cuda *d, cudaEvent_t event, enum rt_event_kind kind, int32_t index)
{
	const struct rt_cuda_span what = {.track = RT_TRACK_COMPUTE, .kind = kind, .index = index};
	const int span = rt_cuda_span_begin(d, d->compute, &what);
	rt_cuda_check(d, cudaStreamWaitEvent(d->compute, event, 0),
		kind == RT_EVENT_WAIT ? "waiting for a collective" : "waiting for a copy");
	rt_cuda_span_end(d, d->compute, span);
}

/* Kernels do not nest: the last span is the one that ends. */
void
rt_cuda_kernel_begin(struct rt_ctx *ctx, int32_t kernel)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	const struct rt_cuda_span what = {
		.track = RT_TRACK_COMPUTE, .kind = RT_EVENT_KERNEL, .index = kernel};
	rt_cuda_span_begin(d, d->compute, &what);
}

void
rt_cuda_kernel_end(struct rt_ctx *ctx, int32_t kernel)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	(void)kernel;
	if (d->probe)
		rt_cuda_span_end(d, d->compute, d->nspans - 1);
}
