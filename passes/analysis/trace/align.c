/*
 * Offsets and drifts: see align.h.
 *
 *     bounds    for each variable the minimum and maximum that the constraints allow: two
 *               linear programs (polytope.h). Their vertices, and so their mean, satisfy all rows
 *     descent   from the mean to the best shifts inside the bounds: descend.c
 *
 * Both are done with and without drifts, and the better result is taken.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/trace/descend.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

static const double most_offset = ALIGN_MOST_OFFSET;
/* Parts per million: the kernel adjusts a clock by up to 500, so two differ by at most this. */
static const double most_drift = 1000;
/* Rounding of sums of times in us. */
static const double rounding = 1e-3;

enum {
	/* With fewer meets of each clock a drift would only follow the noise. */
	LEAST_MEETS_FOR_DRIFT = 16,
	/* Linear programs of this many clocks with drifts take seconds, of twice as many a minute:
	 * with more clocks, drifts are only tried if nothing fits without them. */
	MOST_CLOCKS_FOR_DRIFT = 64,
};

/* Variables of the clocks that are linked to an earlier one. */
static void
number_variables(struct align_problem *q)
{
	const struct trace_alignment *a = q->a;

	q->variable = NEW_ARRAY(q->a, int32_t, a->nclocks);
	q->p.nvariables = 0;
	for (uint32_t c = 0; c < a->nclocks; c++) {
		q->variable[c] = -1;
		if (a->clock[c].link != TRACE_LINK_MESSAGES)
			continue;
		q->variable[c] = q->p.nvariables;
		q->p.nvariables += a->drift ? 2 : 1;
	}
}

static bool
enough_for_drift(const struct trace_alignment *a, const struct meets *m)
{
	uint32_t *meets = ZERO_ARRAY(m, uint32_t, a->nclocks);
	bool enough = true;

	for (uint32_t i = 0; i < m->nparts; i++)
		meets[m->part[i].clock]++;
	for (uint32_t c = 0; c < a->nclocks; c++)
		enough &= a->clock[c].link != TRACE_LINK_MESSAGES ||
			  meets[c] >= LEAST_MEETS_FOR_DRIFT;
	talloc_free(meets);
	return enough;
}

static void
report_row(struct align_problem *q, uint32_t row, enum diag_level level, const char *text)
{
	const struct trace_set *s = q->s;

	for (int k = 1; k >= 0; k--) {
		const struct trace_member *m = &s->member[q->rows->member[row][k]];
		const struct trace *t = s->trace[m->trace];
		const struct trace_event *e = &t->event[m->event];
		trace_report(q->d, k ? level : DIAG_NOTE, t->path, e->at,
			k ? "%s: rank %u ends %s of step %u"
			  : "%safter rank %u begins %s of step %u",
			k ? text : "", t->rank, trace_event_name(t, e), e->step);
	}
}

/* Reports the events that rule out any alignment. */
static void
report_empty(struct align_problem *q, const struct polytope_proof *proof)
{
	double over = 0;
	bool drift = false;
	int named = 0;

	for (int i = 0; i < proof->n; i++) {
		const uint32_t r = proof->row[i], side = r - q->p.nrows;
		if (r < q->p.nrows)
			over -= proof->weight[i] * q->p.row[r].b;
		else
			drift |= q->p.box[side % (uint32_t)q->p.nvariables] == most_drift;
	}
	for (int i = 0; i < proof->n; i++) {
		if (proof->row[i] >= q->p.nrows)
			continue;
		char *text = named   ? TEXT(q->a, "and")
			     : drift ? TEXT(q->a,
					       "the clocks of these events are inconsistent, "
					       "even with drifts of up to %.0f ppm",
					       most_drift)
				     : TEXT(q->a,
					       "the clocks of these events "
					       "contradict each other by %.3f us",
					       over);
		report_row(q, proof->row[i], named ? DIAG_NOTE : DIAG_ERROR, text);
		named++;
	}
}

/* Is a coordinate of x at the box, so that it is not bounded by a row? */
static bool
is_open(const struct align_problem *q, const double *x, int v)
{
	return fabs(x[v]) >= q->p.box[v] * 0.999;
}

/* Bounds of all variables; q->x becomes the mean of the vertices that attain them. */
static bool
find_bounds(struct align_problem *q)
{
	const int n = q->p.nvariables;
	double *c = ZERO_ARRAY(q->x, double, (size_t)n + 1);
	double *x = NEW_ARRAY(c, double, n), *any = ZERO_ARRAY(c, double, (size_t)n);
	struct polytope_proof proof = {
		NEW_ARRAY(c, uint32_t, n + 1), NEW_ARRAY(c, double, n + 1), 0};
	enum polytope_result result = POLYTOPE_OPTIMAL;
	int vertices = 0;

	for (int i = 0; i < 2 * n && result == POLYTOPE_OPTIMAL; i++) {
		const int v = i / 2;
		bool open = false;
		c[v] = i % 2 ? 1 : -1;
		result = polytope_maximize(&q->p, c, x, &proof);
		c[v] = 0;
		if (result != POLYTOPE_OPTIMAL)
			break;
		*(i % 2 ? &q->high[v] : &q->low[v]) =
			is_open(q, x, v) ? (i % 2 ? INFINITY : -INFINITY) : x[v];
		for (int k = 0; k < n; k++)
			open |= q->p.box[k] == most_offset && is_open(q, x, k);
		vertices += !open;
		for (int k = 0; k < n; k++) {
			q->x[k] += open ? 0 : x[k];
			any[k] += x[k] / (2 * n);
		}
	}
	for (int k = 0; k < n; k++)
		q->x[k] = vertices ? q->x[k] / vertices : any[k];
	if (result == POLYTOPE_EMPTY)
		report_empty(q, &proof);
	else if (result == POLYTOPE_LOST)
		diag_error(q->d, LOC_NONE,
			"the clocks of these traces cannot be aligned: %u "
			"constraints are too close together",
			q->p.nrows);
	talloc_free(c);
	return result == POLYTOPE_OPTIMAL;
}

