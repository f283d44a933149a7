/*
 * The nodes of a plan: their members, readers and times. A kernel whose members or readers have
 * changed is settled: members that are no longer read are dropped, and its time is updated. log.c
 * changes values so that they can be undone.
 */
#include "passes/search/plan/impl.h"

#include "ir/base/mix.h"
#include "ir/base/sort.h"
#include "ir/base/vec.h"

#include <assert.h>
#include <string.h>

enum {
	ANSWERS = 1 << 12 /* size of the cache of message times: a step has some hundred messages */
};

/* --- readers --- */

/* Does `reader` read op through a view? A view is of a tensor in memory: a copy in the same kernel
 * does not count. */
static bool
reads_by_view(const struct plan *p, uint32_t reader, uint32_t op)
{
	const struct plan_op *o = &p->base->op[reader];

	for (uint32_t k = 0; k < o->ndeps; k++)
		if (p->base->dep.at[o->first_dep + k] == (op | PLAN_THROUGH_VIEW))
			return true;
	return false;
}

static bool
reads_home(
	const struct plan *p, uint32_t node, uint32_t reader, uint32_t op, uint32_t a, uint32_t b)
{
	return node != PLAN_NONE && node != a && node != b &&
	       (!plan_holds(p, node, op) || reads_by_view(p, reader, op));
}

/* Does a node other than a and b that contains `reader`, an op that reads `op`, read it from its
 * home? */
static bool
reader_outside(const struct plan *p, uint32_t op, uint32_t reader, uint32_t a, uint32_t b)
{
	uint32_t home = p->home[reader];

	if (p->copies[op] == PLAN_NONE && p->copies[reader] == PLAN_NONE)
		return home != PLAN_NONE && home != a && home != b;
	if (reads_home(p, home, reader, op, a, b))
		return true;
	for (uint32_t h = p->copies[reader]; h != PLAN_NONE; h = p->holder[h].next)
		if (reads_home(p, p->holder[h].node, reader, op, a, b))
			return true;
	return false;
}

bool
plan_read_outside(const struct plan *p, uint32_t op, uint32_t a, uint32_t b)
{
	const struct plan_op *o = &p->base->op[op];

	if (o->kept)
		return true;
	for (uint32_t k = 0; k < o->nreaders; k++)
		if (reader_outside(p, op, p->base->reader[o->first_reader + k], a, b))
			return true;
	return false;
}

/* --- a node and its times --- */

void
plan_set_members(struct plan *p, uint32_t node, const uint32_t *member, uint32_t n)
{
	plan_log_sizes(p);
	plan_log_node(p, node);
	uint32_t at = plan_pool(p, n);
	plan_copy(&p->pool[at], member, n);
	p->node[node].op = at;
	p->node[node].nops = n;
}

/* Finds the nodes that a node reads from, in the order of its ops and their operands. */
void
plan_find_preds(struct plan *p, uint32_t node)
{
	struct plan_state *s = &p->node[node];
	uint32_t n = 0, room = 0;

	plan_log_sizes(p);
	plan_log_node(p, node);
	for (uint32_t i = 0; i < s->nops; i++)
		room += p->base->op[p->pool[s->op + i] & PLAN_OP].ndeps;
	uint32_t at = plan_pool(p, room), now = ++p->now;
	for (uint32_t i = 0; i < s->nops; i++)
		p->within[p->pool[s->op + i] & PLAN_OP] = now;
	for (uint32_t i = 0; i < s->nops; i++) {
		const struct plan_op *o = &p->base->op[p->pool[s->op + i] & PLAN_OP];
		for (uint32_t k = 0; k < o->ndeps; k++) {
			uint32_t dep = p->base->dep.at[o->first_dep + k];
			uint32_t home = p->home[dep & ~PLAN_THROUGH_VIEW];
			assert(home != PLAN_NONE ||
				p->copies[dep & ~PLAN_THROUGH_VIEW] != PLAN_NONE);
			bool inside = home == node ||
				      (!(dep & PLAN_THROUGH_VIEW) && p->within[dep] == now);
			if (inside || p->stamp[home] == now)
				continue;
			p->stamp[home] = now;
			p->pool[at + n++] = home;
		}
	}
	s->pred = at;
	s->npreds = n;
	p->npool = at + n;
}

/* Marks the members that other nodes read. */
static void
mark_outs(struct plan *p, uint32_t node)
{
	struct plan_state *s = &p->node[node];

	plan_copy(p->scratch, &p->pool[s->op], s->nops);
	plan_set_members(p, node, p->scratch, s->nops);
	for (uint32_t i = 0; i < s->nops; i++) {
		uint32_t *member = &p->pool[s->op + i], op = *member & PLAN_OP;
		*member &= ~PLAN_OUT;
		if (!(*member & PLAN_COPY) && plan_read_outside(p, op, node, PLAN_NONE))
			*member |= PLAN_OUT;
	}
}

