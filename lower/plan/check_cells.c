/*
 * Loops with a schedule (ir/memory/cells.h): each device does phases of iterations of its stages in
 * an order of its own, and slots are used in turn. The proof of check_memory.c for one iteration
 * holds for all if
 *
 *   - a slot is reused only when the previous iteration is done with it: a value that a phase
 *     leaves for another one is read before its device makes the next value in that slot; a
 *     received value is read before the next post of a message into it. (A sent value is waited
 *     for before its slot is written: step.c. A value that is received and sent on has a slot for
 *     each iteration.)
 *  - a value that a phase leaves for another one is live during the whole loop;
 *  - no device waits for ever: the lines are run on a machine of two queues for each, as in
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
	uint32_t *cell; /* [stages][CELL_PHASES][iterations] index of the item in the line */
	uint32_t *post; /* [n][iterations] index of the message's post on its receiver */
};

static uint32_t
device_of(const struct run *r, uint32_t stage)
{
	return ir_axis_place(&r->c->p->module->axis[r->l->stage_axis], (uint16_t)stage);
}

/* ---- no deadlock ---- */

struct device {
	uint32_t next; /* index of its next item */
	uint32_t posted, complete;
	uint32_t *queue; /* items that are messages */
};

static const struct cell_item *
item_of(const struct run *r, uint32_t device, uint32_t item)
{
	return &r->lines->item[device][item];
}

static bool
is_complete(const struct run *r, const struct device *s, uint32_t device, uint32_t message,
	uint32_t iteration)
{
	for (uint32_t i = 0; i < s->complete; i++) {
		const struct cell_item *it = item_of(r, device, s->queue[i]);
		if (it->message == message && it->cell.iteration == iteration)
			return true;
	}
	return false;
}

/* Can the device do its next cell: has everything that it receives arrived, and are the slots that
 * it sends from free? */
static bool
may_go_on(const struct run *r, const struct device *s, uint32_t device, const struct cell_item *it)
{
	const uint32_t stage = it->cell.stage;

	for (uint32_t k = 0; k < r->n; k++) {
		const struct cell_message *m = &r->message[k];
		if (cell_does(&it->cell, m->phase) && m->to == stage &&
			!is_complete(r, s, device, k, it->cell.iteration))
			return false;
		/* With one slot, which is the worst case. */
		if (m->from == stage && cell_does(&it->cell, m->phase) && it->cell.iteration &&
			!is_complete(r, s, device, k, it->cell.iteration - 1))
			return false;
	}
	return true;
}

static bool
compute(const struct run *r, struct device *s, uint32_t device)
{
	if (s->next == r->lines->n[device])
		return false;
	const struct cell_item *it = item_of(r, device, s->next);
	if (it->cell.phase == CELL_PHASES)
		s->queue[s->posted++] = s->next;
	else if (!may_go_on(r, s, device, it))
		return false;
	s->next++;
	return true;
}

/* The first item of its queue, with the device at the other end. */
static bool
communicate(const struct run *r, struct device *all, uint32_t device)
{
	struct device *s = &all[device];

	if (s->complete == s->posted)
		return false;
	const struct cell_item *it = item_of(r, device, s->queue[s->complete]);
	const struct cell_message *m = &r->message[it->message];
	const uint32_t at = device_of(r, device_of(r, m->from) == device ? m->to : m->from);
	struct device *other = &all[at];
	if (other->complete == other->posted)
		return false;
	const struct cell_item *that = item_of(r, at, other->queue[other->complete]);
	if (that->message != it->message || that->cell.iteration != it->cell.iteration)
		return false;
	s->complete++;
	other->complete++;
	return true;
}

static void
check_ends(const struct run *r)
{
	const uint32_t devices = r->l->cells->devices;
	struct device *all = ARRAY_ZERO(r->lines, struct device, devices);
	bool moves = true;

	for (uint32_t d = 0; d < devices; d++)
		all[d].queue = ARRAY_NEW(r->lines, uint32_t, r->lines->n[d] + 1u);
	while (moves) {
		moves = false;
		for (uint32_t d = 0; d < devices; d++)
			while (compute(r, &all[d], d) || communicate(r, all, d))
				moves = true;
	}
	for (uint32_t d = 0; d < devices; d++)
		if (all[d].next < r->lines->n[d] || all[d].complete < all[d].posted)
			FAULT(r->c, r->c->p->storage->order->op[r->l->first],
				"device %u of axis %s waits for ever in a loop with a schedule", d,
				r->c->p->module->axis[r->l->stage_axis].name);
}

/* ---- slots ---- */

