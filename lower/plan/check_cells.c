/*
 * Loops with a schedule (ir/memory/cells.h): each stage does phases of iterations in an order of its own, and slots
 * are used in turn. What check_memory.c sees of one iteration holds for all if
 *
 *  - a slot is used again only when the iteration before has done with it: what a phase leaves for another one is read
 *    before its stage makes what comes next into that slot; what is received is read before the next post of a message
 *    into it. (What is sent is waited for before its slot is written: step.c.)
 *  - what a phase leaves for another one lives during the whole loop;
 *  - no stage waits for ever: the lines are run on a machine of two queues for each stage, as in
 *    test/lower/plan/deadlock_test.c.
 */
#include "lower/plan/check.h"

#include "ir/base/alloc.h"

#include <talloc.h>

struct run {
	struct check *c;
	const struct issue_loop *l;
	const struct ir_op **op;
	struct cell_message *message;
	uint32_t n; /* messages */
	struct cell_lines *lines;
	uint32_t *place; /* [stages][CELL_PHASES + n][turns] number of the item in the line */
};

/* ---- no stage waits for ever ---- */

struct stage {
	uint32_t next; /* item of its line */
	uint32_t posted, complete;
	uint32_t *queue; /* of items that are messages */
};

static const struct cell_item *
item_of(const struct run *r, uint32_t stage, uint32_t item)
{
	return &r->lines->item[stage][item];
}

static bool
is_complete(
	const struct run *r, const struct stage *s, uint32_t stage, uint32_t message, uint32_t turn)
{
	for (uint32_t i = 0; i < s->complete; i++) {
		const struct cell_item *it = item_of(r, stage, s->queue[i]);
		if (it->message == message && it->cell.turn == turn)
			return true;
	}
	return false;
}

/* May the stage do its next cell: is what it receives there, and are the slots that it sends from free? */
static bool
may_go_on(const struct run *r, const struct stage *s, uint32_t stage, const struct cell_item *it)
{
	for (uint32_t k = 0; k < r->n; k++) {
		const struct cell_message *m = &r->message[k];
		if (cell_does(&it->cell, m->phase) && m->to == stage &&
			!is_complete(r, s, stage, k, it->cell.turn))
			return false;
		/* With one slot, which is the worst. */
		if (m->from == stage && it->cell.phase == CELL_FORWARD && it->cell.turn &&
			m->phase == CELL_FORWARD && !is_complete(r, s, stage, k, it->cell.turn - 1))
			return false;
	}
	return true;
}

static bool
compute(const struct run *r, struct stage *s, uint32_t stage)
{
	if (s->next == r->lines->n[stage])
		return false;
	const struct cell_item *it = item_of(r, stage, s->next);
	if (it->cell.phase == CELL_PHASES)
		s->queue[s->posted++] = s->next;
	else if (!may_go_on(r, s, stage, it))
		return false;
	s->next++;
	return true;
}

/* The first of its queue, with the stage at the other end. */
static bool
communicate(const struct run *r, struct stage *all, uint32_t stage)
{
	struct stage *s = &all[stage];

	if (s->complete == s->posted)
		return false;
	const struct cell_item *it = item_of(r, stage, s->queue[s->complete]);
	const struct cell_message *m = &r->message[it->message];
	const uint32_t at = m->from == stage ? m->to : m->from;
	struct stage *other = &all[at];
	if (other->complete == other->posted)
		return false;
	const struct cell_item *that = item_of(r, at, other->queue[other->complete]);
	if (that->message != it->message || that->cell.turn != it->cell.turn)
		return false;
	s->complete++;
	other->complete++;
	return true;
}

static void
check_ends(const struct run *r)
{
	const uint32_t stages = r->l->cells->stages;
	struct stage *all = ARRAY_ZERO(r->lines, struct stage, stages);
	bool moves = true;

	for (uint32_t s = 0; s < stages; s++)
		all[s].queue = ARRAY_NEW(r->lines, uint32_t, r->lines->n[s] + 1u);
	while (moves) {
		moves = false;
		for (uint32_t s = 0; s < stages; s++)
			while (compute(r, &all[s], s) || communicate(r, all, s))
				moves = true;
	}
	for (uint32_t s = 0; s < stages; s++)
		if (all[s].next < r->lines->n[s] || all[s].complete < all[s].posted)
			FAULT(r->c, r->c->p->storage->order->op[r->l->first],
				"stage %u waits for ever in a loop with a schedule", s);
}

