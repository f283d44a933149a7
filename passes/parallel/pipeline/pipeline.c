/*
 * pipeline: pipeline parallelism. Divides a forward step into stages, one for each position on a
 * device axis, and the batch into micro-batches (accumulate.h); `grad` makes the backward pass of
 * each stage where the stage is, since the gradient of a send is the send back:
 *
 *     %h = matmul(%x, %w)         %h = matmul(%x, %w) : f32[64/mb,8]@pp=0
 *     %y = matmul(%h, %v)         %s = send(%h) {axis = pp, from = 0, to = 1} : f32[64/mb,8]@pp=1
 *                                 %y = matmul(%s, %v) : f32[64/mb,4]@pp=1
 *
 * What depends on inputs and params is cut where cut.c says, from the times of the cost
 * model for the devices of each stage. Other values, such as params, states, inputs and masks, have
 * the stage of their first reader. Constants are made in every stage that reads them, and values
 * that none of these read, such as a counter, stay on every device. A value that other stages read
 * is sent on from stage to stage. So is a param that several stages share: once per step, and its
 * gradient back.
 *
 * Right because parallelization ops never change what a value means; the verifier infers every
 * layout again.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/parallel/accumulate.h"
#include "passes/parallel/pipeline/pipeline.h"
#include "passes/parallel/pipeline/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

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

/* Can the step be divided? It must be a forward step with no layouts on the axis and no
 * micro-batches. */
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

/* The axis of the stages, declared if the module has none of that name; -1: reported. *o: where the
 * stages are. */
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
	if (error || !pipeline_find_order(
			     run, axis < 0 ? (int)pass_int(run, "devices") : m->axis[axis].size, o))
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

/* ---- stages by name -------------------------------------------------------------------------- */

/* Position of the first reader of a param called `name`, or whose name starts with it and a dot;
 * PIPELINE_UNREAD: none. */
static int32_t
first_reader(const struct pipeline *p, const char *name, size_t length)
{
	int32_t first = PIPELINE_UNREAD;

	IR_FOR_OPS (op, p->block)
		if (op->code == OP_param && !strncmp(op->symbol, name, length) &&
			(!op->symbol[length] || op->symbol[length] == '.') && p->at[op->id] < first)
			first = p->at[op->id];
	return first;
}

/* The cut with the least messages to stage k, at position `at` or before it, down to the nearest
 * earlier first reader of a param. */
static uint32_t
cheapest_cut(const struct pipeline *p, const struct pipeline_line *l, uint32_t k, int32_t at)
{
	int32_t from = 0, best = at;

	IR_FOR_OPS (op, p->block)
		if (op->code == OP_param && p->at[op->id] < at && p->at[op->id] > from)
			from = p->at[op->id];
	for (int32_t i = at; i > from; i--)
		if (l->cut[k][i] < l->cut[k][best])
			best = i;
	return (uint32_t)best;
}

/* The first op of each stage, as named by the option `cut`. False: reported. */
static bool
cut_by_name(const struct pipeline *p, const struct pipeline_line *l, uint32_t *first)
{
	const char *names = pass_string(p->run, "cut");
	uint32_t k = 0;

	first[k++] = 0;
	while (*names) {
		const int length = (int)strcspn(names, ",");
		const int32_t at = first_reader(p, names, (size_t)length);
		if (at == PIPELINE_UNREAD)
			return complain(p->run, "cut",
				TEXT(p->run->scratch, "no op reads a param named %.*s or %.*s.*",
					length, names, length, names));
		const uint32_t cut = cheapest_cut(p, l, k < l->stages ? k : l->stages - 1, at);
		if (k < l->stages && cut <= first[k - 1])
			return complain(p->run, "cut",
				TEXT(p->run->scratch, "nothing is left for the stage before %.*s",
					length, names));
		if (k < l->stages)
			first[k] = cut;
		k++;
		names += names[length] ? length + 1 : length;
	}
	return k == l->stages ||
	       complain(p->run, "cut",
		       TEXT(p->run->scratch,
			       "%" PRIu32 " stages begin at %" PRIu32 " named blocks, not %" PRIu32,
			       l->stages, l->stages - 1, k - 1));
}

/* ---- the step divided ---------------------------------------------------------------------- */

/* Divides the step into stages that fit `room`; *step is the result. Stages begin with `first`.
 * False: reported. */
