/* The model of the arena: reads and writes of one action. See check_model.h. */
#include "lower/plan/check_model.h"
#include "ir/base/sort.h"

#include <stdlib.h>

const char *
model_buffer_name(const struct model *m, int32_t buffer)
{
	return check_buffer_name(m->c->p, buffer);
}

const char *
model_value_name(const struct model *m, int32_t value)
{
	const struct ir_value *v = value >= 0 ? m->c->p->value[value].value : NULL;

	return v && v->name ? v->name : "(unnamed)";
}

const char *
model_coll_name(const struct model *m, int32_t coll)
{
	return check_op_name(m->c->p->coll[coll].op);
}

bool
model_holds(const struct model *m, const struct ir_type *t)
{
	const int axis = m->c->p->storage->home_axis;

	return axis < 0 || t->axis[axis].kind != IR_SINGLE ||
	       ir_axis_place(&m->c->p->module->axis[axis], t->axis[axis].order) == m->home;
}

/* --- lives ------------------------------------------------------------------------------------ */

void
model_check_life(struct model *m, int32_t buffer)
{
	const struct storage_buffer *b = &m->c->p->buffer[buffer];

	if (!check_here(b, m->home))
		FAULT(m->c, m->a->op,
			"action %d uses buffer %d (%%%s) on ranks that do not have it", m->at,
			buffer, model_buffer_name(m, buffer));
	if (m->a->at < b->first || m->a->at > b->last)
		FAULT(m->c, m->a->op,
			"action %d, at time %d, uses buffer %d (%%%s) "
			"outside its live range [%d, %d]",
			m->at, m->a->at, buffer, model_buffer_name(m, buffer), b->first, b->last);
}

/* The same for a value that another iteration, or the step before the loop, has left for this
 * one. */
void
model_check_kept_life(struct model *m, int32_t buffer, bool from_first)
{
	const struct storage_buffer *b = &m->c->p->buffer[buffer];

	if (m->loop != NONE && (b->last < m->end || (from_first && b->first > m->begin)))
		FAULT(m->c, m->a->op,
			"buffer %d (%%%s) has live range [%d, %d], but is needed "
			"throughout a loop in [%d, %d]",
			buffer, model_buffer_name(m, buffer), b->first, b->last, m->begin, m->end);
}

/* --- shared bytes in one action -------------------------------------------------------------- */

void
model_touch(struct model *m, int32_t buffer, enum model_touch_kind kind, int32_t value, int number)
{
	if (buffer < 0)
		return;
	const struct byte_range r = m->state[buffer].range;
	m->touch[m->ntouches++] = (struct model_touch){r.begin, r.end, buffer, kind, value, number};
}

ORDER_BY(by_place, struct model_touch, UP(begin), UP(buffer), DOWN(kind))

/* May the action write y over x, which it reads, in one buffer? */
static bool
may_share(const struct model *m, const struct model_touch *x, const struct model_touch *y)
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
report_sharing(struct model *m, const struct model_touch *x, const struct model_touch *y)
{
	if (y->kind == TOUCH_WRITE && x->kind == TOUCH_READ && m->a->kind == LOWER_KERNEL)
		FAULT(m->c, m->a->op,
			"result %d of %s is written over operand %d, which it still reads",
			y->number + 1, check_op_name(m->a->op), x->number + 1);
	else
		FAULT(m->c, m->a->op, "action %d writes bytes that belong to both %%%s and %%%s",
			m->at, model_buffer_name(m, x->buffer), model_buffer_name(m, y->buffer));
}

/* One buffer: at most one write, which comes first in the list. True if it is also read. */
static bool
check_group(struct model *m, const struct model_touch *first, int n)
{
	for (int i = 1; i < n && first->kind != TOUCH_READ; i++)
		if (first->kind == TOUCH_SCRATCH || first[i].kind != TOUCH_READ ||
			!may_share(m, &first[i], first))
			report_sharing(m, &first[i], first);
	return n > 1 && first->kind == TOUCH_WRITE;
}

