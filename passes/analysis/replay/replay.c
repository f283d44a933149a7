/*
 * The sweep: in issue order, an event starts at the latest of its stream's last end and the ends of
 * the events that it waits for. One pass is exact because a stream keeps issue order: no event that
 * is issued later can delay an earlier one. (A queue that picks among ready events would need a
 * heap, and is a scheduling policy rather than a model of streams.)
 */
#include "passes/analysis/replay/replay.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

replay_time
replay_from_seconds(double s)
{
	double ps = s * REPLAY_PS_PER_S;
	if (!(ps > 0))
		return 0;
	/* A thousandth of the range: sums of a thousand such times still fit. */
	const double limit = 9e15;
	return (replay_time)llrint(ps < limit ? ps : limit);
}

static bool
graph_is_sound(const struct replay_graph *g)
{
	if (g->nstreams > REPLAY_MAX_STREAMS || (g->n && g->dep_first[0] != 0))
		return false;
	for (uint32_t e = 0; e < g->n; e++) {
		if (g->stream[e] >= g->nstreams || g->duration[e] < 0)
			return false;
		if (g->dep_first[e + 1] < g->dep_first[e])
			return false;
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
			if (g->dep[k] >= g->n)
				return false;
	}
	return true;
}

bool
replay_check(const struct replay_graph *g)
{
	if (!graph_is_sound(g))
		return false;
	char *issued = must_have(calloc(g->n ? g->n : 1, 1));
	bool good = true;
	for (uint32_t p = 0; good && p < g->n; p++) {
		uint32_t e = g->order ? g->order[p] : p;
		good = e < g->n && !issued[e];
		if (!good)
			break;
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
			good = good && issued[g->dep[k]];
		issued[e] = 1;
	}
	free(issued);
	return good;
}

/* Event e starts now or when the last event that it waits for ends. */
static inline replay_time
ready_at(const struct replay_graph *g, const replay_time *end, uint32_t e, replay_time t)
{
	uint32_t last = g->dep_first[e + 1];
	for (uint32_t k = g->dep_first[e]; k < last; k++) {
		replay_time d = end[g->dep[k]];
		t = d > t ? d : t;
	}
	return t;
}

static inline void
sweep(const struct replay_graph *g, struct replay_result *r, bool ordered, bool starts)
{
	replay_time *end = r->end, *free_at = r->free_at;
	for (uint32_t p = 0; p < g->n; p++) {
		uint32_t e = ordered ? g->order[p] : p;
		uint16_t s = g->stream[e];
		replay_time t = ready_at(g, end, e, free_at[s]);
		if (starts)
			r->start[e] = t;
		t += g->duration[e];
		end[e] = t;
		free_at[s] = t;
	}
	r->makespan = 0;
	for (uint32_t s = 0; s < g->nstreams; s++)
		r->makespan = free_at[s] > r->makespan ? free_at[s] : r->makespan;
}

void
replay_run(const struct replay_graph *g, struct replay_result *r)
{
	memset(r->free_at, 0, g->nstreams * sizeof *r->free_at);
	/* The four kinds are compiled separately, so that the loop has no other branches. */
	if (g->order && r->start)
		sweep(g, r, true, true);
	else if (g->order)
		sweep(g, r, true, false);
	else if (r->start)
		sweep(g, r, false, true);
	else
		sweep(g, r, false, false);
	if (!r->busy)
		return;
	memset(r->busy, 0, g->nstreams * sizeof *r->busy);
	for (uint32_t e = 0; e < g->n; e++)
		r->busy[g->stream[e]] += g->duration[e];
}

/* Did the end of event d determine the start of event e? */
static bool
holds_up(const struct replay_graph *g, const struct replay_result *r, uint32_t d, uint32_t e)
{
	if (r->end[d] != r->start[e])
		return false;
	if (g->stream[d] == g->stream[e])
		return true;
	for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++)
		if (g->dep[k] == d)
			return true;
	return false;
}

uint32_t
replay_critical_path(const struct replay_graph *g, const struct replay_result *r, uint32_t *path)
{
	/* An event's dependencies are issued before it, so one backward walk finds the path. */
	uint32_t n = 0;
	for (uint32_t p = g->n; p-- > 0;) {
		uint32_t e = g->order ? g->order[p] : p;
		bool next = n ? holds_up(g, r, e, path[n - 1]) : r->end[e] == r->makespan;
		if (!next)
			continue;
		path[n++] = e;
		if (r->start[e] == 0)
			break;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t e = path[i];
		path[i] = path[n - 1 - i];
		path[n - 1 - i] = e;
	}
	return n;
}
