/*
 * The time of a plan: the sweep of replay.h over kernels and messages, without events, since there
 * are few rules for the order of kernels, messages, posts and waits (events.h) and all devices do
 * the same. A step whose kernels are queued ahead is replayed from the first change on.
 */
#include "passes/search/plan/impl.h"

#include "ir/base/alloc.h"

#include <assert.h>
#include <string.h>
#include <talloc.h>

static replay_time
ready_time(const struct plan *p, const struct plan_state *s)
{
	replay_time t = 0;

	for (uint32_t k = 0; k < s->npreds; k++)
		t = replay_later(t, p->time[p->pool[s->pred + k]].end);
	return t;
}

/*
 * --- kernels are queued ahead: a message starts when its operands are ready ---
 *
 * That is where plan_apply issues it, so that no other kernel is before it. A message without
 * operands from kernels stays in place, and starts when the kernels before it are done: starting
 * earlier, its result would take memory for longer.
 */

static replay_time
replay_ahead(struct plan *p)
{
	uint32_t low = p->clean;
	const struct plan_time *before = low ? &p->time[p->order[low - 1]] : NULL;
	replay_time compute = before ? before->compute : p->base->first;
	replay_time message = before ? before->message : 0;
	replay_time sum[2] = {before ? before->sum[0] : 0, before ? before->sum[1] : 0};

	for (uint32_t i = low; i < p->count; i++) {
		const struct plan_state *s = &p->node[p->order[i]];
		struct plan_time *t = &p->time[p->order[i]];
		replay_time *stream = s->message ? &message : &compute, ready = ready_time(p, s);
		if (s->packing)
			ready = compute = replay_later(compute, ready) + s->packing;
		else if (s->message && !s->npreds)
			ready = compute;
		t->start = replay_later(*stream, ready);
		t->end = *stream = t->start + s->duration;
		t->compute = compute;
		t->message = message;
		sum[s->message] += s->duration;
		t->sum[0] = sum[0];
		t->sum[1] = sum[1];
	}
	return replay_later(compute, message);
}

/* --- one thread computes, posts and waits --- */

struct thread {
	struct plan *p;
	replay_time compute, message, last; /* last: the latest end */
	uint32_t pending; /* position of the first message that may be pending; if !overlap */
};

static void
run_message(struct thread *t, uint32_t node, replay_time *stream)
{
	struct plan_time *time = &t->p->time[node];

	time->start = replay_later(*stream, ready_time(t->p, &t->p->node[node]));
	time->end = *stream = time->start + t->p->node[node].duration;
	t->last = replay_later(t->last, time->end);
}

/* Runs the posted messages, in order, up to this one. */
static void
run_pending(struct thread *t, uint32_t node)
{
	struct plan *p = t->p;

	for (; t->pending <= p->node[node].position; t->pending++)
		if (p->node[p->order[t->pending]].message)
			run_message(t, p->order[t->pending], &t->compute);
}

static void
wait_for(struct thread *t, uint32_t node)
{
	struct plan *p = t->p;

	if (!p->node[node].message || p->waited[node])
		return;
	if (!p->base->overlap)
		run_pending(t, node);
	p->waited[node] = true;
	t->compute = replay_later(t->compute, p->time[node].end) + p->base->wait;
}

static void
wait_for_preds(struct thread *t, const struct plan_state *s)
{
	for (uint32_t k = 0; k < s->npreds; k++)
		wait_for(t, t->p->pool[s->pred + k]);
}

static void
do_node(struct thread *t, uint32_t node)
{
	const struct plan_state *s = &t->p->node[node];

	wait_for_preds(t, s);
	if (!s->message) {
		run_message(t, node, &t->compute);
		return;
	}
	t->compute += t->p->base->post + s->packing;
	if (!t->p->base->overlap)
		return;
	t->message = replay_later(t->message, t->compute);
	run_message(t, node, &t->message);
}