/* Sorts touches by their bytes; those of one buffer are adjacent. */
bool
model_check_touches(struct model *m)
{
	const struct model_touch *write = NULL, *any = NULL; /* those that reach farthest */
	bool in_place = false;

	qsort(m->touch, (size_t)m->ntouches, sizeof *m->touch, by_place);
	for (int i = 0, n; i < m->ntouches; i += n) {
		const struct model_touch *t = &m->touch[i];
		for (n = 1; i + n < m->ntouches && t[n].buffer == t->buffer; n++)
			;
		in_place |= check_group(m, t, n);
		const struct model_touch *other = t->kind == TOUCH_READ ? write : any;
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

/* A collective that uses any of the buffer's bytes, through buffer *whose; for a read, one that
 * writes them. NONE: no collective does. */
static int32_t
user_of(const struct model *m, int32_t buffer, bool write, int32_t *whose)
{
	const struct byte_range r = m->state[buffer].range;

	for (uint32_t k = r.begin; k < r.end;) {
		const int32_t other = byte_map_next(m->map, r, &k);
		const struct model_buffer *s = other >= 0 ? &m->state[other] : NULL;
		*whose = other;
		if (s && s->writer != NONE)
			return s->writer;
		if (s && write && s->readers)
			return s->user;
	}
	return NONE;
}

/* No collective in flight may use the bytes. */
static bool
check_user(struct model *m, int32_t buffer, bool write)
{
	int32_t whose = NONE;
	const int32_t coll = user_of(m, buffer, write, &whose);

	if (coll != NONE)
		FAULT(m->c, m->a->op, "action %s buffer %%%s while a posted %s uses %%%s",
			write ? "writes" : "reads", model_buffer_name(m, buffer),
			model_coll_name(m, coll), model_buffer_name(m, whose));
	return coll == NONE;
}

/* Does the entry have one slot for a value that differs between iterations? */
static bool
is_slice(const struct model *m, int32_t value)
{
	const struct lower_plan *p = m->c->p;
	const struct lower_value *v = &p->value[value];

	return !v->time && check_long_axes(p->module, issue_axes(p->module, v->value->type));
}

static void
check_time(struct model *m, int32_t value, int32_t buffer)
{
	const struct model_buffer *s = &m->state[buffer];

	if (s->sums && s->loop == m->loop && !m->a->last)
		FAULT(m->c, m->a->op,
			"action %d reads buffer %d (%%%s) before the loop "
			"that completes it has ended",
			m->at, buffer, model_buffer_name(m, buffer));
	if (is_slice(m, value) && s->loop != m->loop)
		FAULT(m->c, m->a->op,
			"action %d reads buffer %d (%%%s), which holds the slice "
			"of another loop's last iteration",
			m->at, buffer, model_buffer_name(m, buffer));
	if (s->loop != m->loop)
		model_check_kept_life(m, buffer, false);
}

/* Reads in `buffer` what entry `value` stands for; NONE: any content is accepted. */
void
model_read_buffer(struct model *m, int32_t value, int32_t buffer)
{
	const struct model_buffer *s = &m->state[buffer];

	model_check_life(m, buffer);
	if (!check_user(m, buffer, false))
		return;
	if (s->holds == NONE || !byte_map_is(m->map, s->range, buffer))
		FAULT(m->c, m->a->op,
			"action %d reads buffer %d (%%%s), which was never "
			"written, or was overwritten",
			m->at, buffer, model_buffer_name(m, buffer));
	else if (value != NONE && s->holds != m->c->root[value])
		FAULT(m->c, m->a->op,
			"action %d reads %%%s in buffer %d, which holds %%%s at that time", m->at,
			model_value_name(m, value), buffer, model_value_name(m, s->holds));
	else if (value != NONE)
		check_time(m, value, buffer);
}

void
model_read_value(struct model *m, int32_t value)
{
	const struct lower_value *v = &m->c->p->value[value];

	if (v->buffer >= 0 && (!v->value || model_holds(m, v->value->type)))
		model_read_buffer(m, v->value ? value : NONE, v->buffer);
}

void
model_write_buffer(struct model *m, int32_t buffer, int32_t holds)
{
	struct model_buffer *s = &m->state[buffer];

	model_check_life(m, buffer);
	check_user(m, buffer, true);
	byte_map_set(m->map, s->range, buffer);
	s->holds = holds;
	s->loop = m->loop;
	s->sums = false;
	if (m->c->p->buffer[buffer].slots > 1)
		model_check_kept_life(m, buffer, true);
}
