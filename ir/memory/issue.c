/* The order of issue: see issue.h. */
#include "ir/memory/issue.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

uint32_t
issue_axes(const struct ir_module *m, const struct ir_type *t)
{
	uint32_t set = 0;
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time &&
			(t->axis[a].kind == IR_SPLIT || t->axis[a].kind == IR_PARTIAL))
			set |= 1u << a;
	return set;
}

int64_t
issue_iterations(const struct ir_module *m, uint32_t axes)
{
	int64_t iterations = 1;
	for (int a = 0; a < m->naxes; a++)
		if (axes >> a & 1)
			iterations *= m->axis[a].size;
	return iterations;
}

const struct issue_loop *
issue_loop_of(const struct issue *o, const struct ir_op *op)
{
	return &o->loop[o->loop_of[o->position[op->id]]];
}

uint32_t
issue_map(const struct ir_module *m, uint32_t from, uint32_t t, uint32_t to)
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

/* The time axis over which the op is repeated although its types do not say so (`each`): a set. A
 * reshape is repeated with its operand; one that has been erased has none. */
static uint32_t
again_axes(const struct ir_op *op)
{
	while (op->code == OP_reshape && op->noperands && ir_operand(op, 0)->op)
		op = ir_operand(op, 0)->op;
	const int64_t each = op_is(op, TRAIT_PARALLEL) ? ir_attr_int(op, "each", -1) : -1;
	return each < 0 ? 0 : 1u << each;
}

/* Ops with effects or persistent tensors are never in a loop. */
uint32_t
issue_op_axes(const struct ir_module *m, const struct ir_op *op)
{
	uint32_t set = again_axes(op);
	if (op_is(op, TRAIT_EFFECT | TRAIT_NAMED))
		return 0;
	for (int i = 0; i < op->noperands; i++)
		set |= issue_axes(m, ir_operand_type(op, i));
	for (int i = 0; i < op->nresults; i++)
		set |= issue_axes(m, op->result[i].type);
	return set;
}

/* Are results of an op in the open loop complete only after the loop? LATE_OUTSIDE: only for
 * readers that are not in the loop. */
enum late { IN_TIME, LATE_OUTSIDE, LATE };

struct sorter {
	const struct ir_module *m;
	struct issue *o;
	const struct ir_op **inside, **behind; /* of the open loop */
	uint32_t ninside, nbehind, over;
	uint8_t *late;       /* by op->id: enum late */
	struct cells *cells; /* of the loop being closed; NULL: none */
	int stage_axis;
	uint8_t *flag; /* by op->id: enum flag */
};

/* Flags of ops of a loop with a schedule. */
enum flag {
	IN_LOOP = 1,  /* is in the loop */
	RETURNS = 2,  /* waits for a later stage */
	LEADS = 4,    /* a later stage or an output waits for it */
	REPORTED = 8, /* any op: an output waits for it */
	FEEDS = 16,   /* an earlier stage waits for it */
};

/* ---- schedules ---- */

static bool
is_send(const struct ir_op *op, int axis)
{
	return op->code == OP_send && ir_attr_int(op, "axis", -1) == axis;
}

/* Is it a send to a later stage (1), an earlier one (-1), or neither (0)? Perhaps on one device. */
static int
direction(const struct ir_op *op, int axis)
{
	const int64_t from = ir_attr_int(op, "from", 0), to = ir_attr_int(op, "to", 0);

	return !is_send(op, axis) || from == to ? 0 : from < to ? 1 : -1;
}

/* The first axis of the open loop that has a schedule; -1: none. */
static int
scheduled_axis(const struct sorter *s)
{
	for (int a = 0; a < s->m->naxes; a++)
		if (s->over >> a & 1 && s->m->axis[a].schedule && s->m->axis[a].size > 1)
			return a;
	return -1;
}

static int
find_stage_axis(const struct sorter *s)
{
	for (int a = 0; a < s->m->naxes; a++)
		for (uint32_t i = 0; !s->m->axis[a].time && i < s->ninside; i++)
			for (int r = 0; r < s->inside[i]->nresults; r++)
				if (s->inside[i]->result[r].type->axis[a].kind == IR_SINGLE)
					return a;
	return -1;
}

