/*
 * pipeline: pipeline parallelism. Divides a forward step into stages, one for each place of a device
 * axis, and the batch into micro-batches (accumulate.h); `grad` makes the backward pass of each stage
 * where the stage is, since the gradient of a send is the send back:
 *
 *     %h = matmul(%x, %w)             %h = matmul(%x, %w) : f32[64/mb,8]@pp=0
 *     %y = matmul(%h, %v)             %s = send(%h) {axis = pp, from = 0, to = 1} : f32[64/mb,8]@pp=1
 *                                     %y = matmul(%s, %v) : f32[64/mb,4]@pp=1
 *
 * What depends on inputs and params is cut where pipeline_cut.c says, from the times of the cost
 * model. What depends on less has the stage of its first reader: params and states, inputs, masks.
 * Constants are made in every stage that reads them, and what nothing above reads, such as a counter, stays on
 * every device. A value that other stages read is sent on from stage to stage, so is a param that several stages share:
 * once in a step, and its gradient back.
 *
 * Right because parallelization ops never change what a value means; the verifier infers every
 * layout again.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "passes/analysis/cost/cost.h"
#include "passes/parallel/accumulate.h"
#include "passes/parallel/parallelize.h"
#include "passes/parallel/pipeline_cut.h"
#include "passes/parallel/pipeline_schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	NOWHERE = -1,       /* no stage: on every device */
	UNREAD = INT32_MAX, /* no op of the line reads it */
	PASSES = 3,         /* the gradient of a product is two products */
	COPIES = 4,         /* a param, its gradient, and two states as Adam has */
};

/* What an op depends on. */
enum { ON_INPUT = 1, ON_PARAM = 2 };

/* A value at another stage than that of its op. */
struct copy {
	int stage;
	struct ir_value *value;
	struct copy *next;
};

struct pipeline {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_block *block;
	int axis;
	bool quiet; /* a copy of the step, that is only tried */
	uint32_t nops, nvalues; /* ids before the pass adds ops */
	uint8_t *needs;         /* by op->id: ON_ */
	int32_t *at; /* by op->id: position in the line of the op, or of its first reader */
	int *stage;  /* by op->id */
	struct copy **copies; /* by value->id */
	struct VEC(struct ir_op *) line;
};

static bool
complain(struct pass_run *run, const char *option, const char *text)
{
	diag_error(run->ctx->diag, pass_option_loc(run, option), "pipeline: %s", text);
	return false;
}

/* ---- the axis -------------------------------------------------------------------------------- */

static bool
is_trained(const struct ir_op *op)
{
	return (op->code == OP_output && !strncmp(op->symbol, "grad.", 5)) ||
	       (op->code == OP_update && ir_operand(op, 0)->op->code == OP_param);
}

/* A step that can be divided: forward, with nothing on the axis, and no micro-batches yet. */
static bool
check_step(struct pass_run *run, const struct ir_module *m, int axis)
{
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time)
			return complain(run, "steps",
				TEXT(run->scratch,
					"the module already has micro-batches (%s), which this pass "
					"declares itself",
					m->axis[a].name));
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (is_trained(op)) {
			diag_error(run->ctx->diag, op->loc,
				"pipeline: the step has gradients already; pipeline must come before "
				"grad");
			return false;
		}
		for (int i = 0; i < op->nresults && axis >= 0; i++)
			if (op->result[i].type->axis[axis].kind != IR_COPIED) {
				diag_error(run->ctx->diag, op->loc,
					"pipeline: this value is already laid out over axis %s",
					m->axis[axis].name);
				return false;
			}
	}
	return true;
}

/* The axis of the stages, declared if the module has none of that name; -1: reported. *o is where they are. */
static int
stage_axis(struct pass_run *run, struct ir_module *m, struct pipeline_order *o)
{
	const char *name = pass_string(run, "axis");
	const int axis = ir_axis_find(m, name);
	const char *error = NULL;

	if (axis >= 0 && m->axis[axis].time)
		error = TEXT(run->scratch, "%s is a time axis; expected a device axis", name);
	else if (axis >= 0 && m->axis[axis].stage)
		error = TEXT(run->scratch, "axis %s has stages already", name);
	else if (axis < 0 && !pass_int(run, "stages"))
		error = TEXT(run->scratch,
			"the module has no axis %s; give the number of stages: "
			"pipeline{stages=...}",
			name);
	else if (axis < 0 && m->nmesh_attrs)
		error = TEXT(run->scratch,
			"the mesh lists its devices, so it must declare axis %s itself", name);
	if (error)
		complain(run, axis < 0 ? "stages" : "axis", error);
	if (error || !pipeline_find_order(run, axis < 0 ? (int)pass_int(run, "devices") : m->axis[axis].size, o))
		return -1;
	if (axis < 0 && ir_places(m) * o->devices > IR_MAX_PLACES) {
		complain(run, "stages",
			TEXT(run->scratch,
				"the product of the sizes of the axes would be more than %d",
				IR_MAX_PLACES));
		return -1;
	}
	if (!check_step(run, m, axis) || (axis < 0 && !accumulate_check_name(run, m, "axis")))
		return -1;
	if (axis >= 0)
		return axis;
	m->axis[m->naxes] = (struct ir_axis){.name = ir_name(run->ctx, name),
		.size = o->devices,
		.loc = pass_option_loc(run, "stages")};
	return m->naxes++;
}

