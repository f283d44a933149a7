/*
 * Runs the actions on a model of the arena (check_model.c). For every byte the model knows its last
 * writer, for every buffer which value it holds and which posted collectives still use it.
 *
 *     write   takes the bytes away from the buffers that share them; no collective may use these
 *     read    all bytes must still be the buffer's, and hold the value that the op asks for
 *     POST    reads its sources and takes its results, until its WAIT
 *
 * A value is valid on all ranks that hold it or on none: check_actions.c has verified that each
 * rank that holds it does the action that makes it. So one run stands for all ranks of a home
 * (storage.h), which have the same buffers. Loop bodies run twice: the state after the first run is
 * what every later one finds, because the last writer of a byte is the same each time
 * (docs/checking.md). Actions of the last iteration alone are done in the last run.
 */
#include "lower/plan/check_model.h"

#include "ir/base/alloc.h"

#include <talloc.h>

/* --- actions ---------------------------------------------------------------------------------- */

static void
run_kernel(struct model *m)
{
	const struct lower_plan *p = m->c->p;
	const struct ir_op *op = m->a->op;

	for (int j = 0; j < op->noperands; j++) {
		const int32_t v = check_number(m->c->p, ir_operand(op, j));
		if (p->value[v].buffer >= 0 && check_here(&p->buffer[p->value[v].buffer], m->home))
			model_touch(m, p->value[v].buffer, TOUCH_READ, v, j);
	}
	for (int r = 0; r < op->nresults; r++) {
		const int32_t v = check_number(m->c->p, &op->result[r]);
		model_touch(m, p->value[v].buffer, TOUCH_WRITE, v, r);
	}
	model_touch(m, m->a->scratch, TOUCH_SCRATCH, NONE, 0);
	if (model_check_touches(m) != m->a->in_place)
		FAULT(m->c, op,
			"the kernel of %s is generated for operands and results that %s memory",
			check_op_name(op), m->a->in_place ? "share" : "do not share");
	for (int j = 0; j < op->noperands; j++)
		model_read_value(m, check_number(m->c->p, ir_operand(op, j)));
	if (m->a->scratch >= 0)
		model_write_buffer(m, m->a->scratch, NONE);
	for (int r = 0; r < op->nresults; r++) {
		const int32_t v = check_number(m->c->p, &op->result[r]);
		model_write_buffer(m, p->value[v].buffer, m->c->root[v]);
	}
}

/* Does the action complete its result together with others, one per iteration? */
static bool
completes(const struct model *m)
{
	return m->a->kind == LOWER_ADD ||
	       (m->a->kind == LOWER_COPY && m->a->copy.slice_axis >= 0 && !m->a->copy.slice_src);
}

/* The contributions of earlier iterations must still be in the buffer. */
static void
check_kept(struct model *m, int32_t dst)
{
	const int32_t buffer = m->c->p->value[dst].buffer;
	const struct model_buffer *s = &m->state[buffer];

	model_check_kept_life(m, buffer, true);
	if (m->again && (s->holds != m->c->root[dst] || !s->sums || s->loop != m->loop ||
				!byte_map_is(m->map, s->range, buffer)))
		FAULT(m->c, m->a->op,
			"the sum of earlier iterations in %%%s is overwritten "
			"before the next one adds to it",
			model_buffer_name(m, buffer));
}

static void
run_move(struct model *m)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_action *a = m->a;
	const int32_t from = p->value[a->src].buffer, to = p->value[a->dst].buffer;
	const bool whole = !p->value[a->dst].value || a->kind == LOWER_PACK ||
			   op_is(a->op, TRAIT_EFFECT),
		   part = completes(m);

	model_touch(m, from, TOUCH_READ, a->src, 0);
	model_touch(m, to, TOUCH_WRITE, a->dst, 0);
	model_check_touches(m);
	model_read_value(m, a->src);
	if (part)
		check_kept(m, a->dst);
	/* A copy of the whole copies whatever the buffer holds, under any name. */
	model_write_buffer(m, to, whole ? m->state[from].holds : m->c->root[a->dst]);
	m->state[to].sums = part;
}

/* Do the current ranks send entry `value` to others, or receive it? */
static bool
takes_part(const struct model *m, int32_t value)
{
	const struct ir_value *v = m->c->p->value[value].value;

	return !v || model_holds(m, v->type);
}

