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
	struct phase_ops *ops; /* [stages][CELL_PHASES] in order, without messages */
};

struct phase_ops VEC(const struct ir_op *);

/* Only ops that each device runs in its only stage have none: they are of each stage. */
static void
list_ops(void *owner, struct staged *s)
{
	const uint32_t stages = s->l->cells->stages;
	struct cell_message m;

	s->ops = ARRAY_ZERO(owner, struct phase_ops, (size_t)stages * CELL_PHASES);
	for (uint32_t phase = 0; phase < CELL_PHASES; phase++)
		for (uint32_t p = s->l->phase[phase]; p < s->l->phase[phase + 1]; p++) {
			const struct ir_op *op = s->o->op[p];
			if (issue_message(s->o, op, &m))
				continue;
			const int of = op->nresults ? issue_stage(s->l, &op->result[0]) : -1;
			for (uint32_t k = of < 0 ? 0 : (uint32_t)of;
				k < (of < 0 ? stages : (uint32_t)of + 1); k++)
				VEC_PUSH(owner, &s->ops[k * CELL_PHASES + phase], op);
		}
}

/* The devices at each coordinate of the axis of the stages. */
static void
list_devices(struct events_builder *b, const struct issue_loop *l)
{
	const uint32_t n = l->cells->devices;

	b->at_stage = ARRAY_ZERO(b, struct events_devices, n);
	for (uint32_t k = 0; k < n; k++) {
		struct events_devices *x = &b->at_stage[k];
		x->at = ARRAY_NEW(b, uint32_t, b->all.n);
		x->index = ARRAY_NEW(b, uint32_t, b->all.n);
		for (uint32_t d = 0; d < b->all.n; d++) {
			const bool at = events_coordinate(b, d, l->stage_axis) == k;
			x->index[d] = at ? x->n : NO_EVENT;
			if (at)
				x->at[x->n++] = d;
		}
	}
}

/* A slot is written again only after its earlier contents have been sent. */
static void
wait_for_sources(struct staged *s, const struct cell_item *it, uint32_t stage)
{
	const struct events_devices *at = &s->b->at_stage[s->l->cells->device[stage]];

	for (uint32_t k = 0; k < s->n; k++) {
		const struct ir_value *v = ir_operand(s->op[k], 0);
		bool crosses;
		if (s->message[k].from != stage || !v->op || issue_loop_of(s->o, v->op) != s->l ||
			!cell_does(&it->cell, issue_phase(s->o, v->op)))
			continue;
		const uint32_t ring = issue_ring(s->o, v, &crosses);
		struct events_record *r = &s->b->record[s->op[k]->id];
		for (uint32_t i = 0; it->cell.iteration >= ring && i < at->n; i++)
			events_wait_for(s->b, r, it->cell.iteration - ring,
				it->cell.iteration - ring, at->at[i]);
	}
}

static void
emit_cell(struct staged *s, const struct cell_item *it)
{
	struct events_builder *b = s->b;
	const uint32_t stage = it->cell.stage;
	const struct phase_ops *first = &s->ops[stage * CELL_PHASES + it->cell.phase],
			       *end = &s->ops[stage * CELL_PHASES + it->cell.last + 1];

	wait_for_sources(s, it, stage);
	b->now = &b->at_stage[s->l->cells->device[stage]];
	for (const struct phase_ops *x = first; x < end; x++)
		for (int64_t i = 0; i < x->n; i++)
			events_emit(b, x->at[i], it->cell.iteration);
	/* So that every phase starts in the same state. */
	for (const struct phase_ops *x = first; x < end; x++)
		for (int64_t i = 0; i < x->n; i++) {
			struct events_record *r = &b->record[x->at[i]->id];
			for (uint32_t d = 0; r->done && d < b->now->n; d++)
				events_wait_for(b, r, it->cell.iteration, it->cell.iteration,
					b->now->at[d]);
		}
	b->now = &b->all;
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
		other->message != it->message || other->cell.iteration != it->cell.iteration)
		return false;
	events_emit(s->b, s->op[it->message], it->cell.iteration);
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
	list_ops(scratch, &s);
	list_devices(b, l);
	s.lines = cells_lines(scratch, l->cells, s.message, s.n);
	s.next = ARRAY_ZERO(scratch, uint32_t, l->cells->devices);
	events_record_work(b, o, l, l->iterations);
	while (moves) {
		moves = false;
		for (uint32_t d = 0; d < l->cells->devices; d++)
			while (emit_item(&s, d))
				moves = true;
	}
	for (uint32_t iteration = 0; iteration < l->iterations; iteration++)
		events_wait_for_all(b, o, l, false, iteration);
	b->at_stage = NULL;
	talloc_free(scratch);
}
