/*
 * Schedules for pass pipeline: by name, as a table, or searched.
 *
 * The search looks for the shortest iteration in a replay of the step with gradients and Adam.
 * Candidates are the named schedules, and those that schedule_search makes from the times of F, I
 * and W in each stage, which also come from a replay; so the result is not slower than any named
 * schedule. Candidates that need more than the available memory do not count. A cut of the model
 * for little memory is not balanced, and the memory may be less than the step needs, so several
 * cuts are tried.
 */
#include "passes/parallel/pipeline/schedule.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/memory/issue.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/profile/text.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* The passes that follow in the replayed step. */
static const char training[] = "grad,adam";

/* The search counts the memory that forwards leave for backwards, but not gaps between buffers. So
 * it is repeated with less memory: at most TRIES times, each time with the share `less` of the
 * previous limit. */
enum { TRIES = 6 };
static const double less = 0.85;

static bool
complain(struct pass_run *run, const char *option, const char *text)
{
	diag_error(run->ctx->diag, pass_option_loc(run, option), "pipeline: %s", text);
	return false;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* A schedule as an order: a line of cells for each rank, and the device of each stage. */
static struct pipeline_order
order_of(struct pass_run *run, const struct schedule *s)
{
	static const char kind[] = {[SCHEDULE_FORWARD] = 'F',
		[SCHEDULE_INPUT] = 'I',
		[SCHEDULE_WEIGHT] = 'W',
		[SCHEDULE_BACKWARD] = 'B'};
	struct pipeline_order o = {.devices = s->nranks, .stages = s->nstages};
	uint16_t *place = ARENA_ARRAY(run->ctx->arena, uint16_t, s->nstages);
	char *text = text_copy(run->scratch, "");
	bool own = s->nranks == s->nstages;

	for (int r = 0; r < s->nranks; r++) {
		bool first = true;
		text = r ? text_append(text, ";") : text;
		for (int i = 0; i < s->rank[r].n; i++) {
			const struct schedule_action *a = &s->rank[r].action[i];
			if (!schedule_computes(a->kind))
				continue;
			text = text_append(text, "%s%d%c%d", first ? "" : ",", a->stage,
				kind[a->kind], a->step);
			first = false;
		}
	}
	for (int k = 0; k < s->nstages; k++) {
		place[k] = (uint16_t)(s->rank_of[k] < 0 ? 0 : s->rank_of[k]);
		own = own && place[k] == k;
	}
	o.place = own ? NULL : place;
	o.text = ir_name(run->ctx, text);
	return o;
}

/* The IR has its own names for gpipe and 1f1b, whose order follows from the numbers of stages and
 * micro-batches. False: reported. */
static bool
order_of_name(struct pass_run *run, enum schedule_name name, int devices, int per_rank, int steps,
	struct pipeline_order *o)
{
	const struct schedule *made =
		schedule_make(run->scratch, run->ctx->diag, name, devices, per_rank, steps);

	if (!made)
		return false;
	*o = order_of(run, made);
	if (name == SCHEDULE_GPIPE || name == SCHEDULE_1F1B)
		o->text = schedule_name_text(name);
	return true;
}

/* A table written in the option; cells_create reports errors in it. */
static bool
order_of_table(struct pass_run *run, const char *text, struct pipeline_order *o)
{
	char *lines = text_copy(run->scratch, text);
	const bool muted = diag_mute(run->ctx->diag, true);

	for (char *at = lines; *at; at++)
		*at = *at == ';' ? '\n' : *at;
	const struct schedule *s =
		schedule_read(run->scratch, run->ctx->diag, "schedule", lines, strlen(lines));
	diag_mute(run->ctx->diag, muted);
	if (s)
		*o = order_of(run, s);
	o->text = ir_name(run->ctx, text);
	return true;
}

/* Reads a schedule file of torch.distributed.pipelining. False: reported. */
static bool
order_of_file(struct pass_run *run, const char *path, struct pipeline_order *o)
{
	char *text;

	if (!profile_text_read_file(run->scratch, run->ctx->diag, path, &text))
		return false;
	const struct schedule *s =
		schedule_read(run->scratch, run->ctx->diag, path, text, strlen(text));
	if (!s || !schedule_verify(s, run->ctx->diag, SCHEDULE_QUEUED))
		return false;
	*o = order_of(run, s);
	return true;
}

/* Stages go round the devices unless a schedule says otherwise. */
static void
set_places(struct pass_run *run, struct pipeline_order *o)
{
	uint16_t *place = ARENA_ARRAY(run->ctx->arena, uint16_t, o->stages);

	for (int k = 0; k < o->stages; k++)
		place[k] = (uint16_t)(k % o->devices);
	o->place = o->stages > o->devices ? place : NULL;
}

/* Does the order agree with the options and the devices? */
static bool
check_order(struct pass_run *run, const struct pipeline_order *o, int devices, int stages)
{
	const char *why = NULL;

	if (stages && o->stages != stages)
		return complain(run, "schedule",
			TEXT(run->scratch, "it has %s, not %d",
				number_count(run->scratch, o->stages, "stage(s)"), stages));
	if (devices && o->devices != devices)
		return complain(run, "schedule",
			TEXT(run->scratch, "it has %d lines, not one for each of %d devices",
				o->devices, devices));
	if (o->text &&
		!cells_create(run->scratch, o->text,
			(struct cell_places){(uint32_t)o->devices, (uint32_t)o->stages, o->place},
			(uint32_t)pass_int(run, "steps"), &why))
		return complain(run, "schedule", why);
	return true;
}

bool
pipeline_is_searched(const struct pass_run *run)
{
	return strcmp(pass_string(run, "schedule"), "search") == 0;
}

bool
pipeline_find_order(struct pass_run *run, int devices, struct pipeline_order *o)
{
	const char *text = pass_string(run, "schedule");
	const size_t length = strlen(text);
	const int steps = (int)pass_int(run, "steps"), stages = (int)pass_int(run, "stages");
	const bool scheduled = steps > 1 && *text && !pipeline_is_searched(run);
	enum schedule_name name = 0;

	while (name < SCHEDULE_NNAMES && strcmp(text, schedule_name_text(name)) != 0)
		name++;
	int per_rank = name < SCHEDULE_NNAMES ? schedule_per_rank(name) : 1;
	if (!per_rank)
		per_rank = devices && stages ? stages / devices : 2;
	const int given = devices; /* a table says where its stages are */
	devices = devices ? devices : stages / per_rank;
	*o = (struct pipeline_order){
		.devices = devices, .stages = stages ? stages : devices * per_rank};
	if (scheduled && length > 4 && strcmp(text + length - 4, ".csv") == 0)
		return order_of_file(run, text, o) && check_order(run, o, given, stages);
	if (scheduled && name == SCHEDULE_NNAMES)
		return order_of_table(run, text, o) && check_order(run, o, given, stages);
	const int own = name < SCHEDULE_NNAMES ? schedule_per_rank(name) : 0;
	if (own && o->stages != devices * own)
		return complain(run, given ? "stages" : "schedule",
			TEXT(run->scratch,
				"schedule %s has %s on each device; %s and %s do not match", text,
				number_count(run->scratch, own, "stage(s)"),
				number_count(run->scratch, o->stages, "stage(s)"),
				number_count(run->scratch, devices, "device(s)")));
	if (devices < 1 || o->stages % devices)
		return complain(run, "stages",
			TEXT(run->scratch, "%s cannot be divided evenly among %s",
				number_count(run->scratch, o->stages, "stage(s)"),
				number_count(run->scratch, devices, "device(s)")));
	if (scheduled && devices > 1)
		return order_of_name(run, name, devices, o->stages / devices, steps, o) &&
		       check_order(run, o, devices, stages);
	set_places(run, o);
	return true;
}

void
pipeline_set_order(struct ir_module *m, int axis, int time, const struct pipeline_order *o)
{
	m->axis[axis].stage = o->place;
	m->axis[axis].nstages = o->place ? o->stages : 0;
	if (m->axis[time].time)
		m->axis[time].schedule = o->text;
}

/* ---- the search ------------------------------------------------------------------------------ */

struct search {
	const struct pipeline_step *step;
	struct ir_module *trained; /* a copy of the step with gradients and Adam */
	struct schedule_stage *piece;
	int cut;
	struct pipeline_found *found;
};

static bool
fits(const struct pipeline_step *s, const struct pipeline_candidate *c)
{
	return c->peak <= s->memory;
}

/* Keeps the shorter candidate or, if neither fits, the one that needs less memory. */
static void
keep_better(
	const struct search *f, struct pipeline_candidate *best, const struct pipeline_candidate *c)
{
	const bool good = fits(f->step, c), before = best->order.text && fits(f->step, best);

	if (!best->order.text || (good && (!before || c->seconds < best->seconds)) ||
		(!good && !before && c->peak < best->peak))
		*best = *c;
}

static struct pipeline_candidate
replay(const struct search *f, const struct pipeline_order *o)
{
	struct pipeline_candidate c = {*o, f->cut, INFINITY, INFINITY};
	struct cost_report report;

	pipeline_set_order(f->trained, f->step->axis, f->step->time, o);
	if (cost_evaluate(f->step->run->cost, f->trained, &report)) {
		c.seconds = report.iteration;
		c.peak = report.peak_bytes;
	}
	return c;
}

static int
stage_of(const struct search *f, const struct ir_op *op)
{
	const struct ir_state s =
		op->nresults ? op->result[0].type->axis[f->step->axis] : (struct ir_state){0};

	return s.kind == IR_SINGLE ? s.order : -1;
}

/* Adds up the times of kernels and messages of the first micro-batch. */
static void
add_times(struct search *f, const struct issue *o, const struct cost_timeline *t)
{
	int32_t *device = ARRAY_NEW(NULL, int32_t, f->trained->op_ids); /* by op->id */

	for (uint32_t i = 0; i < f->trained->op_ids; i++)
		device[i] = -1;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct cost_event *e = &t->event[i];
		const int stage = stage_of(f, e->op);
		struct cell_message m;
		if (e->iteration || stage < 0 || !issue_loop_of(o, e->op)->cells)
			continue;
		if (device[e->op->id] < 0)
			device[e->op->id] = e->device;
		if (device[e->op->id] != e->device)
			continue;
		struct schedule_stage *p = &f->piece[stage];
		if (issue_message(o, e->op, &m)) {
			double *longest = &f->piece[m.from < m.to ? m.from : m.to].message;
			*longest = fmax(*longest, e->end - e->start);
			continue;
		}
		*(issue_phase(o, e->op) == CELL_FORWARD          ? &p->forward
			: issue_phase(o, e->op) == CELL_BACKWARD ? &p->input
								 : &p->weight) += e->end - e->start;
	}
	array_free(device);
}

