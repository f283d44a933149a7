/* Memory by liveness: see memory.h. */
#include "passes/analysis/memory.h"

#include "passes/analysis/alloc.h"
#include "passes/analysis/cost.h"
#include "passes/analysis/loops.h"

enum {
	ALIGN = 64 /* bytes that a buffer is rounded up to: as LOWER_ALIGN in lower/plan.h */
};

uint64_t
memory_peak(const struct memory_buffer *b, uint32_t n, uint32_t positions, uint32_t *at)
{
	int64_t *change = talloc_zero_array(NULL, int64_t, positions + 1);
	must_have(change);
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

struct lives {
	struct ir_module *m;
	const struct ir_op **op; /* by order */
	uint32_t nops;
	struct loop *loop; /* by order: the loop that an op stands in */
	struct memory_buffer *buffer;
	uint32_t nbuffers, room;
	uint64_t persistent;
};

/* The op behind views. */
static const struct ir_value *
root(const struct ir_module *m, const struct ir_value *v)
{
	while (v->op && v->op->noperands && v->op->nresults && !op_is(v->op, NAMED) &&
		cost_op_kind(m, v->op) == COST_NONE)
		v = ir_operand(v->op, 0);
	return v;
}

static bool
is_view(const struct ir_module *m, const struct ir_value *v)
{
	return root(m, v) != v;
}

static uint32_t
max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t last_read(const struct lives *l, const struct ir_value *v);

/* Until when an op needs its operand: its own position; a collective, until its result is used. */
static uint32_t
needs_until(const struct lives *l, const struct ir_op *op)
{
	if (cost_op_kind(l->m, op) != COST_COLLECTIVE)
		return op->order;
	uint32_t first = l->nops - 1;
	for (int i = 0; i < op->nresults; i++)
		IR_FOR_USES(u, &op->result[i])
	if (u->op->order < first)
		first = u->op->order;
	return max_u32(first, op->order);
}

/* The last position at which v, or a view of it, is needed. */
static uint32_t
last_read(const struct lives *l, const struct ir_value *v)
{
	uint32_t last = v->op ? v->op->order : 0;
	IR_FOR_USES(u, v)
	{
		last = max_u32(last, needs_until(l, u->op));
		for (int i = 0; i < u->op->nresults; i++)
			if (is_view(l->m, &u->op->result[i]))
				last = max_u32(last, last_read(l, &u->op->result[i]));
	}
	return last;
}

static uint64_t
aligned(uint64_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void
buffer_add(struct lives *l, uint64_t bytes, uint32_t first, uint32_t last)
{
	if (l->nbuffers == l->room)
		l->buffer = RESIZE(l, l->buffer, struct memory_buffer, l->room *= 2);
	l->buffer[l->nbuffers++] = (struct memory_buffer){aligned(bytes), first, last};
}

/* Time axes whose slices a value that lives outside the step keeps one after another. */
static uint64_t
slices(const struct ir_module *m, const struct ir_type *t)
{
	uint64_t n = 1;
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time && t->axis[a].kind == IR_SPLIT)
			n *= (uint64_t)m->axis[a].size;
	return n;
}

/* A value made in a loop and read behind it has a slice for each turn, unless it is a sum over
 * them. */
static void
value_live(struct lives *l, const struct ir_value *v)
{
	uint64_t bytes = (uint64_t)ir_type_local_bytes(l->m, v->type);
	uint32_t first = v->op->order, last = last_read(l, v);
	if (op_is(v->op, NAMED)) {
		l->persistent += aligned(bytes * slices(l->m, v->type));
		return;
	}
	const struct loop *from = &l->loop[first], *to = &l->loop[last];
	if (from->first != to->first) {
		bytes *= slices(l->m, v->type);
		if (from->over)
			first = from->first;
		if (to->over)
			last = to->last;
	}
	buffer_add(l, bytes, first, last);
}

static void
number_loops(struct lives *l, const struct ir_block *b)
{
	struct loop *loops;
	uint32_t n = loop_list(l, l->m, b, &loops), k = 0;
	for (uint32_t p = 0; p < l->nops; p++) {
		while (k < n && p > loops[k].last)
			k++;
		l->loop[p] = k < n && p >= loops[k].first ? loops[k] : (struct loop){0, p, p, 1};
	}
}

void
memory_evaluate(struct ir_module *m, struct ir_func *main, struct memory_report *r)
{
	struct lives *l = NEW(NULL, struct lives);
	uint32_t n = ir_block_number(&main->body), at = 0;
	*l = (struct lives){.m = m, .nops = n, .room = 64};
	l->op = NEW_ARRAY(l, const struct ir_op *, n);
	l->loop = NEW_ARRAY(l, struct loop, n);
	l->buffer = NEW_ARRAY(l, struct memory_buffer, l->room);
	number_loops(l, &main->body);
	IR_FOR_OPS(op, &main->body)
	{
		l->op[op->order] = op;
		for (int i = 0; i < op->nresults; i++)
			if (op->code != OP_constant && !is_view(m, &op->result[i]))
				value_live(l, &op->result[i]);
	}
	uint64_t peak = memory_peak(l->buffer, l->nbuffers, n, &at);
	*r = (struct memory_report){peak + l->persistent, l->persistent, n ? l->op[at] : NULL};
	talloc_free(l);
}
