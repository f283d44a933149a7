/*
 * How much later every event could end: one backward sweep. After an event come the next one of its
 * stream and those that wait for it; its latest end is the earliest of their latest starts.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/replay/replay.h"

#include <talloc.h>

void
replay_slack(const struct replay_graph *g, const struct replay_result *r, replay_time *slack)
{
	replay_time *behind = NEW_ARRAY(NULL, replay_time, g->nstreams);
	for (uint32_t s = 0; s < g->nstreams; s++)
		behind[s] = r->makespan;
	for (uint32_t e = 0; e < g->n; e++)
		slack[e] = r->makespan;
	/* slack[e] is the latest end when e is reached: its dependents are issued later. */
	for (uint32_t p = g->n; p-- > 0;) {
		uint32_t e = g->order ? g->order[p] : p;
		replay_time latest = slack[e], *next = &behind[g->stream[e]];
		latest = *next < latest ? *next : latest;
		replay_time start = latest - replay_ran(g, r, e);
		for (uint32_t k = g->dep_first[e]; k < g->dep_first[e + 1]; k++) {
			replay_time *d = &slack[g->dep[k]];
			*d = start < *d ? start : *d;
		}
		*next = start;
		slack[e] = latest - r->end[e];
	}
	talloc_free(behind);
}