static int
count_stages(const struct search *f)
{
	return ir_axis_stages(&f->trained->axis[f->step->axis]);
}

static int
count_devices(const struct search *f)
{
	return f->trained->axis[f->step->axis].size;
}

/* The memory that forwards leave for backwards, as a share of the free memory of a device. */
static void
add_memory(struct search *f, const struct issue *o)
{
	const int per_device = count_stages(f) / count_devices(f);

	for (uint32_t i = 0; i < o->n; i++)
		for (int r = 0; r < o->op[i]->nresults; r++) {
			const struct ir_value *v = &o->op[i]->result[r];
			const int stage = stage_of(f, o->op[i]);
			bool crosses = false;
			if (stage < 0 || !issue_loop_of(o, o->op[i])->cells ||
				issue_phase(o, o->op[i]) != CELL_FORWARD)
				continue;
			issue_ring(o, v, &crosses);
			f->piece[stage].live +=
				crosses ? (double)ir_type_local_bytes(f->trained, v->type) : 0;
		}
	for (int k = 0; k < count_stages(f); k++) {
		struct schedule_stage *p = &f->piece[k];
		const double room = f->step->memory - f->step->fixed[k] * per_device;
		p->live = room > p->live * per_device ? p->live / room : 1. / per_device;
		p->kept = 1;
	}
}

