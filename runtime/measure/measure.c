/* The op profiler as a program: see measure.h. To the runtime it is a step that measures kernels
 * and collectives instead of training: first some warm steps, which show the time that a step takes
 * in addition to its kernels, then one that does everything else. */
#include "runtime/measure/measure.h"

#include "runtime/trace/clock.h"
#include "runtime/machine.h"
#include "runtime/measure/impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The gap between two steps is the median of this many. */
#define WARM_STEPS 32
/* Number of empty timings whose median is the cost of timing. */
#define EMPTY_RUNS 1000

static int
host_main(const struct rt_program *prog, int argc, char **argv)
{
	return rt_main(prog, &rt_device_host, argc, argv);
}

static const struct rt_program *
host_program(const struct rt_ctx *ctx)
{
	return ctx->prog;
}

static void
host_begin(struct rt_ctx *ctx, int64_t *ns, int i)
{
	(void)ctx;
	ns[i] = rt_now_ns();
}

static void
host_end(struct rt_ctx *ctx, int64_t *ns, int i)
{
	(void)ctx;
	ns[i] = rt_now_ns() - ns[i];
}

static void
host_read(struct rt_ctx *ctx, int64_t *ns, int n)
{
	(void)ctx, (void)ns, (void)n;
}

static void host_step(struct rt_ctx *ctx);

static const struct measure_device host = {host_main, host_step, host_program, host_begin, host_end,
	host_read, rt_machine_name, rt_machine_cache, rt_machine_own_cache, "threads", "mpi", true,
	NULL};

/* The state that a rank keeps from one warm step to the next. */
struct warm {
	int64_t gap[WARM_STEPS], begin, left;
	int ngaps;
};

/* Times empty kernels in the same way as others. */
static int64_t
empty_ns(struct measurer *w)
{
	const struct measure_device *d = w->s->device;
	int64_t v[EMPTY_RUNS];
	for (int i = 0; i < EMPTY_RUNS; i++) {
		d->begin(w->ctx, w->round, 0);
		d->end(w->ctx, w->round, 0);
		d->read(w->ctx, w->round, 1);
		v[i] = w->round[0];
	}
	return (int64_t)measure_median(v, EMPTY_RUNS).median;
}

static void
measure_all(struct measurer *w, struct warm *warm)
{
	const struct rt_measure *m = w->s->m;
	measure_write_device(w);
	if (warm->ngaps)
		measure_write_field(
			w, NULL, "step", measure_median(warm->gap, warm->ngaps).median * 1e-9);
	measure_write_field(w, NULL, "async", !w->s->device->is_host);
	measure_write_field(
		w, NULL, "host_memory", (double)(rt_machine_memory() / w->world->nlocal));
	if (w->s->device->is_host) /* a call is part of the measured time */
		measure_write_field(w, NULL, "launch", 0);
	if (m->rotate)
		measure_kernels_alone(w);
	else
		measure_kernels_in_step(w);
	measure_write_processor(w);
	if (w->s->device->alternatives)
		w->s->device->alternatives(w);
	if (!w->failed)
		measure_messages(w);
	if (!w->failed && m->transfers)
		measure_transfers(w);
	if (w->failed) {
		fprintf(stderr, "measure: out of memory for the samples\n");
		rt_abort(w->world, RT_EXIT_RUN);
	}
}

static void
warm_step(struct measurer *w, struct warm *warm)
{
	const int64_t now = rt_now_ns();
	if (!warm->begin)
		warm->begin = now;
	if (warm->left)
		warm->gap[warm->ngaps++] = now - warm->left;
	if (now - warm->begin < measure_limit(w, MEASURE_WARM_NS) && w->s->m->ncalls &&
		!w->s->m->rotate) {
		if (!w->ctx->step)
			measure_fill_step(w);
		measure_round(w, 0, w->s->m->ncalls);
	}
}

/* One object per rank, created in its first step and freed in its last. */
struct kept {
	struct measurer w;
	struct warm warm;
};

