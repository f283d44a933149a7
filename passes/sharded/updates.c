#include "passes/sharded/updates.h"

#include "ir/base/alloc.h"
#include "ir/memory/issue.h"

/* All arrays are by op->id. */
struct updates {
	const struct ir_module *m;
	const struct ir_numbering *order;
	bool *own; /* belongs to the optimizer: done once, and only updates and outputs need it */
	bool *moved;
	uint32_t *missing; /* number of operands that depend on gradients which have not arrived */
};

static bool
is_message(const struct ir_module *m, const struct ir_op *op)
{
	return op_is(op, TRAIT_PARALLEL) && !m->axis[ir_attr_int(op, "axis", 0)].time;
}

/* Is the op needed for updates, and otherwise for outputs only? */
static bool
is_own(const struct updates *u, const struct ir_op *op)
{
	bool used = op->code == OP_update;

	if (op_is(op, TRAIT_NAMED) || op->body || is_message(u->m, op) || issue_op_axes(u->m, op))
		return false;
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES (use, &op->result[i]) {
			if (!u->own[use->op->id] && use->op->code != OP_output)
				return false;
			used = used || u->own[use->op->id];
		}
	return used;
}

static bool
follows_from_gradient(const struct updates *u, const struct ir_value *v)
{
	return v->op && (v->op->code == OP_reducescatter || u->missing[v->op->id]);
}

struct updates *
updates_create(const void *owner, const struct ir_module *m, const struct ir_numbering *order)
{
	struct updates *u = NEW(owner, struct updates);

	u->m = m;
	u->order = order;
	u->own = ARRAY_ZERO(u, bool, m->op_ids);
	u->moved = ARRAY_ZERO(u, bool, m->op_ids);
	u->missing = ARRAY_ZERO(u, uint32_t, m->op_ids);
	for (uint32_t i = order->n; i-- > 0;)
		u->own[order->op[i]->id] = is_own(u, order->op[i]);
	for (uint32_t i = 0; i < order->n; i++)
		for (int k = 0; k < order->op[i]->noperands; k++)
			u->missing[order->op[i]->id] +=
				follows_from_gradient(u, ir_operand(order->op[i], k));
	return u;
}

bool
updates_has(const struct updates *u, const struct ir_op *op)
{
	return u->own[op->id];
}

static bool
is_before(const struct updates *u, const struct ir_op *op, const struct ir_op *at)
{
	return u->moved[op->id] || ir_number(u->order, op) < ir_number(u->order, at);
}

/* Can the op be moved before `at`? Its operands must be available there, or be movable
 * themselves. */
static bool
may_move(const struct updates *u, const struct ir_op *op, const struct ir_op *at)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *maker = ir_operand(op, i)->op;
		if (!maker || is_before(u, maker, at))
			continue;
		if (!u->own[maker->id] || u->missing[maker->id] || !may_move(u, maker, at))
			return false;
	}
	return true;
}

static void
move(struct updates *u, struct ir_op *op, struct ir_op *at)
{
	for (int i = 0; i < op->noperands; i++) {
		struct ir_op *maker = ir_operand(op, i)->op;
		if (maker && !is_before(u, maker, at))
			move(u, maker, at);
	}
	ir_op_unlink(op);
	ir_insert_before(at, op);
	u->moved[op->id] = true;
}

void
updates_arrive(struct updates *u, const struct ir_value *v, struct ir_op *at)
{
	IR_FOR_USES (use, v) {
		struct ir_op *op = use->op;
		if (!u->own[op->id] || u->moved[op->id] || --u->missing[op->id] ||
			!may_move(u, op, at))
			continue;
		move(u, op, at);
		for (int i = 0; i < op->nresults; i++)
			updates_arrive(u, &op->result[i], at);
	}
}
