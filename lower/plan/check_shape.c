/*
 * Every index of the plan is valid, and each action has exactly the fields of its kind. The other
 * checks may follow all indices.
 */
#include "lower/plan/check.h"

/* The fields that actions of a kind have; `guard`: some ranks may skip the action. */
static const struct fields {
	bool op, guard, over, coll, kernel, move, copy;
} fields_of[] = {
	[LOWER_KERNEL] = {.op = true, .guard = true, .kernel = true},
	[LOWER_COPY] = {.op = true, .guard = true, .kernel = true, .move = true, .copy = true},
	[LOWER_ADD] = {.op = true, .guard = true, .over = true, .kernel = true, .move = true},
	[LOWER_PACK] = {.op = true, .guard = true, .move = true, .copy = true},
	[LOWER_POST] = {.op = true, .guard = true, .coll = true},
	[LOWER_WAIT] = {.op = true, .guard = true, .coll = true},
	[LOWER_LOOP] = {.over = true},
	[LOWER_END] = {.over = true},
};

static bool
in_main(const struct check *c, const struct ir_op *op)
{
	return op && op->block == &c->p->main->body;
}

/* Is it an entry of the plan that lies in a buffer? */
static bool
has_buffer(const struct lower_plan *p, int32_t value)
{
	return value >= 0 && value < p->nvalues && p->value[value].buffer >= 0;
}

static void
shape_values(struct check *c)
{
	const struct lower_plan *p = c->p;

	for (int32_t i = 0; i < p->nvalues; i++) {
		const struct lower_value *v = &p->value[i];
		const struct ir_op *op = v->value ? v->value->op : NULL;
		if (v->buffer < (v->value ? -1 : 0) || v->buffer >= p->nbuffers)
			FAULT(c, op, "value %d is in buffer %d; there are buffers 0 to %d", i,
				v->buffer, p->nbuffers - 1);
		if (v->value && check_number(p, v->value) != i)
			FAULT(c, op, "entry %d belongs to value %d", i, check_number(p, v->value));
	}
	IR_FOR_OPS (op, &p->main->body)
		for (int r = 0; r < op->nresults; r++) {
			const int32_t i = check_number(p, &op->result[r]);
			if (i < 0 || i >= p->nvalues || p->value[i].value != &op->result[r])
				FAULT(c, op, "result %d of %s has no entry", r + 1,
					check_op_name(op));
			else if (p->value[i].buffer < 0 && op->code != OP_constant)
				FAULT(c, op,
					"result %d of %s has no buffer; only a "
					"constant may have none",
					r + 1, check_op_name(op));
		}
}

/* Values that outlive the step are in memory. */
static void
shape_effects(struct check *c)
{
	IR_FOR_OPS (op, &c->p->main->body)
		for (int j = 0; op_is(op, TRAIT_EFFECT) && j < op->noperands; j++)
			if (!has_buffer(c->p, check_number(c->p, ir_operand(op, j))))
				FAULT(c, op, "operand %d of %s is not in memory", j + 1,
					check_op_name(op));
}

static void
shape_coll(struct check *c, int i)
{
	const struct lower_plan *p = c->p;
	const struct lower_coll *coll = &p->coll[i];

	if (!in_main(c, coll->op) ||
		!op_is(coll->op, coll->transfer ? TRAIT_COPY : TRAIT_PARALLEL)) {
		FAULT(c, coll->op, "collective %d is not of a collective op", i);
		return;
	}
	if (coll->nbufs != coll->op->nresults || coll->nbufs != coll->op->noperands || !coll->buf) {
		FAULT(c, coll->op, "%s of %d tensors is a collective of %d buffers",
			check_op_name(coll->op), coll->op->noperands, coll->nbufs);
		return;
	}
	for (int k = 0; k < coll->nbufs; k++)
		if (!has_buffer(p, coll->buf[k].src) || !has_buffer(p, coll->buf[k].dst))
			FAULT(c, coll->op, "buffer %d of the %s is not in memory", k + 1,
				check_op_name(coll->op));
}

static void
shape_guard(struct check *c, const struct lower_action *a)
{
	const struct ir_module *m = c->p->module;
	const struct lower_guard *g = &a->guard;
	uint32_t seen = 0;

	if (g->n > m->naxes) {
		FAULT(c, a->op, "a guard of %d conditions; there are %d axes", g->n, m->naxes);
		return;
	}
	for (int i = 0; i < g->n; i++) {
		const int axis = g->axis[i];
		if (axis >= m->naxes || m->axis[axis].time || seen >> axis & 1 ||
			g->place[i] >= m->axis[axis].size)
			FAULT(c, a->op,
				"condition %d of a guard, axis %d at %d, does not "
				"select ranks of a device axis",
				i + 1, axis, g->place[i]);
		else
			seen |= 1u << axis;
	}
}

