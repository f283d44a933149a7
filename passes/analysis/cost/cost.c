/* The report on a step. See cost.h. */
#include "passes/analysis/cost/internal.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/memory.h"

#include <math.h>
#include <talloc.h>

/* Launches of a kernel; of the last one of a bundle, those of the bundle. */
static uint32_t
launches(const struct cost_step *s, const struct ir_op *op)
{
	const uint32_t p = s->storage->order->position[op->id];
	const struct bundle *x =
		s->bundles->of[p] < 0 ? NULL : &s->bundles->bundle[s->bundles->of[p]];

	if (x && x->position[x->n - 1] != p)
		return 0;
	return s->storage->code ? (uint32_t)s->storage->code[op->id].launches : 0;
}

/* Kernels and collectives of each device; the longest of each. */
static void
report_streams(const struct cost_step *s, struct cost_report *r)
{
	const struct events *e = s->events;
	const uint32_t streams = e->graph.nstreams - e->graph.nothers;
	replay_time *sum = ZERO_ARRAY(NULL, replay_time, streams);
	replay_time *copies = ZERO_ARRAY(sum, replay_time, e->ndevices), copied = 0;
	replay_time step = 0, longest[2] = {0, 0}, measured = 0, estimated = 0;
	for (uint32_t i = 0; i < e->graph.n; i++) {
		enum event_kind kind = (enum event_kind)e->event[i].kind;
		if (kind == EVENT_STEP)
			step = replay_ran(&e->graph, &s->r, i);
		if (kind == EVENT_COPY) {
			replay_time *device = &copies[e->event[i].device];
			*device += replay_ran(&e->graph, &s->r, i);
			copied = replay_later(copied, *device);
			r->events++;
		}
		if (kind != EVENT_KERNEL && kind != EVENT_COLLECTIVE)
			continue;
		r->events++;
		if (kind == EVENT_KERNEL && !e->event[i].device)
			r->launches += launches(s, e->event[i].op);
		sum[2 * e->event[i].device + (kind == EVENT_COLLECTIVE)] +=
			replay_ran(&e->graph, &s->r, i);
		if (s->measured[e->event[i].op->id])
			measured += replay_ran(&e->graph, &s->r, i);
		else
			estimated += replay_ran(&e->graph, &s->r, i);
	}
	for (uint32_t k = 0; k < streams; k++)
		if (sum[k] > longest[k % 2])
			longest[k % 2] = sum[k];
	talloc_free(sum);
	r->compute = replay_seconds(longest[0]);
	r->communication = replay_seconds(longest[1]);
	r->copies = replay_seconds(copied);
	r->exposed = replay_seconds(s->r.makespan - longest[0] - step);
	r->measured_time = replay_seconds(measured);
	r->estimated_time = replay_seconds(estimated);
}

/* Places that execute an op: all except those that do not hold the result. */
static double
places_of(const struct ir_module *m, const struct ir_op *op)
{
	double places = 1;
	for (int a = 0; a < m->naxes; a++) {
		bool alone = op->nresults && op->result[0].type->axis[a].kind == IR_SINGLE;
		if (!m->axis[a].time && !alone)
			places *= m->axis[a].size;
	}
	return places;
}

double
cost_step_runs(const struct cost_step *s, const struct ir_op *op)
{
	return places_of(s->m, op) * s->events->iterations[op->id];
}

/* Dim 0 of inputs is the batch, also if dp splits it. */
static void
report_batch(const struct ir_block *block, struct cost_report *r)
{
	bool first = true;

	IR_FOR_OPS (op, block) {
		const struct ir_type *t = op->code == OP_input ? op->result[0].type : NULL;
		if (!t || !t->rank)
			continue;
		const enum ir_dclass class = ir_dtype_class(t->dtype);
		const double rows = (double)t->dim[0];
		r->examples = first || rows == r->examples ? rows : 0;
		first = false;
		if (!r->tokens && t->rank == 2 && (class == IR_INT || class == IR_UINT))
			r->tokens = (double)ir_type_elements(t);
	}
}

static void
report_ops(const struct ir_module *m, const struct cost_step *s, struct cost_report *r)
{
	for (const struct ir_op *op = s->main->body.first; op; op = op->next) {
		r->ops++;
		if (op->code == OP_param)
			r->parameters += (double)ir_type_elements(op->result[0].type);
		r->assumed += op->code == OP_while && !ir_attr_find(op, "trips");
		const enum cost_kind kind = cost_op_kind(m, op);
		if (kind == COST_NONE || kind == COST_COPY)
			continue;
		r->measured += s->measured[op->id];
		r->estimated += !s->measured[op->id];
		r->flops += cost_step_work(s, op)->flops * cost_step_runs(s, op);
	}
}

/* The memory of the smallest participating device. */
static double
least_memory(const struct cost_step *s)
{
	const struct cluster *c = s->model->cluster;
	double least = INFINITY;

	for (int64_t p = 0; p < ir_devices(s->m); p++)
		least = fmin(least, c->kind[s->kind_of[p]]->memory);
	return least;
}

bool
cost_evaluate(const struct cost_model *model, const struct ir_module *m, struct cost_report *report)
{
	struct cost_step *s = cost_step_create_program(NULL, model, m);
	if (!s)
		return false;
	*report = (struct cost_report){.iteration = replay_seconds(s->r.makespan)};
	report_streams(s, report);
	report_ops(m, s, report);
	report_batch(&s->main->body, report);
	struct memory_report memory;
	memory_report_of(s->storage, &memory);
	report->peak_bytes = (double)memory.peak;
	report->library_bytes = (double)memory.libraries;
	report->persistent_bytes = (double)memory.persistent;
	report->host_bytes = (double)memory.host;
	report->fits = report->peak_bytes <= least_memory(s);
	talloc_free(s);
	return true;
}
