/*
 * overlap: computation during messages of activations. A message between two products, as tensor
 * parallelism has them, is waited for by the next op of the text. An op that stands before the
 * message and does not lead to it, such as the product for the gradient of a weight, is issued
 * after it is posted:
 *
 *     %w = contract(%d, %a)  %e = matmul(%d, %v)  %s = allreduce(%e)  ... %s ...
 *     %e = matmul(%d, %v)  %s = allreduce(%e)  %w = contract(%d, %a)  ... %s ...
 *
 * That is what Megatron-LM does with the gradient of an input that is split over tensor-parallel
 * devices (Narayanan et al., arXiv:2104.04473; "async tensor-model-parallel allreduce").
 *
 * Right because ops move only past ops that do not depend on them: no ancestor of the message
 * moves, and moved ops keep their order. An op moves once, from between the previous message and
 * this one, so that operands live only a little longer. Where a step with all moves would exceed
 * the available memory, or would take longer than without any, as a message that needs a moved op is
 * late, ops stay before the messages for which most bytes would have to wait
 * (passes/analysis/cost/trial.h). With a cost model the
 * step never gets slower.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/vec.h"
#include "ir/memory/storage.h"
#include "passes/analysis/cost/limit.h"
#include "passes/analysis/cost/trial.h"
#include "passes/pass.h"

#include <math.h>
#include <talloc.h>

struct costs VEC(uint64_t);

struct mover {
	struct pass_run *run; /* NULL: a trial, without statistics */
	struct ir_module *m;
	uint32_t batch;      /* set of axes over which dim 0 of an input is split */
	bool *leads;         /* by op->id: the current message depends on it */
	bool *moved;         /* by op->id: an op moves once, or all ops would collect at the end */
	uint64_t allowed;    /* bytes that may wait for a message: operands of moved ops */
	struct costs *costs; /* those bytes, recorded per message; NULL: not wanted */
	const void *owner;   /* of those */
};

/* Is the op computed for each slice of the batch? Params and their gradients are not. */
static bool
is_activation(const struct mover *v, const struct ir_op *op)
{
	const struct ir_type *t = ir_operand_type(op, 0);

	for (int a = 0; a < v->m->naxes; a++)
		if (v->batch >> a & 1 && t->axis[a].kind == IR_SPLIT)
			return true;
	return false;
}

static uint32_t
batch_axes(const struct ir_module *m, const struct ir_block *b)
{
	uint32_t set = 0;

	IR_FOR_OPS (op, b)
		for (int a = 0; a < m->naxes && op->code == OP_input; a++)
			set |= op->result[0].type->axis[a].kind == IR_SPLIT &&
					       op->result[0].type->axis[a].dim == 0
				       ? 1u << a
				       : 0;
	return set;
}

static bool
is_message(const struct mover *v, const struct ir_op *op)
{
	return op->noperands && storage_is_message(v->m, op) && is_activation(v, op);
}

static void
mark_operands(struct mover *v, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++)
		if (ir_operand(op, i)->op)
			v->leads[ir_operand(op, i)->op->id] = true;
}

/* Does the op take time to compute? */
static bool
is_work(const struct ir_op *op)
{
	return op->nresults && !op_is(op, TRAIT_EFFECT | TRAIT_NAMED | TRAIT_PARALLEL);
}

/* Does the op, between an earlier message and this one, move after this one? */
static bool
moves(const struct mover *v, const struct ir_op *op)
{
	return op->noperands && !v->leads[op->id] && !v->moved[op->id];
}

/* Marks the ops that lead to the message, back to `before`; returns the bytes of the moved ops'
 * operands. */
static uint64_t
bytes_after(struct mover *v, const struct ir_op *before, const struct ir_op *message)
{
	uint64_t bytes = 0;

	mark_operands(v, message);
	for (const struct ir_op *op = message->prev; op && op != before; op = op->prev)
		if (v->leads[op->id])
			mark_operands(v, op);
		else if (moves(v, op))
			for (int i = 0; i < op->noperands; i++)
				bytes +=
					(uint64_t)ir_type_local_bytes(v->m, ir_operand_type(op, i));
	return bytes;
}

/* Moves ops from between an earlier message and this one past this one; returns how many of them
 * compute. */