static bool
is_no_copy(const struct lower_copy *x)
{
	return !x->outer && !x->bytes && !x->src_stride && !x->dst_stride && x->slice_axis == -1 &&
	       !x->slice_bytes && !x->slice_src;
}

/* Fields that actions of this kind do not have. */
static bool
has_others(const struct lower_action *a, const struct fields *f)
{
	const bool kernel = a->kind == LOWER_KERNEL;

	return (!f->op && a->op) || (!f->over && a->over) || (!f->coll && a->coll != -1) ||
	       (!f->kernel && a->kernel != -1) || (!f->move && (a->src != -1 || a->dst != -1)) ||
	       (!f->copy && !is_no_copy(&a->copy)) ||
	       (!kernel && (a->scratch != -1 || a->in_place || a->scheme));
}

static bool
lacks_fields(const struct check *c, const struct lower_action *a, const struct fields *f)
{
	const struct lower_plan *p = c->p;

	return (f->op && !in_main(c, a->op)) ||
	       (f->coll && (a->coll < 0 || a->coll >= p->ncolls)) ||
	       (f->move && (!has_buffer(p, a->src) || !has_buffer(p, a->dst))) || a->scratch < -1 ||
	       a->scratch >= p->nbuffers || (a->kind == LOWER_KERNEL && !a->scheme);
}

static void
shape_action(struct check *c, int i)
{
	const struct lower_plan *p = c->p;
	const struct lower_action *a = &p->action[i];

	if ((unsigned)a->kind > LOWER_END) {
		FAULT(c, NULL, "action %d is of an unknown kind", i);
		return;
	}
	const struct fields *f = &fields_of[a->kind];
	if (lacks_fields(c, a, f) || has_others(a, f)) {
		FAULT(c, in_main(c, a->op) ? a->op : NULL,
			"action %d lacks a field of its kind, or has one of another kind", i);
		return;
	}
	if (a->guard.n && !f->guard)
		FAULT(c, a->op, "only some ranks go through the loop of action %d", i);
	shape_guard(c, a);
	if (a->kind != LOWER_KERNEL)
		return;
	if (!check_is_kernel(p->module, a->op))
		FAULT(c, a->op, "a kernel of %s, which has none", check_op_name(a->op));
	for (int r = 0; r < a->op->nresults; r++)
		if (!has_buffer(p, check_number(p, &a->op->result[r])))
			FAULT(c, a->op, "result %d of %s is not in memory", r + 1,
				check_op_name(a->op));
}

/* Loops begin and end alternately, over the same time axes; one without an end cannot be run. */
static void
shape_loops(struct check *c)
{
	const struct lower_plan *p = c->p;
	uint32_t over = 0, time = 0;

	for (int x = 0; x < p->module->naxes; x++)
		time |= p->module->axis[x].time ? 1u << x : 0;
	for (int i = 0; i <= p->nactions; i++) {
		const struct lower_action *a = i < p->nactions ? &p->action[i] : NULL;
		const bool begins = a && a->kind == LOWER_LOOP, ends = a && a->kind == LOWER_END;
		if ((begins && over) || (ends && !over) || (!a && over)) {
			FAULT(c, NULL,
				"action %d: a loop without its end, or an end without its loop", i);
			return;
		}
		if ((begins || ends) && (!a->over || a->over & ~time || (ends && a->over != over)))
			FAULT(c, NULL,
				"action %d: a loop must be over time axes and "
				"end over the same axes",
				i);
		over = begins ? a->over : ends ? 0 : over;
		if (a && a->last && (begins || ends || a->last != over))
			FAULT(c, a->op,
				"action %d: the last iteration of axes other than those of its loop",
				i);
	}
}

void
check_shape(struct check *c)
{
	const struct lower_plan *p = c->p;

	if (p->storage->home_axis < -1 || p->storage->home_axis >= p->module->naxes ||
		(p->storage->home_axis >= 0 && p->module->axis[p->storage->home_axis].time))
		FAULT(c, NULL, "homes are along axis %d, which is not a device axis",
			p->storage->home_axis);
	if (p->buffer != p->storage->buffer || p->nbuffers != (int)p->storage->nbuffers ||
		p->storage->stage < -1 || p->storage->stage >= p->nbuffers || p->nvalues < 0 ||
		p->nactions < 0 || p->ncolls < 0) {
		FAULT(c, NULL, "the plan has %d buffers, but its storage has %u", p->nbuffers,
			p->storage->nbuffers);
		return;
	}
	shape_values(c);
	shape_effects(c);
	for (int i = 0; i < p->ncolls; i++)
		shape_coll(c, i);
	for (int i = 0; i < p->nactions; i++)
		shape_action(c, i);
	shape_loops(c);
}
