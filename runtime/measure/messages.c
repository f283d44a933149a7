/* Collectives of the op profiler: the time of each alone, the cost of posting and waiting, whether
 * computation hides it, and how much each slows down the other. */
#include "runtime/trace/clock.h"
#include "runtime/measure/impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Computation during a short message: longer than such messages take. */
#define BUSY_NS 200000
/* In training ranks do not arrive together: in each round a different one is late by this much,
 * longer than the others spin, so that those that wait must be woken. */
#define LATE_NS 50000
/* Messages of up to this many bytes measure latency; those up to the next limit fit into the time
 * of the computation. */
#define SHORT_BYTES 4096
#define LONG_BYTES (4 << 20)
/* Between machines messages are posted in a row, up to this many bytes and messages together, as
 * they queue up in a step: the few hundred KB that a shaper or a switch buffers at once make one
 * message look faster than the link, but not several. */
#define ROW_BYTES (1 << 20)
#define ROW_MOST 16
/* Calls of the step that run during a message take twice as long as it, but not more than this: a
 * few rounds must fit into the time of a message. */
#define LOAD_NS 20000000
/* Computation that makes no progress during messages would have an infinite slowdown. */
#define SLOWDOWN_MAX 10.0

/* One round on one rank, ns. */
struct turn {
	int64_t begin, posted, end;
	int64_t computed; /* the computation between post and wait has ended */
	int64_t arrived;  /* time of the message, whether a rank waited for it or not; 0: unknown */
};

_Static_assert(MEASURE_MESSAGE_RUNS_MAX * sizeof(struct turn) <= MEASURE_RUNS_MAX * sizeof(int64_t),
	"a rank's turns fit where samples are gathered");

/* The computation between post and wait. */
enum beside { NOTHING, CHAIN, STEP };

/* Most variants of timing a message. */
enum { VARIANTS = 3 };

/* Sums over the rows of a least-squares fit. */
struct squares {
	double u, v, uu, uv, vv;
	int n;
};

struct messages {
	struct measurer *w;
	int64_t round; /* so far, the same on all ranks */
	int64_t busy;  /* iterations of the chain that take BUSY_NS */
	int64_t chain; /* iterations of the chain during the current message */
	int load;      /* calls of the step during the current message; 0: the chain instead */
	int repeat;    /* number of times that these are run */
	int row;       /* times that the current message is posted in a row, at least 1 */
	struct turn *turn[VARIANTS]; /* [MEASURE_MESSAGE_RUNS_MAX] each */
	int64_t *value;              /* the same: durations over all places */
	/* Results over all messages: */
	double *post; /* [ncolls] */
	int nposts;
	/* For messages during computation, ns: their time alone, the time waited, the time that
	 * both ran, the time that computation lost. */
	double alone, exposed, both, lost;
	struct squares beside;
	int64_t rounds; /* of the last variants */
};

void
measure_meet(struct measurer *w)
{
	for (int i = 0; i < w->s->meetings; i++) {
		rt_post(w->ctx, i);
		rt_wait(w->ctx, i);
	}
	if (!w->s->device->is_host)
		w->ctx->rank->device->sync(w->ctx->device);
}

/* A chain of dependent operations: no memory, no vectors. */
static void
chain(int64_t turns)
{
	volatile double sink = 2; /* prevents the compiler from removing the chain */
	double x = sink;
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
		chain(turns);
		const int64_t ns = rt_now_ns() - begin;
		best = ns < best ? ns : best;
	}
	return best > 0 ? turns * BUSY_NS / best : turns;
}

/* Writes the source of a message as a kernel does, on the rank that has it. */
static void
write_source(struct measurer *w, int coll)
{
	const struct rt_coll *c = &w->s->colls[coll];
	unsigned char *at = w->ctx->arena + c->bufs[0].src;
	const void *numbers = w->pattern->made[RT_f32];
	const size_t piece = MEASURE_PATTERN * sizeof(float);
	for (size_t k = 0; k < c->bytes; k += piece)
		memcpy(at + k, numbers, c->bytes - k < piece ? c->bytes - k : piece);
}