static void
run_post(struct model *m)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_coll *coll = &p->coll[m->a->coll];

	for (int k = 0; k < coll->nbufs; k++) {
		const struct lower_coll_buf *x = &coll->buf[k];
		if (takes_part(m, x->src))
			model_touch(m, p->value[x->src].buffer, TOUCH_READ, x->src, k);
		if (takes_part(m, x->dst))
			model_touch(m, p->value[x->dst].buffer, TOUCH_WRITE, x->dst, k);
	}
	model_check_touches(m);
	/* In a row the operand was made or copied where the result will be. */
	for (int k = 0; k < coll->nbufs; k++)
		if (takes_part(m, coll->buf[k].src))
			model_read_buffer(m, check_number(m->c->p, ir_operand(coll->op, k)),
				p->value[coll->buf[k].src].buffer);
	for (int k = 0; k < coll->nbufs; k++)
		if (takes_part(m, coll->buf[k].dst))
			model_write_buffer(m, p->value[coll->buf[k].dst].buffer, NONE);
	for (int k = 0; k < coll->nbufs; k++) {
		struct model_buffer *src = &m->state[p->value[coll->buf[k].src].buffer];
		if (takes_part(m, coll->buf[k].src)) {
			src->readers++;
			src->user = m->a->coll;
		}
		if (takes_part(m, coll->buf[k].dst))
			m->state[p->value[coll->buf[k].dst].buffer].writer = m->a->coll;
	}
	m->posted[m->a->coll] = m->loop;
}

/* A wait in another loop than its post numbers a row by the iterations of its own loop. */
static void
run_wait(struct model *m)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_coll *coll = &p->coll[m->a->coll];
	const int32_t loop = m->posted[m->a->coll];

	if (loop == NOT_POSTED) {
		if (!m->again)
			FAULT(m->c, m->a->op, "action %d waits for the %s, which is not posted",
				m->at, check_op_name(m->a->op));
		return;
	}
	if (coll->time && m->loop != NONE && m->loop != loop)
		FAULT(m->c, m->a->op, "a loop waits for the %s of another loop",
			check_op_name(m->a->op));
	m->posted[m->a->coll] = NOT_POSTED;
	for (int k = 0; k < coll->nbufs; k++) {
		const int32_t from = p->value[coll->buf[k].src].buffer,
			      to = p->value[coll->buf[k].dst].buffer;
		if (takes_part(m, coll->buf[k].src)) {
			model_check_life(m, from);
			m->state[from].readers--;
		}
		if (!takes_part(m, coll->buf[k].dst))
			continue;
		model_check_life(m, to);
		m->state[to].writer = NONE;
		m->state[to].holds = m->c->root[coll->buf[k].dst];
		m->state[to].loop = loop;
	}
}

/* Do the current ranks do the action, as far as their home tells? */
static bool
is_done_here(const struct model *m)
{
	const struct lower_guard *g = &m->a->guard;

	for (int i = 0; i < g->n; i++)
		if (g->axis[i] == m->c->p->storage->home_axis && g->place[i] != m->home)
			return false;
	return true;
}

static void
run_action(struct model *m, int at)
{
	m->at = at;
	m->a = &m->c->p->action[at];
	if ((m->a->last && !m->last) || !is_done_here(m))
		return;
	switch (m->a->kind) {
	case LOWER_KERNEL: run_kernel(m); break;
	case LOWER_COPY:
	case LOWER_ADD:
	case LOWER_PACK: run_move(m); break;
	case LOWER_POST: run_post(m); break;
	case LOWER_WAIT: run_wait(m); break;
	case LOWER_LOOP:
	case LOWER_END: break;
	}
}

/* Messages between stages have been sent: a sender waits before it makes the next one in the
 * buffer, see check_cells.c. */
static void
release_sent(struct model *m, int at, int end)
{
	const struct lower_plan *p = m->c->p;
	struct cell_message message;

	for (int i = at; i < end; i++) {
		const struct lower_action *a = &p->action[i];
		if (a->kind != LOWER_POST || m->posted[a->coll] == NOT_POSTED ||
			!lower_is_message(p, &p->coll[a->coll], &message))
			continue;
		m->posted[a->coll] = NOT_POSTED;
		for (int k = 0; k < p->coll[a->coll].nbufs; k++)
			if (takes_part(m, p->coll[a->coll].buf[k].src))
				m->state[p->value[p->coll[a->coll].buf[k].src].buffer].readers--;
	}
}

/* Runs the body of the loop that action `at` begins twice; returns the index of its end. */
static int
run_loop(struct model *m, int at)
{
	const struct lower_plan *p = m->c->p;
	int end = at;

	while (p->action[end].kind != LOWER_END)
		end++;
	m->loop = at;
	m->begin = p->action[at].at + 1;
	m->end = p->action[end].at - 1;
	const int runs = issue_iterations(p->module, p->action[at].over) > 1 ? 2 : 1;
	for (int run = 1; run <= runs; run++) {
		m->again = run > 1;
		m->last = run == runs;
		for (int k = at + 1; k < end; k++)
			run_action(m, k);
		release_sent(m, at, end);
	}
	m->loop = NONE;
	m->again = m->last = false;
	return end;
}

/* --- before and after the step ---------------------------------------------------------------- */

static void
expect_at_end(struct model *m, const struct ir_op *op, int32_t buffer, int32_t root)
{
	const struct model_buffer *s = &m->state[buffer];

	if (s->writer != NONE)
		return; /* reported as a missing wait */
	if (!byte_map_is(m->map, s->range, buffer))
		FAULT(m->c, op, "buffer %d (%%%s), which outlives the step, is overwritten in it",
			buffer, model_buffer_name(m, buffer));
	else if (s->holds != root)
		FAULT(m->c, op,
			"buffer %d (%%%s), which outlives the step, holds "
			"%%%s at its end and not %%%s",
			buffer, model_buffer_name(m, buffer), model_value_name(m, s->holds),
			model_value_name(m, root));
}

