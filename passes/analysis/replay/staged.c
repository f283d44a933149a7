/* Events of a loop with a schedule: devices proceed along their lines (ir/memory/cells.h), and a
 * message is sent once both devices have reached it. */
#include "passes/analysis/replay/events_build.h"

#include "ir/base/alloc.h"

#include <talloc.h>

/* A loop with a schedule while its devices proceed along their lines. */
struct staged {
	struct events_builder *b;
	const struct issue *o;
	const struct issue_loop *l;
	const struct ir_op **op; /* [n] messages */
	struct cell_message *message;
	uint32_t n, *next; /* [devices] item of the line */
	struct cell_lines *lines;
};

static bool
is_at(const struct staged *s, uint32_t device, uint32_t stage)
{
	return events_coordinate(s->b, device, s->l->stage_axis) == s->l->cells->device[stage];
}

/* Does the op belong to that stage? Only ops that each device runs in its only stage have none. */
static bool
is_of_stage(const struct staged *s, const struct ir_op *op, uint32_t stage)
{
	const int of = op->nresults ? issue_stage(s->l, &op->result[0]) : -1;

	return of < 0 || (uint32_t)of == stage;
}

/* A slot is written again only after its earlier contents have been sent. */
static void
wait_for_sources(struct staged *s, const struct cell_item *it, uint32_t stage)
{
	for (uint32_t k = 0; k < s->n; k++) {
		const struct ir_value *v = ir_operand(s->op[k], 0);
		bool crosses;
		if (s->message[k].from != stage || !v->op || issue_loop_of(s->o, v->op) != s->l ||
			!cell_does(&it->cell, issue_phase(s->o, v->op)))
			continue;
		const uint32_t ring = issue_ring(s->o, v, &crosses);
		struct events_record *r = &s->b->record[s->op[k]->id];
		for (uint32_t d = 0; it->cell.turn >= ring && d < s->b->e->ndevices; d++)
			if (is_at(s, d, stage))
				events_wait_for(s->b, r,
					(it->cell.turn - ring) * s->b->e->ndevices + d,
					it->cell.turn - ring, d);
	}
}

static void
emit_cell(struct staged *s, const struct cell_item *it)
{
	struct events_builder *b = s->b;
	const uint32_t first = s->l->phase[it->cell.phase], end = s->l->phase[it->cell.last + 1],
		       stage = it->cell.stage;
	struct cell_message m;

	wait_for_sources(s, it, stage);
	b->stage_axis = s->l->stage_axis;
	b->stage = (int)s->l->cells->device[stage];
	for (uint32_t p = first; p < end; p++)
		if (is_of_stage(s, s->o->op[p], stage) && !issue_message(s->o, s->o->op[p], &m))
			events_emit(b, s->o->op[p], it->cell.turn);
	b->stage = -1;
	/* So that every phase starts in the same state. */
	for (uint32_t p = first; p < end; p++) {
		struct events_record *r = &b->record[s->o->op[p]->id];
		for (uint32_t d = 0; r->done && d < b->e->ndevices; d++)
			if (is_at(s, d, stage) && is_of_stage(s, s->o->op[p], stage) &&
				!issue_message(s->o, s->o->op[p], &m))
				events_wait_for(
					b, r, it->cell.turn * b->e->ndevices + d, it->cell.turn, d);
	}
}

/*
 * The next item of a device; a message once both devices have reached it. False: none, or waiting.
 */
static bool
emit_item(struct staged *s, uint32_t device)
{
	if (s->next[device] == s->lines->n[device])
		return false;
	const struct cell_item *it = &s->lines->item[device][s->next[device]];
	if (it->cell.phase < CELL_PHASES) {
		emit_cell(s, it);
		s->next[device]++;
		return true;
	}
	const struct cell_message *m = &s->message[it->message];
	const uint32_t *of = s->l->cells->device,
		       at = of[m->from] == device ? of[m->to] : of[m->from];
	const struct cell_item *other = &s->lines->item[at][s->next[at]];
	if (s->next[at] == s->lines->n[at] || other->cell.phase < CELL_PHASES ||
		other->message != it->message || other->cell.turn != it->cell.turn)
		return false;
	events_emit(s->b, s->op[it->message], it->cell.turn);
	s->next[device]++;
	s->next[at]++;
	return true;
}

void
events_emit_staged(struct events_builder *b, const struct issue *o, const struct issue_loop *l)
{
	void *scratch = alloc_scratch(NULL);
	struct staged s = {.b = b, .o = o, .l = l};
	bool moves = true;

	s.n = issue_messages(scratch, o, l, &s.op, &s.message);
	s.lines = cells_lines(scratch, l->cells, s.message, s.n);
	s.next = ARRAY_ZERO(scratch, uint32_t, l->cells->devices);
	events_record_work(b, o, l, l->turns);
	while (moves) {
		moves = false;
		for (uint32_t d = 0; d < l->cells->devices; d++)
			while (emit_item(&s, d))
				moves = true;
	}
	for (uint32_t turn = 0; turn < l->turns; turn++)
		events_wait_for_all(b, o, l, false, turn);
	talloc_free(scratch);
}