/* ---- which ops are divided ------------------------------------------------------------------- */

static bool
is_leaf(const struct ir_op *op)
{
	return op->code == OP_input || op->code == OP_param || op->code == OP_state;
}

static uint8_t
needs_of(const struct pipeline *p, const struct ir_op *op)
{
	uint8_t needs = op->code == OP_input ? ON_INPUT : is_leaf(op) ? ON_PARAM : 0;

	for (int i = 0; i < op->noperands; i++)
		needs |= p->needs[ir_operand(op, i)->op->id];
	return needs;
}

/* The line: ops that need inputs and params, or without params, inputs alone. */
static void
make_line(struct pipeline *p)
{
	uint8_t most = 0;

	IR_FOR_OPS (op, p->block) {
		p->needs[op->id] = needs_of(p, op);
		if (!op_is(op, TRAIT_EFFECT))
			most = p->needs[op->id] > most ? p->needs[op->id] : most;
	}
	if (most == ON_INPUT || most == (ON_INPUT | ON_PARAM))
		IR_FOR_OPS (op, p->block)
			if (p->needs[op->id] >=
					(most == ON_INPUT ? ON_INPUT : ON_INPUT | ON_PARAM) &&
				!is_leaf(op) && !op_is(op, TRAIT_EFFECT)) {
				p->at[op->id] = (int32_t)p->line.n;
				VEC_PUSH(p->run->scratch, &p->line, op);
			}
}