/* Post, computation, wait; coll -1: only the computation. */
static struct turn
time_turn(struct messages *s, int coll, enum beside beside)
{
	struct measurer *w = s->w;
	struct turn x;
	if (coll >= 0 && w->s->device->is_host)
		write_source(w, coll);
	measure_meet(w);
	if (s->round++ % w->world->nranks == w->world->rank)
		chain(s->busy * LATE_NS / BUSY_NS);
	x.begin = rt_now_ns();
	for (int i = 0; coll >= 0 && i < s->row; i++)
		rt_post(w->ctx, coll);
	x.posted = rt_now_ns();
	if (beside == CHAIN)
		chain(s->chain);
	else if (beside == STEP)
		for (int i = 0; i < s->repeat; i++)
			measure_round(w, 0, s->load);
	x.computed = rt_now_ns();
	if (coll >= 0)
		rt_wait(w->ctx, coll);
	if (!w->s->device->is_host)
		w->ctx->rank->device->sync(w->ctx->device);
	x.end = rt_now_ns();
	if (!w->s->device->is_host) /* until then kernels are only queued */
		x.computed = x.end;
	const struct rt_transport *t = w->ctx->rank->transport;
	x.arrived = coll >= 0 && t && w->s->device->is_host ? t->finished : 0;
	return x;
}

/* The group of rank 0 on an axis. */
struct group {
	int places, stride; /* distance between neighbouring ranks */
	int nodes;          /* number of machines that the group spans */
};

static int
nodes_of(struct measurer *w, const struct group *g)
{
	char name[64] = "";
	gethostname(name, sizeof name - 1);
	char *all = malloc(sizeof name * (size_t)w->world->nranks);
	if (!all)
		rt_abort(w->world, RT_EXIT_RUN);
	w->world->ops->allgather(w->world, name, all, sizeof name);
	int nodes = 0;
	for (int p = 0; p < g->places; p++) {
		int q = 0;
		while (strcmp(all + (size_t)(q * g->stride) * sizeof name,
			       all + (size_t)(p * g->stride) * sizeof name) != 0)
			q++;
		nodes += q == p;
	}
	free(all);
	return nodes;
}

static struct group
group_of(struct measurer *w, int axis)
{
	const struct rt_program *p = &w->s->prog;
	struct group g = {(int)p->axes[axis].size, (int)rt_axis_stride(p, axis), 1};
	g.nodes = nodes_of(w, &g);
	return g;
}

static int64_t
end_of(const struct turn *x)
{
	return x->end;
}

static int64_t
computed_of(const struct turn *x)
{
	return x->computed;
}

static int64_t
arrival_of(const struct turn *x)
{
	return x->arrived;
}

/* Durations of n rounds over all places of the group: from the last begin to the last end; if
 * machines have separate clocks, the longest at a place. */
static int64_t *
durations(struct messages *s, const struct turn *turn, int64_t n, const struct group *g,
	int64_t (*ends)(const struct turn *x))
{
	const int64_t each = (int64_t)(sizeof *turn / sizeof(int64_t));
	const struct turn *all =
		(const struct turn *)measure_gather(s->w, (const int64_t *)turn, n * each);
	for (int64_t k = 0; k < n; k++) {
		int64_t begin = all[k].begin, end = ends(&all[k]), longest = end - begin;
		for (int p = 1; p < g->places; p++) {
			const struct turn *x = &all[p * g->stride * n + k];
			begin = x->begin > begin ? x->begin : begin;
			end = ends(x) > end ? ends(x) : end;
			longest = ends(x) - x->begin > longest ? ends(x) - x->begin : longest;
		}
		s->value[k] = g->nodes == 1 ? end - begin : longest;
	}
	return s->value;
}

/* The work of one place in a round. */
struct variant {
	int coll; /* -1: none */
	enum beside beside;
	struct measure_result result;
};

/* Rounds of the variants, one after another, until the median of the first is known, or time is up.
 * As in training, a message follows a computation without one: its carrier has gone to sleep
 * meanwhile, and must wake up. */
static void
measure_variants(struct messages *s, struct variant *v, int nvariants, const struct group *g)
{
	const int64_t begin = rt_now_ns(), limit = measure_limit(s->w, MEASURE_MESSAGE_NS);
	int64_t n = 0;
	for (int i = 0; i < nvariants; i++)
		time_turn(s, v[i].coll, v[i].beside); /* the first may create resources */
	while (n < MEASURE_MESSAGE_RUNS_MAX) {
		/* For long messages a few rounds are enough, and each takes long. */
		const int64_t so_far = measure_most(s->w, rt_now_ns() - begin);
		const int chunk = so_far > limit / MEASURE_CHUNK * (n + 1) ? 1 : MEASURE_CHUNK;
		for (int k = 0; k < chunk && n < MEASURE_MESSAGE_RUNS_MAX; k++) {
			for (int i = 0; i < nvariants; i++)
				s->turn[i][n] = time_turn(s, v[i].coll, v[i].beside);
			n++;
		}
		const bool late = n >= MEASURE_ROUNDS_LEAST &&
				  measure_most(s->w, rt_now_ns() - begin) > limit;
		if (n < MEASURE_MESSAGE_RUNS_MIN && !late)
			continue;
		for (int i = 0; i < nvariants; i++)
			v[i].result = measure_median(durations(s, s->turn[i], n, g, end_of), n);
		s->rounds = n;
		if (v[0].result.settled || late)
			return;
	}
}

