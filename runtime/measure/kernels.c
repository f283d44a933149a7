/* Kernels of the op profiler.
 *
 * In the step: the calls of the step form a ring, of which a window is run repeatedly until the
 * times of its kernels are known. A window accesses several times the size of the caches, or is the
 * whole ring, so that a call finds the caches as in a step.
 *
 * Alone: each kernel runs on copies of its operands and results, used in turn, that together are
 * several times larger than the caches that a core has to itself: a call finds nothing in them
 * except data that the kernel itself reads twice. */
#include "runtime/trace/clock.h"
#include "runtime/measure/impl.h"

#include <stdlib.h>

/* The number of operands and results of a fused optimizer of a large model. */
#define POINTERS 4096

static void *
at(unsigned char *arena, int64_t offset)
{
	return offset < 0 ? NULL : arena + offset;
}

/* Reads each cache line of `bytes` bytes, and writes it back unchanged if `writes` is set. */
static void
touch_bytes(unsigned char *from, int64_t bytes, bool writes)
{
	volatile unsigned char *p = from;
	for (int64_t i = 0; i < bytes; i += MEASURE_LINE) {
		const unsigned char x = p[i];
		if (writes)
			p[i] = x;
	}
}

static int64_t
tensor_bytes(const struct rt_measure_tensor *t)
{
	return t->elements * (int64_t)rt_dtype_bytes(t->dtype);
}

/* A kernel whose time is known leaves the caches as if it had run, and numbers for its readers. If
 * it reads only part of its operands, such as rows of a table, it has fewer bytes than they do: the
 * same fraction of each tensor is touched. */
static void
touch_call(struct measurer *w, const struct rt_measure_kernel *k, void *const *pointer,
	const int64_t *offset)
{
	double whole = 0;
	for (int j = 0; j < k->noperands + k->nresults; j++)
		whole += (double)tensor_bytes(&k->tensor[j]);
	const double share = k->bytes < whole ? k->bytes / whole : 1;
	for (int j = 0; j < k->noperands + k->nresults; j++) {
		const bool writes = j >= k->noperands;
		if (pointer[j] && writes && share == 1)
			measure_fill(w, offset[j], &k->tensor[j]);
		else if (pointer[j])
			touch_bytes(pointer[j],
				(int64_t)(share * (double)tensor_bytes(&k->tensor[j])), writes);
	}
}

/* One call on memory at `offset`s from `base`; timed as call number i of a round. */
static void
run_call(struct measurer *w, const struct rt_measure_kernel *k, unsigned char *base,
	const int64_t *offset, int64_t scratch, int i)
{
	const struct measure_device *d = w->s->device;
	void *pointer[POINTERS];
	for (int j = 0; j < k->noperands + k->nresults; j++)
		pointer[j] = at(base, offset[j]);
	d->begin(w->ctx, w->round, i);
	if (k->fn)
		k->fn(w->ctx, pointer, pointer + k->noperands, at(base, scratch));
	else
		touch_call(w, k, pointer, offset);
	d->end(w->ctx, w->round, i);
}

/* The nanoseconds of the round, without the cost of timing. */
static void
read_round(struct measurer *w, int n)
{
	w->s->device->read(w->ctx, w->round, n);
	for (int i = 0; i < n; i++) {
		const int64_t ns = w->round[i] - w->empty_ns;
		w->round[i] = ns > 0 ? ns : 0;
	}
}

void
measure_round(struct measurer *w, int first, int n)
{
	const struct rt_measure *m = w->s->m;
	for (int i = 0; i < n; i++) {
		const struct rt_measure_call *c = &m->calls[(first + i) % m->ncalls];
		run_call(w, &m->kernels[c->kernel], w->ctx->arena, c->offset, c->scratch, i);
	}
	read_round(w, n);
}

/* Samples of the kernels of a window or of a rotation. */
struct window {
	int first, n;       /* calls */
	int64_t **sample;   /* [nkernels]: [MEASURE_RUNS_MAX] of this rank; NULL: not requested */
	int32_t *count;     /* [nkernels] */
	int32_t *unsettled; /* kernels whose times are not known yet */
	int nunsettled;
	int64_t begin, rounds;
};

static int64_t
bytes_of(const struct rt_measure_kernel *k)
{
	int64_t bytes = k->scratch_bytes;
	for (int i = 0; i < k->noperands + k->nresults; i++)
		bytes += tensor_bytes(&k->tensor[i]);
	return bytes;
}

/* Calls from `first` on that access enough bytes, or all calls. */
static int
window_length(const struct measuring *s, int first)
{
	const struct rt_measure *m = s->m;
	int64_t bytes = 0;
	int n = 0;
	while (n < m->ncalls && bytes < MEASURE_CACHES * s->cache)
		bytes += bytes_of(&m->kernels[m->calls[(first + n++) % m->ncalls].kernel]);
	return n;
}

