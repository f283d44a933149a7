/* The op profiler: see runtime/measure.h. It is a program whose steps are rounds of measurements.
 */
#include "runtime/measure.h"
#include "runtime/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Quartiles of 100 samples are good to a few percent. */
#define KERNEL_ROUNDS 100
/* A rank stops after so long, but not before a few rounds: large models take seconds a round. */
#define KERNEL_NS 4000000000
#define KERNEL_ROUNDS_MIN 5
/* Values are set anew after so many rounds, before updates can let them run off. */
#define FILL_EVERY 16
/* A collective takes as long as its slowest place: more samples than for a kernel are not needed.
 */
#define COLL_ROUNDS 60
/* Computation beside a collective: longer than most messages take, so that it could hide them. */
#define BUSY_NS 200000
/* Pairs of clock readings whose median is what reading the clock itself takes. */
#define CLOCK_PAIRS 1000

struct sample {
	int64_t begin, posted, end;
};

struct measuring {
	struct rt_program prog; /* first: a step gets at the rest from here */
	const struct rt_measure *m;
	struct rt_axis axes[2];
	struct rt_buf *bufs;
	struct rt_coll *colls;   /* two that put the ranks in step, then those to measure */
	int64_t clock_ns;        /* of reading the clock twice */
	int64_t *kernels;        /* [ranks][KERNEL_ROUNDS][ncalls] ns */
	int32_t *rounds;         /* [ranks] */
	int64_t *gaps;           /* [KERNEL_ROUNDS] between two steps, of rank 0 */
	struct sample *messages; /* [ncolls][COLL_ROUNDS][places] alone */
	struct sample *besides;  /* the same, with computation between post and wait */
	struct sample *alone;    /* the same, that computation without a collective */
	int64_t busy;            /* turns of compute() that take BUSY_NS */
	int64_t *began, *left;   /* [ranks]: when kernels began; when the last step ended */
	bool failed;
};

/* Collectives that only let ranks meet: over each of the axes. */
enum { MEETINGS = 2 };