static uint32_t *
cell_of(const struct run *r, uint32_t stage, uint32_t phase, uint32_t iteration)
{
	return &r->cell[((size_t)stage * CELL_PHASES + phase) * r->l->iterations + iteration];
}

/* The position of each item in the lines. */
static void
find_places(struct run *r)
{
	const struct cells *c = r->l->cells;

	r->cell =
		ARRAY_ZERO(r->lines, uint32_t, (size_t)c->stages * CELL_PHASES * r->l->iterations);
	r->post = ARRAY_ZERO(r->lines, uint32_t, (size_t)r->n * r->l->iterations + 1);
	for (uint32_t d = 0; d < c->devices; d++)
		for (uint32_t i = 0; i < r->lines->n[d]; i++) {
			const struct cell_item *it = item_of(r, d, i);
			if (it->cell.phase < CELL_PHASES)
				for (uint32_t phase = it->cell.phase; phase <= it->cell.last;
					phase++)
					*cell_of(r, it->cell.stage, phase, it->cell.iteration) = i;
			else if (device_of(r, r->message[it->message].to) == d)
				r->post[(size_t)it->message * r->l->iterations +
					it->cell.iteration] = i;
		}
}

/* The last item of the line in which a value of that stage, or a view of it, is read in an
 * iteration. */
static uint32_t
last_reader(const struct run *r, const struct ir_value *v, uint32_t stage, uint32_t iteration)
{
	const struct issue *o = r->c->p->storage->order;
	uint32_t last = 0;

	IR_FOR_USES (u, v) {
		if (issue_loop_of(o, u->op) != r->l)
			continue;
		uint32_t at = *cell_of(r, stage, issue_phase(o, u->op), iteration);
		last = at > last ? at : last;
		if (!check_is_view(r->c->p->module, u->op))
			continue;
		const struct ir_value *view = &u->op->result[u - u->op->operand];
		const struct ir_state s = view->type->axis[r->l->stage_axis];
		at = last_reader(r, view, s.kind == IR_SINGLE ? s.order : stage, iteration);
		last = at > last ? at : last;
	}
	return last;
}

/* Is the value, or a view of it, sent to another device? */
static bool
is_sent(const struct run *r, const struct ir_value *v)
{
	bool sent = false;

	IR_FOR_USES (u, v) {
		for (uint32_t k = 0; k < r->n; k++)
			sent |= r->op[k] == u->op;
		if (check_is_view(r->c->p->module, u->op))
			sent |= is_sent(r, &u->op->result[u - u->op->operand]);
	}
	return sent;
}

static void
check_slots(const struct run *r, const struct ir_value *v, uint32_t stage, uint32_t message)
{
	const struct lower_plan *p = r->c->p;
	const struct lower_value *x = lower_value_of(p, v);
	const uint8_t made = (uint8_t)issue_phase(p->storage->order, v->op);
	const bool received = message < r->n;
	bool outlasts = received;

	for (uint32_t i = 0; i < r->l->iterations && !outlasts; i++)
		outlasts = last_reader(r, v, stage, i) > *cell_of(r, stage, made, i);
	if (x->buffer < 0 || !outlasts)
		return;
	const struct storage_buffer *b = &p->buffer[x->buffer];
	const uint32_t slots = x->ring ? x->ring : x->time ? r->l->iterations : 1;
	if (b->first > (int32_t)(2 * r->l->first + 1) || b->last < (int32_t)(2 * r->l->end - 1))
		FAULT(r->c, v->op,
			"%%%s is left to another cell, but does not live as long as the loop",
			check_buffer_name(p, x->buffer));
	if (!issue_axes(p->module, v->type)) /* the same in each iteration */
		return;
	if (received && slots < r->l->iterations && is_sent(r, v))
		FAULT(r->c, v->op,
			"%%%s is sent on from %u slots, and it is not known when each of them is free again",
			check_buffer_name(p, x->buffer), slots);
	for (uint32_t i = 0; i + slots < r->l->iterations; i++) {
		const uint32_t next =
			received ? r->post[(size_t)message * r->l->iterations + i + slots]
				 : *cell_of(r, stage, made, i + slots);
		if (last_reader(r, v, stage, i) >= next) {
			FAULT(r->c, v->op, "%u slots of %%%s are too few for its schedule", slots,
				check_buffer_name(p, x->buffer));
			return;
		}
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
			if (check_is_view(c->p->module, o->op[i]))
				continue;
			for (uint32_t stage = 0; stage < l->cells->stages; stage++)
				if (s.kind != IR_SINGLE || s.order == stage)
					check_slots(&r, v,
						message < r.n ? r.message[message].to : stage,
						message);
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
