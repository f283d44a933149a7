/*
 * The bottleneck in a sentence. Everything is backed by the numbers: each fact is guarded by the
 * condition under which it holds.
 */
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "passes/analysis/trace/report/report.h"
#include "passes/analysis/trace/report/table.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* The smallest share of the step that is reported. */
#define MIN_SHARE 0.05
/* A rank has more work than others if it computes longer by this factor; less is noise. */
#define MORE_WORK 0.05
/* A rank is a straggler if it starts at least this share of its collectives last. */
#define STRAGGLER_SHARE 0.6
/* A collective is not overlapped at all if no kernel runs for this share of its time. */
#define BARE_SHARE 0.95
/* Seconds: shorter kernels count as short; about the time of a launch. */
#define SHORT_KERNEL 10e-6

static void
add_fact(struct trace_diagnosis *d, char *text)
{
	LIST_PUSH(d, d->fact, d->nfacts, text);
}

static void
find_shares(struct trace_diagnosis *d, const struct trace_measured *m)
{
	for (uint32_t i = 0; i < m->nranks; i++) {
		const struct trace_rank_time *r = &m->rank[i];
		if (r->iteration <= 0)
			continue;
		const double part[TRACE_BOUNDS] = {
			r->compute, r->exposed - r->waiting, r->waiting, r->idle};
		for (int b = 0; b < TRACE_BOUNDS; b++)
			d->share[b] += part[b] / r->iteration / m->nranks;
	}
	for (int b = 1; b < TRACE_BOUNDS; b++)
		if (d->share[b] > d->share[d->bound])
			d->bound = (enum trace_bound)b;
}

/* The op of a kind with the largest value of a measure. */
static const struct trace_op_time *
largest(const struct trace_measured *m, bool communication,
	double (*size)(const struct trace_op_time *o))
{
	const struct trace_op_time *best = NULL;

	for (uint32_t i = 0; i < m->nops; i++)
		if (m->op[i].communication == communication &&
			(!best || size(&m->op[i]) > size(best)))
			best = &m->op[i];
	return best;
}

static char *
percent(const void *owner, double part, double whole)
{
	return TEXT(owner, "%.0f %%", whole > 0 ? 100 * part / whole : 0);
}

/* The share of the step that such ops take together, and the share of one of them. */
static char *
part_of(struct trace_diagnosis *d, const struct trace_measured *m, const struct trace_op_time *o,
	double (*size)(const struct trace_op_time *o))
{
	double all = 0;

	for (uint32_t i = 0; i < m->nops; i++)
		if (m->op[i].communication == o->communication)
			all += size(&m->op[i]);
	return percent(d, all > 0 ? size(o) / all * d->share[d->bound] : 0, 1);
}

static double
time_of(const struct trace_op_time *o)
{
	return o->time.median * o->count;
}

static double
transfer_of(const struct trace_op_time *o)
{
	return o->exposed - o->waiting;
}

static double
waiting_of(const struct trace_op_time *o)
{
	return o->waiting;
}

/* The rank that is last most often. */
static const struct trace_rank_time *
last_rank(const struct trace_measured *m)
{
	const struct trace_rank_time *last = &m->rank[0];

	for (uint32_t i = 1; i < m->nranks; i++)
		if (m->rank[i].last > last->last)
			last = &m->rank[i];
	return last;
}

static char *
compute_sentence(struct trace_diagnosis *d, const struct trace_measured *m, const char *share)
{
	const struct trace_op_time *o = largest(m, false, time_of);

	if (!o)
		return TEXT(d, "The trace has no kernels and no collectives.");
	return TEXT(d, "Computation bounds the step: kernels run for %s of it, %s (%s) for %s.",
		share, o->value, o->name, part_of(d, m, o, time_of));
}

static char *
transfer_sentence(struct trace_diagnosis *d, const struct trace_measured *m, const char *share)
{
	const struct trace_op_time *o = largest(m, true, transfer_of);

	return TEXT(d,
		"Communication bounds the step: for %s of it collectives are in flight and no "
		"kernel runs, for %s because of %s (%s).",
		share, part_of(d, m, o, transfer_of), o->value, o->name);
}

