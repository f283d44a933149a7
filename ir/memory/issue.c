/* The order of issue: see issue.h. */
#include "ir/memory/issue.h"

#include "ir/base/alloc.h"

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
issue_turns(const struct ir_module *m, uint32_t axes)
{
	int64_t turns = 1;
	for (int a = 0; a < m->naxes; a++)
		if (axes >> a & 1)
			turns *= m->axis[a].size;
	return turns;
}

const struct issue_loop *
issue_loop_of(const struct issue *o, const struct ir_op *op)
{
	return &o->loop[o->loop_of[o->position[op->id]]];
}

bool
issue_is_last(const struct issue *o, const struct ir_op *op)
{
	return o->once[o->position[op->id]] && issue_loop_of(o, op)->over;
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

/* The time axis over which the op is done again although its types do not say so: a set. */
static uint32_t
again_axes(const struct ir_op *op)
{
	const int64_t each = op_is(op, TRAIT_PARALLEL) ? ir_attr_int(op, "each", -1) : -1;
	return each < 0 ? 0 : 1u << each;
}

/* What lives outside a step is done in no loop. */
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

/* Are results of an op in the open loop complete only when the loop is done? LATE_OUTSIDE: for ops
 * that are not in the loop. */
enum late { IN_TIME, LATE_OUTSIDE, LATE };

struct sorter {
	const struct ir_module *m;
	struct issue *o;
	const struct ir_op **inside, **behind; /* of the loop that is open */
	uint32_t ninside, nbehind, over;
	uint8_t *late; /* by op->id: enum late */
};

/* Appends ops as one loop, or to the last one where both are done once. */
static void
append(struct sorter *s, const struct ir_op *const *op, uint32_t n, uint32_t over)
{
	struct issue *o = s->o;
	if (n == 0)
		return;
	if (!o->nloops || over || o->loop[o->nloops - 1].over)
		o->loop[o->nloops++] =
			(struct issue_loop){o->n, o->n, over, (uint32_t)issue_turns(s->m, over)};
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
	append(s, s->inside, s->ninside, s->over);
	append(s, s->behind, s->nbehind, 0);
	s->ninside = s->nbehind = s->over = 0;
}

/* Does the op read what is not complete for it before the open loop is done? */
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
 * iteration. Results of ops that are repeated in each iteration are available in the same one. */
static enum late
lateness(const struct sorter *s, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++)
		if (issue_axes(s->m, op->result[i].type) != s->over)
			return op->code == OP_barrier || again_axes(op) ? LATE_OUTSIDE : LATE;
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

struct issue *
issue_create(const void *owner, const struct ir_module *m, const struct ir_block *b)
{
	struct issue *o = NEW(owner, struct issue);
	void *scratch = alloc_scratch(NULL);
	const size_t n = m->op_ids; /* no fewer than there are ops: counting them is a walk */
	uint32_t nops = 0;
	struct sorter s = {.m = m, .o = o};
	o->op = ARRAY_NEW(o, const struct ir_op *, n);
	o->position = ARRAY_NEW(o, uint32_t, m->op_ids);
	o->loop_of = ARRAY_NEW(o, uint32_t, n);
	o->once = ARRAY_NEW(o, bool, n);
	o->loop = ARRAY_NEW(o, struct issue_loop, n);
	s.inside = ARRAY_NEW(scratch, const struct ir_op *, n);
	s.behind = ARRAY_NEW(scratch, const struct ir_op *, n);
	s.late = ARRAY_ZERO(scratch, uint8_t, m->op_ids);
	if (!issue_has_loops(m)) {
		IR_FOR_OPS (op, b)
			s.behind[nops++] = op;
		append(&s, s.behind, nops, 0);
	} else {
		IR_FOR_OPS (op, b)
			place(&s, op);
		close_loop(&s);
	}
	talloc_free(scratch);
	return o;
}
