/* Medians of measurements of ranks: see measure.h. */
#include "passes/analysis/trace/report/measure.h"

#include "ir/base/sort.h"
#include "ir/base/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* Durations of one op. */
struct samples {
	struct VEC(double) value;
	uint32_t runs;  /* events of members, of ranks that run it */
	uint32_t ranks; /* that run it */
	uint32_t seen;  /* the last of those, plus 1 */
	double exposed, waiting;
};

struct measuring {
	const struct trace_set *s;
	const struct trace_alignment *a;
	struct trace_measured *m;
	struct samples *samples; /* [nops] */
	uint32_t first, end;     /* steps */
	double **last; /* by trace and event after ncompute: begin of the last it depends on, us */
	/* [steps] of the current rank, and of the rank with the most so far */
	double *compute, *communication, *exposed, *waiting, *idle, *iteration;
	double *most_compute, *most_communication, *most_iteration;
};

struct trace_middle
trace_middle_of(double *v, size_t n)
{
	sort_double(v, n);
	return (struct trace_middle){v[(n - 1) / 4], (v[(n - 1) / 2] + v[n / 2]) / 2, v[n * 3 / 4]};
}

static double
median(double *v, size_t n)
{
	return trace_middle_of(v, n).median;
}

ORDER_BY(by_op, struct trace_op_time, UP(op))

char *
trace_value_text(const void *owner, const char *text, uint32_t op)
{
	if (text && *text == '%')
		return TEXT(owner, "%.*s", (int)strcspn(text, " ,:="), text);
	return TEXT(owner, "#%" PRIu32, op);
}

/* All ops of all tables, each once. */
static void
list_ops(struct measuring *q)
{
	struct trace_measured *m = q->m;
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->s->n; i++)
		n += q->s->trace[i]->nkernels + q->s->trace[i]->ncollectives +
		     q->s->trace[i]->ncopies;
	m->op = NEW_ARRAY(m, struct trace_op_time, n);
	n = 0;
	for (uint32_t i = 0; i < q->s->n; i++) {
		const struct trace *t = q->s->trace[i];
		for (uint32_t k = 0; k < t->nkernels; k++)
			m->op[n++] = (struct trace_op_time){.op = t->kernel[k].op,
				.name = t->kernel[k].name,
				.text = t->kernel[k].text,
				.bytes = t->kernel[k].bytes};
		for (uint32_t k = 0; k < t->ncollectives; k++)
			m->op[n++] = (struct trace_op_time){.op = t->collective[k].op,
				.name = t->collective[k].name,
				.text = t->collective[k].text,
				.bytes = t->collective[k].bytes,
				.communication = true};
		for (uint32_t k = 0; k < t->ncopies; k++)
			m->op[n++] = (struct trace_op_time){.op = t->copy[k].op,
				.name = t->copy[k].name,
				.text = t->copy[k].text,
				.bytes = t->copy[k].bytes,
				.copy = true,
				.to_host = t->copy[k].to_host};
	}
	qsort(m->op, n, sizeof *m->op, by_op);
	for (uint32_t i = 0; i < n; i++)
		if (!i || m->op[i].op != m->op[m->nops - 1].op)
			m->op[m->nops++] = m->op[i];
	for (uint32_t i = 0; i < m->nops; i++) {
		struct trace_op_time *o = &m->op[i];
		o->value = trace_value_text(m, o->text, o->op);
		o->text = o->text ? o->text : "";
	}
	q->samples = ZERO_ARRAY(q->last, struct samples, m->nops);
}

static struct samples *
samples_of(const struct measuring *q, uint32_t op)
{
	const struct trace_op_time key = {.op = op};
	const struct trace_op_time *found =
		bsearch(&key, q->m->op, q->m->nops, sizeof *q->m->op, by_op);

	return &q->samples[found - q->m->op];
}

static void
add_run(struct samples *x, uint32_t trace)
{
	x->runs++;
	x->ranks += x->seen != trace + 1;
	x->seen = trace + 1;
}

/* Does it belong to a step that counts? */
static bool
in_range(const struct measuring *q, const struct trace_event *e)
{
	return e->step >= q->first && e->step < q->end;
}

/* What a member waits for: the last begin of those that send to it, or its own. */
static double
last_begin(const struct trace_collective *c, int64_t place, double own, double all, double from)
{
	if (trace_symmetric(c))
		return all;
	if (c->kind == RT_REDUCE || c->kind == RT_GATHER)
		return place == c->to ? all : own;
	if (c->kind == RT_SEND && place != c->to)
		return own;
	return from > own ? from : own;
}