/* Marks the ops that a member reads within its own kernel: not through a view. */
static void
mark_read(struct plan *p, uint32_t op)
{
	const struct plan_op *o = &p->base->op[op];

	for (uint32_t k = 0; k < o->ndeps; k++) {
		const uint32_t dep = p->base->dep.at[o->first_dep + k];
		if (!(dep & PLAN_THROUGH_VIEW))
			p->within[dep] = p->now;
	}
}

/* Drops members that no other node and no later member reads, the last first. */
static void
drop_unread(struct plan *p, uint32_t node)
{
	struct plan_state *s = &p->node[node];
	uint32_t *member = &p->pool[s->op], kept = s->nops;

	p->now++;
	for (uint32_t i = s->nops; i-- > 0;) {
		const uint32_t m = member[i], op = m & PLAN_OP;
		if ((m & PLAN_OUT) || p->within[op] == p->now) {
			mark_read(p, op);
			member[--kept] = m;
			continue;
		}
		if (m & PLAN_COPY)
			plan_drop_copy(p, op, node);
		else
			plan_set_home(p, op, PLAN_NONE);
		VEC_PUSH(p, &p->dropped, op);
	}
	s->nops -= kept;
	memmove(member, member + kept, s->nops * sizeof *member);
}

static replay_time
kernel_time(struct plan *p, const struct plan_state *s)
{
	uint32_t *op = p->scratch;

	for (uint32_t i = 0; i < s->nops; i++) {
		op[i] = p->pool[s->op + i] & PLAN_OP;
		p->flag[i] = p->pool[s->op + i] & PLAN_OUT;
	}
	return replay_from_seconds(estimator_seconds(p->estimator, op, s->nops, p->flag));
}

/* Updates what the node reads and its time after its members have changed. */
static void
find_times(struct plan *p, uint32_t node)
{
	struct plan_state *s = &p->node[node];

	plan_find_preds(p, node);
	if (!s->message) {
		s->duration = kernel_time(p, s);
		return;
	}
	s->bytes = 0;
	for (uint32_t i = 0; i < s->nops; i++)
		s->bytes += p->base->op[p->pool[s->op + i] & PLAN_OP].bytes;
	s->duration = plan_time_of_message(
		p, p->base->op[p->pool[s->op] & PLAN_OP].like, s->bytes, s->nops, s->parts);
	s->packing = plan_packing(p, node);
}

static void
settle(struct plan *p, uint32_t node)
{
	plan_dirty(p, p->node[node].position);
	mark_outs(p, node);
	plan_pack_again(p, node);
	if (!p->node[node].message)
		drop_unread(p, node);
	if (p->node[node].nops)
		find_times(p, node);
	else
		plan_remove(p, node);
}

void
plan_settle(struct plan *p, uint32_t node)
{
	settle(p, node);
	/* The operands of dropped ops may have lost their last reader. */
	while (p->dropped.n) {
		const struct plan_op *o = &p->base->op[VEC_POP(&p->dropped)];
		for (uint32_t k = 0; k < o->ndeps; k++) {
			uint32_t home =
				p->home[p->base->dep.at[o->first_dep + k] & ~PLAN_THROUGH_VIEW];
			if (home != PLAN_NONE)
				settle(p, home);
		}
	}
}

void
plan_settle_all(struct plan *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		mark_outs(p, p->order[i]);
	for (uint32_t i = 0; i < p->count; i++)
		find_times(p, p->order[i]);
	plan_dirty(p, 0);
	plan_forget(p);
}

/* --- messages --- */

static replay_time
ask_for_message(const struct plan *p, uint32_t like, double bytes, uint32_t parts)
{
	const struct cost_step *step = p->base->step;
	const struct ir_op *op = p->base->op[like].op;
	struct cost_collective c;
	bool measured;

	cost_op_collective(p->base->m, op, &c);
	c.bytes = bytes;
	c.parts = parts;
	const struct event_group *g =
		&step->events->group[(uint32_t)c.axis * step->events->ndevices];
	/* Only groups that have messages are listed. */
	for (uint32_t d = 1; d < step->events->ndevices && !g->place; d++)
		g++;
	pthread_mutex_lock(p->base->asking);
	double t = cost_message_seconds(step->model, step->m, op, &c, g, step->device, &measured);
	pthread_mutex_unlock(p->base->asking);
	return replay_from_seconds(t);
}

replay_time
plan_time_of_message(struct plan *p, uint32_t like, double bytes, uint32_t tensors, uint32_t parts)
{
	const uint64_t hash = mix_word(mix_word(mix_word((uint64_t)bytes, like), parts), tensors);
	struct plan_answer *a = &p->answer[hash % ANSWERS];

	if (a->parts != parts || a->like != like || a->bytes != bytes || a->tensors != tensors)
		*a = (struct plan_answer){
			bytes, like, parts, tensors, ask_for_message(p, like, bytes, parts)};
	return a->time;
}

/* --- the current state --- */

uint32_t
plan_room(const struct plan *p)
{
	return p->base->room;
}

uint32_t
plan_count(const struct plan *p)
{
	return p->count;
}