static char *
waiting_sentence(struct trace_diagnosis *d, const struct trace_measured *m, const char *share)
{
	const struct trace_op_time *o = largest(m, true, waiting_of);

	return TEXT(d,
		"Waiting for other ranks bounds the step: for %s of it a collective has not been "
		"started by all ranks and no kernel runs, for %s at %s (%s).",
		share, part_of(d, m, o, waiting_of), o->value, o->name);
}

static void
find_sentence(struct trace_diagnosis *d, const struct trace_measured *m)
{
	const char *share = percent(d, d->share[d->bound], 1);

	switch (d->bound) {
	case TRACE_BOUND_COMPUTE: d->sentence = compute_sentence(d, m, share); break;
	case TRACE_BOUND_TRANSFER: d->sentence = transfer_sentence(d, m, share); break;
	case TRACE_BOUND_WAITING: d->sentence = waiting_sentence(d, m, share); break;
	default:
		d->sentence = TEXT(d,
			"Neither kernels nor collectives bound the "
			"step: for %s of it nothing runs.",
			share);
		break;
	}
}

/* Ranks with a trace that share the clock of trace i and therefore its machine. */
static uint32_t
ranks_beside(const struct trace_set *s, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < s->n; k++)
		n += strcmp(s->trace[k]->clock, s->trace[i]->clock) == 0;
	return n;
}

/* Do ranks take turns on the processors of the machine of trace i? */
static bool
is_crowded(const struct trace_set *s, uint32_t i)
{
	return s->trace[i]->processors > 0 && ranks_beside(s, i) > s->trace[i]->processors;
}

static void
crowd_facts(struct trace_diagnosis *d, const struct trace_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct trace *t = s->trace[i];
		bool said = !is_crowded(s, i);
		for (uint32_t k = 0; k < i; k++)
			said |= strcmp(s->trace[k]->clock, t->clock) == 0;
		if (said)
			continue;
		add_fact(d, TEXT(d,
				    "%" PRIu32 " ranks take turns on %" PRId64
				    " processor%s of %s: the times of kernels and collectives "
				    "include time in which the rank does not run.",
				    ranks_beside(s, i), t->processors, number_plural(t->processors),
				    t->host));
	}
}

/* The median computation of the ranks other than number `i`. */
static double
compute_of_others(const struct trace_measured *m, uint32_t i)
{
	double *v = NEW_ARRAY(NULL, double, m->nranks);
	uint32_t n = 0;

	for (uint32_t k = 0; k < m->nranks; k++)
		if (k != i)
			v[n++] = m->rank[k].compute;
	const double median = trace_middle_of(v, n).median;
	talloc_free(v);
	return median;
}

/* Why a rank is late, if its computation explains it. */
static char *
straggler_reason(const struct trace_diagnosis *d, const struct trace_set *s,
	const struct trace_measured *m, uint32_t i)
{
	const double mine = m->rank[i].compute, others = compute_of_others(m, i);
	const char *a = trace_time_text(d, mine), *b = trace_time_text(d, others);

	if (mine > (1 + MORE_WORK) * others)
		return TEXT(d,
			"It has more work or runs slower: its computation takes %s per step, that "
			"of the other ranks %s (median).",
			a, b);
	return TEXT(d,
		"Its computation does not explain that: it takes %s per step, that of the other "
		"ranks %s (median). %s",
		a, b,
		is_crowded(s, i) ? "It waits for a processor."
				 : "It starts its kernels or its collectives late.");
}