static struct kept *
keep_new(struct measuring *s, struct rt_ctx *ctx)
{
	struct kept *k = calloc(1, sizeof *k);
	const int64_t calls = s->m->ncalls + 1;
	if (k) {
		k->w = (struct measurer){.s = s, .ctx = ctx, .world = ctx->rank->world};
		k->w.round = calloc((size_t)calls, sizeof *k->w.round);
		k->w.all = calloc((size_t)k->w.world->nranks * MEASURE_RUNS_MAX, sizeof *k->w.all);
	}
	if (k && k->w.round && k->w.all && measure_make_pattern(&k->w))
		return k;
	fprintf(stderr, "measure: out of memory for the samples\n");
	rt_abort(ctx->rank->world, RT_EXIT_RUN);
}

void
measure_step(const struct measure_device *d, struct rt_ctx *ctx)
{
	struct measuring *s = (struct measuring *)d->program(ctx);
	struct kept **slot = &s->kept[ctx->rank->world->rank];
	if (!*slot) {
		*slot = keep_new(s, ctx);
		(*slot)->w.empty_ns = empty_ns(&(*slot)->w);
	}
	struct kept *k = *slot;
	if (ctx->step < WARM_STEPS) {
		warm_step(&k->w, &k->warm);
		k->warm.left = rt_now_ns();
		return;
	}
	measure_all(&k->w, &k->warm);
	free(k->w.round);
	free(k->w.all);
	free(k->w.pattern);
	free(k);
	*slot = NULL;
}

static void
host_step(struct rt_ctx *ctx)
{
	measure_step(&host, ctx);
}

/* Buffers of a message between `places` places, after those of the kernels. */
static struct rt_buf
buffer_of(const struct measuring *s, enum rt_coll_kind kind, int64_t elements, int64_t places)
{
	const int64_t part = elements / places;
	const size_t src = (size_t)s->kernels, dst = (size_t)(s->kernels + s->room);
	switch (kind) {
	case RT_ALLGATHER:
	case RT_GATHER:
	case RT_SCATTER:
	case RT_REDUCESCATTER: return (struct rt_buf){src, dst, 1, part, 1, 0, 0, 0, false, 0};
	case RT_ALLTOALL: return (struct rt_buf){src, dst, 1, 1, part, places, 1, places, true, 0};
	default: return (struct rt_buf){src, src, 1, elements, 1, 0, 0, 0, false, 0};
	}
}

/* Bytes of a message as elements, the same number for every place. */
static int64_t
whole_elements(const struct rt_measure_coll *c, int64_t places)
{
	const int64_t elements = (c->bytes + 3) / 4;
	return (elements + places - 1) / places * places;
}

static void
make_collective(struct measuring *s, int i, enum rt_coll_kind kind, int axis, int64_t elements)
{
	const int64_t places = s->prog.axes[axis].size;
	s->bufs[i] = buffer_of(s, kind, elements, places);
	s->colls[i] = (struct rt_coll){.name = "message",
		.kind = kind,
		.axis = (uint8_t)axis,
		.dtype = RT_f32,
		.to = kind == RT_SEND ? (int32_t)places - 1 : 0,
		.nbufs = 1,
		.bufs = &s->bufs[i],
		.bytes = (size_t)elements * 4};
}

static bool
make_collectives(struct measuring *s)
{
	const struct rt_measure *m = s->m;
	const size_t n = (size_t)(m->ncolls + m->naxes);
	s->bufs = calloc(n + 1, sizeof *s->bufs);
	s->colls = calloc(n + 1, sizeof *s->colls);
	if (!s->bufs || !s->colls)
		return false;
	s->room = RT_ARENA_ALIGN;
	for (int i = 0; i < m->ncolls; i++) {
		const int64_t bytes =
			4 * whole_elements(&m->colls[i], m->axes[m->colls[i].axis].size);
		if (bytes > s->room)
			s->room = (bytes + RT_ARENA_ALIGN - 1) / RT_ARENA_ALIGN * RT_ARENA_ALIGN;
	}
	for (int a = 0; a < m->naxes; a++)
		if (!m->axes[a].is_time && m->axes[a].size > 1)
			make_collective(s, s->meetings++, RT_ALLREDUCE, a, 1);
	for (int i = 0; i < m->ncolls; i++) {
		const struct rt_measure_coll *c = &m->colls[i];
		make_collective(s, s->meetings + i, c->kind, c->axis,
			whole_elements(c, m->axes[c->axis].size));
	}
	return true;
}