static uint32_t
move_after(struct mover *v, const struct ir_op *before, struct ir_op *message)
{
	const uint64_t bytes = bytes_after(v, before, message);
	uint32_t moved = 0;

	if (v->costs)
		VEC_PUSH(v->owner, v->costs, bytes);
	if (bytes > v->allowed)
		return 0;
	for (struct ir_op *op = message->prev, *next; op && op != before; op = next) {
		next = op->prev;
		if (!moves(v, op))
			continue;
		v->moved[op->id] = true;
		ir_op_unlink(op);
		ir_insert_after(message, op);
		moved += is_work(op);
	}
	return moved;
}

static void
move_all(struct mover v)
{
	void *scratch = alloc_scratch(NULL);
	struct ir_block *block = &ir_func_find(v.m, "main")->body;
	const struct ir_op *before = NULL;

	v.batch = batch_axes(v.m, block);
	v.leads = ARRAY_ZERO(scratch, bool, v.m->op_ids);
	v.moved = ARRAY_ZERO(scratch, bool, v.m->op_ids);
	IR_FOR_OPS_SAFE (op, block)
		if (is_message(&v, op)) {
			const uint32_t moved = before ? move_after(&v, before, op) : 0;
			if (moved && v.run)
				pass_count(v.run, "op(s) issued after a message", (int)moved);
			before = op;
		}
	talloc_free(scratch);
}

static void
move_on(void *data, struct ir_module *m, uint64_t allowed)
{
	(void)data;
	move_all((struct mover){.m = m, .allowed = allowed});
}

/* The bytes that wait for each message if all ops move, ascending. */
static void
list_costs(const struct pass_run *run, struct ir_module *m, struct costs *costs)
{
	struct ir_saved *saved = ir_saved_create(NULL, m);

	move_all((struct mover){
		.m = m, .allowed = TRIAL_ALL, .costs = costs, .owner = run->scratch});
	ir_saved_restore(saved);
	talloc_free(saved);
	sort_uint64(costs->at, (size_t)costs->n);
}

/*
 * The number of waiting bytes of the best step that fits. If moving all ops does not take longer
 * than moving none, the largest number that fits and takes no longer; else the one of the fastest
 * step. Which of these does not depend on the limit, so that more memory never gives a slower step.
 * *any: some step is as good as the unchanged one. False: reported.
 */
static bool
find_allowed(const struct pass_run *run, struct ir_module *m, uint64_t limit, uint64_t *allowed,
	bool *any)
{
	struct trial_base base;
	struct costs costs = {0};
	struct trial_result r;

	list_costs(run, m, &costs);
	*allowed = TRIAL_ALL;
	*any = true;
	if (!costs.n || !costs.at[costs.n - 1]) /* no op with operands moves */
		return true;
	if (!trial_begin(&base, run, m))
		return false;
	struct trial t = {.base = &base,
		.apply = move_on,
		.amount = costs.at,
		.namounts = (uint32_t)costs.n,
		.or_as_before = true};
	trial_apply(&t, TRIAL_ALL);
	const bool measured = trial_measure(&base, m, &r);
	ir_saved_restore(base.saved);
	if (!measured)
		return false;
	t.all_first = r.seconds <= base.seconds;
	t.less_is_faster = !t.all_first;
	if (t.all_first && limit == UINT64_MAX)
		return true;
	/* Steps that take as long as the unchanged one are as good. */
	t.beat = base.seconds > 0 ? nextafter(base.seconds, INFINITY) : 0;
	return trial_fit(&t, limit, allowed, &r, any);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	const uint64_t limit =
		cost_memory_limit(run->cost, pass_budget(run), pass_float(run, "margin"));
	uint64_t allowed = TRIAL_ALL;
	bool any = true;

	if ((limit != UINT64_MAX || run->cost) && !find_allowed(run, m, limit, &allowed, &any))
		return false;
	if (any)
		move_all((struct mover){.run = run, .m = m, .allowed = allowed});
	return true;
}

static const struct pass_option options[] = {COST_MARGIN_OPTION, {0}};

const struct pass pass_overlap = {
	.name = "overlap",
	.family = "fusion",
	.summary =
		"move computation that does not depend on a collective of activations after it, so that both overlap",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
