/* The cost model: durations of ops, and the report on a step. See cost.h. */
#include "passes/analysis/cost.h"

#include "ir/form.h"
#include "passes/analysis/alloc.h"
#include "passes/analysis/events.h"
#include "passes/analysis/memory.h"
#include "passes/analysis/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cost_model {
	struct device *device;
	struct profile_op *op;
	struct profile_collective *collective;
	struct profile_link *link;
	int nops, ncollectives, nlinks;
};

/* The device whose entries are used: the one that is described, or the only one in the profile. */
static const char *
device_in_profile(struct cost_model *model, struct diag *d, const char *path, struct profile *p,
	bool described)
{
	char **names;
	int n = profile_devices(p, p, &names);
	for (int i = 0; i < n; i++)
		if (described && strcmp(names[i], model->device->name) == 0)
			return names[i];
	if (n == 1 && !described)
		return names[0];
	if (n < 0)
		return NULL;
	diag_error(d, LOC_NONE,
		described || n == 0 ? "profile %s has no entries of device %s"
				    : "profile %s has entries of several devices",
		path, model->device->name);
	for (int i = 0; i < n; i++)
		diag_note(d, LOC_NONE, "it has entries of device %s", names[i]);
	return NULL;
}

static bool
load_fields(struct cost_model *model, struct profile *p, const char *name)
{
	struct profile_field *fields;
	int n = profile_fields(p, p, name, &fields);
	for (int i = 0; i < n; i++) {
		double *field = device_field(model->device, fields[i].name);
		if (field)
			*field = fields[i].value;
	}
	return n >= 0;
}

/* With a device that is described, only ops come from the profile. */
static bool
load_profile(struct cost_model *model, struct diag *d, const char *path, bool described)
{
	struct profile *p = profile_open(model, d, path, PROFILE_READ);
	const char *name = p ? device_in_profile(model, d, path, p, described) : NULL;
	if (!name)
		return false;
	model->nops = profile_ops(model, p, name, &model->op);
	bool good = model->nops >= 0;
	if (!described) {
		model->ncollectives = profile_collectives(model, p, name, &model->collective);
		model->nlinks = profile_links(model, p, name, &model->link);
		good = good && model->ncollectives >= 0 && model->nlinks >= 0 &&
		       load_fields(model, p, name);
		talloc_free(model->device->name);
		model->device->name = TEXT(model->device, "%s", name);
	}
	talloc_free(p);
	return good;
}

struct cost_model *
cost_model_create(const void *owner, struct diag *d, const char *device, const char *profile)
{
	struct cost_model *model = NEW(NULL, struct cost_model);
	model->device = device ? device_read(model, d, device) : device_generic(model);
	if (!model->device || (profile && !load_profile(model, d, profile, device != NULL))) {
		talloc_free(model);
		return NULL;
	}
	return talloc_steal(owner, model);
}

struct cost_model *
cost_model_of(const void *owner, struct device *device)
{
	struct cost_model *model = NEW(owner, struct cost_model);
	model->device = talloc_steal(model, device);
	return model;
}

const struct device *
cost_model_device(const struct cost_model *model)
{
	return model->device;
}

/*
 * The entry of that key with as many ranks at work, or else with the nearest number; NULL: none.
 * Entries are sorted by key.
 */
