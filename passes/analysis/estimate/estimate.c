/*
 * The analytic estimate of a kernel of several ops. See estimate.h.
 *
 *     T = launch + max(sum of the arithmetic of its ops, bytes that pass its boundary / bandwidth)
 *
 * the roofline of the loop nest, without measurements: values that stay inside cost no memory
 * traffic. If ops of the kernel were measured alone, fusing them saves the time to write and read
 * the values that stay inside, and all launches but one:
 *
 *     T = launch + bytes that pass its boundary / rate
 *         + sum over its ops of max(0, seconds alone - launch - bytes alone / rate)
 *
 * The rate is the bandwidth, or that of the fastest of its ops if it was measured to be higher
 * (tensors that stay in a cache); the launch is that of the device, or the shortest of its ops. The
 * sum is the time of the ops in addition to memory; for an op without measurements that is its
 * arithmetic. If the profile has enough kernels of several ops, T is raised by the factor by which
 * most of them exceeded such an estimate (careful.c).
 *
 * On a device whose reached rates are known, T is that of reach.h if nothing was measured.
 *
 * Both queries add up the same numbers in the same order, so that answers are bitwise equal: bytes
 * are integers, and arithmetic is summed over the ops in ascending order. The same holds for the
 * network, whose input is the kernel itself (kernel.c): a kernel that needs it, or that may be in
 * the profile, is made in a copy of the module.
 */
#include "passes/analysis/estimate/estimate.h"

#include "ir/base/alloc.h"
#include "passes/analysis/estimate/copy.h"
#include "passes/analysis/estimate/internal.h"
#include "passes/analysis/estimate/memo.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* Sums over the ops of a kernel. */
struct sums {
	double arithmetic, bytes;
	double shortest, rate;   /* of the measured ops; rate 0: none */
	bool product;            /* one of the ops is a product */
	struct reach_sums reach; /* on a device whose reached rates are known */
};

struct estimator {
	const struct cost_model *model;
	uint32_t kind;
	uint32_t nops, nvalues, nreads; /* nvalues: ids of values are below it */
	struct estimate_op *op;         /* [nops] by number in the block */
	double *whole;                  /* [nops] from the cost model, what-ifs included */
	/* Ids of what op i reads, each once: read[first[i]] ... read[first[i + 1] - 1]. */
	uint32_t *first, *read;
	double *read_bytes;  /* the same: bytes of it that op i reads, which may be only some
				rows */
	double *value_bytes; /* [nvalues] by value->id */
	uint8_t *value_type; /* [nvalues] the same: enum reach_type */
	uint32_t *maker;     /* [nvalues] the same: number of the op */
	/* The last query that contained an op, and the last one that counted a value. */
	uint32_t question;
	uint32_t *asked, *counted;
	struct estimator_counts counts;
	struct network *network;    /* NULL: analytic */
	bool measured;              /* the profile has kernels of several ops */
	struct estimate_copy *copy; /* for these two */
	struct estimate_memo *memo;
};

static struct sums
sums_begin(void)
{
	return (struct sums){.shortest = INFINITY};
}

static void
sums_add(struct sums *s, const struct device *d, const struct estimate_op *op, bool out)
{
	if (d->reached)
		reach_add(&s->reach, &op->reach, out);
	s->arithmetic += op->arithmetic;
	s->product |= op->product;
	if (!op->measured)
		return;
	s->shortest = fmin(s->shortest, op->seconds);
	s->rate = fmax(s->rate, op->bytes / op->seconds);
}

static struct estimate_parts
parts_of(const struct sums *s, const struct device *d)
{
	return (struct estimate_parts){
		fmin(d->launch, s->shortest), fmax(d->bandwidth, s->rate), 0};
}

double
estimate_excess(const struct estimate_parts *p, const struct estimate_op *op)
{
	return op->measured ? fmax(0, op->seconds - p->launch - op->bytes / p->rate)
			    : op->arithmetic;
}

