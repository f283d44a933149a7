/* Sends between stages, and the types that say where ops are. See pipeline.c. */
#include "ir/base/alloc.h"
#include "passes/parallel/pipeline/pipeline.h"

#include <stdlib.h>

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
	struct pipeline_copy *c = NEW(p->run->scratch, struct pipeline_copy);

	*c = (struct pipeline_copy){stage, v, p->copies[of->id]};
	p->copies[of->id] = c;
	return v;
}

/* v at the stage: sent from the nearest stage that has it, or without a message if it is there
 * already. */
static struct ir_value *
sent_value(struct pipeline *p, struct ir_value *v, int stage)
{
	struct ir_value *near = v;
	int from = p->stage[v->op->id];

	for (const struct pipeline_copy *c = p->copies[v->id]; c; c = c->next)
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

/* Values that depend on no input, param or state are computed in the stage that reads them. */
static struct ir_value *
made_value(struct pipeline *p, struct ir_value *v, int stage, struct ir_op *before)
{
	struct ir_op *op = v->op;

	for (const struct pipeline_copy *c = p->copies[v->id]; c; c = c->next)
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

/* Brings operands to the stage of the op; an update is placed where its state is. */
static bool
move_operands(struct pipeline *p, struct ir_op *op)
{
	const int stage =
		op->code == OP_update ? p->stage[ir_operand(op, 0)->op->id] : p->stage[op->id];

	for (int i = 0; i < op->noperands && stage != PIPELINE_NOWHERE; i++) {
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

bool
pipeline_apply_stages(struct pipeline *p)
{
	IR_FOR_OPS (op, p->block)
		if (p->stage[op->id] != PIPELINE_NOWHERE)
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