/* ---- slots ---- */

static uint32_t *
place_of(const struct run *r, uint32_t stage, uint32_t phase, uint32_t message, uint32_t turn)
{
	const uint32_t kinds = CELL_PHASES + r->n,
		       kind = phase < CELL_PHASES ? phase : phase + message;

	return &r->place[((size_t)stage * kinds + kind) * r->l->turns + turn];
}

/* Where in the lines everything is. */
static void
find_places(struct run *r)
{
	const uint32_t stages = r->l->cells->stages;

	r->place =
		ARRAY_ZERO(r->lines, uint32_t, (size_t)stages * (CELL_PHASES + r->n) * r->l->turns);
	for (uint32_t s = 0; s < stages; s++)
		for (uint32_t i = 0; i < r->lines->n[s]; i++) {
			const struct cell_item *it = item_of(r, s, i);
			const uint32_t last =
				it->cell.phase < CELL_PHASES ? it->cell.last : CELL_PHASES;
			for (uint32_t phase = it->cell.phase; phase <= last; phase++)
				*place_of(r, s, phase, it->message, it->cell.turn) = i;
		}
}

/* What reads a value, and views of it, last: a phase. */
static void
look_at_users(const struct run *r, const struct ir_value *v, uint8_t *last)
{
	const struct issue *o = r->c->p->storage->order;

	IR_FOR_USES (u, v) {
		if (issue_loop_of(o, u->op) != r->l)
			continue;
		const uint8_t phase = (uint8_t)issue_phase(o, u->op);
		*last = phase > *last ? phase : *last;
		if (check_is_view(r->c->p->module, u->op))
			look_at_users(r, &u->op->result[u - u->op->operand], last);
	}
}

static void
check_slots(const struct run *r, const struct ir_value *v, uint32_t stage, uint32_t message)
{
	const struct lower_plan *p = r->c->p;
	const struct lower_value *x = lower_value_of(p, v);
	const struct issue *o = p->storage->order;
	const uint8_t made = (uint8_t)issue_phase(o, v->op);
	const bool received = message < r->n;
	uint8_t last = made;

	look_at_users(r, v, &last);
	if (x->buffer < 0 || (last == made && !received))
		return;
	const struct storage_buffer *b = &p->buffer[x->buffer];
	const uint32_t slots = x->ring ? x->ring : x->time ? r->l->turns : 1;
	if (b->first > (int32_t)(2 * r->l->first + 1) || b->last < (int32_t)(2 * r->l->end - 1))
		FAULT(r->c, v->op,
			"%%%s is left to another phase, but does not live as long as the loop",
			check_buffer_name(p, x->buffer));
	for (uint32_t i = 0; i + slots < r->l->turns; i++)
		if (*place_of(r, stage, last, 0, i) >=
			*place_of(r, stage, received ? CELL_PHASES : made, message, i + slots)) {
			FAULT(r->c, v->op, "%u slots of %%%s are too few for its schedule", slots,
				check_buffer_name(p, x->buffer));
			return;
		}
}

static void
check_loop(struct check *c, const struct issue_loop *l)
{
	const struct issue *o = c->p->storage->order;
	void *scratch = alloc_scratch(NULL);
	struct run r = {.c = c, .l = l};

	r.n = issue_messages(scratch, o, l, &r.op, &r.message);
	r.lines = cells_lines(scratch, l->cells, r.message, r.n);
	find_places(&r);
	check_ends(&r);
	for (uint32_t i = l->first; i < l->end; i++)
		for (int k = 0; k < o->op[i]->nresults; k++) {
			const struct ir_value *v = &o->op[i]->result[k];
			const struct ir_state s = v->type->axis[l->stage_axis];
			uint32_t message = 0;
			while (message < r.n && r.op[message] != o->op[i])
				message++;
			if (check_is_view(c->p->module, o->op[i]) ||
				!issue_axes(c->p->module, v->type))
				continue;
			for (uint32_t stage = 0; stage < l->cells->stages; stage++)
				if (s.kind != IR_SINGLE || s.order == stage)
					check_slots(&r, v, stage, message);
		}
	talloc_free(scratch);
}

void
check_cells(struct check *c)
{
	const struct issue *o = c->p->storage->order;

	for (uint32_t i = 0; i < o->nloops; i++)
		if (o->loop[i].cells)
			check_loop(c, &o->loop[i]);
}
