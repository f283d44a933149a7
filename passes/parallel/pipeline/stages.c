/* Stages of ops: which ops are divided, what they take on the devices of each stage, and where
 * other ops go. See pipeline.c. */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/pipeline/pipeline.h"

#include <inttypes.h>
#include <math.h>

enum {
	PASSES = 3, /* a forward product, and two for its gradient */
	COPIES = 4, /* a param, its gradient, and two states, as for Adam */
};

/* What an op depends on. */
enum { ON_INPUT = 1, ON_PARAM = 2 };

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

/* Sets the position of an op outside of the line to that of its first reader. */
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

/* The line: ops that depend on inputs and on params or, in a module without params, on inputs. */
void
pipeline_make_line(struct pipeline *p)
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
	find_readers(p);
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Seconds of sending the value to the stage from the previous one, for all micro-batches. */
static double
send_seconds(const struct pipeline *p, struct parallel_costs *costs, const struct ir_type *t,
	uint32_t stage)
{
	struct ir_type from = *t, to = *t;

	from.axis[p->axis] = (struct ir_state){.kind = IR_SINGLE, .order = (uint16_t)(stage - 1)};
	to.axis[p->axis] = (struct ir_state){.kind = IR_SINGLE, .order = (uint16_t)stage};
	return parallel_costs_reshard(
		costs, ir_type_intern(p->m->ctx, &from), ir_type_intern(p->m->ctx, &to));
}

/* Adds the messages to the stage of what the op makes for later ops, as changes of a sum along the
 * line. */
