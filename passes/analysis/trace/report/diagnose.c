/*
 * The bottleneck in a sentence. Nothing is said that the numbers do not show: each fact has the
 * condition under which it is one beside it.
 */
#include "ir/base/vec.h"
#include "passes/analysis/trace/report/report.h"
#include "passes/analysis/trace/report/table.h"

#include <inttypes.h>

/* Of its step that much at least must go to something for a fact to be worth a line. */
static const double worth = 0.05;
/* A rank is what others wait for if it is last in so many of the collectives. */
static const double mostly = 0.6;
/* Of a collective's time in which no kernel runs: as good as all. */
static const double bare = 0.95;
/* Of the step in kernels that take less than LAUNCH seconds each: they are what it consists of. */
static const double launch = 10e-6;

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

/* The op of a kind that takes most of a step by a measure. */
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

/* Of the share of the step that such ops take together, what one of them takes. */
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
	return TEXT(d,
		"Computation bounds the step: kernels run for %s of it, %s (%s) for %s.",
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

/* Who is waited for. Where clocks differ it must be later than they may be off. */
static void
straggler_facts(
	struct trace_diagnosis *d, const struct trace_alignment *a, const struct trace_measured *m)
{
	const struct trace_rank_time *r = last_rank(m);
	const double doubt = a->nclocks > 1 ? 2e-6 * a->spread_after : 0;

	if (d->share[TRACE_BOUND_WAITING] < worth || m->nranks < 2 || !r->meets)
		return;
	const double share = (double)r->last / r->meets;
	if (share >= mostly && r->late > doubt)
		add_fact(d, TEXT(d,
				    "Rank %" PRIu32
				    " is a straggler: it starts %.0f %% of its collectives "
				    "last, on average %s after the next rank. It has more "
				    "work or runs slower; its computation takes %s per step, "
				    "the table shows that of the others.",
				    r->rank, 100 * share, trace_time_text(d, r->late),
				    trace_time_text(d, r->compute)));
	else if (share < mostly)
		add_fact(d,
			TEXT(d,
				"There is no straggler: the most frequent last rank, rank %" PRIu32
				", starts %.0f %% of its collectives last. "
				"The run time of the work varies.",
				r->rank, 100 * share));
}

/* A collective beside which no kernel ever runs. */
static void
overlap_facts(struct trace_diagnosis *d, const struct trace_measured *m)
{
	const struct trace_op_time *o = largest(m, true, transfer_of);

	if (!o || d->share[TRACE_BOUND_TRANSFER] < worth ||
		transfer_of(o) < worth * m->iteration.median)
		return;
	if (transfer_of(o) >= bare * time_of(o))
		add_fact(d, TEXT(d,
				    "No kernel overlaps with %s (%s): it is started when no other work "
				    "is left, or waited for at once.",
				    o->value, o->name));
	add_fact(d, TEXT(d, "%s (%s): %.3g MB in %s, %.3g GB/s.", o->value, o->name,
			    o->bytes / 1e6, trace_time_text(d, o->time.median),
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
		if (o->time.median >= launch)
			continue;
		time += time_of(o);
		count += o->count;
	}
	if (d->share[TRACE_BOUND_IDLE] >= worth && count > all / 2)
		add_fact(d,
			TEXT(d,
				"%.0f of %.0f kernels per step take less than %s "
				"each, %s together: fewer and larger kernels "
				"leave fewer gaps (pass opfuse).",
				count, all, trace_time_text(d, launch), trace_time_text(d, time)));
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
	straggler_facts(d, a, m);
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