static bool
is_reported(const struct ir_op *op)
{
	return op->code == OP_output && strncmp(op->symbol, "grad.", 5) != 0;
}

/* Sets the flags of ops of the loop, and REPORTED of all ops up to `last`. Returns why its stages
 * cannot run the iterations in another order; NULL: they can. */
static const char *
flag_ops(const struct sorter *s, const struct ir_op *last)
{
	const int axis = s->stage_axis;
	const struct ir_op **culprit = &s->o->why_op;

	for (uint32_t i = 0; i < s->ninside; i++)
		s->flag[s->inside[i]->id] = IN_LOOP;
	for (uint32_t i = 0; i < s->ninside && s->m->axis[axis].stage; i++) {
		*culprit = s->inside[i];
		if (!s->inside[i]->nresults ||
			s->inside[i]->result[0].type->axis[axis].kind != IR_SINGLE)
			return TEXT(s->o,
				"%s belongs to no stage, but devices run several stages: each device would run it several times",
				op_name((enum op_code)s->inside[i]->code));
	}
	for (uint32_t i = 0; i < s->ninside; i++) {
		const struct ir_op *op = *culprit = s->inside[i];
		if (op_is(op, TRAIT_PARALLEL) && !is_send(op, axis) &&
			ir_attr_int(op, "axis", -1) == axis)
			return TEXT(s->o,
				"%s communicates along the axis of the stages, which process a micro-batch at "
				"different times; only send is allowed between stages",
				op_name((enum op_code)op->code));
		for (int j = 0; j < op->noperands; j++) {
			const struct ir_op *from = ir_operand(op, j)->op;
			if (s->flag[from->id] & IN_LOOP &&
				(direction(from, axis) < 0 || s->flag[from->id] & RETURNS))
				s->flag[op->id] |= RETURNS;
		}
		if (s->flag[op->id] & RETURNS && direction(op, axis) > 0)
			return "a value of the backward pass is sent to a later stage";
	}
	/* From the end of the block backwards: what outputs read. */
	for (const struct ir_op *op = last; op; op = op->prev) {
		const uint8_t flag = s->flag[op->id];
		const bool reported = is_reported(op) || flag & REPORTED,
			   leads = flag & IN_LOOP &&
				   (direction(op, axis) > 0 || flag & LEADS || reported);
		const bool feeds = flag & IN_LOOP && (direction(op, axis) < 0 || flag & FEEDS);
		if (leads)
			s->flag[op->id] |= LEADS;
		if (feeds)
			s->flag[op->id] |= FEEDS;
		for (int j = 0; j < op->noperands && (reported || leads || feeds); j++)
			s->flag[ir_operand(op, j)->op->id] |=
				(uint8_t)((reported ? REPORTED : 0) | (leads ? LEADS : 0) |
					  (feeds ? FEEDS : 0));
	}
	*culprit = s->inside[0];
	return NULL;
}

/* A value sent to an earlier stage is backward even if an output waits for it: only backward cells
 * of that stage wait for it. */
static enum cell_phase
phase_of(const struct sorter *s, const struct ir_op *op)
{
	const uint8_t flag = s->flag[op->id];
	const int to = direction(op, s->stage_axis);

	if (!(flag & RETURNS) && to >= 0 && (flag & LEADS || to > 0))
		return CELL_FORWARD;
	return s->cells->divided && !(flag & FEEDS) ? CELL_WEIGHT : CELL_BACKWARD;
}

/* Where the stages of an axis are. */
static struct cell_places
issue_cell_places(const struct ir_axis *a)
{
	return (struct cell_places){(uint32_t)a->size, (uint32_t)ir_axis_stages(a), a->stage};
}

