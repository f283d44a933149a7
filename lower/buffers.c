/*
 * Which values share a buffer: views of one tensor; the operand and the result of a collective,
 * where nobody else needs the operand; a param and its new value, where that is made element by
 * element. passes/analysis/memory.c counts by the same rules of sharing and slots, on the module
 * alone; test/cost/memory_test.c compares the two.
 */
#include "lower/plan_build.h"

#include <talloc.h>

static bool
is_single_place(const struct ir_module *m, const struct ir_op *op)
{
	return m->axis[ir_attr_int(op, "axis", 0)].size == 1;
}

bool
plan_is_view(const struct ir_module *m, const struct ir_op *op)
{
	if (op->code == OP_reshape || op->code == OP_stop_gradient)
		return true;
	if (op->code == OP_convert)
		return op->result[0].type == ir_operand_type(op, 0);
	if (!op_is(op, PARALLEL))
		return false;
	if (is_single_place(m, op))
		return true;
	if (m->axis[ir_attr_int(op, "axis", 0)].time)
		return op->code == OP_replicate || op->code == OP_send;
	return op->code == OP_send && ir_attr_int(op, "from", 0) == ir_attr_int(op, "to", 0);
}

static uint32_t
position_of(const struct plan_build *b, const struct ir_op *op)
{
	return b->order->position[op->order];
}

/* The position at which a use reads: an update that copies does so at the end of the step. */
static uint32_t
use_position(const struct plan_build *b, const struct ir_use *u)
{
	if (u->op->code == OP_update && &u->op->operand[1] == u)
		return b->order->n;
	return position_of(b, u->op);
}

/* Does anybody but `op` use what lies in `buffer` at or behind position `at`? */
static bool
used_from(const struct plan_build *b, int32_t buffer, const struct ir_op *op, uint32_t at)
{
	for (int i = 0; i < b->p->nvalues; i++) {
		const struct lower_value *v = &b->p->value[i];
		if (v->buffer != buffer || !v->value)
			continue;
		IR_FOR_USES (u, v->value)
			if (u->op != op && use_position(b, u) >= at &&
				!(u->op->code == OP_update && &u->op->operand[0] == u))
				return true;
	}
	return false;
}

/* Are all readers of the value in the iteration that makes it? Views read for their readers. */
static bool
stays_in_loop(const struct plan_build *b, const struct ir_value *v, const struct issue_loop *loop)
{
	IR_FOR_USES (u, v) {
		if (issue_loop_of(b->order, u->op) != loop)
			return false;
		if (plan_is_view(b->p->module, u->op) &&
			!stays_in_loop(b, &u->op->result[u - u->op->operand], loop))
			return false;
	}
	return true;
}

static enum lower_role
role_of(const struct ir_op *op)
{
	return op->code == OP_input    ? LOWER_INPUT
	       : op_is(op, PERSISTENT) ? LOWER_PERSISTENT
				       : LOWER_TEMP;
}

/* The time axes for which a value needs slots: none if every iteration has done with it what is to
 * be done. */
static uint32_t
slot_axes(const struct plan_build *b, const struct ir_value *v)
{
	const uint32_t time = issue_axes(b->p->module, v->type);
	const struct issue_loop *loop = issue_loop_of(b->order, v->op);
	const bool one =
		role_of(v->op) == LOWER_TEMP && loop->over == time && stays_in_loop(b, v, loop);

	return one ? 0 : time;
}

bool
plan_in_place(const struct plan_build *b, const struct ir_op *op, int r)
{
	const struct lower_plan *p = b->p;

	if (op->code != OP_allreduce && op->code != OP_reduce && op->code != OP_replicate &&
		op->code != OP_send)
		return false;
	if (p->module->axis[ir_attr_int(op, "axis", 0)].time)
		return false;
	const struct lower_value *from = lower_value_of(p, ir_operand(op, r));
	if (from->time != slot_axes(b, &op->result[r]))
		return false;
	for (int i = 0; i < op->noperands; i++)
		if (i != r && lower_value_of(p, ir_operand(op, i))->buffer == from->buffer)
			return false;
	/* A loop would find its own result the second time. */
	const struct issue_loop *loop = issue_loop_of(b->order, op);
	return p->buffer[from->buffer].role == LOWER_TEMP &&
	       (!loop->over || loop == issue_loop_of(b->order, ir_operand(op, r)->op)) &&
	       !used_from(b, from->buffer, op, position_of(b, op));
}

/* Does the op take a constant as a number, whatever its operand's memory? */
static bool
takes_number(const struct ir_use *u)
{
	const struct ir_op *op = u->op;

	if (op->code == OP_stop_gradient || op_is(op, PARALLEL) ||
		(op->code == OP_convert && op->result[0].type == u->value->type))
		return false;
	if (op->code != OP_fuse)
		return form_exists((enum op_code)op->code);
	IR_FOR_USES (inner, &op->body->arg[u - op->operand])
		if (!form_exists((enum op_code)inner->op->code))
			return false;
	return true;
}