uint32_t
plan_at(const struct plan *p, uint32_t position)
{
	assert(position < p->count);
	return p->order[position];
}

uint32_t
plan_ops(const struct plan *p)
{
	return p->base->nops;
}

uint32_t
plan_number(const struct plan *p, const struct ir_op *op)
{
	return ir_number(p->base->ops, op);
}

const struct ir_op *
plan_op(const struct plan *p, uint32_t op)
{
	return p->base->op[op].op;
}

uint32_t
plan_home(const struct plan *p, uint32_t op)
{
	return p->home[op];
}

bool
plan_exists(const struct plan *p, uint32_t node)
{
	return p->node[node].position != PLAN_NONE;
}

struct plan_node
plan_node(const struct plan *p, uint32_t node)
{
	const struct plan_state *s = &p->node[node];
	const struct plan_time *t = &p->time[node];

	assert(s->position != PLAN_NONE);
	return (struct plan_node){&p->pool[s->op], &p->pool[s->pred], s->nops, s->npreds,
		s->position, s->message ? PLAN_MESSAGE : PLAN_KERNEL, s->parts, s->bytes,
		s->duration, t->start, t->end};
}

static uint32_t
add_reader(struct plan *p, uint32_t node, uint32_t of, uint32_t *reader, uint32_t n)
{
	if (node == PLAN_NONE || node == of || p->stamp[node] == p->now)
		return n;
	p->stamp[node] = p->now;
	reader[n] = node;
	return n + 1;
}

uint32_t
plan_readers(struct plan *p, uint32_t node, uint32_t *reader)
{
	const struct plan_state *s = &p->node[node];
	uint32_t n = 0;

	p->now++;
	for (uint32_t i = 0; i < s->nops; i++) {
		uint32_t op = p->pool[s->op + i] & PLAN_OP;
		const struct plan_op *o = &p->base->op[op];
		for (uint32_t k = 0; (p->pool[s->op + i] & PLAN_OUT) && k < o->nreaders; k++) {
			uint32_t r = p->base->reader[o->first_reader + k];
			if (p->home[r] != PLAN_NONE && !plan_holds(p, p->home[r], op))
				n = add_reader(p, p->home[r], node, reader, n);
			for (uint32_t h = p->copies[r]; h != PLAN_NONE; h = p->holder[h].next)
				if (!plan_holds(p, p->holder[h].node, op))
					n = add_reader(p, p->holder[h].node, node, reader, n);
		}
	}
	sort_uint32(reader, n);
	return n;
}

/* --- creation, and the initial plan --- */

void
plan_set_up(struct plan *p)
{
	const struct plan_base *b = p->base;

	p->node = ARRAY_NEW(p, struct plan_state, b->room);
	p->time = ARRAY_NEW(p, struct plan_time, b->room);
	p->order = ARRAY_NEW(p, uint32_t, b->room);
	p->home = ARRAY_NEW(p, uint32_t, b->nops);
	p->copies = ARRAY_NEW(p, uint32_t, b->nops);
	p->free = ARRAY_NEW(p, uint32_t, b->room);
	p->waited = ARRAY_NEW(p, bool, b->room);
	p->stamp = ARRAY_ZERO(p, uint32_t, b->room + 1);
	p->within = ARRAY_ZERO(p, uint32_t, b->nops);
	p->scratch = ARRAY_NEW(p, uint32_t, b->nops);
	p->member = ARRAY_NEW(p, uint32_t, b->nops);
	p->moved = ARRAY_NEW(p, uint32_t, b->nops);
	p->late = ARRAY_NEW(p, uint32_t, 2 * b->room);
	p->flag = ARRAY_NEW(p, bool, b->nops);
	p->answer = ARRAY_ZERO(p, struct plan_answer, ANSWERS);
}

void
plan_clear(struct plan *p)
{
	const struct plan_base *b = p->base;

	p->count = p->nfree = p->npool = p->nholders = 0;
	p->log.n = 0;
	plan_dirty(p, 0);
	memset(p->home, 0xff, b->nops * sizeof *p->home);
	memset(p->copies, 0xff, b->nops * sizeof *p->copies);
	for (uint32_t i = 0; i < b->room; i++)
		p->node[i].position = PLAN_NONE;
}

void
plan_add_node(struct plan *p, uint32_t node, uint32_t parts)
{
	p->node[node] = (struct plan_state){.position = p->count, .parts = parts};
	p->order[p->count++] = node;
}

void
plan_reset(struct plan *p)
{
	const struct plan_base *b = p->base;

	plan_clear(p);
	for (uint32_t i = 0; i < b->nops; i++) {
		uint32_t node = b->first_node[i];
		if (node == PLAN_NONE)
			continue;
		plan_add_node(p, node, ir_parts(b->op[i].op));
		p->home[i] = node;
		p->node[node].message = b->op[i].collective;
		plan_set_members(p, node, &i, 1);
	}
	plan_settle_all(p);
}

struct estimator_counts
plan_estimates(const struct plan *p)
{
	return estimator_counts(p->estimator);
}
