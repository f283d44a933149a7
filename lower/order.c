/*
 * Order of issue. The order of the text is kept but for ops without slices in time that stand among
 * ops with slices: a loop runs all its ops many times, so what it does not depend on goes before it
 * and what depends on its results behind it.
 *
 *     a(mb)  w  b(mb)  r = reduce(mb)  c(r)  d(mb)      ->      w  loop { a b r d }  c
 */
#include "lower/plan_build.h"

#include <talloc.h>

enum where { BEFORE, BEHIND }; /* of the open loop */

struct sorter {
	struct ir_module *m;
	struct order *o;
	const struct ir_op **body, **behind;
	int nbody, nbehind;
	uint32_t over; /* axes of the open loop; 0: none is open */
	uint8_t *late; /* by op->order: its results are there only behind the open loop */
};

uint32_t
lower_time_set(const struct ir_module *m, const struct ir_type *t)
{
	uint32_t set = 0;

	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time &&
			(t->axis[a].kind == IR_SPLIT || t->axis[a].kind == IR_PARTIAL))
			set |= 1u << a;
	return set;
}

int64_t
lower_set_size(const struct ir_module *m, uint32_t axes)
{
	int64_t n = 1;

	for (int a = 0; a < m->naxes; a++)
		if (axes >> a & 1)
			n *= m->axis[a].size;
	return n;
}

/* Time axes in whose iterations an op runs. What lives outside a step runs in none. */
static uint32_t
op_time(const struct ir_module *m, const struct ir_op *op)
{
	uint32_t set = 0;

	if (op_is(op, EFFECT) || op_is(op, PERSISTENT) || op->code == OP_input)
		return 0;
	for (int i = 0; i < op->noperands; i++)
		set |= lower_time_set(m, ir_operand_type(op, i));
	for (int i = 0; i < op->nresults; i++)
		set |= lower_time_set(m, op->result[i].type);
	return set;
}

static void
emit(struct sorter *s, const struct ir_op *op, int loop)
{
	s->o->item[s->o->nitems++] = (struct order_item){op, loop};
}

static void
close_loop(struct sorter *s)
{
	if (!s->over)
		return;
	s->o->over = talloc_realloc(NULL, s->o->over, uint32_t, (size_t)s->o->nloops + 1);
	s->o->over[s->o->nloops] = s->over;
	for (int i = 0; i < s->nbody; i++)
		emit(s, s->body[i], s->o->nloops);
	for (int i = 0; i < s->nbehind; i++)
		emit(s, s->behind[i], -1);
	for (int i = 0; i < s->nbody; i++)
		s->late[s->body[i]->order] = 0;
	for (int i = 0; i < s->nbehind; i++)
		s->late[s->behind[i]->order] = 0;
	s->o->nloops++;
	s->nbody = s->nbehind = 0;
	s->over = 0;
}

/* Does op read what is there only behind the open loop? */
static bool
reads_late(const struct sorter *s, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *maker = ir_operand(op, i)->op;
		if (maker && s->late[maker->order])
			return true;
	}
	return false;
}

/* Is the result complete only when the loop is done: is a time axis gone? */
static bool
ends_axis(const struct sorter *s, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		if (lower_time_set(s->m, op->result[i].type) != s->over)
			return true;
	return false;
}

static void
place(struct sorter *s, const struct ir_op *op)
{
	const uint32_t time = op_time(s->m, op);
	const bool late = s->over && reads_late(s, op);

	if (!time) {
		if (late) {
			s->behind[s->nbehind++] = op;
			s->late[op->order] = 1;
		} else {
			emit(s, op, -1);
		}
		return;
	}
	if (s->over && (time != s->over || late))
		close_loop(s);
	s->over = time;
	s->body[s->nbody++] = op;
	s->late[op->order] = ends_axis(s, op);
}

struct order
order_create(const void *owner, struct ir_func *main)
{
	const size_t n = ir_block_number(&main->body);
	struct order o = {0};
	void *scratch = talloc_new(NULL);
	struct sorter s = {.m = main->module, .o = &o};

	o.item = talloc_array(owner, struct order_item, n + 1);
	s.body = talloc_array(scratch, const struct ir_op *, n + 1);
	s.behind = talloc_array(scratch, const struct ir_op *, n + 1);
	s.late = talloc_zero_array(scratch, uint8_t, n + 1);
	if (!o.item || !s.body || !s.behind || !s.late)
		out_of_memory();
	IR_FOR_OPS (op, &main->body)
		place(&s, op);
	close_loop(&s);
	talloc_steal(owner, o.over);
	talloc_free(scratch);
	return o;
}
