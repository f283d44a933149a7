/*
 * Runs the actions on a model of the arena. Of every byte the model knows which buffer was written
 * there last, of every buffer which value it holds and which posted collectives still use it.
 *
 *     write   takes the bytes away from the buffers that share them; no collective may use these
 *     read    all bytes must still be the buffer's, and hold the value that the op asks for
 *     POST    reads its sources and takes its results, until its WAIT
 *
 * A value is right on all ranks that hold it or on none: check_actions.c has seen that whoever
 * holds it does the action that makes it. So one run stands for all ranks. Loop bodies run twice:
 * what the first run leaves is what every later one finds, because the last writer of a byte is the
 * same one each time (docs/checking.md).
 */
#include "lower/plan/check.h"

#include "ir/base/array.h"
#include "lower/plan/byte_map.h"

#include <stdlib.h>
#include <talloc.h>

enum { NONE = -1 };

/* What is in a buffer. */
struct state {
	struct byte_range range;
	int32_t holds;   /* entry whose bytes these are, by its root; NONE: nothing of use */
	int32_t writer;  /* posted collective that will write it, or NONE */
	int32_t user;    /* the last one that reads it; of use if readers */
	int32_t readers; /* posted collectives that read it */
	int32_t loop;    /* action of the loop that wrote it, or NONE */
	bool sums;       /* and that goes on adding to it, or putting slices into it */
};

struct machine {
	struct check *c;
	void *scratch; /* owns what is below */
	struct byte_map *map;
	struct state *state; /* [nbuffers] */
	int32_t *posted;     /* [ncolls] loop that has posted it and nobody has waited; else
				NOT_POSTED */
	int32_t loop;        /* the loop at work, by its action, or NONE */
	int32_t begin, end;  /* moments of its first and last op */
	bool again;          /* its second run */
	const struct lower_action *a;
	int32_t at; /* number of the action at work */
	struct touch *touch;
	int ntouches;
};

enum { NOT_POSTED = -2 };

/* What an action touches, to find out what shares bytes. */
enum touch_kind { TOUCH_READ, TOUCH_WRITE, TOUCH_SCRATCH };

struct touch {
	uint32_t begin, end;
	int32_t buffer;
	enum touch_kind kind;
	int32_t value; /* its entry, or NONE */
	int number;    /* of the operand or result */
};

static const char *
name_of(const struct machine *m, int32_t buffer)
{
	return check_buffer_name(m->c->p, buffer);
}

static const char *
value_name(const struct machine *m, int32_t value)
{
	const struct ir_value *v = value >= 0 ? m->c->p->value[value].value : NULL;

	return v && v->name ? v->name : "(unnamed)";
}

static const char *
coll_name(const struct machine *m, int32_t coll)
{
	return check_op_name(m->c->p->coll[coll].op);
}

/* --- lives ------------------------------------------------------------------------------------ */

static void
check_life(struct machine *m, int32_t buffer)
{
	const struct storage_buffer *b = &m->c->p->buffer[buffer];

	if (m->a->at < b->first || m->a->at > b->last)
		FAULT(m->c, m->a->op,
			"action %d, at time %d, uses buffer %d (%%%s) "
			"outside its live range [%d, %d]",
			m->at, m->a->at, buffer, name_of(m, buffer), b->first, b->last);
}

/* What an iteration finds as another one, or the step before the loop, has left it. */
static void
check_kept_life(struct machine *m, int32_t buffer, bool from_first)
{
	const struct storage_buffer *b = &m->c->p->buffer[buffer];

	if (m->loop != NONE && (b->last < m->end || (from_first && b->first > m->begin)))
		FAULT(m->c, m->a->op,
			"buffer %d (%%%s) has live range [%d, %d], but is needed "
			"throughout a loop in [%d, %d]",
			buffer, name_of(m, buffer), b->first, b->last, m->begin, m->end);
}

/* --- what shares bytes in one action ---------------------------------------------------------- */

static void
touch(struct machine *m, int32_t buffer, enum touch_kind kind, int32_t value, int number)
{
	if (buffer < 0)
		return;
	const struct byte_range r = m->state[buffer].range;
	m->touch[m->ntouches++] = (struct touch){r.begin, r.end, buffer, kind, value, number};
}