/* The entry that the runtime reads for an output: its copy, or its value; by op->id. */
static int32_t *
output_buffers(const struct model *m)
{
	const struct lower_plan *p = m->c->p;
	int32_t *at = ARRAY_NEW(m->scratch, int32_t, p->module->op_ids);

	IR_FOR_OPS (op, &p->main->body)
		at[op->id] = op->code == OP_output
				     ? p->value[check_number(m->c->p, ir_operand(op, 0))].buffer
				     : NONE;
	for (int i = p->nactions; i-- > 0;)
		if (p->action[i].kind == LOWER_COPY && p->action[i].op->code == OP_output)
			at[p->action[i].op->id] = p->value[p->action[i].dst].buffer;
	return at;
}

/* The value of a param after the step: its next value, if it has one. */
static int32_t
next_value(const struct model *m, const struct ir_value *param)
{
	IR_FOR_USES (u, param)
		if (u->op->code == OP_update && u == &u->op->operand[0])
			return m->c->root[check_number(m->c->p, ir_operand(u->op, 1))];
	return m->c->root[check_number(m->c->p, param)];
}

static void
check_end(struct model *m)
{
	const struct lower_plan *p = m->c->p;
	const int32_t *output = output_buffers(m), stage = p->storage->stage;

	for (int i = 0; i < p->ncolls; i++)
		if (m->posted[i] != NOT_POSTED)
			FAULT(m->c, NULL, "the step ends without a wait for a posted %s",
				model_coll_name(m, i));
	/* Between steps the runtime writes to these bytes. */
	if (stage >= 0)
		byte_map_set(m->map, m->state[stage].range, stage);
	IR_FOR_OPS (op, &p->main->body) {
		const struct ir_type *t = op->nresults    ? op->result[0].type
					  : op->noperands ? ir_operand_type(op, 0)
							  : NULL;
		if (t && !model_holds(m, t))
			continue;
		if (output[op->id] != NONE)
			expect_at_end(m, op, output[op->id],
				m->c->root[check_number(m->c->p, ir_operand(op, 0))]);
		if (op->code != OP_input && !op_is(op, TRAIT_PERSISTENT))
			continue;
		const int32_t v = check_number(m->c->p, &op->result[0]);
		expect_at_end(m, op, p->value[v].buffer,
			op->code == OP_input ? m->c->root[v] : next_value(m, &op->result[0]));
	}
}

static void
find_ranges(struct model *m)
{
	const struct lower_plan *p = m->c->p;
	uint64_t *offset = ARRAY_NEW(m->scratch, uint64_t, 2 * (size_t)p->nbuffers + 1);

	for (int i = 0; i < p->nbuffers; i++) {
		const struct storage_buffer *b = &p->buffer[i];
		offset[2 * i] = check_address(b);
		offset[2 * i + 1] = offset[2 * i] + b->bytes * (uint64_t)b->slots;
	}
	m->map = byte_map_create(m->scratch, offset, 2 * (uint32_t)p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		m->state[i] = (struct model_buffer){
			.range = byte_map_range(m->map, offset[2 * i],
				offset[2 * i + check_here(&p->buffer[i], m->home)]),
			.holds = NONE,
			.writer = NONE,
			.loop = NONE};
}

static void
start(struct model *m)
{
	const struct lower_plan *p = m->c->p;

	m->state = ARRAY_NEW(m->scratch, struct model_buffer, (size_t)p->nbuffers + 1);
	m->posted = ARRAY_NEW(m->scratch, int32_t, (size_t)p->ncolls + 1);
	m->touch = ARRAY_NEW(m->scratch, struct model_touch, (size_t)lower_most_accesses(p));
	find_ranges(m);
	for (int i = 0; i < p->ncolls; i++)
		m->posted[i] = NOT_POSTED;
	IR_FOR_OPS (op, &p->main->body) {
		if ((op->code != OP_input && !op_is(op, TRAIT_PERSISTENT)) ||
			!model_holds(m, op->result[0].type))
			continue;
		const int32_t v = check_number(m->c->p, &op->result[0]), b = p->value[v].buffer;
		byte_map_set(m->map, m->state[b].range, b);
		m->state[b].holds = m->c->root[v];
	}
}

static void
run_home(struct check *c, int32_t home)
{
	struct model m = {.c = c, .scratch = alloc_scratch(NULL), .loop = NONE, .home = home};

	start(&m);
	for (int i = 0; i < c->p->nactions; i++)
		if (c->p->action[i].kind == LOWER_LOOP)
			i = run_loop(&m, i);
		else
			run_action(&m, i);
	check_end(&m);
	talloc_free(m.scratch);
}

/* A fault in one home mostly occurs in all. */
void
check_memory(struct check *c)
{
	for (int32_t home = 0; home < check_homes(c->p) && (home == 0 || !c->faults); home++)
		run_home(c, home);
}