static const struct profile_op *
find_op(const struct cost_model *model, const char *key, int64_t ranks)
{
	int low = 0, high = model->nops;
	while (low < high) {
		int middle = low + (high - low) / 2;
		if (strcmp(model->op[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct profile_op *best = NULL;
	for (; low < model->nops && strcmp(model->op[low].key, key) == 0; low++) {
		const struct profile_op *entry = &model->op[low];
		if (!best || llabs(entry->ranks - ranks) < llabs(best->ranks - ranks))
			best = entry;
	}
	return best;
}

/* Seconds of arithmetic: products of matrices run at another rate than the rest. */
static double
arithmetic_seconds(const struct device *d, const struct ir_module *m, const struct ir_op *op)
{
	if (op->body) {
		double t = 0;
		IR_FOR_OPS (inner, op->body)
			t += arithmetic_seconds(d, m, inner);
		return t;
	}
	bool product = op->code == OP_matmul || op->code == OP_contract;
	return op_work(m, op).flops / (product ? d->flops : d->scalar_flops);
}

static double
kernel_bytes(const struct ir_module *m, const struct ir_op *op)
{
	/* Of what is whole only the slice is read or written. */
	if (op->code == OP_partition)
		return 2 * (double)ir_type_local_bytes(m, op->result[0].type);
	if (op->code == OP_combine)
		return 2 * (double)ir_type_local_bytes(m, ir_operand_type(op, 0));
	return op_work(m, op).bytes;
}

/* The roofline: whichever of arithmetic and memory takes longer, and the launch. */
static double
kernel_seconds(const struct device *d, const struct ir_module *m, const struct ir_op *op)
{
	return d->launch + fmax(arithmetic_seconds(d, m, op), kernel_bytes(m, op) / d->bandwidth);
}

static double
link_seconds(const struct cost_model *model, const struct cost_collective *c, bool *measured)
{
	*measured = true;
	for (int i = 0; i < model->ncollectives; i++) {
		const struct profile_collective *p = &model->collective[i];
		if (p->kind == c->kind && p->places == c->places && p->bytes == c->bytes)
			return p->median;
	}
	for (int i = 0; i < model->nlinks; i++) {
		const struct profile_link *l = &model->link[i];
		if (l->kind == c->kind && l->places == c->places && l->beta > 0)
			return l->alpha + c->bytes / l->beta;
	}
	*measured = false;
	return collective_seconds(c->kind, c->places, c->bytes, model->device->link_latency,
		model->device->link_bandwidth);
}

double
cost_op_seconds(const struct cost_model *model, const struct ir_module *m, const struct ir_op *op,
	bool *measured)
{
	bool unused;
	measured = measured ? measured : &unused;
	*measured = false;
	enum cost_kind kind = cost_op_kind(m, op);
	struct cost_collective c;
	if (kind == COST_NONE)
		return 0;
	if (cost_op_collective(m, op, &c))
		return link_seconds(model, &c, measured);
	if (model->nops) {
		char *key = cost_op_key(NULL, m, op);
		const struct profile_op *entry = find_op(model, key, ir_devices(m));
		talloc_free(key);
		if (entry) {
			*measured = true;
			return entry->median;
		}
	}
	return kernel_seconds(model->device, m, op);
}

/* A step that has been replayed. */
struct replayed {
	struct ir_func *main;
	replay_time *op; /* by op->order */
	bool *measured;  /* the same */
	struct events *events;
	struct replay_result r;
};

static bool
check_main(const struct ir_module *m, const struct ir_func *main)
{
	if (!main) {
		diag_error(m->ctx->diag, LOC_NONE, "the module has no @main: nothing to evaluate");
		return false;
	}
	for (const struct ir_op *op = main->body.first; op; op = op->next)
		if (op_is(op, CALLS)) {
			diag_error(m->ctx->diag, op->loc,
				"a call has no cost before it is inlined: run the pass inline "
				"first");
			return false;
		}
	return true;
}

static struct replayed *
replay_module(const void *owner, const struct cost_model *model, struct ir_module *m)
{
	struct ir_func *main = ir_func_find(m, "main");
	if (!check_main(m, main))
		return NULL;
	struct replayed *s = NEW(owner, struct replayed);
	uint32_t n = ir_block_number(&main->body);
	s->main = main;
	s->op = NEW_ARRAY(s, replay_time, n);
	s->measured = NEW_ARRAY(s, bool, n);
	IR_FOR_OPS (op, &main->body)
		s->op[op->order] =
			replay_from_seconds(cost_op_seconds(model, m, op, &s->measured[op->order]));
	const struct device *d = model->device;
	const struct event_times times = {s->op, replay_from_seconds(d->post),
		replay_from_seconds(d->wait), replay_from_seconds(d->step), d->async != 0,
		d->overlap != 0};
	s->events = events_create(s, m, &main->body, &times);
	if (!s->events) {
		talloc_free(s);
		return NULL;
	}
	const struct replay_graph *g = &s->events->graph;
	s->r.start = NEW_ARRAY(s, replay_time, g->n);
	s->r.end = NEW_ARRAY(s, replay_time, g->n);
	s->r.busy = NEW_ARRAY(s, replay_time, g->nstreams);
	s->r.free_at = NEW_ARRAY(s, replay_time, g->nstreams);
	replay_run(g, &s->r);
	return s;
}

/* Kernels and collectives of each device; the longest of each. */
static void
report_streams(const struct replayed *s, struct cost_report *r)
{
	const struct events *e = s->events;
	replay_time *sum = talloc_zero_array(NULL, replay_time, e->graph.nstreams);
	must_have(sum);
	replay_time step = 0, longest[2] = {0, 0}, measured = 0, estimated = 0;
	for (uint32_t i = 0; i < e->graph.n; i++) {
		enum event_kind kind = (enum event_kind)e->event[i].kind;
		if (kind == EVENT_STEP)
			step = e->graph.duration[i];
		if (kind != EVENT_KERNEL && kind != EVENT_COLLECTIVE)
			continue;
		r->events++;
		sum[2 * e->event[i].device + (kind == EVENT_COLLECTIVE)] += e->graph.duration[i];
		if (s->measured[e->event[i].op->order])
			measured += e->graph.duration[i];
		else
			estimated += e->graph.duration[i];
	}
	for (uint32_t k = 0; k < e->graph.nstreams; k++)
		if (sum[k] > longest[k % 2])
			longest[k % 2] = sum[k];
	talloc_free(sum);
	r->compute = replay_seconds(longest[0]);
	r->communication = replay_seconds(longest[1]);
	r->exposed = replay_seconds(s->r.makespan - longest[0] - step);
	r->measured_time = replay_seconds(measured);
	r->estimated_time = replay_seconds(estimated);
}

/* Places that perform an op: all, less those that do not hold the result. */
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

static void
report_ops(const struct ir_module *m, const struct replayed *s, struct cost_report *r)
{
	const uint32_t *turns = s->events->turns;
	for (const struct ir_op *op = s->main->body.first; op; op = op->next) {
		r->ops++;
		if (op->code == OP_param)
			r->parameters += (double)ir_type_elements(op->result[0].type);
		if (cost_op_kind(m, op) == COST_NONE)
			continue;
		r->measured += s->measured[op->order];
		r->estimated += !s->measured[op->order];
		r->flops += op_work(m, op).flops * places_of(m, op) * turns[op->order];
	}
}

bool
cost_evaluate(const struct cost_model *model, struct ir_module *m, struct cost_report *report)
{
	struct replayed *s = replay_module(NULL, model, m);
	if (!s)
		return false;
	*report = (struct cost_report){.iteration = replay_seconds(s->r.makespan)};
	report_streams(s, report);
	report_ops(m, s, report);
	struct memory_report memory;
	memory_evaluate(m, s->main, &memory);
	report->peak_bytes = (double)memory.peak;
	report->persistent_bytes = (double)memory.persistent;
	report->fits = report->peak_bytes <= model->device->memory;
	talloc_free(s);
	return true;
}

struct cost_timeline *
cost_timeline(const void *owner, const struct cost_model *model, struct ir_module *m)
{
	struct replayed *s = replay_module(NULL, model, m);
	if (!s)
		return NULL;
	const struct events *e = s->events;
	struct cost_timeline *t = NEW(owner, struct cost_timeline);
	uint32_t *number = NEW_ARRAY(s, uint32_t, e->graph.n),
		 *path = NEW_ARRAY(s, uint32_t, e->graph.n);
	t->event = NEW_ARRAY(t, struct cost_event, e->graph.n);
	t->ndevices = e->ndevices;
	t->iteration = replay_seconds(s->r.makespan);
	for (uint32_t i = 0; i < e->graph.n; i++) {
		const struct event *v = &e->event[i];
		number[i] = t->n;
		if (v->kind != EVENT_KERNEL && v->kind != EVENT_COLLECTIVE)
			continue;
		t->event[t->n++] =
			(struct cost_event){v->op, v->device, v->kind == EVENT_COLLECTIVE, v->turn,
				replay_seconds(s->r.start[i]), replay_seconds(s->r.end[i]), false};
	}
	uint32_t n = replay_critical_path(&e->graph, &s->r, path);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t kind = e->event[path[i]].kind;
		if (kind == EVENT_KERNEL || kind == EVENT_COLLECTIVE)
			t->event[number[path[i]]].critical = true;
	}
	talloc_free(s);
	return t;
}