/* All F, then all I, then all W, so that a replay tells their times apart. */
static struct pipeline_order
apart(const struct search *f)
{
	const int stages = count_stages(f), devices = count_devices(f),
		  steps = f->trained->axis[f->step->time].size;
	struct schedule *s = schedule_create(f->step->run->scratch, devices);

	for (int k = 0; k < stages; k++)
		for (int i = 0; i < steps; i++)
			schedule_add(s, k % devices, SCHEDULE_FORWARD, k, i);
	for (int k = stages - 1; k >= 0; k--)
		for (int i = 0; i < steps; i++)
			schedule_add(s, k % devices, SCHEDULE_INPUT, k, i);
	for (int k = 0; k < stages; k++)
		for (int i = 0; i < steps; i++)
			schedule_add(s, k % devices, SCHEDULE_WEIGHT, k, i);
	schedule_finish(s);
	return order_of(f->step->run, s);
}

/* Times and memory of each stage, from a replay. False: reported, or there is no replay. */
static bool
measure(struct search *f)
{
	const struct pipeline_step *s = f->step;
	const struct ir_block *main = &ir_func_find(f->trained, "main")->body;
	const struct pipeline_order all = apart(f);

	pipeline_set_order(f->trained, s->axis, s->time, &all);
	f->piece = ARRAY_ZERO(s->run->scratch, struct schedule_stage, count_stages(f));
	struct cost_timeline *t = cost_timeline(s->run->scratch, s->run->cost, f->trained);
	struct issue *o = t ? issue_create(t, f->trained, main) : NULL;
	if (!o || o->why)
		return false;
	add_times(f, o, t);
	add_memory(f, o);
	talloc_free(t);
	return true;
}

