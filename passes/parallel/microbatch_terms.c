/* The analysis of microbatch.c: which ops have to be computed by micro-batch. */
#include "passes/parallel/microbatch_terms.h"

#include "ir/base/alloc.h"
#include "ir/ops/form.h"

#include <string.h>
#include <talloc.h>

static bool
makes_sum(const struct terms *t, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		if (t->sum[op->result[i].id])
			return true;
	return false;
}

/* Finds the sums over the batch, which are complete at the last micro-batch, and the values
 * computed from them. A value that is handed to all micro-batches again is not one. */
static void
find_sums(struct terms *t)
{
	IR_FOR_OPS (op, t->block)
		for (int i = 0; i < op->nresults; i++) {
			const enum ir_state_kind kind =
				(enum ir_state_kind)terms_state(t, &op->result[i]).kind;
			bool partial = kind == IR_PARTIAL;
			for (int j = 0; j < op->noperands; j++)
				partial = partial &&
					  terms_state(t, ir_operand(op, j)).kind != IR_PARTIAL;
			t->sum[op->result[i].id] =
				partial || ((kind == IR_PARTIAL || kind == IR_SINGLE) &&
						   terms_reads_sum(t, op));
		}
}

/* Is the op affine: does it map averages of its operands to averages of its results? */
static bool
is_affine(const struct terms *t, const struct ir_op *op)
{
	struct form f;
	uint32_t with = 0;

	if (op_is(op, TRAIT_PARALLEL | TRAIT_COPY | TRAIT_EFFECT) || op->code == OP_add ||
		op->code == OP_sub || op->code == OP_reshape)
		return true;
	if (!form_exists((enum op_code)op->code) || op->nresults != 1)
		return false;
	struct arena *a = arena_create(t->m->ctx);
	bool fits = form_make(t->m, a, op, op->result[0].type, &f) &&
		    (f.reduce == REDUCE_NONE || f.reduce == REDUCE_SUM);
	for (int k = 0; fits && k < f.ninputs; k++)
		with |= t->sum[ir_operand(op, k)->id] ? 1u << k : 0;
	for (int i = 0; fits && i < f.nindices; i++)
		fits = !f.at[i] || expr_linearity(f.at[i], with) == LINEAR_CONST;
	fits = fits && expr_linearity(f.body, with) == LINEAR_YES;
	talloc_free(a);
	return fits;
}

static bool
is_read_by(const struct ir_op *op, const bool *set)
{
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (u, &op->result[i])
			if (set[u->op->id])
				return true;
	return false;
}

/* The output "loss", or the only one. */
static const struct ir_op *
find_loss(const struct ir_block *block)
{
	const struct ir_op *found = NULL;
	int n = 0;

	IR_FOR_OPS (op, block) {
		if (op->code != OP_output)
			continue;
		if (!strcmp(op->symbol, "loss"))
			return op;
		found = op;
		n++;
	}
	return n == 1 ? found : NULL;
}

/* The ops on the way to the loss, from the last to the first. */
static void
find_terms(struct terms *t)
{
	bool *leads = ARRAY_ZERO(t, bool, t->m->op_ids);

	for (struct ir_op *op = t->block->last; op; op = op->prev) {
		leads[op->id] = op == t->loss || (makes_sum(t, op) && is_read_by(op, leads));
		if (!leads[op->id] || op == t->loss)
			continue;
		t->bends[op->id] = terms_reads_sum(t, op) && !is_affine(t, op);
		t->nbends += t->bends[op->id];
		t->term[op->id] = t->bends[op->id] || is_read_by(op, t->term);
	}
}

struct terms *
terms_create(const void *owner, const struct ir_module *m, int axis)
{
	struct terms *t = NEW(owner, struct terms);

	*t = (struct terms){
		.m = m, .block = &ir_func_find(m, "main")->body, .axis = axis, .nops = m->op_ids};
	t->loss = find_loss(t->block);
	t->sum = ARRAY_ZERO(t, bool, m->value_ids);
	t->term = ARRAY_ZERO(t, bool, m->op_ids);
	t->bends = ARRAY_ZERO(t, bool, m->op_ids);
	if (!t->loss)
		return t;
	find_sums(t);
	find_terms(t);
	return t;
}

const struct ir_op *
terms_first_bend(const struct terms *t)
{
	IR_FOR_OPS (op, t->block)
		if (t->bends[op->id])
			return op;
	return NULL;
}