/* Adds the time of the ops besides memory, once all are added. */
static double
sums_seconds(const struct sums *s, const struct device *d, const struct estimate_parts *p)
{
	if (!(s->rate > 0) && d->reached)
		return reach_kernel_seconds(&s->reach, d);
	if (!(s->rate > 0))
		return d->launch + fmax(s->arithmetic, device_memory_seconds(d, s->bytes));
	return p->launch + s->bytes / p->rate + p->excess;
}

static void
add_results(struct sums *s, const struct estimate_op *op)
{
	s->bytes += op->results;
	s->reach.bytes[op->reach.writes] += op->results;
}

static struct sums
sums_of(const struct estimate_kernel *k, const struct device *d)
{
	struct sums s = sums_begin();

	for (uint32_t i = 0; i < k->n; i++)
		sums_add(&s, d, k->op[i], k->out[i]);
	s.bytes = k->bytes;
	for (int t = 0; t < REACH_TYPES; t++)
		s.reach.bytes[t] += k->bytes_of[t];
	return s;
}

struct estimate_parts
estimate_parts(const struct estimate_kernel *k, const struct device *d)
{
	const struct sums s = sums_of(k, d);
	struct estimate_parts p = parts_of(&s, d);

	for (uint32_t i = 0; i < k->n; i++)
		p.excess += estimate_excess(&p, k->op[i]);
	return p;
}

double
estimate_analytic(const struct estimate_kernel *k, const struct device *d)
{
	const struct sums s = sums_of(k, d);
	const struct estimate_parts p = estimate_parts(k, d);

	return sums_seconds(&s, d, &p);
}

double
estimate_fuse(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *fuse)
{
	const struct device *d = model->cluster->kind[kind];
	struct estimate_kernel *k =
		estimate_kernel_of(NULL, model, kind, m, fuse, model->network != NULL, NULL);
	const double t = model->network ? estimate_network(model->network, k, d)
					: estimate_analytic(k, d) *
						  model->kind[kind].careful[estimate_sort_of(k)];

	talloc_free(k);
	return t;
}

/* --- kernels of a block --- */

static void
count(struct estimator *e, const struct ir_block *b)
{
	IR_FOR_OPS (op, b) {
		e->nops++;
		e->nreads += op->noperands;
	}
}

/* The values that an op reads, each once, without scalar constants: a kernel copies those. */
static void
add_reads(struct estimator *e, const struct ir_op *op, const struct reach_op *reach)
{
	const uint32_t begin = e->nreads;

	for (int j = 0; j < op->noperands; j++) {
		const struct ir_value *v = ir_operand(op, j);
		if (!v->op || fuse_is_scalar(v->op))
			continue;
		bool known = false;
		for (uint32_t k = begin; k < e->nreads && !known; k++)
			known = e->read[k] == v->id;
		if (known)
			continue;
		e->read_bytes[e->nreads] = reach_read_bytes(reach, j, e->value_bytes[v->id]);
		e->read[e->nreads++] = v->id;
	}
}

/* The properties of each op: looked up once for ops that are alike. */
static struct estimate_op *
look_up_all(const void *owner, const struct estimator *e, const struct ir_module *m,
	const struct alike *alike)
{
	struct estimate_op *known = ARRAY_NEW(owner, struct estimate_op, alike->n);
	struct arena *a = e->network ? arena_create(owner) : NULL;

	for (uint32_t i = 0; i < alike->n; i++)
		known[i] = estimate_op(e->model, e->kind, m, alike->first[i], a);
	return known;
}

static void
fill(struct estimator *e, const struct ir_module *m, const struct ir_block *b,
	const struct alike *alike)
{
	void *scratch = alloc_scratch(NULL);
	const struct estimate_op *known = look_up_all(scratch, e, m, alike);
	uint32_t number = 0;

	e->nreads = 0;
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++) {
			const struct ir_value *v = &op->result[i];
			e->maker[v->id] = number;
			e->value_bytes[v->id] = (double)ir_type_local_bytes(m, v->type);
			e->value_type[v->id] = reach_memory_type((enum ir_dtype)v->type->dtype);
		}
		e->first[number] = e->nreads;
		e->op[number] = known[alike_number(alike, op)];
		add_reads(e, op, &e->op[number].reach);
		if (cost_op_kind(m, op) == COST_COMPUTE)
			e->whole[number] =
				cost_changed_seconds(e->model, m, op, e->op[number].seconds);
		number++;
	}
	e->first[e->nops] = e->nreads;
	talloc_free(scratch);
}