/* Finds the cells of the open loop and sorts its ops by phase; count[k]: ops in phases before k. */
static void
find_cells(struct sorter *s, uint32_t count[CELL_PHASES + 1])
{
	const int time = s->ninside ? scheduled_axis(s) : -1;
	const struct ir_op *culprit = s->o->why_op;
	const char *why = NULL;
	uint32_t n = 0;

	if (time < 0 || (s->stage_axis = find_stage_axis(s)) < 0)
		return;
	memset(s->flag, 0, s->m->op_ids);
	if (s->over != 1u << time) {
		why = TEXT(s->o, "it is of axis %s, but the loop is over other time axes, too",
			s->m->axis[time].name);
		s->o->why_op = s->inside[0];
	} else {
		why = flag_ops(s, s->inside[0]->block->last);
	}
	if (!why)
		s->cells = cells_create(s->o, s->m->axis[time].schedule,
			issue_cell_places(&s->m->axis[s->stage_axis]),
			(uint32_t)s->m->axis[time].size, &why);
	if (s->o->why)
		s->o->why_op = culprit;
	s->o->why = s->o->why ? s->o->why : why;
	if (!s->cells)
		return;
	const struct ir_op **list = ARRAY_NEW(NULL, const struct ir_op *, s->ninside);
	for (int phase = 0; phase < CELL_PHASES; phase++) {
		count[phase] = n;
		for (uint32_t i = 0; i < s->ninside; i++)
			if ((int)phase_of(s, s->inside[i]) == phase)
				list[n++] = s->inside[i];
	}
	count[CELL_PHASES] = n;
	memcpy(s->inside, list, n * sizeof *list);
	array_free(list);
}

enum cell_phase
issue_phase(const struct issue *o, const struct ir_op *op)
{
	const struct issue_loop *l = issue_loop_of(o, op);
	int phase = CELL_FORWARD;

	while (phase + 1 < CELL_PHASES && o->position[op->id] >= l->phase[phase + 1])
		phase++;
	return (enum cell_phase)phase;
}

int
issue_stage(const struct issue_loop *l, const struct ir_value *v)
{
	const struct ir_state s = v->type->axis[l->stage_axis];

	return s.kind == IR_SINGLE ? s.order : -1;
}

/* Is the op a send from one stage to another that is on another device? */
static bool
is_message(const struct issue_loop *l, const struct ir_op *op)
{
	return direction(op, l->stage_axis) && l->cells->device[ir_attr_int(op, "from", 0)] !=
						       l->cells->device[ir_attr_int(op, "to", 0)];
}

/* What readers of a value, or of its views and barriers, need. */
struct readers {
	uint64_t in; /* phases of stages on its device, a set as cells_member makes it */
	bool sent;   /* to another device */
};

/* A value without a stage is on all: with one stage on each device the sets of all are equal. */
static uint64_t
member(const struct issue_loop *l, int stage, uint32_t phase)
{
	return cells_member(l->cells, stage < 0 ? 0 : (uint32_t)stage, phase);
}

/* `stage` is where the value is. */
static void
look_at_readers(const struct issue *o, const struct issue_loop *l, const struct ir_value *v,
	int stage, struct readers *x)
{
	IR_FOR_USES (u, v) {
		if (issue_loop_of(o, u->op) != l)
			continue;
		const bool goes = is_message(l, u->op);
		x->in |= member(l, stage, issue_phase(o, u->op));
		x->sent |= goes;
		/* Whether it is a view of its operand is not known here: any candidate counts. */
		if (!goes && (u->op->code == OP_reshape || u->op->code == OP_stop_gradient ||
				     u->op->code == OP_barrier || u->op->code == OP_convert ||
				     op_is(u->op, TRAIT_PARALLEL))) {
			const struct ir_value *view = &u->op->result[u - u->op->operand];
			look_at_readers(o, l, view, issue_stage(l, view), x);
		}
	}
}

bool
issue_message(const struct issue *o, const struct ir_op *op, struct cell_message *m)
{
	const struct issue_loop *l = issue_loop_of(o, op);
	struct readers x = {0};

	if (!l->cells || !is_message(l, op))
		return false;
	*m = (struct cell_message){(uint32_t)ir_attr_int(op, "from", 0),
		(uint32_t)ir_attr_int(op, "to", 0), (uint8_t)issue_phase(o, op), 0, false, false};
	for (int r = 0; r < op->nresults; r++)
		look_at_readers(o, l, &op->result[r], (int)m->to, &x);
	m->read = x.in | cells_member(l->cells, m->to, m->phase);
	m->sent_on = x.sent;
	return true;
}

