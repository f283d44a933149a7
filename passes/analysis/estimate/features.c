/* The network's inputs for a kernel. See internal.h. */
#include "passes/analysis/estimate/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Iterations of a loop per second, roughly. */
static const double CLOCK = 4e9;

static float
log_of(double x)
{
	return (float)log2(x + 1);
}

/* Logarithm of a time or a ratio; 0 is a time too short to measure. */
static float
log_ratio(double x)
{
	return (float)log2(fmax(x, 1e-12));
}

/* Work of loops over all iterations: [1] of vectorized ones, [0] of the others. */
struct turns {
	double work[NEST_WORKS];
	double moves; /* elements read and written */
	double far;   /* strided or at computed positions */
	double adds;
};

/* Bytes that ops alone read and write, and their seconds. */
struct traffic {
	double read, written, seconds;
};

/* Sums over all ops of a kernel. */
struct totals {
	struct estimate_parts parts;
	double seconds, longest, flops, bytes, points, written;
	double of_kind[FUSE_STARTS + 1]; /* seconds */
	uint32_t count[FUSE_STARTS + 1], outs, apart;
	int64_t inner; /* the last dim of the iteration space */
	double entries, cycles, plain_cycles, alone_cycles, measured_seconds;
	uint32_t place[NEST_PLACES];
	struct turns turns[2]; /* [1]: of vectorized loops */
	struct traffic alone, longest_alone;
};

/* Cycles of loops, roughly; an iteration of a vectorized loop takes an eighth. */
static double
cycles(const struct nest_op *l)
{
	if (l->place != NEST_LOOPS && l->place != NEST_ALONE)
		return 0;
	const double point = 0.5 + l->work[NEST_CHEAP] + 5 * l->work[NEST_DIVISION] +
			     15 * l->work[NEST_CALL] + 60 * l->work[NEST_RANDOM] +
			     l->memory[NEST_NEXT] + l->rows + l->stores + l->keeps +
			     4 * (l->memory[NEST_STRIDES] + l->memory[NEST_COMPUTED]) + 2 * l->adds;

	return l->points * point * (l->simd ? 0.125 : 1) + 10 * l->entries;
}

static void
add_turns(struct turns *t, const struct nest_op *l)
{
	if (l->place != NEST_LOOPS && l->place != NEST_ALONE)
		return;
	for (int i = 0; i < NEST_WORKS; i++)
		t->work[i] += l->points * l->work[i];
	t->far += l->points * (l->memory[NEST_STRIDES] + l->memory[NEST_COMPUTED]);
	t->adds += l->points * l->adds;
	t->moves += l->points * (l->stores + l->keeps + l->rows);
	for (int i = 0; i < NEST_WALKS; i++)
		t->moves += l->points * l->memory[i];
}

static void
add_traffic(struct totals *t, const struct estimate_op *e)
{
	const struct traffic x = {fmax(e->bytes - e->results, 0), e->results, e->seconds};

	t->alone.read += x.read;
	t->alone.written += x.written;
	t->alone.seconds += x.seconds;
	if (x.seconds > t->longest_alone.seconds)
		t->longest_alone = x;
}

static struct totals
totals_of(const struct estimate_kernel *k, const struct device *d)
{
	struct totals t = {.parts = estimate_parts(k, d), .inner = 1};

	for (uint32_t i = 0; i < k->n; i++) {
		const struct estimate_op *e = k->op[i];
		t.seconds += e->seconds;
		t.longest = fmax(t.longest, e->seconds);
		t.flops += e->flops;
		t.bytes += e->bytes;
		t.apart += e->role.apart != 0;
		t.written += k->out[i] ? e->results : 0;
		t.outs += k->out[i];
		t.of_kind[e->role.kind] += e->seconds;
		t.count[e->role.kind]++;
		const struct nest_op *l = k->loops[i];
		t.entries += l->entries;
		t.cycles += cycles(l);
		t.plain_cycles += l->simd ? 0 : cycles(l);
		t.alone_cycles += cycles(&e->alone);
		t.place[l->place]++;
		t.measured_seconds += e->measured ? e->seconds : 0;
		add_turns(&t.turns[l->simd], l);
		add_traffic(&t, e);
		if (e->points > t.points) {
			t.points = e->points;
			t.inner = e->role.rank ? e->role.space[e->role.rank - 1] : 1;
		}
	}
	return t;
}

static uint32_t
count_readers(const struct estimate_kernel *k, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < k->first[k->n]; r++)
		n += k->read[r] == i;
	return n;
}