static void
open_kernel(struct measurer *w, struct window *v, int kernel)
{
	const int64_t room = MEASURE_RUNS_MAX / w->world->nranks + 1;
	v->sample[kernel] = malloc((size_t)room * sizeof **v->sample);
	w->failed |= !v->sample[kernel];
	v->count[kernel] = 0;
	v->unsettled[v->nunsettled++] = kernel;
}

/* Most samples of a kernel on this rank, so that all ranks together stay below the limit. */
static int
samples_most(const struct measurer *w)
{
	const int n = MEASURE_RUNS_MAX / w->world->nranks;
	return n > 0 ? n : 1;
}

static void
keep(struct measurer *w, struct window *v, int kernel, int64_t ns)
{
	if (v->sample[kernel] && v->count[kernel] < samples_most(w))
		v->sample[kernel][v->count[kernel]++] = ns;
}

/* Writes the kernels whose times are known well enough, or all if time is up. All ranks decide
 * alike, from the same numbers. */
static void
settle(struct measurer *w, struct window *v, bool time_is_up)
{
	int open = 0;
	for (int i = 0; i < v->nunsettled; i++) {
		const int k = v->unsettled[i];
		const int64_t n = v->count[k], all = n * w->world->nranks;
		struct measure_result r = {0};
		if (n)
			r = measure_median(measure_gather(w, v->sample[k], n), all);
		const bool known = r.settled && all >= MEASURE_RUNS_MIN;
		if (!n || (!known && !time_is_up && n < samples_most(w))) {
			v->unsettled[open++] = k;
			continue;
		}
		measure_write_op(w, &w->s->m->kernels[k], w->world->nranks, &r);
		free(v->sample[k]);
		v->sample[k] = NULL;
	}
	v->nunsettled = open;
}

/* One chunk of rounds; `warm_ns`: the duration of a round. */
static int
chunk_rounds(int64_t warm_ns)
{
	const int64_t n = MEASURE_CHUNK_NS / (warm_ns > 0 ? warm_ns : 1);
	return n < 1 ? 1 : n > MEASURE_CHUNK ? MEASURE_CHUNK : (int)n;
}

static void
run_window(struct measurer *w, struct window *v)
{
	const struct rt_measure *m = w->s->m;
	int64_t since_fill = MEASURE_FILL_EVERY, warm_ns = 0;
	v->begin = rt_now_ns();
	while (v->nunsettled) {
		if (since_fill >= MEASURE_FILL_EVERY) {
			measure_fill_step(w);
			since_fill = 0;
		}
		/* After a check the caches are not as a step leaves them; for a round so long that
		 * this does not matter, one such round suffices. */
		if (warm_ns < MEASURE_CHUNK_NS) {
			const int64_t now = rt_now_ns();
			measure_round(w, v->first, v->n);
			warm_ns = measure_most(w, rt_now_ns() - now);
		}
		measure_begin_rounds(w);
		for (int n = chunk_rounds(warm_ns); n > 0; n--) {
			measure_round(w, v->first, v->n);
			for (int i = 0; i < v->n; i++)
				keep(w, v, m->calls[(v->first + i) % m->ncalls].kernel,
					w->round[i]);
			since_fill++;
			v->rounds++;
		}
		measure_end_rounds(w);
		const int64_t took = measure_most(w, rt_now_ns() - v->begin);
		settle(w, v,
			took > measure_limit(w, MEASURE_KERNEL_NS) &&
				v->rounds >= MEASURE_ROUNDS_LEAST);
	}
}

static bool
make_window(struct measurer *w, struct window *v)
{
	const size_t n = (size_t)w->s->m->nkernels;
	*v = (struct window){.sample = calloc(n + 1, sizeof *v->sample),
		.count = calloc(n + 1, sizeof *v->count),
		.unsettled = calloc(n + 1, sizeof *v->unsettled)};
	const bool ok = v->sample && v->count && v->unsettled;
	return !measure_most(w, !ok);
}

static void
free_window(struct window *v)
{
	free(v->sample);
	free(v->count);
	free(v->unsettled);
}

void
measure_kernels_in_step(struct measurer *w)
{
	const struct rt_measure *m = w->s->m;
	char *seen = calloc((size_t)m->nkernels + 1, 1);
	struct window v;
	w->failed |= !make_window(w, &v) || measure_most(w, !seen);
	for (int k = 0; k < m->nkernels && seen; k++)
		seen[k] = m->kernels[k].known;
	for (int first = 0; first < m->ncalls && !w->failed; first++) {
		if (seen[m->calls[first].kernel])
			continue;
		v.first = first;
		v.n = window_length(w->s, first);
		v.rounds = 0;
		for (int i = 0; i < v.n; i++) {
			const int k = m->calls[(first + i) % m->ncalls].kernel;
			if (!seen[k])
				open_kernel(w, &v, k);
			seen[k] = 1;
		}
		w->failed = measure_most(w, w->failed);
		if (!w->failed)
			run_window(w, &v);
	}
	free(seen);
	free_window(&v);
}