/* As many calls of the step as take about this long, and the number of repetitions if the step is
 * shorter. */
static void
choose_load(struct messages *s, double ns)
{
	struct measurer *w = s->w;
	const int ncalls = w->s->m->rotate ? 0 : w->s->m->ncalls;
	int64_t sum = 0, begin = 0;
	int n = 0;
	if (ncalls) {
		measure_round(w, 0, ncalls);
		while (n < ncalls && (double)sum < ns && sum < LOAD_NS)
			sum += w->round[n++];
		begin = rt_now_ns();
		measure_round(w, 0, n);
		begin = rt_now_ns() - begin; /* includes the cost of timing */
	}
	s->load = (int)measure_most(w, n);
	s->repeat = 1 + (int)(ns / (double)(1 + measure_most(w, begin)));
}

/* The median duration of a variant, ns. */
static double
median_of(struct messages *s, int variant, const struct group *g,
	int64_t (*ends)(const struct turn *x))
{
	return measure_median(durations(s, s->turn[variant], s->rounds, g, ends), s->rounds).median;
}

/* How long the message of the first variant was in flight, ns; 0: unknown. */
static double
time_under_way(struct messages *s, const struct group *g)
{
	return measure_most(s->w, s->turn[0][0].arrived) ? median_of(s, 0, g, arrival_of) : 0;
}

/* Adds a message that made progress of `way` ns, in its time alone, in `took` ns during
 * computation: a row of the least squares of the relative error of delay + factor * way. */
static void
add_beside(struct messages *s, double way, double took)
{
	const double u = 1 / took, v = (way > 0 ? way : 0) / took;
	struct squares *q = &s->beside;
	q->n++;
	q->u += u, q->v += v;
	q->uu += u * u, q->uv += u * v, q->vv += v * v;
}

/* From the sums: ns, and a factor of at least 1. */
static void
solve_beside(const struct squares *q, double *delay, double *factor)
{
	const double det = q->uu * q->vv - q->uv * q->uv;
	*factor = det > 1e-9 * q->uu * q->vv ? (q->v * q->uu - q->u * q->uv) / det : 1;
	*factor = *factor < 1 ? 1 : *factor < SLOWDOWN_MAX ? *factor : SLOWDOWN_MAX;
	*delay = (q->u - *factor * q->uv) / q->uu;
	*delay = *delay > 0 ? *delay : 0;
}

/*
 * A message that takes `alone`, and computation that takes c, at the same time:
 *
 *	computation  |---- c + lost ----|
 *	message      |---- both --------:---- rest ----|
 *
 * Computation has lost time to the message while both ran, and the message has made progress of
 * alone - rest meanwhile. Sums over all sizes are used, so that long messages dominate. The
 * message's time is a delay, until its carrier gets a core, and a factor. Kernels of the step are
 * used if there are any, as they share caches and memory with the message.
 */
static void
measure_slowdown(
	struct messages *s, int coll, const struct group *g, double alone, double under_way)
{
	choose_load(s, 2 * alone);
	s->chain = (int64_t)((double)s->busy * 2 * alone / BUSY_NS);
	const enum beside beside = s->load ? STEP : CHAIN;
	struct variant v[] = {{.coll = coll, .beside = beside}, {.coll = -1, .beside = beside}};
	measure_variants(s, v, 2, g);
	s->chain = s->busy;
	const double c = median_of(s, 1, g, computed_of), busy = median_of(s, 0, g, computed_of);
	const double arrived = time_under_way(s, g), message = arrived > 0 ? arrived : alone;
	const double both = message < busy ? message : busy;
	const double waited = median_of(s, 0, g, end_of) - busy;
	if (c < alone) /* the computation is too short to hide all of it */
		return;
	s->alone += alone;
	s->exposed += waited < alone ? waited : alone;
	s->both += both;
	s->lost += busy - c;
	if (arrived > 0)
		add_beside(s, under_way - (arrived - both), both);
}

