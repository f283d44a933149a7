/* Loops over time axes, read off the types: see loops.h. */
#include "passes/analysis/loops.h"

#include "passes/analysis/alloc.h"
#include "passes/analysis/cost.h"

static uint32_t
type_axes(const struct ir_module *m, const struct ir_type *t)
{
	uint32_t set = 0;
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time &&
			(t->axis[a].kind == IR_SPLIT || t->axis[a].kind == IR_PARTIAL))
			set |= 1u << a;
	return set;
}

uint32_t
loop_axes(const struct ir_module *m, const struct ir_op *op)
{
	uint32_t set = 0;
	for (int i = 0; i < op->noperands; i++)
		set |= type_axes(m, ir_operand_type(op, i));
	for (int i = 0; i < op->nresults; i++)
		set |= type_axes(m, op->result[i].type);
	return set;
}

uint32_t
loop_turns(const struct ir_module *m, uint32_t over)
{
	uint32_t turns = 1;
	for (int a = 0; a < m->naxes; a++)
		if (over >> a & 1)
			turns *= (uint32_t)m->axis[a].size;
	return turns;
}

uint32_t
loop_map(const struct ir_module *m, uint32_t from, uint32_t t, uint32_t to)
{
	uint32_t result = 0, weight = 1;
	for (int a = m->naxes - 1; a >= 0; a--) {
		uint32_t size = (uint32_t)m->axis[a].size, at = size - 1;
		if (from >> a & 1) {
			at = t % size;
			t /= size;
		}
		if (to >> a & 1) {
			result += at * weight;
			weight *= size;
		}
	}
	return result;
}

uint32_t
loop_list(
	const void *owner, const struct ir_module *m, const struct ir_block *b, struct loop **list)
{
	uint32_t n = 0, room = 8;
	struct loop *loops = NEW_ARRAY(owner, struct loop, room);
	for (const struct ir_op *op = b->first; op; op = op->next) {
		if (cost_op_kind(m, op) == COST_NONE)
			continue;
		uint32_t over = loop_axes(m, op);
		if (n && loops[n - 1].over == over) {
			loops[n - 1].last = op->order;
			continue;
		}
		if (n == room)
			loops = RESIZE(owner, loops, struct loop, room *= 2);
		loops[n++] = (struct loop){over, op->order, op->order, loop_turns(m, over)};
	}
	*list = loops;
	return n;
}