/* Looks for shorter schedules within the memory. */
static void
try_searched(struct search *f)
{
	const struct pipeline_step *s = f->step;
	struct schedule_request q = {.nranks = count_devices(f),
		.nsteps = f->trained->axis[s->time].size,
		.per_rank = count_stages(f) / count_devices(f),
		.piece = f->piece,
		.npieces = count_stages(f),
		.memory = 1};

	for (int i = 0; i < TRIES; i++, q.memory *= less) {
		struct schedule_found *found =
			schedule_search(s->run->scratch, s->run->ctx->diag, &q);
		if (!found)
			break;
		const struct pipeline_order o = order_of(s->run, found->schedule);
		const struct pipeline_candidate c = replay(f, &o);
		keep_better(f, &f->found->best, &c);
		if (fits(s, &c))
			break;
	}
}

bool
pipeline_search(const struct pipeline_step *s, int cut, struct pipeline_found *found)
{
	struct search f = {.step = s, .cut = cut, .found = found};

	if (!s->run->cost)
		return complain(s->run, "schedule", "schedule=search needs a cost model");
	f.trained = ir_module_clone(s->run->scratch, s->m);
	if (!pass_try(s->run, f.trained, training))
		return complain(s->run, "schedule",
			"schedule=search predicts the step with its gradients, but pass grad fails on it");
	const bool muted = diag_mute(s->run->ctx->diag, true);
	const int per_device = count_stages(&f) / count_devices(&f);
	for (int i = 0; i < SCHEDULE_NNAMES; i++) {
		const enum schedule_name name = (enum schedule_name)i;
		const int own = schedule_per_rank(name);
		struct pipeline_order o;
		if ((own ? own != per_device : per_device < 2) ||
			!order_of_name(s->run, name, count_devices(&f), per_device,
				s->m->axis[s->time].size, &o))
			continue;
		const struct pipeline_candidate c = replay(&f, &o);
		keep_better(&f, &found->named[i], &c);
		keep_better(&f, &found->best, &c);
	}
	if (measure(&f))
		try_searched(&f);
	diag_mute(s->run->ctx->diag, muted);
	return found->best.order.text ||
	       complain(s->run, "schedule", "schedule=search found none that can be replayed");
}

void
pipeline_tell(const struct pipeline_step *s, const struct pipeline_found *found)
{
	char number[NUMBER_TEXT];
	const char *chosen = NULL;
	char *others = text_copy(s->run->scratch, "");

	for (int i = 0; i < SCHEDULE_NNAMES; i++) {
		const struct pipeline_candidate *c = &found->named[i];
		if (!c->order.text)
			continue;
		const char *name = schedule_name_text((enum schedule_name)i);
		if (c->order.text == found->best.order.text)
			chosen = name;
		others = text_append(others, "%s%s %s%s", *others ? ", " : "", name,
			number_seconds(number, c->seconds),
			fits(s, c) ? "" : " (needs more memory than there is)");
	}
	pass_remark(s->run, NULL, PASS_APPLIED,
		"schedule %s: an iteration with grad and adam takes %s; by name: %s",
		chosen ? chosen : "found by search", number_seconds(number, found->best.seconds),
		others);
	if (!fits(s, &found->best))
		pass_remark(s->run, NULL, PASS_MISSED,
			"no schedule fits into memory: the smallest needs %s",
			number_bytes(number, found->best.peak));
}