static void
op_features(const struct estimate_kernel *k, uint32_t i, double analytic, const struct totals *t,
	float *f)
{
	const struct estimate_op *e = k->op[i];
	const struct nest_op *l = k->loops[i];
	const double excess = estimate_excess(&t->parts, e);
	double inner = 0;

	for (uint32_t r = k->first[i]; r < k->first[i + 1]; r++)
		inner += k->op[k->read[r]]->results;
	const float all[] = {
		log_of(e->points),
		log_of(e->results),
		log_of(e->bytes),
		log_of(k->outer[i]),
		log_of(inner),
		log_of(k->out[i] ? e->results : 0),
		log_of(e->flops),
		log_ratio(e->seconds),
		log_ratio(e->roofline),
		log_ratio(e->seconds / fmax(e->roofline, 1e-12)),
		log_ratio(e->seconds / fmax(e->points, 1)),
		(float)(e->seconds / fmax(t->seconds, 1e-12)),
		log_ratio(fmax(e->elements, 1) / fmax(t->points, 1)),
		log_of(e->role.rank ? (double)e->role.space[e->role.rank - 1] : 1),
		log_of((double)t->inner),
		e->noperands,
		(float)(k->first[i + 1] - k->first[i]),
		(float)count_readers(k, i),
		k->out[i],
		(float)ir_dtype_bytes((enum ir_dtype)e->dtype),
		e->measured,
		e->role.kind == FUSE_MAP,
		e->role.kind == FUSE_ROW,
		e->role.kind == FUSE_LAST,
		e->role.kind == FUSE_STARTS,
		log_of(e->flops / fmax(e->points, 1)),
		(float)i / (float)k->n,
		log_ratio(fmax(e->points, 1) / fmax(e->elements, 1)),
		(float)(excess / analytic),
		log_of(excess * 1e12 / fmax(e->points, 1)),
		e->role.apart != 0,
		e->narrowest < ir_dtype_bytes((enum ir_dtype)e->dtype),
		l->place == NEST_PRODUCT,
		l->place == NEST_LIBRARY,
		l->place == NEST_LOOPS,
		l->place == NEST_ALONE,
		(float)l->stage,
		log_of(l->points),
		log_of(l->inner),
		log_of(l->entries),
		l->simd,
		l->tiled,
		l->sums,
		l->adds,
		l->memory[NEST_STAYS],
		l->memory[NEST_NEXT],
		l->memory[NEST_STRIDES],
		l->memory[NEST_COMPUTED],
		l->rows,
		l->locals,
		l->stores,
		l->keeps,
		(float)l->store,
		l->tests,
		(float)l->work[NEST_CHEAP],
		(float)l->work[NEST_DIVISION],
		(float)l->work[NEST_CALL],
		(float)l->work[NEST_RANDOM],
		log_ratio(fmax(l->points, 1) / fmax(e->alone.points, 1)),
		log_ratio(fmax(l->inner, 1) / fmax(e->alone.inner, 1)),
		log_ratio(fmax(l->entries, 1) / fmax(e->alone.entries, 1)),
		(float)l->simd - (float)e->alone.simd,
		(float)e->alone.simd,
		log_of(e->alone.inner),
		(float)(l->adds - e->alone.adds),
		log_ratio(cycles(l) / CLOCK / analytic + 1e-4),
		log_ratio(cycles(&e->alone) / CLOCK / analytic + 1e-4),
	};
	static_assert(sizeof all == NETWORK_OP_FEATURES * sizeof *all, "each has its place");
	memcpy(f, all, sizeof all);
}

/* The time of memory traffic if a byte written counts as `weight` bytes read. */
static double
by_traffic(const struct estimate_kernel *k, const struct totals *t, const struct traffic *alone,
	double weight)
{
	const double read = fmax(k->bytes - t->written, 0);

	return (read + weight * t->written) * alone->seconds /
	       fmax(alone->read + weight * alone->written, 1);
}

/* Seconds as a fraction of the estimate. */
static float
part(double seconds, double analytic)
{
	return log_ratio(seconds / analytic + 1e-3);
}

