/* The kernel of a fuse, and what the network is told of a kernel. See estimate_internal.h. */
#include "ir/form.h"
#include "passes/analysis/alloc.h"
#include "passes/analysis/estimate_internal.h"

#include <math.h>

static double
elements_of(const struct ir_module *m, const struct ir_value *v)
{
	return (double)ir_type_local_elements(m, v->type);
}

static double
product_of(const struct fuse_role *r)
{
	double n = 1;

	for (int d = 0; d < r->rank; d++)
		n *= (double)r->space[d];
	return n;
}

struct estimate_op
estimate_op(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, struct arena *a)
{
	const struct device *d = model->cluster->kind[kind];
	struct estimate_op e = {.code = op->code, .noperands = (uint8_t)op->noperands};

	for (int i = 0; i < op->nresults; i++) {
		e.results += (double)ir_type_local_bytes(m, op->result[i].type);
		e.elements += elements_of(m, &op->result[i]);
		e.dtype = op->result[i].type->dtype;
	}
	e.narrowest = UINT8_MAX;
	for (int j = 0; j < op->noperands; j++) {
		const enum ir_dtype t = (enum ir_dtype)ir_operand_type(op, j)->dtype;
		const uint8_t bytes = (uint8_t)ir_dtype_bytes(t);
		e.narrowest = bytes < e.narrowest ? bytes : e.narrowest;
	}
	if (cost_op_kind(m, op) != COST_COMPUTE)
		return e;
	e.arithmetic = cost_arithmetic_seconds(d, m, op);
	e.product = cost_is_product(op);
	e.bytes = cost_kernel_bytes(m, op);
	e.roofline = cost_roofline(d, m, op);
	e.seconds = cost_plain_seconds(model, kind, m, op, &e.measured);
	if (!a)
		return e;
	e.flops = op_work(m, op).flops;
	e.role = fuse_role((struct ir_module *)m, a, op);
	arena_reset(a);
	e.points = fmax(product_of(&e.role), e.elements);
	return e;
}

void
estimate_kernel_grow(const void *owner, struct estimate_kernel *k, uint32_t n, uint32_t reads)
{
	if (n > k->room || !k->first) {
		k->room = n;
		k->op = RESIZE(owner, k->op, const struct estimate_op *, n);
		k->out = RESIZE(owner, k->out, bool, n);
		k->outer = RESIZE(owner, k->outer, double, n);
		k->first = RESIZE(owner, k->first, uint32_t, n + 1);
		k->feature = RESIZE(owner, k->feature, float, (size_t)n *NETWORK_OP_FEATURES);
		k->code = RESIZE(owner, k->code, uint16_t, n);
	}
	if (reads > k->reads_room || !k->read) {
		k->reads_room = reads;
		k->read = RESIZE(owner, k->read, uint32_t, reads);
	}
}

/* --- of a fuse --- */

static bool
is_scalar_constant(const struct ir_op *op)
{
	return op && op->code == OP_constant && op->result[0].type->rank == 0;
}

/* Scalar constants are in the text of a kernel. */
static bool
is_work(const struct ir_op *op)
{
	return !is_scalar_constant(op) && !op_is(op, TERMINATOR);
}

/* Is operand j of an op an earlier one too? */
static bool
is_repeated(const struct ir_op *op, int j)
{
	for (int i = 0; i < j; i++)
		if (ir_operand(op, i) == ir_operand(op, j))
			return true;
	return false;
}

static bool
is_yielded(const struct ir_block *body, const struct ir_op *op)
{
	for (int i = 0; i < body->last->noperands; i++)
		if (ir_operand(body->last, i)->op == op)
			return true;
	return false;
}

static uint32_t
number_in(const struct ir_block *body, const struct ir_op *op)
{
	uint32_t n = 0;

	for (const struct ir_op *o = body->first; o != op; o = o->next)
		n += is_work(o);
	return n;
}

static void
add_reads(struct estimate_kernel *k, const struct ir_module *m, const struct ir_op *op)
{
	double outer = 0;
	uint32_t nreads = k->first[k->n];

	for (int j = 0; j < op->noperands; j++) {
		const struct ir_value *v = ir_operand(op, j);
		if (is_scalar_constant(v->op) || is_repeated(op, j))
			continue;
		if (v->op)
			k->read[nreads++] = number_in(op->block, v->op);
		else
			outer += (double)ir_type_local_bytes(m, v->type);
	}
	k->outer[k->n] = outer;
	k->first[k->n + 1] = nreads;
}

struct estimate_kernel *
estimate_kernel_of(const void *owner, const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_op *fuse, bool features)
{
	struct estimate_kernel *k = NEW(owner, struct estimate_kernel);
	struct arena *a = features ? arena_create(k) : NULL;
	uint32_t n = 0, reads = 0;

	IR_FOR_OPS (op, fuse->body) {
		n++;
		reads += op->noperands;
	}
	estimate_kernel_grow(k, k, n, reads);
	struct estimate_op *e = NEW_ARRAY(k, struct estimate_op, n);
	k->first[0] = 0;
	IR_FOR_OPS (op, fuse->body) {
		if (!is_work(op))
			continue;
		e[k->n] = estimate_op(model, kind, m, op, a);
		k->op[k->n] = &e[k->n];
		k->out[k->n] = is_yielded(fuse->body, op);
		add_reads(k, m, op);
		k->n++;
	}
	k->bytes = cost_kernel_bytes(m, fuse);
	k->operands = fuse->noperands;
	return k;
}

/* --- features --- */

static float
log_of(double x)
{
	return (float)log2(x + 1);
}

/* Of a time or a ratio; 0 is a time too short to tell. */
static float
log_ratio(double x)
{
	return (float)log2(fmax(x, 1e-12));
}

/* Of all ops of a kernel. */
struct totals {
	struct estimate_parts parts;
	double seconds, longest, flops, bytes, points, written;
	double of_kind[FUSE_STARTS + 1]; /* seconds */
	uint32_t count[FUSE_STARTS + 1], outs, apart;
	int64_t inner; /* the last dim of the iteration space */
};

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
	const double beside = estimate_beside(&t->parts, e);
	double inner = 0;

	for (uint32_t r = k->first[i]; r < k->first[i + 1]; r++)
		inner += k->op[k->read[r]]->results;
	const float all[NETWORK_OP_FEATURES] = {
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
		(float)(beside / analytic),
		log_of(beside * 1e12 / fmax(e->points, 1)),
		e->role.apart != 0,
		e->narrowest < ir_dtype_bytes((enum ir_dtype)e->dtype),
	};
	for (int j = 0; j < NETWORK_OP_FEATURES; j++)
		f[j] = all[j];
}

static void
kernel_features(const struct estimate_kernel *k, double analytic, const struct device *d,
	const struct totals *t, float *f)
{
	const double saved = fmax(t->bytes - k->bytes, 0) / d->bandwidth;
	const float all[NETWORK_KERNEL_FEATURES] = {
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
		(float)(t->parts.beside / analytic),
		log_ratio(k->bytes / t->parts.rate / analytic + 0.01),
		(float)t->apart,
	};
	for (int j = 0; j < NETWORK_KERNEL_FEATURES; j++)
		f[j] = all[j];
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
