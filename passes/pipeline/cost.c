/* The cost of a schedule, by simulation: see schedule.h. */
#include "passes/pipeline/graph.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <talloc.h>

static double
time_of(const struct schedule_action *a, const struct schedule_stage *stage)
{
	const struct schedule_stage *t = &stage[a->stage];

	switch (a->kind) {
	case SCHEDULE_FORWARD: return t->forward;
	case SCHEDULE_INPUT: return t->input;
	case SCHEDULE_WEIGHT: return t->weight;
	case SCHEDULE_BACKWARD: return t->input + t->weight;
	case SCHEDULE_SEND_F: return t->message;
	case SCHEDULE_SEND_B: return stage[a->stage - 1].message;
	default: return 0;
	}
}

/* Time in transit of the value that node `i` waits for, if there is no receive. */
static double
delay_of(const struct schedule_graph *g, int i, int k, const struct schedule_stage *stage)
{
	const int from = g->wait[i].wait[k];

	if (k != WAIT_VALUE || g->receive[i] >= 0 || g->receive[from] >= 0 ||
		g->rank[i] == g->rank[from])
		return 0;
	return stage[g->action[i]->stage < g->action[from]->stage ? g->action[i]->stage
								  : g->action[from]->stage]
		.message;
}

/* The change in the memory that the rank of the action keeps. */
static double
live_of(const struct schedule_action *a, const struct schedule_stage *stage)
{
	const struct schedule_stage *t = &stage[a->stage];

	switch (a->kind) {
	case SCHEDULE_FORWARD: return t->live;
	case SCHEDULE_INPUT: return -t->live * (1 - t->kept);
	case SCHEDULE_WEIGHT: return -t->live * t->kept;
	case SCHEDULE_BACKWARD: return -t->live;
	default: return 0;
	}
}

static void
measure_rank(
	struct schedule_use *u, const struct schedule_rank *r, const struct schedule_stage *stage)
{
	double live = 0;
	bool first = true;

	for (int i = 0; i < r->n; i++) {
		const struct schedule_action *a = &r->action[i];
		live += live_of(a, stage);
		u->peak = fmax(u->peak, live);
		if (!schedule_computes(a->kind))
			continue;
		u->begin = first ? u->start[i] : u->begin;
		u->end = u->finish[i];
		u->busy += time_of(a, stage);
		first = false;
	}
	u->bubble = u->end - u->begin - u->busy;
	for (int i = r->n - 1; i >= 0; i--)
		if (r->action[i].kind == SCHEDULE_IDLE)
			u->start[i] = u->finish[i] = i + 1 < r->n ? u->start[i + 1] : u->end;
}

struct schedule_cost *
schedule_cost(const void *owner, const struct schedule *s, struct diag *diag,
	enum schedule_waits how, const struct schedule_stage *stage)
{
	struct schedule_graph *g = graph_verified(NULL, s, diag, how);

	if (!g)
		return NULL;
	struct schedule_cost *c = NEW(owner, struct schedule_cost);
	double *start = NEW_ARRAY(g, double, g->n), *finish = NEW_ARRAY(g, double, g->n);
	for (int k = 0; k < g->norder; k++) {
		const int i = g->order[k];
		start[i] = 0;
		for (int w = 0; w < WAITS; w++)
			if (g->wait[i].wait[w] >= 0)
				start[i] = fmax(start[i],
					finish[g->wait[i].wait[w]] + delay_of(g, i, w, stage));
		finish[i] = start[i] + time_of(g->action[i], stage);
	}
	c->rank = ZERO_ARRAY(c, struct schedule_use, s->nranks);
	for (int r = 0, n = 0; r < s->nranks; r++) {
		struct schedule_use *u = &c->rank[r];
		u->start = NEW_ARRAY(c, double, s->rank[r].n);
		u->finish = NEW_ARRAY(c, double, s->rank[r].n);
		for (int i = 0; i < s->rank[r].n; i++) {
			if (s->rank[r].action[i].kind == SCHEDULE_IDLE)
				continue;
			u->start[i] = start[g->node[n]];
			u->finish[i] = finish[g->node[n++]];
		}
		measure_rank(u, &s->rank[r], stage);
		c->makespan = fmax(c->makespan, u->end);
		c->bubble = fmax(c->bubble, u->bubble);
		c->peak = fmax(c->peak, u->peak);
	}
	talloc_free(g);
	return c;
}

struct schedule_stage *
schedule_divide(const void *owner, const struct schedule_stage *piece, int n, int nstages)
{
	struct schedule_stage *stage = ZERO_ARRAY(owner, struct schedule_stage, nstages);
	const int each = nstages > n ? 1 : n / nstages;  /* pieces per stage */
	const int parts = nstages > n ? nstages / n : 1; /* stages per piece */

	for (int i = 0; i < nstages; i++)
		for (int k = 0; k < each; k++) {
			const struct schedule_stage *p = &piece[i / parts * each + k];
			struct schedule_stage *to = &stage[i];
			const double live = to->live + p->live / parts;
			to->forward += p->forward / parts;
			to->input += p->input / parts;
			to->weight += p->weight / parts;
			to->message = p->message;
			if (live > 0)
				to->kept = (to->kept * to->live + p->kept * p->live / parts) / live;
			to->live = live;
		}
	return stage;
}