static void
set_clocks(struct align_problem *q)
{
	struct trace_alignment *a = q->a;

	for (uint32_t c = 0; c < a->nclocks; c++) {
		struct trace_clock *k = &a->clock[c];
		const int32_t v = q->variable[c];
		k->shift = v < 0 ? 0 : q->x[v];
		k->offset = a->clock[0].base - k->base + llround(k->shift * 1e3);
		k->low = k->high = k->link == TRACE_LINK_WALL ? INFINITY : 0;
		k->low = -k->low;
		if (v < 0)
			continue;
		k->low = (q->low[v] - k->shift) * 1e3;
		k->high = (q->high[v] - k->shift) * 1e3;
		if (!a->drift)
			continue;
		k->drift = q->x[v + 1];
		k->drift_low = q->low[v + 1];
		k->drift_high = q->high[v + 1];
	}
}

static bool
solve(struct align_problem *q, double *box)
{
	const int n = q->p.nvariables;

	for (int v = 0; v < n; v++)
		box[v] = q->a->drift && v % 2 ? most_drift : most_offset;
	q->rows = meet_rows_create(q->x, q->s, q->a, q->m, q->variable, most_drift);
	q->p.nrows = q->rows->n;
	q->p.row = q->rows->row;
	q->p.box = box;
	q->p.slack = rounding;
	q->a->nrows = q->rows->n;
	q->a->nmeets = q->m->n;
	for (uint32_t i = 0; i < q->m->nparts; i++)
		q->a->nends += q->m->part[i].ends;
	if (!find_bounds(q))
		return false;
	if (n)
		trace_descend(q);
	set_clocks(q);
	return true;
}

/* One alignment, with drifts or without; NULL after reporting. */
static struct trace_alignment *
align(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_align_options *o, bool drift)
{
	struct trace_alignment *a = NEW(owner, struct trace_alignment);
	struct align_problem q = {.d = d, .s = s, .a = a};
	bool ok = false;

	meet_clocks(a, s, o);
	struct meets *m = meet_create(a, d, s, a);
	if (m) {
		q.m = m;
		a->drift = drift && enough_for_drift(a, m);
		number_variables(&q);
		const size_t n = (size_t)q.p.nvariables + 1;
		q.x = ZERO_ARRAY(a, double, n);
		q.low = ZERO_ARRAY(q.x, double, n);
		q.high = ZERO_ARRAY(q.x, double, n);
		ok = solve(&q, NEW_ARRAY(q.x, double, n));
		talloc_free(q.x);
		talloc_free(m);
	}
	if (ok)
		return a;
	talloc_free(a);
	return NULL;
}

/*
 * Do drifts improve the fit by more than the additional parameters explain? By the Bayesian
 * information criterion (Schwarz 1978): n log O1 + parameters log n is less, for the same
 * durations. That assumes independent durations, which those of a busy machine are not: a drift
 * must also move the ends of the trace by more than durations vary.
 */
static bool
drift_pays(const struct trace_alignment *a)
{
	const double n = (double)a->nends;
	uint32_t drifts = 0;
	double moved = 0;

	for (uint32_t c = 0; c < a->nclocks; c++)
		moved = fmax(moved, fabs(a->clock[c].drift) * a->middle * 1e-6);
	if (moved <= a->spread_after)
		return false;
	for (uint32_t c = 0; c < a->nclocks; c++)
		drifts += a->clock[c].link == TRACE_LINK_MESSAGES;
	if (a->spread_after <= 0)
		return a->spread_even > 0;
	return 2 * n * log(a->spread_even / a->spread_after) > drifts * log(n);
}

struct trace_alignment *
trace_align(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_align_options *o)
{
	if (o->no_drift)
		return align(owner, d, s, o, false);
	const bool muted = diag_mute(d, true);
	struct trace_alignment *without = align(owner, d, s, o, false);
	diag_mute(d, muted);
	if (without && without->nclocks > MOST_CLOCKS_FOR_DRIFT)
		return without;
	struct trace_alignment *with = align(owner, d, s, o, true);
	if (!without || !with || !with->drift) {
		talloc_free(without);
		return with;
	}
	const bool pays = drift_pays(with);
	talloc_free(pays ? without : with);
	return pays ? with : without;
}

double
trace_aligned(const struct trace_alignment *a, uint32_t i, int64_t t)
{
	const struct trace_clock *c = &a->clock[a->clock_of[i]];
	const double at = (double)(t - c->base) / 1e3;

	return at + c->shift + c->drift * meet_lever(a, at);
}
