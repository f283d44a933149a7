/* Memory by liveness: see memory.h. */
#include "passes/analysis/memory.h"

#include "ir/issue.h"
#include "ir/scheme.h"
#include "passes/analysis/alloc.h"
#include "passes/analysis/cost.h"

enum {
	ALIGN = 64 /* bytes that a buffer is rounded up to: LOWER_ALIGN of lower/plan.h */
};

uint64_t
memory_peak(const struct memory_buffer *b, uint32_t n, uint32_t positions, uint32_t *at)
{
	int64_t *change = must_have(talloc_zero_array(NULL, int64_t, positions + 1));
	for (uint32_t i = 0; i < n; i++) {
		change[b[i].first] += (int64_t)b[i].bytes;
		change[b[i].last + 1] -= (int64_t)b[i].bytes;
	}
	int64_t now = 0, peak = 0;
	uint32_t where = 0;
	for (uint32_t p = 0; p < positions; p++) {
		now += change[p];
		if (now > peak) {
			peak = now;
			where = p;
		}
	}
	talloc_free(change);
	if (at)
		*at = where;
	return (uint64_t)peak;
}

#define NO_BUFFER UINT32_MAX

/* Moments: 2p is when what op p needs is waited for, 2p + 1 when it runs. */
static uint32_t
moment(uint32_t p)
{
	return 2 * p + 1;
}

struct buffer {
	uint64_t bytes;
	uint32_t first, last; /* moments of all accesses so far; first > last: none */
	uint32_t loop;        /* of all of them, or MIXED */
	bool persistent;
	uint32_t slots;                /* set of the time axes whose places have a slot each */
	const struct ir_value *newest; /* of the values that lie there */
};

#define MIXED UINT32_MAX

struct lives {
	struct ir_module *m;
	const struct issue *o;
	uint32_t *value;     /* by op->order: number of its first result */
	uint32_t *buffer_of; /* by number of value */
	const struct ir_value *
		*next; /* by number of value: another one in the same buffer, or NULL */
	struct buffer *buffer;
	uint32_t nbuffers;
	struct arena *arena;
};

static uint32_t
number(const struct lives *l, const struct ir_value *v)
{
	return l->value[v->op->order] + v->index;
}

static uint32_t
buffer_of(const struct lives *l, const struct ir_value *v)
{
	return l->buffer_of[number(l, v)];
}

static uint32_t
position(const struct lives *l, const struct ir_op *op)
{
	return l->o->position[op->order];
}

static uint32_t
loop_at(const struct lives *l, uint32_t p)
{
	return p < l->o->n ? l->o->loop_of[p] : MIXED;
}

static bool
is_view(const struct lives *l, const struct ir_op *op)
{
	return op->nresults && op->noperands && cost_op_kind(l->m, op) == COST_NONE;
}

static bool
is_next_value(const struct ir_use *u)
{
	return u->op->code == OP_update && u == &u->op->operand[1];
}

static bool
is_updated(const struct ir_use *u)
{
	return u->op->code == OP_update && u == &u->op->operand[0];
}

/* Does anybody but `op` use a value of the buffer at or behind position p? Updates copy at the end.
 */
static bool
used_from(const struct lives *l, uint32_t buffer, const struct ir_op *op, uint32_t p)
{
	for (const struct ir_value *v = l->buffer[buffer].newest; v; v = l->next[number(l, v)])
		IR_FOR_USES (u, v)
			if (u->op != op && !is_updated(u) &&
				(is_next_value(u) || position(l, u->op) >= p))
				return true;
	return false;
}

/* Are all readers in the loop that makes the value? Views read for their readers. */
static bool
stays_in_loop(const struct lives *l, const struct ir_value *v, uint32_t loop)
{
	IR_FOR_USES (u, v) {
		if (loop_at(l, position(l, u->op)) != loop)
			return false;
		if (is_view(l, u->op) &&
			!stays_in_loop(l, &u->op->result[u - u->op->operand], loop))
			return false;
	}
	return true;
}

/* The time axes for which a value needs slots: none if every turn has done with it what is to do.
 */
static uint32_t
slot_axes(const struct lives *l, const struct ir_value *v)
{
	uint32_t loop = loop_at(l, position(l, v->op)), axes = issue_axes(l->m, v->type);
	bool one =
		!op_is(v->op, NAMED) && axes == l->o->loop[loop].over && stays_in_loop(l, v, loop);
	return one ? 0 : axes;
}

