/*
 * overlap: computation beside messages of activations. A message between two products, as tensor
 * parallelism has them, is waited for by the next op of the text. What stands before it and does
 * not lead to it, such as the product for the gradient of a weight, is issued after it is posted:
 *
 *     %w = contract(%d, %a)  %e = matmul(%d, %v)  %s = allreduce(%e)  ... %s ...
 *     %e = matmul(%d, %v)  %s = allreduce(%e)  %w = contract(%d, %a)  ... %s ...
 *
 * That is what Megatron-LM does with the gradient of an input that is split over tensor-parallel
 * devices (Narayanan et al., arXiv:2104.04473; "async tensor-model-parallel allreduce").
 *
 * Right because ops move only behind ops that do not depend on them: what moves has no ancestor of
 * the message, and it keeps its order. An op moves once, from between the message before and this
 * one, so that operands live hardly longer.
 */
#include "ir/base/alloc.h"
#include "ir/memory/storage.h"
#include "passes/pass.h"

struct mover {
	const struct ir_module *m;
	uint32_t batch; /* set of axes over which dim 0 of an input is split */
	bool *leads;    /* by op->id: to the message at hand */
	bool *moved;    /* likewise; once is enough, or all would gather at the end */
};

/* Of what is computed for each slice of the batch: no params, no gradients of params. */
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

/* Does the op compute what takes time? */
static bool
is_work(const struct ir_op *op)
{
	return op->nresults && !op_is(op, TRAIT_EFFECT | TRAIT_NAMED | TRAIT_PARALLEL);
}

/* Moves what stands between an earlier message (NULL: the begin) and this one behind it; returns
 * how many ops compute. */
static uint32_t
move_behind(struct mover *v, const struct ir_op *before, struct ir_op *message)
{
	uint32_t moved = 0;

	mark_operands(v, message);
	for (struct ir_op *op = message->prev, *next; op && op != before; op = next) {
		next = op->prev;
		if (v->leads[op->id]) {
			mark_operands(v, op);
		} else if (op->noperands && !v->moved[op->id]) {
			v->moved[op->id] = true;
			ir_op_unlink(op);
			ir_insert_after(message, op);
			moved += is_work(op);
		}
	}
	return moved;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct ir_block *block = &ir_func_find(m, "main")->body;
	struct mover v = {m, batch_axes(m, block), ARRAY_ZERO(run->scratch, bool, m->op_ids),
		ARRAY_ZERO(run->scratch, bool, m->op_ids)};
	const struct ir_op *before = NULL;

	IR_FOR_OPS_SAFE (op, block)
		if (is_message(&v, op)) {
			const uint32_t moved = before ? move_behind(&v, before, op) : 0;
			if (moved)
				pass_count(run, "op(s) issued after a message", (int)moved);
			before = op;
		}
	return true;
}

const struct pass pass_overlap = {
	.name = "overlap",
	.family = "fusion",
	.summary = "issue computation that a message of activations does not need after it",
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