static replay_time
replay_thread(struct plan *p)
{
	struct thread t = {.p = p, .compute = p->base->first};

	memset(p->waited, 0, p->base->room * sizeof *p->waited);
	for (uint32_t i = 0; i < p->count; i++)
		do_node(&t, p->order[i]);
	for (uint32_t i = 0; i < p->count; i++)
		wait_for(&t, p->order[i]);
	return replay_later(t.compute, t.last);
}

/* --- devices that do different things, or loops: the step is built and replayed --- */

/* A node runs from the start of its first event to the end of its last one. node: by op->id. */
static void
take_times(struct plan *p, const struct cost_step *step, const uint32_t *node)
{
	for (uint32_t i = 0; i < p->count; i++)
		p->time[p->order[i]] = (struct plan_time){.start = INT64_MAX};
	for (uint32_t e = 0; e < step->events->graph.n; e++) {
		const struct event *event = &step->events->event[e];
		if (!event->op || node[event->op->id] == PLAN_NONE ||
			(event->kind != EVENT_KERNEL && event->kind != EVENT_COLLECTIVE))
			continue;
		struct plan_time *t = &p->time[node[event->op->id]];
		t->end = replay_later(t->end, step->r.end[e]);
		if (step->r.start[e] < t->start)
			t->start = step->r.start[e];
	}
}

static replay_time
replay_whole(struct plan *p)
{
	void *scratch = alloc_scratch(p);
	struct ir_module *m = ir_module_clone(scratch, p->base->m);
	const bool whole = plan_apply(p, m, NULL);

	assert(whole && "moves keep every op after its operands");
	(void)whole;
	const struct cost_step *step = cost_step_create(scratch, p->base->model, m);
	take_times(p, step, plan_nodes_of(scratch, p, m));
	replay_time makespan = step->r.makespan;
	talloc_free(scratch);
	return makespan;
}

replay_time
plan_replay(struct plan *p)
{
	if (p->replayed)
		return p->makespan;
	if (p->base->whole)
		p->makespan = replay_whole(p);
	else
		p->makespan = p->base->async ? replay_ahead(p) : replay_thread(p);
	p->clean = p->count;
	p->replayed = true;
	p->counts.replays++;
	return p->makespan;
}

bool
plan_is_whole(const struct plan *p)
{
	return p->base->whole;
}

replay_time
plan_replay_all(struct plan *p)
{
	plan_dirty(p, 0);
	return plan_replay(p);
}

/* --- slack --- */

static void
at_most(replay_time *latest, replay_time t)
{
	if (t < *latest)
		*latest = t;
}

void
plan_slack(const struct plan *p, replay_time *slack)
{
	replay_time compute = p->makespan, message = p->makespan; /* latest free times */

	assert(p->replayed);
	for (uint32_t i = 0; i < p->count; i++)
		slack[p->order[i]] = p->makespan;
	/* Until a node's turn comes, slack[] holds its latest end. */
	for (uint32_t i = p->count; i-- > 0;) {
		uint32_t node = p->order[i];
		const struct plan_state *s = &p->node[node];
		replay_time *stream = s->message && p->base->overlap ? &message : &compute;
		replay_time *latest = &slack[node];
		at_most(latest, *stream);
		replay_time start = *latest - s->duration;
		*stream = start;
		if (s->message && !s->npreds && p->base->async)
			at_most(&compute, start);
		for (uint32_t k = 0; k < s->npreds; k++)
			at_most(&slack[p->pool[s->pred + k]], start);
		*latest -= p->time[node].end;
	}
}

/* --- sums --- */

static replay_time
sum_of(const struct plan *p, bool message)
{
	replay_time t = 0;

	if (p->base->async && !p->base->whole && p->count && p->replayed)
		return p->time[p->order[p->count - 1]].sum[message];
	for (uint32_t i = 0; i < p->count; i++)
		if (p->node[p->order[i]].message == message)
			t += p->node[p->order[i]].duration;
	return t;
}

replay_time
plan_compute(const struct plan *p)
{
	return sum_of(p, false);
}

replay_time
plan_communication(const struct plan *p)
{
	return sum_of(p, true);
}

struct plan_counts
plan_counts(const struct plan *p)
{
	return p->counts;
}