/* Copies of all operands and results of a kernel. */
static int64_t
copies_of(const struct measuring *s, int64_t bytes)
{
	const int64_t n = s->turn / bytes + 1;
	return n < 2 ? 2 : n;
}

static int64_t
aligned(int64_t bytes)
{
	return (bytes + 255) / 256 * 256; /* alignment that rt_cuda_gemm and vectors prefer */
}

/* A kernel and its copies. They share one scratch, after them, as the kernels of a step do. */
struct alone {
	const struct rt_measure_kernel *kernel;
	const int64_t *offset; /* in a copy */
	int64_t bytes, copies, *next;
};

/* Computes the offsets of one copy; returns its bytes. */
static int64_t
lay_out(const struct rt_measure_kernel *k, int64_t *offset)
{
	int64_t end = 0;
	for (int i = 0; i < k->noperands + k->nresults; i++) {
		const struct rt_measure_tensor *t = &k->tensor[i];
		offset[i] = t->elements ? end : -1;
		end += aligned(t->elements * (int64_t)rt_dtype_bytes(t->dtype));
	}
	return end + 256;
}

int64_t
measure_alone_bytes(const struct measuring *s)
{
	int64_t most = 0;
	for (int i = 0; i < s->m->nkernels; i++) {
		const struct rt_measure_kernel *k = &s->m->kernels[i];
		int64_t *offset = calloc((size_t)(k->noperands + k->nresults) + 1, sizeof *offset);
		int64_t bytes = offset ? lay_out(k, offset) : 1;
		free(offset);
		bytes = bytes * copies_of(s, bytes) + aligned(k->scratch_bytes);
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Runs a call on the next copy. */
static int64_t
run_copy(struct measurer *w, const struct alone *a)
{
	unsigned char *base = w->ctx->arena + *a->next * a->bytes;
	*a->next = (*a->next + 1) % a->copies;
	const int64_t scratch = a->copies * a->bytes - (base - (unsigned char *)w->ctx->arena);
	run_call(w, a->kernel, base, a->offset, a->kernel->scratch_bytes ? scratch : -1, 0);
	read_round(w, 1);
	return w->round[0];
}

static void
fill_copy(struct measurer *w, const struct rt_measure_kernel *k, const int64_t *offset, int64_t at)
{
	for (int i = 0; i < k->noperands; i++)
		if (offset[i] >= 0)
			measure_fill(w, at + offset[i], &k->tensor[i]);
}

static void
run_alone(struct measurer *w, struct window *v, int number, int64_t *offset)
{
	const struct rt_measure_kernel *k = &w->s->m->kernels[number];
	int64_t next = 0;
	struct alone a = {k, offset, 0, 0, &next};
	a.bytes = lay_out(k, offset);
	a.copies = copies_of(w->s, a.bytes);
	for (int64_t c = 0; c < a.copies; c++)
		fill_copy(w, k, offset, c * a.bytes);
	/* One rotation is not counted, so that each copy is in the state that the last rotation
	 * left. */
	for (int64_t c = 0; c < a.copies; c++)
		run_copy(w, &a);
	v->begin = rt_now_ns();
	for (v->rounds = 0; v->nunsettled; v->rounds++) {
		/* The first call after a check is not counted. */
		const int64_t warm_ns = measure_most(w, run_copy(w, &a));
		measure_begin_rounds(w);
		for (int n = chunk_rounds(warm_ns); n > 0; n--)
			keep(w, v, number, run_copy(w, &a));
		measure_end_rounds(w);
		const int64_t took = measure_most(w, rt_now_ns() - v->begin);
		settle(w, v,
			took > measure_limit(w, MEASURE_ALONE_NS) &&
				v->rounds + 1 >= MEASURE_ROUNDS_LEAST);
	}
}

void
measure_kernels_alone(struct measurer *w)
{
	int64_t *offset = calloc(POINTERS, sizeof *offset);
	struct window v;
	w->failed |= !make_window(w, &v) || measure_most(w, !offset);
	for (int k = 0; k < w->s->m->nkernels && !w->failed; k++) {
		if (w->s->m->kernels[k].known)
			continue;
		measure_write_comment(w, w->s->m->kernels[k].key);
		open_kernel(w, &v, k);
		w->failed = measure_most(w, w->failed);
		if (!w->failed)
			run_alone(w, &v, k, offset);
	}
	free(offset);
	free_window(&v);
}