uint32_t
issue_ring(const struct issue *o, const struct ir_value *v, bool *crosses)
{
	const struct issue_loop *l = issue_loop_of(o, v->op);
	struct cell_message m;
	struct readers x = {0};
	uint32_t ring = 1;

	*crosses = true;
	if (issue_message(o, v->op, &m))
		return cells_message_ring(l->cells, &m);
	const enum cell_phase made = issue_phase(o, v->op);
	const int stage = issue_stage(l, v);
	look_at_readers(o, l, v, stage, &x);
	*crosses = x.sent || (x.in & ~member(l, stage, made));
	for (uint32_t s = 0; s < l->cells->stages; s++)
		if (stage < 0 || (uint32_t)stage == s) {
			const uint32_t n =
				cells_ring(l->cells, s, made, x.in & ~member(l, stage, made));
			ring = n > ring ? n : ring;
		}
	/* One slot is being sent while the next is computed. */
	return x.sent && ring < 2 ? 2 : ring;
}

/* Do cells of the loop have collectives, other than messages between stages? */
static bool
has_collectives(const struct issue *o, const struct issue_loop *l)
{
	for (uint32_t p = l->first; p < l->end; p++) {
		const struct ir_op *op = o->op[p];
		const int64_t axis = ir_attr_int(op, "axis", 0);
		if (op_is(op, TRAIT_PARALLEL) && axis != l->stage_axis && !(l->over >> axis & 1) &&
			ir_operand_type(op, 0)->axis[axis].kind != IR_COPIED)
			return true;
	}
	return false;
}

uint32_t
issue_messages(const void *owner, const struct issue *o, const struct issue_loop *l,
	const struct ir_op ***op, struct cell_message **message)
{
	const bool late = has_collectives(o, l);
	uint32_t n = 0;

	*op = ARRAY_NEW(owner, const struct ir_op *, l->end - l->first + 1u);
	*message = ARRAY_NEW(owner, struct cell_message, l->end - l->first + 1u);
	for (uint32_t p = l->first; p < l->end; p++)
		if (issue_message(o, o->op[p], &(*message)[n])) {
			(*message)[n].late = late;
			(*op)[n++] = o->op[p];
		}
	return n;
}

/* ---- the order ---- */

/* Appends ops as one loop, or to the last one if both are done once. */
static void
append(struct sorter *s, const struct ir_op *const *op, uint32_t n, uint32_t over)
{
	struct issue *o = s->o;
	if (n == 0)
		return;
	if (!o->nloops || over || o->loop[o->nloops - 1].over)
		o->loop[o->nloops++] = (struct issue_loop){.first = o->n,
			.end = o->n,
			.over = over,
			.iterations = (uint32_t)issue_iterations(s->m, over)};
	for (uint32_t i = 0; i < n; i++) {
		o->position[op[i]->id] = o->n;
		o->loop_of[o->n] = o->nloops - 1;
		o->once[o->n] = !over || !issue_op_axes(s->m, op[i]);
		o->op[o->n++] = op[i];
		s->late[op[i]->id] = IN_TIME;
	}
	o->loop[o->nloops - 1].end = o->n;
}

static void
close_loop(struct sorter *s)
{
	uint32_t count[CELL_PHASES + 1];

	find_cells(s, count);
	append(s, s->inside, s->ninside, s->over);
	if (s->cells) {
		struct issue_loop *l = &s->o->loop[s->o->nloops - 1];
		l->cells = s->cells;
		for (int k = 0; k <= CELL_PHASES; k++)
			l->phase[k] = l->first + count[k];
		l->stage_axis = s->stage_axis;
		s->cells = NULL;
	}
	append(s, s->behind, s->nbehind, 0);
	s->ninside = s->nbehind = s->over = 0;
}

/* Does the op read a value that is complete for it only after the open loop? */
static bool
reads_late(const struct sorter *s, const struct ir_op *op, bool inside)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_op *maker = ir_operand(op, i)->op;
		if (maker && s->late[maker->id] > (inside ? LATE_OUTSIDE : IN_TIME))
			return true;
	}
	return false;
}