static bool
divide(struct pass_run *run, struct ir_module *m, int axis, struct pipeline_room room, bool quiet,
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
	p.copies = ARRAY_ZERO(run->scratch, struct pipeline_copy *, p.nvalues);
	for (uint32_t i = 0; i < p.nops; i++)
		p.at[i] = PIPELINE_UNREAD;
	pipeline_make_line(&p);
	if (p.line.n < stages)
		return complain(run, pass_given(run, "stages") ? "stages" : "axis",
			TEXT(run->scratch, "%s, but only %s on both inputs and params",
				number_count(run->scratch, stages, "stage(s)"),
				p.line.n == 1
					? "1 op depends"
					: TEXT(run->scratch, "%" PRId64 " ops depend", p.line.n)));
	const struct pipeline_line *l = pipeline_weigh(&p, room);
	if (!l)
		return false;
	if (pass_given(run, "cut")) {
		if (!cut_by_name(&p, l, first))
			return false;
	} else if (!pipeline_cut(l, first) && !pipeline_is_searched(run)) {
		/* Later passes change what a step keeps in memory, so the step does not yet show
		 * which cut needs least. */
		l = pipeline_weigh(&p, (struct pipeline_room){INFINITY, INFINITY});
		if (!l)
			return false;
		pipeline_cut(l, first);
		pass_remark(run, NULL, PASS_MISSED,
			"no division into stages fits the memory of all %s of the step: stages are "
			"balanced by time alone",
			pass_enum(run, "memory") == PIPELINE_VALUES ? "values" : "params");
	}
	*step = (struct pipeline_step){
		run, m, axis, m->naxes - 1, pipeline_fixed_bytes(&p, l, first), l->least};
	pipeline_set_stages(&p, first, stages);
	if (!pipeline_apply_stages(&p))
		return false;
	if (quiet)
		return true;
	pass_count(run, "stage(s)", stages);
	pipeline_tell_stages(&p, l, first);
	return true;
}

/* Memory that a search makes cuts for, as shares of the available memory or of what the first cut
 * needs: the estimate for a stage is an upper limit, and its time counts only products of the
 * forward pass. */
static const double cuts[] = {INFINITY, 0.5, 0.75, 1, 1.5, 2, 4};

/* Finds a schedule, and the `room` of the cut that it belongs to. False: reported. */
static bool
find_schedule(struct pass_run *run, const struct ir_module *m, int axis,
	struct pipeline_found *found, struct pipeline_room *room)
{
	const uint32_t stages = (uint32_t)ir_axis_stages(&m->axis[axis]);
	uint32_t *before = ARRAY_ZERO(run->scratch, uint32_t, stages),
		 *first = ARRAY_ZERO(run->scratch, uint32_t, stages);

	for (int i = 0; i < (int)(sizeof cuts / sizeof *cuts); i++) {
		struct ir_module *copy = ir_module_clone(run->scratch, m);
		struct pipeline_step step;
		if (!divide(run, copy, axis, (struct pipeline_room){room->memory, cuts[i]}, true,
			    &step, first))
			return false;
		const bool same = i && !memcmp(before, first, stages * sizeof *first);
		if (!same && !pipeline_search(&step, i, found))
			return false;
		memcpy(before, first, stages * sizeof *first);
		talloc_free(copy);
		room->memory = i ? room->memory : found->best.peak;
	}
	room->share = cuts[found->best.cut];
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct pipeline_order order;
	const int axis = stage_axis(run, m, &order);
	struct pipeline_room room = {INFINITY, 1};
	struct pipeline_found found = {0};
	struct pipeline_step step;

	if (axis < 0 || (pass_int(run, "steps") > 1 && !accumulate_split(run, m, false)))
		return false;
	const int time = m->naxes - 1;
	uint32_t *first = ARRAY_NEW(run->scratch, uint32_t, order.stages);
	const bool searched =
		pipeline_is_searched(run) && m->axis[time].time && m->axis[axis].size > 1;
	pipeline_set_order(m, axis, time, &order);
	if (searched && !find_schedule(run, m, axis, &found, &room))
		return false;
	if (searched)
		pipeline_set_order(m, axis, time, &found.best.order);
	if (!divide(run, m, axis, room, false, &step, first))
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
		"number of stages; 0: as many as the schedule has on each device of the axis", NULL,
		0, IR_MAX_AXIS},
	{"devices", PASS_INT, "0",
		"number of devices on the axis, if the pass declares it; 0: one for each "
		"stage, fewer if the schedule has several stages on each",
		NULL, 0, IR_MAX_AXIS},
	{"schedule", PASS_STRING, "",
		"order of micro-batches on each device: gpipe, 1f1b, zb1p, zb2p; interleaved, zbv, vhalf, vmin, dualpipev, "
		"which have several stages on each; cells \"0F0,0B0;1F0,1B0\", or a file NAME.csv of them; search: "
		"the one with the shortest iteration that fits in the memory (-budget, or that of the device); "
		"by default one micro-batch after another",
		NULL, 0, 0},
	{"cut", PASS_STRING, "",
		"blocks that begin the second and later stages, by the names of their params: \"block8,block16\"; "
		"by default the slowest stage is made as fast as possible",
		NULL, 0, 0},
	{"memory", PASS_ENUM, "values",
		"what has to fit into the memory of each stage when the slowest stage is made "
		"as fast as possible: values: everything kept for the backward pass, and "
		"params with their gradients and states; params: the latter alone, for a step "
		"whose values are recomputed (pass recompute)",
		CHOICE_LIST(PIPELINE_MEMORIES), 0, 0},
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