static int
by_value(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Writes "median spread runs" of n > 0 values, which it sorts. */
static void
write_median(FILE *f, int64_t *v, int64_t n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	const double median = ((double)v[(n - 1) / 2] + (double)v[n / 2]) / 2;
	const double spread = (double)(v[n * 3 / 4] - v[n / 4]);
	fprintf(f, " %.4g %.3g %lld\n", median * 1e-9, median > 0 ? spread / median : 0,
		(long long)n);
}

static int64_t
clock_cost(void)
{
	int64_t v[CLOCK_PAIRS];
	for (int i = 0; i < CLOCK_PAIRS; i++) {
		const int64_t t = rt_now_ns();
		v[i] = rt_now_ns() - t;
	}
	qsort(v, CLOCK_PAIRS, sizeof *v, by_value);
	return v[CLOCK_PAIRS / 2];
}

/* Small numbers of both signs, none of them denormal. */
static void
fill(const struct rt_measure *m, unsigned char *arena)
{
	for (int i = 0; i < m->nfills; i++) {
		const struct rt_measure_fill *f = &m->fills[i];
		for (int64_t k = 0; k < f->elements; k++) {
			const double x = 0.01 * (double)(k % 13 - 6) + 0.003;
			if (f->dtype == RT_f32)
				((float *)(arena + f->offset))[k] = (float)x;
			else
				((double *)(arena + f->offset))[k] = x;
		}
	}
}

static void *
at(unsigned char *arena, int64_t offset)
{
	return offset < 0 ? NULL : arena + offset;
}

/* Operands and results of a fused kernel: not more than a message has buffers. */
#define POINTERS 256

static int64_t
time_call(const struct measuring *s, const struct rt_measure_call *c, unsigned char *arena)
{
	static const int64_t coord[RT_MAX_AXES * 2] = {0};
	void *pointer[POINTERS];
	for (int i = 0; i < c->noperands + c->nresults; i++)
		pointer[i] = at(arena, c->offset[i]);
	const int64_t begin = rt_now_ns();
	c->fn(pointer, pointer + c->noperands, at(arena, c->scratch), coord);
	const int64_t ns = rt_now_ns() - begin - s->clock_ns;
	return ns > 0 ? ns : 0;
}

static int
rank_of(const struct rt_ctx *ctx)
{
	return (int)(ctx->coord[0] * ctx->prog->axes[1].size + ctx->coord[1]);
}

static void
kernel_round(struct measuring *s, struct rt_ctx *ctx)
{
	const struct rt_measure *m = s->m;
	const int rank = rank_of(ctx), round = s->rounds[rank];
	const int64_t now = rt_now_ns();
	if (ctx->step == 0)
		s->began[rank] = now;
	if (round >= KERNEL_ROUNDS_MIN && now - s->began[rank] > KERNEL_NS)
		return;
	const bool fresh = ctx->step % FILL_EVERY == 0;
	if (fresh)
		fill(m, ctx->arena);
	else if (rank == 0)
		s->gaps[round] = now - s->left[rank];
	int64_t *ns = s->kernels + ((int64_t)rank * KERNEL_ROUNDS + round) * m->ncalls;
	for (int i = 0; i < m->ncalls; i++)
		ns[i] = time_call(s, &m->calls[i], ctx->arena);
	/* After a fill the caches are not as a step leaves them. */
	s->rounds[rank] += !fresh;
}

/* All ranks meet, so that what follows begins at the same time. */
static void
meet(struct rt_ctx *ctx)
{
	for (int i = 0; i < MEETINGS; i++) {
		rt_post(ctx, i);
		rt_wait(ctx, i);
	}
}

/* A chain of dependent operations: no memory, no vectors. */
static void
compute(int64_t turns)
{
	volatile double sink;
	double x = 1;
	for (int64_t i = 0; i < turns; i++)
		x = x * 0.999999 + 1e-6;
	sink = x;
	(void)sink;
}

static int64_t
turns_of_busy(void)
{
	const int64_t turns = 100000;
	int64_t best = INT64_MAX;
	for (int i = 0; i < 5; i++) {
		const int64_t begin = rt_now_ns();
		compute(turns);
		const int64_t ns = rt_now_ns() - begin;
		best = ns < best ? ns : best;
	}
	return best > 0 ? turns * BUSY_NS / best : turns;
}

/* Post, computation, wait; coll -1: only the computation. */
static struct sample
time_message(struct rt_ctx *ctx, int coll, int64_t busy)
{
	struct sample x;
	meet(ctx);
	x.begin = rt_now_ns();
	if (coll >= 0)
		rt_post(ctx, coll);
	x.posted = rt_now_ns();
	if (busy)
		compute(busy);
	if (coll >= 0)
		rt_wait(ctx, coll);
	x.end = rt_now_ns();
	return x;
}

static void
message_round(struct measuring *s, struct rt_ctx *ctx, int round)
{
	for (int i = 0; i < s->m->ncolls; i++) {
		const struct sample message = time_message(ctx, MEETINGS + i, 0);
		const struct sample beside = time_message(ctx, MEETINGS + i, s->busy);
		const struct sample alone = time_message(ctx, -1, s->busy);
		if (ctx->coord[1] != 0)
			continue;
		const int64_t at = (i * COLL_ROUNDS + round) * s->m->places + ctx->coord[0];
		s->messages[at] = message;
		s->besides[at] = beside;
		s->alone[at] = alone;
	}
}

static void
write_kernels(FILE *f, const struct measuring *s)
{
	const struct rt_measure *m = s->m;
	const int64_t all = (int64_t)m->ranks * KERNEL_ROUNDS * (m->ncalls + 1);
	int64_t *v = malloc((size_t)all * sizeof *v);
	for (int k = 0; v && k < m->nkernels; k++) {
		int64_t n = 0;
		for (int r = 0; r < m->ranks; r++)
			for (int64_t i = 0; i < (int64_t)s->rounds[r] * m->ncalls; i++)
				if (m->calls[i % m->ncalls].kernel == k)
					v[n++] = s->kernels[(int64_t)r * KERNEL_ROUNDS * m->ncalls +
							    i];
		if (!n)
			continue;
		fprintf(f, "kernel %d", k);
		write_median(f, v, n);
	}
	free(v);
}

/* From the last begin to the last end of all places. */
static int64_t
duration(const struct sample *x, int places)
{
	int64_t begin = x[0].begin, end = x[0].end;
	for (int p = 1; p < places; p++) {
		begin = x[p].begin > begin ? x[p].begin : begin;
		end = x[p].end > end ? x[p].end : end;
	}
	return end - begin;
}

static void
write_messages(FILE *f, const struct measuring *s)
{
	const int places = s->m->places;
	int64_t v[COLL_ROUNDS];
	for (int i = 0; i < s->m->ncolls; i++) {
		const int64_t first = (int64_t)i * COLL_ROUNDS * places;
		for (int k = 0; k < COLL_ROUNDS; k++)
			v[k] = duration(&s->messages[first + k * places], places);
		fprintf(f, "collective %d", i);
		write_median(f, v, COLL_ROUNDS);
		for (int k = 0; k < COLL_ROUNDS; k++)
			v[k] = duration(&s->besides[first + k * places], places) -
			       duration(&s->alone[first + k * places], places);
		fprintf(f, "beside %d", i);
		write_median(f, v, COLL_ROUNDS);
	}
}

static void
write_result(struct measuring *s)
{
	FILE *f = fopen(s->m->result, "w");
	if (!f) {
		s->failed = true;
		return;
	}
	if (s->m->ncalls) {
		int64_t n = 0;
		for (int i = 0; i < s->rounds[0]; i++)
			if (s->gaps[i])
				s->gaps[n++] = s->gaps[i];
		qsort(s->gaps, (size_t)n, sizeof *s->gaps, by_value);
		if (n)
			fprintf(f, "field step %.4g\n", (double)s->gaps[n / 2] * 1e-9);
		write_kernels(f, s);
	}
	write_messages(f, s);
	s->failed = ferror(f) != 0;
	s->failed |= fclose(f) != 0;
}

static void
step(struct rt_ctx *ctx)
{
	struct measuring *s = (struct measuring *)ctx->prog;
	const int64_t first = s->m->ncalls ? KERNEL_ROUNDS : 0;
	if (ctx->step < first)
		kernel_round(s, ctx);
	else if (ctx->step < first + COLL_ROUNDS)
		message_round(s, ctx, (int)(ctx->step - first));
	else {
		meet(ctx);
		if (rank_of(ctx) == 0)
			write_result(s);
	}
	s->left[rank_of(ctx)] = rt_now_ns();
}

/* Buffers of a message of `bytes` bytes between `places` places, behind the arena of the kernels.
 */
static struct rt_buf
buffer_of(const struct rt_measure *m, const struct rt_measure_coll *c, int64_t target)
{
	const int64_t elements = c->bytes / 4, part = elements / m->places;
	const size_t src = (size_t)m->arena_bytes, dst = (size_t)target;
	switch (c->kind) {
	case RT_ALLGATHER:
	case RT_GATHER:
	case RT_SCATTER:
	case RT_REDUCESCATTER: return (struct rt_buf){src, dst, 1, part, 1, 0, 0, 0, false};
	case RT_ALLTOALL:
		return (struct rt_buf){src, dst, 1, 1, part, m->places, 1, m->places, true};
	default: return (struct rt_buf){src, src, 1, elements, 1, 0, 0, 0, false};
	}
}

static bool
make_collectives(struct measuring *s)
{
	const struct rt_measure *m = s->m;
	int64_t most = 0;
	for (int i = 0; i < m->ncolls; i++)
		most = m->colls[i].bytes > most ? m->colls[i].bytes : most;
	const int64_t room = (most + RT_ARENA_ALIGN) / RT_ARENA_ALIGN * RT_ARENA_ALIGN;
	const int64_t target = m->arena_bytes + room;
	s->prog.arena_bytes = (size_t)(target + room + RT_ARENA_ALIGN);
	s->bufs = calloc((size_t)m->ncolls + MEETINGS, sizeof *s->bufs);
	s->colls = calloc((size_t)m->ncolls + MEETINGS, sizeof *s->colls);
	if (!s->bufs || !s->colls)
		return false;
	for (int i = 0; i < m->ncolls + MEETINGS; i++) {
		const bool meeting = i < MEETINGS;
		const struct rt_measure_coll one = {RT_ALLREDUCE, 4};
		const struct rt_measure_coll *c = meeting ? &one : &m->colls[i - MEETINGS];
		s->bufs[i] = buffer_of(m, c, target);
		s->colls[i] = (struct rt_coll){.name = "message",
			.kind = c->kind,
			.axis = (uint8_t)(meeting ? i : 0),
			.dtype = RT_f32,
			.from = 0,
			.to = c->kind == RT_SEND ? m->places - 1 : 0,
			.nbufs = 1,
			.bufs = &s->bufs[i],
			.bytes = (size_t)c->bytes};
	}
	return true;
}

static bool
prepare(struct measuring *s)
{
	const struct rt_measure *m = s->m;
	const size_t ranks = (size_t)m->ranks;
	const size_t messages = (size_t)m->ncolls * COLL_ROUNDS * (size_t)m->places;
	s->kernels = calloc(ranks * KERNEL_ROUNDS * ((size_t)m->ncalls + 1), sizeof *s->kernels);
	s->rounds = calloc(ranks, sizeof *s->rounds);
	s->began = calloc(ranks, sizeof *s->began);
	s->left = calloc(ranks, sizeof *s->left);
	s->gaps = calloc(KERNEL_ROUNDS + 1, sizeof *s->gaps);
	s->messages = calloc(messages + 1, sizeof *s->messages);
	s->besides = calloc(messages + 1, sizeof *s->besides);
	s->alone = calloc(messages + 1, sizeof *s->alone);
	s->busy = turns_of_busy();
	if (!s->kernels || !s->rounds || !s->began || !s->left || !s->gaps || !s->messages ||
		!s->besides || !s->alone)
		return false;
	for (int i = 0; i < m->ncalls; i++)
		if (m->calls[i].noperands + m->calls[i].nresults > POINTERS)
			return false;
	s->axes[0] = (struct rt_axis){"place", m->places, false};
	s->axes[1] = (struct rt_axis){"group", m->ranks / m->places, false};
	s->prog.abi = RT_ABI_VERSION;
	s->prog.name = "measure";
	s->prog.naxes = 2;
	s->prog.axes = s->axes;
	s->prog.ncolls = m->ncolls + MEETINGS;
	s->prog.step = step;
	if (!make_collectives(s))
		return false;
	s->prog.colls = s->colls;
	return true;
}

static void
release(struct measuring *s)
{
	void *all[] = {s->bufs, s->colls, s->kernels, s->rounds, s->gaps, s->messages, s->besides,
		s->alone, s->began, s->left};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
}

int
rt_measure_main(const struct rt_measure *m)
{
	struct measuring s = {.m = m, .clock_ns = clock_cost()};
	char steps[32];
	snprintf(steps, sizeof steps, "%d", (m->ncalls ? KERNEL_ROUNDS : 0) + COLL_ROUNDS + 1);
	char *argv[] = {"measure", "-steps", steps, NULL};
	int code = 1;
	if (prepare(&s))
		code = rt_main(&s.prog, &rt_device_host, 3, argv);
	release(&s);
	return code ? code : s.failed;
}