static int
row_of(const struct rt_measure_coll *c, const struct group *g)
{
	const int64_t fit = ROW_BYTES / (c->bytes > 0 ? c->bytes : 1);
	if (g->nodes == 1 || c->bytes <= SHORT_BYTES || fit < 2)
		return 1;
	return fit < ROW_MOST ? (int)fit : ROW_MOST;
}

static void
measure_message(struct messages *s, int number)
{
	struct measurer *w = s->w;
	const struct rt_measure_coll *c = &w->s->m->colls[number];
	const int coll = w->s->meetings + number;
	const struct group g = group_of(w, c->axis);
	struct variant v[] = {{.coll = coll, .beside = NOTHING}, {.coll = coll, .beside = CHAIN},
		{.coll = -1, .beside = CHAIN}};
	char what[64];
	snprintf(what, sizeof what, "%s %d x %lld", c->name, g.places, (long long)c->bytes);
	measure_write_comment(w, what);
	s->row = row_of(c, &g);
	measure_variants(s, v, c->bytes > SHORT_BYTES ? 1 : 3, &g);
	const double alone = v[0].result.median, beside = v[1].result.median - v[2].result.median;
	const double under_way = time_under_way(s, &g);
	v[0].result.median /= s->row;
	measure_write_coll(w, c, g.places, g.nodes, &v[0].result);
	if (c->bytes <= SHORT_BYTES) {
		s->post[s->nposts++] = beside > alone ? beside - alone : 0;
	} else if (c->bytes <= LONG_BYTES) {
		measure_slowdown(s, coll, &g, alone, under_way);
	}
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void
write_median(struct messages *s, const char *name, double *v, int n, double unit)
{
	if (!n)
		return;
	qsort(v, (size_t)n, sizeof *v, by_value);
	measure_write_field(s->w, measure_transport(s->w), name, v[n / 2] * unit);
}

/* The cost of a wait for a message that is complete. */
static void
measure_wait(struct messages *s)
{
	struct measurer *w = s->w;
	measure_meet(w);
	for (int i = 0; i < MEASURE_MESSAGE_RUNS_MAX; i++) {
		const int64_t begin = rt_now_ns();
		rt_wait(w->ctx, 0);
		s->value[i] = rt_now_ns() - begin - w->empty_ns;
	}
	const struct measure_result r = measure_median(s->value, MEASURE_MESSAGE_RUNS_MAX);
	measure_write_field(w, measure_transport(w), "wait", r.median > 0 ? r.median * 1e-9 : 0);
}

/* How messages and computation slow down each other. */
static void
write_beside(struct messages *s)
{
	struct measurer *w = s->w;
	const char *transport = measure_transport(w);
	const double left = s->both - s->lost;
	double delay, factor;
	if (!(s->alone > 0))
		return;
	factor = left > 0 && s->both < SLOWDOWN_MAX * left ? s->both / left : SLOWDOWN_MAX;
	measure_write_field(w, transport, "overlap", 2 * s->exposed < s->alone);
	measure_write_field(w, transport, "slowdown", factor > 1 ? factor : 1);
	if (!s->beside.n)
		return;
	solve_beside(&s->beside, &delay, &factor);
	measure_write_field(w, transport, "message_delay", delay * 1e-9);
	measure_write_field(w, transport, "message_slowdown", factor);
}

static bool
allocate(struct messages *s)
{
	const size_t n = (size_t)s->w->s->m->ncolls + 1;
	bool ok = true;
	for (int i = 0; i < VARIANTS; i++) {
		s->turn[i] = calloc(MEASURE_MESSAGE_RUNS_MAX, sizeof *s->turn[i]);
		ok &= s->turn[i] != NULL;
	}
	s->value = calloc(MEASURE_MESSAGE_RUNS_MAX, sizeof *s->value);
	s->post = calloc(n, sizeof *s->post);
	return !measure_most(s->w, !ok || !s->value || !s->post);
}

void
measure_messages(struct measurer *w)
{
	struct messages s = {.w = w, .busy = turns_of_busy()};
	s.chain = s.busy;
	s.row = 1;
	const bool ok = allocate(&s);
	w->failed |= !ok;
	if (ok && w->s->m->ncalls && !w->s->m->rotate)
		measure_fill_step(w);
	for (int i = 0; ok && i < w->s->m->ncolls; i++)
		measure_message(&s, i);
	if (ok && w->s->m->ncolls) {
		measure_wait(&s);
		write_median(&s, "post", s.post, s.nposts, 1e-9);
		write_beside(&s);
	}
	for (int i = 0; i < VARIANTS; i++)
		free(s.turn[i]);
	free(s.value);
	free(s.post);
}
