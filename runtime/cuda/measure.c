/* The clock of the op profiler on a CUDA device: one event before and one after each call, read
 * once the stream is idle. The time of two events with nothing between them is subtracted by the
 * profiler, as on every device. */
#include "runtime/cuda/measure.h"

#include "runtime/cuda/cuda.h"
#include "runtime/cuda/candidate.h"
#include "runtime/measure/impl.h"

#include <stdio.h>
#include <stdlib.h>

/* Runs of a candidate: they take the same time in each run, but for the clock of the device. */
enum { CANDIDATE_RUNS = 15 };

/* The program that is run, and the events of its calls; each rank of a process has its own. */
struct cuda_measuring {
	struct rt_cuda_program cuda; /* first: a call finds the rest from here */
	struct events {
		cudaEvent_t *event; /* [2 * room]: before and after each call */
		int room;
	} * events; /* [ranks] */
};

static struct events *
events_of(const struct rt_ctx *ctx)
{
	struct cuda_measuring *s = (struct cuda_measuring *)rt_cuda_of(ctx)->target->cuda;
	return &s->events[ctx->rank->world->rank];
}

static const struct rt_program *
cuda_program(const struct rt_ctx *ctx)
{
	return rt_cuda_of(ctx)->target->prog;
}

static cudaEvent_t
event_at(struct rt_ctx *ctx, int i)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	struct events *e = events_of(ctx);
	if (i >= e->room) {
		const int room = 2 * i + 64;
		e->event = realloc(e->event, (size_t)room * sizeof *e->event);
		if (!e->event)
			rt_cuda_fatal(d, "events", "out of memory");
		for (int k = e->room; k < room; k++)
			rt_cuda_check(d, cudaEventCreate(&e->event[k]), "an event");
		e->room = room;
	}
	return e->event[i];
}

static void
cuda_begin(struct rt_ctx *ctx, int64_t *ns, int i)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	(void)ns;
	rt_cuda_check(d, cudaEventRecord(event_at(ctx, 2 * i), d->compute), "an event");
}

static void
cuda_end(struct rt_ctx *ctx, int64_t *ns, int i)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	(void)ns;
	rt_cuda_check(d, cudaEventRecord(event_at(ctx, 2 * i + 1), d->compute), "an event");
}

static void
cuda_read(struct rt_ctx *ctx, int64_t *ns, int n)
{
	struct rt_cuda *d = rt_cuda_of(ctx);
	rt_cuda_check(d, cudaStreamSynchronize(d->compute), "a kernel");
	if (d->addressed > RT_CUDA_ADDRESSES / 2) /* by kernels that have been measured */
		rt_cuda_forget_addresses(d);
	for (int i = 0; i < n; i++) {
		float ms = 0;
		const cudaEvent_t begin = event_at(ctx, 2 * i), end = event_at(ctx, 2 * i + 1);
		rt_cuda_check(d, cudaEventElapsedTime(&ms, begin, end), "the time of an event");
		ns[i] = (int64_t)((double)ms * 1e6);
	}
}

static void
cuda_name(char *name, size_t size)
{
	struct cudaDeviceProp p;
	const bool known = cudaGetDeviceProperties(&p, 0) == cudaSuccess;
	snprintf(name, size, "%s", known ? p.name : "CUDA device");
}

/* Before a device is open; if none can be queried, the largest known size. */
static int64_t
cuda_cache(void)
{
	int bytes = 0;
	if (cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0) != cudaSuccess || bytes <= 0)
		bytes = 128 << 20;
	return bytes;
}

/* rt_main with a device has no parameter for the kernels: they come with the first call's
 * program. */
static int
cuda_main(const struct rt_program *prog, int argc, char **argv)
{
	const struct measuring *s = (const struct measuring *)prog;
	return rt_cuda_main(prog, s->target, argc, argv);
}

/* Repeats a call of a library, by a candidate. */
typedef bool call_again(struct rt_cuda *d, int32_t call, int32_t candidate);

/* The times of a call by one of the library's candidates. False: there are fewer. */
static bool
time_candidate(struct measurer *w, call_again *again, int call, int candidate,
	struct measure_result *result)
{
	struct rt_cuda *d = rt_cuda_of(w->ctx);
	int64_t ns[CANDIDATE_RUNS];
	if (!again(d, call, candidate)) /* the first call chooses the algorithm */
		return false;
	for (int i = 0; i < CANDIDATE_RUNS; i++) {
		cuda_begin(w->ctx, ns, i);
		again(d, call, candidate);
		cuda_end(w->ctx, ns, i);
	}
	cuda_read(w->ctx, ns, CANDIDATE_RUNS);
	for (int i = 0; i < CANDIDATE_RUNS; i++)
		ns[i] -= w->empty_ns;
	*result = measure_median(ns, CANDIDATE_RUNS);
	return true;
}

/* Candidates of the library for a call, from the last, which is no first choice, to the first, with
 * which the call is left. */
static void
time_candidates(struct measurer *w, call_again *again, int call, const char *key)
{
	for (int i = RT_CUDA_CANDIDATES - 1; i >= 0; i--) {
		struct measure_result r;
		char of_candidate[RT_CUDA_KEY];
		if (!time_candidate(w, again, call, i, &r))
			continue;
		rt_cuda_candidate_key(of_candidate, key, i);
		const struct rt_measure_kernel line = {.key = of_candidate};
		measure_write_op(w, &line, w->world->nranks, &r);
	}
}

static void
cuda_alternatives(struct measurer *w)
{
	const struct rt_cuda_program *cuda = rt_cuda_of(w->ctx)->target->cuda;
	const bool tf32 = w->ctx->rank->options->tf32;
	char key[RT_CUDA_KEY];

	for (int g = 0; g < cuda->ngemms; g++) {
		rt_cuda_gemm_key(key, &cuda->gemms[g], tf32);
		time_candidates(w, rt_cuda_gemm_again, g, key);
	}
	for (int c = 0; c < cuda->nconvs; c++) {
		rt_cuda_conv_key(key, &cuda->convs[c], tf32);
		time_candidates(w, cuda->conv_again, c, key);
	}
}

static void cuda_step(struct rt_ctx *ctx);

static const struct measure_device device = {cuda_main, cuda_step, cuda_program, cuda_begin,
	cuda_end, cuda_read, cuda_name, cuda_cache, cuda_cache, "peers", "nccl", false,
	cuda_alternatives};

static void
cuda_step(struct rt_ctx *ctx)
{
	measure_step(&device, ctx);
}

int
rt_cuda_measure_main(
	const struct rt_measure *m, const struct rt_cuda_program *cuda, int argc, char **argv)
{
	int64_t ranks = 1;
	for (int a = 0; a < m->naxes; a++)
		ranks *= m->axes[a].is_time ? 1 : m->axes[a].size;
	struct cuda_measuring s = {*cuda, calloc((size_t)ranks, sizeof *s.events)};
	if (!s.events)
		return RT_EXIT_RUN;
	const int code = measure_main(m, &device, &s.cuda, argc, argv);
	for (int64_t r = 0; r < ranks; r++)
		free(s.events[r].event); /* the events themselves were destroyed with the device */
	free(s.events);
	return code;
}