/* A constant that only kernels read lies nowhere: they hold it. */
static bool
is_held(const struct ir_op *op)
{
	if (op->code != OP_constant)
		return false;
	IR_FOR_USES (u, &op->result[0])
		if (!takes_number(u))
			return false;
	return true;
}

/* A buffer of its own for a value. */
static void
own_buffer(struct plan_build *b, const struct ir_value *v)
{
	struct lower_plan *p = b->p;
	const uint32_t time = slot_axes(b, v);
	const uint64_t bytes = (uint64_t)ir_type_local_bytes(p->module, v->type);
	const int32_t buffer =
		plan_add_buffer(p, role_of(v->op), v, bytes, issue_turns(p->module, time));
	const int32_t n = plan_add_value(p, v, buffer);

	p->value[n].time = time;
	p->value[n].stride = time ? bytes : 0;
}

static void
share_buffer(struct plan_build *b, const struct ir_value *v, const struct ir_value *with)
{
	const struct lower_value w = *lower_value_of(b->p, with);
	const int32_t n = plan_add_value(b->p, v, w.buffer);

	b->p->value[n].time = w.time;
	b->p->value[n].stride = w.stride;
}

/* The update that gives a param or state its next value. */
static const struct ir_op *
update_of(const struct ir_value *param)
{
	IR_FOR_USES (u, param)
		if (u->op->code == OP_update && &u->op->operand[0] == u)
			return u->op;
	return NULL;
}

/* The param whose next value v is, first of several; NULL: of none. */
static const struct ir_value *
updates_param(const struct ir_value *v)
{
	const struct ir_value *first = NULL;

	IR_FOR_USES (u, v)
		if (u->op->code == OP_update && &u->op->operand[1] == u)
			first = ir_operand(u->op, 0);
	return first;
}

/* Does the kernel of `op` read what lies in `buffer` only where it then writes result r? */
static bool
reads_in_place(struct plan_build *b, const struct ir_op *op, int32_t buffer, int r)
{
	const struct scheme *s = NULL;
	bool safe = true;

	for (int j = 0; j < op->noperands && safe; j++) {
		if (lower_value_of(b->p, ir_operand(op, j))->buffer != buffer)
			continue;
		if (!ir_type_same_meaning(ir_operand_type(op, j), op->result[r].type))
			return false;
		s = s ? s : scheme_create(b->p, b->p->module, b->p->arena, op);
		safe = s && scheme_in_place(s, j, r);
	}
	talloc_free((void *)s);
	return safe;
}

/* May result r of `op` be written where the param lies of which it is the next value? */
static bool
update_in_place(struct plan_build *b, const struct ir_op *op, int r)
{
	const struct ir_value *v = &op->result[r], *param = updates_param(v);

	if (!param || issue_loop_of(b->order, op)->over ||
		!(op->code == OP_fuse || form_exists((enum op_code)op->code)) ||
		op_is(op, PARALLEL))
		return false;
	const struct lower_value *home = lower_value_of(b->p, param);
	if (!home || issue_axes(b->p->module, v->type) || !update_of(param))
		return false;
	for (int i = 0; i < op->nresults; i++)
		if (i != r && lower_value_of(b->p, &op->result[i]) &&
			lower_value_of(b->p, &op->result[i])->buffer == home->buffer)
			return false;
	return !used_from(b, home->buffer, op, position_of(b, op)) &&
	       reads_in_place(b, op, home->buffer, r);
}

static void
place_results(struct plan_build *b, const struct ir_op *op)
{
	for (int r = 0; r < op->nresults; r++)
		((struct ir_value *)&op->result[r])->mark = 0;
	for (int r = 0; r < op->nresults; r++) {
		const struct ir_value *v = &op->result[r];
		if (plan_is_view(b->p->module, op) || plan_in_place(b, op, r))
			share_buffer(b, v, ir_operand(op, r));
		else if (is_held(op))
			plan_add_value(b->p, v, -1);
		else if (update_in_place(b, op, r))
			plan_add_value(b->p, v, lower_value_of(b->p, updates_param(v))->buffer);
		else
			own_buffer(b, v);
	}
}

void
plan_buffers(struct plan_build *b)
{
	const struct issue *o = b->order;

	/* Params first: an op may be put into the place of one that stands behind it. */
	for (uint32_t i = 0; i < o->n; i++)
		if (role_of(o->op[i]) != LOWER_TEMP)
			place_results(b, o->op[i]);
	for (uint32_t i = 0; i < o->n; i++)
		if (role_of(o->op[i]) == LOWER_TEMP)
			place_results(b, o->op[i]);
}