static void
kernel_features(const struct estimate_kernel *k, double analytic, const struct device *d,
	const struct totals *t, float *f)
{
	const double saved = fmax(t->bytes - k->bytes, 0) / d->bandwidth;
	const struct turns *v = &t->turns[1], *x = &t->turns[0];
	const double lanes = 16 * CLOCK;
	const float all[] = {
		log_ratio(analytic),
		log_ratio(t->seconds),
		log_ratio(t->seconds / analytic),
		log_ratio(t->longest / analytic),
		log_of(k->bytes),
		log_of(t->written),
		log_of(t->flops),
		log_of(k->n),
		log_of(t->points),
		log_of((double)t->inner),
		(float)t->count[FUSE_MAP],
		(float)t->count[FUSE_ROW],
		(float)t->count[FUSE_LAST],
		(float)t->count[FUSE_STARTS],
		(float)(t->of_kind[FUSE_STARTS] / fmax(t->seconds, 1e-12)),
		(float)(t->of_kind[FUSE_LAST] / fmax(t->seconds, 1e-12)),
		log_ratio(k->bytes / fmax(t->bytes, 1)),
		(float)k->operands,
		(float)t->outs,
		log_ratio(k->bytes / analytic) - 30,
		log_ratio(fmax(t->seconds - saved, 0.05 * t->seconds) / analytic),
		log_ratio((t->of_kind[FUSE_STARTS] + t->of_kind[FUSE_LAST]) / analytic + 0.01),
		(float)(t->parts.excess / analytic),
		log_ratio(k->bytes / t->parts.rate / analytic + 0.01),
		(float)t->apart,
		(float)k->nest->segments,
		(float)k->nest->stages,
		log_of(k->nest->touched),
		log_of(k->nest->scratch),
		log_of(k->nest->widest),
		log_ratio(fmax(k->nest->touched, 1) / fmax(k->bytes, 1)),
		log_ratio(k->nest->touched / t->parts.rate / analytic + 0.01),
		log_of(t->entries),
		log_ratio(t->cycles / CLOCK / analytic + 1e-4),
		log_ratio(t->plain_cycles / CLOCK / analytic + 1e-4),
		log_ratio(fmax(t->cycles, 1) / fmax(t->alone_cycles, 1)),
		(float)t->place[NEST_PRODUCT],
		(float)t->place[NEST_LIBRARY],
		(float)t->place[NEST_LOOPS],
		(float)t->place[NEST_ALONE],
		(float)t->place[NEST_NOWHERE],
		log_ratio(t->measured_seconds / analytic + 0.01),
		part(v->work[NEST_CHEAP] / lanes, analytic),
		part(v->work[NEST_DIVISION] / lanes, analytic),
		part(v->work[NEST_CALL] / lanes, analytic),
		part(v->work[NEST_RANDOM] / lanes, analytic),
		part(v->moves / lanes, analytic),
		part(v->adds / lanes, analytic),
		part(x->work[NEST_CHEAP] / CLOCK, analytic),
		part(x->work[NEST_DIVISION] / CLOCK, analytic),
		part(x->work[NEST_CALL] / CLOCK, analytic),
		part(x->work[NEST_RANDOM] / CLOCK, analytic),
		part(x->moves / CLOCK, analytic),
		part(x->adds / CLOCK, analytic),
		part(x->far / CLOCK, analytic),
		part(10 * t->entries / CLOCK, analytic),
		part(by_traffic(k, t, &t->alone, 1), analytic),
		part(by_traffic(k, t, &t->alone, 2), analytic),
		part(by_traffic(k, t, &t->alone, 3), analytic),
		part(by_traffic(k, t, &t->longest_alone, 1), analytic),
		part(by_traffic(k, t, &t->longest_alone, 2), analytic),
		part(by_traffic(k, t, &t->longest_alone, 3), analytic),
		log_ratio((t->written + 1) / (k->bytes + 1)),
	};
	static_assert(sizeof all == NETWORK_KERNEL_FEATURES * sizeof *all, "each has its place");
	memcpy(f, all, sizeof all);
}

void
estimate_features(struct estimate_kernel *k, double analytic, const struct device *d)
{
	const struct totals t = totals_of(k, d);

	for (uint32_t i = 0; i < k->n; i++) {
		op_features(k, i, analytic, &t, &k->feature[i * NETWORK_OP_FEATURES]);
		k->code[i] = k->op[i]->code;
	}
	k->graph = (struct network_graph){k->n, k->feature, k->code, k->first, k->read, {0}};
	kernel_features(k, analytic, d, &t, k->graph.kernel);
}

double
estimate_network(struct network *w, struct estimate_kernel *k, const struct device *d)
{
	const double analytic = estimate_analytic(k, d);
	const struct network_graph *g = &k->graph;
	double answer;

	estimate_features(k, analytic, d);
	network_evaluate(w, &g, 1, &answer);
	return analytic * exp(answer);
}