/* Sets the last begin for each member of an instance; its duration is that of the slowest. */
static void
measure_instance(struct measuring *q, const struct trace_instance *in)
{
	const struct trace_set *s = q->s;
	const struct trace_member *m = &s->member[in->first];
	const struct trace_event *e = trace_member_event(s, m);
	const struct trace_collective *c = &s->trace[m->trace]->collective[e->index];
	double all = -INFINITY, from = -INFINITY, duration = 0;

	for (uint32_t k = 0; k < in->n && in->whole; k++) {
		const double begin =
			trace_aligned(q->a, m[k].trace, trace_member_event(s, &m[k])->begin);
		all = begin > all ? begin : all;
		if (s->trace[m[k].trace]->axis[c->axis].place == c->from)
			from = begin;
	}
	for (uint32_t k = 0; k < in->n; k++) {
		const struct trace *t = s->trace[m[k].trace];
		const struct trace_event *x = trace_member_event(s, &m[k]);
		const double own = trace_aligned(q->a, m[k].trace, x->begin);
		const double last =
			in->whole ? last_begin(c, t->axis[c->axis].place, own, all, from) : own;
		const double took = trace_aligned(q->a, m[k].trace, x->end) - last;
		q->last[m[k].trace][m[k].event - t->ncompute] = last;
		duration = took > duration ? took : duration;
	}
	if (in_range(q, e)) {
		struct samples *of = samples_of(q, c->op);
		VEC_PUSH(q->samples, &of->value, duration / 1e6);
	}
}

/* Which rank began last, and by how much. */
static void
count_last(struct measuring *q, const struct trace_instance *in)
{
	const struct trace_member *m = &q->s->member[in->first], *last = NULL;
	double most = -INFINITY, next = -INFINITY;

	if (!in->whole || in->n < 2 || !in_range(q, trace_member_event(q->s, m)))
		return;
	for (uint32_t k = 0; k < in->n; k++) {
		const double begin =
			trace_aligned(q->a, m[k].trace, trace_member_event(q->s, &m[k])->begin);
		q->m->rank[m[k].trace].meets++;
		if (begin > most) {
			next = most;
			most = begin;
			last = &m[k];
		} else if (begin > next)
			next = begin;
	}
	q->m->rank[last->trace].last++;
	q->m->rank[last->trace].late += (most - next) / 1e6;
}

/* Microseconds of [begin, end) in which no kernel runs; *k: the first kernel that may matter. */
static double
uncovered(const struct measuring *q, uint32_t trace, double begin, double end, uint32_t *k)
{
	const struct trace *t = q->s->trace[trace];
	double rest = end > begin ? end - begin : 0;

	for (uint32_t i = *k; i < t->ncompute; i++) {
		const struct trace_event *e = &t->event[i];
		const double from = trace_aligned(q->a, trace, e->begin);
		const double to = trace_aligned(q->a, trace, e->end);
		if (to <= begin) {
			*k = i;
			continue;
		}
		if (from >= end)
			break;
		if (e->kind == TRACE_KERNEL)
			rest -= (to < end ? to : end) - (from > begin ? from : begin);
	}
	return rest > 0 ? rest : 0;
}

static void
measure_communication(struct measuring *q, uint32_t trace)
{
	const struct trace *t = q->s->trace[trace];
	uint32_t first = t->nsteps;

	for (uint32_t i = t->ncompute; i < t->n; i++) {
		const struct trace_event *e = &t->event[i];
		if (!in_range(q, e))
			continue;
		const double begin = trace_aligned(q->a, trace, e->begin);
		const double end = trace_aligned(q->a, trace, e->end);
		double last = q->last[trace][i - t->ncompute];
		last = last < begin ? begin : last > end ? end : last;
		uint32_t k = first;
		const double exposed = uncovered(q, trace, begin, end, &first);
		const double waiting = uncovered(q, trace, begin, last, &k);
		struct samples *x = samples_of(q, t->collective[e->index].op);
		add_run(x, trace);
		x->exposed += exposed / 1e6;
		x->waiting += waiting / 1e6;
		q->communication[e->step - q->first] += (end - last) / 1e6;
		q->exposed[e->step - q->first] += exposed / 1e6;
		q->waiting[e->step - q->first] += waiting / 1e6;
	}
}

static void
measure_copies(struct measuring *q, uint32_t trace)
{
	const struct trace *t = q->s->trace[trace];
	uint32_t first = t->nsteps;
	double last = -INFINITY; /* the second direction starts over */

	for (uint32_t i = t->n; i < t->nall; i++) {
		const struct trace_event *e = &t->event[i];
		const double begin = trace_aligned(q->a, trace, e->begin),
			     end = trace_aligned(q->a, trace, e->end);
		if (!in_range(q, e))
			continue;
		first = begin < last ? t->nsteps : first;
		last = begin;
		struct samples *x = samples_of(q, t->copy[e->index].op);
		add_run(x, trace);
		VEC_PUSH(q->samples, &x->value, (end - begin) / 1e6);
		x->exposed += uncovered(q, trace, begin, end, &first) / 1e6;
	}
}