static int
by_place(const void *x, const void *y)
{
	const struct touch *a = x, *b = y;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->buffer != b->buffer)
		return a->buffer < b->buffer ? -1 : 1;
	return (int)b->kind - (int)a->kind;
}

/* May the action write y where it reads x, one buffer? */
static bool
may_share(const struct machine *m, const struct touch *x, const struct touch *y)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_action *a = m->a;

	if (a->kind == LOWER_POST)
		return x->number == y->number &&
		       (p->coll[a->coll].in_row ||
			       ir_type_local_bytes(p->module, p->value[x->value].value->type) ==
				       ir_type_local_bytes(
					       p->module, p->value[y->value].value->type));
	return a->kind == LOWER_KERNEL && a->in_place &&
	       p->value[x->value].time == p->value[y->value].time &&
	       ir_type_same_meaning(
		       p->value[x->value].value->type, p->value[y->value].value->type) &&
	       scheme_in_place(a->scheme, x->number, y->number);
}

static void
report_sharing(struct machine *m, const struct touch *x, const struct touch *y)
{
	if (y->kind == TOUCH_WRITE && x->kind == TOUCH_READ && m->a->kind == LOWER_KERNEL)
		FAULT(m->c, m->a->op,
			"result %d of %s is written over operand %d, which it still reads",
			y->number + 1, check_op_name(m->a->op), x->number + 1);
	else
		FAULT(m->c, m->a->op, "action %d writes bytes that belong to both %%%s and %%%s",
			m->at, name_of(m, x->buffer), name_of(m, y->buffer));
}

/* One buffer: at most one write, which comes first in the list. True if it is also read. */
static bool
check_group(struct machine *m, const struct touch *first, int n)
{
	for (int i = 1; i < n && first->kind != TOUCH_READ; i++)
		if (first->kind == TOUCH_SCRATCH || first[i].kind != TOUCH_READ ||
			!may_share(m, &first[i], first))
			report_sharing(m, &first[i], first);
	return n > 1 && first->kind == TOUCH_WRITE;
}

/* Touches in the order of their bytes; those of one buffer are next to each other. */
static bool
check_touches(struct machine *m)
{
	const struct touch *write = NULL, *any = NULL; /* that reach farthest */
	bool in_place = false;

	qsort(m->touch, (size_t)m->ntouches, sizeof *m->touch, by_place);
	for (int i = 0, n; i < m->ntouches; i += n) {
		const struct touch *t = &m->touch[i];
		for (n = 1; i + n < m->ntouches && t[n].buffer == t->buffer; n++)
			;
		in_place |= check_group(m, t, n);
		const struct touch *other = t->kind == TOUCH_READ ? write : any;
		if (other && t->begin < other->end && t->begin < t->end) {
			const bool late = t->kind != TOUCH_READ;
			report_sharing(m, late ? other : t, late ? t : other);
		}
		any = !any || t->end > any->end ? t : any;
		if (t->kind != TOUCH_READ)
			write = !write || t->end > write->end ? t : write;
	}
	m->ntouches = 0;
	return in_place;
}

/* --- reads and writes ------------------------------------------------------------------------- */

/* The collective that uses any of the buffer's bytes: for a read one that writes them. NONE. */
static int32_t
user_of(const struct machine *m, int32_t buffer, bool write, int32_t *whose)
{
	const struct byte_range r = m->state[buffer].range;

	for (uint32_t k = r.begin; k < r.end;) {
		const int32_t other = byte_map_next(m->map, r, &k);
		const struct state *s = other >= 0 ? &m->state[other] : NULL;
		*whose = other;
		if (s && s->writer != NONE)
			return s->writer;
		if (s && write && s->readers)
			return s->user;
	}
	return NONE;
}

/* No collective on its way must notice. */
static bool
check_user(struct machine *m, int32_t buffer, bool write)
{
	int32_t whose = NONE;
	const int32_t coll = user_of(m, buffer, write, &whose);

	if (coll != NONE)
		FAULT(m->c, m->a->op, "action %s buffer %%%s while a posted %s uses %%%s",
			write ? "writes" : "reads", name_of(m, buffer), coll_name(m, coll),
			name_of(m, whose));
	return coll == NONE;
}

