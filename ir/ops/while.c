/* while: how often it runs, and one iteration as a step of its own. See while.h. */
#include "ir/ops/while.h"

#include "ir/base/alloc.h"

#include <talloc.h>

int64_t
while_trips(const struct ir_op *op)
{
	return op->code == OP_while ? ir_attr_int(op, "trips", WHILE_TRIPS) : 1;
}

/* The ops of the body with what replaces its values: copy[], by id. */
static void
copy_ops(struct ir_module *to, struct ir_block *main, const struct ir_block *body,
	struct ir_value **copy)
{
	for (const struct ir_op *op = body->first; op != body->last; op = op->next) {
		struct ir_value **operand = NEW_ARRAY(NULL, struct ir_value *, op->noperands + 1u);
		for (int i = 0; i < op->noperands; i++)
			operand[i] = copy[ir_operand(op, i)->id];
		struct ir_op *new = ir_op_clone(to, op, operand);
		talloc_free(operand);
		ir_block_append(main, new);
		for (int i = 0; i < op->nresults; i++)
			copy[op->result[i].id] = &new->result[i];
	}
}

struct ir_module *
while_step(const void *owner, const struct ir_module *m, const struct ir_op *op,
	const struct ir_value ***carried)
{
	struct ir_module *to = ir_module_create(owner, m->ctx, m->name);
	struct ir_block *main = &ir_func_create(to, "main", op->loc)->body;
	struct ir_value **copy = ARRAY_ZERO(NULL, struct ir_value *, m->value_ids);
	const struct ir_value **states = NEW_ARRAY(to, const struct ir_value *, op->noperands + 1u);

	for (int i = 0; i < op->noperands; i++) {
		struct ir_op *state = ir_op_create(to, OP_state, op->loc, NULL, 0, NULL, 0, 1);
		char *symbol = TEXT(NULL, "carried%d", i);
		state->symbol = ir_name(m->ctx, symbol);
		talloc_free(symbol);
		state->result[0].type = op->body->arg[i].type;
		state->result[0].name = op->body->arg[i].name;
		ir_block_append(main, state);
		states[i] = copy[op->body->arg[i].id] = &state->result[0];
	}
	copy_ops(to, main, op->body, copy);
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_value *next = ir_operand(op->body->last, i);
		if (next == &op->body->arg[i])
			continue;
		struct ir_value *pair[] = {copy[op->body->arg[i].id], copy[next->id]};
		ir_block_append(main, ir_op_create(to, OP_update, op->loc, pair, 2, NULL, 0, 0));
	}
	array_free(copy);
	*carried = states;
	return to;
}
