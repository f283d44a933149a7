/*
 * What causes the moments in which a device does not compute: its two streams are walked together,
 * from one start or end to the next.
 *
 *     compute         [ a ]        [ b ]            between a and b: first c is exposed, then the
 *     communication     [   c  ]                    device waits for whatever delayed b
 */
#include "ir/base/alloc.h"
#include "passes/analysis/replay/replay.h"

#include <talloc.h>

#define NONE UINT32_MAX

struct walk {
	const struct replay_graph *g;
	const struct replay_result *r;
	const bool *communicates;
	uint32_t *event;  /* [n] stream by stream, in issue order */
	uint32_t *first;  /* [nstreams + 1] of event */
	uint32_t *before; /* [n] the event before it on its stream, or NONE */
};

/* The streams that compute or communicate: the first ones. */
static uint32_t
streams_of_devices(const struct replay_graph *g)
{
	return g->nstreams - g->nothers;
}

static replay_time
start_of(const struct walk *w, uint32_t e)
{
	return w->r->end[e] - replay_ran(w->g, w->r, e);
}

static void
sort_by_stream(struct walk *w)
{
	const struct replay_graph *g = w->g;
	uint32_t *at = w->first + 1, *last = NEW_ARRAY(w, uint32_t, g->nstreams);
	for (uint32_t s = 0; s <= g->nstreams + 1; s++)
		w->first[s] = 0;
	for (uint32_t e = 0; e < g->n; e++)
		w->first[g->stream[e] + 2]++;
	for (uint32_t s = 0; s < g->nstreams; s++) {
		at[s + 1] += at[s];
		last[s] = NONE;
	}
	for (uint32_t p = 0; p < g->n; p++) {
		uint32_t e = g->order ? g->order[p] : p, s = g->stream[e];
		w->before[e] = last[s];
		w->event[at[s]++] = last[s] = e;
	}
}

/* The event that x waited for; events without duration only pass the cause on. */
static uint32_t
cause_of(const struct walk *w, uint32_t x)
{
	const struct replay_graph *g = w->g;
	replay_time start = start_of(w, x);
	for (uint32_t e = x, next;; e = next) {
		next = NONE;
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
			if (w->r->end[g->dep[k]] == start)
				next = g->dep[k];
		if (next == NONE && w->before[e] != NONE && w->r->end[w->before[e]] == start)
			next = w->before[e];
		if (next == NONE)
			return e;
		if (replay_ran(g, w->r, next))
			return next;
	}
}

/* The first event of a stream from *at on that has not ended at time t. */
static uint32_t
current(const struct walk *w, uint32_t stream, uint32_t *at, replay_time t)
{
	if (stream >= streams_of_devices(w->g))
		return NONE;
	while (*at < w->first[stream + 1] && w->r->end[w->event[*at]] <= t)
		++*at;
	return *at < w->first[stream + 1] ? w->event[*at] : NONE;
}

/* Until when the state of event e at time t lasts; *runs: it is running. */
static replay_time
until(const struct walk *w, uint32_t e, replay_time t, bool *runs)
{
	*runs = e != NONE && start_of(w, e) <= t;
	return e == NONE ? w->r->makespan : *runs ? w->r->end[e] : start_of(w, e);
}

static void
walk_device(const struct walk *w, uint32_t d, struct replay_gaps *gaps)
{
	struct replay_device *sum = &gaps->device[d];
	uint32_t a_at = w->first[2 * d];
	uint32_t b_at = 2 * d + 1 < streams_of_devices(w->g) ? w->first[2 * d + 1] : 0;
	for (replay_time t = 0, next; t < w->r->makespan; t = next) {
		uint32_t a = current(w, 2 * d, &a_at, t), b = current(w, 2 * d + 1, &b_at, t);
		bool a_runs, b_runs;
		replay_time a_until = until(w, a, t, &a_runs), b_until = until(w, b, t, &b_runs);
		next = a_until < b_until ? a_until : b_until;
		replay_time span = next - t;
		bool computes = a_runs && !(w->communicates && w->communicates[a]);
		if (computes) {
			sum->compute += span;
		} else if (a_runs || b_runs) {
			sum->exposed += span;
			gaps->exposed[b_runs ? b : a] += span;
		} else if (a == NONE && b == NONE) {
			sum->after += span;
		} else {
			bool a_is_next = a != NONE && a_until == next;
			sum->waiting += span;
			gaps->waited[cause_of(w, a_is_next ? a : b)] += span;
		}
	}
}

void
replay_gaps(const struct replay_graph *g, const bool *communicates, const struct replay_result *r,
	struct replay_gaps *gaps)
{
	struct walk *w = NEW(NULL, struct walk);
	*w = (struct walk){g, r, communicates, ARRAY_NEW(w, uint32_t, g->n),
		NEW_ARRAY(w, uint32_t, g->nstreams + 2), ARRAY_NEW(w, uint32_t, g->n)};
	sort_by_stream(w);
	for (uint32_t e = 0; e < g->n; e++)
		gaps->exposed[e] = gaps->waited[e] = 0;
	const uint32_t ndevices = replay_devices(g);
	for (uint32_t d = 0; d < ndevices; d++) {
		gaps->device[d] = (struct replay_device){0};
		walk_device(w, d, gaps);
	}
	for (uint32_t e = 0; e < g->n; e++)
		if (g->stream[e] < streams_of_devices(g) &&
			(g->stream[e] % 2 || (communicates && communicates[e])))
			gaps->device[g->stream[e] / 2].communication += replay_ran(g, r, e);
	talloc_free(w);
}