/* Does the buffer have one slot for a value that differs from one iteration to the next? */
static bool
is_slice(const struct machine *m, int32_t value)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_value *v = &p->value[value];

	return !v->time && check_long_axes(p->module, issue_axes(p->module, v->value->type));
}

static void
check_time(struct machine *m, int32_t value, int32_t buffer)
{
	const struct state *s = &m->state[buffer];

	if (s->sums && s->loop == m->loop)
		FAULT(m->c, m->a->op,
			"action %d reads buffer %d (%%%s) before the loop "
			"that completes it has ended",
			m->at, buffer, name_of(m, buffer));
	if (is_slice(m, value) && s->loop != m->loop)
		FAULT(m->c, m->a->op,
			"action %d reads buffer %d (%%%s), which holds the slice "
			"of another loop's last iteration",
			m->at, buffer, name_of(m, buffer));
	if (s->loop != m->loop)
		check_kept_life(m, buffer, false);
}

/* Reads in `buffer` what entry `value` stands for; NONE: whatever is there. */
static void
read_buffer(struct machine *m, int32_t value, int32_t buffer)
{
	const struct state *s = &m->state[buffer];

	check_life(m, buffer);
	if (!check_user(m, buffer, false))
		return;
	if (s->holds == NONE || !byte_map_is(m->map, s->range, buffer))
		FAULT(m->c, m->a->op,
			"action %d reads buffer %d (%%%s), which was never "
			"written, or was overwritten",
			m->at, buffer, name_of(m, buffer));
	else if (value != NONE && s->holds != m->c->root[value])
		FAULT(m->c, m->a->op,
			"action %d reads %%%s in buffer %d, which holds %%%s at that time", m->at,
			value_name(m, value), buffer, value_name(m, s->holds));
	else if (value != NONE)
		check_time(m, value, buffer);
}

static void
read_value(struct machine *m, int32_t value)
{
	const struct lower_value *v = &m->c->p->value[value];

	if (v->buffer >= 0)
		read_buffer(m, v->value ? value : NONE, v->buffer);
}

static void
write_buffer(struct machine *m, int32_t buffer, int32_t holds)
{
	struct state *s = &m->state[buffer];

	check_life(m, buffer);
	check_user(m, buffer, true);
	byte_map_set(m->map, s->range, buffer);
	s->holds = holds;
	s->loop = m->loop;
	s->sums = false;
	if (m->c->p->buffer[buffer].slots > 1)
		check_kept_life(m, buffer, true);
}

/* --- actions ---------------------------------------------------------------------------------- */

static void
run_kernel(struct machine *m)
{
	const struct lower_plan *p = m->c->p;
	const struct ir_op *op = m->a->op;

	for (int j = 0; j < op->noperands; j++) {
		const int32_t v = check_number(ir_operand(op, j));
		touch(m, p->value[v].buffer, TOUCH_READ, v, j);
	}
	for (int r = 0; r < op->nresults; r++) {
		const int32_t v = check_number(&op->result[r]);
		touch(m, p->value[v].buffer, TOUCH_WRITE, v, r);
	}
	touch(m, m->a->scratch, TOUCH_SCRATCH, NONE, 0);
	if (check_touches(m) != m->a->in_place)
		FAULT(m->c, op,
			"the kernel of %s is generated for operands and results that %s memory",
			check_op_name(op), m->a->in_place ? "share" : "do not share");
	for (int j = 0; j < op->noperands; j++)
		read_value(m, check_number(ir_operand(op, j)));
	if (m->a->scratch >= 0)
		write_buffer(m, m->a->scratch, NONE);
	for (int r = 0; r < op->nresults; r++) {
		const int32_t v = check_number(&op->result[r]);
		write_buffer(m, p->value[v].buffer, m->c->root[v]);
	}
}

/* Is the action one of several, an iteration each, that complete its result together? */
static bool
completes(const struct machine *m)
{
	return m->a->kind == LOWER_ADD ||
	       (m->a->kind == LOWER_COPY && m->a->copy.slice_axis >= 0 && !m->a->copy.slice_src);
}