static bool
prepare(struct measuring *s)
{
	const struct rt_measure *m = s->m;
	s->cache = s->device->cache();
	s->turn = MEASURE_CACHES * s->device->own_cache();
	s->kernels = m->rotate ? measure_alone_bytes(s) : m->arena_bytes;
	s->kernels = (s->kernels + 255) / 256 * 256;
	s->prog.abi = RT_ABI_VERSION;
	s->prog.name = "measure";
	s->prog.naxes = m->naxes;
	s->prog.axes = m->axes;
	s->prog.step = s->device->step;
	s->prog.library = m->library;
	s->kept = calloc((size_t)rt_places(&s->prog), sizeof *s->kept);
	if (!s->kept || !make_collectives(s))
		return false;
	s->prog.ncolls = s->meetings + m->ncolls;
	s->prog.colls = s->colls;
	s->prog.arena_bytes = (size_t)(s->kernels + 2 * s->room);
	if (m->transfers)
		measure_make_transfers(s);
	return true;
}

/* The command line. */
struct wish {
	const char *path; /* NULL: standard output */
	char *args[12];   /* for the runtime: each of its options once, and those put in front */
	int nargs;
};

/* Program options that say where kernels and messages are measured; the number of words of one, 0:
 * not such an option. */
static int
words_of(const char *option, bool is_host)
{
	if (strcmp(option, "-link") == 0 || strcmp(option, "-hostlink") == 0)
		return 2;
	return strcmp(option, is_host ? "-bind" : "-tf32") == 0;
}

static bool
read_arguments(struct wish *w, bool is_host, int argc, char **argv)
{
	const int room = (int)(sizeof w->args / sizeof *w->args) - 1;

	for (int i = 1; i < argc; i++) {
		const int words = words_of(argv[i], is_host);
		if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
			w->path = argv[++i];
		} else if (words && i + words <= argc && w->nargs + words <= room) {
			for (int k = 0; k < words; k++)
				w->args[w->nargs++] = argv[i + k];
			i += words - 1;
		} else {
			fprintf(stderr,
				"measure: usage: %s [-o FILE] [-link BW,LAT] [-hostlink BW,LAT] [%s]\n",
				argv[0], is_host ? "-bind" : "-tf32");
			return false;
		}
	}
	return true;
}

/* Opens the file for results: the runtime's own lines must not be mixed with them. */
static FILE *
open_results(const char *path)
{
	/* Processes other than the first write nothing: they must not truncate the file. */
	const int out = dup(STDOUT_FILENO);
	FILE *f = path ? fopen(path, "a") : out >= 0 ? fdopen(out, "w") : NULL;
	if (!f || !freopen("/dev/null", "w", stdout)) {
		perror(path ? path : "measure: standard output");
		return NULL;
	}
	return f;
}

int
measure_main(const struct rt_measure *m, const struct measure_device *device, const void *target,
	int argc, char **argv)
{
	struct measuring s = {.m = m, .device = device, .target = target};
	char steps[16];
	struct wish wish = {.args = {argv[0], "-steps", steps}, .nargs = 3};
	int code = RT_EXIT_USAGE;
	snprintf(steps, sizeof steps, "%d", WARM_STEPS + 1);
	if (read_arguments(&wish, device->is_host, argc, argv))
		s.out = open_results(wish.path);
	if (s.out && prepare(&s))
		code = device->main(&s.prog, wish.nargs, wish.args);
	else if (s.out)
		fprintf(stderr, "measure: out of memory\n");
	if (s.out && fclose(s.out) && !code)
		code = RT_EXIT_RUN;
	free(s.bufs);
	free(s.colls);
	free(s.kept);
	return code;
}

int
rt_measure_main(const struct rt_measure *m, int argc, char **argv)
{
	return measure_main(m, &host, NULL, argc, argv);
}