/* May the result of a collective lie where its operand lies? */
static bool
collective_in_place(const struct lives *l, const struct ir_op *op, int r)
{
	struct cost_collective c;
	if (!cost_op_collective(l->m, op, &c) ||
		(c.kind != COLL_ALLREDUCE && c.kind != COLL_REDUCE && c.kind != COLL_BROADCAST &&
			c.kind != COLL_SEND))
		return false;
	uint32_t from = buffer_of(l, ir_operand(op, r));
	for (int i = 0; i < op->noperands; i++)
		if (i != r && buffer_of(l, ir_operand(op, i)) == from)
			return false;
	if (from == NO_BUFFER || l->buffer[from].persistent ||
		l->buffer[from].slots != slot_axes(l, &op->result[r]))
		return false;
	/* A loop would find its own result the second time. */
	uint32_t loop = loop_at(l, position(l, op));
	return (!l->o->loop[loop].over || loop == loop_at(l, position(l, ir_operand(op, r)->op))) &&
	       !used_from(l, from, op, position(l, op));
}

/* Does the kernel read what lies in `buffer` only where it then writes result v? */
static bool
reads_in_place(
	const struct lives *l, const struct ir_op *op, uint32_t buffer, const struct ir_value *v)
{
	struct scheme *s = NULL;
	bool safe = true;
	for (int j = 0; j < op->noperands && safe; j++) {
		if (buffer_of(l, ir_operand(op, j)) != buffer)
			continue;
		if (!ir_type_same_meaning(ir_operand_type(op, j), v->type))
			safe = false;
		s = safe && !s ? scheme_create(l, l->m, l->arena, op) : s;
		safe = safe && s && scheme_in_place(s, j, (int)v->index);
	}
	talloc_free(s);
	return safe;
}

/* The buffer of the param whose next value v is, if v may be made there; else NO_BUFFER. */
static uint32_t
param_buffer(const struct lives *l, const struct ir_value *v)
{
	const struct ir_value *param = NULL;
	IR_FOR_USES (u, v)
		if (is_next_value(u))
			param = ir_operand(u->op, 0);
	const struct ir_op *op = v->op;
	if (!param || issue_axes(l->m, v->type) || op_is(op, PARALLEL) || op_is(op, NAMED) ||
		l->o->loop[loop_at(l, position(l, op))].over)
		return NO_BUFFER;
	uint32_t home = buffer_of(l, param);
	for (int r = 0; r < op->nresults; r++)
		if (&op->result[r] != v && buffer_of(l, &op->result[r]) == home)
			return NO_BUFFER;
	bool free = !used_from(l, home, op, position(l, op)) && reads_in_place(l, op, home, v);
	return free ? home : NO_BUFFER;
}