/* When are all results of the op complete? Those of a barrier are complete when its operands
 * are, in the same iteration; outside the loop its operands are available only after the last
 * iteration. Results of ops that are repeated in each iteration are available in that iteration,
 * and so are results of a fuse that do not depend on it: no kernel sums over time axes. */
static enum late
lateness(const struct sorter *s, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		if (issue_axes(s->m, op->result[i].type) != s->over)
			return op->code == OP_barrier || op->code == OP_fuse || again_axes(op)
				       ? LATE_OUTSIDE
				       : LATE;
	return IN_TIME;
}

static bool
is_peeled(const struct sorter *s)
{
	for (int a = 0; a < s->m->naxes; a++)
		if (s->over >> a & 1 && !s->m->axis[a].peel)
			return false;
	return true;
}

static void
place(struct sorter *s, const struct ir_op *op)
{
	uint32_t over = issue_op_axes(s->m, op);
	bool late = s->over && reads_late(s, op, over != 0);
	if (!over && !late) {
		append(s, &op, 1, 0);
		return;
	}
	if (!over) {
		if (is_peeled(s))
			s->inside[s->ninside++] = op;
		else
			s->behind[s->nbehind++] = op;
		s->late[op->id] = LATE;
		return;
	}
	if (s->over && (over != s->over || late))
		close_loop(s);
	s->over = over;
	s->inside[s->ninside++] = op;
	s->late[op->id] = (uint8_t)lateness(s, op);
}

bool
issue_has_loops(const struct ir_module *m)
{
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time)
			return true;
	return false;
}

/* Without loops ops are issued in the order of the text. */
static void
list_all(struct issue *o, const struct ir_module *m, const struct ir_block *b)
{
	IR_FOR_OPS (op, b) {
		o->position[op->id] = o->n;
		o->op[o->n++] = op;
	}
	memset(o->loop_of, 0, o->n * sizeof *o->loop_of);
	memset(o->once, true, o->n * sizeof *o->once);
	o->loop = ARRAY_ZERO(o, struct issue_loop, 1);
	o->loop[0] =
		(struct issue_loop){.end = o->n, .iterations = (uint32_t)issue_iterations(m, 0)};
	o->nloops = o->n > 0;
}

struct issue *
issue_create(const void *owner, const struct ir_module *m, const struct ir_block *b)
{
	struct issue *o = NEW(owner, struct issue);
	const size_t n = m->op_ids; /* at least the number of ops, which only a walk would count */

	o->op = ARRAY_NEW(o, const struct ir_op *, n);
	o->position = ARRAY_NEW(o, uint32_t, m->op_ids);
	o->loop_of = ARRAY_NEW(o, uint32_t, n);
	o->once = ARRAY_NEW(o, bool, n);
	if (!issue_has_loops(m)) {
		list_all(o, m, b);
		return o;
	}
	void *scratch = alloc_scratch(NULL);
	struct sorter s = {.m = m, .o = o};
	o->loop = ARRAY_NEW(o, struct issue_loop, n);
	s.inside = ARRAY_NEW(scratch, const struct ir_op *, n);
	s.behind = ARRAY_NEW(scratch, const struct ir_op *, n);
	s.late = ARRAY_ZERO(scratch, uint8_t, m->op_ids);
	s.flag = ARRAY_NEW(scratch, uint8_t, m->op_ids);
	IR_FOR_OPS (op, b)
		place(&s, op);
	close_loop(&s);
	talloc_free(scratch);
	return o;
}

bool
issue_check(const struct ir_module *m)
{
	const struct ir_func *main = ir_func_find(m, "main");
	bool scheduled = false;

	for (int a = 0; a < m->naxes; a++)
		scheduled |= m->axis[a].schedule != NULL;
	if (!scheduled || !main)
		return true;
	struct issue *o = issue_create(NULL, m, &main->body);
	if (o->why)
		diag_error(m->ctx->diag, o->why_op->loc,
			"the schedule of the micro-batches cannot be followed: %s", o->why);
	const bool good = !o->why;
	talloc_free(o);
	return good;
}
