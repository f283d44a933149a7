/* The timeline of a step: when each event ran, what delayed it, and what is exposed. See cost.h. */
#include "passes/analysis/cost/internal.h"

#include "ir/base/alloc.h"

#include <talloc.h>

static bool
is_work(const struct event *v)
{
	return v->kind == EVENT_KERNEL || v->kind == EVENT_COLLECTIVE;
}

static void
add_copy(struct cost_timeline *t, const struct ir_module *m, const struct cost_step *s, uint32_t i)
{
	const struct event *v = &s->events->event[i];
	struct cost_event *copy = &t->copy[t->ncopies++];

	*copy = (struct cost_event){.op = v->op,
		.device = v->device,
		.iteration = v->iteration,
		.start = replay_seconds(s->r.start[i]),
		.end = replay_seconds(s->r.end[i])};
	for (int k = 0; k < v->op->noperands; k++)
		copy->bytes += (double)ir_type_local_bytes(m, ir_operand_type(v->op, k));
}

static struct cost_event *
timeline_add(
	struct cost_timeline *t, const struct ir_module *m, const struct cost_step *s, uint32_t i)
{
	const struct event *v = &s->events->event[i];
	bool communication = v->kind == EVENT_COLLECTIVE;
	struct cost_collective c;

	t->event[t->n] = (struct cost_event){
		.op = v->op,
		.device = v->device,
		.communication = communication,
		.iteration = v->iteration,
		.start = replay_seconds(s->r.start[i]),
		.end = replay_seconds(s->r.end[i]),
		.bytes = communication && cost_op_collective(m, v->op, &c)
				 ? c.bytes
				 : cost_step_work(s, v->op)->bytes,
		.measured = s->measured[v->op->id],
	};
	return &t->event[t->n++];
}

/* Inputs and results of slack and gaps, by event. */
struct findings {
	replay_time *slack;
	bool *communicates;
	struct replay_gaps gaps;
	uint32_t *path, npath;
};

static struct findings *
find(const struct cost_step *s)
{
	const struct events *e = s->events;
	struct findings *f = NEW(s, struct findings);

	f->slack = ARRAY_NEW(f, replay_time, e->graph.n);
	f->communicates = ARRAY_NEW(f, bool, e->graph.n);
	f->path = ARRAY_NEW(f, uint32_t, e->graph.n);
	f->gaps.device = NEW_ARRAY(f, struct replay_device, e->ndevices);
	f->gaps.exposed = ARRAY_NEW(f, replay_time, e->graph.n);
	f->gaps.waited = ARRAY_NEW(f, replay_time, e->graph.n);
	for (uint32_t i = 0; i < e->graph.n; i++)
		f->communicates[i] = e->event[i].kind == EVENT_COLLECTIVE;
	replay_slack(&e->graph, &s->r, f->slack);
	replay_gaps(&e->graph, f->communicates, &s->r, &f->gaps);
	f->npath = replay_critical_path(&e->graph, &s->r, f->path);
	return f;
}

static void
put_devices(struct cost_timeline *t, const struct findings *f)
{
	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct replay_device *r = &f->gaps.device[d];
		t->device[d] = (struct cost_device){replay_seconds(r->compute),
			replay_seconds(r->communication), replay_seconds(r->exposed),
			replay_seconds(r->waiting + r->after)};
	}
}

struct cost_timeline *
cost_timeline(const void *owner, const struct cost_model *model, const struct ir_module *m)
{
	struct cost_step *s = cost_step_create_program(NULL, model, m);
	if (!s)
		return NULL;
	const struct events *e = s->events;
	const struct findings *f = find(s);
	struct cost_timeline *t = NEW(owner, struct cost_timeline);
	bool *critical = ARRAY_ZERO(s, bool, e->graph.n + 1);

	for (uint32_t i = 0; i < f->npath; i++)
		critical[f->path[i]] = true;
	t->event = ARRAY_NEW(t, struct cost_event, e->graph.n);
	t->copy = ARRAY_NEW(t, struct cost_event, e->graph.n);
	t->device = NEW_ARRAY(t, struct cost_device, e->ndevices);
	t->ndevices = e->ndevices;
	t->iteration = replay_seconds(s->r.makespan);
	for (uint32_t i = 0; i < e->graph.n; i++)
		if (e->event[i].kind == EVENT_COPY) {
			add_copy(t, m, s, i);
		} else if (is_work(&e->event[i])) {
			struct cost_event *v = timeline_add(t, m, s, i);
			v->critical = critical[i];
			v->slack = replay_seconds(f->slack[i]);
			v->exposed = replay_seconds(f->gaps.exposed[i]);
			v->waited = replay_seconds(f->gaps.waited[i]);
		}
	put_devices(t, f);
	t->repeated = cost_flops_repeated(s);
	talloc_free(s);
	return t;
}