static uint64_t
aligned(uint64_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint32_t
buffer_add(struct lives *l, const struct ir_value *v)
{
	uint32_t axes = slot_axes(l, v);
	uint64_t bytes =
		(uint64_t)ir_type_local_bytes(l->m, v->type) * (uint64_t)issue_turns(l->m, axes);
	l->buffer[l->nbuffers] = (struct buffer){
		aligned(bytes), UINT32_MAX, 0, MIXED, op_is(v->op, NAMED), axes, NULL};
	return l->nbuffers++;
}

static uint32_t
place(struct lives *l, const struct ir_op *op, int r)
{
	const struct ir_value *v = &op->result[r];
	if (op->code == OP_constant)
		return NO_BUFFER; /* kernels hold it */
	if (is_view(l, op) || collective_in_place(l, op, r))
		return buffer_of(l, ir_operand(op, r));
	uint32_t home = param_buffer(l, v);
	return home != NO_BUFFER ? home : buffer_add(l, v);
}

static void
place_results(struct lives *l, const struct ir_op *op)
{
	for (int r = 0; r < op->nresults; r++) {
		const struct ir_value *v = &op->result[r];
		uint32_t buffer = place(l, op, r);
		l->buffer_of[number(l, v)] = buffer;
		if (buffer == NO_BUFFER)
			continue;
		l->next[number(l, v)] = l->buffer[buffer].newest;
		l->buffer[buffer].newest = v;
	}
}

/* Params first: an op may be put into the place of one that stands behind it. */
static void
place_all(struct lives *l)
{
	for (uint32_t p = 0; p < l->o->n; p++)
		if (op_is(l->o->op[p], NAMED))
			place_results(l, l->o->op[p]);
	for (uint32_t p = 0; p < l->o->n; p++)
		if (!op_is(l->o->op[p], NAMED))
			place_results(l, l->o->op[p]);
}

/* The buffer is in use at that moment. */
static void
access_at(struct lives *l, uint32_t buffer, uint32_t at)
{
	if (buffer == NO_BUFFER)
		return;
	struct buffer *b = &l->buffer[buffer];
	if (b->first > b->last)
		b->loop = loop_at(l, at / 2);
	else if (b->loop != loop_at(l, at / 2))
		b->loop = MIXED;
	b->first = at < b->first ? at : b->first;
	b->last = at > b->last ? at : b->last;
}

/* The position at which the end of a collective is waited for: of the first use of a result. */
static uint32_t
wait_position(const struct lives *l, const struct ir_op *op)
{
	uint32_t first = l->o->n;
	for (int r = 0; r < op->nresults; r++)
		IR_FOR_USES (u, &op->result[r]) {
			uint32_t p =
				is_view(l, u->op) ? wait_position(l, u->op) : position(l, u->op);
			bool at_end = is_next_value(u) || u->op->code == OP_output;
			first = p < first && !at_end ? p : first;
		}
	return first;
}

static void
access_operand(struct lives *l, const struct ir_op *op, int i, uint32_t until)
{
	uint32_t buffer = buffer_of(l, ir_operand(op, i)), end = moment(l->o->n);
	/* Next values are copied, outputs reported, at the end of the step. */
	bool copied = is_next_value(&op->operand[i]);
	access_at(l, buffer, copied ? end : moment(position(l, op)));
	access_at(l, buffer, copied || op->code == OP_output ? end : until);
}

static void
access_all(struct lives *l)
{
	for (uint32_t p = 0; p < l->o->n; p++) {
		const struct ir_op *op = l->o->op[p];
		bool message = cost_op_kind(l->m, op) == COST_COLLECTIVE;
		uint32_t until = message ? 2 * wait_position(l, op) : moment(p);
		for (int r = 0; r < op->nresults; r++) {
			access_at(l, buffer_of(l, &op->result[r]), moment(p));
			access_at(l, buffer_of(l, &op->result[r]), until);
		}
		for (int i = 0; i < op->noperands; i++)
			access_operand(l, op, i, until);
	}
}

/* Lives of the buffers that do not stay; returns the bytes of those that do. */
static uint64_t
live(const struct lives *l, struct memory_buffer *list, uint32_t *n)
{
	uint64_t persistent = 0;
	for (uint32_t i = 0; i < l->nbuffers; i++) {
		const struct buffer *b = &l->buffer[i];
		if (b->persistent) {
			persistent += b->bytes;
			continue;
		}
		uint32_t first = b->first, last = b->last;
		const struct issue_loop *from = &l->o->loop[loop_at(l, first / 2)];
		const struct issue_loop *to =
			last / 2 < l->o->n ? &l->o->loop[loop_at(l, last / 2)] : NULL;
		if (b->loop == MIXED && from->over)
			first = moment(from->first);
		if (b->loop == MIXED && to && to->over)
			last = moment(to->end - 1);
		list[(*n)++] = (struct memory_buffer){b->bytes, first, last};
	}
	return persistent;
}

/* What kernels keep inside, for as long as they run. */
static void
list_scratch(const struct lives *l, struct memory_buffer *list, uint32_t *n)
{
	for (uint32_t p = 0; p < l->o->n; p++) {
		const struct ir_op *op = l->o->op[p];
		if (cost_op_kind(l->m, op) != COST_COMPUTE || op_is(op, PARALLEL))
			continue;
		struct scheme *s = scheme_create(l, l->m, l->arena, op);
		if (s && s->scratch_bytes)
			list[(*n)++] = (struct memory_buffer){
				aligned((uint64_t)s->scratch_bytes), moment(p), moment(p)};
		talloc_free(s);
	}
}

void
memory_evaluate(struct ir_module *m, struct ir_func *main, struct memory_report *r)
{
	struct lives *l = NEW(NULL, struct lives);
	uint32_t n = ir_block_number(&main->body), nvalues = 0, nlist = 0, at = 0;
	l->m = m;
	l->o = issue_create(l, m, &main->body);
	l->arena = arena_create(l);
	l->value = NEW_ARRAY(l, uint32_t, n);
	IR_FOR_OPS (op, &main->body) {
		l->value[op->order] = nvalues;
		nvalues += op->nresults;
	}
	l->buffer_of = NEW_ARRAY(l, uint32_t, nvalues);
	l->next = NEW_ARRAY(l, const struct ir_value *, nvalues);
	for (uint32_t i = 0; i < nvalues; i++)
		l->buffer_of[i] = NO_BUFFER;
	l->buffer = NEW_ARRAY(l, struct buffer, nvalues);
	place_all(l);
	access_all(l);
	struct memory_buffer *list = NEW_ARRAY(l, struct memory_buffer, nvalues + n);
	list_scratch(l, list, &nlist);
	uint64_t persistent = live(l, list, &nlist);
	uint64_t peak = memory_peak(list, nlist, 2 * (n + 1), &at);
	const struct ir_op *op = at / 2 < n ? l->o->op[at / 2] : NULL;
	*r = (struct memory_report){peak + persistent, persistent, op};
	talloc_free(l);
}