/* State that belongs to one estimator. */
static void
add_own(struct estimator *e)
{
	e->asked = ARRAY_ZERO(e, uint32_t, e->nops + 1);
	e->counted = ARRAY_ZERO(e, uint32_t, e->nvalues);
	e->question = 0;
	e->counts = (struct estimator_counts){0};
	e->memo = e->copy ? estimate_memo_create(e) : NULL;
}

static bool
has_kernels(const struct cost_kind_model *k)
{
	for (int i = 0; i < k->nops; i++)
		if (profile_op_is_fuse(&k->op[i]))
			return true;
	return false;
}

struct estimator *
estimator_create(const void *owner, const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_block *b, const struct alike *alike)
{
	struct estimator *e = NEW(owner, struct estimator);

	e->model = model;
	e->kind = kind;
	e->nvalues = m->value_ids;
	count(e, b);
	e->op = ARRAY_ZERO(e, struct estimate_op, e->nops + 1);
	e->whole = ARRAY_ZERO(e, double, e->nops + 1);
	e->first = ARRAY_NEW(e, uint32_t, e->nops + 1);
	e->read = ARRAY_NEW(e, uint32_t, e->nreads);
	e->read_bytes = ARRAY_NEW(e, double, e->nreads);
	e->maker = ARRAY_ZERO(e, uint32_t, e->nvalues);
	e->value_bytes = ARRAY_ZERO(e, double, e->nvalues);
	e->value_type = ARRAY_ZERO(e, uint8_t, e->nvalues);
	e->network = model->network ? network_clone(e, model->network) : NULL;
	fill(e, m, b, alike);
	e->measured = has_kernels(&model->kind[kind]);
	if (e->network || e->measured)
		e->copy = estimate_copy_create(e, model, kind, m, b);
	add_own(e);
	return e;
}

struct estimator *
estimator_clone(const void *owner, const struct estimator *e)
{
	struct estimator *c = COPY_ARRAY(owner, struct estimator, e, 1);

	c->op = array_copy(c, e->op);
	c->whole = array_copy(c, e->whole);
	c->first = array_copy(c, e->first);
	c->read = array_copy(c, e->read);
	c->read_bytes = array_copy(c, e->read_bytes);
	c->maker = array_copy(c, e->maker);
	c->value_bytes = array_copy(c, e->value_bytes);
	c->value_type = array_copy(c, e->value_type);
	c->network = e->network ? network_clone(c, e->network) : NULL;
	c->copy = e->copy ? estimate_copy_clone(c, e->copy) : NULL;
	add_own(c);
	return c;
}

/* A query number that no stamp has. */
static uint32_t
next_question(struct estimator *e)
{
	if (++e->question == 0) {
		memset(e->asked, 0, sizeof *e->asked * (e->nops + 1));
		memset(e->counted, 0, sizeof *e->counted * e->nvalues);
		e->question = 1;
	}
	return e->question;
}

/* Adds the bytes that an op reads from outside of the kernel, except those counted before. */
static void
add_outer(struct sums *s, struct estimator *e, uint32_t op)
{

	for (uint32_t k = e->first[op]; k < e->first[op + 1]; k++) {
		const uint32_t v = e->read[k];
		if (e->asked[e->maker[v]] == e->question || e->counted[v] == e->question)
			continue;
		e->counted[v] = e->question;
		s->bytes += e->value_bytes[v];
		s->reach.bytes[e->value_type[v]] += e->read_bytes[k];
	}
}

static void
ask(struct estimator *e, const uint32_t *op, uint32_t n)
{
	const uint32_t question = next_question(e);

	for (uint32_t i = 0; i < n; i++)
		e->asked[op[i]] = question;
}