static void
measure_compute(struct measuring *q, uint32_t trace)
{
	const struct trace *t = q->s->trace[trace];

	for (uint32_t i = 0; i < t->ncompute; i++) {
		const struct trace_event *e = &t->event[i];
		const double seconds = (trace_aligned(q->a, trace, e->end) -
					       trace_aligned(q->a, trace, e->begin)) /
				       1e6;
		if (!in_range(q, e) || e->kind == TRACE_WAIT || e->kind == TRACE_COPY_WAIT)
			continue;
		if (e->kind == TRACE_STEP) {
			q->iteration[e->step - q->first] = seconds;
			continue;
		}
		struct samples *x = samples_of(q, t->kernel[e->index].op);
		add_run(x, trace);
		VEC_PUSH(q->samples, &x->value, seconds);
		q->compute[e->step - q->first] += seconds;
	}
}

static void
keep_most(double *most, const double *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		most[i] = v[i] > most[i] ? v[i] : most[i];
}

/* How a rank spends its steps. */
static void
measure_rank(struct measuring *q, uint32_t trace)
{
	const uint32_t n = q->end - q->first;
	double *const all[] = {
		q->compute, q->communication, q->exposed, q->waiting, q->idle, q->iteration};
	struct trace_rank_time *r = &q->m->rank[trace];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		memset(all[i], 0, sizeof *all[i] * n);
	measure_compute(q, trace);
	measure_communication(q, trace);
	measure_copies(q, trace);
	for (uint32_t i = 0; i < n; i++) {
		const double idle = q->iteration[i] - q->compute[i] - q->exposed[i];
		q->idle[i] = idle > 0 ? idle : 0;
	}
	keep_most(q->most_compute, q->compute, n);
	keep_most(q->most_communication, q->communication, n);
	keep_most(q->most_iteration, q->iteration, n);
	r->rank = q->s->trace[trace]->rank;
	r->late /= r->last ? r->last : 1;
	r->iteration = median(q->iteration, n);
	r->compute = median(q->compute, n);
	r->communication = median(q->communication, n);
	r->exposed = median(q->exposed, n);
	r->waiting = median(q->waiting, n);
	r->idle = median(q->idle, n);
}

/* Medians of ops that ran; the others are omitted. */
static void
finish_ops(struct measuring *q)
{
	struct trace_measured *m = q->m;
	uint32_t n = 0;

	m->copy = NEW_ARRAY(m, struct trace_op_time, m->nops + 1);
	for (uint32_t i = 0; i < m->nops; i++) {
		struct samples *x = &q->samples[i];
		struct trace_op_time o = m->op[i];
		if (!x->value.n)
			continue;
		o.events = (uint32_t)x->value.n;
		o.time = trace_middle_of(x->value.at, (uint32_t)x->value.n);
		const double runs = (double)x->ranks * m->steps;
		o.count = runs > 0 ? x->runs / runs : 0;
		o.exposed = runs > 0 ? x->exposed / runs : 0;
		o.waiting = runs > 0 ? x->waiting / runs : 0;
		if (o.copy)
			m->copy[m->ncopies++] = o;
		else
			m->op[n++] = o;
	}
	m->nops = n;
}

static void
finish_totals(struct measuring *q)
{
	const uint32_t n = q->end - q->first;
	struct trace_measured *m = q->m;

	for (uint32_t i = 0; i < n; i++)
		q->exposed[i] = q->most_iteration[i] - q->most_compute[i];
	m->exposed = trace_middle_of(q->exposed, n);
	m->iteration = trace_middle_of(q->most_iteration, n);
	m->compute = trace_middle_of(q->most_compute, n);
	m->communication = trace_middle_of(q->most_communication, n);
}

static void
allocate(struct measuring *q)
{
	const uint32_t n = q->end - q->first;
	double **const all[] = {&q->compute, &q->communication, &q->exposed, &q->waiting, &q->idle,
		&q->iteration, &q->most_compute, &q->most_communication, &q->most_iteration};

	q->last = NEW_ARRAY(q->m, double *, q->s->n);
	for (uint32_t i = 0; i < q->s->n; i++)
		q->last[i] = ZERO_ARRAY(
			q->last, double, q->s->trace[i]->n - q->s->trace[i]->ncompute + 1);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i] = ZERO_ARRAY(q->last, double, n);
	q->m->nranks = q->s->n;
	q->m->rank = ZERO_ARRAY(q->m, struct trace_rank_time, q->s->n);
}

struct trace_measured *
trace_measure(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_alignment *a)
{
	struct measuring q = {.s = s, .a = a, .first = s->first_step, .end = s->end_step};

	if (q.first == q.end) {
		diag_error(d, LOC_NONE, "%s: no step of the traces is complete in all ranks",
			s->trace[0]->path);
		return NULL;
	}
	if (q.first == 0 && q.end > 1)
		q.first = 1;
	q.m = NEW(owner, struct trace_measured);
	q.m->steps = q.end - q.first;
	allocate(&q);
	list_ops(&q);
	for (uint32_t i = 0; i < s->ninstances; i++) {
		measure_instance(&q, &s->instance[i]);
		count_last(&q, &s->instance[i]);
	}
	for (uint32_t i = 0; i < s->n; i++)
		measure_rank(&q, i);
	finish_ops(&q);
	finish_totals(&q);
	talloc_free(q.last);
	return q.m;
}