/* What earlier iterations have put into it must still be there. */
static void
check_kept(struct machine *m, int32_t dst)
{
	const int32_t buffer = m->c->p->value[dst].buffer;
	const struct state *s = &m->state[buffer];

	check_kept_life(m, buffer, true);
	if (m->again && (s->holds != m->c->root[dst] || !s->sums || s->loop != m->loop ||
				!byte_map_is(m->map, s->range, buffer)))
		FAULT(m->c, m->a->op,
			"the sum of earlier iterations in %%%s is overwritten "
			"before the next one adds to it",
			name_of(m, buffer));
}

static void
run_move(struct machine *m)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_action *a = m->a;
	const int32_t from = p->value[a->src].buffer, to = p->value[a->dst].buffer;
	const bool whole = !p->value[a->dst].value || a->kind == LOWER_PACK || op_is(a->op, EFFECT),
		   part = completes(m);

	touch(m, from, TOUCH_READ, a->src, 0);
	touch(m, to, TOUCH_WRITE, a->dst, 0);
	check_touches(m);
	read_value(m, a->src);
	if (part)
		check_kept(m, a->dst);
	/* A copy of the whole is what is copied, whatever the name of the buffer. */
	write_buffer(m, to, whole ? m->state[from].holds : m->c->root[a->dst]);
	m->state[to].sums = part;
}

static void
run_post(struct machine *m)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_coll *coll = &p->coll[m->a->coll];

	for (int k = 0; k < coll->nbufs; k++) {
		touch(m, p->value[coll->buf[k].src].buffer, TOUCH_READ, coll->buf[k].src, k);
		touch(m, p->value[coll->buf[k].dst].buffer, TOUCH_WRITE, coll->buf[k].dst, k);
	}
	check_touches(m);
	/* In a row the operand was made or copied where the result will be. */
	for (int k = 0; k < coll->nbufs; k++)
		read_buffer(m, check_number(ir_operand(coll->op, k)),
			p->value[coll->buf[k].src].buffer);
	for (int k = 0; k < coll->nbufs; k++)
		write_buffer(m, p->value[coll->buf[k].dst].buffer, NONE);
	for (int k = 0; k < coll->nbufs; k++) {
		struct state *src = &m->state[p->value[coll->buf[k].src].buffer];
		src->readers++;
		src->user = m->a->coll;
		m->state[p->value[coll->buf[k].dst].buffer].writer = m->a->coll;
	}
	m->posted[m->a->coll] = m->loop;
}

/* In another loop than that of its post, a wait names a row by iterations of its own. */
static void
run_wait(struct machine *m)
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
		check_life(m, from);
		check_life(m, to);
		m->state[from].readers--;
		m->state[to].writer = NONE;
		m->state[to].holds = m->c->root[coll->buf[k].dst];
		m->state[to].loop = loop;
	}
}