/* Of an op outside of the line the position of its first reader. */
static void
find_readers(struct pipeline *p)
{
	for (struct ir_op *op = p->block->last; op; op = op->prev)
		for (int i = 0; i < op->noperands; i++) {
			const uint32_t id = ir_operand(op, i)->op->id;
			if (p->at[op->id] < p->at[id])
				p->at[id] = p->at[op->id];
		}
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Seconds in which the value goes to the next stage, in all micro-batches. */
static double
send_seconds(const struct pipeline *p, struct parallel_costs *costs, const struct ir_type *t)
{
	struct ir_type from = *t, to = *t;

	if (!costs)
		return 0;
	from.axis[p->axis] = (struct ir_state){.kind = IR_SINGLE, .order = 0};
	to.axis[p->axis] = (struct ir_state){.kind = IR_SINGLE, .order = 1};
	return parallel_costs_reshard(
		costs, ir_type_intern(p->m->ctx, &from), ir_type_intern(p->m->ctx, &to));
}

/* Adds up what leaves the op for later ones of the line: changes of the sum, op by op. */
static void
add_messages(const struct pipeline *p, struct parallel_costs *costs, const struct ir_op *op,
	double *change)
{
	for (int i = 0; i < op->nresults; i++) {
		int32_t last = p->at[op->id];
		IR_FOR_USES (u, &op->result[i])
			if (p->at[u->op->id] != UNREAD && p->at[u->op->id] > last)
				last = p->at[u->op->id];
		if (last == p->at[op->id])
			continue;
		const double t = 2 * send_seconds(p, costs, op->result[i].type); /* and back */
		change[p->at[op->id] + 1] += t;
		change[last + 1] -= t;
	}
}

static double
local_bytes(const struct pipeline *p, const struct ir_op *op)
{
	double bytes = 0;

	for (int i = 0; i < op->nresults; i++)
		bytes += (double)ir_type_local_bytes(p->m, op->result[i].type);
	return bytes;
}

static double
memory_limit(const struct pass_run *run)
{
	const uint64_t budget = pass_budget(run);

	if (budget)
		return (double)budget;
	return run->cost && cost_model_is_described(run->cost)
		       ? cost_model_device(run->cost)->memory
		       : INFINITY;
}

static struct pipeline_line *
weigh_line(const struct pipeline *p)
{
	struct pipeline_line *l = NEW(p->run->scratch, struct pipeline_line);
	struct parallel_costs *costs =
		p->run->cost ? parallel_costs_create(l, p->run->cost, p->m) : NULL;
	const uint32_t n = p->line.n;
	double *change = ARRAY_ZERO(l, double, n + 2), sum = 0;

	*l = (struct pipeline_line){n, ARRAY_ZERO(l, double, n), ARRAY_ZERO(l, double, n + 1),
		ARRAY_ZERO(l, double, n), ARRAY_ZERO(l, double, n),
		(uint32_t)ir_axis_stages(&p->m->axis[p->axis]), (uint32_t)pass_int(p->run, "steps"), 0};
	if (p->run->cost && !costs)
		return NULL;
	IR_FOR_OPS (op, p->block) {
		const int32_t at = p->at[op->id];
		if (at == UNREAD)
			continue;
		l->work[at] += PASSES * (costs ? parallel_costs_op(costs, op) : 1);
		l->fixed[at] += op->code == OP_param ? COPIES * local_bytes(p, op) : 0;
		l->kept[at] += is_leaf(op) ? 0 : local_bytes(p, op);
		if (p->needs[op->id])
			add_messages(p, costs, op, change);
	}
	for (uint32_t i = 1; i < n; i++)
		l->cut[i] = sum += change[i];
	return l;
}

/* ---- stages by name -------------------------------------------------------------------------- */

/* Where the params of a name, or of what has it as the first part of theirs, are read first; UNREAD: nowhere. */
static int32_t
first_reader(const struct pipeline *p, const char *name, size_t length)
{
	int32_t first = UNREAD;

	IR_FOR_OPS (op, p->block)
		if (op->code == OP_param && !strncmp(op->symbol, name, length) &&
			(!op->symbol[length] || op->symbol[length] == '.') && p->at[op->id] < first)
			first = p->at[op->id];
	return first;
}

/* Between the reader before it of another param and the op at `at`, where least is sent. */
static uint32_t
cheapest_cut(const struct pipeline *p, const struct pipeline_line *l, int32_t at)
{
	int32_t from = 0, best = at;

	IR_FOR_OPS (op, p->block)
		if (op->code == OP_param && p->at[op->id] < at && p->at[op->id] > from)
			from = p->at[op->id];
	for (int32_t i = at; i > from; i--)
		if (l->cut[i] < l->cut[best])
			best = i;
	return (uint32_t)best;
}

/* The first op of each stage, as `cut` names them. False: reported. */
static bool
cut_by_name(const struct pipeline *p, const struct pipeline_line *l, uint32_t *first)
{
	const char *names = pass_string(p->run, "cut");
	uint32_t k = 0;

	first[k++] = 0;
	while (*names) {
		const int length = (int)strcspn(names, ",");
		const int32_t at = first_reader(p, names, (size_t)length);
		if (at == UNREAD)
			return complain(p->run, "cut",
				TEXT(p->run->scratch, "no op reads a param named %.*s or %.*s.*", length,
					names, length, names));
		const uint32_t cut = cheapest_cut(p, l, at);
		if (cut <= first[k - 1])
			return complain(p->run, "cut",
				TEXT(p->run->scratch, "nothing is left for the stage before %.*s", length,
					names));
		if (k < l->stages)
			first[k] = cut;
		k++;
		names += names[length] ? length + 1 : length;
	}
	return k == l->stages ||
	       complain(p->run, "cut",
		       TEXT(p->run->scratch, "%" PRIu32 " stages begin at %" PRIu32 " named blocks, not %" PRIu32,
			       l->stages, l->stages - 1, k - 1));
}

/* ---- stages of ops --------------------------------------------------------------------------- */

/* Gives the op, and what it reads that has no stage, that one. */
static bool
set_stage(struct pipeline *p, struct ir_op *op, int stage)
{
	if (p->stage[op->id] != NOWHERE || !p->needs[op->id])
		return false;
	p->stage[op->id] = stage;
	for (int i = 0; i < op->noperands; i++)
		set_stage(p, ir_operand(op, i)->op, stage);
	return true;
}

/* Stages for what no op of the line reads, of a value that has one or for a state that has. */
static bool
settle(struct pipeline *p)
{
	bool changed = false;

	IR_FOR_OPS (op, p->block) {
		int last = NOWHERE;
		for (int i = 0; i < op->noperands; i++) {
			const int stage = p->stage[ir_operand(op, i)->op->id];
			last = stage > last ? stage : last;
		}
		if (last != NOWHERE && op->code == OP_update)
			for (int i = 0; i < op->noperands; i++)
				changed = set_stage(p, ir_operand(op, i)->op, last) || changed;
		else if (last != NOWHERE && !op_is(op, TRAIT_EFFECT))
			changed = set_stage(p, op, last) || changed;
	}
	return changed;
}

static void
set_stages(struct pipeline *p, const uint32_t *first, uint32_t stages)
{
	IR_FOR_OPS (op, p->block) {
		int stage = p->at[op->id] == UNREAD || !p->needs[op->id] ? NOWHERE : 0;
		while (stage != NOWHERE && (uint32_t)stage + 1 < stages &&
			(uint32_t)p->at[op->id] >= first[stage + 1])
			stage++;
		p->stage[op->id] = stage;
	}
	while (settle(p))
		;
}

/* ---- into the module ------------------------------------------------------------------------- */

static const struct ir_type *
single_type(const struct pipeline *p, const struct ir_type *t, int stage)
{
	struct ir_type single = *t;

	single.axis[p->axis] = (struct ir_state){.kind = IR_SINGLE, .order = (uint16_t)stage};
	return ir_type_intern(p->m->ctx, &single);
}

static void
set_types(const struct pipeline *p, struct ir_op *op, int stage)
{
	for (int i = 0; i < op->nresults; i++)
		op->result[i].type = single_type(p, op->result[i].type, stage);
}

static struct ir_value *
add_copy(struct pipeline *p, const struct ir_value *of, int stage, struct ir_value *v)
{
	struct copy *c = NEW(p->run->scratch, struct copy);

	*c = (struct copy){stage, v, p->copies[of->id]};
	p->copies[of->id] = c;
	return v;
}

/* The value sent from the nearest stage that has it, or that and no message if it is there. */
static struct ir_value *
sent_value(struct pipeline *p, struct ir_value *v, int stage)
{
	struct ir_value *near = v;
	int from = p->stage[v->op->id];

	for (const struct copy *c = p->copies[v->id]; c; c = c->next)
		if (abs(c->stage - stage) < abs(from - stage)) {
			near = c->value;
			from = c->stage;
		}
	if (from == stage)
		return near;
	struct ir_builder b = {p->m, p->block, near->op->next, v->op->loc, false};
	const struct ir_attr attr[] = {ir_make_axis(p->run->ctx, "axis", p->axis),
		ir_make_int(p->run->ctx, "from", from), ir_make_int(p->run->ctx, "to", stage)};
	struct ir_value *there = ir_build(&b, OP_send, &near, 1, attr, 3);
	if (!there)
		return NULL;
	if (!p->quiet)
		pass_count(p->run, "send(s) between stages", 1);
	return add_copy(p, v, stage, there);
}

/* What needs no input, param or state is made where it is read. */
static struct ir_value *
made_value(struct pipeline *p, struct ir_value *v, int stage, struct ir_op *before)
{
	struct ir_op *op = v->op;

	for (const struct copy *c = p->copies[v->id]; c; c = c->next)
		if (c->stage == stage)
			return c->value;
	struct ir_value **operand =
		ARRAY_NEW(p->run->scratch, struct ir_value *, op->noperands + 1);
	for (int i = 0; i < op->noperands; i++)
		operand[i] = made_value(p, ir_operand(op, i), stage, before);
	struct ir_op *made = ir_op_clone(p->m, op, operand);
	set_types(p, made, stage);
	ir_insert_before(before, made);
	for (int i = 0; i < op->nresults; i++)
		add_copy(p, &op->result[i], stage, &made->result[i]);
	return &made->result[v->index];
}

/* Operands at the stage of the op; an update writes where its state is. */
static bool
move_operands(struct pipeline *p, struct ir_op *op)
{
	const int stage =
		op->code == OP_update ? p->stage[ir_operand(op, 0)->op->id] : p->stage[op->id];

	for (int i = 0; i < op->noperands && stage != NOWHERE; i++) {
		struct ir_value *v = ir_operand(op, i);
		struct ir_value *there = !p->needs[v->op->id] ? made_value(p, v, stage, op)
							      : sent_value(p, v, stage);
		if (!there)
			return false;
		if (there != v)
			ir_set_operand(op, i, there);
	}
	return true;
}

static bool
apply_stages(struct pipeline *p)
{
	IR_FOR_OPS (op, p->block)
		if (p->stage[op->id] != NOWHERE)
			set_types(p, op, p->stage[op->id]);
	IR_FOR_OPS_SAFE (op, p->block)
		if (op->id < p->nops && !move_operands(p, op))
			return false;
	for (struct ir_op *op = p->block->last, *before; op; op = before) {
		bool read = op->id >= p->nops || p->needs[op->id] || op_is(op, TRAIT_EFFECT);
		before = op->prev;
		for (int i = 0; i < op->nresults; i++)
			read = read || op->result[i].uses || !p->copies[op->result[i].id];
		if (!read)
			ir_op_erase(op);
	}
	return true;
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void
tell_stages(const struct pipeline *p, const struct pipeline_line *l, const uint32_t *first)
{
	double all = 0;

	for (uint32_t i = 0; i < l->n; i++)
		all += l->work[i];
	for (uint32_t k = 0; k < l->stages; k++) {
		const uint32_t end = k + 1 < l->stages ? first[k + 1] : l->n;
		double work = 0, fixed = 0;
		char bytes[NUMBER_TEXT];
		for (uint32_t i = first[k]; i < end; i++) {
			work += l->work[i];
			fixed += l->fixed[i] / COPIES;
		}
		pass_remark(p->run, p->line.at[first[k]], PASS_APPLIED,
			"stage %" PRIu32 " begins here: %s, %.1f%% of the time, params of %s", k,
			number_count(p->run->scratch, end - first[k],
				end - first[k] == 1 ? "op" : "ops"),
			all > 0 ? 100 * work / all : 0, number_bytes(bytes, fixed));
	}
	IR_FOR_OPS (op, p->block)
		if (op->id < p->nops && op->code == OP_param && p->copies[op->result[0].id])
			pass_remark(p->run, op, PASS_APPLIED,
				"param %s of stage %d is read in other stages too: it is sent to them, and "
				"its gradient back, once in a step",
				op->symbol, p->stage[op->id]);
}

/* The bytes of each stage that do not depend on the order of micro-batches. */
static double *
fixed_bytes(const struct pipeline *p, const struct pipeline_line *l, const uint32_t *first)
{
	double *fixed = ARRAY_ZERO(p->run->scratch, double, l->stages);

	for (uint32_t k = 0; k < l->stages; k++)
		for (uint32_t i = first[k]; i < (k + 1 < l->stages ? first[k + 1] : l->n); i++)
			fixed[k] += l->fixed[i];
	return fixed;
}

/* Divides the step with stages that may have so many bytes; *step is the result. The first cut of the stages is
 * `first`. False: reported. */
static bool
divide(struct pass_run *run, struct ir_module *m, int axis, double memory, bool quiet,
	struct pipeline_step *step, uint32_t *first)
{
	struct pipeline p = {.run = run,
		.m = m,
		.block = &ir_func_find(m, "main")->body,
		.axis = axis,
		.quiet = quiet,
		.nops = m->op_ids,
		.nvalues = m->value_ids};
	const uint32_t stages = (uint32_t)ir_axis_stages(&m->axis[axis]);
	p.needs = ARRAY_ZERO(run->scratch, uint8_t, p.nops);
	p.at = ARRAY_NEW(run->scratch, int32_t, p.nops);
	p.stage = ARRAY_NEW(run->scratch, int, p.nops);
	p.copies = ARRAY_ZERO(run->scratch, struct copy *, p.nvalues);
	for (uint32_t i = 0; i < p.nops; i++)
		p.at[i] = UNREAD;
	make_line(&p);
	find_readers(&p);
	if (p.line.n < stages)
		return complain(run, pass_given(run, "stages") ? "stages" : "axis",
			TEXT(run->scratch,
				"%s, but only %s on both inputs and params",
				number_count(run->scratch, stages, "stage(s)"),
				p.line.n == 1 ? "1 op depends"
					      : TEXT(run->scratch, "%" PRId64 " ops depend", p.line.n)));
	struct pipeline_line *l = weigh_line(&p);
	if (!l)
		return false;
	/* A device has several stages, each a share of its memory. */
	l->memory = memory * m->axis[axis].size / stages;
	if (pass_given(run, "cut")) {
		if (!cut_by_name(&p, l, first))
			return false;
	} else if (!pipeline_cut(l, first) && !pipeline_is_searched(run)) {
		/* Later passes change what a step keeps, so it says little which cut needs least now. */
		l->memory = INFINITY;
		pipeline_cut(l, first);
		pass_remark(run, NULL, PASS_MISSED,
			"no cut into stages has the memory that all values of the step need: stages are cut "
			"by time alone");
	}
	*step = (struct pipeline_step){
		run, m, axis, m->naxes - 1, fixed_bytes(&p, l, first), memory_limit(run)};
	set_stages(&p, first, stages);
	if (!apply_stages(&p))
		return false;
	if (quiet)
		return true;
	pass_count(run, "stage(s)", stages);
	tell_stages(&p, l, first);
	return true;
}

/* Memory that cuts are made for in a search, as shares of what there is, or of what the first needs: what a stage is taken
 * to need is an upper limit, and its time counts products of the forward pass alone. */
static const double cuts[] = {INFINITY, 0.5, 0.75, 1, 1.5, 2, 4};

/* Finds a schedule, and the memory for the cut that it is of. False: reported. */
static bool
find_schedule(struct pass_run *run, const struct ir_module *m, int axis, struct pipeline_found *found,
	double *memory)
{
	double limit = *memory;
	const uint32_t stages = (uint32_t)ir_axis_stages(&m->axis[axis]);
	uint32_t *before = ARRAY_ZERO(run->scratch, uint32_t, stages),
		 *first = ARRAY_ZERO(run->scratch, uint32_t, stages);

	for (int i = 0; i < (int)(sizeof cuts / sizeof *cuts); i++) {
		struct ir_module *copy = ir_module_clone(run->scratch, m);
		struct pipeline_step step;
		if (!divide(run, copy, axis, limit * cuts[i], true, &step, first))
			return false;
		const bool same = i && !memcmp(before, first, stages * sizeof *first);
		if (!same && !pipeline_search(&step, i, found))
			return false;
		memcpy(before, first, stages * sizeof *first);
		talloc_free(copy);
		limit = i || isfinite(limit) ? limit : found->best.peak;
	}
	*memory = limit * cuts[found->best.cut];
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct pipeline_order order;
	const int axis = stage_axis(run, m, &order);
	double memory = memory_limit(run);
	struct pipeline_found found = {0};
	struct pipeline_step step;

	if (axis < 0 || (pass_int(run, "steps") > 1 && !accumulate_split(run, m, false)))
		return false;
	const int time = m->naxes - 1;
	uint32_t *first = ARRAY_NEW(run->scratch, uint32_t, order.stages);
	const bool searched =
		pipeline_is_searched(run) && m->axis[time].time && m->axis[axis].size > 1;
	pipeline_set_order(m, axis, time, &order);
	if (searched && !find_schedule(run, m, axis, &found, &memory))
		return false;
	if (searched)
		pipeline_set_order(m, axis, time, &found.best.order);
	if (!divide(run, m, axis, memory, false, &step, first))
		return false;
	if (searched)
		pipeline_tell(&step, &found);
	return true;
}

static const struct pass_option options[] = {
	{"axis", PASS_STRING, "pp",
		"device axis of the stages; declared if the module has none of that name", NULL, 0,
		0},
	{"stages", PASS_INT, "0",
		"number of stages; 0: as many as the schedule has on each device of the axis", NULL, 0,
		IR_MAX_AXIS},
	{"devices", PASS_INT, "0",
		"number of devices of an axis that is declared; 0: as many as there are stages, less where the "
		"schedule has several on each",
		NULL, 0, IR_MAX_AXIS},
	{"schedule", PASS_STRING, "",
		"order of micro-batches on each device: gpipe, 1f1b, zb1p, zb2p; interleaved, zbv, vhalf, vmin, which "
		"have several stages on each; cells \"0F0,0B0;1F0,1B0\", or a file NAME.csv of them; search: "
		"the one with the shortest iteration that fits in the memory (-budget, or that of the device); "
		"by default one micro-batch after another",
		NULL, 0, 0},
	{"cut", PASS_STRING, "",
		"blocks that begin the second and later stages, by the names of their params: \"block8,block16\"; "
		"by default the slowest stage is made as fast as possible",
		NULL, 0, 0},
	ACCUMULATE_OPTIONS("1"),
	{0},
};

const struct pass pass_pipeline = {
	.name = "pipeline",
	.family = "parallelize",
	.summary = "pipeline parallelism: divide the step into stages of consecutive ops, each on "
		   "its own devices, and the batch into micro-batches",
	.options = options,
	.needs = "no-calls",
	.provides = "axes",
	.conflicts = "fused,sharded",
	.run = run,
	.keeps_bits = true,
};