/* The ranks that others wait for. With different clocks the delay must exceed their error. */
static void
straggler_facts(struct trace_diagnosis *d, const struct trace_set *s,
	const struct trace_alignment *a, const struct trace_measured *m)
{
	const struct trace_rank_time *r = last_rank(m);
	const double doubt = a->nclocks > 1 ? 2e-6 * a->spread_after : 0;

	if (d->share[TRACE_BOUND_WAITING] < MIN_SHARE || m->nranks < 2 || !r->meets)
		return;
	const double share = (double)r->last / r->meets;
	if (share >= STRAGGLER_SHARE && r->late > doubt)
		add_fact(d, TEXT(d,
				    "Rank %" PRIu32
				    " is a straggler: it starts %.0f %% of its collectives "
				    "last, on average %s after the next rank. %s",
				    r->rank, 100 * share, trace_time_text(d, r->late),
				    straggler_reason(d, s, m, (uint32_t)(r - m->rank))));
	else if (share < STRAGGLER_SHARE)
		add_fact(d,
			TEXT(d,
				"There is no straggler: the most frequent last rank, rank %" PRIu32
				", starts %.0f %% of its collectives last. "
				"The run time of the work varies.",
				r->rank, 100 * share));
}

/* A collective that is never overlapped by a kernel. */
static void
overlap_facts(struct trace_diagnosis *d, const struct trace_measured *m)
{
	const struct trace_op_time *o = largest(m, true, transfer_of);

	if (!o || d->share[TRACE_BOUND_TRANSFER] < MIN_SHARE ||
		transfer_of(o) < MIN_SHARE * m->iteration.median)
		return;
	if (transfer_of(o) >= BARE_SHARE * time_of(o))
		add_fact(d,
			TEXT(d,
				"No kernel overlaps with %s (%s): it is started when no other work "
				"is left, or waited for at once.",
				o->value, o->name));
	add_fact(d, TEXT(d, "%s (%s): %.3g MB in %s, %.3g GB/s.", o->value, o->name, o->bytes / 1e6,
			    trace_time_text(d, o->time.median),
			    o->time.median > 0 ? o->bytes / o->time.median / 1e9 : 0));
}

/* A step of many short kernels. */
static void
kernel_facts(struct trace_diagnosis *d, const struct trace_measured *m)
{
	double time = 0, count = 0, all = 0;

	for (uint32_t i = 0; i < m->nops; i++) {
		const struct trace_op_time *o = &m->op[i];
		if (o->communication)
			continue;
		all += o->count;
		if (o->time.median >= SHORT_KERNEL)
			continue;
		time += time_of(o);
		count += o->count;
	}
	if (d->share[TRACE_BOUND_IDLE] >= MIN_SHARE && count > all / 2)
		add_fact(d, TEXT(d,
				    "%.0f of %.0f kernels per step take less than %s "
				    "each, %s together: fewer and larger kernels "
				    "leave fewer gaps (pass opfuse).",
				    count, all, trace_time_text(d, SHORT_KERNEL),
				    trace_time_text(d, time)));
}

static void
spread_facts(struct trace_diagnosis *d, const struct trace_measured *m)
{
	const struct trace_middle *x = &m->iteration;

	if (x->high - x->low > 0.1 * x->median)
		add_fact(d, TEXT(d,
				    "Step times vary: half of the steps take %s "
				    "to %s, the others less or more.",
				    trace_time_text(d, x->low), trace_time_text(d, x->high)));
}

struct trace_diagnosis *
trace_diagnose(const void *owner, const struct trace_set *s, const struct trace_alignment *a,
	const struct trace_measured *m)
{
	struct trace_diagnosis *d = NEW(owner, struct trace_diagnosis);
	uint64_t dropped = 0;

	find_shares(d, m);
	find_sentence(d, m);
	straggler_facts(d, s, a, m);
	crowd_facts(d, s);
	overlap_facts(d, m);
	kernel_facts(d, m);
	spread_facts(d, m);
	for (uint32_t i = 0; i < s->n; i++)
		dropped += s->trace[i]->dropped;
	if (dropped)
		add_fact(d, TEXT(d,
				    "%" PRIu64
				    " events of earlier steps were dropped: the traces were full.",
				    dropped));
	if (!s->complete)
		add_fact(d, TEXT(d,
				    "Traces of %" PRIu32 " of %" PRIu32
				    " ranks: time spent waiting for the "
				    "missing ranks counts as transfer.",
				    s->n, s->trace[0]->ranks));
	return d;
}