static void
run_action(struct machine *m, int at)
{
	m->at = at;
	m->a = &m->c->p->action[at];
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

/* The body of the loop that action `at` begins, twice; returns the number of its end. */
static int
run_loop(struct machine *m, int at)
{
	const struct lower_plan *p = m->c->p;
	int end = at;

	while (p->action[end].kind != LOWER_END)
		end++;
	m->loop = at;
	m->begin = p->action[at].at + 1;
	m->end = p->action[end].at - 1;
	for (int pass = 0; pass < (issue_turns(p->module, p->action[at].over) > 1 ? 2 : 1);
		pass++) {
		m->again = pass > 0;
		for (int k = at + 1; k < end; k++)
			run_action(m, k);
	}
	m->loop = NONE;
	m->again = false;
	return end;
}

/* --- before and after the step ---------------------------------------------------------------- */

static void
expect_at_end(struct machine *m, const struct ir_op *op, int32_t buffer, int32_t root)
{
	const struct state *s = &m->state[buffer];

	if (s->writer != NONE)
		return; /* reported as a missing wait */
	if (!byte_map_is(m->map, s->range, buffer))
		FAULT(m->c, op, "buffer %d (%%%s), which outlives the step, is overwritten in it",
			buffer, name_of(m, buffer));
	else if (s->holds != root)
		FAULT(m->c, op,
			"buffer %d (%%%s), which outlives the step, holds "
			"%%%s at its end and not %%%s",
			buffer, name_of(m, buffer), value_name(m, s->holds), value_name(m, root));
}

/* Where the runtime looks for an output: the copy of it, or its value. */
static int32_t *
output_buffers(const struct machine *m)
{
	const struct lower_plan *p = m->c->p;
	const struct ir_op *last = p->main->body.last;
	int32_t *at = ARRAY_NEW(m->scratch, int32_t, last ? (size_t)last->order + 1 : 1);

	IR_FOR_OPS (op, &p->main->body)
		at[op->order] = op->code == OP_output
					? p->value[check_number(ir_operand(op, 0))].buffer
					: NONE;
	for (int i = p->nactions; i-- > 0;)
		if (p->action[i].kind == LOWER_COPY && p->action[i].op->code == OP_output)
			at[p->action[i].op->order] = p->value[p->action[i].dst].buffer;
	return at;
}

/* What a param holds when the step is over: its next value, if it has one. */
static int32_t
next_value(const struct machine *m, const struct ir_value *param)
{
	IR_FOR_USES (u, param)
		if (u->op->code == OP_update && u == &u->op->operand[0])
			return m->c->root[check_number(ir_operand(u->op, 1))];
	return m->c->root[check_number(param)];
}

static void
check_end(struct machine *m)
{
	const struct lower_plan *p = m->c->p;
	const int32_t *output = output_buffers(m), stage = p->storage->stage;

	for (int i = 0; i < p->ncolls; i++)
		if (m->posted[i] != NOT_POSTED)
			FAULT(m->c, NULL, "the step ends without a wait for a posted %s",
				coll_name(m, i));
	/* Between steps the runtime writes there. */
	if (stage >= 0)
		byte_map_set(m->map, m->state[stage].range, stage);
	IR_FOR_OPS (op, &p->main->body) {
		if (output[op->order] != NONE)
			expect_at_end(m, op, output[op->order],
				m->c->root[check_number(ir_operand(op, 0))]);
		if (op->code != OP_input && !op_is(op, PERSISTENT))
			continue;
		const int32_t v = check_number(&op->result[0]);
		expect_at_end(m, op, p->value[v].buffer,
			op->code == OP_input ? m->c->root[v] : next_value(m, &op->result[0]));
	}
}

static void
find_ranges(struct machine *m)
{
	const struct lower_plan *p = m->c->p;
	uint64_t *offset = ARRAY_NEW(m->scratch, uint64_t, 2 * (size_t)p->nbuffers + 1);

	for (int i = 0; i < p->nbuffers; i++) {
		const struct storage_buffer *b = &p->buffer[i];
		offset[2 * i] = b->offset;
		offset[2 * i + 1] = b->offset + b->bytes * (uint64_t)b->slots;
	}
	m->map = byte_map_create(m->scratch, offset, 2 * (uint32_t)p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		m->state[i] = (struct state){
			.range = byte_map_range(m->map, offset[2 * i], offset[2 * i + 1]),
			.holds = NONE,
			.writer = NONE,
			.loop = NONE};
}

static void
start(struct machine *m)
{
	const struct lower_plan *p = m->c->p;

	m->state = ARRAY_NEW(m->scratch, struct state, (size_t)p->nbuffers + 1);
	m->posted = ARRAY_NEW(m->scratch, int32_t, (size_t)p->ncolls + 1);
	m->touch = ARRAY_NEW(m->scratch, struct touch, (size_t)lower_most_accesses(p));
	find_ranges(m);
	for (int i = 0; i < p->ncolls; i++)
		m->posted[i] = NOT_POSTED;
	IR_FOR_OPS (op, &p->main->body) {
		if (op->code != OP_input && !op_is(op, PERSISTENT))
			continue;
		const int32_t v = check_number(&op->result[0]), b = p->value[v].buffer;
		byte_map_set(m->map, m->state[b].range, b);
		m->state[b].holds = m->c->root[v];
	}
}

void
check_memory(struct check *c)
{
	struct machine m = {.c = c, .scratch = talloc_new(NULL), .loop = NONE};

	start(&m);
	for (int i = 0; i < c->p->nactions; i++)
		if (c->p->action[i].kind == LOWER_LOOP)
			i = run_loop(&m, i);
		else
			run_action(&m, i);
	check_end(&m);
	talloc_free(m.scratch);
}