static double
analytic(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out)
{
	const struct device *d = e->model->cluster->kind[e->kind];
	struct sums s = sums_begin();

	ask(e, op, n);
	for (uint32_t i = 0; i < n; i++) {
		sums_add(&s, d, &e->op[op[i]], out[i]);
		add_outer(&s, e, op[i]);
		if (out[i])
			add_results(&s, &e->op[op[i]]);
	}
	struct estimate_parts p = parts_of(&s, d);
	for (uint32_t i = 0; s.rate > 0 && i < n; i++)
		p.excess += estimate_excess(&p, &e->op[op[i]]);
	return sums_seconds(&s, d, &p) *
	       e->model->kind[e->kind].careful[estimate_sort(n, s.product)];
}

/* The ops in the order of the body of their fuse: a product comes first. */
static const struct estimate_op **
in_body(struct estimator *e, const uint32_t *op, uint32_t n)
{
	const struct estimate_op **of = NEW_ARRAY(NULL, const struct estimate_op *, n);
	uint32_t product = 0;

	while (product < n && e->op[op[product]].role.kind != FUSE_STARTS)
		product++;
	for (uint32_t i = 0, at = product < n; i < n; i++)
		of[i == product ? 0 : at++] = &e->op[op[i]];
	return of;
}

static double
by_network(struct estimator *e, const uint32_t *op, uint32_t n, struct ir_op *fuse)
{
	const struct device *d = e->model->cluster->kind[e->kind];
	const struct estimate_op **known = in_body(e, op, n);
	struct estimate_kernel *k = estimate_kernel_of(
		NULL, e->model, e->kind, estimate_copy_module(e->copy), fuse, true, known);
	const double t = estimate_network(e->network, k, d);

	talloc_free(k);
	talloc_free(known);
	return t;
}

/* Makes the fuse and estimates it. */
static bool
look_at_fuse(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out,
	struct estimate_answer *answer)
{
	const bool may_know = e->measured && estimate_copy_may_know(e->copy, op, n);
	bool any = false, known = false;
	double t = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= out[i];
	if (!any || (!may_know && !e->network))
		return false;
	struct ir_op *fuse = estimate_copy_make(e->copy, op, n, out);
	if (may_know)
		known = cost_profile_seconds(
			e->model, e->kind, estimate_copy_module(e->copy), fuse, &t);
	if (known)
		*answer = (struct estimate_answer){t, ESTIMATE_MEASURED};
	else if (e->network)
		*answer = (struct estimate_answer){by_network(e, op, n, fuse), ESTIMATE_NETWORK};
	ir_op_erase(fuse);
	return known || e->network;
}

static struct estimate_answer
look_up(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out)
{
	struct estimate_answer a;

	if (e->copy && look_at_fuse(e, op, n, out, &a))
		return a;
	return (struct estimate_answer){analytic(e, op, n, out), ESTIMATE_ANALYTIC};
}

static struct estimate_answer
remembered(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out)
{
	const struct estimate_question q = estimate_question(op, n, out);
	const struct estimate_answer *known = estimate_memo_find(e->memo, q);

	if (known)
		return *known;
	const struct estimate_answer a = look_up(e, op, n, out);
	estimate_memo_put(e->memo, q, a);
	return a;
}

static struct estimate_answer
alone(const struct estimator *e, uint32_t op)
{
	return (struct estimate_answer){
		e->whole[op], e->op[op].measured ? ESTIMATE_MEASURED : ESTIMATE_ANALYTIC};
}

double
estimator_seconds(struct estimator *e, const uint32_t *op, uint32_t n, const bool *out)
{
	const struct estimate_answer a = n == 1    ? alone(e, op[0])
					 : e->memo ? remembered(e, op, n, out)
						   : look_up(e, op, n, out);

	e->counts.measured += a.source == ESTIMATE_MEASURED;
	e->counts.network += a.source == ESTIMATE_NETWORK;
	e->counts.analytic += a.source == ESTIMATE_ANALYTIC;
	return a.seconds;
}

struct estimator_counts
estimator_counts(const struct estimator *e)
{
	return e->counts;
}