static void
add_messages(const struct pipeline *p, struct parallel_costs *costs, const struct ir_op *op,
	uint32_t stage, double *change)
{
	for (int i = 0; i < op->nresults; i++) {
		int32_t last = p->at[op->id];
		IR_FOR_USES (u, &op->result[i])
			if (p->at[u->op->id] != PIPELINE_UNREAD && p->at[u->op->id] > last)
				last = p->at[u->op->id];
		if (last == p->at[op->id])
			continue;
		const double t =
			2 * send_seconds(p, costs, op->result[i].type, stage); /* and back */
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

/* Seconds of the messages to a stage, by the op of the line with which the stage begins. */
static const double *
weigh_messages(const struct pipeline *p, struct parallel_costs *costs, uint32_t stage)
{
	const struct ir_axis *a = &p->m->axis[p->axis];
	const uint32_t n = p->line.n;
	double *cut = ARRAY_ZERO(p->run->scratch, double, n + 2), sum = 0;

	if (!costs || !stage || stage >= (uint32_t)ir_axis_stages(a) ||
		ir_axis_place(a, (uint16_t)(stage - 1)) == ir_axis_place(a, (uint16_t)stage))
		return cut;
	IR_FOR_OPS (op, p->block)
		if (p->needs[op->id] && p->at[op->id] != PIPELINE_UNREAD)
			add_messages(p, costs, op, stage, cut);
	for (uint32_t i = 1; i < n; i++)
		cut[i] = sum += cut[i];
	cut[n] = 0;
	return cut;
}

/* Seconds of the kernels on the devices of a stage; the slowest device counts. */
static const double *
weigh_kernels(const struct pipeline *p, struct parallel_costs *costs, uint32_t stage)
{
	const uint32_t nkinds = costs ? cost_model_cluster(p->run->cost)->nkinds : 1;
	const uint32_t place = ir_axis_place(&p->m->axis[p->axis], (uint16_t)stage);
	double *work = ARRAY_ZERO(p->run->scratch, double, p->line.n);
	double *by_kind = ARRAY_NEW(p->run->scratch, double, p->line.n);

	for (uint32_t kind = 0; kind < nkinds; kind++) {
		if (costs && !parallel_costs_use(costs, p->axis, place, kind))
			continue;
		for (uint32_t i = 0; i < p->line.n; i++)
			by_kind[i] = 0;
		IR_FOR_OPS (op, p->block)
			if (p->at[op->id] != PIPELINE_UNREAD)
				by_kind[p->at[op->id]] +=
					PASSES * (costs ? parallel_costs_op(costs, op) : 1);
		for (uint32_t i = 0; i < p->line.n; i++)
			work[i] = fmax(work[i], by_kind[i]);
	}
	return work;
}

/* Bytes of the devices at that position of the axis with the least memory; INFINITY: not known. */
static double
place_memory(const struct pipeline *p, struct parallel_costs *costs, uint32_t place)
{
	const struct cost_model *model = p->run->cost;
	const uint64_t budget = pass_budget(p->run);
	double memory = INFINITY;

	if (budget)
		return (double)budget;
	if (!costs || !cost_model_is_described(model))
		return memory;
	for (uint32_t kind = 0; kind < cost_model_cluster(model)->nkinds; kind++)
		if (parallel_costs_use(costs, p->axis, place, kind))
			memory = fmin(memory, cost_model_cluster(model)->kind[kind]->memory);
	return memory;
}

/* The first stage whose devices are of the same kinds. */
static uint32_t
first_alike(const struct pipeline *p, struct parallel_costs *costs, uint32_t stage)
{
	const struct ir_axis *a = &p->m->axis[p->axis];
	const uint32_t nkinds = costs ? cost_model_cluster(p->run->cost)->nkinds : 0;

	for (uint32_t s = 0; s < stage; s++) {
		bool same = true;
		for (uint32_t kind = 0; kind < nkinds && same; kind++)
			same = parallel_costs_use(costs, p->axis, ir_axis_place(a, (uint16_t)s),
				       kind) == parallel_costs_use(costs, p->axis,
							ir_axis_place(a, (uint16_t)stage), kind);
		if (same)
			return s;
	}
	return stage;
}

struct pipeline_line *
pipeline_weigh(const struct pipeline *p, struct pipeline_room room)
{
	struct pipeline_line *l = NEW(p->run->scratch, struct pipeline_line);
	struct parallel_costs *costs =
		p->run->cost ? parallel_costs_create(l, p->run->cost, p->m, NULL) : NULL;
	const struct ir_axis *a = &p->m->axis[p->axis];
	const uint32_t n = p->line.n, stages = (uint32_t)ir_axis_stages(a);
	const bool values = pass_enum(p->run, "memory") == PIPELINE_VALUES;

	*l = (struct pipeline_line){n, stages, (uint32_t)pass_int(p->run, "steps"),
		ARRAY_NEW(l, const double *, stages), ARRAY_NEW(l, const double *, stages + 1),
		ARRAY_ZERO(l, double, n), ARRAY_ZERO(l, double, n), ARRAY_NEW(l, double, stages),
		INFINITY};
	if (p->run->cost && !costs)
		return NULL;
	IR_FOR_OPS (op, p->block) {
		const int32_t at = p->at[op->id];
		if (at == PIPELINE_UNREAD)
			continue;
		l->fixed[at] += op->code == OP_param ? COPIES * local_bytes(p, op) : 0;
		l->kept[at] += is_leaf(op) || !values ? 0 : local_bytes(p, op);
	}
	for (uint32_t k = 0; k < stages; k++) {
		const uint32_t alike = first_alike(p, costs, k);
		const double memory = place_memory(p, costs, ir_axis_place(a, (uint16_t)k));
		l->work[k] = alike < k ? l->work[alike] : weigh_kernels(p, costs, k);
		l->cut[k] = weigh_messages(p, costs, k);
		/* A device may have several stages, each with a share of its memory. */
		l->memory[k] =
			(isfinite(memory) ? memory : room.memory) * room.share * a->size / stages;
		l->least = fmin(l->least, memory);
	}
	l->cut[stages] = weigh_messages(p, costs, stages);
	return l;
}

/* ---- stages of ops --------------------------------------------------------------------------- */

/* Sets the stage of the op, and of its operands that have no stage. */
static bool
set_stage(struct pipeline *p, struct ir_op *op, int stage)
{
	if (p->stage[op->id] != PIPELINE_NOWHERE || !p->needs[op->id])
		return false;
	p->stage[op->id] = stage;
	for (int i = 0; i < op->noperands; i++)
		set_stage(p, ir_operand(op, i)->op, stage);
	return true;
}

/* Sets stages of ops that no op of the line reads: they read a value, or compute a state, that has
 * a stage. */
static bool
settle(struct pipeline *p)
{
	bool changed = false;

	IR_FOR_OPS (op, p->block) {
		int last = PIPELINE_NOWHERE;
		for (int i = 0; i < op->noperands; i++) {
			const int stage = p->stage[ir_operand(op, i)->op->id];
			last = stage > last ? stage : last;
		}
		if (last != PIPELINE_NOWHERE && op->code == OP_update)
			for (int i = 0; i < op->noperands; i++)
				changed = set_stage(p, ir_operand(op, i)->op, last) || changed;
		else if (last != PIPELINE_NOWHERE && !op_is(op, TRAIT_EFFECT))
			changed = set_stage(p, op, last) || changed;
	}
	return changed;
}

void
pipeline_set_stages(struct pipeline *p, const uint32_t *first, uint32_t stages)
{
	IR_FOR_OPS (op, p->block) {
		int stage = p->at[op->id] == PIPELINE_UNREAD || !p->needs[op->id] ? PIPELINE_NOWHERE
										  : 0;
		while (stage != PIPELINE_NOWHERE && (uint32_t)stage + 1 < stages &&
			(uint32_t)p->at[op->id] >= first[stage + 1])
			stage++;
		p->stage[op->id] = stage;
	}
	while (settle(p))
		;
}

/* ---- remarks --------------------------------------------------------------------------------- */

void
pipeline_tell_stages(const struct pipeline *p, const struct pipeline_line *l, const uint32_t *first)
{
	double all = 0;

	for (uint32_t k = 0; k < l->stages; k++)
		for (uint32_t i = first[k]; i < (k + 1 < l->stages ? first[k + 1] : l->n); i++)
			all += l->work[k][i];
	for (uint32_t k = 0; k < l->stages; k++) {
		const uint32_t end = k + 1 < l->stages ? first[k + 1] : l->n;
		double work = 0, fixed = 0;
		char bytes[NUMBER_TEXT];
		for (uint32_t i = first[k]; i < end; i++) {
			work += l->work[k][i];
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
				"param %s of stage %d is also read in other stages: it is sent to them, and "
				"its gradient back, once per step",
				op->symbol, p->stage[op->id]);
}

double *
pipeline_fixed_bytes(const struct pipeline *p, const struct pipeline_line *l, const uint32_t *first)
{
	double *fixed = ARRAY_ZERO(p->run->scratch, double, l->stages);

	for (uint32_t k = 0; k < l->stages; k++)
		for (uint32_t i = first[k]; i < (k + 1 < l->stages ? first[k + 1] : l->n); i++)
			fixed[k] += l->fixed[i];
	return fixed;
}
